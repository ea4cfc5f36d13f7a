//! A CDXJ index: a line for each answer, sorted by host and path, as replay tools look them up.
//!
//! A line is a key (SURT: the labels of the host turned round, then path and query), a time of 14
//! digits, and a JSON object with the fields that cdxj-indexer and pywb write.

use std::path::Path;

use super::error::{ArchiveError, Damage};
use super::member::digest_text;
use super::record::Kind;
use super::scan::{self, Answer, Digests, Event};
use crate::url::CanonicalUrl;

/// The lines of the index of all `files`, sorted, and what in the files cannot be read. A digest that
/// a record lacks is worked out, over the payload as it was sent, as cdxj-indexer does.
///
/// # Errors
/// [`ArchiveError::Open`] for a file that cannot be opened, [`ArchiveError::NoFiles`].
pub fn cdxj<P: AsRef<Path>>(files: &[P]) -> Result<(Vec<String>, Vec<Damage>), ArchiveError> {
    if files.is_empty() {
        return Err(ArchiveError::NoFiles);
    }
    let mut index = Index::default();
    for path in files {
        let path = path.as_ref();
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        let passed = scan::scan(path, Digests::Complete, &mut |event| match event {
            Event::Answer(answer) => index.add(&answer, &name, false),
            Event::Revisit(answer) => index.add(&answer, &name, true),
            Event::Other(place) => index.end_at(place.offset),
            Event::Damage(place, flaw) => {
                index.end_at(place.offset);
                index.damage.push(Damage::new(path, place.offset, flaw));
            }
            Event::Progress(_) => {}
        });
        let passed = passed.map_err(|cause| ArchiveError::Open {
            path: path.to_path_buf(),
            cause,
        })?;
        index.end_at(passed.bytes);
    }
    index.lines.sort_unstable();
    Ok((index.lines, index.damage))
}

#[derive(Default)]
struct Index {
    lines: Vec<String>,
    damage: Vec<Damage>,
    /// The answer whose end is not known yet: where it begins, and its line up to there.
    open: Option<(u64, String, Fields)>,
}

/// The JSON object of a line, in the order of its fields.
#[derive(serde::Serialize)]
struct Fields {
    url: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    mime: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    status: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    digest: Option<String>,
    length: String,
    offset: String,
    filename: String,
}

impl Index {
    fn add(&mut self, answer: &Answer, file: &str, is_revisit: bool) {
        self.end_at(answer.place.offset);
        // Inside a member nobody could go to it by its offset.
        let place = Some(answer.place).filter(|place| place.skip == 0);
        let target = answer.head.target().map(CanonicalUrl::parse);
        let (Some(place), Some(Ok(url))) = (place, target) else {
            return;
        };
        let date: String = answer.head.date().unwrap_or_default().chars().collect();
        let digits: String = date.chars().filter(char::is_ascii_digit).take(14).collect();
        let mime = answer.content_type.as_deref();
        let mime = mime.map(|mime| mime.split(';').next().unwrap_or_default().trim());
        let mime = if is_revisit {
            Some("warc/revisit")
        } else {
            mime
        };
        let has_status = answer.head.kind != Kind::Resource;
        let fields = Fields {
            url: url.as_str().to_owned(),
            mime: mime.map(str::to_owned),
            status: has_status.then(|| answer.status.to_string()),
            digest: match answer.head.payload_digest() {
                Some(digest) => Some(digest.to_owned()),
                None => answer.digest.as_ref().map(digest_text),
            },
            length: String::new(),
            offset: place.offset.to_string(),
            filename: file.to_owned(),
        };
        self.open = Some((place.offset, format!("{} {digits}", surt(&url)), fields));
    }

    /// What follows the open answer begins here, or the file ends.
    fn end_at(&mut self, offset: u64) {
        let Some((start, key, mut fields)) = self.open.take() else {
            return;
        };
        fields.length = offset.saturating_sub(start).to_string();
        // Strings and numbers always have a JSON form.
        let fields = serde_json::to_string(&fields).unwrap_or_default();
        self.lines.push(format!("{key} {fields}"));
    }
}

/// The key of a URL: `http://www.a.example:8080/X?b&a` gives `example,a:8080)/x?a&b`.
fn surt(url: &CanonicalUrl) -> String {
    let key = url.host_key();
    let host = key.host();
    let port = key.as_str().strip_prefix(host).unwrap_or_default();
    let host = without_www(host);
    let turned: Vec<&str> = host.rsplit('.').collect();
    let rest = url.as_str().split_once("://").map_or("", |(_, rest)| rest);
    let rest = rest.find(['/', '?']).map_or("/", |at| &rest[at..]);
    let rest = rest.to_lowercase();
    let (path, query) = match rest.split_once('?') {
        Some((path, query)) => (path, query),
        None => (rest.as_str(), ""),
    };
    let mut parts: Vec<&str> = query.split('&').filter(|part| !part.is_empty()).collect();
    parts.sort_unstable();
    let mark = if parts.is_empty() { "" } else { "?" };
    let path = match path.strip_suffix('/') {
        Some("") | None => path,
        Some(shorter) => shorter,
    };
    format!("{}{port}){path}{mark}{}", turned.join(","), parts.join("&"))
}

/// `www.`, `www2.` and the like are one host to a reader.
fn without_www(host: &str) -> &str {
    let rest = host.strip_prefix("www").unwrap_or(host);
    let rest = rest.trim_start_matches(|c: char| c.is_ascii_digit());
    match rest.strip_prefix('.') {
        Some(bare) if host.starts_with("www") => bare,
        _ => host,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_those_of_the_surt_library() {
        // What cdxj-indexer 1.5.0 with surt 0.3.1 prints.
        for (url, key) in [
            ("http://127.0.0.1:18099/p1.html", "1,0,0,127:18099)/p1.html"),
            ("http://www.a.example/", "example,a)/"),
            ("https://www2.a.example/X/?b=1&a=Y", "example,a)/x?a=y&b=1"),
            ("http://wwwx.example/a/", "example,wwwx)/a"),
            ("http://h.example/?", "example,h)/"),
        ] {
            let url = CanonicalUrl::parse(url).unwrap();
            assert_eq!(surt(&url), key, "{url}");
        }
    }
}

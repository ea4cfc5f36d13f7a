//! Pages of example URLs, read from an archive, a table's own text or files, on all cores.

use std::collections::HashSet;
use std::fs;
use std::num::NonZeroUsize;
use std::path::Path;
use std::thread;

use crate::archive::{Archive, ArchivedResponse};
use crate::critic::{TrainError, Trainer};
use crate::page::{DocumentKind, Page, PageLimits, PageSource};
use crate::taxonomy::{
    Distinct, Example, ExampleFolder, ExampleTable, SharedRule, Source, SourceError, SourceKind,
};
use crate::url::CanonicalUrl;

/// Examples read before any of them is learned from; bounds the pages in memory.
const CHUNK: usize = 256;
/// The largest file that is read as an example, in bytes.
const FILE_BYTES_MAX: u64 = 16 << 20;
/// Redirects that are followed from one URL within an archive.
const REDIRECTS_MAX: usize = 10;
/// A URL for pages that come from files: nothing is fetched from it.
const NOWHERE: &str = "http://localhost/";

/// A page of a topic, or why there is none.
#[derive(Clone, Debug)]
pub struct ReadExample {
    /// Its topic.
    pub topic: String,
    /// Its URL, or its path.
    pub url: String,
    /// The page, or what stands in the way.
    pub page: Result<Page, String>,
    /// The page could not be had, for this reason, and title and description stand for it.
    pub stand_in_for: Option<String>,
}

/// Reads the examples of a table: from their own text where the table has it, else from the archive,
/// whose redirects are followed; where the archive lacks the page, title and description stand for
/// it. `take` gets them in the order of the table.
pub fn read_table<E>(
    table: &ExampleTable,
    archive: Option<&Archive>,
    take: impl FnMut(ReadExample) -> Result<(), E>,
) -> Result<(), E> {
    let read = |example: &Example| {
        let (page, stand_in_for) = page_of(example, archive);
        ReadExample {
            topic: example.topic.clone(),
            url: example.url.clone(),
            page,
            stand_in_for,
        }
    };
    on_all_cores(&table.examples, read, take)
}

/// Reads the examples of a folder, in its order.
pub fn read_folder<E>(
    folder: &ExampleFolder,
    take: impl FnMut(ReadExample) -> Result<(), E>,
) -> Result<(), E> {
    on_all_cores(
        &folder.files,
        |file| ReadExample {
            topic: file.topic.clone(),
            url: file.path.display().to_string(),
            page: page_of_file(&file.path),
            stand_in_for: None,
        },
        take,
    )
}

/// Reads the examples of any source, repeated ones once, in its order: from their own text where the
/// source has it, from its files if it is a folder, else from the archive.
///
/// # Errors
/// [`SourceError`] as `E`, and whatever `take` says.
pub fn read_source<E: From<SourceError>>(
    source: &mut Source,
    archive: Option<&Archive>,
    mut take: impl FnMut(ReadExample) -> Result<(), E>,
) -> Result<(), E> {
    let folder = (source.kind() == SourceKind::Folder).then(|| source.path().to_owned());
    let read = |example: &Example| {
        let (page, stand_in_for) = match &folder {
            Some(folder) => (page_of_file(&folder.join(&example.url)), None),
            None => page_of(example, archive),
        };
        ReadExample {
            topic: example.topic.clone(),
            url: example.url.clone(),
            page,
            stand_in_for,
        }
    };
    let mut distinct = Distinct::new(SharedRule::Keep);
    let mut chunk: Vec<Example> = Vec::with_capacity(CHUNK);
    loop {
        chunk.clear();
        for example in source.by_ref().take(CHUNK) {
            chunk.push(example?);
        }
        if chunk.is_empty() {
            return Ok(());
        }
        chunk.retain(|example| distinct.take(example));
        on_all_cores(&chunk, read, &mut take)?;
    }
}

/// Gives an example to a trainer: its page, or the reason why it has none.
///
/// # Errors
/// [`TrainError`] if its topic cannot be one.
pub fn learn(trainer: &mut Trainer, example: &ReadExample) -> Result<(), TrainError> {
    match &example.page {
        Ok(page) => trainer.add(&example.topic, &example.url, page),
        Err(reason) => {
            trainer.skip_of(&example.topic, &example.url, reason);
            Ok(())
        }
    }
}

/// Reads a document from bytes that come without an HTTP answer: HTML if it looks like it, else text.
///
/// # Errors
/// In words, if the bytes are neither.
pub fn page_of_bytes(url: &CanonicalUrl, body: &[u8]) -> Result<Page, String> {
    let kind = DocumentKind::of(None, body).ok_or("neither HTML nor plain text")?;
    let source = PageSource {
        url,
        content_type: None,
        body,
    };
    Ok(Page::parse(&source, kind, &PageLimits::default()))
}

/// The page, and why it is only its title and description if it is.
fn page_of(example: &Example, archive: Option<&Archive>) -> (Result<Page, String>, Option<String>) {
    let own_text = example.own_text();
    let from_archive = match archive {
        Some(archive) if example.text.trim().is_empty() => archived_page(&example.url, archive),
        _ => {
            let lack = "the table has no text of it, and no archive was given";
            let page = own_text.map_or(Err(lack.to_owned()), |text| page_of_text(&text));
            return (page, None);
        }
    };
    match (from_archive, own_text) {
        (Err(reason), Some(text)) => (page_of_text(&text), Some(reason)),
        (page, _) => (page, None),
    }
}

/// The URLs of examples without a text of their own whose page the archive lacks, each once, in the order
/// of the table. What is no URL is left out.
pub fn not_archived(table: &ExampleTable, archive: Option<&Archive>) -> Vec<CanonicalUrl> {
    let bare = table.examples.iter();
    let bare = bare.filter(|example| example.own_text().is_none());
    let mut seen = HashSet::new();
    let urls = bare.filter_map(|example| CanonicalUrl::parse(&example.url).ok());
    let urls = urls.filter(|url| seen.insert(url.id()));
    let lacks = |url: &CanonicalUrl| {
        let archived = archive.map(|archive| archived_answer(url.clone(), archive));
        matches!(archived, None | Some(Ok(None)))
    };
    urls.filter(lacks).collect()
}

/// The page that the archive has for a URL, at the end of the redirects that it has.
fn archived_page(url: &str, archive: &Archive) -> Result<Page, String> {
    let url = CanonicalUrl::parse(url).map_err(|error| error.to_string())?;
    let (url, answer) = archived_answer(url, archive)?.ok_or("not in the archive")?;
    page_of_answer(&url, &answer)
}

/// The answer at the end of the redirects that the archive has, and its URL; `None` if it lacks one of
/// them.
fn archived_answer(
    mut url: CanonicalUrl,
    archive: &Archive,
) -> Result<Option<(CanonicalUrl, ArchivedResponse)>, String> {
    for _ in 0..=REDIRECTS_MAX {
        let answer = archive.answer(&url).map_err(|error| error.to_string())?;
        let Some(answer) = answer else {
            return Ok(None);
        };
        match answer.redirect_target(&url) {
            Some(target) => url = target?,
            None => return Ok(Some((url, answer))),
        }
    }
    Err(format!(
        "more than {REDIRECTS_MAX} redirects in the archive"
    ))
}

fn page_of_answer(url: &CanonicalUrl, answer: &ArchivedResponse) -> Result<Page, String> {
    if !(200..300).contains(&answer.status) {
        return Err(format!("the archive has status {} for it", answer.status));
    }
    let content_type = answer.content_type.as_deref();
    let kind = DocumentKind::of(content_type, &answer.body)
        .ok_or_else(|| format!("content type {:?} is not read", content_type.unwrap_or("")))?;
    let source = PageSource {
        url,
        content_type,
        body: &answer.body,
    };
    Ok(Page::parse(&source, kind, &PageLimits::default()))
}

fn page_of_text(text: &str) -> Result<Page, String> {
    let url = CanonicalUrl::parse(NOWHERE).map_err(|error| error.to_string())?;
    let source = PageSource {
        url: &url,
        content_type: Some("text/plain; charset=utf-8"),
        body: text.as_bytes(),
    };
    Ok(Page::parse(
        &source,
        DocumentKind::Text,
        &PageLimits::default(),
    ))
}

fn page_of_file(path: &Path) -> Result<Page, String> {
    let size = fs::metadata(path).map_err(|error| error.to_string())?.len();
    if size > FILE_BYTES_MAX {
        return Err(format!("{size} bytes; at most {FILE_BYTES_MAX} are read"));
    }
    let body = fs::read(path).map_err(|error| error.to_string())?;
    let url = CanonicalUrl::parse(NOWHERE).map_err(|error| error.to_string())?;
    page_of_bytes(&url, &body)
}

/// Reads `inputs` chunk by chunk on all cores and takes the results in order.
fn on_all_cores<I: Sync, O: Send, E>(
    inputs: &[I],
    read: impl Fn(&I) -> O + Sync,
    mut take: impl FnMut(O) -> Result<(), E>,
) -> Result<(), E> {
    let workers = thread::available_parallelism().map_or(1, NonZeroUsize::get);
    for chunk in inputs.chunks(CHUNK) {
        let part = chunk.len().div_ceil(workers).max(1);
        let outputs: Vec<O> = thread::scope(|scope| {
            let workers: Vec<_> = chunk
                .chunks(part)
                .map(|part| scope.spawn(|| part.iter().map(&read).collect::<Vec<O>>()))
                .collect();
            workers
                .into_iter()
                .flat_map(|worker| match worker.join() {
                    Ok(outputs) => outputs,
                    Err(panic) => std::panic::resume_unwind(panic),
                })
                .collect()
        });
        for output in outputs {
            take(output)?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::archive::{StoredAnswer, WarcWriter};
    use crate::clock::Timestamp;

    #[test]
    fn order_is_kept_whatever_the_number_of_cores() {
        let inputs: Vec<u32> = (0..1000).collect();
        let mut taken = Vec::new();
        let done: Result<(), ()> = on_all_cores(
            &inputs,
            |n| n * 2,
            |n| {
                taken.push(n);
                Ok(())
            },
        );
        assert_eq!(done, Ok(()));
        assert_eq!(taken, inputs.iter().map(|n| n * 2).collect::<Vec<_>>());
    }

    #[test]
    fn an_error_ends_the_reading() {
        let done = on_all_cores(&[1, 2, 3], |n| *n, |n| if n == 2 { Err(n) } else { Ok(()) });
        assert_eq!(done, Err(2));
    }

    #[test]
    fn a_table_with_text_needs_no_archive_and_one_without_says_so() {
        let example = |text: &str| Example {
            topic: "a".into(),
            url: "http://a.test/".into(),
            text: text.into(),
            ..Default::default()
        };
        let table = ExampleTable {
            examples: vec![example("queries and joins"), example("")],
            repeated: 0,
        };
        let mut read = Vec::new();
        let done: Result<(), ()> = read_table(&table, None, |example| {
            read.push(example);
            Ok(())
        });
        assert_eq!(done, Ok(()));
        assert_eq!(
            read[0].page.as_ref().unwrap().vocabulary,
            ["queries", "and", "joins"]
        );
        assert!(read[1].page.as_ref().unwrap_err().contains("archive"));
    }

    /// An archive with these answers: URL, status, Location or else an HTML body.
    fn archive(answers: &[(&str, u16, &str)]) -> Archive {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.warc.gz");
        let mut writer = WarcWriter::create(&path, "tests", Timestamp(0)).unwrap();
        for (url, status, text) in answers {
            let is_redirect = (300..400).contains(status);
            let name = if is_redirect {
                "Location"
            } else {
                "Content-Type"
            };
            let value = if is_redirect { text } else { "text/html" };
            let answer = StoredAnswer {
                url: &CanonicalUrl::parse(url).unwrap(),
                fetched: Timestamp(0),
                status: *status,
                headers: &[(name.to_owned(), value.to_owned())],
                body: if is_redirect { b"" } else { text.as_bytes() },
            };
            writer.write_answer(&answer).unwrap();
        }
        Archive::open(&[&path]).unwrap()
    }

    fn read_one(example: Example, archive: &Archive) -> ReadExample {
        let table = ExampleTable {
            examples: vec![example],
            repeated: 0,
        };
        let mut read = Vec::new();
        let done: Result<(), ()> = read_table(&table, Some(archive), |example| {
            read.push(example);
            Ok(())
        });
        assert_eq!(done, Ok(()));
        read.remove(0)
    }

    fn at(url: &str, title: &str, text: &str) -> Example {
        Example {
            topic: "a".into(),
            url: url.into(),
            title: title.into(),
            text: text.into(),
            ..Default::default()
        }
    }

    #[test]
    fn archived_redirects_are_followed_to_the_page_and_not_in_circles() {
        let archive = archive(&[
            ("http://a.test/", 301, "/home"),
            ("http://a.test/home", 302, "https://b.test/x"),
            ("https://b.test/x", 200, "<p>joins"),
            ("http://a.test/loop", 301, "/loop"),
            ("http://a.test/astray", 301, "mailto:x@a.test"),
        ]);
        let page = |url: &str| read_one(at(url, "", ""), &archive).page;
        assert_eq!(page("http://a.test/").unwrap().vocabulary, ["joins"]);
        // Stored under the other scheme only.
        assert_eq!(page("http://b.test/x").unwrap().vocabulary, ["joins"]);
        let reason = page("http://a.test/loop").unwrap_err();
        assert_eq!(reason, "more than 10 redirects in the archive");
        let reason = page("http://a.test/astray").unwrap_err();
        assert!(reason.contains("redirects to"), "{reason}");
    }

    #[test]
    fn title_and_description_stand_in_where_the_archive_lacks_the_page() {
        let archive = archive(&[
            ("http://a.test/had", 200, "<p>joins"),
            ("http://a.test/gone", 404, "<p>sorry"),
        ]);
        let read = |url, title, text| read_one(at(url, title, text), &archive);
        let words = |read: &ReadExample| read.page.as_ref().unwrap().vocabulary.clone();
        let had = read("http://a.test/had", "queries", "");
        assert_eq!(
            (words(&had), had.stand_in_for),
            (vec!["joins".into()], None)
        );
        for (url, reason) in [
            ("http://a.test/lost", "not in the archive"),
            ("http://a.test/gone", "the archive has status 404 for it"),
            ("no url", "relative URL without a base"),
        ] {
            let lost = read(url, "queries", "");
            assert_eq!(words(&lost), ["queries"]);
            let why = lost.stand_in_for.unwrap();
            assert!(why.contains(reason), "{why}");
            let nothing = read(url, "", "");
            assert_eq!(nothing.stand_in_for, None);
            assert!(nothing.page.unwrap_err().contains(reason));
        }
        // The text of the page itself goes before the archive, as it always did.
        let own = read("http://a.test/had", "queries", "tables");
        assert_eq!(words(&own), ["queries", "tables"]);
    }
}

//! Sitemaps (sitemaps.org protocol 0.90): XML or a URL a line, plain or in gzip, or an index of others.
//!
//! What can be read is kept: a file that breaks off or is not quite XML gives the URLs before that. No
//! document type is obeyed, so that no entity leads elsewhere or swells.

use std::io::Read as _;

use flate2::bufread::MultiGzDecoder;
use quick_xml::Reader;
use quick_xml::events::Event;

use crate::url::CanonicalUrl;

/// Bytes of a sitemap that are read, decompressed (the protocol allows 50 MiB).
pub const SITEMAP_BYTES_MAX: usize = 10 << 20;

/// URLs of one sitemap that are taken, as the protocol has it.
pub const SITEMAP_URLS_MAX: usize = 50_000;

const GZIP_MAGIC: &[u8] = b"\x1f\x8b";

/// What a sitemap names.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Sitemap {
    /// Pages, as far as they can be crawled.
    pub pages: Vec<CanonicalUrl>,
    /// Other sitemaps, if it is an index.
    pub sitemaps: Vec<CanonicalUrl>,
}

impl Sitemap {
    /// Reads a sitemap; gzip is told by its first bytes, not by its name.
    pub fn parse(file: &[u8]) -> Self {
        let mut unpacked = Vec::new();
        let plain = if file.starts_with(GZIP_MAGIC) {
            let bytes_max = u64::try_from(SITEMAP_BYTES_MAX).unwrap_or(u64::MAX);
            // What came before a fault is kept.
            let _ = MultiGzDecoder::new(file)
                .take(bytes_max)
                .read_to_end(&mut unpacked);
            unpacked.as_slice()
        } else {
            file.get(..SITEMAP_BYTES_MAX).unwrap_or(file)
        };
        let plain = plain.strip_prefix(b"\xef\xbb\xbf").unwrap_or(plain);
        let text = String::from_utf8_lossy(plain);
        // The standard allows nothing before the declaration, many sitemaps begin with an empty line.
        let text = text.trim_start();
        if text.starts_with('<') {
            return Self::of_xml(text);
        }
        let mut sitemap = Self::default();
        text.lines().for_each(|line| sitemap.take(line, "url"));
        sitemap
    }

    fn of_xml(text: &str) -> Self {
        let mut reader = Reader::from_str(text);
        let config = reader.config_mut();
        config.check_end_names = false;
        config.allow_unmatched_ends = true;
        let mut sitemap = Self::default();
        // The element around a `loc`, and the text in it.
        let mut around = "";
        let mut loc: Option<String> = None;
        while let Ok(event) = reader.read_event() {
            match event {
                Event::Start(tag) => match tag.local_name().as_ref() {
                    "url" => around = "url",
                    "sitemap" => around = "sitemap",
                    "loc" => loc = Some(String::new()),
                    // The `loc` of an image or video is no page.
                    _ => loc = None,
                },
                Event::Text(part) => push(&mut loc, &part),
                Event::CData(part) => push(&mut loc, &part),
                Event::GeneralRef(name) => {
                    let resolved = resolve(&name);
                    push(&mut loc, &resolved);
                }
                Event::End(tag) if tag.local_name().as_ref() == "loc" => {
                    if let Some(url) = loc.take().filter(|_| tag.name().as_ref() == "loc") {
                        sitemap.take(&url, around);
                    }
                }
                Event::Eof => break,
                _ => {}
            }
        }
        sitemap
    }

    fn take(&mut self, url: &str, around: &str) {
        if self.pages.len() + self.sitemaps.len() >= SITEMAP_URLS_MAX {
            return;
        }
        let Ok(url) = CanonicalUrl::parse(url) else {
            return;
        };
        match around {
            "sitemap" => self.sitemaps.push(url),
            _ => self.pages.push(url),
        }
    }
}

/// Longer than any URL that is taken: what lies beyond is not gathered.
const LOC_BYTES_MAX: usize = 10_000;

fn push(loc: &mut Option<String>, part: &str) {
    if let Some(loc) = loc.as_mut().filter(|loc| loc.len() < LOC_BYTES_MAX) {
        loc.push_str(part);
    }
}

/// What a reference stands for; nothing if it is none of XML's own.
fn resolve(name: &str) -> String {
    match quick_xml::escape::unescape(&format!("&{name};")) {
        Ok(text) => text.into_owned(),
        Err(_) => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;

    use flate2::Compression;
    use flate2::write::GzEncoder;
    use proptest::prelude::*;

    use super::*;

    fn read(file: impl AsRef<[u8]>) -> (Vec<String>, Vec<String>) {
        let sitemap = Sitemap::parse(file.as_ref());
        let texts = |urls: Vec<CanonicalUrl>| urls.iter().map(ToString::to_string).collect();
        (texts(sitemap.pages), texts(sitemap.sitemaps))
    }

    fn pages(file: impl AsRef<[u8]>) -> Vec<String> {
        read(file).0
    }

    fn gzip(text: &[u8]) -> Vec<u8> {
        let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
        encoder.write_all(text).unwrap();
        encoder.finish().unwrap()
    }

    /// The sample of sitemaps.org/protocol.html, shortened.
    const SAMPLE: &str = "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n\
        <urlset xmlns=\"http://www.sitemaps.org/schemas/sitemap/0.9\">\n\
        <url><loc>http://www.example.com/</loc><lastmod>2005-01-01</lastmod></url>\n\
        <url><loc>http://www.example.com/catalog?item=12&amp;desc=vacation</loc></url>\n</urlset>";

    #[test]
    fn the_sample_of_the_protocol_is_read_in_every_wrapping() {
        let expected = [
            "http://www.example.com/",
            "http://www.example.com/catalog?item=12&desc=vacation",
        ];
        for file in [
            SAMPLE.as_bytes().to_vec(),
            // crawler-commons 144, 234: a blank line before the declaration.
            format!("\u{feff}\r\n  {SAMPLE}").into_bytes(),
            gzip(SAMPLE.as_bytes()),
            expected.join("\r\n").into_bytes(),
            // crawler-commons 143: text in gzip.
            gzip(expected.join("\n").as_bytes()),
        ] {
            assert_eq!(pages(file), expected);
        }
    }

    #[test]
    fn an_index_names_other_sitemaps() {
        let index = "<sitemapindex><sitemap><loc>http://h.test/1.xml.gz</loc></sitemap>\
            <sitemap><loc>http://h.test/2.xml</loc></sitemap></sitemapindex>";
        let (pages, sitemaps) = read(index);
        assert!(pages.is_empty());
        assert_eq!(sitemaps, ["http://h.test/1.xml.gz", "http://h.test/2.xml"]);
    }

    #[test]
    fn odd_locations_are_read_and_others_passed_over() {
        // browsertrix-crawler 578 and wpull 491: CDATA, and white space within.
        let file = "<urlset><url><loc><![CDATA[http://h.test/a?b&c]]></loc></url>\
            <url><loc>\n   http://h.test/b\n</loc>\
            <image:image><image:loc>http://h.test/i.png</image:loc></image:image></url>\
            <url><loc>/relative</loc></url><url><loc>mailto:a@b</loc></url><url><loc/></url>\
            <url><loc>http://h.test/&#99;</loc></url>";
        assert_eq!(
            pages(file),
            ["http://h.test/a?b&c", "http://h.test/b", "http://h.test/c"]
        );
    }

    #[test]
    fn what_came_before_a_fault_is_kept() {
        let broken = SAMPLE.replace("</url>\n<url><loc>", "</url>\n<<&url");
        assert_eq!(pages(&broken)[0], "http://www.example.com/");
        let first_ends = SAMPLE.find("</loc>").unwrap();
        assert!(pages(&SAMPLE[..first_ends]).is_empty());
        assert_eq!(
            pages(&SAMPLE[..first_ends + 6]),
            ["http://www.example.com/"]
        );
        let packed = gzip(SAMPLE.repeat(50).as_bytes());
        assert!(pages(&packed[..packed.len() - 12]).len() > 10);
        assert_eq!(pages("<html><body>404<a href=http://h.test/>"), [""; 0]);
    }

    #[test]
    fn no_document_type_is_obeyed() {
        let bomb = "<!DOCTYPE x [<!ENTITY a \"http://h.test/a\"><!ENTITY f SYSTEM \"file:///etc/passwd\">]>\
            <urlset><url><loc>&a;</loc></url><url><loc>http://h.test/&f;b</loc></url></urlset>";
        assert_eq!(pages(bomb), ["http://h.test/b"]);
    }

    #[test]
    fn bytes_and_urls_are_bounded() {
        // stormcrawler 2100: a small gzip file that becomes more URLs than there may be.
        let lines = "http://h.test/page\n".repeat(SITEMAP_URLS_MAX + 9);
        assert_eq!(pages(gzip(lines.as_bytes())).len(), SITEMAP_URLS_MAX);
        let bomb = gzip(&vec![b'x'; SITEMAP_BYTES_MAX * 4]);
        assert!(pages(bomb).is_empty());
    }

    proptest! {
        #[test]
        fn no_file_breaks_the_reader(
            parts in proptest::collection::vec(
                prop_oneof![
                    Just("<url>"), Just("<loc>"), Just("</loc>"), Just("http://h.test/"), Just("&"),
                    Just("<![CDATA["), Just("]]>"), Just("<!--"), Just("<"), Just("amp;"), Just("\0"),
                ],
                0..40,
            ),
            noise in proptest::collection::vec(any::<u8>(), 0..20),
        ) {
            let file = [parts.concat().as_bytes(), &noise].concat();
            prop_assert!(pages(&file).len() <= 40);
        }
    }
}

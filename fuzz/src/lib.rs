//! What has to hold for any bytes, whoever makes them: libFuzzer (`fuzz_targets/`), or the mutations of
//! `examples/mutate.rs`, which need no nightly compiler and no clang.

use std::fs;

use apprentice::archive::{Archive, ArchivedResponse};
use apprentice::booking::evidence;
use apprentice::fetch::robots::RobotsRules;
use apprentice::fetch::sitemap::{SITEMAP_URLS_MAX, Sitemap};
use apprentice::page::{DocumentKind, Page, PageLimits, PageSource};
use apprentice::url::{CanonicalUrl, registrable_domain};

/// Any bytes are a robots.txt, and every question to it has an answer.
pub fn robots(bytes: &[u8]) {
    let rules = RobotsRules::parse(bytes);
    for path in ["", "a", "a/b?c=d", "%7Ea", "robots.txt"] {
        let url = CanonicalUrl::parse(&format!("http://h.test/{path}")).expect("a URL");
        let _ = (rules.allows(&url), rules.deciding_rule(&url));
    }
    let _ = (rules.crawl_delay(), rules.sitemaps());
}

/// What is canonical stays so, and no text panics.
pub fn url(text: &str) {
    let base = url::Url::parse("https://h.test/a/b?c").expect("a URL");
    for url in [
        CanonicalUrl::parse(text),
        CanonicalUrl::resolve(&base, text),
    ] {
        let Ok(url) = url else { continue };
        let again = CanonicalUrl::parse(url.as_str()).expect("canonical parses");
        assert_eq!(again, url);
        let key = url.host_key();
        assert!(!key.as_str().is_empty());
        let _ = registrable_domain(&key);
    }
    let _ = CanonicalUrl::from_stored(text.to_owned()).host_key();
}

/// Any bytes are a sitemap, which names no more than it may.
pub fn sitemap(bytes: &[u8]) {
    let sitemap = Sitemap::parse(bytes);
    assert!(sitemap.pages.len() + sitemap.sitemaps.len() <= SITEMAP_URLS_MAX);
}

/// Any bytes under any header are a page, and its evidence gives it back. The first byte is the length
/// of the header.
pub fn page(bytes: &[u8]) {
    let Some((header, body)) = headed(bytes) else {
        return;
    };
    for kind in [DocumentKind::Html, DocumentKind::Text] {
        let page = read(header, body, kind);
        for leaf in 0..page.leaf_ends.len() {
            let _ = page.leaf_words(leaf);
        }
        let again = evidence::decode(&evidence::encode(&page)).expect("its own evidence");
        assert_eq!(again, page);
    }
    let _ = DocumentKind::of(header, body);
    let _ = evidence::decode(body);
    let _ = evidence::link(body, 0);
}

/// Any bytes under any header are text in one of the character sets of the standard, the same each time.
/// The first byte is the length of the header.
pub fn charset(bytes: &[u8]) {
    let Some((header, body)) = headed(bytes) else {
        return;
    };
    let page = read(header, body, DocumentKind::Text);
    assert!(!page.charset.is_empty());
    assert_eq!(read(header, body, DocumentKind::Text), page);
}

/// A stored HTTP answer is read or refused, whatever its bytes are.
pub fn warc(bytes: &[u8]) {
    if let Ok(response) = ArchivedResponse::from_http(bytes.to_vec()) {
        assert!((100..=999).contains(&response.status));
    }
}

/// Any file is a WARC file, damaged or not, or an error; what is listed can be asked for.
pub fn warc_file(bytes: &[u8]) {
    let folder = std::env::temp_dir().join(format!("apprentice-fuzz-{}", std::process::id()));
    fs::create_dir_all(&folder).expect("a folder");
    let path = folder.join("fuzz.warc");
    fs::write(&path, bytes).expect("a file");
    if let Ok(archive) = Archive::open(&[&path]) {
        for url in archive.urls().take(100) {
            let _ = archive.get(&url);
        }
    }
    fs::remove_dir_all(&folder).expect("the folder was made");
}

fn headed(bytes: &[u8]) -> Option<(Option<&str>, &[u8])> {
    let (length, rest) = bytes.split_first()?;
    let (header, body) = rest.split_at(rest.len().min(usize::from(*length)));
    Some((std::str::from_utf8(header).ok(), body))
}

fn read(header: Option<&str>, body: &[u8], kind: DocumentKind) -> Page {
    let url = CanonicalUrl::parse("http://h.test/dir/page").expect("a URL");
    let source = PageSource {
        url: &url,
        content_type: header,
        body,
    };
    Page::parse(&source, kind, &PageLimits::default())
}

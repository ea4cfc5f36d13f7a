//! Any bytes under any header are a page, and its evidence gives it back.
//!
//! The first byte is the length of the header: `cargo fuzz run page` (needs nightly, or stable with
//! `RUSTC_BOOTSTRAP=1`).
#![no_main]

use apprentice::booking::evidence;
use apprentice::page::{DocumentKind, Page, PageLimits, PageSource};
use apprentice::url::CanonicalUrl;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let Some((length, rest)) = bytes.split_first() else {
        return;
    };
    let (header, body) = rest.split_at(rest.len().min(usize::from(*length)));
    let header = std::str::from_utf8(header).ok();
    let url = CanonicalUrl::parse("http://h.test/dir/page").expect("a URL");
    let source = PageSource {
        url: &url,
        content_type: header,
        body,
    };
    let _ = DocumentKind::of(header, body);
    for kind in [DocumentKind::Html, DocumentKind::Text] {
        let page = Page::parse(&source, kind, &PageLimits::default());
        for leaf in 0..page.leaf_ends.len() {
            let _ = page.leaf_words(leaf);
        }
        let again = evidence::decode(&evidence::encode(&page)).expect("its own evidence");
        assert_eq!(again, page);
    }
    let _ = evidence::decode(body);
    let _ = evidence::link(body, 0);
});

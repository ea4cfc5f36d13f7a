//! Evidence, written and read.

use proptest::prelude::*;

use super::*;
use crate::page::{
    ATTRIBUTES_MAX, DocumentKind, LeafSpan, LinkContext, LinkElement, PageLimits, PageSource,
};

fn page(html: &str) -> Page {
    let url = CanonicalUrl::parse("http://h.test/dir/page?q").unwrap();
    let source = PageSource {
        url: &url,
        content_type: Some("text/html"),
        body: html.as_bytes(),
    };
    Page::parse(&source, DocumentKind::Html, &PageLimits::default())
}

fn sample() -> Page {
    page(
        "<title>A title of words</title><meta name=robots content=none><link rel=canonical href=/c>\
         <meta http-equiv=refresh content='0;url=/r'><ul class=menu><li><a href=x>one word</a>\
         <li><a href=y?a/b rel=nofollow>another word</a></ul><map><area href=//other.test/deep/er/>\
         </map><iframe src=f></iframe>the \u{fc}ber words of the page",
    )
}

#[test]
fn a_page_comes_back_whole() {
    for page in [sample(), page(""), page("<p>words"), Page::default()] {
        assert_eq!(decode(&encode(&page)).unwrap(), page);
    }
}

#[test]
fn a_link_is_read_alone() {
    let page = sample();
    let bytes = encode(&page);
    assert_eq!(page.links.len(), 5);
    for (place, expected) in (0..).zip(&page.links) {
        assert_eq!(link(&bytes, place).unwrap(), *expected);
        assert_eq!(link_url(&bytes, place).unwrap(), expected.target);
    }
    assert!(link(&bytes, 5).is_err());
    assert!(link_url(&bytes, u32::MAX).is_err());
}

#[test]
fn a_link_is_read_without_what_stands_behind_the_links() {
    let page = sample();
    let bytes = encode(&page);
    let words = u32::try_from(page.words.len()).unwrap();
    let mut cursor = Cursor::new(&bytes);
    links_of(&mut cursor).unwrap();
    let links_only = &bytes[..bytes.len() - cursor.rest().len()];
    assert!(words > 0 && decode(links_only).is_err());
    assert_eq!(link(links_only, 1).unwrap(), page.links[1]);
}

#[test]
fn the_bytes_of_version_2_stay_as_they_are() {
    let mut small = page("<title>ab</title><body><h1>ab</h1><a href=/x rel=up>cd ab</a>");
    small.links[0].element = LinkElement::Area;
    let expected: &[&[u8]] = &[
        // version, one link, offsets of one byte, 46 bytes of dictionary, the end of the record
        &[2, 1, 1, 46, 8],
        // one directory that shares nothing; tags and attributes; two lists of them
        &[1, 0, 14],
        b"http://h.test/",
        &[3, 4],
        b"body",
        &[4],
        b"html",
        &[6],
        b"rel:up",
        &[2, 2, 0, 1, 1, 2],
        // one context: a heading of one leaf from leaf 0, no heads
        &[1, 1, 0, 0, 0],
        // area, first leaf 1, no further leaf, path 0, attributes 1, context 0, directory 0
        &[1, 1, 0, 0, 1, 0, 0],
        b"x",
        // nothing dropped, title, character set, no flags
        &[0, 2],
        b"ab",
        &[5],
        b"UTF-8",
        &[0],
        // vocabulary
        &[2, 2],
        b"ab",
        &[2],
        b"cd",
        // a new word in the title; the first, a new one and the first in the text; leaves of one and two
        &[1, 0, 3, 1, 0, 1, 2, 1, 2],
    ];
    assert_eq!(encode(&small), expected.concat());
}

#[test]
fn what_version_1_wrote_is_still_read() {
    let mut small = page("<title>ab</title><body><a href=/x>cd ab</a>");
    small.links[0].element = LinkElement::Area;
    let written: &[&[u8]] = &[
        // version, one link, offsets of one byte, 32 bytes of dictionary, the end of the record
        &[1, 1, 1, 32, 6],
        // one directory that shares nothing, two tags, one path
        &[1, 0, 14],
        b"http://h.test/",
        &[2, 4],
        b"body",
        &[4],
        b"html",
        &[1, 2, 0, 1],
        // area, first leaf 0, no further leaf, path 0, directory 0
        &[1, 0, 0, 0, 0],
        b"x",
        // nothing dropped, title, character set, no flags
        &[0, 2],
        b"ab",
        &[5],
        b"UTF-8",
        &[0],
        // vocabulary
        &[2, 2],
        b"ab",
        &[2],
        b"cd",
        // a new word in the title; a new one and the first in the text; one leaf of two words
        &[1, 0, 2, 0, 1, 1, 2],
    ];
    assert_eq!(decode(&written.concat()).unwrap(), small);
}

#[test]
fn another_version_and_cut_bytes_are_refused() {
    let bytes = encode(&sample());
    for length in 0..bytes.len() {
        assert!(decode(&bytes[..length]).is_err(), "{length}");
    }
    let longer = [&bytes[..], &[0]].concat();
    assert!(decode(&longer).is_err());
    let mut newer = bytes;
    newer[0] = VERSION + 1;
    for error in [decode(&newer).unwrap_err(), link(&newer, 0).unwrap_err()] {
        assert!(error.to_string().contains("another version"), "{error}");
    }
}

/// Reads all that can be read; returns whether the whole was a page.
fn read_all(bytes: &[u8]) -> bool {
    for place in 0..4 {
        let _ = link(bytes, place);
        let _ = link_url(bytes, place);
    }
    let Ok(page) = decode(bytes) else {
        return false;
    };
    let words: usize = (0..page.leaf_ends.len())
        .map(|leaf| page.leaf_words(leaf).len())
        .sum();
    words == page.words.len()
}

fn any_link(leaves: u32) -> impl Strategy<Value = Link> {
    let element = prop::sample::select(vec![
        LinkElement::Anchor,
        LinkElement::Area,
        LinkElement::Frame,
        LinkElement::Refresh,
    ]);
    let path = prop::collection::vec("[a-z]{1,4}(#[a-z]{0,3})?", 0..=8);
    let target =
        "https?://[a-c]{1,2}\\.test(:81)?/([a-c\u{fc}]{1,2}/){0,3}[a-z]{0,3}(\\?[a-z/]{0,4})?";
    let span = move || {
        (0..leaves, 0..leaves).prop_map(|(a, b)| LeafSpan {
            first: a.min(b),
            last: a.max(b),
        })
    };
    let heads = [span(), span(), span()].map(prop::option::of);
    let attributes = prop::collection::vec("(rel|class):[a-z#]{1,4}", 0..=ATTRIBUTES_MAX);
    let context = (heads, attributes).prop_map(|([heading, column_head, row_head], attributes)| {
        LinkContext {
            heading,
            column_head,
            row_head,
            attributes,
        }
    });
    (target, span(), any::<bool>(), element, path, context).prop_map(
        |(target, span, nofollow, element, tag_path, context)| Link {
            target: CanonicalUrl::from_stored(target),
            first_leaf: span.first,
            last_leaf: span.last,
            nofollow,
            element,
            tag_path,
            context,
        },
    )
}

prop_compose! {
    fn any_page()(
        vocabulary in prop::collection::vec("\\PC{0,6}", 1..300),
        lengths in prop::collection::vec(0_u32..9, 1..60)
    )(
        leaf_ends in Just(lengths.iter().scan(0, |end, length| { *end += length; Some(*end) }).collect::<Vec<u32>>()),
        words in {
            let words = 0..u32::try_from(vocabulary.len()).unwrap();
            prop::collection::vec(words, lengths.iter().sum::<u32>() as usize)
        },
        title_words in prop::collection::vec(0..u32::try_from(vocabulary.len()).unwrap(), 0..5),
        links in prop::collection::vec(any_link(u32::try_from(lengths.len()).unwrap()), 0..40),
        vocabulary in Just(vocabulary),
        title in "\\PC{0,20}",
        flags in any::<(bool, bool, bool, bool)>(),
        canonical in prop::option::of(Just(CanonicalUrl::from_stored("http://h.test/".to_owned()))),
        links_dropped in any::<u32>()
    ) -> Page {
        Page {
            title, title_words, vocabulary, words, leaf_ends, links, links_dropped,
            meta: PageMeta { noindex: flags.0, nofollow: flags.1, noarchive: flags.3, canonical },
            charset: "windows-1252",
            flattened: flags.2,
        }
    }
}

proptest! {
    #[test]
    fn any_page_comes_back(page in any_page()) {
        let bytes = encode(&page);
        for (place, expected) in (0..).zip(&page.links) {
            prop_assert_eq!(&link(&bytes, place).unwrap(), expected);
            prop_assert_eq!(&link_url(&bytes, place).unwrap(), &expected.target);
        }
        prop_assert_eq!(decode(&bytes).unwrap(), page);
    }

    #[test]
    fn foreign_bytes_never_panic(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        read_all(&bytes);
        for version in 1..=VERSION {
            let versioned = [&[version][..], &bytes].concat();
            read_all(&versioned);
        }
    }

    #[test]
    fn a_changed_byte_never_panics(place in any::<prop::sample::Index>(), byte: u8) {
        let mut bytes = encode(&sample());
        let place = place.index(bytes.len());
        bytes[place] = byte;
        read_all(&bytes);
    }
}

//! Small odd pages and what is read from each: its numbered leaves and its links with their spans.
//!
//! The dumps lie in snapshots/; `cargo insta review` shows what a change does to them.

use std::fmt::Write;

use super::{DocumentKind, Page, PageLimits, PageSource};
use crate::url::CanonicalUrl;

/// What a page holds, for people.
fn dump(html: &str) -> String {
    let url = CanonicalUrl::parse("http://h.test/dir/page").unwrap();
    let source = PageSource {
        url: &url,
        content_type: None,
        body: html.as_bytes(),
    };
    let page = Page::parse(&source, DocumentKind::Html, &PageLimits::default());
    let mut text = format!("{html}\n\ntitle {:?}\n", page.title);
    for leaf in 0..page.leaf_ends.len() {
        let words = page.leaf_words(leaf).iter();
        let words: Vec<_> = words
            .map(|word| page.vocabulary[*word as usize].as_str())
            .collect();
        writeln!(text, "leaf {leaf}: {}", words.join(" ")).unwrap();
    }
    for link in &page.links {
        let nofollow = if link.nofollow { " nofollow" } else { "" };
        writeln!(
            text,
            "{:?} {}..{} {}{nofollow} in {}",
            link.element,
            link.first_leaf,
            link.last_leaf,
            link.target,
            link.tag_path.join(" < ")
        )
        .unwrap();
    }
    text.lines()
        .map(|line| line.trim_end().to_owned() + "\n")
        .collect()
}

#[test]
fn odd_pages_are_read_as_before() {
    for (name, html) in PAGES {
        insta::with_settings!({ omit_expression => true, prepend_module_to_snapshot => false }, {
            insta::assert_snapshot!(*name, dump(html));
        });
    }
}

const PAGES: &[(&str, &str)] = &[
    (
        "nested-anchors",
        "<p>before <a href=outer>outer <a href=inner>inner</a> behind</a> after",
    ),
    (
        "unclosed-anchor",
        "<ul><li><a href=1>first<li><a href=2>second<li>third</ul><p>after",
    ),
    (
        "unclosed-anchor-over-blocks",
        "<a href=1><div>one<p>two</div><h2>three</h2><a href=2>four",
    ),
    (
        "image-map",
        "<img src=m.gif usemap=#m alt='site map'><map name=m><area href=north alt=North>\
         <area href=south alt='' title=South><area nohref alt=sea></map>",
    ),
    (
        "frames",
        "<title>Framed</title><frameset cols='1,2'><frame src=menu><frameset rows='1,1'>\
         <frame src=main name=x><frame></frameset><noframes><a href=plain>no frames</a></noframes>\
         </frameset>",
    ),
    (
        "iframes",
        "<p>one<iframe src=inner title='a frame'>old <a href=x>browsers</a></iframe>two\
         <iframe srcdoc='<a href=y>y</a>'></iframe>",
    ),
    (
        "base-in-the-body",
        "<a href=early>early</a><p><base href='/other/'><a href=late>late</a>\
         <base href='/third/'><a href=latest>latest</a>",
    ),
    (
        "base-relative-and-empty",
        "<base target=_top><base href=''><base href='../up/'><a href=x>x</a>",
    ),
    (
        "foster-parented-links",
        "<table><a href=1>above</a><tr><a href=2>too</a><td>cell <a href=3>inside</a></tr>\
         <tr>stray</table>below",
    ),
    (
        "table-in-anchor",
        "<a href=1>before<table><tr><td>cell<td><a href=2>other</a></table>after</a>end",
    ),
    (
        "template",
        "one<template><a href=hidden>hidden</a><p>words</template><a href=shown>shown</a>",
    ),
    (
        "noscript",
        "<head><noscript><meta name=robots content=nofollow><link rel=canonical href=/c></noscript>\
         <title>T1 title</title></head><noscript><a href=plain>without scripts</a>\
         <img src=p.gif alt=pixel></noscript><script>document.write('<a href=js>js</a>')</script>",
    ),
    (
        "svg-links",
        "<svg><title>drawn</title><a href=x xlink:href=y><text>in the drawing</text></a>\
         <foreignObject><p><a href=z>html inside</a></foreignObject></svg><a href=after>after</a>",
    ),
    (
        "links-parted-by-br",
        "<h2>Links</h2><a href=1>one</a> about one<br><a href=2>two</a><br>\n<br><a href=3>three</a>",
    ),
    (
        "comments-between",
        "be<!-- x -->fore<a href=1><!-- only a comment --></a><a href=2>ta<!-- -->il</a><!-- <a href=3> -->",
    ),
    (
        "empty-elements",
        "<td>no table</td><table><tr><td></td><td>&nbsp;</td><td> </td></tr></table>\
         <hr><a href=1></a><a name=top></a><p></p><input value=typed>",
    ),
    (
        "attribute-texts",
        "<a href=1 title='goes north'><img alt='an arrow' title='an arrow'></a>\
         <abbr title='HyperText'>HT</abbr><a href=2 title=same><b>same</b></a>",
    ),
    (
        "formatting-repaired",
        "<b>bold<p>both <i>all<a href=1>link</b>still</i> here</a> out",
    ),
    (
        "rel-and-meta",
        "<meta name=robots content='noindex'><a rel='nofollow noopener' href=1>ad</a>\
         <a rel=UGC href=2>comment</a><a rel=next href=3>next</a>",
    ),
    (
        "refresh",
        "<title>Moved</title><meta http-equiv=refresh content='5; url=/new place'>This page has \
         <a href='/new%20place'>moved</a>.",
    ),
    (
        "hrefs-of-all-kinds",
        "<a href=' spaced\n/out '>1a</a><a href='mailto:x@y.test'>2b</a><a href='#part'>3c</a>\
         <a href='?q=1&amp;r=2'>4d</a><a href='//o.test'>5e</a><a href='http://[bad'>6f</a>\
         <a href=''>7g</a><a href>8h</a><a href='&#47;entity'>9i</a>",
    ),
    (
        "second-body-and-head",
        "<body class=a>one<head><title>late</title></head><body id=b>two</body></html>three\
         <a href=x>x</a>",
    ),
];

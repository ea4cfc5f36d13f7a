//! Pages, read.

use std::fmt::Write;

use proptest::prelude::*;

use super::oracle::Reading;
use super::*;

fn at() -> CanonicalUrl {
    CanonicalUrl::parse("http://h.test/dir/page").unwrap()
}

fn parse_with(body: &[u8], limits: &PageLimits) -> Page {
    let url = at();
    let source = PageSource {
        url: &url,
        content_type: Some("text/html; charset=utf-8"),
        body,
    };
    let page = Page::parse(&source, DocumentKind::Html, limits);
    check(&page, limits);
    page
}

fn parse(html: &str) -> Page {
    parse_with(html.as_bytes(), &PageLimits::default())
}

/// What holds for every page.
fn check(page: &Page, limits: &PageLimits) {
    assert!(page.leaf_ends.is_sorted());
    assert!(page.leaf_ends.len() <= limits.leaves_max);
    assert!(page.links.len() <= limits.links_max);
    assert_eq!(
        page.leaf_ends.last().copied().unwrap_or_default() as usize,
        page.words.len()
    );
    let words = page.words.iter().chain(&page.title_words);
    assert!(
        words
            .clone()
            .all(|word| (*word as usize) < page.vocabulary.len())
    );
    for link in &page.links {
        assert!(link.first_leaf <= link.last_leaf);
        assert!((link.last_leaf as usize) < page.leaf_ends.len());
        assert!(link.tag_path.len() <= TAG_PATH_MAX);
    }
}

/// The leaves of a page as text, words joined.
fn leaves(page: &Page) -> Vec<String> {
    let reading = Reading::of(page);
    reading.leaves.iter().map(|leaf| leaf.join(" ")).collect()
}

/// Path of the target and span of each link.
fn links(page: &Page) -> Vec<(String, u32, u32)> {
    page.links
        .iter()
        .map(|link| {
            let target = link.target.as_str();
            let path = target.strip_prefix("http://h.test").unwrap_or(target);
            (path.to_owned(), link.first_leaf, link.last_leaf)
        })
        .collect()
}

#[test]
fn a_leaf_is_a_text_or_an_element_without_children() {
    let page = parse(
        "<title>A  little\n page</title><body>one two<br><p>three <b>four</b> \
         <table><tr><td>five</td><td> </td><td></td></tr></table><hr><input><img alt='six seven'>",
    );
    assert_eq!(page.title, "A little page");
    assert_eq!(
        leaves(&page),
        [
            "one two",
            "",
            "three",
            "four",
            "five",
            "",
            "",
            "",
            "",
            "six seven"
        ]
    );
    let title: Vec<_> = page
        .title_words
        .iter()
        .map(|word| &page.vocabulary[*word as usize])
        .collect();
    assert_eq!(title, ["little", "page"]);
}

#[test]
fn what_no_reader_sees_is_dropped_before_leaves_are_counted() {
    let page = parse(
        "<style>aa</style><script>bb</script><p><!-- cc --></p><template><a href=x>dd</a></template>\
         <div><script>ee</script> </div><noscript>ff</noscript>ab<!-- -->cd<noframes><a href=y>gg</a></noframes>",
    );
    assert_eq!(leaves(&page), ["", "", "ff", "ab", "cd"]);
    assert!(page.links.is_empty());
}

#[test]
fn a_link_spans_its_leaves_and_has_at_least_one() {
    let page = parse(
        "zero<a href=1>one <b>two</b><img></a><a href=2></a><a name=x>no link</a>\
         <a href=3><i></i><i>five</i></a>",
    );
    assert_eq!(
        links(&page),
        [
            ("/dir/1".to_owned(), 1, 3),
            ("/dir/2".to_owned(), 4, 4),
            ("/dir/3".to_owned(), 6, 7)
        ]
    );
}

#[test]
fn areas_and_frames_are_links() {
    let page = parse(
        "<map><area href=a alt=first><area href=b></map><iframe src=c>old <b>browser</b></iframe><iframe src=''></iframe>",
    );
    assert_eq!(leaves(&page), ["first", "", "", ""]);
    let elements: Vec<_> = page.links.iter().map(|link| link.element).collect();
    assert_eq!(
        elements,
        [LinkElement::Area, LinkElement::Area, LinkElement::Frame]
    );
    let page = parse("<frameset><frame src=a><frame src=b><noframes><p>none</noframes></frameset>");
    assert_eq!(
        links(&page),
        [("/dir/a".to_owned(), 0, 0), ("/dir/b".to_owned(), 1, 1)]
    );
}

#[test]
fn a_title_attribute_is_read_with_the_first_leaf_of_its_element() {
    let page =
        parse("<p>x1<a href=1 title='long name'><b>short</b> more</a><img alt=same title=same>");
    assert_eq!(leaves(&page), ["x1", "long name short", "more", "same"]);
}

#[test]
fn one_bad_link_loses_no_other() {
    let page = parse(
        "<a href='http://[x'>1</a><a href='mailto:a@b.test'>2</a><a href='javascript:x'>3</a>\
         <a href=' \n/four\n '>4</a><a href='http://h.test:99999'>5</a><a href='///o.test/'>6</a>\
         <a href='fi\nve'>7</a>",
    );
    assert_eq!(
        links(&page),
        [
            ("/four".to_owned(), 3, 3),
            ("http://o.test/".to_owned(), 5, 5),
            ("/dir/five".to_owned(), 6, 6)
        ]
    );
}

#[test]
fn the_base_counts_for_all_links_unless_it_is_none() {
    let page = parse("<base target=x><base href='/other/'><base href='/late/'><a href=x>x</a>");
    assert_eq!(page.links[0].target.as_str(), "http://h.test/other/x");
    for base in ["http://[", "javascript:x", "mailto:a"] {
        let page = parse(&format!("<base href='{base}'><a href=x>x</a>"));
        assert_eq!(
            page.links[0].target.as_str(),
            "http://h.test/dir/x",
            "{base}"
        );
    }
}

#[test]
fn what_the_page_says_about_itself_is_read() {
    let page = parse(
        "<META NAME=Robots CONTENT='noarchive, NoIndex'><meta name=apprentice content=nofollow>\
         <link rel='x Canonical' href=/the/one><a rel='me ugc' href=1>1</a><a rel=me href=2>2</a>",
    );
    assert!(page.meta.noindex && page.meta.nofollow);
    assert_eq!(
        page.meta.canonical.unwrap().as_str(),
        "http://h.test/the/one"
    );
    assert_eq!(
        page.links
            .iter()
            .map(|link| link.nofollow)
            .collect::<Vec<_>>(),
        [true, false]
    );
    let none = parse("<meta name=robots content=none>").meta;
    assert!(none.noindex && none.nofollow);
    assert_eq!(
        parse("<meta name=robots content='index,follow'>").meta,
        PageMeta::default()
    );
}

#[test]
fn a_refresh_is_a_link_at_the_first_leaf() {
    let page = parse("<META HTTP-EQUIV=REFRESH CONTENT=\"0; URL=/x/\"><body>");
    assert_eq!(links(&page), [("/x/".to_owned(), 0, 0)]);
    assert_eq!(page.links[0].element, LinkElement::Refresh);
    assert_eq!(page.leaf_ends, [0]);
}

#[test]
fn the_tag_path_names_what_encloses_a_link() {
    let page = parse(
        "<body class=home><div id=menu class='wide dark'><ul><li><p><i><b><u><a href=x>x</a></u></b>",
    );
    assert_eq!(
        page.links[0].tag_path,
        ["u", "b", "i", "p", "li", "ul", "div#menu.wide", "body.home"]
    );
}

#[test]
fn plain_text_is_a_leaf_a_line() {
    let url = at();
    let source = PageSource {
        url: &url,
        content_type: Some("text/plain"),
        body: b"one two\r\n\r\n <a href=x>\nthree",
    };
    let page = Page::parse(&source, DocumentKind::Text, &PageLimits::default());
    assert_eq!(leaves(&page), ["one two", "href", "three"]);
    assert!(page.links.is_empty() && page.title.is_empty());
    assert_eq!(page.charset, "UTF-8");
}

#[test]
fn links_and_leaves_beyond_the_limits_are_dropped_and_counted() {
    let html: String = (0..10).fold(String::new(), |mut html, n| {
        write!(html, "<a href={n}>text{n}</a>").unwrap();
        html
    });
    let limits = PageLimits {
        links_max: 3,
        ..PageLimits::default()
    };
    let page = parse_with(html.as_bytes(), &limits);
    assert_eq!(
        (page.links.len(), page.links_dropped, page.leaf_ends.len()),
        (3, 7, 10)
    );
    let limits = PageLimits {
        leaves_max: 4,
        ..PageLimits::default()
    };
    let page = parse_with(html.as_bytes(), &limits);
    assert_eq!(
        (page.links.len(), page.links_dropped, page.leaf_ends.len()),
        (4, 6, 4)
    );
    let limits = PageLimits {
        leaves_max: 0,
        ..PageLimits::default()
    };
    let refresh = format!("<meta http-equiv=refresh content='0;x'>{html}");
    assert_eq!(parse_with(refresh.as_bytes(), &limits).links_dropped, 11);
}

#[test]
fn a_million_nested_elements_keep_their_text() {
    for tag in ["div", "span", "b", "ul"] {
        let html = format!(
            "{}inside <a href=x>no</a>",
            format!("<{tag}>").repeat(1_000_000)
        );
        let page = parse(&html);
        let text = leaves(&page).join(" ");
        assert!(text.contains("inside no"), "{tag}");
        assert!(page.flattened);
        assert_eq!(page.links.len(), 1, "{tag}");
    }
}

#[test]
fn links_after_a_deep_place_are_found_again() {
    let deep = "<div>".repeat(2_000) + "deep <br>" + &"</div>".repeat(2_000);
    let page = parse(&format!(
        "<ul><li>{deep}<li><a href=x>after</a></ul><a href=y>last</a>"
    ));
    let paths: Vec<_> = page
        .links
        .iter()
        .map(|link| link.tag_path.first().unwrap().as_str())
        .collect();
    assert_eq!(paths, ["li", "body"]);
}

#[test]
fn attributes_without_number_cost_little_and_lose_no_link() {
    let mut html = "<a href=first ".to_owned();
    for n in 0..40_000 {
        write!(html, " n{n}=v").unwrap();
    }
    html += ">one</a><a href=second>two</a>";
    let page = parse(&html);
    let paths: Vec<_> = links(&page).into_iter().map(|link| link.0).collect();
    assert_eq!(paths, ["/dir/first", "/dir/second"]);
    assert!(page.flattened);
}

#[test]
fn attributes_of_body_after_body_are_bounded() {
    let mut html = String::new();
    for n in 0..40_000 {
        write!(html, "<body n{n}=v id=first>").unwrap();
    }
    let page = parse(&(html + "<a href=x>x</a>"));
    assert_eq!(page.links[0].tag_path, ["body#first", "html"]);
}

#[test]
fn long_values_and_comments_are_not_torn() {
    let path = "M 0 0 L 1 1 ".repeat(100_000);
    let page = parse(&format!(
        "<svg><path d=\"{path}\"/></svg><!-- {path} > --><p title='{}'><a href='x' class='{path}'>one</a>",
        "a".repeat(1 << 20)
    ));
    assert_eq!(leaves(&page), ["", "one"]);
    assert_eq!(page.links[0].tag_path, ["p", "body", "html"]);
    assert!(!page.flattened);
}

#[test]
fn a_page_of_formatting_made_to_explode_stays_small() {
    // Every paragraph builds all open formatting elements again.
    let mut html = "<p>".to_owned();
    for n in 0..400 {
        write!(html, "<font color=c{n}>").unwrap();
    }
    html += &"</p><p>x".repeat(50_000);
    let limits = PageLimits {
        leaves_max: 20_000,
        ..PageLimits::default()
    };
    let page = parse_with(html.as_bytes(), &limits);
    assert!(page.leaf_ends.len() < 1_000 && page.flattened);
}

#[test]
fn broken_pages_are_read_as_browsers_read_them() {
    for html in TRICKY {
        let page = parse(html);
        assert_eq!(Reading::of(&page), Reading::expected(html, &at()), "{html}");
    }
}

const TRICKY: &[&str] = &[
    "",
    " ",
    "text",
    "<",
    "<a",
    "<a href",
    "<a href='",
    "<a href=x>one<a href=y>two<p>three",
    "<a href=x><p>one<p>two</a>three",
    "<a href=x><table><tr><td><a href=y>in</a></table>out",
    "<table><a href=x>foster</a><tr>stray<td>cell<b>bold</table>after",
    "<b><p>one</b>two</p>three",
    "<p>one<b>two<i>three</p>four</b>five</i>six",
    "<ul><li>one<li>two<ul><li>three</ul>four</ul>",
    "<select><option>one<option>two</select><a href=x>y</a>",
    "<frameset cols='1,2'><frame src=a><frame src=b><noframes><a href=c>c</a></noframes></frameset>",
    "<html><body><head><title>late</title></head><base href=/z/><a href=x>x</a>",
    "nul\0byte<a href='x\0y'>\0</a>\0",
    "<svg><title>drawn</title><a href=x>no html</a></svg><math><mi>pi</math><p>after",
    "<svg><foreignObject><a href=x>html again</a></foreignObject></svg>",
    "<textarea><a href=x></textarea><xmp><b></xmp><plaintext><a href=x>",
    "<p>&nbsp;<td>&lt;b&gt; &copy; &notanentity;",
    "<a href=x>one</b></i></a></div></p></br>two",
    "<h1><a href=x>one<h2>two</a>three",
    "<form><form><a href=x><input><button><a href=y>z</button>",
    "<noscript><a href=x>plain</a><img alt=pixel></noscript>",
    "<template><p>in</template><p>out<template>again",
    "<title>one</title><title>two</title><body><title>three</title>x",
    "<iframe src=a><a href=b></iframe><object><param><embed src=x>fallback</object>",
    "<!DOCTYPE html><!-- --><html a=b><html a=c d=e><body x><body y=z>text</html>after",
    "<dl><dt>one<dd>two<dt>three</dl><ruby>a<rt>b</ruby><br/><hr/>",
    "<![CDATA[x]]><?php echo 1 ?><a href=\"x\"y=\"z\"w>1</a>",
];

fn markup() -> impl Strategy<Value = String> {
    let tags = prop::sample::select(vec![
        "<a href=x>",
        "</a>",
        "<a href='y z' title=t1>",
        "<p>",
        "</p>",
        "<b>",
        "</b>",
        "<i>",
        "</i>",
        "<table>",
        "<tr>",
        "<td>",
        "</td>",
        "</table>",
        "<div class=c>",
        "</div>",
        "<ul>",
        "<li>",
        "</ul>",
        "<br>",
        "<img alt=pic>",
        "<!-- c -->",
        "<svg>",
        "</svg>",
        "<select>",
        "<option>",
        "<script>",
        "</script>",
        "<title>",
        "</title>",
        "<head>",
        "<body>",
        "<frameset>",
        "<frame src=f>",
        "<iframe src=g>",
        "</iframe>",
        "<template>",
        "</template>",
        "<h1>",
        "</h1>",
        "<form>",
        "</form>",
        "<button>",
        "<noscript>",
        "<base href=/q/>",
        "word",
        " ",
        "\0",
        "&amp;",
        "<font color=red>",
        "<nobr>",
        "<caption>",
        "<math><mi>",
        "</math>",
        "<textarea>",
        "</textarea>",
    ]);
    prop::collection::vec(tags, 0..60).prop_map(|tags| tags.concat())
}

proptest! {
    #[test]
    fn any_markup_is_read_as_the_oracle_reads_it(html in markup()) {
        prop_assert_eq!(Reading::of(&parse(&html)), Reading::expected(&html, &at()));
    }

    #[test]
    fn no_bytes_panic(
        body in prop::collection::vec(any::<u8>(), 0..400),
        header in prop::option::of("text/html; charset=[a-z0-9-]{0,8}|\\PC{0,20}"),
        depth_max in 0_usize..4,
        leaves_max in 0_usize..9,
    ) {
        let url = at();
        let limits = PageLimits { depth_max, attributes_max: 1, links_max: 2, leaves_max };
        let source = PageSource { url: &url, content_type: header.as_deref(), body: &body };
        for kind in [DocumentKind::Html, DocumentKind::Text] {
            check(&Page::parse(&source, kind, &limits), &limits);
        }
        let _ = DocumentKind::of(header.as_deref(), &body);
    }

    #[test]
    fn no_markup_panics_at_any_limit(html in markup(), depth_max in 0_usize..6, leaves_max in 0_usize..9) {
        let limits = PageLimits { depth_max, attributes_max: 1, links_max: 2, leaves_max };
        parse_with(html.as_bytes(), &limits);
    }
}

/// The words of the heading, the column head and the row head of each link.
fn heads(page: &Page) -> Vec<[String; 3]> {
    let words = |span: Option<LeafSpan>| {
        let leaves = span.map_or(0..0, |span| span.first as usize..span.last as usize + 1);
        let words = leaves.flat_map(|leaf| page.leaf_words(leaf));
        let words: Vec<&str> = words
            .map(|word| page.vocabulary[*word as usize].as_str())
            .collect();
        words.join(" ")
    };
    let context = page.links.iter().map(|link| &link.context);
    context
        .map(|context| [context.heading, context.column_head, context.row_head].map(words))
        .collect()
}

#[test]
fn the_nearest_heading_above_is_known() {
    let page = parse(
        "<a href=0>x</a><h1>Top</h1><a href=1>x</a><h2>Own <a href=2>fish</a></h2><p><a href=3>x</a>",
    );
    let headings: Vec<_> = heads(&page)
        .into_iter()
        .map(|[heading, ..]| heading)
        .collect();
    assert_eq!(headings, ["", "top", "top", "own fish"]);
}

#[test]
fn table_heads_are_those_of_the_links_column_and_row() {
    let page = parse(
        "<table><tr><th>Name<th colspan=2>Pages<th><a href=0>Notes</a>\
         <tr><td><a href=1>ada</a><td>1<td><a href=2>x</a><td><a href=3>x</a>\
         <tr><td>bob<td><table><tr><td><a href=4>x</a></table><td>2<td><a href=5>x</a></table>\
         <a href=6>x</a>",
    );
    let heads: Vec<_> = heads(&page)
        .into_iter()
        .map(|[_, column, row]| format!("{column}/{row}"))
        .collect();
    let expected = [
        "/name",
        "name/",
        "pages/ada",
        "notes/ada",
        "/",
        "notes/bob",
        "/",
    ];
    assert_eq!(heads, expected);
}

#[test]
fn a_large_cell_is_no_head() {
    let cell = "word<br>".repeat(5);
    let page = parse(&format!(
        "<table><tr><td>{cell}<td>Head<tr><td>{cell}<td><a href=0>x</a></table>"
    ));
    assert_eq!(heads(&page)[0][1..], ["head", ""]);
}

#[test]
fn the_links_own_attributes_are_tokens_without_numbers() {
    let page = parse("<a rel='Next nofollow' id=Item-17-2 class='b c2' title=t href=x>x</a>");
    let expected = [
        "rel:next",
        "rel:nofollow",
        "id:item-#-#",
        "class:b",
        "class:c#",
    ];
    assert_eq!(page.links[0].context.attributes, expected);
    let many = "c ".repeat(50);
    let page = parse(&format!(
        "<a class='{many}' id={} href=x>x</a>",
        "\u{fc}".repeat(99)
    ));
    let attributes = &page.links[0].context.attributes;
    assert_eq!(attributes.len(), ATTRIBUTES_MAX);
    assert_eq!(attributes[0].len(), "id:".len() + 40);
}

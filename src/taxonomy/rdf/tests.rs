use std::fmt::Write as _;
use std::io::Write as _;

use proptest::prelude::*;
use quick_xml::events::Event;

use super::*;

const HEAD: &str = "<?xml version='1.0' encoding='UTF-8' ?>\n<RDF xmlns:r='http://www.w3.org/TR/RDF/' \
    xmlns:d='http://purl.org/dc/elements/1.0/' xmlns='http://dmoz.org/rdf'>\n<!-- Generated -->\n";

struct Read {
    examples: Vec<Example>,
    faults: Faults,
    declared: Vec<String>,
}

fn read_bytes(bytes: &[u8]) -> Read {
    let mut reader = RdfReader::new(bytes, Path::new("c.rdf"));
    let mut examples = Vec::new();
    while let Some(example) = reader.next().unwrap() {
        examples.push(example);
    }
    Read {
        examples,
        declared: reader.declared().map(str::to_owned).collect(),
        faults: reader.faults,
    }
}

/// A dump of that body, from its fourth line on.
fn read(body: &str) -> Read {
    read_bytes(format!("{HEAD}{body}</RDF>\n").as_bytes())
}

/// The kinds found, how often, and the first line and quote.
fn found(read: &Read) -> Vec<(FaultKind, u64, u64, &str)> {
    let kinds = read.faults.kinds();
    kinds
        .map(|(kind, fault)| {
            let first = &fault.first[0];
            (kind, fault.count, first.line, first.what.as_str())
        })
        .collect()
}

const SOUND: &str = r#"<Topic r:id="Top/Arts/Animation">
  <catid>423945</catid>
  <link1 r:resource="http://www.awn.com/"></link1>
  <link r:resource="http://b.test/?a=1&amp;b=2"/>
</Topic>
<ExternalPage about="http://www.awn.com/">
  <d:Title>Animation World Network</d:Title>
  <d:Description>News, &quot;and&quot; more.</d:Description>
  <priority>1</priority>
  <topic>Top/Arts/Animation</topic>
</ExternalPage>
<ExternalPage about="http://b.test/?a=1&amp;b=2">
  <d:Title>B</d:Title>
  <d:Description></d:Description>
  <topic>Top/Arts/Animation</topic>
</ExternalPage>
"#;

#[test]
fn pages_of_a_sound_dump_are_read_without_a_fault() {
    let read = read(SOUND);
    assert_eq!(found(&read), []);
    assert_eq!(read.declared, ["Arts/Animation"]);
    assert_eq!(
        read.examples[0],
        Example {
            topic: "Arts/Animation".into(),
            url: "http://www.awn.com/".into(),
            title: "Animation World Network".into(),
            description: "News, \"and\" more.".into(),
            text: String::new(),
            line: 9,
        }
    );
    assert_eq!(read.examples[1].url, "http://b.test/?a=1&b=2");
    assert_eq!(read.examples.len(), 2);
}

#[test]
fn the_root_and_topics_without_pages_are_no_fault() {
    let read =
        read("<Topic r:id=\"\"/>\n<Topic r:id=\"Top\"></Topic>\n<Topic r:id=\"Top/Arts\"/>\n");
    assert_eq!(found(&read), []);
    assert_eq!(read.declared, ["Arts"]);
    assert!(read.examples.is_empty());
}

#[test]
fn characters_that_should_not_be_there_are_read_over_and_counted() {
    let body = b"<ExternalPage about=\"http://a.test/?x=1&y=2\">\n<d:Title>R&D \x03at AT&T\xff</d:Title>\n\
        <d:Description>1 < 2</d:Description>\n<topic>Top/Arts</topic>\n</ExternalPage>\n";
    let read = read_bytes(&[HEAD.as_bytes(), body, b"</RDF>"].concat());
    let example = &read.examples[0];
    assert_eq!(example.url, "http://a.test/?x=1&y=2");
    assert_eq!(example.title, "R&D at AT&T\u{fffd}");
    assert_eq!(example.description, "1 < 2");
    assert_eq!(
        found(&read),
        [
            (FaultKind::ControlCharacter, 1, 5, "R&D at AT&T\u{fffd}"),
            (FaultKind::BadUtf8, 1, 5, "R&D at AT&T\u{fffd}"),
            (FaultKind::Ampersand, 2, 4, "http://a.test/?x=1&y=2"),
            (FaultKind::Markup, 1, 6, "1 < 2"),
        ]
    );
}

#[test]
fn links_without_a_page_are_taken_by_their_url() {
    let read = read("<Topic r:id=\"Top/A\">\n<link r:resource=\"http://x/\"/>\n</Topic>\n");
    assert_eq!(read.examples.len(), 1);
    assert_eq!(read.examples[0].own_text(), None);
    assert_eq!(
        found(&read),
        [(FaultKind::LinkWithoutPage, 1, 5, "A: http://x/")]
    );
}

#[test]
fn pages_without_a_topic_belong_to_the_topic_that_lists_them_or_to_none() {
    let read = read(
        "<Topic r:id=\"Top/A\"><link r:resource=\"http://x/\"/></Topic>\n\
         <ExternalPage about=\"http://x/\"><d:Title>X</d:Title></ExternalPage>\n\
         <ExternalPage about=\"http://y/\"><d:Title>Y</d:Title></ExternalPage>\n\
         <ExternalPage about=\"\"><topic>Top/A</topic></ExternalPage>\n",
    );
    assert_eq!(read.examples.len(), 1);
    assert_eq!(
        (&*read.examples[0].topic, &*read.examples[0].title),
        ("A", "X")
    );
    assert_eq!(
        found(&read),
        [
            (FaultKind::NoUrl, 1, 7, "<ExternalPage about=\"\">"),
            (FaultKind::NoTopic, 2, 5, "http://x/: listed by A"),
        ]
    );
}

#[test]
fn texts_of_a_million_characters_are_cut() {
    let long = "word ".repeat(200_000);
    let read = read(&format!(
        "<ExternalPage about=\"http://x/\"><d:Title>{long}</d:Title>\
         <d:Description>{long}</d:Description><topic>A</topic></ExternalPage>\n\
         <ExternalPage about=\"http://y/{long}\"><topic>A</topic></ExternalPage>\n\
         <ExternalPage about=\"http://z/\"><topic>{long}</topic></ExternalPage>\n"
    ));
    assert_eq!(read.examples.len(), 1);
    assert!(read.examples[0].title.len() <= TITLE_BYTES_MAX);
    assert!(read.examples[0].description.len() <= DESCRIPTION_BYTES_MAX);
    assert_eq!(read.faults.count(FaultKind::LongText), 2);
    assert_eq!(read.faults.count(FaultKind::BadTopic), 1);
    // The tag is longer than is kept, so its quote never closes.
    assert_eq!(read.faults.count(FaultKind::Markup), 1);
    assert_eq!(read.faults.count(FaultKind::NoUrl), 1);
}

#[test]
fn a_tag_or_a_quote_that_is_not_closed_costs_no_more_than_itself() {
    let read = read(
        "<ExternalPage about=\"http://x/>\n<d:Title>X</d:Title><topic>A</topic></ExternalPage>\n\
         <ExternalPage about=\"http://y/\">\n<d:Title>Y</d:Title\n<topic>A</topic></ExternalPage>\n",
    );
    let urls: Vec<&str> = read.examples.iter().map(|example| &*example.url).collect();
    assert_eq!(urls, ["http://y/"]);
    assert_eq!(read.examples[0].title, "Y");
    assert_eq!(read.faults.count(FaultKind::Markup), 2);
    assert_eq!(read.faults.count(FaultKind::NoUrl), 1);
}

#[test]
fn a_cut_dump_gives_what_is_whole_and_says_where_it_ends() {
    let whole = format!("{HEAD}{SOUND}");
    let at = whole.find("</d:Title>\n  <d:Description></d").unwrap();
    let read = read_bytes(&whole.as_bytes()[..at]);
    assert_eq!(read.examples.len(), 2, "the second one by its link");
    assert_eq!(read.examples[1].title, "");
    let (kind, count, line, what) = found(&read)[1];
    assert_eq!((kind, count, line), (FaultKind::Truncated, 1, 16));
    assert_eq!(
        what,
        "within the page http://b.test/?a=1&b=2, which is left out"
    );
}

#[test]
fn a_cut_gzip_member_is_a_cut_dump() {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    let pages = (0..2_000).map(|number| {
        format!("<ExternalPage about=\"http://x/{number}\"><topic>A</topic></ExternalPage>\n")
    });
    encoder.write_all(HEAD.as_bytes()).unwrap();
    encoder
        .write_all(pages.collect::<String>().as_bytes())
        .unwrap();
    let bytes = encoder.finish().unwrap();
    let cut = bytes[..bytes.len() - 100].to_vec();
    let source = crate::taxonomy::Source::from_bytes(cut, Path::new("c.rdf.gz"));
    let mut source = source.unwrap();
    let examples = source.by_ref().map(Result::unwrap).count();
    assert!(examples > 1_000, "{examples}");
    assert_eq!(source.faults().unwrap().count(FaultKind::Truncated), 1);
}

#[test]
fn circles_of_narrower_topics_are_named() {
    let topic = |name: &str, narrow: &[&str]| {
        let links = narrow
            .iter()
            .map(|to| format!("<narrow1 r:resource=\"Top/{to}\"/>\n"));
        format!(
            "<Topic r:id=\"Top/{name}\">\n{}</Topic>\n",
            links.collect::<String>()
        )
    };
    let tree = topic("A", &["A/B", "A/C"]) + &topic("A/B", &["A/C"]) + &topic("A/C", &["A/D"]);
    assert_eq!(found(&read(&tree)), []);
    let read = read(&(tree + &topic("A/D", &["A/B"]) + &topic("E", &["E"])));
    assert_eq!(
        found(&read),
        [(FaultKind::NarrowCycle, 2, 15, "A/B > A/C > A/D > A/B")]
    );
    assert_eq!(read.faults.kinds().next().unwrap().1.first[1].what, "E > E");
    assert_eq!(read.declared.len(), 5);
}

/// Tags and texts as quick-xml has them: names without prefix, raw `about`, texts unescaped.
fn by_quick_xml(text: &str) -> Vec<String> {
    let mut reader = quick_xml::Reader::from_str(text);
    let mut all: Vec<String> = Vec::new();
    let mut between = String::new();
    loop {
        let event = reader.read_event().unwrap();
        let name = |name: &str| name.rsplit(':').next().unwrap_or_default().to_owned();
        let said = match &event {
            Event::Text(part) => {
                between.push_str(part);
                continue;
            }
            Event::GeneralRef(part) => {
                write!(between, "&{};", &**part).unwrap();
                continue;
            }
            Event::Start(tag) | Event::Empty(tag) => {
                let about = tag.attributes().flatten();
                let about =
                    about.filter(|attribute| attribute.key.local_name().as_ref() == "about");
                let about: String = about.map(|attribute| attribute.value).collect();
                format!("<{} {about}", name(tag.name().as_ref()))
            }
            Event::End(tag) => format!("/{}", name(tag.name().as_ref())),
            Event::Eof => "end".to_owned(),
            _ => continue,
        };
        if !between.is_empty() {
            let raw = std::mem::take(&mut between);
            all.push(chars::text(raw.as_bytes(), &mut Flaws::default()));
        }
        if said == "end" {
            return all;
        }
        all.push(said);
    }
}

fn by_us(text: &str) -> Vec<String> {
    let mut tokens = Tokens::new(text.as_bytes());
    let mut all = Vec::new();
    while let Some(token) = tokens.next().unwrap() {
        assert!(!tokens.broken && !tokens.cut);
        let name = || String::from_utf8_lossy(tokens.name()).into_owned();
        all.push(match token {
            Token::Text => chars::text(tokens.text(), &mut Flaws::default()),
            Token::Close => format!("/{}", name()),
            Token::Open | Token::Empty => {
                let about = tokens.attribute(b"about").unwrap_or_default();
                format!("<{} {}", name(), String::from_utf8_lossy(about))
            }
        });
    }
    all
}

/// Sound markup: elements with texts, references and attributes, some empty, with comments between.
fn markup() -> impl Strategy<Value = String> {
    let text = "[a-z >\"'\u{e9}\n]{0,12}(&(amp|lt|#65);)?[a-z]{0,3}";
    let value = "[a-z<>]{0,6}";
    let leaf = (text, value).prop_map(|(text, value)| {
        let value = value.replace('<', "&lt;");
        format!(
            "<!-- -> - --><d:Title about = \"{value}\" x='\"'>{text}</d:Title>\n<link r:about='q'/>"
        )
    });
    prop::collection::vec(leaf, 0..6).prop_map(|leaves| format!("<RDF>{}</RDF>", leaves.concat()))
}

proptest! {
    #[test]
    fn tokens_of_sound_markup_are_those_of_an_xml_parser(text in markup()) {
        prop_assert_eq!(by_us(&text), by_quick_xml(&text));
    }

    #[test]
    fn any_bytes_are_read_to_their_end(bytes in prop::collection::vec(prop_oneof![
        Just(b"<ExternalPage about=\"u\">".to_vec()), Just(b"<topic>Top/A".to_vec()),
        Just(b"</ExternalPage>".to_vec()), Just(b"<!--".to_vec()), Just(b"-->".to_vec()),
        Just(b"<Topic r:id='Top/B'><link r:resource=\"v\"/>".to_vec()),
        prop::collection::vec(any::<u8>(), 0..9),
    ], 0..30)) {
        let read = read_bytes(&bytes.concat());
        for example in read.examples {
            prop_assert!(crate::taxonomy::check_topic(&example.topic).is_ok());
            prop_assert!(!example.url.is_empty());
        }
    }
}

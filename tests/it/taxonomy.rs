//! `apprentice taxonomy` as people use it: golden outputs over a small dump with all known faults,
//! and what is refused, with file and line.

use std::fmt::Write as _;
use std::fs::{self, File};
use std::io::Write as _;

use crate::support::daemon::Home;

const HEAD: &str =
    "<?xml version='1.0' encoding='UTF-8' ?>\n<RDF xmlns:d='http://purl.org/dc/elements/1.0/'>\n";

/// The topics alone; those of Games lead in a circle.
const STRUCTURE: &str = r#"<Topic r:id="Top"><narrow r:resource="Top/Games"/></Topic>
<Topic r:id="Top/Games">
  <narrow r:resource="Top/Games/Chess"/>
</Topic>
<Topic r:id="Top/Games/Chess">
  <narrow r:resource="Top/Games"/>
</Topic>
<Topic r:id="Top/Home"></Topic>
<Topic r:id="Top/Home/Baking"></Topic>
"#;

fn page(url: &str, title: &str, topic: &str) -> String {
    format!(
        "<ExternalPage about=\"{url}\">\n<d:Title>{title}</d:Title>\n\
         <d:Description>About {topic}.</d:Description>\n<topic>{topic}</topic>\n</ExternalPage>\n"
    )
}

/// Pages with every fault that is read over; the file is cut.
fn content() -> Vec<u8> {
    let mut text = format!("{HEAD}<Topic r:id=\"Top/Games/Chess\">\n");
    text.push_str("<link r:resource=\"http://chess.example/0\"/>\n");
    text.push_str("<link r:resource=\"http://chess.example/lost\"/>\n</Topic>\n");
    for number in 0..6 {
        let url = format!("http://chess.example/{number}");
        text.push_str(&page(&url, "Rooks &amp; pawns", "Top/Games/Chess"));
    }
    text.push_str(&page("http://chess.example/0", "Again", "Top/Games/Chess"));
    text.push_str(&page("http://chess.example/1", "Board games", "Top/Games"));
    text.push_str(&page("http://go.example/", "Black & white", "Top/Games/Go"));
    text.push_str(&page("http://go.example/2", "A\u{b}B", "Top/Games/Go"));
    text.push_str(&page(
        "http://go.example/3",
        &"long ".repeat(200_000),
        "Top/Games/Go",
    ));
    text.push_str(&page("http://nowhere.example/", "Lost", ""));
    text.push_str(&page("", "No address", "Top/Games"));
    let mut bytes = text.into_bytes();
    bytes.extend_from_slice(
        b"<ExternalPage about=\"http://news.example/\">\n<d:Title>caf\xe9</d:Title>",
    );
    bytes.extend_from_slice(
        b"<topic>Top/News</topic></ExternalPage>\n<ExternalPage about=\"http://cut.example/\">",
    );
    bytes
}

fn dumps(home: &Home) {
    let structure = format!("{HEAD}{STRUCTURE}</RDF>\n");
    fs::write(home.path("structure.rdf.u8"), structure).unwrap();
    // Compressed, under a name that does not say so: the content decides.
    let file = File::create(home.path("content.rdf.u8")).unwrap();
    let mut encoder = flate2::write::GzEncoder::new(file, flate2::Compression::fast());
    encoder.write_all(&content()).unwrap();
    encoder.finish().unwrap();
}

/// Runs commands that succeed; gives what they said.
fn outputs(home: &Home, commands: &[&str]) -> String {
    let mut all = String::new();
    for command in commands {
        let args: Vec<&str> = command.split(' ').collect();
        let said = home.run(&args);
        writeln!(all, "$ apprentice {command}\n{}", said.done()).unwrap();
    }
    all
}

const IMPORT: &str = "taxonomy import structure.rdf.u8 content.rdf.u8 --out all.csv.zst";

#[test]
fn a_dump_is_imported_looked_into_and_pruned() {
    let home = Home::new();
    dumps(&home);
    insta::assert_snapshot!(outputs(
        &home,
        &[
            IMPORT,
            "taxonomy show all.csv.zst",
            "taxonomy show all.csv.zst Games/Go",
            "taxonomy find all.csv.zst chess",
            "taxonomy find all.csv.zst newz",
            "taxonomy stats all.csv.zst",
            "taxonomy prune all.csv.zst -k 4 --out pruned.csv",
            "taxonomy show pruned.csv",
            "taxonomy show critic.model --depth 1",
        ]
    ));
    let pruned = fs::read_to_string(home.path("pruned.csv")).unwrap();
    assert_eq!(pruned.lines().next(), Some("topic,url,title,description"));
    assert_eq!(pruned.lines().count(), 1 + 4 + 4 + 1, "{pruned}");
}

#[test]
fn json_tells_what_people_are_told() {
    let home = Home::new();
    dumps(&home);
    let json = |command: &str| -> Vec<serde_json::Value> {
        let said = outputs(&home, &[&format!("{command} --json")]);
        let lines = said.lines().skip(1).filter(|line| !line.is_empty());
        lines
            .map(|line| serde_json::from_str(line).unwrap())
            .collect()
    };
    let import = &json(IMPORT)[0];
    assert_eq!(import["examples"], 12);
    assert_eq!(import["topics_without_examples"], 2);
    assert_eq!(
        (&import["repeated"], &import["shared"]),
        (&1.into(), &1.into())
    );
    assert_eq!(import["shared_named"][0]["also"], "Games");
    let circle = &import["sources"][0]["faults"]["kinds"]["narrow_cycle"];
    assert_eq!(circle["first"][0]["line"], 8);
    let nodes = json("taxonomy show all.csv.zst");
    assert_eq!(nodes.len(), 4);
    assert_eq!(
        (&nodes[0]["topic"], &nodes[0]["examples"]),
        (&"Games".into(), &11.into())
    );
    assert_eq!(json("taxonomy find all.csv.zst go")[0]["own"], 3);
    assert_eq!(
        json("taxonomy stats all.csv.zst")[0]["sizes"]["examples"],
        12
    );
    let pruned = &json("taxonomy prune all.csv.zst -k 4 --steps steps.txt")[0];
    assert_eq!(pruned["before"]["examples"], 12);
    let steps = pruned["steps"].as_array().unwrap();
    let written = fs::read_to_string(home.path("steps.txt")).unwrap();
    assert_eq!(written.lines().count(), steps.len());
}

#[test]
fn json_lines_and_folders_become_tables_that_a_critic_learns_from() {
    let home = Home::new();
    let mut lines = String::new();
    for number in 0..20 {
        let (topic, words) = match number % 2 {
            0 => ("subject.Science.Biology.Birds", "feathers wings nest song"),
            _ => ("subject.Everyday_life.Food", "flour butter oven bread"),
        };
        writeln!(
            lines,
            r#"{{"title":"Page {number}","topics":["{topic}"],"text":"{words}"}}"#
        )
        .unwrap();
        let folder = home
            .path("pages")
            .join(topic.replace("subject.", "").replace('.', "/"));
        fs::create_dir_all(&folder).unwrap();
        let html = format!("<title>{topic} {number}</title><p>{words}");
        fs::write(folder.join(format!("{number}.html")), html).unwrap();
    }
    fs::write(home.path("pages.jsonl"), lines).unwrap();
    insta::assert_snapshot!(outputs(
        &home,
        &[
            "taxonomy import pages.jsonl --out lines.csv.gz --only Science",
            "taxonomy import pages.jsonl pages --out both.csv",
            "taxonomy show both.csv --depth 4",
        ]
    ));
    for source in ["pages.jsonl", "both.csv", "pages"] {
        let model = format!("{source}.model");
        home.run(&["critic", "train", "--examples", source, "--out", &model])
            .done();
        let shown = home.run(&["taxonomy", "show", &model, "--depth", "3", "--json"]);
        assert!(shown.done().contains(r#""topic":"Science/Biology/Birds""#));
    }
    let both = fs::read_to_string(home.path("both.csv")).unwrap();
    assert!(both.contains("feathers wings nest song"), "{both}");
}

#[test]
fn urls_under_two_topics_are_kept_in_the_first_only_if_asked() {
    let home = Home::new();
    let table = "topic,url\na,http://x/\nb,http://x/\nb,http://y/\n";
    fs::write(home.path("t.csv"), table).unwrap();
    let command = "taxonomy import t.csv --out first.csv --shared first";
    let said = outputs(&home, &[command]);
    assert!(said.contains("URLs under one more topic, examples of the first only: 1"));
    assert!(
        said.contains("http://x/: in a, and in b (line 3)"),
        "{said}"
    );
    let first = fs::read_to_string(home.path("first.csv")).unwrap();
    assert_eq!(
        first,
        "topic,url,title,description\na,http://x/,,\nb,http://y/,,\n"
    );
}

#[test]
fn the_shipped_tree_has_no_fault() {
    let path = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/taxonomy/general/structure.rdf.u8"
    );
    let mut source = apprentice::taxonomy::open(path.as_ref()).unwrap();
    assert_eq!(source.by_ref().count(), 0);
    assert!(source.faults().unwrap().lines().is_empty());
    let declared = source.declared();
    assert_eq!(declared.len(), 131);
    let tops = declared.iter().filter(|topic| !topic.contains('/'));
    assert_eq!(tops.count(), 13);
    for topic in &declared {
        let above = apprentice::taxonomy::parent(topic);
        assert!(
            above.is_none_or(|above| declared.contains(&above)),
            "{topic}"
        );
    }
}

#[test]
fn what_cannot_be_read_is_told_on_one_line_and_leaves_nothing() {
    let home = Home::new();
    dumps(&home);
    outputs(&home, &[IMPORT]);
    let before = fs::read_dir(home.path("")).unwrap().count();
    let write = |name: &str, bytes: &[u8]| fs::write(home.path(name), bytes).unwrap();
    let zst = fs::read(home.path("all.csv.zst")).unwrap();
    let sources: [(&str, &[u8]); 10] = [
        ("empty.csv", b""),
        ("page.html", b"<!DOCTYPE html><p>No dump"),
        ("list.json", b"[{\"topic\":\"a\"}]"),
        ("image.png", b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR"),
        ("topic.csv", b"topic,url\na,http://x/\n,http://y/\n"),
        ("quote.csv", b"topic,url\na,\"http://x/\nb,http://y/\n"),
        (
            "line.jsonl",
            b"{\"topic\":\"a\",\"url\":\"u\"}\n{\"topic\":7}\n",
        ),
        ("cut.csv.zst", &zst[..zst.len() - 20]),
        ("bare.csv", b"topic,url\n"),
        ("pages.jsonl", b"{\"title\":\"a\"}\n"),
    ];
    let mut commands: Vec<(i32, String)> = Vec::new();
    for (name, bytes) in sources {
        write(name, bytes);
        commands.push((1, format!("taxonomy import {name} --out new.csv")));
    }
    for (code, command) in [
        (1, "taxonomy import missing.rdf --out new.csv"),
        (1, "taxonomy import structure.rdf.u8 --out new.csv"),
        (1, "taxonomy import all.csv.zst --out no/such/new.csv"),
        (1, "taxonomy import all.csv.zst --out new.csv --only Sports"),
        (2, "taxonomy prune all.csv.zst -k 0 --out new.csv"),
        (4, "taxonomy prune all.csv.zst --focus Chess --out new.csv"),
        (
            5,
            "taxonomy prune all.csv.zst --focus Games/Go --out new.csv",
        ),
        (4, "taxonomy show all.csv.zst Games/Ches"),
        (4, "taxonomy find all.csv.zst zymurgy"),
        (1, "critic train --examples line.jsonl --out new.model"),
    ] {
        commands.push((code, command.to_owned()));
    }
    let mut all = String::new();
    for (code, command) in &commands {
        let args: Vec<&str> = command.split(' ').collect();
        let said = home.run(&args);
        writeln!(all, "$ apprentice {command}\n{}\n", said.error(*code)).unwrap();
    }
    insta::assert_snapshot!(all);
    let after = fs::read_dir(home.path("")).unwrap().count();
    assert_eq!(
        after,
        before + sources.len(),
        "a refused command left a file"
    );
}

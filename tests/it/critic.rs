//! The critic's commands: golden outputs, and what examples that cannot train are told.

use std::fmt::Write as _;
use std::fs;

use apprentice::archive::{StoredAnswer, WarcWriter};
use apprentice::clock::Timestamp;
use apprentice::url::CanonicalUrl;

use crate::support::daemon::Home;

fn outputs(home: &Home, commands: &[&str]) -> String {
    let mut all = String::new();
    for command in commands {
        let args: Vec<&str> = command.split(' ').collect();
        let said = home.run(&args);
        writeln!(all, "$ apprentice {command}\n{}", said.done()).unwrap();
    }
    all
}

/// Ten pages a topic, of words of their own and of others.
fn table(home: &Home) {
    let mut table = "topic,url,text\n".to_owned();
    for (topic, words) in [
        ("science/bio", "cell gene enzyme tissue membrane"),
        ("science/bio/birds", "feather beak nest gene wing"),
        ("sports", "goal team coach league season"),
    ] {
        let words: Vec<&str> = words.split(' ').collect();
        for number in 0..10 {
            let own: Vec<&str> = (0..3)
                .map(|at| words[(number + at) % words.len()])
                .collect();
            writeln!(
                table,
                "{topic},http://{}.test/{number},a page of {}",
                topic.replace('/', "-"),
                own.join(" ")
            )
            .unwrap();
        }
    }
    fs::write(home.path("table.csv"), table).unwrap();
}

#[test]
fn outputs_are_as_they_were() {
    let home = Home::new();
    table(&home);
    insta::assert_snapshot!(outputs(
        &home,
        &[
            "critic train --examples table.csv --out t.critic",
            "critic eval t.critic",
            "critic eval t.critic --examples table.csv --topic science --without science/bio/birds",
            "critic eval --examples table.csv --folds 5",
            "critic terms t.critic science -n 3",
        ],
    ));
}

/// Pages that were not trained on, in an archive, and a table of what they are: sport most of all, of
/// which every sixth page is worded like another topic.
fn labelled_pages(home: &Home) {
    let path = home.path("crawl.warc.gz");
    let mut warc = WarcWriter::create(&path, "tests", Timestamp(0)).unwrap();
    let mut labels = "url,topic\n".to_owned();
    for number in 0..90 {
        let topic = ["sports", "sports", "science/bio"][number % 3];
        let words = match number % 18 {
            2 | 5 => "cell gene",
            8 | 11 | 14 | 17 => "enzyme",
            0 | 4 | 9 => "tissue team",
            _ => "goal coach",
        };
        let url = CanonicalUrl::parse(&format!("http://crawl.test/{number}")).unwrap();
        writeln!(labels, "{url},{topic}").unwrap();
        let body = format!("<p>a page of {words} {number}");
        let answer = StoredAnswer {
            url: &url,
            fetched: Timestamp(0),
            status: 200,
            headers: &[("Content-Type".to_owned(), "text/html".to_owned())],
            body: body.as_bytes(),
        };
        warc.write_answer(&answer).unwrap();
    }
    fs::write(home.path("labels.csv"), labels).unwrap();
}

#[test]
fn calibration_is_told_as_it_was() {
    let home = Home::new();
    table(&home);
    labelled_pages(&home);
    home.run(&[
        "critic",
        "train",
        "--examples",
        "table.csv",
        "--out",
        "t.critic",
    ])
    .done();
    let mut all = String::new();
    for rest in ["", " --topic sports --bins"] {
        let command = "critic calibration t.critic --archive crawl.warc.gz --labels labels.csv";
        let command = command.to_owned() + rest;
        let said = home.run(&command.split(' ').collect::<Vec<_>>());
        writeln!(all, "$ apprentice {command}\n{}{}", said.err, said.out).unwrap();
    }
    insta::assert_snapshot!(all);
}

#[test]
fn the_general_critic_comes_with_the_program() {
    let home = Home::new();
    insta::assert_snapshot!(outputs(
        &home,
        &[
            "critic eval general",
            "critic terms general Science/Biology/Birds -n 10"
        ],
    ));
}

#[test]
fn examples_that_cannot_train_are_named() {
    let home = Home::new();
    let mut all = String::new();
    for (name, rows) in [
        (
            "unusable.csv",
            "a,http://x/1,some words\na,http://x/2,more words\nb,http://x/3,\n",
        ),
        (
            "empty.csv",
            "a,http://x/1,some words\n,http://x/2,more words\n",
        ),
        (
            "single.csv",
            "a,http://x/1,some words\na,http://x/2,more words\nb,http://x/3,other\n",
        ),
    ] {
        fs::write(home.path(name), format!("topic,url,text\n{rows}")).unwrap();
        let said = home.run(&["critic", "train", "--examples", name, "--out", "t.critic"]);
        assert_eq!(said.code, Some(1), "{}", said.err);
        let error = said.err.lines().last().unwrap_or_default().to_owned();
        writeln!(all, "{name}: {error}").unwrap();
        assert!(!home.path("t.critic").exists());
    }
    table(&home);
    let shared = "sports,http://science-bio.test/3,cell gene\n";
    let twice = fs::read_to_string(home.path("table.csv")).unwrap() + shared;
    fs::write(home.path("table.csv"), twice).unwrap();
    let said = home.run(&[
        "critic",
        "train",
        "--examples",
        "table.csv",
        "--out",
        "t.critic",
    ]);
    assert_eq!(said.code, Some(0), "{}", said.err);
    writeln!(all, "table.csv: {}", said.err).unwrap();
    insta::assert_snapshot!(all);
}

//! `apprentice taxonomy import`

use std::collections::HashSet;
use std::fs::File;
use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use serde_json::json;

use super::reading;
use crate::cli::output::{say, say_json};
use crate::cli::words::{count, count_of};
use crate::critic::examples::page_of_bytes;
use crate::taxonomy::{
    Distinct, Example, Faults, SharedRule, Source, SourceKind, TableFile, covers, open, parent,
};
use crate::url::CanonicalUrl;

/// The largest file of a folder that is read, in bytes.
const FILE_BYTES_MAX: u64 = 16 << 20;

/// Where from, where to, and how much of it.
#[derive(Debug, clap::Args)]
pub(in crate::cli) struct Args {
    /// DMOZ dumps (structure.rdf.u8, content.rdf.u8), JSON lines, tables, each plain, gzip or zstd; folders
    #[arg(required = true)]
    sources: Vec<PathBuf>,

    /// Where the table goes; compressed if its name ends in .gz or .zst
    #[arg(short, long, value_name = "FILE")]
    out: PathBuf,

    /// Only these topics and those under them
    #[arg(long, value_name = "TOPIC", num_args = 1..)]
    only: Vec<String>,

    /// Without these topics and those under them
    #[arg(long, value_name = "TOPIC", num_args = 1..)]
    without: Vec<String>,

    /// A URL under several topics is an example of each, or of the first only
    #[arg(long, value_enum, value_name = "RULE", default_value_t = Shared::Keep)]
    shared: Shared,

    /// Print what was done as JSON
    #[arg(long)]
    json: bool,
}

/// What becomes of a URL under several topics.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum Shared {
    /// An example of each
    Keep,
    /// An example of the first topic that has it
    First,
}

/// What was done.
struct Done {
    distinct: Distinct,
    sources: Vec<Read>,
    /// Topics with examples, and those above them.
    topics: HashSet<String>,
    /// Topics that a dump names.
    declared: HashSet<String>,
    examples: u64,
    without_text: u64,
    not_asked_for: u64,
}

/// What was read of one source.
struct Read {
    path: PathBuf,
    kind: &'static str,
    examples: u64,
    faults: Option<Faults>,
}

pub(super) fn run(args: &Args) -> anyhow::Result<ExitCode> {
    let mut sources = Vec::new();
    for path in &args.sources {
        sources.push(open(path)?);
    }
    let text = sources.iter().any(Source::has_text);
    let mut file = TableFile::create(&args.out, text)?;
    let rule = match args.shared {
        Shared::Keep => SharedRule::Keep,
        Shared::First => SharedRule::First,
    };
    let mut done = Done {
        distinct: Distinct::new(rule),
        sources: Vec::new(),
        topics: HashSet::new(),
        declared: HashSet::new(),
        examples: 0,
        without_text: 0,
        not_asked_for: 0,
    };
    for source in sources {
        import(source, args, &mut file, &mut done)?;
    }
    if done.examples == 0 {
        anyhow::bail!(
            "no examples to write to {}{}",
            args.out.display(),
            none_because(&done)
        );
    }
    file.finish()?;
    if args.json {
        say_json(&as_json(&done))?;
    } else {
        tell(args, &done)?;
    }
    Ok(ExitCode::SUCCESS)
}

fn none_because(done: &Done) -> String {
    match (done.not_asked_for, done.declared.len()) {
        (0, 0) => String::new(),
        (0, topics) => format!(
            ": {} topics are named, and no pages; read content.rdf.u8 as well",
            count(topics as u64)
        ),
        (others, _) => format!(": {} are of other topics", count(others)),
    }
}

fn import(
    mut source: Source,
    args: &Args,
    file: &mut TableFile,
    done: &mut Done,
) -> anyhow::Result<()> {
    let folder = (source.kind() == SourceKind::Folder).then(|| source.path().to_owned());
    let mut examples = 0;
    for example in source.by_ref() {
        let mut example = example?;
        if !is_wanted(args, &example.topic) {
            done.not_asked_for += 1;
            continue;
        }
        if !done.distinct.take(&example) {
            continue;
        }
        if let Some(folder) = &folder {
            read_file(folder, &mut example);
        }
        done.without_text += u64::from(example.own_text().is_none());
        file.write(&example)?;
        examples += 1;
        let mut topic = Some(example.topic.as_str());
        while let Some(name) = topic.filter(|name| !done.topics.contains(*name)) {
            done.topics.insert(name.to_owned());
            topic = parent(name);
        }
    }
    done.examples += examples;
    let declared = source.declared().into_iter();
    let declared = declared.filter(|topic| is_wanted(args, topic));
    done.declared.extend(declared.map(str::to_owned));
    done.sources.push(Read {
        path: source.path().to_owned(),
        kind: reading::kind(&source),
        examples,
        faults: source.faults().cloned(),
    });
    Ok(())
}

fn is_wanted(args: &Args, topic: &str) -> bool {
    let within = |topics: &[String]| topics.iter().any(|above| covers(above, topic));
    (args.only.is_empty() || within(&args.only)) && !within(&args.without)
}

/// Puts the words of a folder's file into its example, as the critic would read them.
fn read_file(folder: &Path, example: &mut Example) {
    let path = folder.join(&example.url);
    let page = File::open(&path)
        .and_then(|file| {
            let mut body = Vec::new();
            file.take(FILE_BYTES_MAX).read_to_end(&mut body)?;
            Ok(body)
        })
        .map_err(|error| error.to_string())
        .and_then(|body| {
            let nowhere = CanonicalUrl::parse("http://localhost/");
            let nowhere = nowhere.map_err(|error| error.to_string())?;
            page_of_bytes(&nowhere, &body)
        });
    match page {
        Ok(page) => {
            let words = page.words.iter();
            let words = words.filter_map(|word| page.vocabulary.get(*word as usize));
            example.text = words.map(String::as_str).collect::<Vec<_>>().join(" ");
            example.title = page.title;
        }
        Err(reason) => {
            tracing::warn!("{}: taken without its text: {reason}", path.display());
        }
    }
}

fn without_examples(done: &Done) -> usize {
    done.declared.difference(&done.topics).count()
}

fn as_json(done: &Done) -> serde_json::Value {
    let sources: Vec<_> = done
        .sources
        .iter()
        .map(|source| {
            json!({
                "path": source.path,
                "kind": source.kind,
                "examples": source.examples,
                "faults": source.faults,
            })
        })
        .collect();
    json!({
        "examples": done.examples,
        "topics": done.topics.len(),
        "topics_without_examples": without_examples(done),
        "examples_without_text": done.without_text,
        "not_asked_for": done.not_asked_for,
        "repeated": done.distinct.repeated(),
        "shared": done.distinct.shared(),
        "shared_named": done.distinct.shared_named(),
        "sources": sources,
    })
}

fn tell(args: &Args, done: &Done) -> anyhow::Result<()> {
    say(&format!(
        "{}: {} of {} (with those above)",
        args.out.display(),
        count_of(done.examples, "example"),
        count_of(done.topics.len() as u64, "topic")
    ))?;
    for source in &done.sources {
        say(&format!(
            "from {} ({}): {}",
            source.path.display(),
            source.kind,
            count_of(source.examples, "example")
        ))?;
        for line in source.faults.iter().flat_map(Faults::lines) {
            say(&format!("  {line}"))?;
        }
    }
    for (what, number) in [
        (
            "topics without examples, left out",
            without_examples(done) as u64,
        ),
        ("examples without a text of their own", done.without_text),
        (
            "examples of topics that were not asked for",
            done.not_asked_for,
        ),
        ("repeated examples, dropped", done.distinct.repeated()),
    ] {
        if number > 0 {
            say(&format!("{} {what}", count(number)))?;
        }
    }
    if done.distinct.shared() > 0 {
        let rule = match args.shared {
            Shared::Keep => "examples of each",
            Shared::First => "examples of the first only",
        };
        let number = count(done.distinct.shared());
        say(&format!("{number} URLs under one more topic, {rule}"))?;
        for shared in done.distinct.shared_named() {
            say(&reading::shared_words(shared))?;
        }
    }
    Ok(())
}

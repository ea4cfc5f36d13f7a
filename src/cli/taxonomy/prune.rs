//! `apprentice taxonomy prune`

use std::collections::HashMap;
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::Context;
use serde_json::json;

use crate::cli::output::{say, say_json};
use crate::cli::words::count;
use crate::taxonomy::{
    Distinct, Example, PruneParams, PruneStep, Pruned, SharedRule, SourceKind, TableFile,
    TaxonomySize, open, prune,
};

/// Steps that are printed without being asked for.
const STEPS_SHOWN: usize = 20;

/// What to prune, and how.
#[derive(Debug, clap::Args)]
pub(in crate::cli) struct Args {
    /// The taxonomy file (any file that import takes)
    taxonomy: PathBuf,

    /// Where the pruned table goes; without it, only what would be done is said
    #[arg(short, long, value_name = "FILE")]
    out: Option<PathBuf>,

    /// Examples of a class: no fewer, and no more
    #[arg(short = 'k', long, value_name = "K", default_value_t = PruneParams::default().examples)]
    examples: NonZeroUsize,

    /// Topics that stay while they have at least 10 examples
    #[arg(long, value_name = "TOPIC", num_args = 1..)]
    focus: Vec<String>,

    /// Seed of the samples
    #[arg(long, value_name = "N", default_value_t = 0)]
    seed: u64,

    /// Write all steps to a file, one a line
    #[arg(long, value_name = "FILE")]
    steps: Option<PathBuf>,

    /// Print sizes and steps as JSON
    #[arg(long)]
    json: bool,
}

pub(super) fn run(args: &Args, verbose: bool) -> anyhow::Result<ExitCode> {
    let (topics, examples) = topics_of(&args.taxonomy)?;
    let params = PruneParams {
        examples: args.examples,
        focus: args.focus.clone(),
        seed: args.seed,
    };
    let pruned = prune(&topics, &examples, &params)
        .with_context(|| format!("{}: not pruned", args.taxonomy.display()))?;
    if let Some(out) = &args.out {
        write(args, &pruned, out)?;
    }
    if let Some(path) = &args.steps {
        let lines: Vec<String> = pruned.steps.iter().map(PruneStep::words).collect();
        std::fs::write(path, lines.join("\n") + "\n")
            .with_context(|| format!("{}: cannot be written", path.display()))?;
    }
    if args.json {
        say_json(&json!({
            "k": args.examples,
            "seed": args.seed,
            "focus": args.focus,
            "before": pruned.before,
            "after": pruned.after,
            "classes": pruned.classes,
            "steps": pruned.steps,
        }))?;
    } else {
        tell(&pruned, verbose)?;
    }
    Ok(ExitCode::SUCCESS)
}

/// The topics of a source, and for each of its examples which one it has.
fn topics_of(path: &Path) -> anyhow::Result<(Vec<String>, Vec<u32>)> {
    let mut numbers: HashMap<String, u32> = HashMap::new();
    let mut examples = Vec::new();
    each(path, |example| {
        let next = u32::try_from(numbers.len())?;
        examples.push(*numbers.entry(example.topic).or_insert(next));
        Ok(())
    })?;
    let mut topics: Vec<(u32, String)> = numbers.into_iter().map(|(t, n)| (n, t)).collect();
    topics.sort_unstable();
    Ok((
        topics.into_iter().map(|(_, topic)| topic).collect(),
        examples,
    ))
}

/// The examples of a source without repetitions: the same ones each time.
fn each(path: &Path, mut take: impl FnMut(Example) -> anyhow::Result<()>) -> anyhow::Result<()> {
    let source = open(path)?;
    if source.kind() == SourceKind::Folder {
        anyhow::bail!(
            "{}: a folder; make a table of it first (`apprentice taxonomy import`)",
            path.display()
        );
    }
    let mut distinct = Distinct::new(SharedRule::Keep);
    for example in source {
        let example = example?;
        if distinct.take(&example) {
            take(example)?;
        }
    }
    Ok(())
}

/// Reads the source once more and writes what is kept of it: so no text has to be held in memory.
fn write(args: &Args, pruned: &Pruned, out: &Path) -> anyhow::Result<()> {
    let text = open(&args.taxonomy)?.has_text();
    let mut file = TableFile::create(out, text)?;
    let mut classes = pruned.class_of.iter();
    each(&args.taxonomy, |mut example| {
        let changed = || format!("{}: changed while it was read", args.taxonomy.display());
        let class = classes.next().with_context(changed)?;
        if let Some(class) = class.and_then(|class| pruned.classes.get(class as usize)) {
            example.topic.clone_from(class);
            file.write(&example)?;
        }
        Ok(())
    })?;
    file.finish()?;
    Ok(())
}

fn tell(pruned: &Pruned, verbose: bool) -> anyhow::Result<()> {
    for (when, size) in [("before", &pruned.before), ("after", &pruned.after)] {
        say(&size_words(when, size))?;
    }
    say(&totals(&pruned.steps))?;
    let shown = if verbose {
        pruned.steps.len()
    } else {
        STEPS_SHOWN
    };
    for step in pruned.steps.iter().take(shown) {
        say(&format!("  {}", step.words()))?;
    }
    if let Some(more) = pruned
        .steps
        .len()
        .checked_sub(shown)
        .filter(|more| *more > 0)
    {
        let more = count(more as u64);
        say(&format!(
            "  and {more} more steps (-v prints them, --steps FILE writes them)"
        ))?;
    }
    Ok(())
}

fn size_words(when: &str, size: &TaxonomySize) -> String {
    format!(
        "{when}: {} topics, {} of them leaves; {} examples",
        count(size.topics as u64),
        count(size.leaves as u64),
        count(size.examples as u64)
    )
}

/// How many steps there were of each kind, and how many examples they moved.
fn totals(steps: &[PruneStep]) -> String {
    let (mut folded, mut moved, mut protected, mut sampled) = ((0, 0), (0, 0), 0, (0, 0));
    let add = |total: &mut (u64, u64), examples: usize| {
        total.0 += 1;
        total.1 += examples as u64;
    };
    for step in steps {
        match step {
            PruneStep::Folded { examples, .. } => add(&mut folded, *examples),
            PruneStep::MovedUp { examples, .. } => add(&mut moved, *examples),
            PruneStep::Protected { .. } => protected += 1,
            PruneStep::Sampled { from, to, .. } => add(&mut sampled, from - to),
            PruneStep::Other { .. } => {}
        }
    }
    format!(
        "{} leaves folded into the topic above, {} small `Other` moved up, {} focus classes protected, \
         {} classes sampled (without {} examples)",
        count(folded.0),
        count(moved.0),
        count(protected),
        count(sampled.0),
        count(sampled.1)
    )
}

//! `apprentice topic add`

use std::path::PathBuf;
use std::process::ExitCode;

use super::examples::{self, Given};
use super::show;
use crate::archive::Archive;
use crate::cli::output::{say, say_json};
use crate::clock::{Clock, SystemClock};
use crate::critic::examples::{ReadExample, read_folder, read_table};
use crate::critic::{BACKGROUND_WORDS, CriticModel, ExtendParams, Extension, Origin};
use crate::taxonomy::{Example, ExampleTable};

/// Pages of the other topics that are judged to see whether the new one takes them.
const REST_PAGES_MAX: usize = 2_000;

/// Which topic, into which critic, from which pages.
#[derive(Debug, clap::Args)]
pub(in crate::cli) struct Args {
    /// Name of the topic, a path such as `science/birds`
    name: String,

    /// The model that it is added to; it gets the next version
    #[arg(long, value_name = "MODEL")]
    to: PathBuf,

    /// The examples: a list of URLs or files, one a line; a table with a column `url` (and, if it has
    /// one, `topic`); a folder of pages; or the pages themselves
    #[arg(long, value_name = "FILE", num_args = 1.., required = true)]
    examples: Vec<PathBuf>,

    /// WARC files that hold the pages of the URLs; if they also hold the pages that the model was trained
    /// on, precision is measured on those
    #[arg(long, value_name = "WARC", num_args = 1..)]
    archive: Vec<PathBuf>,

    /// Where the new model goes [default: in the place of the old one]
    #[arg(short, long, value_name = "MODEL")]
    out: Option<PathBuf>,

    /// The topic exists: add the examples to it
    #[arg(long)]
    more: bool,

    /// Take fewer than 10 examples
    #[arg(long)]
    force: bool,

    /// Words of the other topics that a new one is mixed with, for those that its few examples have not
    /// shown
    #[arg(long, value_name = "WORDS", default_value_t = BACKGROUND_WORDS)]
    background: u64,

    /// Parts that the examples are cut into for the cross-validation
    #[arg(long, value_name = "K", default_value_t = 10, value_parser = clap::value_parser!(u32).range(2..=200))]
    folds: u32,

    /// Seed of that cut
    #[arg(long, value_name = "N", default_value_t = 0)]
    seed: u64,

    /// Print the report as JSON
    #[arg(long)]
    json: bool,
}

pub(super) fn run(args: &Args) -> anyhow::Result<ExitCode> {
    let model = CriticModel::open(&args.to)?;
    let params = ExtendParams {
        more: args.more,
        force: args.force,
        background: args.background,
        folds: args.folds as usize,
        seed: args.seed,
    };
    let mut extension = Extension::new(&model, &args.name, params)?;
    let given = examples::read(&args.examples, &args.name)?;
    let archive = match args.archive.as_slice() {
        [] => None,
        files => Some(crate::cli::archive::open(files)?),
    };
    take(&given, archive.as_ref(), &mut extension)?;
    if let Some(archive) = &archive {
        judge_rest(&model, archive, &mut extension)?;
    }
    let (extended, report) = extension.finish(Origin {
        trained_at: SystemClock::new().now(),
        notes: "apprentice topic add".to_owned(),
        sources: sources(args),
        version: 0,
    })?;
    let out = args.out.as_ref().unwrap_or(&args.to);
    extended.save(out)?;
    if args.json {
        say_json(&report)?;
    } else {
        let version = extended.version();
        say(&format!(
            "{}: version {version}, with {}",
            out.display(),
            args.name
        ))?;
        say(&show::render(&report))?;
    }
    Ok(ExitCode::SUCCESS)
}

/// Gives the extension its examples.
fn take(
    given: &Given,
    archive: Option<&Archive>,
    extension: &mut Extension<'_>,
) -> anyhow::Result<()> {
    let bare = given
        .table
        .examples
        .iter()
        .filter(|example| example.own_text().is_none());
    let bare = bare.count();
    anyhow::ensure!(
        bare == 0 || archive.is_some(),
        "{bare} examples are URLs, and no archive holds their pages; give one with --archive FILE.warc.gz \
         (`apprentice taxonomy fetch` makes one of a table of URLs), or give the pages as files"
    );
    let mut add = |example: ReadExample| match &example.page {
        Ok(page) => extension.add(&example.url, page),
        Err(reason) => {
            extension.skip(&example.url, reason);
            Ok(())
        }
    };
    read_table(&given.table, archive, &mut add)?;
    read_folder(&given.files, &mut add)?;
    for (line, reason) in &given.refused {
        extension.skip(line, reason);
    }
    Ok(())
}

/// Has the pages judged that the model was trained on, as far as the archive has them: of each class as
/// many as of the others, the first ones by their order in the model.
fn judge_rest(
    model: &CriticModel,
    archive: &Archive,
    extension: &mut Extension<'_>,
) -> anyhow::Result<()> {
    let share = REST_PAGES_MAX.div_ceil(model.classes().len());
    let examples = model.classes().iter().flat_map(|class| {
        let stride = class.examples.len().div_ceil(share).max(1);
        let urls = class.examples.iter().step_by(stride);
        urls.map(|url| Example {
            topic: class.topic.clone(),
            url: url.clone(),
            ..Example::default()
        })
    });
    let table = ExampleTable {
        examples: examples.collect(),
        repeated: 0,
    };
    read_table(&table, Some(archive), |example| {
        if let Ok(page) = &example.page {
            extension.judge_also(&example.topic, page);
        }
        Ok(())
    })
}

/// The files by their names alone: a model is handed to others.
fn sources(args: &Args) -> Vec<String> {
    let files = args.examples.iter().chain(&args.archive);
    files
        .filter_map(|path| path.file_name())
        .map(|name| name.to_string_lossy().into_owned())
        .collect()
}

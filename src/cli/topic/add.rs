//! `apprentice topic add`

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use super::examples::{self, Given};
use super::show;
use crate::archive::Archive;
use crate::cli::fetching::FetchArgs;
use crate::cli::output::{complain, say, say_json};
use crate::cli::words::count_of;
use crate::clock::{Clock, SystemClock};
use crate::critic::examples::{ReadExample, not_archived, read_folder, read_table};
use crate::critic::{CriticModel, ExtendParams, Extension, Origin};
use crate::taxonomy::{Example, ExampleTable};
use crate::url::CanonicalUrl;

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

    /// Where pages are kept that no archive holds and that are fetched therefore, which needs --contact;
    /// what is there already is not asked for again [default: the new model's name and .fetched.warc.gz]
    #[arg(long, value_name = "FILE")]
    fetched: Option<PathBuf>,

    #[command(flatten)]
    fetching: FetchArgs,

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
    /// shown [default: 2000, or a tenth of a class in a model of small ones]
    #[arg(long, value_name = "WORDS")]
    background: Option<u64>,

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

pub(super) async fn run(args: Args) -> anyhow::Result<ExitCode> {
    let (args, given, missing) = tokio::task::spawn_blocking(move || {
        let (given, missing) = look(&args)?;
        anyhow::Ok((args, given, missing))
    })
    .await??;
    if !missing.is_empty() && args.fetching.may_ask() {
        fetch(&args, missing).await?;
    }
    tokio::task::spawn_blocking(move || add(&args, &given)).await?
}

impl Args {
    fn params(&self) -> ExtendParams {
        ExtendParams {
            more: self.more,
            force: self.force,
            background: self.background,
            folds: self.folds as usize,
            seed: self.seed,
        }
    }

    /// Where the new model goes.
    fn model(&self) -> &Path {
        self.out.as_ref().unwrap_or(&self.to)
    }

    /// Where pages are kept that were fetched.
    fn fetched(&self) -> PathBuf {
        self.fetched.clone().unwrap_or_else(|| {
            let mut name = self.model().as_os_str().to_owned();
            name.push(".fetched.warc.gz");
            PathBuf::from(name)
        })
    }

    /// The archives: those that are named, and what was fetched, by this start or an earlier one.
    fn archive(&self) -> anyhow::Result<Option<Archive>> {
        let mut files = self.archive.clone();
        let fetched = self.fetched();
        if fetched.is_file() && !files.contains(&fetched) {
            files.push(fetched);
        }
        Ok(match files.as_slice() {
            [] => None,
            files => Some(crate::cli::archive::open(files)?),
        })
    }
}

/// The examples, and those that no archive holds.
fn look(args: &Args) -> anyhow::Result<(Given, Vec<CanonicalUrl>)> {
    // Nothing is fetched for a topic that cannot be added.
    let model = CriticModel::open(&args.to)?;
    Extension::new(&model, &args.name, args.params())?;
    let given = examples::read(&args.examples, &args.name)?;
    let missing = not_archived(&given.table, args.archive()?.as_ref());
    let bare = not_archived(&given.table, None).len();
    anyhow::ensure!(
        missing.len() < bare || missing.is_empty() || args.fetching.may_ask(),
        "{bare} examples are URLs, and no archive holds their pages; give --contact (an e-mail address \
         or a URL where a site's owner reaches you) to have them fetched, or --archive FILE.warc.gz with \
         their pages, or the pages as files"
    );
    Ok((given, missing))
}

async fn fetch(args: &Args, urls: Vec<CanonicalUrl>) -> anyhow::Result<()> {
    let (fetching, fetched) = (args.fetching.ready()?, args.fetched());
    complain(&format!(
        "fetching {} into {}",
        count_of(urls.len() as u64, "page"),
        fetched.display()
    ));
    let report = fetching.run(&fetched, false, urls).await?;
    anyhow::ensure!(
        !report.stopped,
        "stopped; the same command goes on from what is in {}",
        fetched.display()
    );
    for (cause, urls) in report.failed.iter().chain(&report.deferred) {
        let urls = count_of(*urls as u64, "page");
        complain(&format!("{urls} could not be had: {cause}"));
    }
    Ok(())
}

fn add(args: &Args, given: &Given) -> anyhow::Result<ExitCode> {
    let model = CriticModel::open(&args.to)?;
    let mut extension = Extension::new(&model, &args.name, args.params())?;
    let archive = args.archive()?;
    take(given, archive.as_ref(), &mut extension)?;
    if let Some(archive) = &archive {
        judge_rest(&model, archive, &mut extension)?;
    }
    let (extended, report) = extension.finish(&Origin {
        trained_at: SystemClock::new().now(),
        notes: "apprentice topic add".to_owned(),
        sources: sources(args),
        version: 0,
    })?;
    extended.save(args.model())?;
    if args.json {
        say_json(&report)?;
    } else {
        let version = extended.version();
        let out = args.model().display();
        say(&format!("{out}: version {version}, with {}", args.name))?;
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

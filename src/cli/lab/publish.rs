//! What a contest leaves for people to read: measures and a report.

use std::path::Path;

use anyhow::Context;

use crate::clock::{Clock, SystemClock};
use crate::lab::graph::{GraphCrawler, GraphShown, write_page as write_graph_page};
use crate::lab::measures::{self, Measures, paces};
use crate::lab::report::{self, Sources, Summary};
use crate::lab::{About, Digests, Held, PoolRanks, Setting, Shown, write_page, write_pool_ranks};

/// What a report is told beside the crawls.
pub(super) struct Told<'a> {
    pub(super) title: &'a str,
    /// The specification; that of the summary if there is no file.
    pub(super) spec: Option<&'a str>,
    pub(super) sources: &'a Sources,
    pub(super) digests: &'a Digests,
    pub(super) checkpoints: &'a [u64],
    pub(super) against: &'a str,
    /// Ranks in the pool, a list a contest; none if nobody asked.
    pub(super) ranks: &'a [Vec<PoolRanks>],
}

/// Writes tables, measures and pictures of each contest and one report of all into `out`; the
/// summaries, for those who print them.
pub(super) fn publish(
    out: &Path,
    told: &Told<'_>,
    settings: &[Setting],
    held: &[Held],
) -> anyhow::Result<Vec<Summary>> {
    let (mut summaries, mut all, mut times) = (Vec::new(), Vec::new(), Vec::new());
    for (at, (setting, held)) in settings.iter().zip(held).enumerate() {
        let spec = &setting.spec;
        let summary = Summary::of(spec, told.sources, &held.entries);
        // One contest has the folder to itself, several have a folder each.
        let dir = if settings.len() > 1 {
            out.join(&setting.name)
        } else {
            out.to_path_buf()
        };
        report::write(&dir, spec, &summary, &held.entries)?;
        let found = Measures::of(&held.entries, told.checkpoints, told.against, spec.seed);
        let took = paces(&held.entries);
        measures::write(&dir, &found, &took)?;
        if let Some(ranks) = told.ranks.get(at) {
            write_pool_ranks(&dir, ranks)?;
        }
        summaries.push(summary);
        all.push(found);
        times.push(took);
    }
    let parts = settings.iter().zip(held).zip(all.iter().zip(&times));
    let shown: Vec<Shown<'_>> = parts
        .enumerate()
        .map(|(at, ((setting, held), (measures, paces)))| Shown {
            ranks: told.ranks.get(at).map_or(&[], Vec::as_slice),
            setting,
            held,
            measures,
            paces,
        })
        .collect();
    let spec = match (told.spec, summaries.first()) {
        (Some(text), _) => text.to_owned(),
        (None, Some(summary)) => serde_json::to_string_pretty(&summary.spec)?,
        (None, None) => String::new(),
    };
    let mut sources = sources_made_with(told.sources, told.digests);
    sources.extend(settings.first().map_or(Vec::new(), begins_made_with));
    let about = About {
        title: told.title.to_owned(),
        made_with: made_with(sources),
        spec,
        missing: held.iter().map(|held| held.missing).sum(),
    };
    write_page(out, &about, &shown)?;
    Ok(summaries)
}

/// The report of crawls of graphs; without a file the specification is that of the contest.
pub(super) fn publish_graphs(
    out: &Path,
    title: &str,
    spec: Option<&str>,
    shown: &GraphShown<'_>,
) -> anyhow::Result<()> {
    let contest = shown.contest;
    let crawlers: Vec<&str> = contest.crawlers.iter().map(GraphCrawler::label).collect();
    let own = serde_json::json!({
        "graphs": shown.worlds,
        "crawlers": crawlers,
        "against": shown.against,
        "budget": contest.budget,
        "seed_sets": contest.seed_sets,
        "seeds": contest.seeds,
        "seed": contest.seed,
    });
    let graphs = shown.worlds.iter().map(|world| {
        (
            "graph".to_owned(),
            format!("{}: {}", world.name, world.made_from()),
        )
    });
    let about = About {
        title: title.to_owned(),
        made_with: made_with(graphs.collect()),
        spec: match spec {
            Some(text) => text.to_owned(),
            None => serde_json::to_string_pretty(&own)?,
        },
        missing: shown.missing,
    };
    write_graph_page(out, &about, shown)
        .with_context(|| format!("{}", out.join("report.html").display()))
}

/// The names of the files with their digests.
fn sources_made_with(sources: &Sources, digests: &Digests) -> Vec<(String, String)> {
    let with = |name: &str, digest: Option<&String>| match digest {
        Some(digest) => format!("{name}, SHA-1 {digest}"),
        None => name.to_owned(),
    };
    let mut made = Vec::new();
    for (at, name) in sources.archive.iter().enumerate() {
        made.push(("archive".to_owned(), with(name, digests.archive.get(at))));
    }
    let critic = format!("{} (version {})", sources.critic, sources.critic_version);
    made.push(("critic".to_owned(), with(&critic, digests.critic.as_ref())));
    if let Some(labels) = &sources.labels {
        made.push(("labels".to_owned(), with(labels, digests.labels.as_ref())));
    }
    made
}

/// The saved apprentices with their digests, and who begins with them.
fn begins_made_with(setting: &Setting) -> Vec<(String, String)> {
    let crawlers = setting.spec.crawlers.iter();
    let begins = crawlers.filter_map(|crawler| {
        let begin = setting.spec.begin_of(crawler)?;
        let words = format!(
            "{}, SHA-1 {}, carried {}",
            begin.file_name(),
            begin.digest,
            begin.told.carry.name()
        );
        Some((format!("{} begins with", crawler.name()), words))
    });
    begins.collect()
}

/// The program, the command and the day, and what else there is.
fn made_with(more: Vec<(String, String)>) -> Vec<(String, String)> {
    let now = jiff::Timestamp::from_millisecond(SystemClock::new().now().0).unwrap_or_default();
    let mut made = vec![
        (
            "program".to_owned(),
            format!("apprentice {}", env!("CARGO_PKG_VERSION")),
        ),
        ("command".to_owned(), command()),
        (
            "made".to_owned(),
            now.strftime("%Y-%m-%d %H:%M UTC").to_string(),
        ),
    ];
    made.extend(more);
    made
}

/// The command line, files without their folders: a report is handed to others.
fn command() -> String {
    let mut words = vec!["apprentice".to_owned()];
    for word in std::env::args_os().skip(1) {
        let path = Path::new(&word);
        let name = path.file_name().filter(|_| path.exists());
        let word = name.unwrap_or(&word).to_string_lossy();
        words.push(
            if word.is_empty() || word.contains([' ', '\'', '"', '$', '\\']) {
                format!("'{}'", word.replace('\'', r"'\''"))
            } else {
                word.into_owned()
            },
        );
    }
    words.join(" ")
}

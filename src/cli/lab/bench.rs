//! The files that a contest is held on, opened.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::archive::Archive;
use crate::clock::{Clock, SystemClock};
use crate::critic::examples::{learn, read_table};
use crate::critic::{CriticModel, Origin, TrainParams, Trainer};
use crate::lab::experiment::BenchFiles;
use crate::lab::report::Sources;
use crate::lab::{Bench, Digests, Labels};
use crate::taxonomy::ExampleTable;
use crate::url::CanonicalUrl;

/// The archive, the critic and the labels that were named.
pub(super) fn bench_of(files: &BenchFiles, clock: &SystemClock) -> anyhow::Result<Bench> {
    let archive = Arc::new(crate::cli::archive::open(&files.archive)?);
    let model = match (&files.critic, &files.examples) {
        (Some(path), _) => CriticModel::open_or_general(path)?,
        (None, Some(table)) => train(table, &archive, clock)?,
        (None, None) => anyhow::bail!("no critic; give --critic MODEL or --examples TABLE"),
    };
    let labels = files.labels.as_deref().map(Labels::open).transpose()?;
    let mut trained_on = Bench::examples_of(&model);
    if let Some(path) = &files.exclude {
        let examples = ExampleTable::open(path)?.examples;
        let urls = examples
            .iter()
            .filter_map(|row| CanonicalUrl::parse(&row.url).ok());
        trained_on.extend(urls.map(|url| url.id()));
    }
    Ok(Bench::new(
        archive,
        Arc::new(model),
        labels.map(Arc::new),
        trained_on,
        digests_of(files)?,
    ))
}

fn digests_of(files: &BenchFiles) -> anyhow::Result<Digests> {
    let of = |path: Option<&PathBuf>| path.map(|path| Digests::of(path)).transpose();
    let archive = files.archive.iter().map(|path| Digests::of(path));
    // The critic that comes with the program is no file: the program's version says which it is.
    let critic = files.critic.as_ref().or(files.examples.as_ref());
    Ok(Digests {
        archive: archive.collect::<Result<_, _>>()?,
        critic: of(critic.filter(|path| path.exists()))?,
        labels: of(files.labels.as_ref())?,
        exclude: of(files.exclude.as_ref())?,
    })
}

/// The files by their names alone: a report is handed to others.
pub(super) fn sources_of(files: &BenchFiles, critic_version: u64) -> Sources {
    let name = |path: &PathBuf| {
        let name = path.file_name().unwrap_or_default();
        name.to_string_lossy().into_owned()
    };
    let critic = files.critic.as_ref().or(files.examples.as_ref());
    Sources {
        archive: files.archive.iter().map(name).collect(),
        critic: critic.map(name).unwrap_or_default(),
        critic_version,
        labels: files.labels.as_ref().map(name),
    }
}

fn train(table: &Path, archive: &Archive, clock: &SystemClock) -> anyhow::Result<CriticModel> {
    let mut trainer = Trainer::new(TrainParams::default())?;
    let table = ExampleTable::open(table)?;
    read_table(&table, Some(archive), |example| {
        learn(&mut trainer, &example)
    })?;
    let model = trainer.ready()?.train(Origin {
        trained_at: clock.now(),
        notes: "apprentice lab run".to_owned(),
        sources: Vec::new(),
        version: 1,
    })?;
    tracing::info!(
        held_out_accuracy = model.training().held_out.accuracy().value,
        "critic trained"
    );
    Ok(model)
}

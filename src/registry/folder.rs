//! The folder of one crawl: its log, and its own copy of the critic or the classes of its judge.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use prost::Message;

use super::RegistryError;
use super::start;
use super::within::Fence;
use crate::apprentice::SavedApprentice;
use crate::booking::{CrawlState, Event, SeedsEvent, StateEvent};
use crate::clock::{Timestamp, chance};
use crate::crawl::{Judge, JudgedBy, SEED_PRIORITY, Spec, SpecError};
use crate::critic::{BayesJudge, CriticModel, FarJudge, RemoteJudge, RemoteOptions};
use crate::frontier::{FrontierStore, SledStore};
use crate::proto::v1;
use crate::store::StoreOptions;
use crate::taxonomy::{Focus, FocusError};
use crate::url::CanonicalUrl;

const MODEL: &str = "critic.model";
/// The classes that a judge behind gRPC has named, one a line, by number.
const CLASSES: &str = "judge.classes";
/// WARC files, if the crawl keeps its pages.
pub(super) const WARC: &str = "warc";
const LOG: &str = "log";
/// What a crawl may fetch that stays within another one.
const FENCE: &str = "within.ids";

/// The apprentice that the crawl's own began with.
const START: &str = "start.apprentice";

/// What the crawl has learned so far, so that it need not learn its log again.
pub(super) const LEARNED: &str = "learned";
/// Judged pages from one writing of it to the next, at least: to learn from so many takes a tenth of a second.
pub(super) const LEARNED_EVERY: u64 = 1_000;

/// An opened crawl folder.
pub(super) struct CrawlFolder {
    pub(super) store: Arc<dyn FrontierStore>,
    pub(super) judge: Judge,
    /// What the crawl may fetch, if it stays within another one.
    pub(super) fence: Option<Fence>,
    /// What its apprentice begins with.
    pub(super) start: Option<Arc<SavedApprentice>>,
}

/// The focus on the topics of a crawl, without the parts of them that it leaves out.
fn focus_of(spec: &Spec) -> Result<Focus, FocusError> {
    Ok(Focus::new(spec.topics.clone())?.without(spec.without.clone()))
}

/// A judge for `focus` from `model`, and the model.
fn judge_of(
    model: CriticModel,
    focus: &Focus,
) -> Result<(Arc<CriticModel>, Arc<BayesJudge>), RegistryError> {
    let model = Arc::new(model);
    let judge = BayesJudge::new(Arc::clone(&model), focus)?;
    Ok((model, Arc::new(judge)))
}

/// The critic in this file, or the general one.
fn model_at(path: Option<&Path>) -> Result<CriticModel, RegistryError> {
    Ok(match path {
        Some(path) => CriticModel::open(path)?,
        None => CriticModel::general()?,
    })
}

/// The judge that a crawl which is to be made will have.
pub(super) fn judge_for(spec: &Spec) -> Result<Judge, RegistryError> {
    Ok(match &spec.judged_by {
        JudgedBy::Critic(path) => {
            Judge::Near(judge_of(model_at(path.as_deref())?, &focus_of(spec)?)?.1)
        }
        JudgedBy::Judge(options) => Judge::Far(Arc::new(RemoteJudge::new(options.clone()))),
    })
}

impl CrawlFolder {
    /// Opens the folder of an existing crawl.
    pub(super) fn open(folder: &Path) -> Result<Self, RegistryError> {
        let store = SledStore::open(&folder.join(LOG), &StoreOptions::default())?;
        sweep_out(folder)?;
        let spec = Spec::check(&spec_of(&store)?)?;
        let judge = match &spec.judged_by {
            JudgedBy::Critic(_) => {
                let model = CriticModel::open(&folder.join(MODEL))?;
                Judge::Near(judge_of(model, &focus_of(&spec)?)?.1)
            }
            JudgedBy::Judge(options) => Judge::Far(Arc::new(remote_judge(folder, options)?)),
        };
        let fence = match spec.within {
            Some(_) => {
                let path = folder.join(FENCE);
                Some(Fence::open(&path).map_err(|error| io(&path, error))?)
            }
            None => None,
        };
        let start = match &spec.start {
            Some(start) => Some(Arc::new(start::open(&folder.join(START), start)?)),
            None => None,
        };
        Ok(Self {
            store: Arc::new(store),
            judge,
            fence,
            start,
        })
    }

    /// Asks the judge of a crawl that is to be made whether it is there and understands the topics. A
    /// critic is not asked: it is a file.
    pub(super) async fn greet(spec: &Spec) -> Result<(), RegistryError> {
        let JudgedBy::Judge(options) = &spec.judged_by else {
            return Ok(());
        };
        let judge = RemoteJudge::new(options.clone());
        judge.greet().await.map_err(|why| RegistryError::JudgeAway {
            place: judge.place(),
            why,
        })
    }

    /// Makes the folder of a new crawl, whole or not at all.
    pub(super) fn create(
        folder: &Path,
        raw: &v1::CrawlSpec,
        spec: &Spec,
        fence: Option<&Fence>,
        start: Option<&[u8]>,
        now: Timestamp,
    ) -> Result<(), RegistryError> {
        let model = match &spec.judged_by {
            JudgedBy::Critic(path) => {
                let model = model_at(path.as_deref())?;
                Some(judge_of(model, &focus_of(spec)?)?.0)
            }
            JudgedBy::Judge(_) => None,
        };
        let seeds = seeds_of(spec, model.as_deref(), fence)?;
        let half = beside(folder, "new");
        let made = Self::fill(&half, raw, spec, seeds, now)
            .and_then(|()| save_fence(&half, fence))
            .and_then(|()| save_start(&half, start))
            .and_then(|()| fs::rename(&half, folder).map_err(|error| io(folder, error)))
            .and_then(|()| sync(folder.parent().unwrap_or(folder)));
        if made.is_err() {
            // What stands there is no crawl; the error that matters is the first one.
            let _ = fs::remove_dir_all(&half);
        }
        made
    }

    fn fill(
        half: &Path,
        raw: &v1::CrawlSpec,
        spec: &Spec,
        seeds: Vec<CanonicalUrl>,
        now: Timestamp,
    ) -> Result<(), RegistryError> {
        if half.exists() {
            fs::remove_dir_all(half).map_err(|error| io(half, error))?;
        }
        fs::create_dir_all(half).map_err(|error| io(half, error))?;
        let model = half.join(MODEL);
        match &spec.judged_by {
            JudgedBy::Critic(Some(critic)) => {
                fs::copy(critic, &model).map_err(|error| io(&model, error))?;
                sync(&model)?;
            }
            JudgedBy::Critic(None) => CriticModel::general()?.save(&model)?,
            JudgedBy::Judge(_) => {}
        }
        let store = SledStore::open(&half.join(LOG), &StoreOptions::default())?;
        // The seeds have an event of their own; in the spec they would go out with every status.
        let spec = v1::CrawlSpec {
            seeds: Vec::new(),
            ..raw.clone()
        };
        store.append(Event::SpecChange(spec.encode_to_vec()));
        store.append(Event::State(StateEvent {
            state: CrawlState::Running,
            reason: "created".to_owned(),
            at: now,
        }));
        store.append(Event::Seeds(SeedsEvent {
            urls: seeds,
            priority: SEED_PRIORITY,
            at: now,
        }));
        store.flush()?;
        sync(half)
    }

    /// Removes the folder: first out of sight, then its data.
    pub(super) fn delete(folder: &Path) -> Result<(), RegistryError> {
        let gone = beside(folder, "deleted");
        fs::rename(folder, &gone).map_err(|error| io(folder, error))?;
        fs::remove_dir_all(&gone).map_err(|error| io(&gone, error))
    }

    /// Removes what a crash left of crawls half made or half deleted.
    pub(super) fn clean(crawls: &Path) -> Result<(), RegistryError> {
        for folder in subfolders(crawls)? {
            let name = folder.file_name().unwrap_or_default().to_string_lossy();
            if name.starts_with('.') {
                tracing::info!(folder = %folder.display(), "removing what was left half done");
                fs::remove_dir_all(&folder).map_err(|error| io(&folder, error))?;
            }
        }
        Ok(())
    }
}

/// The folders in `crawls`, sorted.
pub(super) fn subfolders(crawls: &Path) -> Result<Vec<PathBuf>, RegistryError> {
    let mut folders = Vec::new();
    for entry in fs::read_dir(crawls).map_err(|error| io(crawls, error))? {
        let path = entry.map_err(|error| io(crawls, error))?.path();
        if path.is_dir() {
            folders.push(path);
        }
    }
    folders.sort();
    Ok(folders)
}

fn spec_of(store: &dyn FrontierStore) -> Result<v1::CrawlSpec, RegistryError> {
    let no_spec = |words: String| RegistryError::Damaged(format!("the crawl's log {words}"));
    match store.event(crate::booking::Seq(1))? {
        Some(Event::SpecChange(bytes)) => v1::CrawlSpec::decode(bytes.as_slice())
            .map_err(|error| no_spec(format!("begins with a damaged spec: {error}"))),
        _ => Err(no_spec("does not begin with its spec".to_owned())),
    }
}

fn remote_judge(folder: &Path, options: &RemoteOptions) -> Result<RemoteJudge, RegistryError> {
    let file = folder.join(CLASSES);
    RemoteJudge::with_classes_in(options.clone(), &file).map_err(|error| io(&file, error))
}

fn save_fence(half: &Path, fence: Option<&Fence>) -> Result<(), RegistryError> {
    let Some(fence) = fence else {
        return Ok(());
    };
    let path = half.join(FENCE);
    fence.save(&path).map_err(|error| io(&path, error))?;
    sync(&path).and_then(|()| sync(half))
}

fn save_start(half: &Path, start: Option<&[u8]>) -> Result<(), RegistryError> {
    let Some(start) = start else {
        return Ok(());
    };
    let path = half.join(START);
    fs::write(&path, start).map_err(|error| io(&path, error))?;
    sync(&path).and_then(|()| sync(half))
}

/// Seeds of a crawl that stays within another one: they have to be inside; without any it takes the
/// other's.
fn seeds_within(spec: &Spec, fence: &Fence) -> Result<Vec<CanonicalUrl>, SpecError> {
    let mut seeds = spec.seeds.iter().enumerate();
    if let Some((at, url)) = seeds.find(|(_, url)| !fence.contains(url)) {
        let within = spec.within.as_deref().unwrap_or_default();
        return Err(SpecError {
            field: format!("seeds[{at}]"),
            problem: format!("the crawl {within:?} has not fetched {url}; leave it out"),
        });
    }
    if spec.seeds.is_empty() && spec.example_seeds == 0 {
        return Ok(fence.seeds.clone());
    }
    Ok(spec.seeds.clone())
}

fn seeds_of(
    spec: &Spec,
    model: Option<&CriticModel>,
    fence: Option<&Fence>,
) -> Result<Vec<CanonicalUrl>, RegistryError> {
    use rand::seq::SliceRandom;

    let mut seeds = match fence {
        Some(fence) => seeds_within(spec, fence)?,
        None => spec.seeds.clone(),
    };
    if let (Some(model), true) = (model, spec.example_seeds > 0) {
        let focus = focus_of(spec)?;
        let mut examples: Vec<CanonicalUrl> = model
            .examples_of(&focus)?
            .into_iter()
            .filter_map(|url| CanonicalUrl::parse(url).ok())
            .collect();
        examples.sort();
        examples.dedup();
        examples.retain(|url| fence.is_none_or(|fence| fence.contains(url)));
        examples.shuffle(&mut chance(spec.seed, "example seeds"));
        examples.truncate(spec.example_seeds);
        seeds.extend(examples);
    }
    let mut seen = std::collections::HashSet::new();
    seeds.retain(|url| seen.insert(url.clone()));
    if seeds.is_empty() {
        return Err(RegistryError::NoSeeds);
    }
    Ok(seeds)
}

fn beside(folder: &Path, suffix: &str) -> PathBuf {
    let name = folder.file_name().unwrap_or_default().to_string_lossy();
    folder.with_file_name(format!(".{name}.{suffix}"))
}

/// Removes what a kill has left of files that were being written beside what they were to replace: each would
/// stay for good, some of them tens of MB.
fn sweep_out(folder: &Path) -> Result<(), RegistryError> {
    for entry in fs::read_dir(folder).map_err(|error| io(folder, error))? {
        let entry = entry.map_err(|error| io(folder, error))?;
        let name = entry.file_name();
        let name = name.to_string_lossy();
        if name.starts_with(&format!("{LEARNED}.")) && name.ends_with(".new") {
            fs::remove_file(entry.path()).map_err(|error| io(&entry.path(), error))?;
        }
    }
    Ok(())
}

/// The size of a crawl's log, about; 0 if it cannot be looked at, which its opening will tell.
pub(super) fn log_bytes(folder: &Path) -> u64 {
    let files = fs::read_dir(folder.join(LOG)).into_iter().flatten();
    let sizes = files.map(|file| {
        file.and_then(|file| file.metadata())
            .map_or(0, |about| about.len())
    });
    sizes.sum()
}

/// Puts a file, or the names in a folder, on the disk.
fn sync(path: &Path) -> Result<(), RegistryError> {
    fs::File::open(path)
        .and_then(|file| file.sync_all())
        .map_err(|error| io(path, error))
}

fn io(path: &Path, error: std::io::Error) -> RegistryError {
    RegistryError::Io {
        path: path.to_path_buf(),
        error,
    }
}

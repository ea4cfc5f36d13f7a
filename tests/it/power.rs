//! Power cuts under a real daemon: a layer below it writes down what it writes and what of that it syncs, and of
//! each moment a disk is made on which whatever was not synced may be there or not, sector by sector.
//! What the daemon had said to be booked is booked on every such disk, and a crawl goes on from it.

#[path = "../../src/store/tests/torn.rs"]
mod torn;

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;

use apprentice::booking::{Event, Seq};
use apprentice::clock::{Chance, chance};
use apprentice::frontier::{FrontierStore, SledStore};
use apprentice::lab::toyweb::{ToyParams, ToyWeb};
use apprentice::store::StoreOptions;
use rand::RngExt;
use torn::{files, torn};

use crate::crash::assert_kept;
use crate::support::daemon::{Home, Web, create, finished, loss, status};

/// Moments at which the power is cut.
const CUTS: usize = 60;
/// Of so many one is followed by a daemon that takes the crawl to its end.
const DAEMON_EVERY: usize = 30;
/// The daemon is left when it has booked so many fetches.
const FETCHES: u64 = 200;

/// One thing that was done to the data directory.
enum Done {
    Write(PathBuf, usize, Vec<u8>),
    Cut(PathBuf, usize),
    Sync(PathBuf),
    Rename(PathBuf, PathBuf),
    Remove(PathBuf),
}

/// The records of a journal (see `power/layer.rs`), each with where it ends.
fn read_journal(mut bytes: &[u8]) -> Vec<(usize, Done)> {
    fn take<'a>(bytes: &mut &'a [u8], length: usize) -> &'a [u8] {
        let (taken, left) = bytes.split_at(length);
        *bytes = left;
        taken
    }
    fn number(bytes: &mut &[u8]) -> usize {
        let number = u64::from_le_bytes(take(bytes, 8).try_into().unwrap());
        usize::try_from(number).unwrap()
    }
    fn path(bytes: &[u8]) -> PathBuf {
        String::from_utf8(bytes.to_vec()).unwrap().into()
    }
    let whole = bytes.len();
    let mut all = Vec::new();
    while !bytes.is_empty() {
        let what = take(&mut bytes, 1)[0];
        let length = u32::from_le_bytes(take(&mut bytes, 4).try_into().unwrap());
        let name = path(take(&mut bytes, length as usize));
        let at = number(&mut bytes);
        let length = number(&mut bytes);
        let content = take(&mut bytes, length).to_vec();
        let done = match what {
            b'W' => Done::Write(name, at, content),
            b'T' => Done::Cut(name, at),
            b'S' => Done::Sync(name),
            b'R' => Done::Rename(name, path(&content)),
            b'U' => Done::Remove(name),
            other => panic!("a record of kind {other}"),
        };
        all.push((whole - bytes.len(), done));
    }
    all
}

/// A file as programs see it, and what of it would outlive a power cut for certain.
#[derive(Clone, Default)]
struct Twofold {
    seen: Vec<u8>,
    synced: Vec<u8>,
    is_synced: bool,
}

impl Twofold {
    fn change(&mut self, at: usize, bytes: &[u8]) {
        let end = at + bytes.len();
        if self.seen.len() < end {
            self.seen.resize(end, 0);
        }
        self.seen[at..end].copy_from_slice(bytes);
        self.is_synced = false;
    }

    fn sync(&mut self) {
        if !self.is_synced {
            self.synced.clone_from(&self.seen);
            self.is_synced = true;
        }
    }

    /// After a power cut: what was not synced is there or not, sector by sector.
    fn torn(&self, chance: &mut Chance) -> Vec<u8> {
        if self.is_synced {
            return self.synced.clone();
        }
        torn(&self.synced, &self.seen, chance)
    }
}

/// The data directory as the journal has it. Names are as certain as if folders were always synced.
#[derive(Default)]
struct Disk {
    files: BTreeMap<PathBuf, Twofold>,
}

impl Disk {
    fn take(&mut self, done: &Done) {
        match done {
            Done::Write(name, at, bytes) => {
                self.files
                    .entry(name.clone())
                    .or_default()
                    .change(*at, bytes);
            }
            Done::Cut(name, length) => {
                let file = self.files.entry(name.clone()).or_default();
                file.seen.resize(*length, 0);
                file.is_synced = false;
            }
            Done::Sync(name) => {
                if let Some(file) = self.files.get_mut(name) {
                    file.sync();
                }
            }
            // Of a folder, all that is in it.
            Done::Rename(from, to) => {
                let moved = self.files.extract_if(.., |name, _| name.starts_with(from));
                let moved: Vec<_> = moved.collect();
                self.files.extend(moved.into_iter().map(|(name, file)| {
                    let inner = name.strip_prefix(from).unwrap();
                    let is_it = inner.as_os_str().is_empty();
                    (if is_it { to.clone() } else { to.join(inner) }, file)
                }));
            }
            Done::Remove(name) => {
                self.files.remove(name);
            }
        }
    }

    /// Puts into `folder` what a power cut leaves.
    fn cut(&self, folder: &Path, chance: &mut Chance) {
        for (name, file) in &self.files {
            let path = folder.join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, file.torn(chance)).unwrap();
        }
    }
}

/// The layer, built in `home`.
fn layer(home: &Home) -> PathBuf {
    let built = home.path("layer.so");
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it/power/layer.rs");
    let rustc = std::env::var_os("RUSTC").unwrap_or_else(|| "rustc".into());
    let status = Command::new(rustc)
        .args([
            "--edition",
            "2024",
            "--crate-type",
            "cdylib",
            "-C",
            "panic=abort",
            "-o",
        ])
        .arg(&built)
        .arg(source)
        .status()
        .unwrap();
    assert!(status.success(), "the layer cannot be built");
    built
}

/// What a daemon said, and how long the journal was by then.
struct Promise {
    journal: usize,
    fetched: u64,
}

/// Runs a daemon above the layer until it has booked enough, and kills it.
async fn journal_of_a_crawl(toy: &ToyWeb, web: &Web, home: &Home) -> (Vec<u8>, Vec<Promise>) {
    let journal = home.path("journal");
    fs::create_dir(home.data()).unwrap();
    let mut command = home.command(&["daemon", "--archive-proxy", &web.proxy]);
    command
        .env("LD_PRELOAD", layer(home))
        .env("POWER_LAYER_FOLDER", home.data().canonicalize().unwrap())
        .env("POWER_LAYER_JOURNAL", &journal);
    let mut daemon = home.spawn_as(command);
    let mut client = daemon.client_within(&home.data()).await;
    let mut spec = home.spec("crawl", toy);
    spec.warc = true;
    // So slow that it says many times how far it is.
    let limits = spec.limits.get_or_insert_default();
    limits.delay_ms_min = Some(200);
    limits.delay_factor = Some(0);
    create(&mut client, spec).await;
    let mut promises: Vec<Promise> = Vec::new();
    loop {
        let fetched = status(&mut client, "crawl").await.fetched;
        // Before the answer came, all that it says was written down.
        let length = fs::metadata(&journal).unwrap().len();
        promises.push(Promise {
            journal: usize::try_from(length).unwrap(),
            fetched,
        });
        if fetched >= FETCHES {
            break;
        }
        tokio::time::sleep(std::time::Duration::from_millis(2)).await;
    }
    daemon.kill();
    (fs::read(&journal).unwrap(), promises)
}

/// The files that the daemon left are those that the journal has, byte for byte: nothing went past the layer.
fn assert_complete(disk: &Disk, data: &Path) {
    let left = files(data);
    for name in &left {
        let bytes = fs::read(data.join(name)).unwrap();
        let seen = disk.files.get(name).map_or(&[][..], |file| &file.seen);
        assert!(bytes == seen, "{} went past the layer", name.display());
    }
    let gone = disk.files.keys().find(|name| !left.contains(name));
    assert!(gone.is_none(), "{gone:?} was removed past the layer");
}

/// Counts the fetches that are booked, each of which has to be whole: its event, its page, its WARC records.
fn fetched(crawl: &Path) -> u64 {
    let store = SledStore::open(&crawl.join("log"), &StoreOptions::default())
        .unwrap_or_else(|error| panic!("{error}"));
    let mut pages = Vec::new();
    let mut count = 0;
    let visit = &mut |seq, event| {
        match event {
            Event::Page(page) => {
                count += 1;
                pages.push((seq, page));
            }
            Event::Failure(failure) => count += u64::from(failure.is_final),
            _ => {}
        }
        true
    };
    store.scan(Seq(1), store.durable(), visit).unwrap();
    let mut files = BTreeMap::new();
    for (seq, page) in pages {
        store.page(seq).unwrap();
        let kept = page.kept.as_ref().unwrap();
        assert_kept(kept, &page.lease.url, &mut files, &crawl.join("warc"));
    }
    count
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_power_cut_takes_what_the_daemon_has_said() {
    let toy = Arc::new(ToyWeb::generate(3, ToyParams::finite(400)));
    let web = Web::serve_toy(&toy).await;
    let home = Home::new();
    let (journal, promises) = journal_of_a_crawl(&toy, &web, &home).await;
    let records = read_journal(&journal);
    let mut whole = Disk::default();
    for (_, done) in &records {
        whole.take(done);
    }
    assert_complete(&whole, &home.data());
    let mut chance = chance(11, "power cuts");
    // From the first page on: before it there is nothing to lose.
    let first = promises.iter().find(|promise| promise.fetched > 0).unwrap();
    let from = records.partition_point(|(end, _)| *end <= first.journal);
    let mut cuts: Vec<usize> = (0..CUTS)
        .map(|_| chance.random_range(from..records.len()))
        .collect();
    cuts.sort_unstable();
    let mut disk = Disk::default();
    let (mut taken, mut unsynced) = (0, 0);
    for (number, cut) in cuts.into_iter().enumerate() {
        for (_, done) in &records[taken..cut] {
            disk.take(done);
        }
        taken = cut;
        unsynced += u32::from(disk.files.values().any(|file| !file.is_synced));
        let after = Home::new();
        disk.cut(&after.data(), &mut chance);
        let end = cut.checked_sub(1).map_or(0, |last| records[last].0);
        let said = promises.iter().rfind(|promise| promise.journal <= end);
        let said = said.map_or(0, |promise| promise.fetched);
        let found = fetched(&after.data().join("crawls/crawl"));
        assert!(
            found >= said,
            "cut {number}, before record {cut}: {found} of {said} are left"
        );
        if number % DAEMON_EVERY == 0 {
            let daemon = after.daemon_on(&web).await;
            let mut client = daemon.client().await;
            let crawl = finished(&mut client, "crawl").await;
            assert!(crawl.fetched > said);
            assert_eq!(loss(&mut client, "crawl").await.len() as u64, crawl.fetched);
            daemon.stop().await;
        }
    }
    assert!(unsynced > 0, "the power was never cut amid a step");
}

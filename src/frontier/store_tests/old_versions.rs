//! One store of each released version lies in tests/data and is opened here.
//!
//! A new version of the layout or of the records gets a folder of its own, written by
//! [`what_the_present_version_writes_is_what_lies_there`]; the older folders stay as they are.

use std::fs;
use std::path::{Path, PathBuf};

use tempfile::TempDir;

use super::{assert_holds, fill};
use crate::booking::Seq;
use crate::frontier::{FrontierStore, SledStore};
use crate::store::StoreOptions;

/// Events in each of the folders: twice every kind that `sample` makes.
const EVENTS: u64 = 10;

fn data(version: u32) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("tests/data/store_v{version}"))
}

fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let target = to.join(entry.file_name());
        if entry.file_type().unwrap().is_dir() {
            copy(&entry.path(), &target);
        } else {
            fs::copy(entry.path(), target).unwrap();
        }
    }
}

#[test]
fn version_1_is_read_and_continued() {
    let home = TempDir::new().unwrap();
    let folder = home.path().join("store");
    copy(&data(1), &folder);
    let store = SledStore::open(&folder, &StoreOptions::default()).unwrap();
    assert_holds(&store, EVENTS);
    fill(&store, EVENTS + 5);
    assert_eq!(store.flush().unwrap(), Seq(EVENTS + 5));
    drop(store);
    let store = SledStore::open(&folder, &StoreOptions::default()).unwrap();
    assert_holds(&store, EVENTS + 5);
}

/// With `APPRENTICE_WRITE_STORE_VERSION=N` it writes the store of a new version into tests/data.
#[test]
fn what_the_present_version_writes_is_what_lies_there() {
    let home = TempDir::new().unwrap();
    let asked = std::env::var("APPRENTICE_WRITE_STORE_VERSION").ok();
    let new = asked.map(|version| data(version.parse().unwrap()));
    let folder = new.unwrap_or_else(|| home.path().join("store"));
    assert!(
        !folder.exists(),
        "a released version is never written again"
    );
    let store = SledStore::open(&folder, &StoreOptions::default()).unwrap();
    fill(&store, EVENTS);
    store.flush().unwrap();
    drop(store);
    let old = home.path().join("old");
    copy(&data(1), &old);
    for folder in [folder, old] {
        let store = SledStore::open(&folder, &StoreOptions::default()).unwrap();
        assert_holds(&store, EVENTS);
    }
}

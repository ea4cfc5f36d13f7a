//! A store that is stopped, damaged, locked, full or somebody else's.

use std::fs::{self, OpenOptions};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use tempfile::TempDir;

use super::{Entry, OpenError, Store, StoreError, StoreOptions};

mod power;
mod torn;

/// Segments so small that every few payloads begin a new one.
const OPTIONS: StoreOptions = StoreOptions {
    cache_bytes: 1 << 20,
    segment_bytes_max: 2_000,
    free_bytes_min: 0,
};

fn open(folder: &Path) -> Store {
    Store::open(folder, &OPTIONS).unwrap()
}

fn record(key: u64) -> Vec<u8> {
    format!("record {key}").into_bytes()
}

/// Every third record has none.
fn payload(key: u64) -> Vec<u8> {
    match key % 3 {
        0 => Vec::new(),
        _ => key.to_le_bytes().repeat(usize::try_from(key).unwrap() * 7),
    }
}

fn commit(store: &Store, keys: std::ops::RangeInclusive<u64>) -> Result<(), StoreError> {
    let bytes: Vec<_> = keys.map(|key| (key, record(key), payload(key))).collect();
    let group: Vec<_> = bytes
        .iter()
        .map(|(key, record, payload)| Entry {
            key: *key,
            record,
            payload,
        })
        .collect();
    store.commit(&group)
}

/// The store holds exactly records 1 to `last`, each with its payload.
fn assert_holds(store: &Store, last: u64) {
    assert_eq!(store.last(), last);
    let mut seen = Vec::new();
    store
        .scan(0..=u64::MAX, &mut |key, bytes| {
            seen.push((key, bytes.to_vec()));
            true
        })
        .unwrap();
    let expected: Vec<_> = (1..=last).map(|key| (key, record(key))).collect();
    assert_eq!(seen, expected);
    for key in 1..=last {
        assert_eq!(store.record(key).unwrap(), Some(record(key)));
        assert_eq!(store.payload(key).unwrap(), Some(payload(key)), "{key}");
    }
    assert_eq!(store.record(last + 1).unwrap(), None);
    assert_eq!(store.payload(last + 1).unwrap(), None);
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

fn segments(folder: &Path) -> Vec<PathBuf> {
    let mut found: Vec<_> = fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|ext| ext == "seg"))
        .collect();
    found.sort();
    found
}

/// A log of twelve groups of two, and a copy of the folder as it stood after each.
fn stops() -> (TempDir, Vec<PathBuf>) {
    let home = TempDir::new().unwrap();
    let live = home.path().join("live");
    let store = open(&live);
    let mut stops = Vec::new();
    for n in 0..=12 {
        if n > 0 {
            commit(&store, 2 * n - 1..=2 * n).unwrap();
        }
        let stop = home.path().join(format!("stop-{n}"));
        copy(&live, &stop);
        stops.push(stop);
    }
    (home, stops)
}

#[test]
fn a_store_that_stops_after_any_write_opens_with_what_was_written() {
    let (_home, stops) = stops();
    assert!(segments(&stops[12]).len() > 3, "segments did not roll");
    for (n, stop) in (0..).zip(&stops) {
        let store = open(stop);
        assert_holds(&store, 2 * n);
        commit(&store, 2 * n + 1..=2 * n + 1).unwrap();
        drop(store);
        assert_holds(&open(stop), 2 * n + 1);
    }
}

#[test]
fn payloads_that_no_record_names_are_cut_off() {
    let (_home, stops) = stops();
    for (n, pair) in (0..).zip(stops.windows(2)) {
        // Stopped when the segments of the next write were there and its records were not.
        for segment in segments(&pair[1]) {
            fs::copy(&segment, pair[0].join(segment.file_name().unwrap())).unwrap();
        }
        let torn = segments(&pair[0]).pop().unwrap();
        let file = OpenOptions::new().write(true).open(&torn).unwrap();
        file.set_len(file.metadata().unwrap().len() + 5).unwrap();
        drop(file);

        let store = open(&pair[0]);
        assert_holds(&store, 2 * n);
        commit(&store, 2 * n + 1..=2 * n + 4).unwrap();
        assert_holds(&store, 2 * n + 4);
    }
}

#[test]
fn records_that_were_written_but_not_marked_as_flushed_are_kept() {
    let (_home, stops) = stops();
    fs::copy(stops[4].join("flushed"), stops[5].join("flushed")).unwrap();
    assert_holds(&open(&stops[5]), 10);
    fs::write(stops[6].join("flushed"), b"torn").unwrap();
    assert_holds(&open(&stops[6]), 12);
}

#[test]
fn a_database_that_lost_flushed_records_is_refused() {
    let (_home, stops) = stops();
    fs::copy(stops[6].join("flushed"), stops[5].join("flushed")).unwrap();
    let error = Store::open(&stops[5], &OPTIONS).unwrap_err().to_string();
    assert!(
        error.contains("records up to 12 were flushed, only those up to 10 are there"),
        "{error}"
    );
    // The error says what to do; so it is possible.
    fs::remove_file(stops[5].join("flushed")).unwrap();
    assert_holds(&open(&stops[5]), 10);
}

#[test]
fn a_half_written_snapshot_is_no_obstacle() {
    let (_home, stops) = stops();
    let left_over = stops[7].join("sled/snap.00000000000001F4.generating");
    fs::write(&left_over, [7; 500]).unwrap();
    assert_holds(&open(&stops[7]), 14);
    assert!(!left_over.exists());
}

#[test]
fn a_damaged_snapshot_is_set_aside_and_the_log_read_instead() {
    let (_home, stops) = stops();
    fs::write(stops[7].join("sled/snap.00000000000001F4"), [7; 500]).unwrap();
    assert_holds(&open(&stops[7]), 14);
    let aside = stops[7].join("sled/aside.snap.00000000000001F4");
    assert!(aside.exists());
    assert_holds(&open(&stops[7]), 14);
}

#[test]
fn a_first_start_that_was_killed_can_be_repeated() {
    let home = TempDir::new().unwrap();
    fs::create_dir_all(home.path().join("sled/blobs")).unwrap();
    fs::write(home.path().join("sled/conf"), b"").unwrap();
    fs::write(home.path().join("lock"), b"").unwrap();
    assert_holds(&open(home.path()), 0);
}

#[test]
fn a_segment_that_ends_too_early_is_named() {
    let (_home, stops) = stops();
    let last = segments(&stops[8]).pop().unwrap();
    let file = OpenOptions::new().write(true).open(&last).unwrap();
    file.set_len(file.metadata().unwrap().len() - 1).unwrap();
    let error = Store::open(&stops[8], &OPTIONS).unwrap_err();
    assert!(matches!(&error, OpenError::Corrupt { path, .. } if *path == last));

    let first = segments(&stops[9]).remove(0);
    fs::remove_file(&first).unwrap();
    let error = Store::open(&stops[9], &OPTIONS).unwrap_err();
    assert!(matches!(&error, OpenError::Corrupt { path, .. } if *path == first));

    // An earlier segment is found out when it is read.
    let first = segments(&stops[10]).remove(0);
    let file = OpenOptions::new().write(true).open(&first).unwrap();
    file.set_len(60).unwrap();
    let store = open(&stops[10]);
    let error = store.payload(1).unwrap_err();
    assert!(
        matches!(&error, StoreError::Corrupt { path, offset: 8, .. } if *path == first),
        "{error}"
    );
}

#[test]
fn a_damaged_payload_is_named_and_the_others_can_be_read() {
    let (_home, stops) = stops();
    let first = segments(&stops[12]).remove(0);
    let file = OpenOptions::new().write(true).open(&first).unwrap();
    // Payload 1: magic 8, header 8, then 56 bytes. Payload 2 begins at 72.
    file.write_all_at(&[0xff], 20).unwrap();
    file.write_all_at(&[0xff], 73).unwrap();
    let store = open(&stops[12]);
    for (key, at) in [(1, 8), (2, 72)] {
        let error = store.payload(key).unwrap_err();
        assert!(
            matches!(&error, StoreError::Corrupt { path, offset, .. }
                if *path == first && *offset == at),
            "{error}"
        );
        assert_eq!(store.record(key).unwrap(), Some(record(key)));
    }
    assert_eq!(store.payload(4).unwrap(), Some(payload(4)));
}

#[test]
fn payloads_without_their_database_are_not_deleted() {
    let (_home, stops) = stops();
    fs::remove_dir_all(stops[5].join("sled")).unwrap();
    let before = segments(&stops[5]);
    let error = Store::open(&stops[5], &OPTIONS).unwrap_err();
    assert!(matches!(error, OpenError::Corrupt { .. }), "{error}");
    assert_eq!(segments(&stops[5]), before);
}

#[test]
fn an_open_store_is_locked_and_a_closed_one_is_not() {
    let home = TempDir::new().unwrap();
    let store = open(home.path());
    let error = Store::open(home.path(), &OPTIONS).unwrap_err();
    assert!(matches!(error, OpenError::Locked { .. }), "{error}");
    commit(&store, 1..=3).unwrap();
    drop(store);
    assert_holds(&open(home.path()), 3);
}

#[test]
fn a_folder_with_something_else_in_it_is_not_touched() {
    let home = TempDir::new().unwrap();
    fs::write(home.path().join("thesis.tex"), b"x").unwrap();
    let error = Store::open(home.path(), &OPTIONS).unwrap_err();
    assert!(
        matches!(&error, OpenError::NotAStore { found, .. } if found == "thesis.tex"),
        "{error}"
    );
    assert_eq!(fs::read_dir(home.path()).unwrap().count(), 1);
}

#[test]
fn a_file_in_place_of_the_folder_is_named() {
    let home = TempDir::new().unwrap();
    let path = home.path().join("file");
    fs::write(&path, b"x").unwrap();
    let error = Store::open(&path, &OPTIONS).unwrap_err().to_string();
    assert!(error.contains(path.to_str().unwrap()), "{error}");
}

#[test]
fn another_sled_database_is_not_read_as_a_store() {
    let home = TempDir::new().unwrap();
    let database = sled::open(home.path().join("sled")).unwrap();
    database
        .open_tree("log")
        .unwrap()
        .insert(b"a", b"b")
        .unwrap();
    drop(database);
    let error = Store::open(home.path(), &OPTIONS).unwrap_err();
    assert!(matches!(error, OpenError::NotAStore { .. }), "{error}");
}

#[test]
fn a_newer_schema_is_refused_with_both_versions() {
    let home = TempDir::new().unwrap();
    drop(open(home.path()));
    let database = sled::open(home.path().join("sled")).unwrap();
    let meta = database.open_tree("meta").unwrap();
    meta.insert(b"schema", &2_u32.to_be_bytes()).unwrap();
    drop((meta, database));
    let error = Store::open(home.path(), &OPTIONS).unwrap_err();
    let newer = OpenError::Newer {
        folder: home.path().to_owned(),
        found: 2,
        known: 1,
    };
    assert_eq!(error.to_string(), newer.to_string());
}

#[test]
fn a_write_that_would_fill_the_disk_is_refused_and_can_be_repeated() {
    let home = TempDir::new().unwrap();
    let store = open(home.path());
    commit(&store, 1..=2).unwrap();
    store.set_free_bytes_min(u64::MAX / 2);
    let error = commit(&store, 3..=4).unwrap_err();
    assert!(
        matches!(&error, StoreError::NoSpace { folder, free, needed }
            if folder == home.path() && free < needed),
        "{error}"
    );
    assert_holds(&store, 2);
    store.set_free_bytes_min(0);
    commit(&store, 3..=4).unwrap();
    assert_holds(&store, 4);

    drop(store);
    let options = StoreOptions {
        free_bytes_min: u64::MAX,
        ..OPTIONS
    };
    let error = Store::open(home.path(), &options).unwrap_err();
    assert!(matches!(error, OpenError::NoSpace { .. }), "{error}");
}

#[test]
fn a_write_whose_segment_cannot_be_written_can_be_repeated() {
    let home = TempDir::new().unwrap();
    let store = open(home.path());
    commit(&store, 1..=1).unwrap();
    // A folder where the next segment should go.
    let blocked = super::place::path_of(home.path(), 2);
    fs::create_dir(&blocked).unwrap();
    let error = commit(&store, 2..=20).unwrap_err();
    assert!(
        matches!(&error, StoreError::Io { path, .. } if *path == blocked),
        "{error}"
    );
    assert_holds(&store, 1);
    fs::remove_dir(&blocked).unwrap();
    commit(&store, 2..=20).unwrap();
    assert_holds(&store, 20);
    drop(store);
    assert_holds(&open(home.path()), 20);
}

#[test]
fn keys_rise_by_one() {
    let home = TempDir::new().unwrap();
    let store = open(home.path());
    commit(&store, 1..=2).unwrap();
    let error = commit(&store, 2..=3).unwrap_err();
    assert!(matches!(error, StoreError::Order { key: 2, last: 2 }));
    let error = commit(&store, 4..=5).unwrap_err();
    assert!(matches!(error, StoreError::Order { key: 4, last: 2 }));
    assert_holds(&store, 2);
}

#[test]
fn what_the_system_forbids_is_told_apart() {
    use std::io::{Error, ErrorKind};
    for kind in [ErrorKind::PermissionDenied, ErrorKind::ReadOnlyFilesystem] {
        let error = OpenError::from_io(Path::new("d"), Error::from(kind));
        assert!(matches!(error, OpenError::ReadOnly { .. }));
    }
    let error = OpenError::from_io(Path::new("d"), Error::from(ErrorKind::NotADirectory));
    assert!(matches!(error, OpenError::Io { .. }));
}

/// sled alone would open most of these as a shorter log, or panic.
#[test]
fn a_damaged_database_is_an_error_and_neither_a_panic_nor_a_shorter_log() {
    const LAST: u64 = 2_000;
    let home = TempDir::new().unwrap();
    let whole = home.path().join("whole");
    let store = open(&whole);
    for first in (1..=LAST).step_by(100) {
        let group: Vec<_> = (first..first + 100)
            .map(|key| Entry {
                key,
                record: &[9; 900],
                payload: &[],
            })
            .collect();
        store.commit(&group).unwrap();
    }
    drop(store);

    let intact = fs::read(whole.join("sled/db")).unwrap();
    for n in 0..24 {
        let damaged = home.path().join(format!("damaged-{n}"));
        copy(&whole, &damaged);
        let at = intact.len() / 24 * n + 3;
        let mut bytes = intact.clone();
        if n % 2 == 0 {
            bytes[at] ^= 0x55;
        } else {
            bytes.truncate(at);
        }
        fs::write(damaged.join("sled/db"), bytes).unwrap();
        match Store::open(&damaged, &OPTIONS) {
            Err(error) => assert!(matches!(error, OpenError::Corrupt { .. }), "{n}: {error}"),
            // What is damaged is a copy that sled no longer needs, or it is found when read.
            Ok(store) => {
                assert_eq!(store.last(), LAST, "{n}");
                for key in 1..=LAST {
                    if let Ok(found) = store.record(key) {
                        assert_eq!(found, Some(vec![9; 900]), "{n}: {key}");
                    }
                }
            }
        }
    }
}

#[test]
fn a_gap_in_the_numbers_is_damage() {
    let (_home, stops) = stops();
    let database = sled::open(stops[5].join("sled")).unwrap();
    let log = database.open_tree("log").unwrap();
    log.remove(4_u64.to_be_bytes()).unwrap();
    drop((log, database));
    let store = open(&stops[5]);
    let words = "record 4 in";
    let error = store.record(4).unwrap_err().to_string();
    assert!(error.starts_with(words), "{error}");
    let error = store.payload(4).unwrap_err().to_string();
    assert!(error.starts_with(words), "{error}");
    let mut seen = Vec::new();
    let scan = store.scan(2..=9, &mut |key, _| {
        seen.push(key);
        true
    });
    assert!(scan.unwrap_err().to_string().starts_with(words));
    assert_eq!(seen, [2, 3]);
}

#[test]
fn after_a_failed_write_to_the_database_only_a_new_start_helps() {
    let home = TempDir::new().unwrap();
    let mut store = open(home.path());
    commit(&store, 1..=2).unwrap();
    // A pipe cannot be synced: the last step of writing to the database fails.
    let (_reader, writer) = std::io::pipe().unwrap();
    let pipe = fs::File::from(std::os::fd::OwnedFd::from(writer));
    let data = std::mem::replace(&mut store.data, pipe);
    let error = commit(&store, 3..=4).unwrap_err();
    assert!(matches!(error, StoreError::Database { .. }), "{error}");
    store.data = data;
    let error = commit(&store, 3..=4).unwrap_err().to_string();
    assert!(error.contains("an earlier write to it failed"), "{error}");
    assert_holds(&store, 2);
    drop(store);
    // What sled had taken is a prefix of what was tried.
    let store = open(home.path());
    assert_holds(&store, store.last());
    assert!((2..=4).contains(&store.last()));
}

//! Tests that need a process of their own: one that is killed, one whose memory is measured.
//!
//! The child is this test binary again, told to run the same test alone, which [`ORDER`] makes a writer.

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use rand::RngExt;
use tempfile::TempDir;

use super::{Entry, Store, StoreOptions};
use crate::clock::chance;

/// Holds what the child is to do: a count of records a group, then the folder.
const ORDER: &str = "APPRENTICE_STORE_TEST_CHILD";

const OPTIONS: StoreOptions = StoreOptions {
    cache_bytes: 4 << 20,
    segment_bytes_max: 500_000,
    free_bytes_min: 0,
};

fn record(key: u64) -> Vec<u8> {
    key.to_le_bytes().repeat(120)
}

fn payload(key: u64) -> Vec<u8> {
    vec![u8::try_from(key % 251).unwrap(); usize::try_from(key % 7).unwrap() * 300]
}

/// In a process of its own: writes groups without end and says how far it is and how much memory it has
/// needed.
fn write_without_end(order: &str) {
    let (group, folder) = order.split_once(' ').unwrap();
    let group: u64 = group.parse().unwrap();
    let store = Store::open(Path::new(folder), &OPTIONS).unwrap();
    loop {
        let first = store.last() + 1;
        let bytes: Vec<_> = (first..first + group)
            .map(|key| (key, record(key), payload(key)))
            .collect();
        let entries: Vec<_> = bytes
            .iter()
            .map(|(key, record, payload)| Entry {
                key: *key,
                record,
                payload,
            })
            .collect();
        store.commit(&entries).unwrap();
        println!("\nflushed {} peak_kb {}", store.last(), peak_kb());
    }
}

fn peak_kb() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find(|line| line.starts_with("VmHWM"));
    let kb = line.unwrap().split_whitespace().nth(1).unwrap();
    kb.parse().unwrap()
}

/// Starts the child of this test; the reports that it makes.
fn start(test: &str, group: u64, folder: &Path) -> (Child, impl Iterator<Item = (u64, u64)>) {
    let mut child = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", &format!("store::process_tests::{test}")])
        .args(["--nocapture", "--test-threads=1"])
        .env(ORDER, format!("{group} {}", folder.display()))
        .stdout(Stdio::piped())
        .stderr(Stdio::inherit())
        .spawn()
        .unwrap();
    let lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let reports = lines.map_while(Result::ok).filter_map(|line| {
        let mut words = line.split(' ');
        let flushed = (words.next() == Some("flushed")).then(|| words.next())??;
        let peak = words.nth(1)?;
        Some((flushed.parse().ok()?, peak.parse().ok()?))
    });
    (child, reports)
}

#[test]
#[allow(
    clippy::disallowed_methods,
    reason = "only chooses the instant of the kill; every instant must do"
)]
fn a_killed_writer_leaves_a_prefix_with_all_that_was_flushed() {
    if let Ok(order) = std::env::var(ORDER) {
        return write_without_end(&order);
    }
    let home = TempDir::new().unwrap();
    let folder = home.path().join("store");
    let mut random = chance(9, "kills");
    let mut before = 0;
    for round in 0..20 {
        let (mut child, mut reports) = start(
            "a_killed_writer_leaves_a_prefix_with_all_that_was_flushed",
            40,
            &folder,
        );
        let groups = random.random_range(1..12);
        let (flushed, _) = reports.nth(groups).unwrap();
        std::thread::sleep(Duration::from_micros(random.random_range(0..20_000)));
        child.kill().unwrap();
        // It may have come further before it died.
        let flushed = reports
            .map(|(flushed, _)| flushed)
            .last()
            .unwrap_or(flushed);
        child.wait().unwrap();

        let store = Store::open(&folder, &OPTIONS).unwrap();
        let last = store.last();
        assert!(last >= flushed && flushed > before, "round {round}: {last}");
        let mut next = 1;
        store
            .scan(0..=u64::MAX, &mut |key, bytes| {
                assert_eq!((key, bytes), (next, record(next).as_slice()));
                next += 1;
                true
            })
            .unwrap();
        assert_eq!(next, last + 1);
        for key in before + 1..=last {
            assert_eq!(store.payload(key).unwrap(), Some(payload(key)));
        }
        before = last;
    }
}

/// 60,000 records are 58 MB and their payloads 54 MB, the cache may have 4 MB. Measured: 38 MB after
/// the first thousand records, 58 MB at the end, where it had stood still for long.
#[test]
fn memory_does_not_grow_with_the_log() {
    if let Ok(order) = std::env::var(ORDER) {
        return write_without_end(&order);
    }
    let home = TempDir::new().unwrap();
    let (mut child, reports) = start("memory_does_not_grow_with_the_log", 1_000, home.path());
    let peaks: Vec<u64> = reports.map(|(_, peak_kb)| peak_kb).take(60).collect();
    child.kill().unwrap();
    child.wait().unwrap();
    println!("peaks of memory in kB: {peaks:?}");
    assert_eq!(peaks.len(), 60);
    assert!(peaks[59] < 80_000, "{peaks:?}");
}

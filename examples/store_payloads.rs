//! Where should payloads lie: in sled, or in segment files beside it? (docs/decisions/0002)
//!
//! `cargo run --release --example store_payloads -- [PAYLOADS] [BYTES] [GROUP] [CACHE_MB]` writes
//! PAYLOADS payloads of about BYTES of text, each with a record of 1,000 bytes, in flushed groups of
//! GROUP, once into sled alone and once through `apprentice::store`, each plain and deflated; then
//! closes, opens again and reads 10,000 at random. Every way runs in a process of its own, so that
//! peak memory is its own.

#![allow(
    clippy::disallowed_methods,
    clippy::print_stdout,
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a measuring program: takes the machine's time and prints; its numbers are small"
)]

use std::io::Write;
use std::path::Path;
use std::process::Command;
use std::time::Instant;

use anyhow::{Context, Result, ensure};
use apprentice::clock::chance;
use apprentice::store::{Entry, Store, StoreOptions};
use rand::RngExt;

const WAYS: [&str; 4] = ["sled", "sled-deflate", "segments", "segments-deflate"];
const READS: u64 = 10_000;

struct Load {
    payloads: u64,
    bytes: usize,
    group: u64,
    cache_bytes: u64,
}

fn main() -> Result<()> {
    let mut arguments: Vec<String> = std::env::args().skip(1).collect();
    let way = match arguments.first().map(|first| first.strip_prefix("way=")) {
        Some(Some(way)) => Some(way.to_owned()),
        _ => None,
    };
    if way.is_some() {
        arguments.remove(0);
    }
    let number = |at: usize, default: u64| -> Result<u64> {
        arguments
            .get(at)
            .map_or(Ok(default), |text| Ok(text.parse()?))
    };
    let load = Load {
        payloads: number(0, 50_000)?,
        bytes: number(1, 6_000)? as usize,
        group: number(2, 1_000)?,
        cache_bytes: number(3, 16)? << 20,
    };
    if let Some(way) = way {
        return measure(&way, &load);
    }
    println!(
        "{} payloads of {} bytes, groups of {}, cache {} MB",
        load.payloads,
        load.bytes,
        load.group,
        load.cache_bytes >> 20
    );
    println!("way               pages/s  disk/payload  disk MB  peak MB  reopen s  read us");
    for way in WAYS {
        let status = Command::new(std::env::current_exe()?)
            .arg(format!("way={way}"))
            .args(&arguments)
            .status()?;
        ensure!(status.success(), "{way} failed");
    }
    Ok(())
}

fn measure(way: &str, load: &Load) -> Result<()> {
    let folder = tempfile::tempdir_in(".")?;
    let texts = texts(load.bytes);
    let deflate = way.ends_with("deflate");
    let mut log = Log::open(way, folder.path(), load)?;
    let started = Instant::now();
    let mut key = 0;
    while key < load.payloads {
        let group: Vec<(u64, Vec<u8>)> = (key + 1..=(key + load.group).min(load.payloads))
            .map(|key| Ok((key, packed(&texts, key, deflate)?)))
            .collect::<Result<_>>()?;
        log.write(&group)?;
        key += group.len() as u64;
    }
    let pages_per_s = load.payloads as f64 / started.elapsed().as_secs_f64();
    drop(log);

    let started = Instant::now();
    let log = Log::open(way, folder.path(), load)?;
    let reopen_s = started.elapsed().as_secs_f64();
    let mut random = chance(1, "store_payloads");
    let started = Instant::now();
    for _ in 0..READS {
        let key = random.random_range(1..=load.payloads);
        let bytes = log.read(key)?;
        ensure!(
            !deflate || !inflated(&bytes)?.is_empty(),
            "empty payload {key}"
        );
    }
    let read_us = started.elapsed().as_secs_f64() * 1e6 / READS as f64;
    drop(log);
    drop(Log::open(way, folder.path(), load)?);
    let disk = bytes_under(folder.path())? as f64;
    println!(
        "{way:16} {pages_per_s:8.0} {:13.2} {:8.0} {:8.0} {reopen_s:9.2} {read_us:8.1}",
        disk / (load.payloads as f64 * load.bytes as f64),
        disk / 1e6,
        peak_mb()?,
    );
    Ok(())
}

enum Log {
    Sled(sled::Db, sled::Tree),
    Segments(Box<Store>),
}

impl Log {
    fn open(way: &str, folder: &Path, load: &Load) -> Result<Self> {
        if way.starts_with("sled") {
            let database = sled::Config::new()
                .path(folder)
                .cache_capacity(load.cache_bytes)
                .mode(sled::Mode::HighThroughput)
                .flush_every_ms(None)
                .open()?;
            let tree = database.open_tree("log")?;
            return Ok(Self::Sled(database, tree));
        }
        let options = StoreOptions {
            cache_bytes: load.cache_bytes,
            ..StoreOptions::default()
        };
        Ok(Self::Segments(Box::new(Store::open(folder, &options)?)))
    }

    fn write(&mut self, group: &[(u64, Vec<u8>)]) -> Result<()> {
        let records: Vec<Vec<u8>> = group.iter().map(|(key, _)| record(*key)).collect();
        match self {
            Self::Sled(database, tree) => {
                tree.transaction(|tree| {
                    for ((key, payload), record) in group.iter().zip(&records) {
                        let value = [record.as_slice(), payload].concat();
                        tree.insert(&key.to_be_bytes(), value)?;
                    }
                    Ok::<_, sled::transaction::ConflictableTransactionError<()>>(())
                })
                .map_err(|error| anyhow::anyhow!("{error:?}"))?;
                database.flush()?;
            }
            Self::Segments(store) => {
                let entries: Vec<Entry<'_>> = group
                    .iter()
                    .zip(&records)
                    .map(|((key, payload), record)| Entry {
                        key: *key,
                        record,
                        payload,
                    })
                    .collect();
                store.commit(&entries)?;
            }
        }
        Ok(())
    }

    fn read(&self, key: u64) -> Result<Vec<u8>> {
        match self {
            Self::Sled(_, tree) => {
                let value = tree.get(key.to_be_bytes())?.context("lost")?;
                Ok(value.get(1_000..).context("short")?.to_vec())
            }
            Self::Segments(store) => Ok(store.payload(key)?.context("lost")?),
        }
    }
}

/// 1,000 bytes that do not compress: fingerprints and priorities do not either.
fn record(key: u64) -> Vec<u8> {
    let mut bytes = vec![0; 1_000];
    chance(key, "record").fill(&mut bytes[..]);
    bytes
}

/// 200 texts of words whose frequencies fall as 1/rank, as in any language.
fn texts(bytes: usize) -> Vec<Vec<u8>> {
    let mut random = chance(7, "texts");
    let words: Vec<String> = (0..20_000)
        .map(|_| {
            let letters = random.random_range(2..10);
            (0..letters)
                .map(|_| char::from(random.random_range(b'a'..=b'z')))
                .collect()
        })
        .collect();
    (0..200)
        .map(|_| {
            let mut text = Vec::with_capacity(bytes + 10);
            while text.len() < bytes {
                let rank = (words.len() as f64).powf(random.random::<f64>()) as usize - 1;
                text.extend(words[rank].as_bytes());
                text.push(b' ');
            }
            text.truncate(bytes);
            text
        })
        .collect()
}

fn packed(texts: &[Vec<u8>], key: u64, deflate: bool) -> Result<Vec<u8>> {
    let text = &texts[(key % texts.len() as u64) as usize];
    if !deflate {
        return Ok(text.clone());
    }
    let mut encoder = flate2::write::DeflateEncoder::new(Vec::new(), flate2::Compression::fast());
    encoder.write_all(text)?;
    Ok(encoder.finish()?)
}

fn inflated(bytes: &[u8]) -> Result<Vec<u8>> {
    let mut text = Vec::new();
    flate2::write::DeflateDecoder::new(&mut text).write_all(bytes)?;
    Ok(text)
}

fn bytes_under(folder: &Path) -> Result<u64> {
    let mut sum = 0;
    for entry in std::fs::read_dir(folder)? {
        let entry = entry?;
        let meta = entry.metadata()?;
        sum += if meta.is_dir() {
            bytes_under(&entry.path())?
        } else {
            meta.len()
        };
    }
    Ok(sum)
}

/// The process's own peak of resident memory, MB.
fn peak_mb() -> Result<f64> {
    let status = std::fs::read_to_string("/proc/self/status")?;
    let line = status
        .lines()
        .find(|line| line.starts_with("VmHWM"))
        .context("no VmHWM")?;
    let kb = line.split_whitespace().nth(1).context("no number")?;
    Ok(kb.parse::<f64>()? / 1024.0)
}

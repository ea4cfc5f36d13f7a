//! Runs the function of a fuzz target on mutated files for a while, and says how often and how it went.
//! Less clever than libFuzzer (it does not look at coverage), but it needs nothing that cargo has not.
//!
//! `cargo run --example mutate -- robots 600 FOLDER`, where FOLDER holds real inputs. What makes it panic
//! is kept as `FOLDER/../TARGET.panic-N`.

use std::io::{self, Write as _};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::{Duration, Instant};
use std::{env, fs};

use apprentice::clock::{Chance, chance};
use rand::RngExt as _;

#[path = "../fuzz/src/lib.rs"]
#[allow(unreachable_pub, reason = "it is a crate of its own for libFuzzer")]
mod targets;

/// More findings than anybody looks at.
const FINDINGS_MAX: usize = 20;
/// An input is cut there, so that there are many runs.
const BYTES_MAX: usize = 256 << 10;

/// What a fuzz target does with an input.
type Target = fn(&[u8]);

const TARGETS: [(&str, Target); 7] = [
    ("robots", targets::robots),
    ("url", |bytes| targets::url(&String::from_utf8_lossy(bytes))),
    ("sitemap", targets::sitemap),
    ("charset", targets::charset),
    ("page", targets::page),
    ("warc", targets::warc),
    ("warc_file", targets::warc_file),
];

fn main() -> io::Result<ExitCode> {
    let arguments: Vec<String> = env::args().skip(1).collect();
    let [name, seconds, folder] = arguments.as_slice() else {
        return usage();
    };
    let target = TARGETS.iter().find(|(known, _)| known == name);
    let (Some((_, target)), Ok(seconds)) = (target, seconds.parse()) else {
        return usage();
    };
    let folder = Path::new(folder);
    let inputs = inputs(folder)?;
    if inputs.is_empty() {
        writeln!(io::stderr(), "{}: no file in it", folder.display())?;
        return Ok(ExitCode::FAILURE);
    }
    let found = run(name, *target, &inputs, Duration::from_secs(seconds), folder)?;
    Ok(if found == 0 {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    })
}

fn usage() -> io::Result<ExitCode> {
    let names = TARGETS.map(|(name, _)| name).join("|");
    writeln!(io::stderr(), "usage: mutate {names} SECONDS FOLDER")?;
    Ok(ExitCode::from(2))
}

fn inputs(folder: &Path) -> io::Result<Vec<Vec<u8>>> {
    let mut paths: Vec<PathBuf> = fs::read_dir(folder)?
        .map(|entry| Ok(entry?.path()))
        .collect::<io::Result<_>>()?;
    paths.sort();
    let mut inputs = Vec::new();
    for path in paths.iter().filter(|path| path.is_file()) {
        let mut bytes = fs::read(path)?;
        bytes.truncate(BYTES_MAX);
        inputs.push(bytes);
    }
    Ok(inputs)
}

/// Gives how many inputs made it panic.
#[allow(
    clippy::disallowed_methods,
    reason = "how long it runs is the clock's on the wall"
)]
fn run(
    name: &str,
    target: Target,
    inputs: &[Vec<u8>],
    time: Duration,
    folder: &Path,
) -> io::Result<usize> {
    let mut chance = chance(1, name);
    let (start, mut runs, mut bytes, mut findings) = (Instant::now(), 0_u64, 0_u64, 0);
    let mut slowest = (Duration::ZERO, 0);
    while start.elapsed() < time && findings < FINDINGS_MAX {
        let input = mutated(inputs, &mut chance);
        let began = Instant::now();
        let ended = catch_unwind(AssertUnwindSafe(|| target(&input)));
        slowest = slowest.max((began.elapsed(), input.len()));
        runs += 1;
        bytes += input.len() as u64;
        if ended.is_err() {
            let path = folder.with_file_name(format!("{name}.panic-{findings}"));
            fs::write(&path, &input)?;
            writeln!(io::stderr(), "kept as {}", path.display())?;
            findings += 1;
        }
    }
    writeln!(
        io::stdout(),
        "{name}: {runs} runs on {} MiB from {} inputs in {} s, {findings} panics; slowest {:?} ({} bytes)",
        bytes >> 20,
        inputs.len(),
        start.elapsed().as_secs(),
        slowest.0,
        slowest.1
    )?;
    Ok(findings)
}

/// One of the inputs with up to sixteen changes.
fn mutated(inputs: &[Vec<u8>], chance: &mut Chance) -> Vec<u8> {
    let mut input = inputs[chance.random_range(0..inputs.len())].clone();
    for _ in 0..1 << chance.random_range(0..5) {
        change(&mut input, inputs, chance);
    }
    input.truncate(BYTES_MAX);
    input
}

fn change(input: &mut Vec<u8>, inputs: &[Vec<u8>], chance: &mut Chance) {
    const ODD: [u8; 12] = [
        0, 1, b'\t', b'\n', b'\r', b' ', b'%', b'<', 0x7f, 0x80, 0xc0, 0xff,
    ];
    let at = chance.random_range(0..=input.len());
    let length = (1_usize << chance.random_range(0..12)).min(input.len() - at);
    match chance.random_range(0..8) {
        0 if at < input.len() => input[at] ^= 1 << chance.random_range(0..8),
        1 if at < input.len() => input[at] = ODD[chance.random_range(0..ODD.len())],
        2 => input.insert(at, ODD[chance.random_range(0..ODD.len())]),
        3 => drop(input.drain(at..at + length)),
        4 => {
            let part = input[at..at + length].to_vec();
            let times = chance.random_range(1..20);
            input.splice(at..at, part.repeat(times));
        }
        5 => {
            let part = input[at..at + length].to_vec();
            let to = chance.random_range(0..=input.len());
            input.splice(to..to, part);
        }
        6 => {
            let other = &inputs[chance.random_range(0..inputs.len())];
            let from = chance.random_range(0..=other.len());
            let until = other.len().min(from + length.max(16));
            input.splice(at..at + length, other[from..until].iter().copied());
        }
        _ => input.truncate(at.max(1)),
    }
}

//! How fast are WARC files read?
//!
//! The records are made here, or come from a WARC file: `APPRENTICE_BENCH_ARCHIVE=FILE.warc.gz cargo
//! bench --bench archive`. Criterion prints MB/s of unzipped records, on one core.

use std::fmt::Write as _;
use std::fs::File;
use std::hint::black_box;
use std::io::{self, BufReader};
use std::path::{Path, PathBuf};

use apprentice::archive::{Archive, Indexes, StoredAnswer, WarcWriter};
use apprentice::clock::Timestamp;
use apprentice::url::CanonicalUrl;
use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use flate2::bufread::MultiGzDecoder;

/// Pages that are made; at some 12 kB each.
const PAGES: usize = 3_000;

/// A gzipped WARC file of pages with words that repeat about as often as in real ones.
fn made(path: &Path) {
    let mut writer = WarcWriter::create(path, "bench", Timestamp(0)).expect("a temporary file");
    let headers = [("Content-Type".to_owned(), "text/html".to_owned())];
    let mut state = 1_u64;
    for page in 0..PAGES {
        let mut body = String::from("<html><body>");
        while body.len() < 12_000 {
            // Knuth's MMIX generator.
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            let word = state >> 52;
            match word {
                0..512 => body += "</p>\n<p class=\"text\">",
                512..800 => body += "<a href=\"/topics/index.html\">more</a> ",
                _ => {
                    write!(body, "{:x} ", word * 2_654_435_761 % 1_000_003)
                        .expect("a String takes all");
                }
            }
        }
        let url = CanonicalUrl::parse(&format!("http://h{}.test/{page}", page % 50));
        writer
            .write_answer(&StoredAnswer {
                url: &url.expect("a URL"),
                fetched: Timestamp(0),
                status: 200,
                headers: &headers,
                body: body.as_bytes(),
            })
            .expect("it is written");
    }
}

/// Unzips a file and returns how many bytes there were.
fn unzip(from: &Path, to: &mut impl io::Write) -> u64 {
    let input = BufReader::with_capacity(128 << 10, File::open(from).expect("it opens"));
    io::copy(&mut MultiGzDecoder::new(input), to).expect("it unzips")
}

fn archive(criterion: &mut Criterion) {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let zipped = if let Ok(path) = std::env::var("APPRENTICE_BENCH_ARCHIVE") {
        PathBuf::from(path)
    } else {
        let path = folder.path().join("made.warc.gz");
        made(&path);
        path
    };
    let plain = folder.path().join("plain.warc");
    let bytes = unzip(
        &zipped,
        &mut File::create(&plain).expect("a temporary file"),
    );

    let mut group = criterion.benchmark_group("archive");
    group.sample_size(10);
    group.throughput(Throughput::Bytes(bytes));
    for (kind, path) in [("gz", &zipped), ("plain", &plain)] {
        group.bench_function(format!("open-{kind}"), |bencher| {
            bencher.iter(|| Archive::open(&[path]).expect("it opens").len());
        });
        let indexes = Indexes::within(folder.path().to_path_buf());
        let archive = Archive::open_indexed(&[path], &indexes).expect("it opens");
        group.bench_function(format!("open-indexed-{kind}"), |bencher| {
            bencher.iter(|| {
                let archive = Archive::open_indexed(&[path], &indexes);
                archive.expect("it opens").len()
            });
        });
        let urls: Vec<CanonicalUrl> = archive.urls().collect();
        group.bench_function(format!("get-all-{kind}"), |bencher| {
            bencher.iter(|| {
                for url in &urls {
                    black_box(archive.get(url).expect("it is read"));
                }
            });
        });
    }
    // What unzipping alone costs: the bound for a zipped file.
    group.bench_function("unzip", |bencher| {
        bencher.iter(|| unzip(&zipped, &mut io::sink()));
    });
    group.finish();
}

criterion_group!(benches, archive);
criterion_main!(benches);

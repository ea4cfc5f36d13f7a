//! How fast are pages read, and their evidence written and read?
//!
//! The pages are made here, or come from a WARC file: `APPRENTICE_BENCH_ARCHIVE=FILE.warc.gz cargo
//! bench --bench page`. Criterion prints MB/s of HTML for `parse`, pages/s for the others. With
//! `APPRENTICE_BENCH_ROUNDS=12` it only compares reading with html5ever, by turns: for a busy machine.

#[path = "page/nothing.rs"]
mod nothing;
#[path = "page/paired.rs"]
mod paired;

use std::fmt::Write as _;
use std::hint::black_box;
use std::io::{self, Write as _};
use std::time::Duration;

use apprentice::booking::evidence;
use apprentice::page::{DocumentKind, Page, PageLimits, PageSource};
use apprentice::text::for_each_word;
use apprentice::url::CanonicalUrl;
use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use encoding_rs::Encoding;
use html5ever::tendril::TendrilSink;
use html5ever::{ParseOpts, parse_document};
use nothing::Nothing;
use warc::{WarcHeader, WarcReader};

/// That of the program.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// Pages taken from an archive, so that a run ends within a minute.
const PAGES_MAX: usize = 1_000;

struct Sample {
    url: CanonicalUrl,
    content_type: Option<String>,
    body: Vec<u8>,
    /// What the page is found to be written in.
    encoding: &'static Encoding,
}

impl Sample {
    fn new(url: CanonicalUrl, content_type: Option<String>, body: Vec<u8>) -> Self {
        let encoding = encoding_rs::UTF_8;
        let mut sample = Self {
            url,
            content_type,
            body,
            encoding,
        };
        let name = sample.parse().charset;
        sample.encoding = Encoding::for_label(name.as_bytes()).unwrap_or(encoding);
        sample
    }

    /// What html5ever itself costs: its tokenizer and tree builder into a sink that keeps nothing,
    /// from the same bytes, with the character set told.
    fn build(&self) {
        let (text, _) = self.encoding.decode_with_bom_removal(&self.body);
        black_box(parse_document(Nothing::default(), ParseOpts::default()).one(&*text));
    }

    fn parse(&self) -> Page {
        let source = PageSource {
            url: &self.url,
            content_type: self.content_type.as_deref(),
            body: &self.body,
        };
        Page::parse(&source, DocumentKind::Html, &PageLimits::default())
    }
}

/// A hundred pages of some 20 kB: a menu, a script, paragraphs with links, a table.
fn made() -> Vec<Sample> {
    (0..100).map(made_page).collect()
}

fn made_page(page: usize) -> Sample {
    let word = |n: usize| {
        let mut rest = (n * 7_919 + page * 104_729) % 5_003 + 30;
        let mut word = String::new();
        while rest > 0 {
            word.push(char::from(b"aeioukstrnlmdp"[rest % 14]));
            rest /= 14;
        }
        word
    };
    let sentence = |from: usize, words: usize| {
        let words: Vec<_> = (from..from + words).map(word).collect();
        words.join(" ")
    };
    let mut html = format!(
        "<!DOCTYPE html><html lang=en><head><meta charset=utf-8><title>{}</title>\
         <script>var x = '{}';</script></head><body class=\"home page\"><ul id=\"menu\">\n",
        sentence(0, 6),
        "if (a < b && c > d) { f(\"<p>\"); }\n".repeat(60),
    );
    for n in 0..20 {
        let text = sentence(n, 2);
        writeln!(
            html,
            "  <li class=\"item\"><a href=\"/section/{n}/index.html\">{text}</a></li>"
        )
        .expect("a String takes all");
    }
    html += "</ul>\n<div class=\"content\" style=\"margin: 0 auto; width: 60em\">";
    for n in 0..40 {
        let (before, anchor, after) = (sentence(n * 50, 30), sentence(n, 3), sentence(n * 9, 20));
        write!(
            html,
            "<p>{before} <a href=\"http://host{n}.test/~{anchor}?q={n}&amp;r=1\" title=\"{anchor}\">\
             <b>{anchor}</b></a>, {after}.<br>\n<img src=\"i{n}.gif\" alt=\"{anchor}\" width=10></p>"
        )
        .expect("a String takes all");
    }
    html += "</div><table border=0>";
    for n in 0..60 {
        let text = sentence(n * 3, 4);
        writeln!(html, "<tr><td>{n}<td align=right>&nbsp;<td>{text}</tr>")
            .expect("a String takes all");
    }
    html += "</table></body></html>";
    let url = CanonicalUrl::parse(&format!("http://h.test/made/{page}")).expect("a URL");
    let content_type = Some("text/html; charset=utf-8".to_owned());
    Sample::new(url, content_type, html.into_bytes())
}

/// The first HTML pages of an archive.
fn archived(path: &str) -> Vec<Sample> {
    let reader = WarcReader::from_path_gzip(path).expect("APPRENTICE_BENCH_ARCHIVE opens");
    let mut samples = Vec::new();
    for record in reader.iter_records() {
        let record = record.expect("APPRENTICE_BENCH_ARCHIVE is a WARC file");
        let url = record.header(WarcHeader::TargetURI);
        let url = url.and_then(|url| CanonicalUrl::parse(&url).ok());
        let block = record.body();
        let head_bytes = block.windows(4).position(|part| part == b"\r\n\r\n");
        let (Some(url), Some(head_bytes)) = (url, head_bytes) else {
            continue;
        };
        let head = String::from_utf8_lossy(&block[..head_bytes]).into_owned();
        let content_type = head.lines().find_map(|line| {
            let (name, value) = line.split_once(':')?;
            let is_type = name.eq_ignore_ascii_case("content-type");
            is_type.then(|| value.trim().to_owned())
        });
        let body = block[head_bytes + 4..].to_vec();
        if DocumentKind::of(content_type.as_deref(), &body) == Some(DocumentKind::Html) {
            samples.push(Sample::new(url, content_type, body));
        }
        if samples.len() == PAGES_MAX {
            break;
        }
    }
    samples
}

/// Prints how reading compares with html5ever.
fn compare(samples: &[Sample], rounds: usize) {
    let parse = |sample: &Sample| {
        black_box(sample.parse());
    };
    let [ours, theirs] = paired::best_of(rounds, samples, [&parse, &Sample::build]);
    let bytes: usize = samples.iter().map(|sample| sample.body.len()).sum();
    let rate = |time: Duration| bytes as f64 / time.as_secs_f64() / f64::from(1 << 20);
    writeln!(
        io::stdout(),
        "{} pages: parse {:.1} MiB/s, html5ever {:.1} MiB/s, ratio {:.3}",
        samples.len(),
        rate(ours),
        rate(theirs),
        rate(ours) / rate(theirs)
    )
    .expect("the terminal takes it");
}

fn pages(criterion: &mut Criterion) {
    let samples = match std::env::var("APPRENTICE_BENCH_ARCHIVE") {
        Ok(path) => archived(&path),
        Err(_) => made(),
    };
    let rounds = std::env::var("APPRENTICE_BENCH_ROUNDS");
    if let Some(rounds) = rounds.ok().and_then(|rounds| rounds.parse().ok()) {
        compare(&samples, rounds);
        return;
    }
    let pages: Vec<Page> = samples.iter().map(Sample::parse).collect();
    let evidences: Vec<Vec<u8>> = pages.iter().map(evidence::encode).collect();
    let html_bytes: usize = samples.iter().map(|sample| sample.body.len()).sum();

    let mut group = criterion.benchmark_group("page");
    group.sample_size(10);
    group.throughput(Throughput::Bytes(html_bytes as u64));
    group.bench_function("parse", |bencher| {
        bencher.iter(|| {
            samples
                .iter()
                .map(|sample| sample.parse().words.len())
                .sum::<usize>()
        });
    });
    group.bench_function("html5ever", |bencher| {
        bencher.iter(|| samples.iter().for_each(Sample::build));
    });
    let texts: Vec<_> = samples
        .iter()
        .map(|sample| String::from_utf8_lossy(&sample.body))
        .collect();
    group.bench_function("words", |bencher| {
        bencher.iter(|| {
            let mut bytes = 0;
            for text in &texts {
                for_each_word(text, |word| bytes += word.len());
            }
            bytes
        });
    });
    group.throughput(Throughput::Elements(pages.len() as u64));
    group.bench_function("evidence-encode", |bencher| {
        bencher.iter(|| {
            let sizes = pages.iter().map(|page| evidence::encode(page).len());
            sizes.sum::<usize>()
        });
    });
    group.bench_function("evidence-decode", |bencher| {
        bencher.iter(|| {
            for bytes in &evidences {
                let _ = black_box(evidence::decode(bytes));
            }
        });
    });
    group.bench_function("evidence-one-url", |bencher| {
        bencher.iter(|| {
            for bytes in &evidences {
                let _ = black_box(evidence::link_url(bytes, 1));
            }
        });
    });
    group.finish();
}

criterion_group!(benches, pages);
criterion_main!(benches);

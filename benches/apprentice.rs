//! What an apprentice costs: hashing a page, scoring its links, learning a pair.

#![allow(missing_docs, reason = "criterion's macros make undocumented items")]
use std::hint::black_box;
use std::sync::Arc;

use apprentice::apprentice::{
    Apprentice, Ftrl, FtrlParams, Learner, LinkScorer, Panel, SourceView, TwoClassBayes, View,
};
use apprentice::features::{FeatureSpec, LinkVector, PageSketch, SourceFacts, TermWeights};
use apprentice::page::{DocumentKind, Page, PageLimits, PageSource};
use apprentice::url::CanonicalUrl;
use criterion::{Criterion, Throughput, criterion_group, criterion_main};

/// As on uci-ics: some 480 words and 27 links a page.
const LINKS: u64 = 27;
const WORDS_A_LINK: u64 = 18;

fn page(number: u64) -> (CanonicalUrl, Page) {
    let word = |n: u64| format!("w{}", (n.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 52) % 3000);
    let mut body = String::from("<title>a page of words</title>");
    for link in 0..LINKS {
        let at = (number * LINKS + link) * WORDS_A_LINK;
        let words: Vec<String> = (at..at + WORDS_A_LINK).map(word).collect();
        let (own, around) = words.split_at(3);
        body = format!(
            "{body}<li class=item><a href='/d{}/{}.html'>{}</a> {}<br>",
            at % 7,
            at % 997,
            own.join(" "),
            around.join(" ")
        );
    }
    let url = CanonicalUrl::parse(&format!("http://h{}.test/d/{number}.html", number % 50))
        .expect("a URL");
    let source = PageSource {
        url: &url,
        content_type: Some("text/html"),
        body: body.as_bytes(),
    };
    let page = Page::parse(&source, DocumentKind::Html, &PageLimits::default());
    (url, page)
}

fn facts(number: u64) -> SourceFacts {
    let log_odds = if number.is_multiple_of(3) {
        40.0
    } else {
        -60.0
    };
    SourceFacts::new(log_odds, Some("Science/Biology"), 3)
}

fn benches(criterion: &mut Criterion) {
    let weights = TermWeights::new((0..3000).map(|n| (format!("w{n}"), (n % 7) as f32 - 3.0)));
    let pages: Vec<_> = (0..500).map(page).collect();
    let sketch = |n: u64| {
        let (url, page) = &pages[usize::try_from(n).unwrap_or_default() % pages.len()];
        PageSketch::new(url, page, facts(n), &weights)
    };
    let sketches: Vec<_> = (0..500).map(|n| Arc::new(sketch(n))).collect();

    let mut group = criterion.benchmark_group("apprentice");
    group.bench_function("hash a page of 480 words and 27 links", |bench| {
        let mut n = 0;
        bench.iter(|| {
            n += 1;
            black_box(sketch(n))
        });
    });
    group.throughput(Throughput::Elements(1));
    group.bench_function("the static vector of one link", |bench| {
        let (mut n, mut vector) = (0, LinkVector::default());
        let spec = FeatureSpec::default();
        bench.iter(|| {
            n += 1;
            sketches[n % 500].vector(n % 27, &spec, &mut vector);
            black_box(vector.len())
        });
    });
    for name in ["ftrl", "nb"] {
        let (spec, learner): (_, Box<dyn Learner>) = match name {
            "ftrl" => (
                FeatureSpec::default(),
                Box::new(Ftrl::new(FtrlParams::default())),
            ),
            _ => (FeatureSpec::paper(), Box::new(TwoClassBayes::new())),
        };
        let panel = Panel::following_first(vec![(learner, View::All)]);
        let mut scorer = Apprentice::new(spec, panel);
        for (n, sketch) in sketches.iter().enumerate() {
            let prepared = scorer.prepare(&[(Arc::clone(sketch), 5)]);
            scorer.learn(&prepared, if n % 3 == 0 { 40.0 } else { -60.0 });
            scorer.saw(sketch);
            scorer.publish_if_due();
        }
        group.throughput(Throughput::Elements(LINKS));
        group.bench_function(format!("{name}: score the links of a page"), |bench| {
            let mut n = 0;
            bench.iter(|| {
                n += 1;
                let sketch = &sketches[n % 500];
                black_box(scorer.score(&SourceView {
                    log_odds: sketch.facts.log_odds,
                    links: sketch.links.len(),
                    sketch: Some(sketch),
                }))
            });
        });
        group.throughput(Throughput::Elements(1));
        group.bench_function(format!("{name}: prepare and learn a pair"), |bench| {
            let mut n = 0;
            bench.iter(|| {
                n += 1;
                let pair = (
                    Arc::clone(&sketches[n % 500]),
                    u32::try_from(n % 27).unwrap_or(0),
                );
                let prepared = scorer.prepare(&[pair]);
                scorer.learn(&prepared, if n % 3 == 0 { 40.0 } else { -60.0 });
            });
        });
    }
    group.finish();
}

criterion_group!(all, benches);
criterion_main!(all);

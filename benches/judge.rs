//! How many pages a second does the critic judge?
//!
//! Synthetic pages of about 480 words over a vocabulary with Zipf's frequencies, 15 and 480
//! classes; each page is counted, scored and turned into a verdict.

#![allow(missing_docs, reason = "criterion's macros make undocumented items")]
#![allow(
    clippy::unwrap_used,
    reason = "a benchmark that cannot be set up is to stop"
)]

use std::hint::black_box;
use std::sync::Arc;

use apprentice::clock::{Chance, chance};
use apprentice::critic::{BayesJudge, CriticModel, Origin, PageJudge, TrainParams, Trainer};
use apprentice::page::Page;
use apprentice::taxonomy::Focus;
use criterion::{BatchSize, Criterion, Throughput, criterion_group, criterion_main};
use rand::RngExt;

const WORDS: u32 = 30_000;
const PAGE_WORDS: usize = 480;
const PAGES_PER_CLASS: usize = 40;

/// A page of `class`: half of its words from the 60 that the class prefers, the others from all.
///
/// That makes about 225 distinct words; pages of 400 to 560 words in a crawl of a university's sites
/// had 222.
fn page(class: usize, chance: &mut Chance) -> Page {
    let mut page = Page::default();
    for _ in 0..PAGE_WORDS {
        let preferred = chance.random::<bool>();
        let word = if preferred {
            let own = chance.random_range(0..60_u32);
            (u32::try_from(class).unwrap() * 7_919 + own * 31) % WORDS
        } else {
            zipf(chance)
        };
        let word = format!("word{word}");
        let known = page.vocabulary.iter().position(|known| *known == word);
        let number = known.unwrap_or_else(|| {
            page.vocabulary.push(word);
            page.vocabulary.len() - 1
        });
        page.words.push(u32::try_from(number).unwrap());
    }
    page.leaf_ends = vec![u32::try_from(PAGE_WORDS).unwrap()];
    page
}

/// A rank below [`WORDS`], low ones being frequent, somewhat more so than by 1 / rank.
fn zipf(chance: &mut Chance) -> u32 {
    let exponent: f64 = chance.random();
    #[allow(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "1 to WORDS"
    )]
    let rank = f64::from(WORDS).powf(exponent.powf(1.2)) as u32;
    rank.min(WORDS - 1)
}

fn model(classes: usize) -> CriticModel {
    let mut chance = chance(1, "bench");
    let params = TrainParams {
        // One smoothing: choosing it would train eight times.
        alpha: Some(0.05),
        ..TrainParams::default()
    };
    let mut trainer = Trainer::new(params).unwrap();
    for class in 0..classes {
        for number in 0..PAGES_PER_CLASS {
            let url = format!("http://h{class}/{number}");
            let page = page(class, &mut chance);
            trainer.add(&format!("t{class:03}"), &url, &page).unwrap();
        }
    }
    trainer.ready().unwrap().train(Origin::default()).unwrap()
}

fn judge(c: &mut Criterion) {
    let mut group = c.benchmark_group("judge");
    for classes in [15, 480] {
        let model = Arc::new(model(classes));
        let terms = model.vocabulary().len();
        let judge = BayesJudge::new(model, &Focus::new(["t003"]).unwrap()).unwrap();
        let mut chance = chance(2, "bench");
        let pages: Vec<Page> = (0..200)
            .map(|number| page(number % classes, &mut chance))
            .collect();
        group.throughput(Throughput::Elements(pages.len() as u64));
        group.bench_function(format!("{classes} classes, {terms} terms"), |b| {
            b.iter_batched(
                || pages.iter().collect::<Vec<_>>(),
                |pages| judge.judge_batch(black_box(&pages)),
                BatchSize::SmallInput,
            );
        });
    }
    group.finish();
}

criterion_group!(benches, judge);
criterion_main!(benches);

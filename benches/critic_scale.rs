//! The critic at the size of a pruned directory: 482 classes, 120,000 documents of 300 terms.
//!
//! ```text
//! cargo bench --bench critic_scale                      train, save, open, judge; says how long each takes
//! cargo bench --bench critic_scale -- open MODEL        opens and judges with a model of such a training
//! cargo bench --bench critic_scale -- write FILE [N]    N of the documents as svmlight counts
//! cargo bench --bench critic_scale -- folds FILE ALPHA K OUT
//!                    predicts each K-th document from the others: label and margin, a line each
//! cargo bench --bench critic_scale -- time FILE ALPHA OUT
//!                    fits and predicts all of it; seconds, best and median; labels to OUT
//! ```
//!
//! `scripts/against_sklearn.py` runs the last three beside scikit-learn. FILE may also be the
//! counts.svm of `apprentice critic counts`.

#![allow(
    missing_docs,
    clippy::unwrap_used,
    clippy::print_stdout,
    clippy::disallowed_methods,
    reason = "a benchmark: it prints, reads the clock, and stops where it cannot go on"
)]

use std::fmt::Write as _;
use std::fs;
use std::hint::black_box;
use std::io::{BufRead, BufReader, BufWriter, Write};
use std::sync::Arc;
use std::time::Instant;

use apprentice::clock::{Chance, chance};
use apprentice::critic::{
    Bag, BayesJudge, CriticModel, Layout, Origin, PageJudge, SparseCounts, SparseNb,
    SparseNbParams, TrainParams, Trainer,
};
use apprentice::page::Page;
use apprentice::taxonomy::Focus;
use linfa::dataset::DatasetBase;
use linfa::param_guard::ParamGuard;
use linfa::traits::{Fit, Predict};
use ndarray::Array1;
use rand::RngExt;

const CLASSES: usize = 482;
const DOCUMENTS: usize = 120_000;
const WORDS: u32 = 50_000;
const DOCUMENT_WORDS: usize = 300;

fn main() {
    let words: Vec<String> = std::env::args()
        .skip(1)
        .filter(|a| a != "--bench")
        .collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    match words.as_slice() {
        [] => scale(),
        ["write", file] => write(file, DOCUMENTS),
        ["write", file, n] => write(file, n.parse().unwrap()),
        ["folds", file, alpha, k, out] => {
            folds(file, alpha.parse().unwrap(), k.parse().unwrap(), out);
        }
        ["open", file] => open_and_judge(std::path::Path::new(file)),
        ["time", file, alpha, out] => time(file, alpha.parse().unwrap(), out),
        _ => println!("see the head of benches/critic_scale.rs"),
    }
}

/// 300 words of `class`: a third from the 200 that it prefers, the others by Zipf's law.
fn document(class: usize, chance: &mut Chance) -> Bag {
    let mut words: Vec<u32> = (0..DOCUMENT_WORDS)
        .map(|_| {
            if chance.random_range(0..3_u32) == 0 {
                let own = chance.random_range(0..200_u32);
                (u32::try_from(class).unwrap() * 7_919 + own * 31) % WORDS
            } else {
                zipf(chance)
            }
        })
        .collect();
    words.sort_unstable();
    let runs = words.chunk_by(|a, b| a == b);
    runs.map(|run| (run[0], u32::try_from(run.len()).unwrap()))
        .collect()
}

/// A rank below [`WORDS`] by the continuous form of 1 / rank.
#[allow(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "1 to WORDS"
)]
fn zipf(chance: &mut Chance) -> u32 {
    let rank = f64::from(WORDS).powf(chance.random()) as u32;
    rank.min(WORDS - 1)
}

fn documents(n: usize) -> impl Iterator<Item = (usize, Bag)> {
    let mut chance = chance(1, "critic scale");
    (0..n).map(move |number| {
        let class = number % CLASSES;
        (class, document(class, &mut chance))
    })
}

fn seconds<T>(what: &str, run: impl FnOnce() -> T) -> T {
    let (start, on_core) = (Instant::now(), core_seconds());
    let made = run();
    println!(
        "{what}: {:.4} s on the core, {:.4} s by the clock",
        core_seconds() - on_core,
        start.elapsed().as_secs_f64()
    );
    made
}

/// Time that this thread had a core: beside others on the machine the clock on the wall says little.
fn core_seconds() -> f64 {
    let stat = fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
    let nanos = stat
        .split(' ')
        .next()
        .and_then(|word| word.parse::<f64>().ok());
    nanos.unwrap_or_default() / 1e9
}

fn scale() {
    let names: Vec<String> = (0..WORDS).map(|word| format!("w{word:05}")).collect();
    let mut trainer = Trainer::new(TrainParams::default()).unwrap();
    seconds("documents made and taken", || {
        for (number, (class, bag)) in documents(DOCUMENTS).enumerate() {
            let counts = bag
                .iter()
                .map(|(word, n)| (names[*word as usize].as_str(), *n));
            let url = format!("http://h{class}.test/{number}");
            trainer
                .add_counts(&format!("t{class:03}"), &url, counts)
                .unwrap();
        }
    });
    let model = seconds(
        "trained from counts (smoothing chosen, calibrated, evaluated)",
        || trainer.ready().unwrap().train(Origin::default()).unwrap(),
    );
    println!(
        "  {} terms, smoothing {}, held-out accuracy {:.3}, ECE {:.3}, calibrated {:.3}; peak memory {} MB",
        model.vocabulary().len(),
        model.bayes().alpha(),
        model.training().held_out.accuracy().value,
        model.training().held_out.raw.ece(),
        model.training().held_out.calibrated.ece(),
        peak_mb()
    );
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("scale.critic");
    for layout in [Layout::Packed, Layout::Mapped] {
        seconds(&format!("saved, {layout:?}"), || {
            model.save_as(&path, layout).unwrap();
        });
        println!("  {} MB", fs::metadata(&path).unwrap().len() / 1_000_000);
    }
    open_and_judge(&path);
    if let Some(keep) = std::env::var_os("KEEP") {
        fs::copy(&path, keep).unwrap();
    }
}

fn open_and_judge(path: &std::path::Path) {
    for _ in 0..5 {
        seconds("opened, ready to judge (two threads)", || ready(path));
    }
    judge(path);
}

/// From the path to the first verdict.
fn ready(path: &std::path::Path) {
    let judge = judge_of(path);
    black_box(judge.judge(&Page::default()));
}

fn judge_of(path: &std::path::Path) -> BayesJudge {
    let model = Arc::new(CriticModel::open(path).unwrap());
    BayesJudge::new(model, &Focus::new(["t003"]).unwrap()).unwrap()
}

fn judge(path: &std::path::Path) {
    let judge = judge_of(path);
    let pages: Vec<Page> = documents(3_000).map(|(_, bag)| page(&bag)).collect();
    for round in ["cold", "warm", "warm"] {
        let (start, on_core) = (Instant::now(), core_seconds());
        for page in &pages {
            black_box(judge.judge(page));
        }
        let each = |seconds: f64| seconds / pages.len() as f64 * 1e6;
        println!(
            "judged one page at a time, {round}: {:.1} us a page on the core, {:.1} by the clock",
            each(core_seconds() - on_core),
            each(start.elapsed().as_secs_f64())
        );
    }
}

fn page(bag: &Bag) -> Page {
    let mut page = Page::default();
    for (number, (word, n)) in (0..).zip(bag) {
        page.vocabulary.push(format!("w{word:05}"));
        page.words.extend(std::iter::repeat_n(number, *n as usize));
    }
    page.leaf_ends = vec![u32::try_from(page.words.len()).unwrap()];
    page
}

fn peak_mb() -> u64 {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find(|line| line.starts_with("VmHWM"));
    let kb = line.and_then(|line| line.split_whitespace().nth(1)?.parse::<u64>().ok());
    kb.unwrap_or_default() / 1024
}

fn write(file: &str, n: usize) {
    let mut out = BufWriter::new(fs::File::create(file).unwrap());
    for (class, bag) in documents(n) {
        let mut line = class.to_string();
        for (word, count) in bag {
            write!(line, " {word}:{count}").unwrap();
        }
        writeln!(out, "{line}").unwrap();
    }
}

fn read(file: &str) -> (usize, Vec<usize>, Vec<Bag>) {
    let (mut labels, mut bags) = (Vec::new(), Vec::new());
    let mut terms = 0;
    for line in BufReader::new(fs::File::open(file).unwrap()).lines() {
        let line = line.unwrap();
        let mut fields = line.split(" # ").next().unwrap().split(' ');
        labels.push(fields.next().unwrap().parse().unwrap());
        let bag: Bag = fields
            .map(|field| {
                let (term, count) = field.split_once(':').unwrap();
                (term.parse().unwrap(), count.parse().unwrap())
            })
            .collect();
        terms = bag
            .last()
            .map_or(terms, |(term, _)| terms.max(*term as usize + 1));
        bags.push(bag);
    }
    (terms, labels, bags)
}

fn records(terms: usize, bags: &[&Bag]) -> SparseCounts {
    SparseCounts::from_bags(terms, bags.iter().map(|bag| bag.as_slice())).unwrap()
}

fn fit(alpha: f64, records: SparseCounts, labels: Vec<usize>) -> (SparseNb, SparseCounts) {
    let params = SparseNbParams::new().alpha(alpha).check().unwrap();
    let dataset = DatasetBase::new(records, Array1::from(labels));
    let model = params.fit(&dataset).unwrap();
    (model, dataset.records)
}

fn folds(file: &str, alpha: f64, k: usize, out: &str) {
    let (terms, labels, bags) = read(file);
    let mut lines = vec![String::new(); bags.len()];
    for fold in 0..k {
        let side = |out: bool| {
            let places = (0..bags.len()).filter(move |place| (place % k == fold) == out);
            places.collect::<Vec<_>>()
        };
        let (inside, outside) = (side(false), side(true));
        let take = |places: &[usize]| {
            let bags: Vec<&Bag> = places.iter().map(|place| &bags[*place]).collect();
            records(terms, &bags)
        };
        let of = |places: &[usize]| places.iter().map(|place| labels[*place]).collect();
        let (model, _) = fit(alpha, take(&inside), of(&inside));
        let asked = take(&outside);
        let said = model.predict(&asked);
        let likelihood = model.joint_log_likelihood(&asked);
        for ((place, said), row) in outside.iter().zip(said).zip(likelihood.rows()) {
            let mut scores = row.to_vec();
            scores.sort_by(|a, b| b.total_cmp(a));
            lines[*place] = format!("{said} {:e}", scores[0] - scores[1]);
        }
    }
    fs::write(out, lines.join("\n") + "\n").unwrap();
}

/// Prints the best and the median of as many rounds as ten seconds hold; the labels, one a line, go to
/// `out`.
fn time(file: &str, alpha: f64, out: &str) {
    let (terms, labels, bags) = read(file);
    let all: Vec<&Bag> = bags.iter().collect();
    let mut counts = records(terms, &all);
    let (mut fitting, mut predicting, mut said) = (Vec::new(), Vec::new(), Array1::default(0));
    // glibc hands freed memory back to the kernel and asks for it anew in each round, until it has once
    // seen a large block freed, which it has in any process that has done something (as in that of
    // scikit-learn, which has read the file).
    drop(black_box(vec![1_u8; 24 << 20]));
    let begun = Instant::now();
    while begun.elapsed().as_secs_f64() < 10.0 {
        let start = Instant::now();
        let (model, back) = fit(alpha, counts, labels.clone());
        let labeller = model.labeller();
        fitting.push(start.elapsed().as_secs_f64());
        let start = Instant::now();
        said = black_box(labeller.predict(&back));
        predicting.push(start.elapsed().as_secs_f64());
        counts = back;
    }
    for (what, mut rounds) in [("fit", fitting), ("predict", predicting)] {
        rounds.sort_by(f64::total_cmp);
        println!("{what}: {:.6} {:.6}", rounds[0], rounds[rounds.len() / 2]);
    }
    let mut lines = BufWriter::new(fs::File::create(out).unwrap());
    for label in &said {
        writeln!(lines, "{label}").unwrap();
    }
}

//! Two ways to read the same pages, by turns: what a busy machine costs, it costs both.

use std::time::{Duration, Instant};

/// The time that each way takes for all of `pages`: of each page the best of `rounds`.
#[allow(
    clippy::disallowed_methods,
    reason = "a benchmark measures the machine's time"
)]
pub(crate) fn best_of<T>(rounds: usize, pages: &[T], ways: [&dyn Fn(&T); 2]) -> [Duration; 2] {
    let mut best = vec![[Duration::MAX; 2]; pages.len()];
    for _ in 0..rounds {
        for (way, read) in ways.iter().enumerate() {
            for (page, best) in pages.iter().zip(&mut best) {
                let start = Instant::now();
                read(page);
                best[way] = best[way].min(start.elapsed());
            }
        }
    }
    [0, 1].map(|way| best.iter().map(|best| best[way]).sum())
}

//! Workers that do independent jobs. What comes out does not depend on how many there are.

use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

/// Does `jobs` on so many threads; the results stand in the order of the jobs, `None` for those that
/// were not begun before `stop` was set. A job that was begun is always finished.
///
/// # Errors
/// Those of the earliest job that failed; after a failure no job is begun.
pub(in crate::lab) fn work<J: Sync, R: Send, E: Send>(
    jobs: &[J],
    workers: usize,
    stop: &AtomicBool,
    run: &(dyn Fn(&J) -> Result<R, E> + Sync),
) -> Result<Vec<Option<R>>, E> {
    let next = AtomicUsize::new(0);
    let has_failed = AtomicBool::new(false);
    let done = Mutex::new(Vec::with_capacity(jobs.len()));
    let take = || {
        while !stop.load(Ordering::Relaxed) && !has_failed.load(Ordering::Relaxed) {
            let at = next.fetch_add(1, Ordering::Relaxed);
            let Some(job) = jobs.get(at) else { return };
            let result = run(job);
            has_failed.fetch_or(result.is_err(), Ordering::Relaxed);
            if let Ok(mut done) = done.lock() {
                done.push((at, result));
            }
        }
    };
    // A panic in a worker goes on in whoever asked, when the scope ends.
    std::thread::scope(|scope| {
        for _ in 0..workers.clamp(1, jobs.len().max(1)) {
            scope.spawn(take);
        }
    });
    let mut done = done.into_inner().unwrap_or_default();
    done.sort_by_key(|(at, _)| *at);
    let mut results: Vec<Option<R>> = jobs.iter().map(|_| None).collect();
    for (at, result) in done {
        results[at] = Some(result?);
    }
    Ok(results)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_stand_in_the_order_of_the_jobs_whatever_the_number_of_workers() {
        let jobs: Vec<u64> = (0..100).collect();
        let squares: Vec<Option<u64>> = jobs.iter().map(|n| Some(n * n)).collect();
        for workers in [0, 1, 3, 200] {
            let run = |n: &u64| Ok::<_, String>(n * n);
            let results = work(&jobs, workers, &AtomicBool::new(false), &run);
            assert_eq!(results.as_ref(), Ok(&squares), "{workers} workers");
        }
    }

    #[test]
    fn a_failure_ends_it_and_a_stop_leaves_the_rest_undone() {
        let jobs = [1, 2, 3, 4];
        let no_stop = AtomicBool::new(false);
        let fail = |n: &i32| if *n == 2 { Err("two") } else { Ok(*n) };
        assert_eq!(work(&jobs, 1, &no_stop, &fail), Err("two"));
        let stop = AtomicBool::new(false);
        let run = |n: &i32| {
            stop.store(*n == 3, Ordering::Relaxed);
            Ok::<_, String>(*n)
        };
        let results = work(&jobs, 1, &stop, &run);
        assert_eq!(results, Ok(vec![Some(1), Some(2), Some(3), None]));
    }
}

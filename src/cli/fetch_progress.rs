//! How far a collection is: a bar for a person at a terminal, a line now and then for a log.

use std::io::IsTerminal;
use std::time::Duration;

use indicatif::{ProgressBar, ProgressStyle};

use crate::cli::output::complain;
use crate::cli::words::count;
use crate::clock::{Clock, SystemClock, Timestamp};
use crate::collect::Progress;

/// Between two lines of a log.
const LOG_INTERVAL: Duration = Duration::from_secs(10);
/// Between two drawings of the bar while nothing happens.
const TICK: Duration = Duration::from_millis(500);
/// A host's time is told if it is further away.
const WAIT_TOLD: Duration = Duration::from_secs(3);

/// Shows progress on standard error.
pub(super) enum Display {
    Bar(ProgressBar, SystemClock),
    Log(SystemClock, Timestamp),
}

impl Display {
    pub(super) fn new(clock: SystemClock) -> Self {
        if !std::io::stderr().is_terminal() {
            let next_at = clock.now().after(LOG_INTERVAL);
            return Self::Log(clock, next_at);
        }
        let bar = ProgressBar::new(0);
        let template = "{elapsed_precise} {wide_bar} {human_pos}/{human_len} URLs {msg}";
        if let Ok(style) = ProgressStyle::with_template(template) {
            bar.set_style(style);
        }
        bar.enable_steady_tick(TICK);
        Self::Bar(bar, clock)
    }

    pub(super) fn show(&mut self, progress: &Progress) {
        match self {
            Self::Bar(bar, clock) => {
                bar.set_length((progress.settled + progress.open) as u64);
                bar.set_position(progress.settled as u64);
                bar.set_message(words(progress, clock.now()));
            }
            Self::Log(clock, next_at) => {
                let now = clock.now();
                if now >= *next_at {
                    *next_at = now.after(LOG_INTERVAL);
                    let (settled, open) = (progress.settled as u64, progress.open as u64);
                    complain(&format!(
                        "{} of {} URLs, {}",
                        count(settled),
                        count(settled + open),
                        words(progress, now)
                    ));
                }
            }
        }
    }

    /// Takes the bar away; what comes next is the summary.
    pub(super) fn end(self) {
        if let Self::Bar(bar, _) = self {
            bar.finish_and_clear();
        }
    }
}

fn words(progress: &Progress, now: Timestamp) -> String {
    let words = format!(
        "{} pages, {} requests, {} under way",
        count(progress.pages),
        count(progress.requests),
        progress.in_flight
    );
    if progress.in_flight == 0
        && let Some(next_at) = progress.next_at
        && next_at.since(now) > WAIT_TOLD
    {
        let seconds = next_at.since(now).as_secs();
        return format!("{words}, the next host waits {seconds} s more");
    }
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wait_is_told_when_nothing_else_happens() {
        let mut progress = Progress {
            pages: 1200,
            requests: 1300,
            next_at: Some(Timestamp(65_000)),
            ..Progress::default()
        };
        assert_eq!(
            words(&progress, Timestamp(5000)),
            "1,200 pages, 1,300 requests, 0 under way, the next host waits 60 s more"
        );
        progress.in_flight = 2;
        let words = words(&progress, Timestamp(5000));
        assert_eq!(words, "1,200 pages, 1,300 requests, 2 under way");
    }
}

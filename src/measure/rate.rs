//! How fast? A rate over a sliding window.

use std::collections::VecDeque;
use std::time::Duration;

use crate::clock::Timestamp;

/// The window is counted in this many slices, so memory does not grow with the rate.
const SLICES: i64 = 60;

/// Events a second over the last window, to a sixtieth of the window.
#[derive(Clone, Debug)]
pub struct Rate {
    slice_ms: i64,
    /// (slice number, events in it), rising; only slices of the window.
    slices: VecDeque<(i64, u64)>,
    first: Option<Timestamp>,
}

impl Default for Rate {
    /// A rate over the last minute.
    fn default() -> Self {
        Self::over(Duration::from_mins(1))
    }
}

impl Rate {
    /// A rate over the last `window`, which is taken as at least 60 ms.
    pub fn over(window: Duration) -> Self {
        let window_ms = i64::try_from(window.as_millis()).unwrap_or(i64::MAX);
        Self {
            slice_ms: (window_ms / SLICES).max(1),
            slices: VecDeque::new(),
            first: None,
        }
    }

    /// Counts one event at `at`; one that is older than the latest counts with the latest.
    pub fn record(&mut self, at: Timestamp) {
        self.first = Some(self.first.map_or(at, |first| first.min(at)));
        let slice = at.0.div_euclid(self.slice_ms);
        match self.slices.back_mut() {
            Some((latest, events)) if slice <= *latest => *events += 1,
            _ => self.slices.push_back((slice, 1)),
        }
        let latest = self.slices.back().map_or(slice, |(latest, _)| *latest);
        while self
            .slices
            .front()
            .is_some_and(|(oldest, _)| *oldest <= latest - SLICES)
        {
            self.slices.pop_front();
        }
    }

    /// Events a second in the window that ends at `now`. Younger than the window, the rate is over
    /// the time since the first event, at least a second.
    pub fn per_second(&self, now: Timestamp) -> f64 {
        let Some(first) = self.first else {
            return 0.0;
        };
        let current = now.0.div_euclid(self.slice_ms);
        let in_window = self
            .slices
            .iter()
            .filter(|(slice, _)| *slice > current - SLICES);
        let events: u64 = in_window.map(|(_, events)| *events).sum();
        // The current slice has only begun: the window reaches from the oldest slice's start to now.
        let begun_ms = now.0 - current * self.slice_ms;
        let window_ms = (SLICES - 1) * self.slice_ms + begun_ms;
        let age_ms = now.0.saturating_sub(first.0).max(1000);
        events as f64 * 1000.0 / window_ms.min(age_ms).max(1) as f64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(second: f64) -> Timestamp {
        #[allow(clippy::cast_possible_truncation, reason = "seconds of a test")]
        Timestamp(1_700_000_000_000 + (second * 1000.0) as i64)
    }

    #[test]
    fn a_steady_rate_is_seen_as_it_is() {
        let mut rate = Rate::default();
        for tenth in 0..3000 {
            rate.record(at(f64::from(tenth) / 10.0));
        }
        assert!((rate.per_second(at(299.9)) - 10.0).abs() < 0.2);
    }

    #[test]
    fn silence_ends_the_rate_after_a_window() {
        let mut rate = Rate::over(Duration::from_mins(1));
        for second in 0..30 {
            rate.record(at(f64::from(second)));
        }
        assert!(rate.per_second(at(45.0)) > 0.5);
        assert!((rate.per_second(at(75.0)) - 0.25).abs() < 0.02);
        assert!(rate.per_second(at(95.0)).abs() < f64::EPSILON);
    }

    #[test]
    fn a_young_rate_is_over_its_own_age() {
        let mut rate = Rate::default();
        assert!(rate.per_second(at(0.0)).abs() < f64::EPSILON);
        rate.record(at(0.0));
        assert!((rate.per_second(at(0.0)) - 1.0).abs() < f64::EPSILON);
        rate.record(at(2.0));
        assert!((rate.per_second(at(4.0)) - 0.5).abs() < f64::EPSILON);
    }

    #[test]
    fn memory_is_bounded_and_time_that_goes_back_is_survived() {
        let mut rate = Rate::default();
        for second in 0..10_000 {
            rate.record(at(f64::from(second)));
        }
        rate.record(at(5.0));
        assert!(i64::try_from(rate.slices.len()).unwrap() <= SLICES);
        assert!(rate.per_second(at(9_999.0)) > 0.9);
    }
}

//! The machine's clock.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use rustix::time::{ClockId, clock_gettime};

use super::{Clock, Timestamp};

/// A difference between the wall clock and ours that grows or shrinks by so much is spoken of.
const SPOKEN_OF_MS: i64 = 60_000;

/// Nobody sleeps for longer without looking at the clock: the runtime's timers do not count the time that
/// the machine is asleep.
const NAP_MAX: Duration = Duration::from_mins(1);

/// The machine's time: the wall clock as it was when this clock was made, moved on by the time that the
/// machine has counted since.
///
/// A wall clock that is set meanwhile is not followed. Set back, it would let the crawler stand still until
/// it has caught up; set forward, it would end all waits that hosts have asked for, and a jump that is
/// taken back would do both. Whoever sets the clock is told once in the log; the next start takes the new
/// time on. On Linux (and on macOS) the time that the machine was suspended counts; on other systems the
/// crawler's time lags by it until the next start.
#[derive(Clone, Debug)]
pub struct SystemClock {
    anchor: Arc<Anchor>,
}

/// Where times come from.
trait Machine {
    /// The wall clock, in milliseconds since the epoch.
    fn wall_ms(&self) -> i64;
    /// A counter of milliseconds that nobody sets.
    fn counted_ms(&self) -> i64;
}

/// This machine.
struct This;

/// One moment, read off both.
#[derive(Debug)]
struct Anchor {
    wall_ms: i64,
    counted_ms: i64,
    /// By how many milliseconds the wall clock was ahead of ours when that was last spoken of.
    told: AtomicI64,
}

impl SystemClock {
    /// A clock that shows the machine's time.
    pub fn new() -> Self {
        Self {
            anchor: Arc::new(Anchor::at(&This)),
        }
    }
}

impl Default for SystemClock {
    fn default() -> Self {
        Self::new()
    }
}

impl Machine for This {
    #[allow(
        clippy::disallowed_methods,
        reason = "this is the one place where the machine's time enters"
    )]
    fn wall_ms(&self) -> i64 {
        let since_epoch = SystemTime::now()
            .duration_since(UNIX_EPOCH)
            .unwrap_or(Duration::ZERO);
        i64::try_from(since_epoch.as_millis()).unwrap_or(i64::MAX)
    }

    fn counted_ms(&self) -> i64 {
        #[cfg(target_os = "linux")]
        let counter = ClockId::Boottime;
        #[cfg(not(target_os = "linux"))]
        let counter = ClockId::Monotonic;
        let counted = clock_gettime(counter);
        let ms = counted.tv_sec.saturating_mul(1000);
        ms.saturating_add(counted.tv_nsec / 1_000_000)
    }
}

impl Anchor {
    fn at(machine: &impl Machine) -> Self {
        Self {
            wall_ms: machine.wall_ms(),
            counted_ms: machine.counted_ms(),
            told: AtomicI64::new(0),
        }
    }

    fn now(&self, machine: &impl Machine) -> Timestamp {
        let counted = machine.counted_ms().saturating_sub(self.counted_ms);
        let now_ms = self.wall_ms.saturating_add(counted);
        self.compare(now_ms, machine.wall_ms());
        Timestamp(now_ms)
    }

    /// Says so if the wall clock was set. Gives whether it did.
    fn compare(&self, now_ms: i64, wall_ms: i64) -> bool {
        let ahead_ms = wall_ms.saturating_sub(now_ms);
        let told_ms = self.told.load(Ordering::Relaxed);
        if ahead_ms.saturating_sub(told_ms).saturating_abs() < SPOKEN_OF_MS {
            return false;
        }
        let is_first = (self.told)
            .compare_exchange(told_ms, ahead_ms, Ordering::Relaxed, Ordering::Relaxed)
            .is_ok();
        if is_first {
            tracing::warn!(
                ahead_s = ahead_ms / 1000,
                "the machine's clock was set; this process keeps the time that it began with until it is \
                 started again"
            );
        }
        is_first
    }
}

impl Clock for SystemClock {
    fn now(&self) -> Timestamp {
        self.anchor.now(&This)
    }

    async fn sleep_until(&self, until: Timestamp) {
        loop {
            let wait = until.since(self.now());
            if wait.is_zero() {
                return;
            }
            tokio::time::sleep(wait.min(NAP_MAX)).await;
        }
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use super::*;

    const MINUTE: i64 = 60_000;
    const HOUR: i64 = 60 * MINUTE;
    const DAY: i64 = 24 * HOUR;

    /// A machine whose clock is set as a test likes.
    #[derive(Default)]
    struct Settable {
        wall_ms: Cell<i64>,
        counted_ms: Cell<i64>,
    }

    impl Settable {
        fn pass(&self, ms: i64) {
            self.wall_ms.set(self.wall_ms.get() + ms);
            self.counted_ms.set(self.counted_ms.get() + ms);
        }

        fn set_by(&self, ms: i64) {
            self.wall_ms.set(self.wall_ms.get() + ms);
        }
    }

    impl Machine for Settable {
        fn wall_ms(&self) -> i64 {
            self.wall_ms.get()
        }

        fn counted_ms(&self) -> i64 {
            self.counted_ms.get()
        }
    }

    #[test]
    fn a_clock_that_is_set_neither_stops_the_time_nor_makes_it_jump() {
        for jumps in [&[-HOUR][..], &[DAY], &[DAY, -DAY], &[-HOUR, HOUR]] {
            let machine = Settable::default();
            machine.wall_ms.set(1_000 * DAY);
            machine.counted_ms.set(7);
            let anchor = Anchor::at(&machine);
            let mut last = anchor.now(&machine);
            assert_eq!(last, Timestamp(1_000 * DAY));
            for jump in jumps {
                machine.set_by(*jump);
                for _ in 0..3 {
                    machine.pass(500);
                    let now = anchor.now(&machine);
                    assert_eq!(now, Timestamp(last.0 + 500), "{jumps:?}");
                    last = now;
                }
            }
        }
    }

    #[test]
    fn a_clock_that_is_set_is_spoken_of_once_each_time() {
        let machine = Settable::default();
        let anchor = Anchor::at(&machine);
        let speaks = || {
            machine.pass(10);
            anchor.compare(machine.counted_ms(), machine.wall_ms())
        };
        assert!(!speaks());
        machine.set_by(-HOUR);
        assert_eq!([speaks(), speaks()], [true, false]);
        machine.set_by(HOUR);
        assert_eq!([speaks(), speaks()], [true, false]);
        // What keeps a clock right sets it by little.
        machine.set_by(MINUTE / 2);
        assert!(!speaks());
    }

    #[test]
    fn the_machine_counts() {
        let clock = SystemClock::new();
        let wall = This.wall_ms();
        assert!((clock.now().0 - wall).abs() < MINUTE);
        let before = clock.now();
        assert!(clock.clone().now() >= before);
        assert!(This.counted_ms() > 0);
    }
}

//! The file in which the long waits of hosts survive a restart: JSON lines, all of a host count.
//!
//! A wait stands in the log of the crawl that asked as well. But the logs of a daemon are read one after
//! another, and a crawl that is open must not ask a host that a log still to be read says to leave alone.
//!
//! Lines are appended as waits arise; a file that has grown is written anew with those that are not over.
//! Nothing is synced: what a crash of the machine takes stands in the log. A torn or foreign line says
//! nothing.

use std::io;
use std::path::Path;
use std::sync::{MutexGuard, PoisonError};
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::HostCalendar;
use crate::clock::Timestamp;
use crate::fetch::RETRY_AFTER_MAX;
use crate::store::LineFile;
use crate::url::HostKey;

/// A wait that is shorter is over before a daemon that was killed is there again.
const LONG: Duration = Duration::from_secs(3);
/// No wait is longer: not a stated one, and not the delay of a crawl.
const WAIT_MAX: Duration = RETRY_AFTER_MAX;
/// The file may be twice as long as when it was last written anew, and so much longer.
const SLACK_BYTES: u64 = 1 << 20;
/// A line is no longer.
const LINE_BYTES_MAX: u64 = 4096;

/// A request ended, and its host may be asked again later.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Wait {
    pub(super) host: HostKey,
    pub(super) ended_at: Timestamp,
    pub(super) next_at: Timestamp,
}

/// A line of the file.
#[derive(Serialize, Deserialize)]
struct Line {
    host: String,
    ended_ms: i64,
    next_ms: i64,
}

impl HostCalendar {
    /// A calendar that keeps long waits in the file at `path`, and knows those that it kept there before.
    ///
    /// # Errors
    /// If the file cannot be made or read. Later on, one that cannot be written is given up, with a
    /// warning.
    pub fn open(path: &Path, now: Timestamp) -> io::Result<Self> {
        let calendar = Self::default();
        let mut file = LineFile::open(path, (LINE_BYTES_MAX, SLACK_BYTES), |line: Line| {
            let wait = Wait::from(line);
            let (ended_at, next_at) = owed(wait.ended_at, wait.next_at, now);
            // A foreign line must not close a host for years.
            let next_at = next_at.min(now.after(WAIT_MAX));
            if next_at > now {
                calendar.note_request(&wait.host, ended_at, next_at);
            }
        })?;
        file.rewrite(calendar.lines_after(now))?;
        *calendar.file() = Some(file);
        Ok(calendar)
    }

    /// Keeps the short waits as well, if any are kept: a daemon that is told to stop may soon be there again.
    pub fn keep_all(&self, now: Timestamp) {
        self.write(|file| file.rewrite(self.lines_after(now)));
    }

    pub(super) fn keep_if_long(&self, host: &HostKey, ended_at: Timestamp, next_at: Timestamp) {
        if next_at.since(ended_at) < LONG {
            return;
        }
        let line = Line {
            host: host.as_str().to_owned(),
            ended_ms: ended_at.0,
            next_ms: next_at.0,
        };
        self.write(|file| {
            if file.append(&line)? {
                // The calendar does not know the last one yet.
                file.rewrite(self.lines_after(ended_at).chain([line]))?;
            }
            Ok(())
        });
    }

    fn lines_after(&self, now: Timestamp) -> impl Iterator<Item = Line> {
        self.waits_after(now).into_iter().map(Line::from)
    }

    fn write(&self, write: impl FnOnce(&mut LineFile) -> io::Result<()>) {
        let mut kept = self.file();
        let Some(file) = kept.as_mut() else { return };
        if let Err(error) = write(file) {
            let path = file.path().display();
            tracing::warn!(%path, %error, "waits of hosts are no longer kept");
            *kept = None;
        }
    }

    fn file(&self) -> MutexGuard<'_, Option<LineFile>> {
        self.shared
            .file
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }
}

/// What is owed at `now` to a host whose request ended at `ended_at` and that may be asked again at
/// `next_at`. If the request ended after `now` the clock was ahead then: the wait that was meant counts from
/// now on.
pub(super) fn owed(
    ended_at: Timestamp,
    next_at: Timestamp,
    now: Timestamp,
) -> (Timestamp, Timestamp) {
    if ended_at <= now {
        return (ended_at, next_at);
    }
    (now, now.after(next_at.since(ended_at)))
}

impl From<Line> for Wait {
    fn from(line: Line) -> Self {
        Self {
            host: HostKey::from_stored(&line.host),
            ended_at: Timestamp(line.ended_ms),
            next_at: Timestamp(line.next_ms),
        }
    }
}

impl From<Wait> for Line {
    fn from(wait: Wait) -> Self {
        Self {
            host: wait.host.as_str().to_owned(),
            ended_ms: wait.ended_at.0,
            next_ms: wait.next_at.0,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use crate::frontier::Held;

    const NOW: Timestamp = Timestamp(1_000_000);
    const DAY_MS: i64 = 86_400_000;

    fn host(name: &str) -> HostKey {
        HostKey::from_stored(name)
    }

    fn ask(calendar: &HostCalendar, name: &str, wait_ms: i64) {
        let lease = calendar.try_lease(&host(name), NOW, Duration::ZERO);
        lease.unwrap().release(NOW, Timestamp(NOW.0 + wait_ms));
    }

    /// How long a host has still to be left alone.
    fn held(calendar: &HostCalendar, name: &str, now: Timestamp) -> i64 {
        match calendar.held(&host(name), now, Duration::ZERO) {
            Some(Held::Until(until)) => until.0 - now.0,
            Some(Held::Leased) => panic!("it is leased"),
            None => 0,
        }
    }

    #[test]
    fn long_waits_survive_a_kill_and_short_ones_an_orderly_end() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("waits.jsonl");
        let calendar = HostCalendar::open(&path, NOW).unwrap();
        ask(&calendar, "long", DAY_MS);
        ask(&calendar, "short", 1_000);
        let killed = HostCalendar::open(&path, NOW).unwrap();
        assert_eq!(held(&killed, "long", NOW), DAY_MS);
        assert_eq!(held(&killed, "short", NOW), 0);
        // The file was written anew by the one that took over; this one writes all that it knows.
        calendar.keep_all(NOW);
        let later = Timestamp(NOW.0 + 500);
        let ended = HostCalendar::open(&path, later).unwrap();
        assert_eq!(held(&ended, "long", later), DAY_MS - 500);
        assert_eq!(held(&ended, "short", later), 500);
        // What is over is left out.
        drop(HostCalendar::open(&path, Timestamp(NOW.0 + DAY_MS)).unwrap());
        assert_eq!(fs::read(&path).unwrap(), b"");
    }

    #[test]
    fn a_clock_put_back_a_foreign_line_and_a_torn_one_keep_no_host_for_longer_than_meant() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("waits.jsonl");
        let calendar = HostCalendar::open(&path, NOW).unwrap();
        ask(&calendar, "a", 10_000);
        let foreign =
            b"{\"host\":\"b\",\"ended_ms\":0,\"next_ms\":99999999999999}\n{}\n{\"host\":\"c\"";
        let whole = [&fs::read(&path).unwrap()[..], foreign].concat();
        fs::write(&path, whole).unwrap();
        let before = Timestamp(NOW.0 - DAY_MS);
        let calendar = HostCalendar::open(&path, before).unwrap();
        assert_eq!(held(&calendar, "a", before), 10_000);
        assert_eq!(held(&calendar, "b", before), DAY_MS);
        assert_eq!(calendar.hosts(), 2);
    }

    #[test]
    fn a_file_that_has_grown_is_written_anew() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("waits.jsonl");
        let calendar = HostCalendar::open(&path, NOW).unwrap();
        for number in 0..40_000 {
            let now = Timestamp(NOW.0 + number * 10_000);
            let lease = calendar.try_lease(&host("a"), now, Duration::ZERO);
            lease.unwrap().release(now, now.after(LONG));
        }
        let bytes = fs::metadata(&path).unwrap().len();
        assert!(bytes <= SLACK_BYTES + LINE_BYTES_MAX, "{bytes}");
        let last = Timestamp(NOW.0 + 39_999 * 10_000);
        let again = HostCalendar::open(&path, last).unwrap();
        assert_eq!(held(&again, "a", last), 3_000);
    }
}

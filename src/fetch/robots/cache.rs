//! The answers of all crawls, for a day.

use std::collections::BTreeMap;
use std::io;
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use super::journal::{Journal, Known};
use super::{Origin, RobotsAnswer};
use crate::clock::Timestamp;
use crate::url::CanonicalUrl;

/// An answer holds for this long (RFC 9309, 2.4).
const FRESH: Duration = Duration::from_hours(24);
/// A file that could not be had is asked for again after this long unless the server names a time,
/// doubling each time ...
const UNREACHABLE: Duration = Duration::from_mins(10);
/// ... up to this.
const UNREACHABLE_MAX: Duration = FRESH;

/// A host whose file could not be had for so long is taken to have none (RFC 9309, 2.3.1.4).
const GIVEN_UP_AFTER: Duration = Duration::from_hours(30 * 24);

/// If nobody has asked for so long after an answer ran out, nobody knows whether the file was there
/// meanwhile: failures in a row are counted anew.
const UNASKED_MAX: Duration = Duration::from_hours(7 * 24);

/// What an entry costs beside its rules, roughly, in bytes.
const ENTRY_BYTES: usize = 300;

/// The robots.txt answers that are known. A clone shares them.
#[derive(Clone, Debug)]
pub struct RobotsCache {
    state: Arc<Mutex<State>>,
}

#[derive(Debug)]
struct State {
    entries: BTreeMap<Origin, Entry>,
    /// The origins in the order of their insertion, for eviction.
    by_age: BTreeMap<u64, Origin>,
    next_age: u64,
    bytes: usize,
    bytes_max: usize,
    /// Where answers survive a restart, if they do.
    journal: Option<Journal>,
}

#[derive(Debug)]
struct Entry {
    answer: RobotsAnswer,
    expires: Timestamp,
    age: u64,
    /// How many times in a row the file could not be had, and since when.
    failures: u32,
    failing_since: Timestamp,
}

impl Entry {
    fn bytes(&self, origin: &Origin) -> usize {
        let rules = match &self.answer {
            RobotsAnswer::Rules(rules) => rules.bytes(),
            RobotsAnswer::AllowAll | RobotsAnswer::Unreachable { .. } => 0,
        };
        ENTRY_BYTES + origin.as_str().len() + rules
    }
}

impl Default for RobotsCache {
    /// A cache of 64 MiB: some 50,000 sites with files of usual size.
    fn default() -> Self {
        Self::with_bytes_max(64 << 20)
    }
}

impl RobotsCache {
    /// A cache that holds about `bytes_max` bytes and drops the oldest answers beyond.
    pub fn with_bytes_max(bytes_max: usize) -> Self {
        Self {
            state: Arc::new(Mutex::new(State {
                entries: BTreeMap::new(),
                by_age: BTreeMap::new(),
                next_age: 0,
                bytes: 0,
                bytes_max,
                journal: None,
            })),
        }
    }

    /// A cache as by default whose answers survive in the file at `path`, with those that still hold at
    /// `now`, and with how often and since when each of the others could not be had.
    ///
    /// # Errors
    /// If the file cannot be made or read. Later on, one that cannot be written is given up, with a
    /// warning.
    pub fn open(path: &Path, now: Timestamp) -> io::Result<Self> {
        let cache = Self::default();
        {
            let mut state = cache.lock();
            let mut journal = Journal::open(path, |known| state.put(known))?;
            let gone = |entry: &Entry| entry.failures == 0 && entry.expires <= now;
            let over = state.entries.iter().filter(|(_, entry)| gone(entry));
            let over: Vec<Origin> = over.map(|(origin, _)| origin.clone()).collect();
            for origin in over {
                state.remove(&origin);
            }
            // A clock that was put back must not keep an answer for longer than it would hold from now.
            for entry in state.entries.values_mut() {
                let longest = lifetime(entry.failures, entry.answer.retry_after());
                entry.expires = entry.expires.min(now.after(longest));
            }
            journal.rewrite(state.known())?;
            state.journal = Some(journal);
        }
        Ok(cache)
    }

    /// The answer for the origin of `url`, if one is known that still holds at `now`.
    pub fn lookup(&self, url: &CanonicalUrl, now: Timestamp) -> Option<RobotsAnswer> {
        let state = self.lock();
        let entry = state.entries.get(&Origin::of(url))?;
        (now < entry.expires).then(|| entry.answer.clone())
    }

    /// Until when the answer for the origin of `url` holds, and how often in a row it could not be had;
    /// `None` if there is no entry.
    pub fn standing(&self, url: &CanonicalUrl) -> Option<(Timestamp, u32)> {
        let state = self.lock();
        let entry = state.entries.get(&Origin::of(url))?;
        Some((entry.expires, entry.failures))
    }

    /// Remembers the answer of an origin, got at `now`. Returns until when it holds.
    pub fn insert(&self, origin: Origin, answer: RobotsAnswer, now: Timestamp) -> Timestamp {
        let mut state = self.lock();
        let before = state.remove(&origin);
        let before =
            before.filter(|entry| entry.failures > 0 && now.since(entry.expires) <= UNASKED_MAX);
        let failing_since = before.as_ref().map_or(now, |entry| entry.failing_since);
        let is_unreachable = matches!(answer, RobotsAnswer::Unreachable { .. });
        let answer = if is_unreachable && now.since(failing_since) >= GIVEN_UP_AFTER {
            RobotsAnswer::AllowAll
        } else {
            answer
        };
        // It is still one that fails, and is asked for anew every day.
        let failures = if is_unreachable {
            before.map_or(0, |entry| entry.failures).saturating_add(1)
        } else {
            0
        };
        let expires = now.after(lifetime(failures, answer.retry_after()));
        let known = Known {
            origin,
            answer,
            expires,
            failures,
            failing_since,
        };
        state.write_down(&known);
        state.put(known);
        expires
    }

    /// How many answers are held, fresh or not.
    pub fn len(&self) -> usize {
        let state = self.lock();
        state.entries.len()
    }

    /// Whether no answer is held.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    /// Takes an answer in, in place of an older one of its origin.
    fn put(&mut self, known: Known) {
        self.remove(&known.origin);
        let age = self.next_age;
        self.next_age += 1;
        let entry = Entry {
            answer: known.answer,
            expires: known.expires,
            age,
            failures: known.failures,
            failing_since: known.failing_since,
        };
        self.bytes += entry.bytes(&known.origin);
        self.by_age.insert(age, known.origin.clone());
        self.entries.insert(known.origin, entry);
        self.evict();
    }

    /// All answers, the oldest first.
    fn known(&self) -> impl Iterator<Item = Known> {
        let origins = self.by_age.values();
        origins.filter_map(|origin| {
            let entry = self.entries.get(origin)?;
            Some(Known {
                origin: origin.clone(),
                answer: entry.answer.clone(),
                expires: entry.expires,
                failures: entry.failures,
                failing_since: entry.failing_since,
            })
        })
    }

    fn write_down(&mut self, known: &Known) {
        let Some(mut journal) = self.journal.take() else {
            return;
        };
        let written = match journal.append(known) {
            Ok(true) => journal.rewrite(self.known().chain([known.clone()])),
            Ok(false) => Ok(()),
            Err(error) => Err(error),
        };
        match written {
            Ok(()) => self.journal = Some(journal),
            Err(error) => tracing::warn!(%error, "answers of robots.txt are kept in memory alone"),
        }
    }

    fn remove(&mut self, origin: &Origin) -> Option<Entry> {
        let entry = self.entries.remove(origin)?;
        self.by_age.remove(&entry.age);
        self.bytes -= entry.bytes(origin);
        Some(entry)
    }

    fn evict(&mut self) {
        while self.bytes > self.bytes_max && self.entries.len() > 1 {
            let Some((_, oldest)) = self.by_age.first_key_value() else {
                return;
            };
            let oldest = oldest.clone();
            self.remove(&oldest);
        }
    }
}

/// How long an answer holds after so many failures in a row, the last of which asked for `stated`.
///
/// A server that does not keep its word is not taken at it a second time if it asks for less than is
/// waited anyway: a few stated seconds, again and again, would soon give up its host.
fn lifetime(failures: u32, stated: Option<Duration>) -> Duration {
    let Some(doublings) = failures.checked_sub(1) else {
        return FRESH;
    };
    let own = 2_u32
        .checked_pow(doublings)
        .and_then(|factor| UNREACHABLE.checked_mul(factor))
        .map_or(UNREACHABLE_MAX, |wait| wait.min(UNREACHABLE_MAX));
    match stated {
        Some(stated) if doublings == 0 => stated.min(UNREACHABLE_MAX),
        Some(stated) => own.max(stated).min(UNREACHABLE_MAX),
        None => own,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fetch::robots::RobotsRules;

    const MINUTE: i64 = 60_000;

    fn url(host: &str) -> CanonicalUrl {
        CanonicalUrl::parse(&format!("http://{host}/page")).unwrap()
    }

    fn insert(cache: &RobotsCache, host: &str, answer: RobotsAnswer, now: i64) -> i64 {
        cache
            .insert(Origin::of(&url(host)), answer, Timestamp(now))
            .0
    }

    #[test]
    fn an_answer_holds_for_a_day_and_for_its_origin_alone() {
        let cache = RobotsCache::default();
        insert(&cache, "h.test", RobotsAnswer::AllowAll, 0);
        let known = |url: &CanonicalUrl, now| cache.clone().lookup(url, Timestamp(now)).is_some();
        let day = 24 * 60 * MINUTE;
        assert!(known(&url("h.test"), day - 1));
        assert!(!known(&url("h.test"), day));
        assert!(!known(&url("o.test"), 0));
        assert!(!known(&CanonicalUrl::parse("https://h.test/").unwrap(), 0));
        assert!(!known(&url("h.test:8080"), 0));
    }

    #[test]
    fn an_unreachable_file_is_asked_for_again_ever_more_rarely() {
        let cache = RobotsCache::default();
        let mut waits = Vec::new();
        for _ in 0..40 {
            waits.push(insert(&cache, "h.test", RobotsAnswer::UNREACHABLE, 0) / MINUTE);
        }
        assert_eq!(waits[..5], [10, 20, 40, 80, 160]);
        assert_eq!(waits.last(), Some(&(24 * 60)));
        insert(&cache, "h.test", RobotsAnswer::AllowAll, 0);
        assert_eq!(
            insert(&cache, "h.test", RobotsAnswer::UNREACHABLE, 0),
            10 * MINUTE
        );
    }

    #[test]
    fn a_host_without_an_answer_for_thirty_days_is_taken_to_have_no_file() {
        let cache = RobotsCache::default();
        let mut now = 0;
        let mut tries = 0;
        let page = url("h.test");
        loop {
            now = insert(&cache, "h.test", RobotsAnswer::UNREACHABLE, now);
            tries += 1;
            let known = cache.lookup(&page, Timestamp(now - 1)).unwrap();
            if known == RobotsAnswer::AllowAll {
                break;
            }
            assert!(!known.allows(&page));
        }
        // 10, 20, .. 1,280 minutes make 1.8 days; then once a day. The last answer holds for a day.
        let days = now / (24 * 60 * MINUTE);
        assert_eq!((days, tries), (31, 38));
        // And so it stays, until there is an answer.
        insert(&cache, "h.test", RobotsAnswer::UNREACHABLE, now);
        assert!(cache.lookup(&page, Timestamp(now)).unwrap().allows(&page));
        insert(&cache, "h.test", RobotsAnswer::AllowAll, now);
        insert(&cache, "h.test", RobotsAnswer::UNREACHABLE, now);
        assert!(!cache.lookup(&page, Timestamp(now)).unwrap().allows(&page));
    }

    #[test]
    fn a_stated_time_is_waited_the_first_time_and_then_if_it_is_the_longer_one() {
        for (stated, expected) in [(1, [1, 20, 40]), (30, [30, 30, 40]), (9_999, [1_440; 3])] {
            let cache = RobotsCache::default();
            let waits = [(); 3].map(|()| {
                let answer = RobotsAnswer::Unreachable {
                    retry_after: Some(Duration::from_mins(stated)),
                    cause: None,
                    failure: None,
                };
                insert(&cache, "h.test", answer, 0) / MINUTE
            });
            assert_eq!(waits, expected, "{stated} minutes");
        }
    }

    #[test]
    fn the_oldest_answers_go_when_the_bound_is_reached() {
        let cache = RobotsCache::with_bytes_max(4000);
        for number in 0..100 {
            insert(
                &cache,
                &format!("h{number}.test"),
                RobotsAnswer::AllowAll,
                0,
            );
        }
        assert!((5..15).contains(&cache.len()), "{}", cache.len());
        assert!(cache.lookup(&url("h99.test"), Timestamp(0)).is_some());
        assert!(cache.lookup(&url("h0.test"), Timestamp(0)).is_none());
        let large = RobotsRules::parse("# filler\n".repeat(1000).as_bytes());
        insert(
            &cache,
            "large.test",
            RobotsAnswer::Rules(Arc::new(large)),
            0,
        );
        assert_eq!(cache.len(), 1);
        insert(&cache, "small.test", RobotsAnswer::AllowAll, 0);
        assert_eq!(cache.len(), 1);
    }

    #[test]
    fn answers_survive_a_restart_for_as_long_as_they_hold() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("robots.jsonl");
        let day = 24 * 60 * MINUTE;
        let rules = RobotsRules::parse(b"User-agent: *\nDisallow: /page");
        let rules = RobotsAnswer::Rules(Arc::new(rules));
        let cache = RobotsCache::open(&path, Timestamp(0)).unwrap();
        insert(&cache, "old.test", RobotsAnswer::AllowAll, 0);
        insert(&cache, "new.test", RobotsAnswer::AllowAll, day / 2);
        insert(&cache, "new.test", rules.clone(), day / 2);
        drop(cache);
        let cache = RobotsCache::open(&path, Timestamp(day)).unwrap();
        assert_eq!(cache.len(), 1);
        assert_eq!(cache.lookup(&url("new.test"), Timestamp(day)), Some(rules));
        let late = Timestamp(day + day / 2);
        assert_eq!(cache.lookup(&url("new.test"), late), None);
        drop(cache);
        // The clock was put back by a year: an answer of the future is no better than a fresh one.
        let cache = RobotsCache::open(&path, Timestamp(-365 * day)).unwrap();
        let standing = cache.standing(&url("new.test")).unwrap();
        assert_eq!(standing, (Timestamp(-364 * day), 0));
    }

    #[test]
    fn a_host_without_an_answer_is_not_waited_for_longer_because_the_clock_was_ahead() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("robots.jsonl");
        let day = 24 * 60 * MINUTE;
        let stated = |minutes| RobotsAnswer::Unreachable {
            retry_after: Some(Duration::from_mins(minutes)),
            cause: None,
            failure: None,
        };
        let cache = RobotsCache::open(&path, Timestamp(day)).unwrap();
        insert(&cache, "once.test", RobotsAnswer::UNREACHABLE, day);
        insert(&cache, "twice.test", RobotsAnswer::UNREACHABLE, day);
        insert(&cache, "twice.test", RobotsAnswer::UNREACHABLE, day);
        insert(&cache, "stated.test", stated(45), day);
        drop(cache);
        let cache = RobotsCache::open(&path, Timestamp(0)).unwrap();
        let wait = |host| cache.standing(&url(host)).unwrap().0.0 / MINUTE;
        let waits = ["once.test", "twice.test", "stated.test"].map(wait);
        assert_eq!(waits, [10, 20, 45]);
    }

    #[test]
    fn thirty_days_without_an_answer_are_counted_over_restarts() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("robots.jsonl");
        let page = url("h.test");
        let (mut now, mut tries) = (0, 0);
        loop {
            let cache = RobotsCache::open(&path, Timestamp(now)).unwrap();
            now = insert(&cache, "h.test", RobotsAnswer::UNREACHABLE, now);
            tries += 1;
            if cache.lookup(&page, Timestamp(now - 1)) == Some(RobotsAnswer::AllowAll) {
                break;
            }
        }
        // As without restarts (a_host_without_an_answer_for_thirty_days_is_taken_to_have_no_file).
        assert_eq!((now / (24 * 60 * MINUTE), tries), (31, 38));
    }

    #[test]
    fn days_in_which_nobody_asked_are_not_days_without_an_answer() {
        let cache = RobotsCache::default();
        let day = 24 * 60 * MINUTE;
        insert(&cache, "h.test", RobotsAnswer::UNREACHABLE, 0);
        insert(&cache, "h.test", RobotsAnswer::UNREACHABLE, 40 * day);
        let known = cache.lookup(&url("h.test"), Timestamp(40 * day)).unwrap();
        assert!(!known.allows(&url("h.test")));
        let (_, failures) = cache.standing(&url("h.test")).unwrap();
        assert_eq!(failures, 1);
    }

    #[test]
    fn inserting_again_replaces_and_makes_young() {
        let cache = RobotsCache::with_bytes_max(ENTRY_BYTES * 3);
        for host in ["a.test", "b.test", "a.test", "c.test"] {
            insert(&cache, host, RobotsAnswer::AllowAll, 0);
        }
        assert!(cache.lookup(&url("a.test"), Timestamp(0)).is_some());
        assert!(cache.lookup(&url("b.test"), Timestamp(0)).is_none());
    }
}

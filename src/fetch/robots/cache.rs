//! The answers of all crawls, for a day.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

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
            })),
        }
    }

    /// The answer for the origin of `url`, if one is known that still holds at `now`.
    pub fn lookup(&self, url: &CanonicalUrl, now: Timestamp) -> Option<RobotsAnswer> {
        let state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let entry = state.entries.get(&Origin::of(url))?;
        (now < entry.expires).then(|| entry.answer.clone())
    }

    /// Until when the answer for the origin of `url` holds, and how often in a row it could not be had;
    /// `None` if there is no entry.
    pub fn standing(&self, url: &CanonicalUrl) -> Option<(Timestamp, u32)> {
        let state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let entry = state.entries.get(&Origin::of(url))?;
        Some((entry.expires, entry.failures))
    }

    /// Remembers the answer of an origin, got at `now`. Returns until when it holds.
    pub fn insert(&self, origin: Origin, answer: RobotsAnswer, now: Timestamp) -> Timestamp {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let before = state.remove(&origin);
        let before = before.filter(|entry| entry.failures > 0);
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
        let age = state.next_age;
        state.next_age += 1;
        let entry = Entry {
            answer,
            expires,
            age,
            failures,
            failing_since,
        };
        state.bytes += entry.bytes(&origin);
        state.by_age.insert(age, origin.clone());
        state.entries.insert(origin, entry);
        state.evict();
        expires
    }

    /// How many answers are held, fresh or not.
    pub fn len(&self) -> usize {
        let state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        state.entries.len()
    }

    /// Whether no answer is held.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

impl State {
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
    fn inserting_again_replaces_and_makes_young() {
        let cache = RobotsCache::with_bytes_max(ENTRY_BYTES * 3);
        for host in ["a.test", "b.test", "a.test", "c.test"] {
            insert(&cache, host, RobotsAnswer::AllowAll, 0);
        }
        assert!(cache.lookup(&url("a.test"), Timestamp(0)).is_some());
        assert!(cache.lookup(&url("b.test"), Timestamp(0)).is_none());
    }
}

//! The web of the killed crawl, which notes when it was asked for what.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use apprentice::archive::{Answer, Library};
use apprentice::clock::{Clock, SystemClock, Timestamp};
use apprentice::lab::toyweb::{ToyLibrary, ToyWeb};
use apprentice::url::CanonicalUrl;

/// The generated web, with failures that are tried again soon. A clone is the same one.
#[derive(Clone)]
pub(super) struct Watched {
    web: Arc<ToyLibrary>,
    clock: SystemClock,
    asked: Arc<Mutex<Vec<(CanonicalUrl, Timestamp)>>>,
}

impl Watched {
    pub(super) fn new(web: &Arc<ToyWeb>) -> Self {
        Self {
            web: Arc::new(ToyLibrary(Arc::clone(web))),
            clock: SystemClock::new(),
            asked: Arc::default(),
        }
    }

    pub(super) fn now(&self) -> Timestamp {
        self.clock.now()
    }

    /// Compares the requests of a crawler with what its log tells of them. `kills` are the moments of its
    /// deaths.
    ///
    /// # Panics
    /// If a URL was asked for again though the log has what came of it, or if a host was given no rest.
    pub(super) fn assert_asked_once(
        &self,
        booked: &[(CanonicalUrl, Timestamp)],
        kills: &[Timestamp],
        delay_ms: i64,
    ) {
        let life = |at: Timestamp| kills.partition_point(|kill| *kill < at);
        // Requests of a URL in a life less those that were booked: one may have been lost with it.
        let mut lost: BTreeMap<(&CanonicalUrl, usize), i64> = BTreeMap::new();
        let asked = self.asked.lock().unwrap_or_else(PoisonError::into_inner);
        let is_page = |url: &CanonicalUrl| !url.as_str().ends_with("/robots.txt");
        for (url, at) in asked.iter().filter(|(url, _)| is_page(url)) {
            *lost.entry((url, life(*at))).or_default() += 1;
        }
        for (url, at) in booked {
            *lost.entry((url, life(*at))).or_default() -= 1;
        }
        for ((url, life), lost) in &lost {
            let may_be_lost = i64::from(*life < kills.len());
            let is_right = (0..=may_be_lost).contains(lost);
            assert!(is_right, "{url}: {lost} requests unbooked in life {life}");
        }
        let mut last: BTreeMap<(String, usize), Timestamp> = BTreeMap::new();
        for (url, at) in asked.iter() {
            let host = (url.host_key().to_string(), life(*at));
            if let Some(before) = last.insert(host, *at) {
                let rest = at.0 - before.0;
                assert!(rest >= delay_ms, "{url}: asked after {rest} ms");
            }
        }
    }
}

impl Library for Watched {
    async fn answer(&self, url: &CanonicalUrl) -> Answer {
        let asked = (url.clone(), self.clock.now());
        self.asked
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .push(asked);
        let mut answer = self.web.answer(url).await;
        if answer.status == 500 {
            answer.status = 503;
            let soon = ("Retry-After".to_owned(), "1".to_owned());
            answer.headers.push(soon);
        }
        answer
    }
}

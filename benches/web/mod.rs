//! A made-up web of any size, and a crawl of it, for the benchmarks that need real pages and a real engine.

use std::sync::Arc;
use std::time::Duration;

use apprentice::booking::{CrawlState, Event, SeedsEvent, StateEvent};
use apprentice::clock::{SystemClock, Timestamp};
use apprentice::crawl::{EngineParts, Judge, LearnedFile, Pace, RobotsPolicy, SEED_PRIORITY};
use apprentice::critic::{ClassId, ClassScore, PageJudge, Verdict};
use apprentice::fetch::{FetchError, Outcome, Request, Response, Source};
use apprentice::frontier::{FrontierStore, HostCalendar, SledStore};
use apprentice::page::Page;
use apprentice::proto::v1;
use apprentice::url::CanonicalUrl;
use prost::Message;

/// What its pages are like.
#[derive(Clone, Copy)]
pub(crate) struct Web {
    /// Links of a page.
    pub(crate) links: u64,
    /// Those of them that lead to pages never heard of.
    pub(crate) new: u64,
    /// Words in and after each link.
    pub(crate) words_a_link: u64,
    /// Hosts in all.
    pub(crate) hosts: u64,
}

pub(crate) fn mixed(n: u64) -> u64 {
    let n = (n ^ n >> 31).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    (n ^ n >> 29).wrapping_mul(0xbf58_476d_1ce4_e5b9) ^ n >> 32
}

impl Web {
    fn url(self, number: u64) -> String {
        let host = mixed(number) % self.hosts;
        format!("http://h{host}.test/d{}/{number}.html", number % 7)
    }

    /// Page `number`: links to its children, and to pages before it.
    fn html(self, number: u64) -> String {
        let mut body = String::from("<title>a page of words</title>");
        for link in 0..self.links {
            let target = if link < self.new {
                number * self.new + link + 1
            } else {
                mixed(number * self.links + link) % (number + 1)
            };
            let at = (number * self.links + link) * self.words_a_link;
            let words: Vec<String> = (at..at + self.words_a_link)
                .map(|n| format!("w{}", mixed(n) % 3000))
                .collect();
            let (own, around) = words.split_at(3.min(words.len()));
            body.push_str("<li class=item><a href='");
            body.push_str(&self.url(target));
            body.push_str("'>");
            body.push_str(&own.join(" "));
            body.push_str("</a> ");
            body.push_str(&around.join(" "));
            body.push_str("<br>");
        }
        body
    }

    /// The first events of a crawl of it, by discovery.
    pub(crate) fn begin(self, store: &SledStore, pages: u64, at: Timestamp) {
        let spec = v1::CrawlSpec {
            name: "bench".into(),
            topics: vec!["all".into()],
            critic: "given".into(),
            seeds: vec![self.url(0)],
            order: "breadth-first".into(),
            budget: pages,
            limits: Some(v1::Limits {
                in_flight_max: 4,
                delay_ms_min: Some(0),
                ..Default::default()
            }),
            ..Default::default()
        };
        let urls = vec![CanonicalUrl::parse(&self.url(0)).unwrap()];
        store.append(Event::SpecChange(spec.encode_to_vec()));
        store.append(Event::State(StateEvent {
            state: CrawlState::Running,
            reason: "created".into(),
            at,
        }));
        store.append(Event::Seeds(SeedsEvent {
            urls,
            priority: SEED_PRIORITY,
            at,
        }));
    }
}

/// What an engine that crawls such a web is made of.
pub(crate) fn parts<S>(
    source: Arc<S>,
    store: &Arc<SledStore>,
    pace: Pace,
    learned: Option<LearnedFile>,
) -> EngineParts<S, SystemClock> {
    EngineParts {
        source,
        clock: SystemClock::new(),
        judge: Judge::Near(Arc::new(Words(vec!["all".to_owned()]))),
        store: Arc::clone(store) as Arc<dyn FrontierStore>,
        calendar: HostCalendar::default(),
        robots: RobotsPolicy::Ignore,
        pace,
        world: None,
        parsers: 1,
        guard_note: String::new(),
        needs_contact: false,
        scorer: None,
        start: None,
        learned,
        opening: Arc::default(),
    }
}

impl Source for Web {
    async fn fetch(&self, request: Request) -> Outcome {
        let number = request.url.as_str().rsplit('/').next();
        let number = number.and_then(|name| name.trim_end_matches(".html").parse().ok());
        let Some(number) = number else {
            return Outcome::Failure(FetchError::Status {
                code: 404,
                retry_after: None,
            });
        };
        Outcome::Response(Response {
            status: 200,
            content_type: Some("text/html".to_owned()),
            robots_tag: None,
            body: self.html(number).into_bytes().into(),
            truncated: false,
            answer_time: Duration::ZERO,
        })
    }
}

/// Judges a page by its words: a third of them speak of the topic.
struct Words(Vec<String>);

impl PageJudge for Words {
    fn judge_batch(&self, pages: &[&Page]) -> Vec<Verdict> {
        let verdict = |page: &&Page| {
            let sum: usize = page.vocabulary.iter().map(String::len).sum();
            let log_odds = if (sum + page.words.len()).is_multiple_of(3) {
                40.0
            } else {
                -60.0
            };
            Verdict {
                log_odds,
                calibrated_log_odds: log_odds,
                best: vec![ClassScore {
                    class: ClassId(0),
                    log_posterior: -0.05,
                }],
                near_focus: false,
                version: 1,
            }
        };
        pages.iter().map(verdict).collect()
    }

    fn class_names(&self) -> &[String] {
        &self.0
    }

    fn term_weights(&self) -> Vec<(String, f32)> {
        (0_u8..200)
            .map(|n| (format!("w{n}"), f32::from(n % 7) - 3.0))
            .collect()
    }
}

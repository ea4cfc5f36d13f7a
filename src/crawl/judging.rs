//! Pages on their way to a judge that is elsewhere, and the patience with it.
//!
//! Such a judge is asked by the engine: pages that were fetched and read wait here, and one batch at a
//! time is out. A batch holds what has come by the time that the one before is answered, so that a slow
//! judge gets large ones and a fast one is not waited for. A page stays until it has a verdict: if the
//! judge fails, the batch goes back to the front and the crawl waits, leases nothing, and asks again.

use std::collections::VecDeque;
use std::ops::Deref;
use std::sync::Arc;
use std::time::Duration;

use prost::Message;
use tokio_util::task::AbortOnDropHandle;

use super::engine::Engine;
use super::error::EngineError;
use super::lease_task::{JudgedPage, ReadPage, first_class, source_facts};
use super::spec::JudgedBy;
use crate::booking::{CrawlState, LeaseFacts};
use crate::clock::{Clock, Timestamp};
use crate::critic::{FarJudge, JudgeAway, PageJudge, Teachable, Verdict};
use crate::features::PageSketch;
use crate::fetch::Source;
use crate::proto::v1;

/// With this many bytes of pages without a verdict nothing more is leased.
pub(super) const UNJUDGED_BYTES_MAX: usize = 64 << 20;
/// A judge that has failed is asked again after this long, then after twice as long and so on ..
const RETRY_FIRST: Duration = Duration::from_millis(500);
/// .. up to this.
const RETRY_MAX: Duration = Duration::from_secs(30);
/// A crawl that is closed waits no longer for a judge that does not say that it is gone.
const CLOSING_PATIENCE: Duration = Duration::from_secs(5);

/// Who judges the pages of a crawl.
#[derive(Clone)]
pub enum Judge {
    /// One in this process: it is asked on the blocking pool, right after the page was read.
    Near(Arc<dyn PageJudge>),
    /// One that may be gone. In a replay its answers leave their trace, unless one page at a time is
    /// in flight.
    Far(Arc<dyn FarJudge>),
}

/// The names of a judge's classes.
pub enum ClassNames<'a> {
    /// They never change.
    Fixed(&'a [String]),
    /// Those known by now.
    Known(Arc<[String]>),
}

impl Deref for ClassNames<'_> {
    type Target = [String];

    fn deref(&self) -> &[String] {
        match self {
            Self::Fixed(names) => names,
            Self::Known(names) => names,
        }
    }
}

impl Judge {
    /// A judge in this process.
    pub fn near(judge: impl PageJudge) -> Self {
        Self::Near(Arc::new(judge))
    }

    /// As one that can be taught, if it can.
    pub(super) fn teachable(&self) -> Option<&dyn Teachable> {
        match self {
            Self::Near(judge) => judge.teachable(),
            Self::Far(_) => None,
        }
    }

    /// What it holds of single words; nothing if it is elsewhere.
    pub(super) fn term_weights(&self) -> Vec<(String, f32)> {
        match self {
            Self::Near(judge) => judge.term_weights(),
            Self::Far(_) => Vec::new(),
        }
    }

    /// The names of its classes, by number.
    pub fn class_names(&self) -> ClassNames<'_> {
        match self {
            Self::Near(judge) => ClassNames::Fixed(judge.class_names()),
            Self::Far(judge) => ClassNames::Known(judge.class_names()),
        }
    }
}

/// A page that has no verdict yet. Its host has been given back, its link is still leased.
pub(super) struct Unjudged {
    /// The number of its lease.
    pub(super) lease: u64,
    pub(super) facts: LeaseFacts,
    pub(super) read: ReadPage,
    /// As the judge is shown it.
    pub(super) shown: v1::JudgePage,
}

impl Unjudged {
    /// About what it takes in memory.
    fn bytes(&self) -> usize {
        // What is kept of the page itself is larger than its evidence, which is packed.
        3 * self.read.evidence.len() + self.shown.encoded_len()
    }
}

/// What came of asking: the pages, and the verdicts on them or why there are none.
pub(super) struct Answer {
    pages: Vec<Unjudged>,
    verdicts: Result<Vec<Verdict>, JudgeAway>,
}

/// Whether the judge is there, as far as is known.
enum Standing {
    Unknown,
    There,
    Away {
        why: JudgeAway,
        /// How often in a row it was not there.
        tries: u32,
        retry_at: Timestamp,
    },
}

/// What waits for a far judge; nothing ever for a near one.
pub(super) struct Judging {
    far: Option<Arc<dyn FarJudge>>,
    queue: VecDeque<Unjudged>,
    /// Pages of the batch that is out.
    out_pages: usize,
    pub(super) out: Option<AbortOnDropHandle<Answer>>,
    /// Of all pages without a verdict.
    bytes: usize,
    standing: Standing,
    /// Halved when a batch fails, so that a page that nobody can judge stands alone in the end.
    batch_max: usize,
    /// How long the judge is waited for when the crawl closes.
    closing_until: Option<Timestamp>,
}

impl Judging {
    pub(super) fn new(judge: &Judge) -> Self {
        Self {
            far: match judge {
                Judge::Near(_) => None,
                Judge::Far(judge) => Some(Arc::clone(judge)),
            },
            queue: VecDeque::new(),
            out_pages: 0,
            out: None,
            bytes: 0,
            standing: Standing::Unknown,
            batch_max: usize::MAX,
            closing_until: None,
        }
    }

    /// The judge may have moved: then it is asked there, at once if it was away.
    pub(super) fn set_judge(&mut self, judged_by: &JudgedBy) {
        let (Some(far), JudgedBy::Judge(options)) = (&self.far, judged_by) else {
            return;
        };
        if far.move_to(options) && self.is_away() {
            self.standing = Standing::Unknown;
        }
    }

    /// Pages without a verdict.
    pub(super) fn unjudged(&self) -> usize {
        self.queue.len() + self.out_pages
    }

    /// Whether more pages may be fetched for this judge.
    pub(super) fn takes_more(&self) -> bool {
        self.far.is_none()
            || matches!(self.standing, Standing::There) && self.bytes < UNJUDGED_BYTES_MAX
    }

    pub(super) fn push(&mut self, page: Unjudged) {
        self.bytes += page.bytes();
        self.queue.push_back(page);
    }

    /// Why the crawl waits for the judge, in words, if it does.
    pub(super) fn why_waiting(&self, now: Timestamp) -> Option<String> {
        let place = self.far.as_ref()?.place();
        let pages = match self.unjudged() {
            0 => String::new(),
            1 => "; 1 page waits for its verdict".to_owned(),
            pages => format!("; {pages} pages wait for their verdicts"),
        };
        match &self.standing {
            Standing::There if self.unjudged() == 0 => None,
            Standing::There => Some(format!("the judge at {place} is at work{pages}")),
            Standing::Unknown => Some(format!(
                "waiting for judge at {place}: it has not answered yet{pages}"
            )),
            Standing::Away { why, retry_at, .. } => {
                let wait = retry_at.since(now).as_secs_f64();
                let culprit = match self.queue.front() {
                    Some(page) if self.batch_max == 1 && is_answer(why) => {
                        format!(" (asked about {} alone)", page.facts.url)
                    }
                    _ => String::new(),
                };
                Some(format!(
                    "waiting for judge at {place}: {why}{culprit}; it is asked again in {wait:.1} s{pages}"
                ))
            }
        }
    }

    /// Whether it is away for certain.
    pub(super) fn is_away(&self) -> bool {
        self.far.is_some() && !matches!(self.standing, Standing::There)
    }

    /// When the judge is to be asked next, if it is: for verdicts, or (`greets`) whether it is there.
    fn due(&self, greets: bool) -> Option<Timestamp> {
        if self.far.is_none() || self.out.is_some() {
            return None;
        }
        match self.standing {
            _ if self.queue.is_empty() && !greets => None,
            Standing::There if self.queue.is_empty() => None,
            Standing::Away { retry_at, .. } => Some(retry_at),
            Standing::There | Standing::Unknown => Some(Timestamp(0)),
        }
    }

    /// Sends a batch out, or, with no page at hand, asks whether the judge is there.
    fn ask(&mut self) {
        let Some(far) = self.far.clone() else { return };
        let limits = far.batch_limits();
        let pages_max = limits.pages_max.min(self.batch_max).max(1);
        let mut pages = Vec::new();
        let mut bytes = 0;
        while let Some(next) = self.queue.front() {
            bytes += next.shown.encoded_len() + 16;
            let full = pages.len() == pages_max || bytes > limits.bytes_max;
            if full && !pages.is_empty() {
                break;
            }
            pages.extend(self.queue.pop_front());
        }
        self.out_pages = pages.len();
        self.out = Some(AbortOnDropHandle::new(tokio::spawn(async move {
            let shown: Vec<_> = pages.iter().map(|page| &page.shown).collect();
            let verdicts = if shown.is_empty() {
                far.greet().await.map(|()| Vec::new())
            } else {
                far.judge(&shown).await
            };
            Answer { pages, verdicts }
        })));
    }

    /// What an answer makes of the standing; gives the pages that have verdicts now.
    fn take(&mut self, answer: Answer, now: Timestamp) -> Vec<(Unjudged, Verdict)> {
        self.out = None;
        self.out_pages = 0;
        let Answer { pages, verdicts } = answer;
        match verdicts {
            Ok(verdicts) => {
                debug_assert_eq!(verdicts.len(), pages.len(), "one verdict a page");
                self.standing = Standing::There;
                self.batch_max = self.batch_max.saturating_mul(2);
                for page in &pages {
                    self.bytes = self.bytes.saturating_sub(page.bytes());
                }
                pages.into_iter().zip(verdicts).collect()
            }
            Err(why) => {
                if !pages.is_empty() && why.may_lie_with_the_pages() {
                    self.batch_max = (pages.len() / 2).max(1);
                }
                for page in pages.into_iter().rev() {
                    self.queue.push_front(page);
                }
                let tries = match self.standing {
                    Standing::Away { tries, .. } => tries + 1,
                    Standing::Unknown | Standing::There => 0,
                };
                let wait = RETRY_FIRST.saturating_mul(1 << tries.min(16));
                self.standing = Standing::Away {
                    why,
                    tries,
                    retry_at: now.after(wait.min(RETRY_MAX)),
                };
                Vec::new()
            }
        }
    }

    /// Lets all pages without a verdict go.
    fn abandon(&mut self) {
        self.out = None;
        self.out_pages = 0;
        self.queue.clear();
        self.bytes = 0;
    }
}

/// The judge was there and said something.
fn is_answer(why: &JudgeAway) -> bool {
    matches!(why, JudgeAway::Refused { .. } | JudgeAway::BadAnswer(_))
}

impl<S: Source, C: Clock> Engine<S, C> {
    /// A crawl that runs wants to know that its judge is there before it leases; one that does not
    /// only asks for verdicts on what it has.
    fn greets_judge(&self) -> bool {
        self.state.0 == CrawlState::Running && !self.is_closing()
    }

    /// When the judge has to be asked, or is no longer waited for.
    pub(super) fn wake_for_judge(&self) -> Option<Timestamp> {
        let due = self.judging.due(self.greets_judge());
        due.into_iter().chain(self.judging.closing_until).min()
    }

    pub(super) fn ask_judge_if_due(&mut self) {
        self.abandon_unjudged_if_closing();
        let now = self.bench.clock.now();
        let due = self.judging.due(self.greets_judge());
        if due.is_some_and(|due| due <= now) {
            self.judging.ask();
        }
    }

    /// A page without a verdict cannot be booked, and a crawl that closes does not wait for a judge
    /// that is away: the link waits in the log as before and is fetched again.
    fn abandon_unjudged_if_closing(&mut self) {
        let pages = self.judging.unjudged();
        let ends = self.is_closing() && self.tasks.is_empty();
        if !ends || pages == 0 {
            self.judging.closing_until = None;
            return;
        }
        let now = self.bench.clock.now();
        let until = *(self.judging.closing_until).get_or_insert(now.after(CLOSING_PATIENCE));
        if self.judging.is_away() || now >= until {
            tracing::warn!(
                crawl = self.spec.name,
                pages,
                "closing without the judge: pages that have no verdict will be fetched again"
            );
            self.judging.abandon();
            self.judging.closing_until = None;
        }
    }

    pub(super) fn take_judged(&mut self, answer: Answer) -> Result<(), EngineError> {
        let was_away = self.judging.is_away();
        let now = self.bench.clock.now();
        for (page, verdict) in self.judging.take(answer, now) {
            let Unjudged {
                lease, facts, read, ..
            } = page;
            let sketch = self.bench.weights.as_ref().map(|weights| {
                let names = self.bench.judge.class_names();
                let class = first_class(&verdict);
                let source = source_facts(verdict.log_odds, class, &names, facts.depth);
                Arc::new(PageSketch::new(&facts.url, &read.page, source, weights))
            });
            let judged = JudgedPage {
                read,
                verdict,
                sketch,
            };
            self.book_judged(lease, facts, judged)?;
        }
        let crawl = &self.spec.name;
        match (&self.judging.standing, was_away) {
            (Standing::Away { why, .. }, false) => {
                tracing::warn!(crawl, %why, "waiting for judge");
            }
            (Standing::Away { why, .. }, true) => {
                tracing::debug!(crawl, %why, "still waiting for judge");
            }
            (Standing::There, true) => tracing::info!(crawl, "the judge answers"),
            (Standing::There | Standing::Unknown, _) => {}
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::critic::{JudgeAddress, RemoteJudge, RemoteOptions};
    use crate::fetch::Response;
    use crate::page::Page;
    use crate::url::CanonicalUrl;

    fn page(evidence: usize) -> Unjudged {
        Unjudged {
            lease: 1,
            facts: LeaseFacts {
                url: CanonicalUrl::parse("http://a.test/").unwrap(),
                references: Vec::new(),
                depth: 0,
                is_seed: true,
                priority: 0.0,
                leased_at: Timestamp(0),
                finished_at: Timestamp(0),
                requests: 1,
                host_next_at: Timestamp(0),
            },
            read: ReadPage {
                response: Response {
                    status: 200,
                    content_type: None,
                    robots_tag: None,
                    body: bytes::Bytes::new(),
                    truncated: false,
                    answer_time: Duration::ZERO,
                },
                page: Page::default(),
                evidence: vec![0; evidence],
                body_bytes: 0,
                body_digest: 0,
                targets: Vec::new(),
                hosts: Vec::new(),
                sketch: None,
                kept: None,
            },
            shown: v1::JudgePage::default(),
        }
    }

    fn judging() -> Judging {
        let options = RemoteOptions {
            address: JudgeAddress::parse("unix:/nowhere").unwrap(),
            ca_file: None,
            token_file: None,
            deadline: Duration::from_secs(1),
            pages_max: 1,
            topics: Vec::new(),
        };
        Judging::new(&Judge::Far(Arc::new(RemoteJudge::new(options))))
    }

    fn answered(pages: Vec<Unjudged>, verdicts: Result<Vec<Verdict>, JudgeAway>) -> Answer {
        Answer { pages, verdicts }
    }

    fn gone() -> JudgeAway {
        JudgeAway::Unreachable("gone".to_owned())
    }

    #[test]
    fn pages_without_a_verdict_are_bounded_in_bytes() {
        let mut judging = judging();
        assert!(!judging.takes_more(), "nobody knows whether it is there");
        judging.take(answered(Vec::new(), Ok(Vec::new())), Timestamp(0));
        // 12 MiB each as they are reckoned.
        for pages in 1..=6 {
            assert!(judging.takes_more(), "{pages}");
            judging.push(page(4 << 20));
        }
        assert!(!judging.takes_more());
        let verdict = Verdict {
            log_odds: 0.0,
            calibrated_log_odds: 0.0,
            best: Vec::new(),
            near_focus: false,
            version: 1,
        };
        let first = judging.queue.pop_front().into_iter().collect();
        assert_eq!(
            judging
                .take(answered(first, Ok(vec![verdict])), Timestamp(0))
                .len(),
            1
        );
        assert!(judging.takes_more());
        judging.abandon();
        assert_eq!((judging.bytes, judging.unjudged()), (0, 0));
    }

    #[test]
    fn a_judge_that_is_away_is_asked_less_and_less_often_but_at_least_every_half_minute() {
        let mut judging = judging();
        assert_eq!(judging.due(false), None);
        assert_eq!(judging.due(true), Some(Timestamp(0)));
        let waits: Vec<_> = (0..100)
            .map(|_| {
                judging.take(answered(Vec::new(), Err(gone())), Timestamp(1_000));
                judging
                    .due(true)
                    .unwrap()
                    .since(Timestamp(1_000))
                    .as_millis()
            })
            .collect();
        let first = [500, 1_000, 2_000, 4_000, 8_000, 16_000, 30_000, 30_000];
        assert_eq!(waits[..8], first);
        assert_eq!(waits.last(), Some(&30_000));
        judging.take(answered(Vec::new(), Ok(Vec::new())), Timestamp(0));
        judging.take(answered(Vec::new(), Err(gone())), Timestamp(0));
        assert_eq!(judging.due(true), Some(Timestamp(500)));
    }

    #[test]
    fn a_batch_that_fails_goes_back_to_the_front_in_its_order() {
        let mut judging = judging();
        let batch = vec![page(1), page(2), page(3)];
        judging.push(page(4));
        judging.take(answered(batch, Err(gone())), Timestamp(0));
        let sizes: Vec<_> = judging
            .queue
            .iter()
            .map(|page| page.read.evidence.len())
            .collect();
        assert_eq!(sizes, [1, 2, 3, 4]);
        assert_eq!(judging.batch_max, 1);
    }
}

//! What the crawl's critic is told: marks of booked pages, and the judge that has learned them.
//!
//! The critic of a crawl is the model that it was given and, of the marks in its log, the last one of each
//! page. A mark changes what comes: pages that are fetched from then on are judged by the new version,
//! and each booked judgement names its version. What is booked stays, the priorities of waiting links
//! with it. A page's words are in its evidence, so that nothing is fetched again.

use std::collections::BTreeMap;

use super::engine::Engine;
use super::error::EngineError;
use super::handle::CrawlError;
use super::judging::Judge;
use super::spec::check_seeds;
use crate::booking::{Event, FeedbackEvent, Mark, PageBooking, Seq};
use crate::clock::Clock;
use crate::critic::{ClassId, Lesson, Teachable, relevance_of};
use crate::fetch::Source;
use crate::frontier::{FrontierStore, LinkState, StoreFailure};
use crate::page::Page;
use crate::proto::v1;
use crate::proto::v1::Opinion;
use crate::taxonomy::Focus;
use crate::url::CanonicalUrl;

/// URLs that one call marks at most: their pages are read and judged while the engine waits.
const URLS_MAX: usize = 1_000;
/// Pages that a crawl's critic learns from marks, at most; they are held in memory.
const MARKS_MAX: usize = 10_000;

/// The marks in force.
pub(super) struct Teaching {
    /// The judge that the crawl was given.
    base: Judge,
    /// What each marked page teaches, by the event that booked it.
    lessons: BTreeMap<Seq, (ClassId, Lesson)>,
    /// Of the judge that has learned them; 0 for one without versions.
    version: u64,
}

/// A page that is marked, and as what.
struct Marked {
    seq: Seq,
    url: CanonicalUrl,
    page: Page,
    relevance: f64,
    class: Option<ClassId>,
}

impl Teaching {
    pub(super) fn new(base: &Judge) -> Self {
        Self {
            version: base.teachable().map_or(0, Teachable::version),
            base: base.clone(),
            lessons: BTreeMap::new(),
        }
    }

    /// The judge that has learned the marks of `events`, in their order.
    ///
    /// # Errors
    /// [`EngineError`] if a page cannot be read, or the judge is one that cannot have learned it.
    pub(super) fn fold(
        &mut self,
        events: &[FeedbackEvent],
        store: &dyn FrontierStore,
    ) -> Result<Judge, EngineError> {
        let mut marks = BTreeMap::new();
        for event in events {
            self.version = event.version;
            marks.extend(event.marks.iter().map(|mark| (mark.page, mark.class)));
        }
        if events.is_empty() {
            return Ok(self.base.clone());
        }
        let base = self.base.clone();
        let teachable = base.teachable().ok_or_else(|| {
            EngineError::Spec(
                "its log has marks of pages, and its judge cannot be taught".to_owned(),
            )
        })?;
        for (seq, class) in marks {
            let Some(class) = class.map(ClassId) else {
                continue;
            };
            if usize::from(class.0) >= base.class_names().len() {
                let words = format!(
                    "event {} is marked as of a class that the critic has not",
                    seq.0
                );
                return Err(EngineError::Spec(words));
            }
            let url = match store.event(seq)? {
                Some(Event::Page(page)) => page.lease.url,
                _ => return Err(StoreFailure(format!("marked event {} is no page", seq.0)).into()),
            };
            let lesson = teachable.lesson(url.as_str(), &store.page(seq)?, class);
            self.lessons.insert(seq, (class, lesson));
        }
        Ok(self.judge(teachable))
    }

    fn judge(&self, base: &dyn Teachable) -> Judge {
        let mut lessons = self.lessons.values().map(|(_, lesson)| lesson);
        Judge::Near(base.taught(&mut lessons, self.version))
    }

    /// The judge that the crawl was given.
    pub(super) fn base(&self) -> &Judge {
        &self.base
    }

    pub(super) fn base_version(&self) -> u64 {
        self.base.teachable().map_or(0, Teachable::version)
    }

    /// Whether a mark changes nothing.
    fn knows(&self, marked: &Marked) -> bool {
        self.lessons.get(&marked.seq).map(|(class, _)| *class) == marked.class
    }
}

impl<S: Source, C: Clock> Engine<S, C> {
    /// Books what is said of pages and lets the critic learn it.
    pub(super) fn feedback(
        &mut self,
        request: &v1::FeedbackRequest,
    ) -> Result<(Seq, v1::FeedbackResponse), CrawlError> {
        let base = self.teaching.base.clone();
        let teachable = base.teachable().ok_or_else(|| {
            CrawlError::State("the judge of this crawl cannot be taught by marks".to_owned())
        })?;
        let marked = self.marked(request, teachable)?;
        if marked.iter().all(|marked| self.teaching.knows(marked)) {
            return Ok((self.store.last(), self.answer(&marked)));
        }
        let fresh = marked.iter().filter(|marked| {
            marked.class.is_some() && !self.teaching.lessons.contains_key(&marked.seq)
        });
        if self.teaching.lessons.len() + fresh.count() > MARKS_MAX {
            return Err(CrawlError::State(format!(
                "a crawl learns from at most {MARKS_MAX} marks; export its critic, and start another \
                 crawl with it"
            )));
        }
        self.teaching.version = self.teaching.version.saturating_add(1);
        let seq = self.append(Event::Feedback(FeedbackEvent {
            marks: marked.iter().map(Marked::mark).collect(),
            version: self.teaching.version,
            at: self.bench.clock.now(),
        }));
        for marked in &marked {
            match marked.class {
                Some(class) => {
                    let lesson = teachable.lesson(marked.url.as_str(), &marked.page, class);
                    self.teaching.lessons.insert(marked.seq, (class, lesson));
                }
                None => {
                    self.teaching.lessons.remove(&marked.seq);
                }
            }
        }
        // Tasks in flight hold the old judge and book its version.
        self.bench.judge = self.teaching.judge(teachable);
        Ok((seq, self.answer(&marked)))
    }

    fn answer(&self, marked: &[Marked]) -> v1::FeedbackResponse {
        let names = self.teaching.base.class_names();
        let pages = marked.iter().map(|marked| v1::MarkedPage {
            url: marked.url.as_str().to_owned(),
            topic: marked
                .class
                .and_then(|class| names.get(usize::from(class.0)).cloned())
                .unwrap_or_default(),
            relevance_booked: marked.relevance,
            relevance_now: match &self.bench.judge {
                Judge::Near(judge) => judge.judge(&marked.page).relevance(),
                // It cannot be taught, so that there is nothing marked.
                Judge::Far(_) => marked.relevance,
            },
        });
        v1::FeedbackResponse {
            critic_version: self.teaching.version,
            marks: self.teaching.lessons.len() as u64,
            pages: pages.collect(),
        }
    }

    /// The pages of a request, each with the class that it is to be counted in.
    fn marked(
        &self,
        request: &v1::FeedbackRequest,
        teachable: &dyn Teachable,
    ) -> Result<Vec<Marked>, CrawlError> {
        let refused = |words: String| Err(CrawlError::Feedback(words));
        let urls = check_seeds("urls", &request.urls)?;
        if urls.is_empty() || urls.len() > URLS_MAX {
            return refused(format!(
                "{} URLs; give 1 to {URLS_MAX} in one call",
                urls.len()
            ));
        }
        if request.opinion() == Opinion::Unspecified {
            return refused(
                "no opinion; say right, wrong, relevant, irrelevant or forget".to_owned(),
            );
        }
        let topic = match request.topic.as_str() {
            "" => None,
            topic => Some((topic, self.class_named(topic)?)),
        };
        let mut marked: Vec<Marked> = Vec::with_capacity(urls.len());
        for url in urls {
            let (seq, booking) = self.booked_page(&url)?;
            if marked.iter().any(|other| other.seq == seq) {
                continue;
            }
            let page = self.store.page(seq)?;
            let relevance = relevance_of(booking.judgement.log_odds);
            let class = match wanted_side(request.opinion(), relevance >= 0.5) {
                None if !self.teaching.lessons.contains_key(&seq) => {
                    return refused(format!("{url} has no mark to forget"));
                }
                None => None,
                Some(relevant) => Some(match topic {
                    Some((_, class)) if teachable.in_focus(class) == relevant => class,
                    Some((topic, _)) => return refused(wrong_side(&url, topic, relevant)),
                    None => self.best_class(&booking, &page, relevant, teachable),
                }),
            };
            marked.push(Marked {
                seq,
                url,
                page,
                relevance,
                class,
            });
        }
        Ok(marked)
    }

    /// The class of that side that the page was judged to be of, or next best; as booked, or if none of
    /// the best classes lies there, as the critic sees it now.
    fn best_class(
        &self,
        booking: &PageBooking,
        page: &Page,
        relevant: bool,
        teachable: &dyn Teachable,
    ) -> ClassId {
        let booked = booking
            .judgement
            .best
            .iter()
            .map(|(class, _)| ClassId(*class));
        let mut booked = booked.filter(|class| teachable.in_focus(*class) == relevant);
        let now = self.bench.judge.teachable().unwrap_or(teachable);
        booked
            .next()
            .unwrap_or_else(|| now.best_class(page, relevant))
    }

    fn class_named(&self, topic: &str) -> Result<ClassId, CrawlError> {
        let names = self.teaching.base.class_names();
        if let Some(place) = names.iter().position(|name| name == topic) {
            return Ok(ClassId(u16::try_from(place).unwrap_or(u16::MAX)));
        }
        // A topic above classes is known to the critic, and yet no class.
        Focus::new([topic])?.members(&names)?;
        Err(CrawlError::Feedback(format!(
            "topic {topic:?} has topics below it; name one of those"
        )))
    }

    fn booked_page(&self, url: &CanonicalUrl) -> Result<(Seq, PageBooking), CrawlError> {
        let no_page = |why: String| {
            Err(CrawlError::NoPage(format!(
                "{url} is no page of this crawl: {why}"
            )))
        };
        let known = self.frontier.lookup(url.id(), self.bench.clock.now());
        let Some(known) = known else {
            return no_page("it is not known".to_owned());
        };
        let seq = match known.state {
            LinkState::Fetched(seq) => seq,
            LinkState::Waiting => return no_page("it waits to be fetched".to_owned()),
            LinkState::Leased => return no_page("it is being fetched".to_owned()),
            LinkState::Refused(refusal, _) => {
                return no_page(format!("it was refused: {}", refusal.name()));
            }
        };
        match self.store.event(seq)? {
            Some(Event::Page(page)) => Ok((seq, page)),
            Some(Event::Redirect(redirect)) => {
                no_page(format!("it led to {}; mark that", redirect.target))
            }
            Some(Event::Failure(failure)) => {
                no_page(format!("its fetch failed: {}", failure.cause))
            }
            _ => no_page(format!("event {} is missing from the log", seq.0)),
        }
    }
}

impl Marked {
    fn mark(&self) -> Mark {
        Mark {
            page: self.seq,
            class: self.class.map(|class| class.0),
        }
    }
}

/// The side of the focus that an opinion puts a page on; `None` for no opinion.
fn wanted_side(opinion: Opinion, judged_relevant: bool) -> Option<bool> {
    match opinion {
        Opinion::Right => Some(judged_relevant),
        Opinion::Wrong => Some(!judged_relevant),
        Opinion::Relevant => Some(true),
        Opinion::Irrelevant => Some(false),
        Opinion::Forget | Opinion::Unspecified => None,
    }
}

fn wrong_side(url: &CanonicalUrl, topic: &str, relevant: bool) -> String {
    if relevant {
        format!("{url} is to be relevant, and topic {topic:?} lies outside of the focus")
    } else {
        format!("{url} is to be irrelevant, and topic {topic:?} lies in the focus")
    }
}

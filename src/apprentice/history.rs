//! What the crawl has seen so far, as the dynamic features of a link need it (DESIGN.md 4.3).
//!
//! A link that waits has not been judged, so nothing here can hold its own label; what is computed
//! for it when it is leased is kept with the lease and never computed again.

use std::cell::Cell;

use super::counts::Counts;
use super::frozen::{Dynamic, LinkView};
use super::instance::{Instance, logit, sigmoid};
use super::shared::SharedMap;
use crate::features::{FeatureSpec, LinkSketch, PageSketch};
use crate::url::UrlId;

/// How many pages' worth of trust the level above gets in a shrunken mean.
const SHRINKAGE: f32 = 3.0;
/// R(w) from here on is HIGH in the co-citation features.
const HIGH_FROM: f32 = 0.5;

/// A sum of relevances.
#[derive(Clone, Copy, Debug, Default, PartialEq, serde::Serialize, serde::Deserialize)]
struct Mean {
    pages: f32,
    sum: f32,
}

impl Mean {
    fn add(&mut self, relevance: f32) {
        self.pages += 1.0;
        self.sum += relevance;
    }

    fn take_out(&mut self, relevance: f32) {
        self.pages -= 1.0;
        self.sum -= relevance;
    }

    /// (sum + s m) / (n + s), m being the mean of the level above.
    fn shrunk(self, above: f32) -> f32 {
        (self.sum + SHRINKAGE * above) / (self.pages + SHRINKAGE)
    }
}

/// See the module.
#[derive(Clone, Debug, Default, serde::Serialize, serde::Deserialize)]
pub struct History {
    judged: SharedMap<UrlId, f32>,
    /// Those of `judged` that could not be had, so that no mean counts them.
    lost: SharedMap<UrlId, ()>,
    all: Mean,
    hosts: SharedMap<u64, Mean>,
    folders: SharedMap<u64, Mean>,
    /// Judged pages that link to a target, by its fingerprint.
    parents: Counts,
    /// Judged pages of a host that have a link in its place, by both.
    blocks: Counts,
}

/// What [`History::hide`] took out.
#[derive(Clone, Copy, Debug)]
pub(super) struct Hidden {
    judged: Option<f32>,
    /// The means of all, of its host and of its folder as they were. To take a number out of a sum and add it
    /// again is not to have the sum back.
    counted: Option<[Mean; 3]>,
}

/// What is known around the links of one page, and what is the same for all of them.
#[derive(Debug, Default)]
pub(super) struct Around {
    /// (first leaf, last leaf, R) of the links whose targets were judged, in document order.
    judged: Vec<(u32, u32, f32)>,
    /// See [`dense::SUCCESS`](super::dense::SUCCESS) and [`dense::FOLLOWED`](super::dense::FOLLOWED).
    success: f32,
    followed: f32,
    /// R of all pages, and its logit.
    all: f32,
    all_logit: f32,
    /// 1 if the page itself is counted.
    own: u16,
    /// Other pages of its host.
    pages: f32,
    /// Host and folder of the last link, with what they say: most links of a page lead to one place.
    last: Cell<Option<Place>>,
}

/// What is known of a host and a folder.
#[derive(Clone, Copy, Debug)]
struct Place {
    host: u64,
    folder: Option<u64>,
    numbers: [f32; 2],
}

impl History {
    /// Takes in that the page of `sketch` was judged.
    pub fn add(&mut self, sketch: &PageSketch) {
        let relevance = sigmoid(sketch.facts.log_odds);
        if self.judged.insert(sketch.id, relevance).is_some() {
            return;
        }
        self.count(sketch.host(), sketch.folder(), |mean| mean.add(relevance));
        count_once(
            &mut self.parents,
            sketch.links.iter().map(|link| link.target.0),
        );
        let blocks = sketch.links.iter().map(|link| block_on(sketch, link));
        count_once(&mut self.blocks, blocks);
    }

    /// Takes in that a URL could not be had: nothing is known of it, but that it is lost.
    pub fn add_lost(&mut self, id: UrlId) {
        if self.judged.insert(id, 0.0).is_none() {
            self.lost.insert(id, ());
        }
    }

    /// Takes out what is known of the link's own target, as if it had not been judged.
    pub(super) fn hide(&mut self, link: &LinkSketch) -> Hidden {
        let judged = self.judged.remove(link.target);
        let counted = judged.filter(|_| !self.lost.contains_key(link.target));
        let counted = counted.map(|relevance| {
            let host = self.hosts.get(link.host).copied().unwrap_or_default();
            let folder = link.folder.and_then(|folder| self.folders.get(folder));
            let means = [self.all, host, folder.copied().unwrap_or_default()];
            self.count(link.host, link.folder, |mean| mean.take_out(relevance));
            means
        });
        Hidden { judged, counted }
    }

    /// Undoes [`History::hide`].
    pub(super) fn show(&mut self, link: &LinkSketch, hidden: Hidden) {
        if let Some(relevance) = hidden.judged {
            self.judged.insert(link.target, relevance);
        }
        if let Some([all, host, folder]) = hidden.counted {
            self.all = all;
            self.hosts.insert(link.host, host);
            if let Some(place) = link.folder {
                self.folders.insert(place, folder);
            }
        }
    }

    /// Changes the means that a page counts in.
    fn count(&mut self, host: u64, folder: Option<u64>, change: impl Fn(&mut Mean)) {
        change(&mut self.all);
        change(self.hosts.get_or_default(host));
        if let Some(folder) = folder {
            change(self.folders.get_or_default(folder));
        }
    }

    pub(super) fn around(&self, sketch: &PageSketch) -> Around {
        let mut judged = Vec::new();
        let mut success = Mean::default();
        for link in sketch.links.iter().filter(|link| !link.is_self) {
            if let Some(relevance) = self.judged.get(link.target) {
                judged.push((link.first_leaf, link.last_leaf, *relevance));
                success.add(*relevance);
            }
        }
        let all = self.all.shrunk(0.5);
        let all_logit = logit(all);
        // The page itself is left out, whether it is counted already or not.
        let own = u16::from(self.judged.contains_key(sketch.id));
        let seen = self.hosts.get(sketch.host());
        let seen = seen.map_or(0.0, |mean| mean.pages);
        Around {
            judged,
            success: logit(success.shrunk(all)) - all_logit,
            followed: success.pages.ln_1p() / 3.0,
            all,
            all_logit,
            own,
            pages: (seen - f32::from(own)).max(0.0),
            last: Cell::new(None),
        }
    }

    /// Writes the features of link `at` of the page, static and dynamic, to `into`.
    pub(super) fn instance(
        &self,
        sketch: &PageSketch,
        around: &Around,
        at: usize,
        spec: &FeatureSpec,
        into: &mut Instance,
    ) {
        let link = LinkView {
            sketch,
            at,
            spec,
            dynamic: &self.dynamic(sketch, around, at, spec.d_max()),
        };
        link.instance(into);
    }

    /// All that is known at this moment of link `at` and is not on its page; neighbours up to `d_max`
    /// leaves away.
    pub(super) fn dynamic(
        &self,
        sketch: &PageSketch,
        around: &Around,
        at: usize,
        d_max: u8,
    ) -> Dynamic {
        let link = &sketch.links[at];
        let [host, folder] = self.place(link, around);
        let parents = self.parents.get(link.target.0).saturating_sub(around.own);
        let blocks = self.blocks.get(block_on(sketch, link));
        let blocks = blocks.saturating_sub(around.own);
        Dynamic {
            numbers: [
                around.success,
                around.followed,
                host,
                folder,
                f32::from(parents).ln_1p() / 3.0,
                (f32::from(blocks) / (around.pages + SHRINKAGE)).min(1.0),
            ],
            neighbours: around.neighbours(sketch, at, d_max),
        }
    }

    /// How far the target's host is above all pages, and its folder above the host.
    fn place(&self, link: &LinkSketch, around: &Around) -> [f32; 2] {
        let (host, folder) = (link.host, link.folder);
        if let Some(last) = around.last.get()
            && (last.host, last.folder) == (host, folder)
        {
            return last.numbers;
        }
        let host_mean = self.hosts.get(host).copied().unwrap_or_default();
        let host_mean = host_mean.shrunk(around.all);
        let folder_mean = folder.and_then(|folder| self.folders.get(folder));
        let folder_mean = folder_mean.copied().unwrap_or_default().shrunk(host_mean);
        let host_logit = logit(host_mean);
        let numbers = [
            host_logit - around.all_logit,
            logit(folder_mean) - host_logit,
        ];
        around.last.set(Some(Place {
            host,
            folder,
            numbers,
        }));
        numbers
    }
}

/// What stands in a link's place, on the host of its page.
fn block_on(sketch: &PageSketch, link: &LinkSketch) -> u64 {
    link.block ^ sketch.host().rotate_left(1)
}

/// Counts each distinct hash once.
fn count_once(counts: &mut Counts, hashes: impl Iterator<Item = u64>) {
    let mut hashes: Vec<u64> = hashes.collect();
    hashes.sort_unstable();
    hashes.dedup();
    for hash in hashes {
        counts.add(hash);
    }
}

impl Around {
    /// Distance and side of each link within `d_max` leaves whose target was judged.
    fn neighbours(&self, sketch: &PageSketch, at: usize, d_max: u8) -> Vec<(i8, bool)> {
        let link = &sketch.links[at];
        let window = u32::from(d_max);
        let (from, to) = (
            link.first_leaf.saturating_sub(window),
            link.last_leaf.saturating_add(window),
        );
        let start = self.judged.partition_point(|(_, last, _)| *last < from);
        let near = self.judged[start..].iter();
        near.take_while(|(first, ..)| *first <= to)
            .map(|(first, last, relevance)| {
                let distance = if *last < link.first_leaf {
                    -i64::from(link.first_leaf - last)
                } else if *first > link.last_leaf {
                    i64::from(first - link.last_leaf)
                } else {
                    0
                };
                let distance = i8::try_from(distance).unwrap_or_default();
                (distance, *relevance >= HIGH_FROM)
            })
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::apprentice::{Ftrl, FtrlParams, Learner, dense};
    use crate::features::{Namespace, SourceFacts, TermWeights, key};
    use crate::page::{DocumentKind, Page, PageLimits, PageSource};
    use crate::url::CanonicalUrl;

    fn sketch(at: &str, log_odds: f32, links: &[&str]) -> PageSketch {
        let url = CanonicalUrl::parse(at).unwrap();
        let links = links.iter().map(|link| format!("<a href='{link}'>x</a>"));
        let body: String = links.collect();
        let source = PageSource {
            url: &url,
            content_type: Some("text/html"),
            body: body.as_bytes(),
        };
        let page = Page::parse(&source, DocumentKind::Html, &PageLimits::default());
        let facts = SourceFacts::new(log_odds, None, 0);
        PageSketch::new(&url, &page, facts, &TermWeights::default())
    }

    fn instance(history: &History, sketch: &PageSketch, at: usize) -> Instance {
        let mut instance = Instance::default();
        let around = history.around(sketch);
        let spec = FeatureSpec::default().with_groups(["all"]).unwrap();
        history.instance(sketch, &around, at, &spec, &mut instance);
        instance
    }

    #[test]
    fn judged_neighbours_are_seen_with_their_offsets() {
        let mut history = History::default();
        history.add(&sketch("http://a.test/good", 50.0, &[]));
        history.add(&sketch("http://a.test/bad", -50.0, &[]));
        let source = sketch(
            "http://b.test/",
            0.0,
            &[
                "http://a.test/bad",
                "http://a.test/new",
                "http://a.test/good",
            ],
        );
        let instance = instance(&history, &source, 1);
        let seen = instance.vector.keys.iter();
        let seen = seen.filter(|key| Namespace::of(**key) == Some(Namespace::CoCitation));
        let seen: Vec<u64> = seen.copied().collect();
        let expected = [
            key(Namespace::CoCitation, -1, 0),
            key(Namespace::CoCitation, 1, 1 << 63),
        ];
        assert_eq!(seen, expected);
    }

    #[test]
    fn means_are_shrunk_towards_what_lies_above() {
        let mut history = History::default();
        for page in 0..8 {
            history.add(&sketch(&format!("http://a.test/x/{page}"), 50.0, &[]));
            history.add(&sketch(&format!("http://c.test/x/{page}"), -50.0, &[]));
        }
        let links = ["http://a.test/x/new", "http://c.test/y", "http://z.test/"];
        let source = sketch("http://b.test/", 0.0, &links);
        let of = |at| instance(&history, &source, at).dense;
        // Overall 8 of 16, with 3 at 0.5; host a has 8 of 8 and 3 at that: 9.5 / 11.
        let expected = logit(9.5 / 11.0);
        assert!((of(0)[dense::HOST] - expected).abs() < 1e-4, "{:?}", of(0));
        assert!((of(1)[dense::HOST] + expected).abs() < 1e-4);
        assert!(
            of(2)[dense::HOST].abs() < 1e-6,
            "nothing is known of host z"
        );
        assert!(of(0)[dense::FOLDER] > 0.0 && of(1)[dense::FOLDER].abs() < 1e-6);
    }

    #[test]
    fn other_pages_with_the_link_are_counted() {
        let menu = ["http://a.test/home", "http://a.test/home", "http://c.test/"];
        let page = |at: &str| sketch(at, 0.0, &menu);
        let mut history = History::default();
        let source = page("http://a.test/0");
        let of = |history: &History, source| instance(history, source, 0).dense;
        assert_eq!(of(&history, &source)[dense::PARENTS].to_bits(), 0);
        for at in ["http://a.test/1", "http://a.test/2", "http://b.test/1"] {
            history.add(&page(at));
        }
        // Three other pages have it, two of them of the three that are trusted at least on the host.
        let expected = (4_f32.ln() / 3.0, 2.0 / (2.0 + SHRINKAGE));
        for _ in 0..2 {
            let now = of(&history, &source);
            assert!((now[dense::PARENTS] - expected.0).abs() < 1e-6, "{now:?}");
            assert!((now[dense::TEMPLATE] - expected.1).abs() < 1e-6, "{now:?}");
            // The page itself changes nothing.
            history.add(&source);
        }
    }

    #[test]
    fn what_became_of_the_target_itself_can_be_hidden() {
        let links = ["http://a.test/x/new", "http://a.test/x/gone"];
        let source = sketch("http://b.test/", 0.0, &links);
        let mut history = History::default();
        history.add(&sketch("http://a.test/x/other", 50.0, &[]));
        let before = [0, 1].map(|at| instance(&history, &source, at));
        history.add(&sketch(links[0], -50.0, &[]));
        let judged = instance(&history, &source, 0);
        assert_ne!(judged, before[0]);
        let hidden = history.hide(&source.links[0]);
        assert_eq!(instance(&history, &source, 0), before[0]);
        history.show(&source.links[0], hidden);
        assert_eq!(instance(&history, &source, 0), judged);
        // To the bit, also where sums are rounded.
        for (page, log_odds) in [("1", 0.3), ("2", -1.1), ("3", 0.7)] {
            let at = format!("http://a.test/x/{page}");
            history.add(&sketch(&at, log_odds, &[]));
        }
        let means = |history: &History| format!("{:?} {:?}", history.all, history.hosts);
        let before = means(&history);
        let hidden = history.hide(&source.links[0]);
        assert_ne!(means(&history), before);
        history.show(&source.links[0], hidden);
        assert_eq!(means(&history), before);
        // One that could not be had counts in no mean.
        history.add_lost(source.links[1].target);
        let hidden = history.hide(&source.links[1]);
        assert!((history.all.pages - 5.0).abs() < 1e-6);
        history.show(&source.links[1], hidden);
        assert!((history.all.pages - 5.0).abs() < 1e-6);
    }

    #[test]
    fn a_page_counts_once_and_a_lost_one_counts_as_followed() {
        let mut history = History::default();
        let page = sketch("http://a.test/p", 50.0, &[]);
        history.add(&page);
        history.add(&page);
        assert!((history.all.pages - 1.0).abs() < 1e-6);
        history.add_lost(CanonicalUrl::parse("http://a.test/lost").unwrap().id());
        let source = sketch(
            "http://b.test/",
            0.0,
            &["http://a.test/lost", "http://a.test/p"],
        );
        let around = history.around(&source);
        assert!((around.followed - 3.0_f32.ln() / 3.0).abs() < 1e-6);
        // All pages: (1 + 3 * 0.5) / 4; the two followed: (1 + 0 + 3 * 0.625) / 5.
        let expected = (0.575_f32 / 0.425).ln() - (0.625_f32 / 0.375).ln();
        assert!((around.success - expected).abs() < 1e-4, "{around:?}");
    }

    #[test]
    fn a_link_is_predicted_alike_with_its_features_written_down_or_not() {
        let links = ["http://a.test/1", "http://a.test/2", "http://b.test/x/y"];
        let page = sketch("http://a.test/", 2.0, &links);
        let mut history = History::default();
        history.add(&page);
        history.add(&sketch("http://a.test/1", 3.0, &["http://b.test/x/y"]));
        let spec = FeatureSpec::default().with_groups(["all"]).unwrap();
        let mut ftrl = Ftrl::new(FtrlParams::default());
        ftrl.learn(&instance(&history, &page, 0), 0.9, 1.0);
        ftrl.learn(&instance(&history, &page, 1), 0.2, 0.5);
        ftrl.publish();
        let around = history.around(&page);
        let scores = [0, 1, 2].map(|at| {
            let link = LinkView {
                sketch: &page,
                at,
                spec: &spec,
                dynamic: &history.dynamic(&page, &around, at, spec.d_max()),
            };
            let score = ftrl.predict_link(&link).unwrap();
            let written = ftrl.predict(&instance(&history, &page, at));
            assert_eq!(score.to_bits(), written.to_bits(), "{score} {written}");
            score
        });
        assert!(scores[0] > scores[1], "{scores:?}");
    }
}

//! Which of the waiting links is taken: the best one, or not always.
//!
//! Best-N-first is of Pant, Srinivasan and Menczer ("Exploration versus exploitation in topic driven
//! crawlers", 2002), the altered greedy strategy of Gouriten, Maniu and Senellart ("Scalable, generic and
//! adaptive systems for focused crawling", Hypertext 2014).

use std::fmt;

use rand::RngExt;
use rand::seq::SliceRandom;

use super::queue::Frontier;
use crate::clock::Chance;
use crate::text::unknown_name;
use crate::url::UrlId;

/// The largest batch.
const BATCH_MAX: u16 = 1024;
/// Links that are drawn from all for one that is good enough, before the good ones are looked for.
const DRAWS_MAX: u32 = 256;
/// Among so many of the good ones one is drawn then.
const DRAWN_FROM_MAX: usize = 1 << 16;
/// Shares are told in thousandths.
const WHOLE: u16 = 1_000;

/// How the next link is chosen among those that wait.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Steering {
    /// The best one.
    #[default]
    BestFirst,
    /// Batches of so many links, the best ones at that time, in an order drawn by chance; no two of one
    /// host as long as there are others. A batch ends when none of its links can be asked for and
    /// another one can.
    Batches(u16),
    /// The best one, or by chance any that is not much worse.
    Altered {
        /// The share of the choices that fall on the best one, in thousandths.
        best: u16,
        /// Any of at least this share of the best one's relevance is taken else, in thousandths.
        good: u16,
    },
}

impl Steering {
    /// How they are written, for those who ask; best-first is what needs no word.
    pub const FORMS: [&'static str; 2] = ["best-n-first:N", "altered-greedy:Q:ZETA"];

    /// The steering that is written so.
    ///
    /// # Errors
    /// Says what would be right.
    pub fn parse(text: &str) -> Result<Self, String> {
        let mut parts = text.split(':');
        let name = parts.next().unwrap_or_default();
        let numbers: Vec<&str> = parts.collect();
        match (name, numbers.as_slice()) {
            ("best-n-first", [n]) => {
                let n = n.parse().ok().filter(|n| (2..=BATCH_MAX).contains(n));
                n.map(Self::Batches).ok_or_else(|| {
                    format!("`{text}` is no steering; the N of best-n-first:N is 2 to {BATCH_MAX}")
                })
            }
            ("altered-greedy", [q, zeta]) => match (thousandths(q), thousandths(zeta)) {
                (Some(best), Some(good)) => Ok(Self::Altered { best, good }),
                _ => Err(format!(
                    "`{text}` is no steering; Q and ZETA of altered-greedy:Q:ZETA are 0 to 1 with at most \
                     three decimals, such as altered-greedy:0.8:0.2"
                )),
            },
            _ => Err(format!("no steering {}", unknown_name(text, &Self::FORMS))),
        }
    }

    /// Whether `text` seems to mean one.
    pub fn is_meant_by(text: &str) -> bool {
        text.starts_with("best-n-first") || text.starts_with("altered-greedy")
    }
}

impl fmt::Display for Steering {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let share = |thousandths: u16| f64::from(thousandths) / f64::from(WHOLE);
        match self {
            Self::BestFirst => f.write_str("best-first"),
            Self::Batches(n) => write!(f, "best-n-first:{n}"),
            Self::Altered { best, good } => {
                write!(f, "altered-greedy:{}:{}", share(*best), share(*good))
            }
        }
    }
}

/// A share, written as a decimal fraction.
fn thousandths(text: &str) -> Option<u16> {
    let (whole, fraction) = text.split_once('.').unwrap_or((text, ""));
    let mut digits = whole.bytes().chain(fraction.bytes());
    let is_number = fraction.len() <= 3 && digits.all(|byte| byte.is_ascii_digit());
    let whole: u16 = whole
        .parse()
        .ok()
        .filter(|whole| *whole <= 1 && is_number)?;
    let fraction: u16 = format!("{fraction:0<3}").parse().ok()?;
    Some(whole * WHOLE + fraction).filter(|share| *share <= WHOLE)
}

/// The log odds of `share` times the probability whose log odds are `log_odds`.
fn log_odds_of_share(log_odds: f32, share: f64) -> f32 {
    let best = f64::from(log_odds);
    let log_odds = if share <= 0.0 {
        f64::NEG_INFINITY
    } else if share >= 1.0 {
        best
    } else if best < -30.0 {
        // Here a probability is its odds.
        best + share.ln()
    } else {
        -((1.0 + (-best).exp()) / share - 1.0).ln()
    };
    #[allow(
        clippy::cast_possible_truncation,
        reason = "no greater than an f32, and what is much smaller is minus infinity"
    )]
    let log_odds = log_odds as f32;
    log_odds
}

/// A steering at work.
#[derive(Debug)]
pub(super) struct Steered {
    way: Steering,
    chance: Chance,
    /// What is left of the batch; links of it that are out may come back.
    batch: Vec<(u32, UrlId)>,
}

impl Steered {
    pub(super) fn new(way: Steering, chance: Chance) -> Self {
        Self {
            way,
            chance,
            batch: Vec::new(),
        }
    }
}

impl Frontier {
    /// Steers by `way` from now on; `chance` is drawn from only when a link can be leased.
    ///
    /// What was drawn stands in no log: after a restart a batch begins anew.
    pub fn steer(&mut self, way: Steering, chance: Chance) {
        self.steered = (way != Steering::BestFirst).then(|| Steered::new(way, chance));
    }

    /// A waiting link of a ready host that is to be taken; `None` for the best. Some host must be ready.
    pub(super) fn steered_slot(&mut self) -> Option<u32> {
        let mut steered = self.steered.take()?;
        let slot = match steered.way {
            Steering::BestFirst => None,
            Steering::Batches(size) => self.of_batch(&mut steered, usize::from(size)),
            Steering::Altered { best, good } => {
                let share = |thousandths: u16| f64::from(thousandths) / f64::from(WHOLE);
                let is_drawn = !steered.chance.random_bool(share(best));
                is_drawn
                    .then(|| self.any_good_slot(&mut steered.chance, share(good)))
                    .flatten()
            }
        };
        self.steered = Some(steered);
        slot
    }

    fn of_batch(&self, steered: &mut Steered, size: usize) -> Option<u32> {
        let batch = &mut steered.batch;
        batch.retain(|(slot, id)| self.links.used(*slot).is_some() && self.id_of(*slot) == *id);
        if let Some((slot, _)) = batch.iter().find(|(slot, _)| self.may_be_leased(*slot)) {
            return Some(*slot);
        }
        *batch = self.best_ready_slots(size);
        batch.shuffle(&mut steered.chance);
        batch.first().map(|(slot, _)| *slot)
    }

    fn may_be_leased(&self, slot: u32) -> bool {
        let link = self.links.used(slot).filter(|link| !link.is_leased());
        link.is_some_and(|link| self.hosts.is_ready(link.host))
    }

    /// The best links of ready hosts: first the best one of each host, then, if there are fewer hosts than
    /// `count`, the next best.
    fn best_ready_slots(&self, count: usize) -> Vec<(u32, UrlId)> {
        let hosts: Vec<u32> = self.hosts.ready().take(count).collect();
        let missing = count - hosts.len();
        let mut slots = Vec::with_capacity(count);
        let mut others = Vec::new();
        for number in hosts {
            let side = self.hosts.side(number);
            let mut best = self.hosts.get(number).best_links(&self.links, side);
            slots.extend(best.next().map(|(_, slot)| slot));
            others.extend(best.take(missing));
        }
        others.sort_unstable();
        slots.extend(others.into_iter().take(missing).map(|(_, slot)| slot));
        let with_id = |slot| (slot, self.id_of(slot));
        slots.into_iter().map(with_id).collect()
    }

    /// Any link of a ready host that has at least `share` of the best one's relevance, each as likely as
    /// the others. If they are few among very many, it is one of the 65,536 on the best hosts.
    fn any_good_slot(&self, chance: &mut Chance, share: f64) -> Option<u32> {
        let best = self.hosts.best_ready()?;
        let (_, best) = self
            .hosts
            .get(best)
            .best_links(&self.links, self.hosts.side(best))
            .next()?;
        let enough = log_odds_of_share(self.priority_of(best), share);
        for _ in 0..DRAWS_MAX {
            let slot = chance.random_range(0..self.links.slots_end());
            if self.may_be_leased(slot) && self.priority_of(slot) >= enough {
                return Some(slot);
            }
        }
        let good = |slot: &u32| self.priority_of(*slot) >= enough;
        let of_host = |number| {
            let side = self.hosts.side(number);
            let best = self.hosts.get(number).best_links(&self.links, side);
            best.map(|(_, slot)| slot).take_while(good)
        };
        // Hosts stand by their best links: the first without a good one ends it.
        let hosts = self.hosts.ready().map(of_host);
        let hosts = hosts.map_while(|mut slots| slots.next().map(|first| (first, slots)));
        let slots = hosts.flat_map(|(first, rest)| std::iter::once(first).chain(rest));
        let slots: Vec<u32> = slots.take(DRAWN_FROM_MAX).collect();
        let drawn = (!slots.is_empty()).then(|| chance.random_range(0..slots.len()))?;
        slots.get(drawn).copied()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_steering_is_read_as_it_is_written() {
        for text in [
            "best-n-first:2",
            "best-n-first:1024",
            "altered-greedy:0.8:0.2",
            "altered-greedy:1:0",
            "altered-greedy:0.125:0.001",
        ] {
            assert_eq!(Steering::parse(text).unwrap().to_string(), text);
        }
        let halves = Steering::Altered {
            best: 500,
            good: 500,
        };
        assert_eq!(Steering::parse("altered-greedy:0.5:0.500"), Ok(halves));
    }

    #[test]
    fn what_is_no_steering_is_told_what_would_be_one() {
        for (text, words) in [
            ("best-n-first", "best-n-first:N"),
            ("best-n-first:1", "is 2 to 1024"),
            ("best-n-first:many", "is 2 to 1024"),
            ("best-n-first:70000", "is 2 to 1024"),
            ("altered-greedy:0.5", "altered-greedy:Q:ZETA"),
            ("altered-greedy:1.5:0", "0 to 1"),
            ("altered-greedy:0.0001:0", "three decimals"),
            ("altered-greedy:-0.5:0", "0 to 1"),
            ("altered-greedy:0.5:+1", "0 to 1"),
            ("altered-greedy:0.5:", "0 to 1"),
        ] {
            let problem = Steering::parse(text).unwrap_err();
            assert!(problem.contains(words), "{text}: {problem}");
        }
    }

    #[test]
    fn a_share_of_a_relevance_is_found_in_log_odds() {
        let logit = |p: f64| (p / (1.0 - p)).ln();
        for (p, share) in [(0.5, 0.5), (0.9, 0.2), (0.001, 0.8), (0.999, 0.999)] {
            #[allow(clippy::cast_possible_truncation, reason = "a test compares to 1e-4")]
            let (best, wanted) = (logit(p) as f32, logit(p * share) as f32);
            assert!(
                (log_odds_of_share(best, share) - wanted).abs() < 1e-4,
                "{p} {share}"
            );
        }
        // Where f32 and even f64 know no probability any more.
        assert!((log_odds_of_share(500.0, 0.5)).abs() < 1e-6);
        assert!((log_odds_of_share(-500.0, 0.5) - (-500.0 - 2_f32.ln())).abs() < 1e-3);
        assert!((log_odds_of_share(-29.9, 0.5) - log_odds_of_share(-30.1, 0.5) - 0.2).abs() < 1e-3);
        assert!(log_odds_of_share(3.0, 0.0) < f32::MIN);
        assert!((log_odds_of_share(3.0, 1.0) - 3.0).abs() < 1e-6);
        assert!(log_odds_of_share(f32::NEG_INFINITY, 0.5) < f32::MIN);
    }
}

//! What a crawl's spec says to its frontier.

use std::time::Duration;

use super::Spacing;

/// How the priorities that several pages give one link become one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Combine {
    /// the first page's, frozen
    First,
    /// the best page's
    #[default]
    Best,
    /// the mean of all
    Mean,
    /// as if each page were an independent reason: 1 - (1 - p1)(1 - p2).., the priorities being logits
    NoisyOr,
}

impl Combine {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::First, Self::Best, Self::Mean, Self::NoisyOr];

    /// Its name, as a spec has it.
    pub fn name(self) -> &'static str {
        match self {
            Self::First => "first",
            Self::Best => "best",
            Self::Mean => "mean",
            Self::NoisyOr => "noisy-or",
        }
    }

    /// The one of this name.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|combine| combine.name() == name)
    }

    /// Whether it matters how often a page is counted.
    pub(super) fn counts_each(self) -> bool {
        matches!(self, Self::Mean | Self::NoisyOr)
    }

    /// The priority of a link that had `old`, now that another page gives it `new`; it is the
    /// `count`th that does.
    pub(super) fn of(self, old: f32, new: f32, count: u32) -> f32 {
        match self {
            Self::First => old,
            // Something that is no finite number has no mean.
            Self::Mean if old.is_finite() && new.is_finite() => {
                old + (new - old) / count.max(1) as f32
            }
            Self::NoisyOr if old.is_finite() && new.is_finite() => noisy_or(old, new),
            _ => old.max(new),
        }
    }
}

/// The logit of 1 - (1 - p)(1 - q), of logits.
fn noisy_or(p: f32, q: f32) -> f32 {
    let (p, q) = (f64::from(p), f64::from(q));
    // -ln (1 - p) = ln (1 + e^logit); these add up.
    let missed = |logit: f64| logit.max(0.0) + (-logit.abs()).exp().ln_1p();
    let sum = missed(p) + missed(q);
    // Back again: ln (e^sum - 1), which for a small sum is its logarithm.
    let odds = if sum > 30.0 {
        sum
    } else {
        sum.exp_m1().max(f64::MIN_POSITIVE).ln()
    };
    #[allow(
        clippy::cast_possible_truncation,
        reason = "it is no larger than the sum of two f32"
    )]
    let odds = odds as f32;
    odds
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all(combine: Combine, priorities: &[f32]) -> f32 {
        let mut combined = priorities[0];
        for (count, priority) in (2..).zip(&priorities[1..]) {
            combined = combine.of(combined, *priority, count);
        }
        combined
    }

    #[test]
    fn priorities_are_combined_as_the_name_says() {
        let priorities = [1.0, 4.0, -2.0];
        assert!((all(Combine::First, &priorities) - 1.0).abs() < 1e-6);
        assert!((all(Combine::Best, &priorities) - 4.0).abs() < 1e-6);
        assert!((all(Combine::Mean, &priorities) - 1.0).abs() < 1e-6);
        // Three times one half: 7/8, whose odds are 7.
        assert!((all(Combine::NoisyOr, &[0.0; 3]) - 7_f32.ln()).abs() < 1e-6);
        // Odds of hundreds, either way, stay numbers.
        assert!((all(Combine::NoisyOr, &[300.0, -300.0]) - 300.0).abs() < 1e-3);
        let low = all(Combine::NoisyOr, &[-300.0, -300.0]);
        assert!((low - (2_f32.ln() - 300.0)).abs() < 1e-3, "{low}");
        for combine in Combine::ALL {
            assert!(!all(combine, &[f32::NEG_INFINITY, 1.0, f32::NEG_INFINITY]).is_nan());
            assert_eq!(Combine::from_name(combine.name()), Some(combine));
        }
    }
}

/// What the crawl's spec says to its frontier; may be changed while it runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FrontierParams {
    /// See [`Combine`].
    pub combine: Combine,
    /// Fetches of one host at most (pages and final failures); what waits beyond is held, not lost.
    pub pages_per_host_max: Option<u64>,
    /// Fetches of all hosts under one registrable domain at most.
    pub pages_per_domain_max: Option<u64>,
    /// References kept for one link: the first, the best, then the earliest (DESIGN.md 4.4); 16 at most.
    pub references_max: usize,
    /// Waiting links at most, held ones included; when there are more, the least promising go
    /// ([`surplus`](super::Frontier::surplus)).
    pub links_max: Option<u64>,
    /// This crawl's own delay between two requests to a host.
    pub delay: Duration,
    /// Requests at once, and a delay, to all hosts behind one address together.
    pub per_address: u32,
    /// Whether the baseline's order is kept beside the one in force ([`rivals`](super::Frontier::rivals)).
    pub keeps_baseline: bool,
}

impl FrontierParams {
    /// What the calendar of hosts is asked with.
    pub(super) fn spacing(&self) -> Spacing {
        Spacing {
            delay: self.delay,
            per_address: self.per_address,
        }
    }
}

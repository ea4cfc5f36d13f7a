//! The expected page loss.

/// From this relevance on a page counts as relevant where pages are counted.
pub const RELEVANT_FROM: f32 = 0.5;

/// One point of L(n).
#[derive(Clone, Copy, Debug, PartialEq, serde::Serialize)]
pub struct LossPoint {
    /// Fetches so far.
    pub n: u64,
    /// L(n) = sum over the first n fetches of (1 - R).
    pub loss: f64,
    /// Harvest rate 1 - L(n)/n.
    pub harvest: f64,
}

impl LossPoint {
    /// The point of `n` fetches, at least one, that lost `loss`.
    pub fn new(n: u64, loss: f64) -> Self {
        Self {
            n,
            loss,
            harvest: 1.0 - loss / n.max(1) as f64,
        }
    }
}

/// L(n) of one crawl: the relevance of each counted fetch, in order.
///
/// Every L(n) is the sum of the same f64 terms in the order of the fetches, so the same crawl gives
/// the same bytes whether a point was read on the way or afterwards. Memory: 4 bytes a fetch.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct LossCurve {
    relevance: Vec<f32>,
    loss: f64,
    relevant: u64,
}

impl LossCurve {
    /// Adds a fetch of relevance `relevance`; what lies outside [0, 1] is taken as the nearer end,
    /// NaN as 0, so that one bad judgement cannot spoil the curve.
    pub fn push(&mut self, relevance: f32) {
        let relevance = if relevance.is_nan() {
            0.0
        } else {
            relevance.clamp(0.0, 1.0)
        };
        self.relevance.push(relevance);
        self.loss += lost(relevance);
        self.relevant += u64::from(relevance >= RELEVANT_FROM);
    }

    /// Fetches so far.
    pub fn n(&self) -> u64 {
        self.relevance.len() as u64
    }

    /// L(n) of all fetches so far.
    pub fn loss(&self) -> f64 {
        self.loss
    }

    /// How many of all fetches so far have a relevance of at least [`RELEVANT_FROM`].
    pub fn relevant(&self) -> u64 {
        self.relevant
    }

    /// The same count among the first `n` fetches.
    pub fn relevant_of_first(&self, n: u64) -> u64 {
        let first = self.relevance.iter().take(to_len(n));
        first.filter(|r| **r >= RELEVANT_FROM).count() as u64
    }

    /// The relevance of each fetch, in order.
    pub fn relevances(&self) -> &[f32] {
        &self.relevance
    }

    /// Harvest rate of the last `window` fetches; `None` before the first.
    pub fn harvest_of_last(&self, window: usize) -> Option<f64> {
        let from = self.relevance.len().saturating_sub(window);
        let last = &self.relevance[from..];
        if last.is_empty() {
            return None;
        }
        Some(last.iter().map(|r| f64::from(*r)).sum::<f64>() / last.len() as f64)
    }

    /// The mean over m = 1 .. n of the harvest rate after m fetches: the area under its curve by its
    /// length. Of a shorter curve that of all of it; 0 before the first fetch.
    pub fn harvest_area(&self, n: u64) -> f64 {
        let (mut loss, mut area, mut count) = (0.0, 0.0, 0.0_f64);
        for relevance in self.relevance.iter().take(to_len(n)) {
            loss += lost(*relevance);
            count += 1.0;
            area += 1.0 - loss / count;
        }
        area / count.max(1.0)
    }

    /// The point after `n` fetches; `None` for 0 and beyond the end.
    pub fn at(&self, n: u64) -> Option<LossPoint> {
        if n == 0 || n > self.n() {
            return None;
        }
        let loss = self.relevance.iter().take(to_len(n)).map(|r| lost(*r));
        Some(LossPoint::new(n, loss.fold(0.0, |sum, one| sum + one)))
    }

    /// At most `points_max` points at about equal distances, always the first and the last (the
    /// last alone for 1); 0 gives all.
    pub fn points(&self, points_max: usize) -> Vec<LossPoint> {
        let n = self.n();
        let wanted = points_max as u64;
        if wanted == 0 || wanted >= n {
            return self.points_where(|_| true);
        }
        if wanted == 1 {
            return self.points_where(|at| at == n);
        }
        // The k-th point stands at 1 + k (n - 1) / (wanted - 1), rounded down.
        let place = |k: u64| {
            let place = u128::from(k) * u128::from(n - 1) / u128::from(wanted - 1);
            1 + u64::try_from(place).unwrap_or(n)
        };
        let mut next = 0;
        self.points_where(|at| {
            let hit = at == place(next);
            next += u64::from(hit);
            hit
        })
    }

    /// The points that the lab's tables hold: n = 50, every hundredth, 250, and the last.
    pub fn checkpoints(&self) -> Vec<LossPoint> {
        let last = self.n();
        self.points_where(|n| n == 50 || n == 250 || n % 100 == 0 || n == last)
    }

    /// The points at every n that `wanted` takes; it is asked in rising order.
    fn points_where(&self, mut wanted: impl FnMut(u64) -> bool) -> Vec<LossPoint> {
        let mut points = Vec::new();
        let mut loss = 0.0;
        for (n, relevance) in (1..).zip(&self.relevance) {
            loss += lost(*relevance);
            if wanted(n) {
                points.push(LossPoint::new(n, loss));
            }
        }
        points
    }
}

impl FromIterator<f32> for LossCurve {
    fn from_iter<I: IntoIterator<Item = f32>>(relevances: I) -> Self {
        let mut curve = Self::default();
        for relevance in relevances {
            curve.push(relevance);
        }
        curve
    }
}

fn lost(relevance: f32) -> f64 {
    1.0 - f64::from(relevance)
}

/// No vector is longer than `usize::MAX`, so a larger n means all of it.
fn to_len(n: u64) -> usize {
    usize::try_from(n).unwrap_or(usize::MAX)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn the_loss_is_the_sum_of_what_each_page_lacks() {
        // Worked by hand: 0 + 0.5 + 1 + 0.75.
        let curve: LossCurve = [1.0, 0.5, 0.0, 0.25].into_iter().collect();
        let point = |n, loss, harvest| Some(LossPoint { n, loss, harvest });
        assert_eq!(curve.at(0), None);
        assert_eq!(curve.at(1), point(1, 0.0, 1.0));
        assert_eq!(curve.at(2), point(2, 0.5, 0.75));
        assert_eq!(curve.at(4), point(4, 2.25, 0.4375));
        assert_eq!(curve.at(5), None);
        assert_eq!((curve.n(), curve.relevant()), (4, 2));
        assert_eq!(curve.relevant_of_first(1), 1);
        assert_eq!(curve.harvest_of_last(2), Some(0.125));
        assert_eq!(curve.harvest_of_last(100), Some(0.4375));
        // Harvests 1, 0.75, 0.5, 0.4375.
        assert!((curve.harvest_area(3) - 0.75).abs() < 1e-12);
        assert!((curve.harvest_area(9) - 0.671_875).abs() < 1e-12);
    }

    #[test]
    fn an_empty_curve_has_no_points_and_no_harvest() {
        let curve = LossCurve::default();
        assert_eq!(curve.points(0), vec![]);
        assert_eq!(curve.points(5), vec![]);
        assert_eq!(curve.checkpoints(), vec![]);
        assert_eq!(curve.harvest_of_last(500), None);
    }

    #[test]
    fn a_relevance_that_is_none_cannot_spoil_the_curve() {
        let curve: LossCurve = [f32::NAN, 7.0, -3.0].into_iter().collect();
        assert_eq!(curve.relevances(), [0.0, 1.0, 0.0]);
        assert!((curve.loss() - 2.0).abs() < f64::EPSILON);
    }

    #[test]
    fn the_lab_reads_at_fifty_each_hundred_250_and_the_end() {
        let curve: LossCurve = (0..437).map(|_| 0.5).collect();
        let at: Vec<u64> = curve.checkpoints().iter().map(|point| point.n).collect();
        assert_eq!(at, [50, 100, 200, 250, 300, 400, 437]);
        let short: LossCurve = (0..7).map(|_| 0.5).collect();
        assert_eq!(short.checkpoints().len(), 1);
    }

    proptest! {
        #[test]
        fn points_are_even_bounded_and_the_same_bits_as_at(
            relevances in prop::collection::vec(0.0_f32..=1.0, 1..300),
            points_max in 2_usize..50,
        ) {
            let curve: LossCurve = relevances.iter().copied().collect();
            let points = curve.points(points_max);
            prop_assert_eq!(points.len(), points_max.min(relevances.len()));
            prop_assert_eq!(points[0].n, 1);
            prop_assert_eq!(points[points.len() - 1].n, curve.n());
            prop_assert_eq!(points[points.len() - 1].loss.to_bits(), curve.loss().to_bits());
            for point in &points {
                prop_assert_eq!(Some(*point), curve.at(point.n));
            }
            let gaps: Vec<u64> = points.windows(2).map(|two| two[1].n - two[0].n).collect();
            let (least, most) = (gaps.iter().min(), gaps.iter().max());
            if let (Some(least), Some(most)) = (least, most) {
                prop_assert!(most - least <= 1);
            }
        }
    }
}

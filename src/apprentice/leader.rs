//! Which learner is followed: the one that has predicted best lately, looked at again after periods
//! that grow while it keeps winning.
//!
//! The variable reset of Gouriten, Maniu, Senellart (HT 2014, section 4.3): a period lasts h(p) = r (p + 1)
//! rewards, p being how often the same arm has won in a row, and each period begins with a clean sheet.
//! Their reward is what the fetched node was worth, which tells only of the arm that was pulled; here
//! every learner is held against every label, so that no fetch is spent on finding out.

/// Judged pages of the first period.
const PERIOD: u64 = 100;
/// A period is at most this long.
const PERIOD_MAX: u64 = 1000;
/// Another learner has to be better by this many standard errors of the mean difference ..
const SIGMAS: f64 = 2.0;
/// .. and by this much (nats a page). Where nearly all that is fetched is relevant, the difference is that
/// of two calibrations, sure and of no use.
const MARGIN: f64 = 0.03;

/// See the module.
#[derive(Clone, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
pub(super) struct Leader {
    now: usize,
    wins: u64,
    pages: u64,
    /// Of each learner: the sum of its log loss less that of the one that is followed, and of the squares.
    against: Vec<(f64, f64)>,
}

impl Leader {
    /// Follows learner `first` of `learners`.
    pub(super) fn new(first: usize, learners: usize) -> Self {
        Self {
            now: first,
            wins: 0,
            pages: 0,
            against: vec![(0.0, 0.0); learners],
        }
    }

    /// Whether it can be one of so many learners.
    pub(super) fn leads(&self, learners: usize) -> bool {
        self.now < learners && self.against.len() == learners
    }

    /// The one that is followed.
    pub(super) fn now(&self) -> usize {
        self.now
    }

    /// A page was judged; `losses` are the learners' mean log losses over its instances.
    pub(super) fn add(&mut self, losses: &[f32]) {
        let Some(own) = losses.get(self.now) else {
            return;
        };
        self.pages += 1;
        for (sums, loss) in self.against.iter_mut().zip(losses) {
            let difference = f64::from(loss - own);
            sums.0 += difference;
            sums.1 += difference * difference;
        }
    }

    /// Looks at what the period has shown, if it is over. Gives whether another one is followed now.
    pub(super) fn choose(&mut self) -> bool {
        if self.pages < (PERIOD * (self.wins + 1)).min(PERIOD_MAX) {
            return false;
        }
        let pages = self.pages as f64;
        let best = (0..self.against.len())
            .filter(|at| *at != self.now)
            .map(|at| {
                let (sum, squares) = self.against[at];
                let mean = sum / pages;
                let error = ((squares / pages - mean * mean).max(0.0) / pages).sqrt();
                (mean + SIGMAS * error, at)
            })
            .min_by(|a, b| a.0.total_cmp(&b.0));
        let better = best.filter(|(upper, _)| *upper < -MARGIN);
        match better {
            Some((_, at)) => {
                self.now = at;
                self.wins = 0;
            }
            None => self.wins += 1,
        }
        self.pages = 0;
        self.against.fill((0.0, 0.0));
        better.is_some()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_better_one_is_followed_after_a_period() {
        let mut leader = Leader::new(1, 3);
        for page in 0..PERIOD {
            assert!(!leader.choose(), "after {page} pages");
            let noise = if page % 2 == 0 { 0.1 } else { -0.1 };
            leader.add(&[0.3 + noise, 0.6, 0.9]);
        }
        assert!(leader.choose());
        assert_eq!(leader.now(), 0);
    }

    #[test]
    fn what_could_be_chance_changes_nothing_and_makes_the_next_period_longer() {
        let mut leader = Leader::new(0, 2);
        for page in 0..PERIOD {
            leader.add(&[0.5, if page % 2 == 0 { 1.4 } else { -0.45 }]);
        }
        assert!(!leader.choose());
        assert_eq!((leader.now(), leader.wins, leader.pages), (0, 1, 0));
        for _ in 0..PERIOD {
            leader.add(&[0.5, 0.1]);
            assert!(!leader.choose() || leader.pages == 0);
        }
        assert_eq!(leader.now(), 0, "the second period is twice as long");
        for _ in 0..PERIOD {
            leader.add(&[0.5, 0.1]);
        }
        assert!(leader.choose());
    }
}

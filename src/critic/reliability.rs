//! Does a probability mean what it says? Reliability tables and the expected calibration error.

use serde::Serialize;

/// Bins of a table (Guo et al., ICML 2017, take 15).
pub const BINS: usize = 15;

/// Pages of about the same stated probability.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Bin {
    /// How many.
    pub pages: u64,
    /// The sum of what was said of them.
    pub said: f64,
    /// The sum of what was so: 1 for each page that was, 0 for one that was not.
    pub seen: f64,
}

/// Said against seen, in [`BINS`] bins of equal width and in as many of equally many pages.
///
/// Bins of equal width are what the expected calibration error is usually taken over; where most
/// pages lie near 0 or 1, those of equal mass show more.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Reliability {
    /// Bins from 0 to 1, each 1/15 wide.
    pub equal_width: Vec<Bin>,
    /// Bins from the least stated probability to the greatest.
    pub equal_mass: Vec<Bin>,
}

impl Bin {
    fn add(&mut self, said: f64, seen: f64) {
        self.pages += 1;
        self.said += said;
        self.seen += seen;
    }
}

impl Reliability {
    /// The table of pairs of what was said and what was so, both in [0, 1].
    pub fn of(mut pairs: Vec<(f64, f64)>) -> Self {
        let mut equal_width = vec![Bin::default(); BINS];
        for (said, seen) in &pairs {
            // The last bin has both its ends.
            let at = (1..BINS).take_while(|bin| *said >= *bin as f64 / BINS as f64);
            equal_width[at.count()].add(*said, *seen);
        }
        pairs.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.total_cmp(&b.1)));
        let mut equal_mass = vec![Bin::default(); BINS];
        for (place, (said, seen)) in pairs.iter().enumerate() {
            equal_mass[place * BINS / pairs.len()].add(*said, *seen);
        }
        Self {
            equal_width,
            equal_mass,
        }
    }

    /// The expected calibration error over bins of equal width: the mean over pages of
    /// |mean said - mean seen| of their bin; 0 without pages.
    pub fn ece(&self) -> f64 {
        error(&self.equal_width)
    }

    /// The same over bins of equal mass.
    pub fn ece_equal_mass(&self) -> f64 {
        error(&self.equal_mass)
    }
}

fn error(bins: &[Bin]) -> f64 {
    let pages: u64 = bins.iter().map(|bin| bin.pages).sum();
    let off: f64 = bins.iter().map(|bin| (bin.said - bin.seen).abs()).sum();
    off / (pages as f64).max(1.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_error_is_the_mean_distance_of_said_and_seen() {
        // Bin of 0.9: said 0.9, seen 0.5; bin of 0.1: said 0.1, seen 0.0. (2 * 0.4 + 2 * 0.1) / 4.
        let table = Reliability::of(vec![(0.9, 1.0), (0.9, 0.0), (0.1, 0.0), (0.1, 0.0)]);
        assert!((table.ece() - 0.25).abs() < 1e-12);
        // One page a bin: 0.1, 0.9, 0.1, 0.1 over four.
        assert!((table.ece_equal_mass() - 0.3).abs() < 1e-12);
    }

    #[test]
    fn both_ends_have_a_bin_and_all_pages_are_in_one() {
        let table = Reliability::of(vec![(0.0, 0.0), (1.0, 1.0), (1.0 / 15.0, 0.0)]);
        let pages: Vec<u64> = table.equal_width.iter().map(|bin| bin.pages).collect();
        assert_eq!((pages[0], pages[1], pages[14]), (1, 1, 1));
        assert_eq!(table.equal_mass.iter().map(|bin| bin.pages).sum::<u64>(), 3);
    }

    #[test]
    fn nothing_said_is_nothing_wrong() {
        let error = Reliability::of(Vec::new()).ece();
        assert_eq!(error.to_bits(), 0.0_f64.to_bits());
    }
}

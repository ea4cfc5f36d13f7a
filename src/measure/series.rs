//! A curve under a name, as it is drawn and tabled.

use super::{LossCurve, LossPoint};

/// Some points of one crawl's L(n), in rising n.
#[derive(Clone, Debug, PartialEq)]
pub struct NamedCurve {
    /// What the legend says: a crawl or a crawler.
    pub name: String,
    /// The points, in rising n.
    pub points: Vec<LossPoint>,
}

impl NamedCurve {
    /// All points of `curve`.
    pub fn all(name: &str, curve: &LossCurve) -> Self {
        Self {
            name: name.to_owned(),
            points: curve.points(0),
        }
    }

    /// The points of `curve` that tables show ([`LossCurve::checkpoints`]).
    pub fn checkpoints(name: &str, curve: &LossCurve) -> Self {
        Self {
            name: name.to_owned(),
            points: curve.checkpoints(),
        }
    }

    pub(super) fn last(&self) -> Option<LossPoint> {
        self.points.last().copied()
    }
}

/// Why a picture cannot be drawn.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SeriesError {
    /// No curve was given.
    #[error("no curve to draw: name at least one crawl that has fetched pages")]
    NoCurves,
    /// More curves than can be told apart.
    #[error("{given} curves in one picture: at most {max} can be told apart, draw fewer")]
    TooManyCurves {
        /// How many were given.
        given: usize,
        /// How many are drawn at most.
        max: usize,
    },
    /// A curve without a line.
    #[error("{name:?} has {points} points of L(n); a line needs 2: wait until more is fetched")]
    TooShort {
        /// The curve's name.
        name: String,
        /// Its points.
        points: usize,
    },
    /// A point that is no number, or n that does not rise.
    #[error("{name:?} has a broken point after n = {n}: n must rise and the loss be finite")]
    Broken {
        /// The curve's name.
        name: String,
        /// The last good n, 0 if there is none.
        n: u64,
    },
    /// The picture itself was refused.
    #[error("the picture could not be drawn: {0}")]
    Draw(String),
}

/// Whether `curves` can be drawn at all.
pub(super) fn check(curves: &[NamedCurve], max: usize) -> Result<(), SeriesError> {
    if curves.is_empty() {
        return Err(SeriesError::NoCurves);
    }
    if curves.len() > max {
        return Err(SeriesError::TooManyCurves {
            given: curves.len(),
            max,
        });
    }
    for curve in curves {
        if curve.points.len() < 2 {
            return Err(SeriesError::TooShort {
                name: curve.name.clone(),
                points: curve.points.len(),
            });
        }
        let mut n = 0;
        for point in &curve.points {
            if point.n <= n || !point.loss.is_finite() || point.loss < 0.0 {
                return Err(SeriesError::Broken {
                    name: curve.name.clone(),
                    n,
                });
            }
            n = point.n;
        }
    }
    Ok(())
}

/// `name` cut to `chars_max` characters, control characters replaced: they are allowed neither in
/// XML nor on a terminal.
pub(super) fn shown_name(name: &str, chars_max: usize) -> String {
    let clean = |c: char| if c.is_control() { '?' } else { c };
    let mut shown: String = name.chars().map(clean).take(chars_max).collect();
    if name.chars().count() > chars_max {
        shown.pop();
        shown.push('~');
    }
    shown
}

#[cfg(test)]
mod tests {
    use super::*;

    fn curve(points: &[(u64, f64)]) -> NamedCurve {
        NamedCurve {
            name: "bees".to_owned(),
            points: points
                .iter()
                .map(|(n, loss)| LossPoint::new(*n, *loss))
                .collect(),
        }
    }

    #[test]
    fn what_cannot_be_drawn_is_refused_in_words() {
        let good = curve(&[(1, 0.5), (2, 0.6)]);
        assert_eq!(check(std::slice::from_ref(&good), 1), Ok(()));
        let words = |curves: &[NamedCurve]| check(curves, 1).unwrap_err().to_string();
        assert!(words(&[]).contains("no curve"));
        assert!(words(&[good.clone(), good]).contains("at most 1"));
        assert!(words(&[curve(&[])]).contains("0 points"));
        assert!(words(&[curve(&[(1, 0.5)])]).contains("\"bees\" has 1 points"));
        assert!(words(&[curve(&[(1, 0.5), (2, f64::NAN)])]).contains("after n = 1"));
        assert!(words(&[curve(&[(2, 0.5), (2, 0.6)])]).contains("after n = 2"));
    }

    #[test]
    fn a_name_is_cut_and_cleaned() {
        assert_eq!(shown_name("short", 5), "short");
        assert_eq!(shown_name("longer", 5), "long~");
        assert_eq!(shown_name("a\u{1b}[1m\0", 9), "a?[1m?");
    }
}

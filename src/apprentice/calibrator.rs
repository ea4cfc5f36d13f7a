//! Turns a learner's score into a probability, by what came of earlier scores.

use super::instance::sigmoid;

/// Step of the online fit, before it shrinks by what was seen.
const RATE: f32 = 0.3;
/// A slope below this would turn the learner's order around.
const SLOPE_MIN: f32 = 0.01;
/// Scores are squashed to about this, so that one wild score does not shake the fit.
const SCALE: f32 = 4.0;

/// Platt's scaling, sigmoid(a s + b), fitted online by adaptive gradient steps (`AdaGrad`).
///
/// It never changes a learner's order. With it learners that shout (naive Bayes) and learners that do
/// not speak in probabilities at all (the baseline) are compared by what they know.
#[derive(Clone, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
pub(super) struct Calibrator {
    slope: f32,
    bias: f32,
    squares: [f32; 2],
}

impl Default for Calibrator {
    fn default() -> Self {
        Self {
            slope: 1.0,
            bias: 0.0,
            squares: [1.0; 2],
        }
    }
}

fn squashed(score: f32) -> f32 {
    SCALE * (score / SCALE).tanh()
}

impl Calibrator {
    /// The fit as numbers, to be saved.
    pub(super) fn to_numbers(&self) -> [f32; 4] {
        [self.slope, self.bias, self.squares[0], self.squares[1]]
    }

    /// The fit with these numbers; `None` if they are none.
    pub(super) fn from_numbers([slope, bias, first, second]: [f32; 4]) -> Option<Self> {
        let is_fit = [slope, bias, first, second].iter().all(|n| n.is_finite())
            && slope >= SLOPE_MIN
            && first >= 1.0
            && second >= 1.0;
        is_fit.then_some(Self {
            slope,
            bias,
            squares: [first, second],
        })
    }

    /// The probability that goes with a score.
    pub(super) fn probability(&self, score: f32) -> f32 {
        sigmoid(self.slope * squashed(score) + self.bias)
    }

    /// Takes in what came of a score: the label in [0, 1].
    pub(super) fn learn(&mut self, score: f32, label: f32) {
        let error = self.probability(score) - label;
        let gradients = [error * squashed(score), error];
        for (at, gradient) in gradients.into_iter().enumerate() {
            self.squares[at] += gradient * gradient;
            let step = RATE * gradient / self.squares[at].sqrt();
            if at == 0 {
                self.slope = (self.slope - step).max(SLOPE_MIN);
            } else {
                self.bias -= step;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_finds_the_shares_and_never_turns_the_order_around() {
        let mut calibrator = Calibrator::default();
        // High scores are right one time in two, low ones one in ten.
        for turn in 0..4000 {
            let is_high = turn % 2 == 0;
            let right = if is_high {
                turn % 4 == 0
            } else {
                turn % 20 == 1
            };
            calibrator.learn(if is_high { 8.0 } else { -8.0 }, f32::from(u8::from(right)));
        }
        let (high, low) = (calibrator.probability(8.0), calibrator.probability(-8.0));
        assert!(
            (high - 0.5).abs() < 0.08 && (low - 0.1).abs() < 0.08,
            "{high} {low}"
        );
        let mut wrong = Calibrator::default();
        for _ in 0..500 {
            wrong.learn(5.0, 0.0);
            wrong.learn(-5.0, 1.0);
        }
        assert!(wrong.probability(5.0) > wrong.probability(-5.0));
    }
}

//! Least squares, one example at a time.

/// Weights w that make sum (y - w x)^2 + ridge |w|^2 least, kept up to date by the formula of Sherman
/// and Morrison for the inverse of sum x x' + ridge.
#[derive(Clone, Debug)]
pub struct LeastSquares<const D: usize> {
    inverse: [[f64; D]; D],
    weights: [f64; D],
}

impl<const D: usize> LeastSquares<D> {
    /// No example yet: all weights 0. `ridge` is above 0.
    pub fn new(ridge: f64) -> Self {
        let mut inverse = [[0.0; D]; D];
        for (at, row) in inverse.iter_mut().enumerate() {
            row[at] = 1.0 / ridge;
        }
        Self {
            inverse,
            weights: [0.0; D],
        }
    }

    /// Learns that `x` has the value `y`.
    pub fn learn(&mut self, x: &[f64; D], y: f64) {
        let turned = self.inverse.map(|row| dot(&row, x));
        let scale = 1.0 + dot(x, &turned);
        let error = (y - self.predict(x)) / scale;
        for (weight, part) in self.weights.iter_mut().zip(turned) {
            *weight += part * error;
        }
        for (row, left) in self.inverse.iter_mut().zip(turned) {
            for (cell, right) in row.iter_mut().zip(turned) {
                *cell -= left * right / scale;
            }
        }
    }

    /// What `x` would have.
    pub fn predict(&self, x: &[f64; D]) -> f64 {
        dot(&self.weights, x)
    }

    /// The weights.
    pub fn weights(&self) -> &[f64; D] {
        &self.weights
    }
}

fn dot<const D: usize>(a: &[f64; D], b: &[f64; D]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

//! The least value of a smooth function, by L-BFGS (Nocedal and Wright, Numerical Optimization,
//! 2006, algorithms 7.4 and 3.1). A dozen parameters to some hundreds; nothing random.

use std::collections::VecDeque;

/// Steps that are remembered; the usual choice.
const MEMORY: usize = 10;
/// A step must gain at least this share of what the slope promises (Armijo).
const GAIN_MIN: f64 = 1e-4;
/// Halvings of one step before it is given up.
const HALVINGS_MAX: usize = 40;

/// Walks from `start` to a minimum of `function`, which writes its gradient beside its value.
///
/// Ends when no part of the gradient exceeds `tolerance`, when no step gains, or after `steps_max`
/// steps; the best point so far is the answer in any case.
pub(super) fn minimize(
    start: Vec<f64>,
    tolerance: f64,
    steps_max: usize,
    mut function: impl FnMut(&[f64], &mut [f64]) -> f64,
) -> Vec<f64> {
    let mut point = start;
    let mut gradient = vec![0.0; point.len()];
    let mut value = function(&point, &mut gradient);
    let mut memory: VecDeque<(Vec<f64>, Vec<f64>)> = VecDeque::new();
    let (mut trial, mut trial_gradient) = (point.clone(), gradient.clone());
    for _ in 0..steps_max {
        if gradient.iter().all(|part| part.abs() <= tolerance) {
            break;
        }
        let mut direction = downhill(&gradient, &memory);
        let mut slope = dot(&direction, &gradient);
        if slope >= 0.0 {
            memory.clear();
            direction = gradient.iter().map(|part| -part).collect();
            slope = dot(&direction, &gradient);
        }
        let mut step = if memory.is_empty() {
            1.0_f64.min(1.0 / dot(&gradient, &gradient).sqrt())
        } else {
            1.0
        };
        let mut gained = false;
        for _ in 0..HALVINGS_MAX {
            for (to, (from, along)) in trial.iter_mut().zip(point.iter().zip(&direction)) {
                *to = from + step * along;
            }
            let there = function(&trial, &mut trial_gradient);
            if there <= value + GAIN_MIN * step * slope {
                value = there;
                gained = true;
                break;
            }
            step /= 2.0;
        }
        if !gained {
            break;
        }
        let moved = difference(&trial, &point);
        let turned = difference(&trial_gradient, &gradient);
        if dot(&moved, &turned) > f64::EPSILON * dot(&turned, &turned) {
            if memory.len() == MEMORY {
                memory.pop_front();
            }
            memory.push_back((moved, turned));
        }
        std::mem::swap(&mut point, &mut trial);
        std::mem::swap(&mut gradient, &mut trial_gradient);
    }
    point
}

/// The quasi-Newton direction: the two loops of algorithm 7.4.
fn downhill(gradient: &[f64], memory: &VecDeque<(Vec<f64>, Vec<f64>)>) -> Vec<f64> {
    let mut direction: Vec<f64> = gradient.iter().map(|part| -part).collect();
    let mut shares = Vec::with_capacity(memory.len());
    for (moved, turned) in memory.iter().rev() {
        let share = dot(moved, &direction) / dot(moved, turned);
        add(&mut direction, turned, -share);
        shares.push(share);
    }
    if let Some((moved, turned)) = memory.back() {
        let scale = dot(moved, turned) / dot(turned, turned);
        for part in &mut direction {
            *part *= scale;
        }
    }
    for ((moved, turned), share) in memory.iter().zip(shares.into_iter().rev()) {
        let back = dot(turned, &direction) / dot(moved, turned);
        add(&mut direction, moved, share - back);
    }
    direction
}

fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

fn add(to: &mut [f64], what: &[f64], times: f64) {
    to.iter_mut()
        .zip(what)
        .for_each(|(to, what)| *to += times * what);
}

fn difference(a: &[f64], b: &[f64]) -> Vec<f64> {
    a.iter().zip(b).map(|(a, b)| a - b).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rosenbrocks_valley_is_followed_to_its_end() {
        let found = minimize(vec![-1.2, 1.0], 1e-9, 500, |p, gradient| {
            let (a, b) = (1.0 - p[0], p[1] - p[0] * p[0]);
            gradient[0] = -2.0 * a - 400.0 * p[0] * b;
            gradient[1] = 200.0 * b;
            a * a + 100.0 * b * b
        });
        assert!((found[0] - 1.0).abs() < 1e-6 && (found[1] - 1.0).abs() < 1e-6);
    }

    #[test]
    fn a_flat_function_is_left_where_it_is() {
        let found = minimize(vec![3.0], 1e-9, 10, |_, gradient| {
            gradient[0] = 0.0;
            7.0
        });
        assert_eq!(found, [3.0]);
    }
}

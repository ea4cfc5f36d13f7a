//! L(n) drawn with characters, for the end of a run in a terminal.

use super::series::{NamedCurve, SeriesError, check, shown_name};

/// One mark a curve.
const MARKS: [char; 8] = ['o', '*', '+', 'x', '#', '@', '%', '&'];

/// The most curves that one chart tells apart.
pub const CHART_CURVES_MAX: usize = MARKS.len();

/// The line on which every page is lost.
const DIAGONAL: char = '.';
const LABEL_CHARS: usize = 8;

/// Draws `curves` with plain characters, `width` columns by `height` rows of plot (the labels come
/// on top; both are bounded to 20..=400 and 5..=100), with a legend below. Where curves meet, the
/// one that lost least is seen.
///
/// # Errors
/// [`SeriesError`] for no curves, too many, and curves of fewer than 2 points.
pub fn loss_chart(
    curves: &[NamedCurve],
    width: usize,
    height: usize,
) -> Result<String, SeriesError> {
    check(curves, CHART_CURVES_MAX)?;
    let chart = Chart::of(curves, width.clamp(20, 400), height.clamp(5, 100));
    let mut order: Vec<usize> = (0..curves.len()).collect();
    let last_loss = |curve: usize| curves[curve].last().map_or(0.0, |point| point.loss);
    order.sort_by(|a, b| last_loss(*b).total_cmp(&last_loss(*a)));
    let mut rows = vec![vec![' '; chart.width]; chart.height];
    chart.draw(&mut rows, DIAGONAL, Some);
    for curve in &order {
        chart.draw(&mut rows, MARKS[*curve], |n| loss_at(&curves[*curve], n));
    }
    let mut out = chart.framed(&rows);
    for curve in order {
        let name = shown_name(&curves[curve].name, 40);
        if let Some(last) = curves[curve].last() {
            push_line(
                &mut out,
                &format!(
                    "{:LABEL_CHARS$} {} {name}: lost {:.1} of {}",
                    "", MARKS[curve], last.loss, last.n
                ),
            );
        }
    }
    push_line(
        &mut out,
        &format!("{:LABEL_CHARS$} {DIAGONAL} every page lost", ""),
    );
    Ok(out)
}

/// The scale of a chart: columns to n, losses to rows.
struct Chart {
    width: usize,
    height: usize,
    n_max: f64,
    loss_max: f64,
}

impl Chart {
    fn of(curves: &[NamedCurve], width: usize, height: usize) -> Self {
        let ends = || curves.iter().filter_map(NamedCurve::last);
        let top = |max: f64, value: f64| max.max(value);
        let losses = curves
            .iter()
            .flat_map(|curve| &curve.points)
            .map(|point| point.loss);
        Self {
            width,
            height,
            n_max: ends().map(|last| last.n as f64).fold(1.0, top),
            loss_max: losses.fold(1.0, top),
        }
    }

    /// Puts `mark` in each column at the height of `loss_at` there, if the chart reaches so far.
    fn draw(&self, rows: &mut [Vec<char>], mark: char, loss_at: impl Fn(f64) -> Option<f64>) {
        for column in 0..self.width {
            let n = self.n_max * (column + 1) as f64 / self.width as f64;
            let Some(loss) = loss_at(n).filter(|loss| *loss <= self.loss_max) else {
                continue;
            };
            let above = (1.0 - loss / self.loss_max) * (self.height - 1) as f64;
            #[allow(
                clippy::cast_possible_truncation,
                clippy::cast_sign_loss,
                reason = "0 <= loss <= loss_max, so it lies within the rows"
            )]
            let row = above.round() as usize;
            if let Some(cell) = rows.get_mut(row).and_then(|row| row.get_mut(column)) {
                *cell = mark;
            }
        }
    }

    /// The rows with both axes and their labels.
    fn framed(&self, rows: &[Vec<char>]) -> String {
        let mut out = String::new();
        push_line(&mut out, "expected pages lost");
        for (at, row) in rows.iter().enumerate() {
            let label = if at == 0 {
                format!("{:.0}", self.loss_max)
            } else if at + 1 == self.height {
                "0".to_owned()
            } else {
                String::new()
            };
            let row: String = row.iter().collect();
            push_line(&mut out, &format!("{label:>LABEL_CHARS$} |{row}"));
        }
        push_line(
            &mut out,
            &format!("{:LABEL_CHARS$} +{}", "", "-".repeat(self.width)),
        );
        let n_max = format!("{:.0}", self.n_max);
        let middle = self.width.saturating_sub(1 + n_max.len());
        let title = "pages fetched";
        push_line(
            &mut out,
            &format!("{:LABEL_CHARS$}  0{title:^middle$}{n_max}", ""),
        );
        out
    }
}

fn push_line(out: &mut String, line: &str) {
    out.push_str(line.trim_end());
    out.push('\n');
}

/// The loss at `n`, straight between the neighbouring points; `None` outside the curve.
fn loss_at(curve: &NamedCurve, n: f64) -> Option<f64> {
    let after = curve.points.partition_point(|point| (point.n as f64) < n);
    let right = curve.points.get(after)?;
    let Some(left) = after.checked_sub(1).and_then(|at| curve.points.get(at)) else {
        // Before the first point the curve comes from nothing fetched, nothing lost.
        return Some(right.loss * n / right.n as f64);
    };
    let share = (n - left.n as f64) / (right.n as f64 - left.n as f64);
    Some(left.loss + share * (right.loss - left.loss))
}

#[cfg(test)]
mod tests {
    use crate::measure::LossCurve;

    use super::*;

    fn curve(name: &str, relevance: f32, fetches: usize) -> NamedCurve {
        let curve: LossCurve = std::iter::repeat_n(relevance, fetches).collect();
        NamedCurve::all(name, &curve)
    }

    #[test]
    fn two_crawls_are_told_apart_without_colour() {
        let curves = [
            curve("breadth-first", 0.25, 80),
            curve("baseline", 0.75, 80),
        ];
        insta::assert_snapshot!(loss_chart(&curves, 40, 8).unwrap(), @"
        expected pages lost
              60 |                           ...       ooo
                 |                       ....    oooooo
                 |                   ....  oooooo
                 |               .... ooooo
                 |          ....oooooo
                 |      ..oooooo           ***************
                 |  oooooo*****************
               0 |********
                 +----------------------------------------
                  0            pages fetched            80
                 o breadth-first: lost 60.0 of 80
                 * baseline: lost 20.0 of 80
                 . every page lost
        ");
    }

    #[test]
    fn every_line_keeps_to_the_width() {
        let curves = [
            curve("a", 0.0, 3),
            curve("b", 1.0, 1000),
            curve("c", 0.9, 17),
        ];
        for (width, height) in [(0, 0), (33, 7), (100_000, 100_000)] {
            let chart = loss_chart(&curves, width, height).unwrap();
            let plot = chart.lines().filter(|line| line.contains('|'));
            let bounded = width.clamp(20, 400) + LABEL_CHARS + 2;
            assert!(plot.clone().all(|line| line.len() <= bounded));
            assert_eq!(plot.count(), height.clamp(5, 100));
        }
    }

    #[test]
    fn a_curve_that_lost_nothing_lies_on_the_ground() {
        let chart = loss_chart(&[curve("perfect", 1.0, 10)], 20, 5).unwrap();
        let ground = chart
            .lines()
            .find(|line| line.trim_start().starts_with("0 |"));
        assert_eq!(ground.unwrap().matches('o').count(), 20);
    }

    #[test]
    fn nothing_to_draw_is_an_error_with_words() {
        assert_eq!(loss_chart(&[], 40, 8), Err(SeriesError::NoCurves));
        let short = loss_chart(&[curve("a", 1.0, 1)], 40, 8).unwrap_err();
        assert!(short.to_string().contains("a line needs 2"));
        let many: Vec<NamedCurve> = (0..9).map(|_| curve("a", 1.0, 2)).collect();
        assert!(matches!(
            loss_chart(&many, 40, 8),
            Err(SeriesError::TooManyCurves { given: 9, max: 8 })
        ));
    }
}

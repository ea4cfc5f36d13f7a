//! Curves as inline SVG. The picture stands by itself; the script adds a crosshair that reads the values
//! off, from the same points.

use std::fmt::Write;

use maud::{Markup, PreEscaped, html};

use super::scale::{decades, ticks, written};

/// Size of the picture, in units of its own; it takes the width that there is.
const WIDTH: f64 = 760.0;
const HEIGHT: f64 = 380.0;
/// Around the curves: left, right, top, bottom.
const LEFT: f64 = 76.0;
const RIGHT: f64 = 26.0;
const TOP: f64 = 12.0;
const BOTTOM: f64 = 52.0;
/// Colours of the style sheet; beyond them lines are dashed.
const COLOURS: usize = 8;
const DASHES: [&str; 4] = ["", "7 4", "2 3", "9 3 2 3"];

/// Curves over the same x.
#[derive(Clone, Debug, Default)]
pub(in crate::lab) struct Figure {
    /// What it shows.
    pub(in crate::lab) caption: String,
    /// What runs to the right.
    pub(in crate::lab) x: String,
    /// What runs upwards.
    pub(in crate::lab) y: String,
    /// Powers of ten at equal distances to the right.
    pub(in crate::lab) is_log: bool,
    /// The curves.
    pub(in crate::lab) curves: Vec<Curve>,
}

/// Points under a name.
#[derive(Clone, Debug, Default, PartialEq)]
pub(in crate::lab) struct Curve {
    /// The name.
    pub(in crate::lab) name: String,
    /// The points, in rising x.
    pub(in crate::lab) points: Vec<(f64, f64)>,
}

/// From values to places in the picture.
struct Frame {
    x: (f64, f64),
    y: (f64, f64),
    is_log: bool,
}

impl Figure {
    pub(super) fn render(&self, number: usize) -> Markup {
        let Some(frame) = Frame::around(self) else {
            return html! { p { (self.caption) ": nothing to draw." } };
        };
        html! {
            figure {
                figcaption { (self.caption) }
                div.plot data-figure=(number) {
                    (self.svg(&frame))
                    div.reading hidden {}
                }
                div.legend {
                    @for (at, curve) in self.curves.iter().enumerate() {
                        button type="button" aria-pressed="true" data-curve=(at) {
                            (swatch(at)) (curve.name)
                        }
                    }
                }
                script type="application/json" { (PreEscaped(self.data(&frame))) }
            }
        }
    }

    fn svg(&self, frame: &Frame) -> Markup {
        let (bottom, right) = (HEIGHT - BOTTOM, WIDTH - RIGHT);
        html! {
            svg viewBox=(format!("0 0 {WIDTH} {HEIGHT}")) role="img" aria-label=(self.caption) {
                @for value in ticks(frame.y.0, frame.y.1, 5.0) {
                    @let y = place(frame.up(value));
                    line.grid x1=(LEFT) x2=(right) y1=(y) y2=(y) {}
                    text x=(LEFT - 7.0) y=(y) dy="0.32em" text-anchor="end" { (written(value)) }
                }
                @for value in frame.across() {
                    @let x = place(frame.right(value));
                    line.grid x1=(x) x2=(x) y1=(TOP) y2=(bottom) {}
                    text x=(x) y=(bottom + 20.0) text-anchor="middle" { (written(value)) }
                }
                text x=(f64::midpoint(LEFT, right)) y=(HEIGHT - 6.0) text-anchor="middle" { (self.x) }
                text transform=(format!("translate(18 {}) rotate(-90)", f64::midpoint(TOP, bottom)))
                    text-anchor="middle" { (self.y) }
                @for (at, curve) in self.curves.iter().enumerate() {
                    path class=(format!("curve c{}", at % COLOURS)) data-curve=(at)
                        stroke-dasharray=(dashes(at)) d=(frame.path(curve)) {}
                }
                line.cross x1="0" x2="0" y1=(TOP) y2=(bottom) visibility="hidden" {}
            }
        }
    }

    /// What the script reads: the frame and the points. Names cannot end the script element: `<` is
    /// written as JSON may.
    fn data(&self, frame: &Frame) -> String {
        let curves = self.curves.iter().map(|curve| {
            let points: Vec<[f64; 2]> = curve
                .points
                .iter()
                .map(|(x, y)| [*x, rounded(*y)])
                .collect();
            serde_json::json!({ "name": curve.name, "points": points })
        });
        let data = serde_json::json!({
            "x": self.x,
            "log": frame.is_log,
            "from": [frame.x.0, frame.x.1],
            "to": [LEFT, WIDTH - RIGHT],
            "width": WIDTH,
            "curves": curves.collect::<Vec<_>>(),
        });
        data.to_string().replace('<', "\\u003c")
    }
}

impl Frame {
    /// `None` without a line: two points that are numbers.
    fn around(figure: &Figure) -> Option<Self> {
        let all = || figure.curves.iter().flat_map(|curve| &curve.points);
        let is_log = figure.is_log && all().all(|(x, _)| *x > 0.0);
        let reach = |values: &mut dyn Iterator<Item = f64>| {
            let finite = values.filter(|value| value.is_finite());
            finite.fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), value| {
                (low.min(value), high.max(value))
            })
        };
        let x = reach(&mut all().map(|(x, _)| *x));
        let y = reach(&mut all().map(|(_, y)| *y));
        // Sums and shares are read from 0.
        let y = (
            y.0.min(0.0),
            if y.1 > y.0.min(0.0) { y.1 } else { y.0 + 1.0 },
        );
        let x = if is_log { x } else { (x.0.min(0.0), x.1) };
        (x.1 > x.0 && y.0.is_finite() && y.1.is_finite()).then_some(Self { x, y, is_log })
    }

    fn right(&self, value: f64) -> f64 {
        let share = if self.is_log {
            (value / self.x.0).ln() / (self.x.1 / self.x.0).ln()
        } else {
            (value - self.x.0) / (self.x.1 - self.x.0)
        };
        LEFT + share * (WIDTH - LEFT - RIGHT)
    }

    fn up(&self, value: f64) -> f64 {
        let share = (value - self.y.0) / (self.y.1 - self.y.0);
        HEIGHT - BOTTOM - share * (HEIGHT - TOP - BOTTOM)
    }

    fn across(&self) -> Vec<f64> {
        if self.is_log {
            decades(self.x.0, self.x.1)
        } else {
            ticks(self.x.0, self.x.1, 6.0)
        }
    }

    fn path(&self, curve: &Curve) -> String {
        let mut path = String::new();
        let finite = |point: &&(f64, f64)| point.0.is_finite() && point.1.is_finite();
        for (x, y) in curve.points.iter().filter(finite) {
            let command = if path.is_empty() { 'M' } else { 'L' };
            // Writing into a string cannot fail.
            let _ = write!(
                path,
                "{command}{} {}",
                place(self.right(*x)),
                place(self.up(*y))
            );
        }
        path
    }
}

fn swatch(at: usize) -> Markup {
    html! {
        svg.swatch viewBox="0 0 26 10" aria-hidden="true" {
            line class=(format!("curve c{}", at % COLOURS)) stroke-dasharray=(dashes(at))
                x1="1" x2="25" y1="5" y2="5" {}
        }
    }
}

fn dashes(at: usize) -> &'static str {
    DASHES[(at / COLOURS) % DASHES.len()]
}

/// To a tenth of a unit: finer is not seen.
fn place(value: f64) -> String {
    format!("{value:.1}")
}

fn rounded(value: f64) -> f64 {
    (value * 1e4).round() / 1e4
}

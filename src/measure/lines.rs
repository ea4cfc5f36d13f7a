//! Any lines in one SVG picture, drawn as those of L(n) are: the figures of the lab's studies.

use plotters::backend::SVGBackend;
use plotters::chart::ChartBuilder;
use plotters::drawing::IntoDrawingArea;
use plotters::element::Text;
use plotters::series::{DashedLineSeries, LineSeries};
use plotters::style::{BLACK, IntoFont, WHITE};

use super::plot::{
    Area, Drawn, FONT, GRID, LEGEND_NAME_CHARS, LEGEND_WIDTH, SIZE, SVG_CURVES_MAX, TITLE_CHARS,
    dashed, draw_swatch, style,
};
use super::series::{SeriesError, shown_name};

/// What a picture says around its lines.
#[derive(Clone, Copy, Debug)]
pub struct Axes<'a> {
    /// Above it.
    pub title: &'a str,
    /// What runs to the right.
    pub x: &'a str,
    /// What runs upwards.
    pub y: &'a str,
}

/// Points joined by a line, under a name.
#[derive(Clone, Debug, PartialEq)]
pub struct Line {
    /// What the legend says.
    pub name: String,
    /// The points, in rising x.
    pub points: Vec<(f64, f64)>,
}

/// Draws `lines` in their order of colours. Points that are no numbers are left out; names and title
/// may hold anything, they are escaped and cut.
///
/// # Errors
/// [`SeriesError`] for no lines, more than [`SVG_CURVES_MAX`], and lines of fewer than 2 points.
pub fn line_svg(axes: &Axes<'_>, lines: &[Line]) -> Result<String, SeriesError> {
    let lines: Vec<Line> = lines.iter().map(finite).collect();
    check(&lines)?;
    let mut svg = String::new();
    let root = SVGBackend::with_string(&mut svg, SIZE).into_drawing_area();
    let drawn = draw(&root, axes, &lines);
    drop(root);
    drawn.map_err(|error| SeriesError::Draw(error.to_string()))?;
    Ok(svg)
}

fn finite(line: &Line) -> Line {
    let points = line.points.iter().copied();
    Line {
        name: line.name.clone(),
        points: points
            .filter(|(x, y)| x.is_finite() && y.is_finite())
            .collect(),
    }
}

fn check(lines: &[Line]) -> Result<(), SeriesError> {
    if lines.is_empty() {
        return Err(SeriesError::NoCurves);
    }
    if lines.len() > SVG_CURVES_MAX {
        return Err(SeriesError::TooManyCurves {
            given: lines.len(),
            max: SVG_CURVES_MAX,
        });
    }
    match lines.iter().find(|line| line.points.len() < 2) {
        Some(short) => Err(SeriesError::TooShort {
            name: short.name.clone(),
            points: short.points.len(),
        }),
        None => Ok(()),
    }
}

fn draw(root: &Area<'_>, axes: &Axes<'_>, lines: &[Line]) -> Drawn {
    root.fill(&WHITE)?;
    let (plot, legend) = root.split_horizontally(SIZE.0 - LEGEND_WIDTH);
    let (x_min, x_max) = range(lines, |point| point.0);
    let (y_min, y_max) = range(lines, |point| point.1);
    let room = (y_max - y_min) * 0.05;
    let mut chart = ChartBuilder::on(&plot)
        .caption(shown_name(axes.title, TITLE_CHARS), (FONT, 20))
        .margin(14)
        .x_label_area_size(50)
        .y_label_area_size(64)
        .build_cartesian_2d(x_min..x_max, y_min - room..y_max + room)?;
    chart
        .configure_mesh()
        .bold_line_style(GRID)
        .light_line_style(WHITE)
        .axis_style(BLACK)
        .label_style((FONT, 14))
        .axis_desc_style((FONT, 16))
        .x_desc(axes.x)
        .y_desc(axes.y)
        .x_label_formatter(&short)
        .y_label_formatter(&short)
        .draw()?;
    for (place, line) in lines.iter().enumerate() {
        let points = line.points.iter().copied();
        if dashed(place) {
            let points: Vec<_> = points.collect();
            chart.draw_series(DashedLineSeries::new(points, 7, 5, style(place)))?;
        } else {
            chart.draw_series(LineSeries::new(points, style(place)))?;
        }
    }
    draw_legend(&legend, lines)?;
    root.present()
}

fn draw_legend(area: &Area<'_>, lines: &[Line]) -> Drawn {
    let mut y = 62;
    for (place, line) in lines.iter().enumerate() {
        draw_swatch(area, y, dashed(place), style(place))?;
        let name = shown_name(&line.name, LEGEND_NAME_CHARS);
        area.draw(&Text::new(name, (42, y - 7), (FONT, 15).into_font()))?;
        y += 28;
    }
    Ok(())
}

/// The least and the greatest value, never the same.
fn range(lines: &[Line], of: impl Fn(&(f64, f64)) -> f64) -> (f64, f64) {
    let values = lines.iter().flat_map(|line| &line.points).map(of);
    let (min, max) = values.fold((f64::INFINITY, f64::NEG_INFINITY), |(min, max), value| {
        (min.min(value), max.max(value))
    });
    if max > min {
        (min, max)
    } else {
        (min, min + 1.0)
    }
}

#[allow(clippy::trivially_copy_pass_by_ref, reason = "plotters asks for &f64")]
fn short(value: &f64) -> String {
    let text = if value.abs() >= 100.0 {
        format!("{value:.0}")
    } else {
        format!("{value:.4}")
    };
    match text.split_once('.') {
        Some((whole, part)) => match part.trim_end_matches('0') {
            "" => whole.to_owned(),
            part => format!("{whole}.{part}"),
        },
        None => text,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const AXES: Axes<'_> = Axes {
        title: "gain <by> offset",
        x: "offset",
        y: "bits",
    };

    fn line(name: &str, points: &[(f64, f64)]) -> Line {
        Line {
            name: name.to_owned(),
            points: points.to_vec(),
        }
    }

    #[test]
    fn a_picture_names_its_lines_and_axes() {
        let lines = [
            line("mean", &[(-5.0, 0.25), (0.0, 1.0), (5.0, -0.5)]),
            line("flat", &[(-5.0, 0.0), (f64::NAN, 3.0), (5.0, 0.0)]),
        ];
        let svg = line_svg(&AXES, &lines).unwrap();
        for words in ["gain &lt;by&gt; offset", "offset", "bits", "mean", "flat"] {
            assert!(svg.contains(words), "{words}");
        }
        assert_eq!(svg, line_svg(&AXES, &lines).unwrap());
    }

    #[test]
    fn what_has_no_line_is_refused() {
        assert_eq!(line_svg(&AXES, &[]), Err(SeriesError::NoCurves));
        let nothing = line("broken", &[(0.0, f64::NAN), (1.0, 2.0)]);
        let error = line_svg(&AXES, &[nothing]).unwrap_err();
        assert!(matches!(error, SeriesError::TooShort { points: 1, .. }));
    }

    #[test]
    fn labels_are_short() {
        let labels = [0.0, -3.0, 0.25, 1234.5, 0.5].map(|value| short(&value));
        assert_eq!(labels, ["0", "-3", "0.25", "1234", "0.5"]);
    }
}

//! L(n) of several crawls in one SVG picture.

use plotters::backend::SVGBackend;
use plotters::chart::{ChartBuilder, ChartContext};
use plotters::coord::Shift;
use plotters::coord::cartesian::Cartesian2d;
use plotters::coord::types::RangedCoordf64;
use plotters::drawing::{DrawingArea, DrawingAreaErrorKind, IntoDrawingArea};
use plotters::element::{PathElement, Text};
use plotters::series::{DashedLineSeries, LineSeries};
use plotters::style::{BLACK, Color, IntoFont, RGBColor, ShapeStyle, WHITE};

use super::LossPoint;
use super::series::{NamedCurve, SeriesError, check, shown_name};

/// The most points of one curve that are drawn; more cannot be seen at this size.
pub const SVG_POINTS_MAX: usize = 1000;
/// The most curves in one picture: each colour once as a line and once dashed.
pub const SVG_CURVES_MAX: usize = 2 * COLOURS.len();

pub(super) const SIZE: (u32, u32) = (960, 560);
pub(super) const LEGEND_WIDTH: u32 = 260;
pub(super) const LEGEND_NAME_CHARS: usize = 24;
pub(super) const TITLE_CHARS: usize = 80;
pub(super) const FONT: &str = "sans-serif";
const GREY: RGBColor = RGBColor(100, 100, 100);
pub(super) const GRID: RGBColor = RGBColor(228, 228, 228);

/// The palette of Okabe and Ito (2008), which colour-blind people can tell apart, without its
/// yellow, which is too faint on white.
const COLOURS: [RGBColor; 7] = [
    RGBColor(0, 114, 178),
    RGBColor(213, 94, 0),
    RGBColor(0, 158, 115),
    RGBColor(204, 121, 167),
    RGBColor(86, 180, 233),
    RGBColor(230, 159, 0),
    RGBColor(0, 0, 0),
];

pub(super) type Area<'a> = DrawingArea<SVGBackend<'a>, Shift>;
type Chart<'a, 'b> = ChartContext<'a, SVGBackend<'b>, Cartesian2d<RangedCoordf64, RangedCoordf64>>;
pub(super) type Drawn = Result<(), DrawingAreaErrorKind<std::io::Error>>;

/// Draws `curves` in their order of colours; the legend stands beside the plot, the greatest loss
/// on top, as the curves end. Names and title may hold anything, they are escaped and cut. The
/// picture needs no font and is the same bytes for the same curves.
///
/// # Errors
/// [`SeriesError`] for no curves, too many, and curves of fewer than 2 points.
pub fn loss_svg(title: &str, curves: &[NamedCurve]) -> Result<String, SeriesError> {
    check(curves, SVG_CURVES_MAX)?;
    let mut svg = String::new();
    let root = SVGBackend::with_string(&mut svg, SIZE).into_drawing_area();
    let drawn = draw(&root, &shown_name(title, TITLE_CHARS), curves);
    drop(root);
    drawn.map_err(|error| SeriesError::Draw(error.to_string()))?;
    Ok(svg)
}

fn draw(root: &Area<'_>, title: &str, curves: &[NamedCurve]) -> Drawn {
    root.fill(&WHITE)?;
    let (plot, legend) = root.split_horizontally(SIZE.0 - LEGEND_WIDTH);
    draw_plot(&plot, title, curves)?;
    draw_legend(&legend, curves)?;
    root.present()
}

fn draw_plot(area: &Area<'_>, title: &str, curves: &[NamedCurve]) -> Drawn {
    let n_max = greatest(curves, |point| point.n as f64);
    let loss_max = (greatest(curves, |point| point.loss) * 1.05).max(1.0);
    let mut chart = ChartBuilder::on(area)
        .caption(title, (FONT, 20))
        .margin(14)
        .x_label_area_size(50)
        .y_label_area_size(64)
        .build_cartesian_2d(0.0..n_max, 0.0..loss_max)?;
    chart
        .configure_mesh()
        .bold_line_style(GRID)
        .light_line_style(WHITE)
        .axis_style(BLACK)
        .label_style((FONT, 14))
        .axis_desc_style((FONT, 16))
        .x_desc("pages fetched")
        .y_desc("expected pages lost")
        .x_label_formatter(&whole)
        .y_label_formatter(&whole)
        .draw()?;
    let lost_at_most = n_max.min(loss_max);
    let diagonal = [(0.0, 0.0), (lost_at_most, lost_at_most)];
    chart.draw_series(LineSeries::new(diagonal, GREY.stroke_width(1)))?;
    for (place, curve) in curves.iter().enumerate() {
        draw_curve(&mut chart, place, curve)?;
    }
    Ok(())
}

fn draw_curve(chart: &mut Chart<'_, '_>, place: usize, curve: &NamedCurve) -> Drawn {
    let points = thinned(&curve.points)
        .map(|point| (point.n as f64, point.loss))
        .collect::<Vec<_>>();
    if dashed(place) {
        chart.draw_series(DashedLineSeries::new(points, 7, 5, style(place)))?;
    } else {
        chart.draw_series(LineSeries::new(points, style(place)))?;
    }
    Ok(())
}

fn draw_legend(area: &Area<'_>, curves: &[NamedCurve]) -> Drawn {
    let mut order: Vec<(usize, LossPoint)> = curves
        .iter()
        .enumerate()
        .filter_map(|(place, curve)| Some((place, curve.last()?)))
        .collect();
    order.sort_by(|a, b| b.1.loss.total_cmp(&a.1.loss));
    let mut y = 62;
    for (place, last) in order {
        draw_swatch(area, y, dashed(place), style(place))?;
        let name = shown_name(&curves[place].name, LEGEND_NAME_CHARS);
        area.draw(&Text::new(name, (42, y - 7), (FONT, 15).into_font()))?;
        let figures = format!("{:.1} lost of {}", last.loss, last.n);
        let small = (FONT, 12).into_font().color(&GREY);
        area.draw(&Text::new(figures, (42, y + 9), small))?;
        y += 32;
    }
    draw_swatch(area, y, false, GREY.stroke_width(1))?;
    let every = "every page lost";
    area.draw(&Text::new(every, (42, y - 7), (FONT, 15).into_font()))
}

pub(super) fn draw_swatch(area: &Area<'_>, y: i32, dashed: bool, style: ShapeStyle) -> Drawn {
    let pieces = if dashed {
        vec![(6, 13), (18, 25), (30, 34)]
    } else {
        vec![(6, 34)]
    };
    for (from, to) in pieces {
        area.draw(&PathElement::new([(from, y), (to, y)], style))?;
    }
    Ok(())
}

pub(super) fn style(place: usize) -> ShapeStyle {
    COLOURS[place % COLOURS.len()].stroke_width(2)
}

pub(super) fn dashed(place: usize) -> bool {
    place >= COLOURS.len()
}

#[allow(clippy::trivially_copy_pass_by_ref, reason = "plotters asks for &f64")]
fn whole(value: &f64) -> String {
    if value.fract().abs() < 1e-9 {
        format!("{value:.0}")
    } else {
        format!("{value:.1}")
    }
}

fn greatest(curves: &[NamedCurve], of: impl Fn(&LossPoint) -> f64) -> f64 {
    let points = curves.iter().flat_map(|curve| &curve.points);
    points.map(of).fold(0.0, f64::max)
}

/// Every k-th point, and always the last, so that at most [`SVG_POINTS_MAX`] remain.
fn thinned(points: &[LossPoint]) -> impl Iterator<Item = &LossPoint> {
    let step = points.len().div_ceil(SVG_POINTS_MAX - 1).max(1);
    let last = points.len().saturating_sub(1);
    let kept = move |at: &usize| at.is_multiple_of(step) || *at == last;
    points
        .iter()
        .enumerate()
        .filter(move |(at, _)| kept(at))
        .map(|(_, point)| point)
}

#[cfg(test)]
mod tests {
    use crate::measure::LossCurve;

    use super::*;

    fn curve(name: &str, fetches: u32, halving: f32) -> NamedCurve {
        let relevances = (0..fetches).map(|n| (-f64::from(n) / f64::from(halving)).exp2());
        #[allow(clippy::cast_possible_truncation, reason = "relevances lie in [0, 1]")]
        let curve: LossCurve = relevances.map(|r| r as f32).collect();
        NamedCurve::all(name, &curve)
    }

    /// The texts that the picture's parser sees; panics if it is no well-formed XML as far as
    /// html5ever's stricter cousin would notice: tags balanced, nothing unescaped.
    fn texts(svg: &str) -> Vec<String> {
        let tag = regex::Regex::new(r"<[^<>]*>").unwrap();
        let bare = tag.replace_all(svg, "\n");
        assert!(!bare.contains(['<', '>', '\0']), "unescaped: {bare}");
        bare.lines()
            .map(str::trim)
            .filter(|line| !line.is_empty())
            .map(str::to_owned)
            .collect()
    }

    #[test]
    fn the_picture_names_axes_curves_and_the_diagonal() {
        let curves = [
            curve("breadth-first", 500, 90.0),
            curve("baseline", 500, 300.0),
        ];
        let svg = loss_svg("beekeeping", &curves).unwrap();
        let texts = texts(&svg);
        for text in [
            "beekeeping",
            "pages fetched",
            "expected pages lost",
            "every page lost",
            "breadth-first",
            "baseline",
        ] {
            assert!(
                texts.iter().any(|t| t == text),
                "{text} is not in {texts:?}"
            );
        }
        assert_eq!(svg, loss_svg("beekeeping", &curves).unwrap());
    }

    #[test]
    fn names_cannot_break_out_of_the_picture() {
        let name = "</text><script>&\"'\0\u{1b}";
        let svg = loss_svg(name, &[curve(name, 10, 5.0)]).unwrap();
        assert!(!svg.contains("<script"));
        let texts = texts(&svg);
        let escaped = "&lt;/text&gt;&lt;script&gt;&amp;";
        assert!(
            texts.iter().any(|text| text.starts_with(escaped)),
            "{texts:?}"
        );
    }

    #[test]
    fn a_long_crawl_is_thinned_and_keeps_its_end() {
        let long = curve("long", 123_457, 1000.0);
        let kept: Vec<u64> = thinned(&long.points).map(|point| point.n).collect();
        assert!(kept.len() <= SVG_POINTS_MAX, "{} points", kept.len());
        assert!(kept.len() > SVG_POINTS_MAX / 2);
        assert_eq!((kept[0], kept[kept.len() - 1]), (1, 123_457));
        assert!(loss_svg("long", &[long]).unwrap().len() < 40_000);
    }

    #[test]
    fn what_has_no_line_is_refused() {
        assert_eq!(loss_svg("none", &[]), Err(SeriesError::NoCurves));
        let one = loss_svg("one", &[curve("young", 1, 5.0)]);
        assert!(matches!(one, Err(SeriesError::TooShort { points: 1, .. })));
    }

    #[test]
    fn as_many_curves_as_are_allowed_are_drawn() {
        let curves: Vec<NamedCurve> = (1..=14_u8)
            .map(|k| curve(&format!("crawler {k}"), 300, 20.0 * f32::from(k)))
            .collect();
        assert_eq!(curves.len(), SVG_CURVES_MAX);
        assert!(loss_svg("all", &curves).is_ok());
    }
}

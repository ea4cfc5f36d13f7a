//! How well are we doing? Loss, harvest, series, plots; numbers only.
//!
//! A [`LossCurve`] grows with the crawl, one relevance a counted fetch. What is shown of it is a
//! [`NamedCurve`], some of its points under a name: as an SVG picture ([`loss_svg`]), as a plot in
//! characters ([`loss_chart`]), as a table ([`loss_table`]), as CSV and as JSON lines.

mod lines;
mod loss;
mod plot;
mod ranking;
mod rate;
mod series;
mod table;
mod term_plot;

pub use lines::{Axes, Line, line_svg};
pub use loss::{LossCurve, LossPoint, RELEVANT_FROM};
pub use plot::{SVG_CURVES_MAX, SVG_POINTS_MAX, loss_svg};
pub use ranking::roc_auc;
pub use rate::Rate;
pub use series::{NamedCurve, SeriesError};
pub use table::{loss_table, write_csv, write_json_lines};
pub use term_plot::{CHART_CURVES_MAX, loss_chart};

//! How well are we doing? Loss, harvest, series, plots; numbers only.

mod loss;

pub use loss::{LossCurve, LossPoint};

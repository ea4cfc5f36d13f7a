//! Would another crawler have done better? Archives replayed, crawlers side by side, reports.

pub mod toyweb;

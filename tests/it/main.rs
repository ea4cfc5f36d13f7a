//! The one integration-test binary.

#![allow(
    clippy::unwrap_used,
    reason = "a test that cannot go on fails by panicking"
)]

mod archive;
mod archive_proxy;
mod cli;
mod control;
mod crash;
mod critic;
mod daemon;
mod demo;
mod explain;
mod feedback;
mod fetch;
mod judge;
mod lab;
mod layers;
mod misbehaving;
mod nginx;
// Its layer is loaded as Linux has it.
#[cfg(target_os = "linux")]
mod power;
mod retrain;
mod simulation;
mod starts;
mod support;
mod taxonomy;
mod taxonomy_fetch;
mod tidy;
mod topic;

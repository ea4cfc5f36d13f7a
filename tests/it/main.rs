//! The one integration-test binary.

#![allow(
    clippy::unwrap_used,
    reason = "a test that cannot go on fails by panicking"
)]

mod archive_proxy;
mod fetch;
mod layers;
mod support;
mod tidy;

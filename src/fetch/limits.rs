//! Bounds on one fetch.

use std::time::Duration;

/// Bounds on one fetch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FetchLimits {
    /// Until the connection stands (TCP and TLS).
    pub connect: Duration,
    /// From the request to the first byte of the answer.
    pub first_byte: Duration,
    /// The whole fetch.
    pub total: Duration,
    /// Bytes of the body, decompressed; what lies beyond is cut off.
    pub body_bytes_max: usize,
    /// A body beyond that is [`FetchError::TooLarge`](super::FetchError::TooLarge) instead of being
    /// cut.
    pub refuse_large: bool,
    /// Bytes of the answer's headers.
    pub header_bytes_max: usize,
    /// Bytes a second in which a body has to come at least, over each [`rate_window`](Self::rate_window).
    pub rate_bytes_min: u32,
    /// The time over which the slowest rate is measured.
    pub rate_window: Duration,
    /// How many times its size a body may become when it is decompressed; small bodies may swell more.
    pub expansion_max: u32,
}

impl Default for FetchLimits {
    fn default() -> Self {
        Self {
            connect: Duration::from_secs(10),
            first_byte: Duration::from_secs(20),
            total: Duration::from_mins(1),
            body_bytes_max: 1 << 20,
            refuse_large: false,
            header_bytes_max: 64 << 10,
            rate_bytes_min: 100,
            rate_window: Duration::from_secs(10),
            expansion_max: 250,
        }
    }
}

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
    /// Bytes of the answer's headers.
    pub header_bytes_max: usize,
}

impl Default for FetchLimits {
    fn default() -> Self {
        Self {
            connect: Duration::from_secs(10),
            first_byte: Duration::from_secs(20),
            total: Duration::from_mins(1),
            body_bytes_max: 1 << 20,
            header_bytes_max: 64 << 10,
        }
    }
}

//! The bounds on what is taken from an archive file.

/// Bytes of one header line, its continuations apart.
pub(super) const LINE_BYTES_MAX: u64 = 16 << 10;

/// Headers of one record, and of one stored HTTP answer.
pub(super) const HEADER_COUNT_MAX: usize = 256;

/// Bytes of one record's block, and of its body once decoded. Far above what a crawl of pages
/// keeps, far below what a hundred concurrent readers could not hold.
pub(super) const RECORD_BYTES_MAX: u64 = 32 << 20;

/// Damaged places that are described one by one; further ones are only counted.
pub(super) const DAMAGE_COUNT_MAX: usize = 32;

/// Places after damage in one zipped file at which reading is taken up again.
pub(super) const RESYNC_COUNT_MAX: usize = 1000;

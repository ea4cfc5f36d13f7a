//! How does it survive a crash? Numbered records, payload segments, groups, schema version.
//!
//! Knows nobody's records: it keeps byte strings under rising numbers.

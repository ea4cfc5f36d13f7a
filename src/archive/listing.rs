//! What one pass over an archive file finds: all that an archive has to know to be read by URL.

use super::error::Flaw;
use super::scan::Answer;
use crate::clock::Timestamp;

/// The longest content type that is counted under its own name, in bytes.
const TYPE_BYTES_MAX: usize = 100;

/// What was found in one file; what an index file holds.
#[derive(Clone, PartialEq, prost::Message)]
pub(super) struct Listing {
    /// In the order of the file.
    #[prost(message, repeated, tag = "1")]
    pub(super) answers: Vec<Listed>,
    /// Whole records without an answer.
    #[prost(uint64, tag = "2")]
    pub(super) others: u64,
    /// Places that cannot be used.
    #[prost(uint64, tag = "3")]
    pub(super) unparsable: u64,
    /// The first of these.
    #[prost(message, repeated, tag = "4")]
    pub(super) damage: Vec<ListedDamage>,
    #[prost(bool, tag = "5")]
    pub(super) zipped: bool,
    /// Bytes that were read.
    #[prost(uint64, tag = "6")]
    pub(super) bytes: u64,
    /// Answers, also those beyond what `answers` takes.
    #[prost(uint64, tag = "7")]
    pub(super) answers_total: u64,
    /// Answers that do not begin a gzip member.
    #[prost(uint64, tag = "8")]
    pub(super) answers_inside: u64,
}

/// A stored answer.
#[derive(Clone, PartialEq, prost::Message)]
pub(super) struct Listed {
    /// Its [`Place`](super::stream::Place).
    #[prost(uint64, tag = "1")]
    pub(super) offset: u64,
    /// See `offset`.
    #[prost(uint64, tag = "2")]
    pub(super) skip: u64,
    /// The URL as stored.
    #[prost(string, tag = "3")]
    pub(super) target: String,
    #[prost(uint32, tag = "4")]
    pub(super) status: u32,
    /// In lower case, without parameters; empty if there is none.
    #[prost(string, tag = "5")]
    pub(super) content_type: String,
    /// In milliseconds since 1970.
    #[prost(sint64, optional, tag = "6")]
    pub(super) date: Option<i64>,
    /// Bytes of its record's block.
    #[prost(uint64, tag = "7")]
    pub(super) length: u64,
}

/// A place that cannot be used.
#[derive(Clone, PartialEq, prost::Message)]
pub(super) struct ListedDamage {
    #[prost(uint64, tag = "1")]
    pub(super) offset: u64,
    /// The flaw, as JSON.
    #[prost(string, tag = "2")]
    flaw: String,
}

impl Listed {
    pub(super) fn new(answer: &Answer) -> Self {
        let content_type = answer.content_type.as_deref().unwrap_or_default();
        let date = answer.head.date().and_then(parse_date);
        Self {
            offset: answer.place.offset,
            skip: answer.place.skip,
            target: answer.head.target().unwrap_or_default().to_owned(),
            status: answer.status.into(),
            content_type: essence(content_type),
            date: date.map(|date| date.0),
            length: answer.head.length,
        }
    }
}

impl ListedDamage {
    pub(super) fn new(offset: u64, flaw: &Flaw) -> Self {
        Self {
            offset,
            // Words and numbers always have a JSON form.
            flaw: serde_json::to_string(flaw).unwrap_or_default(),
        }
    }

    /// What is wrong; `None` if another version of this program wrote it.
    pub(super) fn flaw(&self) -> Option<Flaw> {
        serde_json::from_str(&self.flaw).ok()
    }
}

/// A content type without its parameters.
fn essence(content_type: &str) -> String {
    let essence = content_type.split(';').next().unwrap_or_default().trim();
    if essence.len() > TYPE_BYTES_MAX {
        return "(overlong)".to_owned();
    }
    essence.to_ascii_lowercase()
}

fn parse_date(text: &str) -> Option<Timestamp> {
    let moment: jiff::Timestamp = text.parse().ok()?;
    Some(Timestamp(moment.as_millisecond()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn content_types_are_counted_without_parameters_and_case() {
        assert_eq!(essence("Text/HTML; charset=utf-8"), "text/html");
        assert_eq!(essence(""), "");
        assert_eq!(essence(&"x".repeat(1000)), "(overlong)");
    }

    #[test]
    fn dates_of_both_versions_are_read() {
        assert_eq!(parse_date("1970-01-01T00:00:01Z"), Some(Timestamp(1000)));
        assert_eq!(parse_date("1970-01-01T00:00:01.25Z"), Some(Timestamp(1250)));
        assert_eq!(parse_date("19700101000001"), None);
    }
}

//! The file that known answers survive a restart in: JSON lines, the last one of an origin counts.
//!
//! Lines are appended as answers come; when most of them are out of date the file is written anew.
//! Nothing is synced: what a crash of the machine takes is asked for again. A torn or foreign line
//! says nothing.

use std::io;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::{Origin, ROBOTS_BYTES_MAX, RobotsAnswer, RobotsRules};
use crate::clock::Timestamp;
use crate::store::LineFile;

/// The file may be twice as long as what it held when it was last written anew, and so much longer.
const SLACK_BYTES: u64 = 4 << 20;
/// A line is no longer: a robots.txt in which JSON writes each byte as six.
const LINE_BYTES_MAX: usize = 6 * ROBOTS_BYTES_MAX + 4096;

/// What is known of one origin.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Known {
    pub(super) origin: Origin,
    pub(super) answer: RobotsAnswer,
    pub(super) expires: Timestamp,
    pub(super) failures: u32,
    pub(super) failing_since: Timestamp,
}

/// A line of the file.
#[derive(Debug, Serialize, Deserialize)]
struct Line {
    origin: String,
    until_ms: i64,
    #[serde(default, skip_serializing_if = "is_zero")]
    failures: u32,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    failing_since_ms: Option<i64>,
    #[serde(flatten)]
    answer: StoredAnswer,
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(tag = "answer", rename_all = "kebab-case")]
enum StoredAnswer {
    /// Each byte of the file is the character of that number.
    Rules {
        file: String,
    },
    AllowAll,
    Unreachable {
        #[serde(default, skip_serializing_if = "Option::is_none")]
        retry_after_ms: Option<u64>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        cause: Option<String>,
    },
}

#[allow(
    clippy::trivially_copy_pass_by_ref,
    reason = "serde hands a reference over"
)]
fn is_zero(failures: &u32) -> bool {
    *failures == 0
}

/// The file, open for appending.
#[derive(Debug)]
pub(super) struct Journal(LineFile);

impl Journal {
    /// Opens the file at `path`, made if need be, and hands every line that says something to `take`,
    /// in their order.
    pub(super) fn open(path: &Path, mut take: impl FnMut(Known)) -> io::Result<Self> {
        let sizes = (LINE_BYTES_MAX as u64, SLACK_BYTES);
        LineFile::open(path, sizes, |line| take(known(line))).map(Self)
    }

    /// Adds an answer. Whether the file should now be written anew.
    pub(super) fn append(&mut self, known: &Known) -> io::Result<bool> {
        self.0.append(&line_of(known))
    }

    /// Writes the file anew with these answers alone.
    pub(super) fn rewrite(&mut self, all: impl Iterator<Item = Known>) -> io::Result<()> {
        self.0.rewrite(all.map(|known| line_of(&known)))
    }
}

fn line_of(known: &Known) -> Line {
    let answer = match &known.answer {
        RobotsAnswer::Rules(rules) => StoredAnswer::Rules {
            file: rules.file().iter().map(|byte| char::from(*byte)).collect(),
        },
        RobotsAnswer::AllowAll => StoredAnswer::AllowAll,
        RobotsAnswer::Unreachable {
            retry_after, cause, ..
        } => StoredAnswer::Unreachable {
            retry_after_ms: retry_after.and_then(|wait| u64::try_from(wait.as_millis()).ok()),
            cause: cause.as_deref().map(str::to_owned),
        },
    };
    Line {
        origin: known.origin.as_str().to_owned(),
        until_ms: known.expires.0,
        failures: known.failures,
        failing_since_ms: (known.failures > 0).then_some(known.failing_since.0),
        answer,
    }
}

fn known(line: Line) -> Known {
    let answer = match line.answer {
        StoredAnswer::Rules { file } => {
            // A character beyond a byte stands in no file that was written here.
            let file: Vec<u8> = file
                .chars()
                .map(|char| u8::try_from(char).unwrap_or(b'?'))
                .collect();
            RobotsAnswer::Rules(Arc::new(RobotsRules::parse(&file)))
        }
        StoredAnswer::AllowAll => RobotsAnswer::AllowAll,
        StoredAnswer::Unreachable {
            retry_after_ms,
            cause,
        } => RobotsAnswer::Unreachable {
            retry_after: retry_after_ms.map(Duration::from_millis),
            cause: cause.map(Arc::from),
            failure: None,
        },
    };
    Known {
        origin: Origin::from_stored(line.origin),
        answer,
        expires: Timestamp(line.until_ms),
        failures: line.failures,
        failing_since: Timestamp(line.failing_since_ms.unwrap_or(line.until_ms)),
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    fn read(path: &Path) -> Vec<Known> {
        let mut all = Vec::new();
        Journal::open(path, |known| all.push(known)).unwrap();
        all
    }

    fn rules(file: &[u8]) -> Known {
        Known {
            origin: Origin::from_stored("http://h.test".to_owned()),
            answer: RobotsAnswer::Rules(Arc::new(RobotsRules::parse(file))),
            expires: Timestamp(7),
            failures: 0,
            failing_since: Timestamp(7),
        }
    }

    #[test]
    fn answers_come_back_byte_for_byte() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("robots.jsonl");
        let every_byte: Vec<u8> = (0..=255).collect();
        let away = RobotsAnswer::Unreachable {
            retry_after: Some(Duration::from_secs(9)),
            cause: Some("status 503".into()),
            failure: None,
        };
        let all = [
            rules(b"User-agent: *\nDisallow: /caf\xe9"),
            rules(&every_byte),
            Known {
                answer: RobotsAnswer::AllowAll,
                ..rules(b"")
            },
            Known {
                answer: away,
                failures: 4,
                failing_since: Timestamp(-3),
                ..rules(b"")
            },
        ];
        let mut journal = Journal::open(&path, |_| ()).unwrap();
        for known in &all {
            assert!(!journal.append(known).unwrap());
        }
        assert_eq!(read(&path), all);
        journal.rewrite(all[1..].iter().cloned()).unwrap();
        journal.append(&all[0]).unwrap();
        assert_eq!(read(&path)[3], all[0]);
        assert_eq!(read(&path).len(), 4);
    }

    #[test]
    fn a_torn_or_foreign_line_says_nothing_and_harms_no_other() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("robots.jsonl");
        let mut journal = Journal::open(&path, |_| ()).unwrap();
        journal.append(&rules(b"a")).unwrap();
        let whole = fs::read(&path).unwrap();
        let torn = [b"{}\n\xff\xfe\n[1]\n", &whole[..], &whole[..20]].concat();
        fs::write(&path, torn).unwrap();
        let mut journal = Journal::open(&path, |_| ()).unwrap();
        journal.append(&rules(b"b")).unwrap();
        assert_eq!(read(&path), [rules(b"a"), rules(b"b")]);
    }

    #[test]
    fn a_file_that_is_mostly_out_of_date_asks_to_be_written_anew() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("robots.jsonl");
        let mut journal = Journal::open(&path, |_| ()).unwrap();
        let large = rules("# filler\n".repeat(50_000).as_bytes());
        let appended = (0..100).take_while(|_| !journal.append(&large).unwrap());
        let appended = appended.count();
        assert!((2..20).contains(&appended), "{appended}");
        journal.rewrite([large.clone()].into_iter()).unwrap();
        assert!(!journal.append(&large).unwrap());
    }
}

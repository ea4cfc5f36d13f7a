//! Example pages from JSON lines: an object a line, with `topics` (paths) or `topic`, and `title`,
//! `description`, `text` and `url` as far as there are any. Other fields are ignored.
//!
//! A page of several topics is an example of each. A page without a URL gets a name in its place,
//! `title:` or `line:` and what makes it so, so that repeated ones are told. Topics are read by
//! [`topic_path`].

use std::collections::VecDeque;
use std::io::{self, BufRead, Read};
use std::path::{Path, PathBuf};

use crate::taxonomy::example::{Example, URL_BYTES_MAX, cut};
use crate::taxonomy::faults::{FaultKind, Faults};
use crate::taxonomy::topic::topic_path;

/// The longest line, in bytes.
const LINE_BYTES_MAX: u64 = 64 << 20;
/// What is kept of a title and of a text, in bytes.
const TITLE_BYTES_MAX: usize = 1_024;
const TEXT_BYTES_MAX: usize = 1 << 20;
/// Topics that are taken of one page.
const TOPICS_MAX: usize = 64;

/// Why JSON lines could not be read.
#[derive(Debug, thiserror::Error)]
pub enum JsonLinesError {
    /// The file system refused, or the compressed data is damaged.
    #[error("{}:{line}: cannot be read: {source}", .path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// The line after the last whole one.
        line: u64,
        /// The system's words.
        source: io::Error,
    },
    /// A line is no JSON object with fields of the right types.
    #[error("{}:{line}: {problem}; each line has to be a JSON object with `topics` or `topic`", .path.display())]
    Line {
        /// The file.
        path: PathBuf,
        /// From 1.
        line: u64,
        /// What is wrong.
        problem: String,
    },
}

/// The fields that are read.
#[derive(Default, serde::Deserialize)]
#[serde(default)]
struct Fields {
    title: Option<String>,
    topics: Option<Vec<String>>,
    topic: Option<String>,
    url: Option<String>,
    description: Option<String>,
    text: Option<String>,
}

/// Reads the examples of a file, one after the other.
pub(super) struct JsonLinesReader<R> {
    input: R,
    path: PathBuf,
    line: u64,
    buffer: Vec<u8>,
    ready: VecDeque<Example>,
    faults: Faults,
}

impl<R: BufRead> JsonLinesReader<R> {
    pub(super) fn new(input: R, path: &Path) -> Self {
        Self {
            input,
            path: path.to_owned(),
            line: 0,
            buffer: Vec::new(),
            ready: VecDeque::new(),
            faults: Faults::of(path),
        }
    }

    pub(super) fn faults(&self) -> &Faults {
        &self.faults
    }

    /// The next example.
    pub(super) fn next(&mut self) -> Result<Option<Example>, JsonLinesError> {
        loop {
            if let Some(example) = self.ready.pop_front() {
                return Ok(Some(example));
            }
            if !self.read_line()? {
                return Ok(None);
            }
            let line = self
                .buffer
                .strip_prefix(b"\xef\xbb\xbf")
                .unwrap_or(&self.buffer);
            if line.trim_ascii().is_empty() {
                continue;
            }
            let fields: Fields =
                serde_json::from_slice(line).map_err(|error| self.wrong(&error))?;
            self.take(fields);
        }
    }

    /// Reads a line into the buffer; false at the end.
    fn read_line(&mut self) -> Result<bool, JsonLinesError> {
        self.buffer.clear();
        self.line += 1;
        let mut line = self.input.by_ref().take(LINE_BYTES_MAX + 1);
        let read = line.read_until(b'\n', &mut self.buffer);
        let read = read.map_err(|source| JsonLinesError::Io {
            path: self.path.clone(),
            line: self.line,
            source,
        })?;
        if read as u64 > LINE_BYTES_MAX {
            return Err(JsonLinesError::Line {
                path: self.path.clone(),
                line: self.line,
                problem: format!("longer than {LINE_BYTES_MAX} bytes"),
            });
        }
        Ok(read > 0)
    }

    fn wrong(&self, error: &serde_json::Error) -> JsonLinesError {
        // The line within the buffer is always the first.
        let words = error.to_string();
        let words = words.split(" at line ").next().unwrap_or_default();
        JsonLinesError::Line {
            path: self.path.clone(),
            line: self.line,
            problem: format!("{words} (column {})", error.column()),
        }
    }

    fn take(&mut self, fields: Fields) {
        let mut example = Example {
            title: fields.title.unwrap_or_default(),
            description: fields.description.unwrap_or_default(),
            text: fields.text.unwrap_or_default(),
            line: self.line,
            ..Example::default()
        };
        let long = cut(&mut example.title, TITLE_BYTES_MAX)
            | cut(&mut example.description, TEXT_BYTES_MAX)
            | cut(&mut example.text, TEXT_BYTES_MAX);
        let name = example.title.clone();
        if long {
            self.fault(FaultKind::LongText, &name);
        }
        let url = fields
            .url
            .map(|url| url.trim().to_owned())
            .unwrap_or_default();
        example.url = match url.len() {
            0 if example.own_text().is_none() => return self.fault(FaultKind::NoText, ""),
            0 if name.trim().is_empty() => format!("line:{}", self.line),
            0 => format!("title:{}", name.trim()),
            1..=URL_BYTES_MAX => url,
            _ => return self.fault(FaultKind::LongUrl, &url),
        };
        let mut paths = fields.topics.unwrap_or_default();
        paths.extend(fields.topic);
        if paths.is_empty() {
            self.fault(FaultKind::NoTopic, &format!("{}: left out", example.url));
        }
        if paths.len() > TOPICS_MAX {
            let what = format!("{}: {} topics", example.url, paths.len());
            self.fault(FaultKind::ManyTopics, &what);
        }
        for path in paths.iter().take(TOPICS_MAX) {
            match topic_path(path) {
                Ok(topic) => self.ready.push_back(Example {
                    topic,
                    ..example.clone()
                }),
                Err(fault) => self.fault(FaultKind::BadTopic, &format!("{path}: {fault}")),
            }
        }
    }

    fn fault(&mut self, kind: FaultKind, what: &str) {
        self.faults.add(kind, self.line, what);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> (Vec<Example>, Faults, Option<String>) {
        let mut reader = JsonLinesReader::new(text.as_bytes(), Path::new("p.jsonl"));
        let mut examples = Vec::new();
        let error = loop {
            match reader.next() {
                Ok(Some(example)) => examples.push(example),
                Ok(None) => break None,
                Err(error) => break Some(error.to_string()),
            }
        };
        (examples, reader.faults, error)
    }

    #[test]
    fn a_page_is_an_example_of_each_of_its_topics() {
        let line = r#"{"title":"Bee","topics":["subject.Science.Biology.Insects","Food/Honey"],"links":[1],"text":"It hums."}"#;
        let (examples, faults, error) = read(&format!("\u{feff}{line}\n\n"));
        assert_eq!(error, None);
        assert_eq!(faults.kinds().count(), 0);
        let topics: Vec<&str> = examples.iter().map(|example| &*example.topic).collect();
        assert_eq!(topics, ["Science/Biology/Insects", "Food/Honey"]);
        assert_eq!(examples[0].url, "title:Bee");
        assert_eq!(examples[1].own_text().as_deref(), Some("Bee\nIt hums."));
    }

    #[test]
    fn a_single_topic_and_a_url_are_taken() {
        let (examples, ..) = read(r#"{"url":" http://a/ ","topic":"Top/Arts"}"#);
        assert_eq!(
            (&*examples[0].url, &*examples[0].topic),
            ("http://a/", "Arts")
        );
        let (examples, ..) = read("\n{\"text\":\"words\",\"topic\":\"Arts\"}");
        assert_eq!((&*examples[0].url, examples[0].line), ("line:2", 2));
    }

    #[test]
    fn pages_that_cannot_be_examples_are_counted_with_their_lines() {
        let long = "x".repeat(1_000_000);
        let lines = [
            r#"{"title":"a","topics":[]}"#.to_owned(),
            r#"{"topics":["Arts"]}"#.to_owned(),
            r#"{"title":"c","topic":"Top"}"#.to_owned(),
            format!(r#"{{"title":"{long}","topic":"Arts"}}"#),
            format!(r#"{{"url":"{long}","topic":"Arts"}}"#),
        ];
        let (examples, faults, error) = read(&lines.join("\n"));
        assert_eq!(error, None);
        assert_eq!(examples.len(), 1);
        assert_eq!(examples[0].title.len(), TITLE_BYTES_MAX);
        let found: Vec<(FaultKind, u64, u64)> = faults
            .kinds()
            .map(|(kind, fault)| (kind, fault.count, fault.first[0].line))
            .collect();
        assert_eq!(
            found,
            [
                (FaultKind::LongText, 1, 4),
                (FaultKind::LongUrl, 1, 5),
                (FaultKind::NoTopic, 1, 1),
                (FaultKind::BadTopic, 1, 3),
                (FaultKind::NoText, 1, 2),
            ]
        );
    }

    #[test]
    fn a_line_that_is_no_object_ends_the_reading_with_its_number() {
        let (examples, _, error) = read("{\"topic\":\"a\",\"url\":\"b\"}\n{\"topic\":\n");
        assert_eq!(examples.len(), 1);
        assert_eq!(
            error.as_deref(),
            Some(
                "p.jsonl:2: EOF while parsing a value (column 0); each line has to be a JSON object \
                 with `topics` or `topic`"
            )
        );
        let (_, _, error) = read(r#"{"topics":"a"}"#);
        assert!(
            error
                .unwrap()
                .starts_with("p.jsonl:1: invalid type: string")
        );
    }
}

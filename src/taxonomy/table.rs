//! Example pages from a table (CSV): `topic,url` and, if the text is at hand, `title`,
//! `description` and `text`.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use crate::taxonomy::example::{Example, URL_BYTES_MAX};
use crate::taxonomy::input;
use crate::taxonomy::topic::{TopicFault, check_topic};

/// The longest row, in bytes: what an unclosed quote may swallow before it is told.
const ROW_BYTES_MAX: usize = 16 << 20;

/// Example pages of topics.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ExampleTable {
    /// The rows, in the order of the file; a repeated pair of topic and URL is kept once.
    pub examples: Vec<Example>,
    /// How many rows were left out as repeated.
    pub repeated: usize,
}

/// Why a table could not be read.
#[derive(Debug, thiserror::Error)]
pub enum TableError {
    /// The file system refused.
    #[error("{}: cannot be read: {source}", .path.display())]
    Io {
        /// The table.
        path: PathBuf,
        /// The system's words.
        source: io::Error,
    },
    /// A column is missing.
    #[error(
        "{}:1: no column `{column}`; the first line has to be a header such as `topic,url`",
        .path.display()
    )]
    NoColumn {
        /// The table.
        path: PathBuf,
        /// `topic` or `url`.
        column: &'static str,
    },
    /// A row is no CSV, has another number of fields than the header, or is not UTF-8.
    #[error("{}:{line}: {problem}", .path.display())]
    Row {
        /// The table.
        path: PathBuf,
        /// From 1.
        line: u64,
        /// What is wrong.
        problem: String,
    },
    /// A row's topic is none.
    #[error("{}:{line}: {fault}", .path.display())]
    Topic {
        /// The table.
        path: PathBuf,
        /// From 1.
        line: u64,
        /// What is wrong.
        fault: TopicFault,
    },
    /// There is a header and nothing else.
    #[error("{}: no examples; each line after the header names a topic and a URL", .path.display())]
    Empty {
        /// The table.
        path: PathBuf,
    },
}

/// Where the columns are.
struct Columns {
    topic: usize,
    url: usize,
    title: Option<usize>,
    description: Option<usize>,
    text: Option<usize>,
}

impl ExampleTable {
    /// Reads the table at `path`, plain, gzip or zstd.
    pub fn open(path: &Path) -> Result<Self, TableError> {
        let opened = input::open(path).map_err(|source| TableError::Io {
            path: path.to_owned(),
            source,
        })?;
        Self::read(opened.input, path)
    }

    /// Reads a table from `reader`; `path` is its name in errors.
    ///
    /// Columns go by their names in the header, in any order; other columns are ignored.
    pub fn read(reader: impl Read, path: &Path) -> Result<Self, TableError> {
        let mut seen = BTreeSet::new();
        let mut table = Self::default();
        for example in TableReader::new(reader, path)? {
            let example = example?;
            if seen.insert((example.topic.clone(), example.url.clone())) {
                table.examples.push(example);
            } else {
                table.repeated += 1;
            }
        }
        Ok(table)
    }

    /// How many examples each topic has.
    pub fn topics(&self) -> BTreeMap<&str, usize> {
        let mut counts = BTreeMap::new();
        for example in &self.examples {
            *counts.entry(example.topic.as_str()).or_default() += 1;
        }
        counts
    }
}

/// Reads the rows of a table one after the other.
pub(super) struct TableReader<R> {
    rows: csv::Reader<Metered<R>>,
    row: csv::StringRecord,
    columns: Columns,
    path: PathBuf,
    /// Whether there was a row.
    any: bool,
}

impl<R: Read> TableReader<R> {
    pub(super) fn new(reader: R, path: &Path) -> Result<Self, TableError> {
        let mut rows = csv::ReaderBuilder::new()
            .trim(csv::Trim::All)
            .from_reader(Metered {
                inner: reader,
                left: ROW_BYTES_MAX,
            });
        let header = rows.headers().map_err(|error| row_error(path, 1, &error))?;
        let columns = columns(header, path)?;
        Ok(Self {
            rows,
            row: csv::StringRecord::new(),
            columns,
            path: path.to_owned(),
            any: false,
        })
    }

    /// Whether there is a column for texts.
    pub(super) fn has_text(&self) -> bool {
        self.columns.text.is_some()
    }

    fn read(&mut self) -> Result<Option<Example>, TableError> {
        self.rows.get_mut().left = ROW_BYTES_MAX;
        let line = self.rows.position().line();
        match self.rows.read_record(&mut self.row) {
            Err(error) => Err(row_error(&self.path, line, &error)),
            Ok(true) => {
                self.any = true;
                example(&self.row, &self.columns, &self.path).map(Some)
            }
            Ok(false) if self.any => Ok(None),
            Ok(false) => Err(TableError::Empty {
                path: self.path.clone(),
            }),
        }
    }
}

impl<R: Read> Iterator for TableReader<R> {
    type Item = Result<Example, TableError>;

    fn next(&mut self) -> Option<Self::Item> {
        self.read().transpose()
    }
}

/// A reader that fails when one row takes too much of it; the csv crate has no bound on rows.
struct Metered<R> {
    inner: R,
    left: usize,
}

impl<R: Read> Read for Metered<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.inner.read(buffer)?;
        self.left = self.left.checked_sub(read).ok_or_else(|| {
            let words = format!("a row of more than {ROW_BYTES_MAX} bytes; is a quote not closed?");
            io::Error::new(io::ErrorKind::FileTooLarge, words)
        })?;
        Ok(read)
    }
}

fn columns(header: &csv::StringRecord, path: &Path) -> Result<Columns, TableError> {
    let find = |name: &str| {
        header.iter().position(|field| {
            // Spreadsheets write a byte order mark.
            field
                .trim_start_matches('\u{feff}')
                .trim()
                .eq_ignore_ascii_case(name)
        })
    };
    let need = |column| {
        find(column).ok_or_else(|| TableError::NoColumn {
            path: path.to_owned(),
            column,
        })
    };
    Ok(Columns {
        topic: need("topic")?,
        url: need("url")?,
        title: find("title"),
        description: find("description"),
        text: find("text"),
    })
}

fn example(row: &csv::StringRecord, columns: &Columns, path: &Path) -> Result<Example, TableError> {
    let line = row.position().map_or(0, csv::Position::line);
    let field = |column: Option<usize>| {
        let text = column.and_then(|column| row.get(column));
        text.unwrap_or_default().to_owned()
    };
    let topic = field(Some(columns.topic));
    check_topic(&topic).map_err(|fault| TableError::Topic {
        path: path.to_owned(),
        line,
        fault,
    })?;
    let url = field(Some(columns.url));
    if url.is_empty() || url.len() > URL_BYTES_MAX {
        return Err(TableError::Row {
            path: path.to_owned(),
            line,
            problem: format!(
                "the URL has {} bytes; it needs 1 to {URL_BYTES_MAX}",
                url.len()
            ),
        });
    }
    Ok(Example {
        topic,
        url,
        title: field(columns.title),
        description: field(columns.description),
        text: field(columns.text),
        line,
    })
}

/// The csv crate's errors, with the file before and the line once; `line` is where the row begins,
/// for errors that do not know.
fn row_error(path: &Path, line: u64, error: &csv::Error) -> TableError {
    let line = error.position().map_or(line, csv::Position::line);
    let problem = match error.kind() {
        csv::ErrorKind::UnequalLengths {
            expected_len, len, ..
        } => format!("{len} fields, but the header has {expected_len}"),
        csv::ErrorKind::Utf8 { .. } => "not UTF-8; save the table as UTF-8".to_owned(),
        csv::ErrorKind::Io(error) => error.to_string(),
        _ => error.to_string(),
    };
    TableError::Row {
        path: path.to_owned(),
        line,
        problem,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<ExampleTable, TableError> {
        ExampleTable::read(text.as_bytes(), Path::new("t.csv"))
    }

    fn complaint(text: &str) -> String {
        read(text).unwrap_err().to_string()
    }

    #[test]
    fn columns_go_by_their_names_and_others_are_ignored() {
        let table =
            read("\u{feff}url,p_x,Topic,text\nhttp://a/,0.5,science/bio,\"cells, mostly\"\n")
                .unwrap();
        assert_eq!(table.examples.len(), 1);
        let example = &table.examples[0];
        assert_eq!(example.topic, "science/bio");
        assert_eq!(example.url, "http://a/");
        assert_eq!(example.own_text().as_deref(), Some("cells, mostly"));
        assert_eq!(example.line, 2);
    }

    #[test]
    fn repeated_rows_are_kept_once_and_counted() {
        let table = read("topic,url\na,http://x/\nb,http://x/\na,http://x/\n").unwrap();
        assert_eq!(table.examples.len(), 2);
        assert_eq!(table.repeated, 1);
        assert_eq!(table.topics(), BTreeMap::from([("a", 1), ("b", 1)]));
        assert_eq!(table.examples[0].own_text(), None);
    }

    #[test]
    fn errors_name_file_line_and_what_to_do() {
        assert_eq!(
            complaint("topic,link\na,http://x/\n"),
            "t.csv:1: no column `url`; the first line has to be a header such as `topic,url`"
        );
        assert_eq!(
            complaint("topic,url\na,http://x/\nb\n"),
            "t.csv:3: 1 fields, but the header has 2"
        );
        assert_eq!(
            complaint("topic,url\na//b,http://x/\n"),
            "t.csv:2: the topic has an empty part (write `a/b`, without `/` at its ends)"
        );
        assert_eq!(
            complaint("topic,url\na,\n"),
            "t.csv:2: the URL has 0 bytes; it needs 1 to 8192"
        );
        assert!(complaint("topic,url\n").starts_with("t.csv: no examples"));
        assert!(complaint("").starts_with("t.csv:1: no column `topic`"));
    }

    #[test]
    fn bytes_that_are_no_utf8_are_an_error_with_their_line() {
        let error = ExampleTable::read(&b"topic,url\na,http://\xff/\n"[..], Path::new("t.csv"));
        assert_eq!(
            error.unwrap_err().to_string(),
            "t.csv:2: not UTF-8; save the table as UTF-8"
        );
    }

    #[test]
    fn a_quote_that_is_not_closed_ends_the_reading_at_its_row() {
        let text = format!("topic,url\na,http://x/\nb,\"{}", "x,\n".repeat(6 << 20));
        let error = complaint(&text);
        assert!(
            error.starts_with("t.csv:3: a row of more than 16777216 bytes"),
            "{error}"
        );
    }

    #[test]
    fn a_missing_table_is_named() {
        let error = ExampleTable::open(Path::new("no/such.csv")).unwrap_err();
        assert!(error.to_string().starts_with("no/such.csv: cannot be read"));
    }
}

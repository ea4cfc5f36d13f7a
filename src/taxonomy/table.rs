//! Example pages from a table (CSV): `topic,url` and, if the text is at hand, `title`,
//! `description` and `text`.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

use crate::taxonomy::topic::{TopicFault, check_topic};

/// The longest table, in bytes; one more and the reader refuses it.
const TABLE_BYTES_MAX: u64 = 4 << 30;
/// The longest URL that is taken from a table, in bytes.
const URL_BYTES_MAX: usize = 8_192;

/// One row of the table.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Example {
    /// The topic, as written.
    pub topic: String,
    /// The address, as written.
    pub url: String,
    /// Empty if the table has no such column.
    pub title: String,
    /// Empty if the table has no such column.
    pub description: String,
    /// Empty if the table has no such column.
    pub text: String,
    /// The line of the row in its file, from 1.
    pub line: u64,
}

impl Example {
    /// Title, description and text in lines of their own, or `None` if the table has none of them
    /// and the page has to come from elsewhere.
    pub fn own_text(&self) -> Option<String> {
        let parts: Vec<&str> = [&self.title, &self.description, &self.text]
            .into_iter()
            .map(|part| part.trim())
            .filter(|part| !part.is_empty())
            .collect();
        (!parts.is_empty()).then(|| parts.join("\n"))
    }
}

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
        source: std::io::Error,
    },
    /// Longer than the reader takes.
    #[error("{}: longer than {TABLE_BYTES_MAX} bytes; split it", .path.display())]
    TooLong {
        /// The table.
        path: PathBuf,
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
    /// Reads the table at `path`.
    pub fn open(path: &Path) -> Result<Self, TableError> {
        let io = |source| TableError::Io {
            path: path.to_owned(),
            source,
        };
        let file = File::open(path).map_err(io)?;
        if file.metadata().map_err(io)?.len() > TABLE_BYTES_MAX {
            return Err(TableError::TooLong {
                path: path.to_owned(),
            });
        }
        Self::read(file, path)
    }

    /// Reads a table from `reader`; `path` is its name in errors.
    ///
    /// Columns go by their names in the header, in any order; other columns are ignored.
    pub fn read(reader: impl Read, path: &Path) -> Result<Self, TableError> {
        let mut rows = csv::ReaderBuilder::new()
            .trim(csv::Trim::All)
            .from_reader(reader.take(TABLE_BYTES_MAX));
        let columns = columns(
            rows.headers().map_err(|error| row_error(path, &error))?,
            path,
        )?;
        let mut seen = BTreeSet::new();
        let mut table = Self::default();
        for row in rows.records() {
            let row = row.map_err(|error| row_error(path, &error))?;
            let example = example(&row, &columns, path)?;
            if seen.insert((example.topic.clone(), example.url.clone())) {
                table.examples.push(example);
            } else {
                table.repeated += 1;
            }
        }
        if table.examples.is_empty() {
            return Err(TableError::Empty {
                path: path.to_owned(),
            });
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

/// The csv crate's errors, with the file before and the line once.
fn row_error(path: &Path, error: &csv::Error) -> TableError {
    let line = error.position().map_or(1, csv::Position::line);
    let problem = match error.kind() {
        csv::ErrorKind::UnequalLengths {
            expected_len, len, ..
        } => format!("{len} fields, but the header has {expected_len}"),
        csv::ErrorKind::Utf8 { .. } => "not UTF-8; save the table as UTF-8".to_owned(),
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
    fn a_missing_table_is_named() {
        let error = ExampleTable::open(Path::new("no/such.csv")).unwrap_err();
        assert!(error.to_string().starts_with("no/such.csv: cannot be read"));
    }
}

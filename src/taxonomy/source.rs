//! Example pages from any kind of source; its kind is told by what is in it.

use std::io::{self, Cursor};
use std::path::{Path, PathBuf};

use crate::taxonomy::example::Example;
use crate::taxonomy::faults::{FaultKind, Faults};
use crate::taxonomy::folder::{ExampleFolder, FolderError};
use crate::taxonomy::input::{self, Input, Opened};
use crate::taxonomy::json_lines::{JsonLinesError, JsonLinesReader};
use crate::taxonomy::rdf::RdfReader;
use crate::taxonomy::table::{TableError, TableReader};

/// A kind of source.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "snake_case")]
pub enum SourceKind {
    /// A DMOZ/Curlie dump.
    Rdf,
    /// A table (CSV).
    Table,
    /// An object a line.
    JsonLines,
    /// A folder a topic; the examples' URLs are paths within it, and their text is not read.
    Folder,
}

/// Why a source could not be read.
#[derive(Debug, thiserror::Error)]
pub enum SourceError {
    /// The file system refused, or the compressed data is damaged.
    #[error("{}: cannot be read: {source}", .path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// The system's words.
        source: io::Error,
    },
    /// Nothing is in it.
    #[error("{}: the file is empty", .path.display())]
    Empty {
        /// The file.
        path: PathBuf,
    },
    /// None of the kinds.
    #[error(
        "{}: {looks}; wanted is a table (CSV with the head `topic,url`), JSON lines, a DMOZ dump \
         (RDF), each plain, gzip or zstd, or a folder with a folder of pages for each topic",
        .path.display()
    )]
    Unknown {
        /// The file.
        path: PathBuf,
        /// What it seems to be.
        looks: &'static str,
    },
    /// As a table.
    #[error(transparent)]
    Table(#[from] TableError),
    /// As JSON lines.
    #[error(transparent)]
    JsonLines(#[from] JsonLinesError),
    /// As a folder.
    #[error(transparent)]
    Folder(#[from] FolderError),
}

/// An open source: an iterator over its examples.
pub struct Source {
    path: PathBuf,
    reader: Reader,
    failed: bool,
}

enum Reader {
    Rdf(Box<RdfReader<Input>>),
    Table(Box<TableReader<Input>>),
    JsonLines(Box<JsonLinesReader<Input>>),
    Folder {
        files: std::vec::IntoIter<Example>,
        faults: Faults,
    },
}

/// Opens the source at `path`, whatever kind it is of.
///
/// A folder is read as one; a file's first bytes tell its compression, and what follows, its kind.
pub fn open(path: &Path) -> Result<Source, SourceError> {
    if path.is_dir() {
        let reader = folder(path)?;
        return Ok(Source::of(path, reader));
    }
    let opened = input::open(path).map_err(|source| SourceError::Io {
        path: path.to_owned(),
        source,
    })?;
    Source::detect(path, opened)
}

impl Source {
    /// A source from bytes; `path` is its name in errors.
    pub fn from_bytes(bytes: Vec<u8>, path: &Path) -> Result<Self, SourceError> {
        let opened = input::decode(Cursor::new(bytes)).map_err(|source| SourceError::Io {
            path: path.to_owned(),
            source,
        })?;
        Self::detect(path, opened)
    }

    fn of(path: &Path, reader: Reader) -> Self {
        Self {
            path: path.to_owned(),
            reader,
            failed: false,
        }
    }

    fn detect(path: &Path, opened: Opened) -> Result<Self, SourceError> {
        let Opened { head, input } = opened;
        let unknown = |looks| SourceError::Unknown {
            path: path.to_owned(),
            looks,
        };
        let begin = head.strip_prefix(b"\xef\xbb\xbf").unwrap_or(&head);
        let begin = begin.trim_ascii_start();
        let reader = match begin.first() {
            None if head.len() < 64 => {
                return Err(SourceError::Empty {
                    path: path.to_owned(),
                });
            }
            None => return Err(unknown("nothing but white space")),
            Some(b'<') if is_html(begin) => return Err(unknown("a web page")),
            Some(b'<') => Reader::Rdf(Box::new(RdfReader::new(input, path))),
            Some(b'{') => Reader::JsonLines(Box::new(JsonLinesReader::new(input, path))),
            Some(b'[') => return Err(unknown("a JSON array, where an object a line is read")),
            Some(_) if begin.contains(&0) => return Err(unknown("no text")),
            Some(_) => Reader::Table(Box::new(TableReader::new(input, path)?)),
        };
        Ok(Self::of(path, reader))
    }

    /// Its kind.
    pub fn kind(&self) -> SourceKind {
        match self.reader {
            Reader::Rdf(_) => SourceKind::Rdf,
            Reader::Table(_) => SourceKind::Table,
            Reader::JsonLines(_) => SourceKind::JsonLines,
            Reader::Folder { .. } => SourceKind::Folder,
        }
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Whether its examples may have a text beside title and description.
    pub fn has_text(&self) -> bool {
        match &self.reader {
            Reader::Rdf(_) => false,
            Reader::Table(table) => table.has_text(),
            Reader::JsonLines(_) | Reader::Folder { .. } => true,
        }
    }

    /// What was found wrong and read over so far; `None` of a table, where every fault is an error.
    pub fn faults(&self) -> Option<&Faults> {
        match &self.reader {
            Reader::Rdf(rdf) => Some(rdf.faults()),
            Reader::Table(_) => None,
            Reader::JsonLines(lines) => Some(lines.faults()),
            Reader::Folder { faults, .. } => Some(faults),
        }
    }

    /// Topics that a dump has named so far, with examples or without; other kinds name none.
    pub fn declared(&self) -> Vec<&str> {
        match &self.reader {
            Reader::Rdf(rdf) => rdf.declared().collect(),
            _ => Vec::new(),
        }
    }
}

/// After an error, nothing more comes.
impl Iterator for Source {
    type Item = Result<Example, SourceError>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.failed {
            return None;
        }
        let next = match &mut self.reader {
            Reader::Rdf(rdf) => rdf.next().map_err(|source| SourceError::Io {
                path: self.path.clone(),
                source,
            }),
            Reader::Table(table) => table.next().transpose().map_err(SourceError::from),
            Reader::JsonLines(lines) => lines.next().map_err(SourceError::from),
            Reader::Folder { files, .. } => Ok(files.next()),
        };
        self.failed = next.is_err();
        next.transpose()
    }
}

fn folder(path: &Path) -> Result<Reader, SourceError> {
    let folder = ExampleFolder::open(path)?;
    let mut faults = Faults::of(path);
    for outside in &folder.outside {
        let what = outside.display().to_string();
        faults.add(FaultKind::OutsideTopics, 0, &what);
    }
    let files: Vec<Example> = folder
        .files
        .into_iter()
        .map(|file| Example {
            url: within(path, &file.path),
            topic: file.topic,
            ..Example::default()
        })
        .collect();
    Ok(Reader::Folder {
        files: files.into_iter(),
        faults,
    })
}

/// The path of a file within the folder.
fn within(folder: &Path, file: &Path) -> String {
    let within = file.strip_prefix(folder).unwrap_or(file);
    within.to_string_lossy().into_owned()
}

fn is_html(begin: &[u8]) -> bool {
    let begin = begin[..begin.len().min(64)].to_ascii_lowercase();
    begin.starts_with(b"<!doctype html") || begin.starts_with(b"<html")
}

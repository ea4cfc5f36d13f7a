//! Writes the one taxonomy file: a table (CSV) `topic,url,title,description[,text]`.
//!
//! It is compressed if its name ends in `.gz` or `.zst`, written beside its place and renamed, so
//! that whoever looks sees the old file or the whole new one.

use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use flate2::write::GzEncoder;
use ruzstd::encoding::{CompressionLevel, compress_to_vec};

use crate::taxonomy::example::Example;

/// How much goes into one zstd frame, in bytes: the encoder takes a frame at once.
const FRAME_BYTES: usize = 8 << 20;

/// Why a table could not be written.
#[derive(Debug, thiserror::Error)]
#[error("{}: cannot be written: {source}", .path.display())]
pub struct TableFileError {
    path: PathBuf,
    source: io::Error,
}

/// A table that is being written; nothing is at its place before [`TableFile::finish`].
pub struct TableFile {
    path: PathBuf,
    beside: PathBuf,
    /// `None` once it is finished.
    rows: Option<csv::Writer<Compressed>>,
    text: bool,
}

impl TableFile {
    /// Begins a table that will be at `path`, with a column for texts or without.
    pub fn create(path: &Path, text: bool) -> Result<Self, TableFileError> {
        let mut name = path.file_name().unwrap_or_default().to_owned();
        name.push(format!(".{}.new", std::process::id()));
        let beside = path.with_file_name(name);
        let create = || {
            let file = File::create(&beside)?;
            let mut rows = csv::Writer::from_writer(Compressed::by_name(path, file));
            let head = ["topic", "url", "title", "description", "text"];
            rows.write_record(&head[..if text { 5 } else { 4 }])?;
            Ok(rows)
        };
        let rows = create().map_err(|source| TableFileError {
            path: path.to_owned(),
            source,
        })?;
        Ok(Self {
            path: path.to_owned(),
            beside,
            rows: Some(rows),
            text,
        })
    }

    /// Adds a row.
    pub fn write(&mut self, example: &Example) -> Result<(), TableFileError> {
        let Some(rows) = &mut self.rows else {
            return Ok(());
        };
        let row = [
            &example.topic,
            &example.url,
            &example.title,
            &example.description,
            &example.text,
        ];
        rows.write_record(&row[..if self.text { 5 } else { 4 }])
            .map_err(|error| TableFileError {
                path: self.path.clone(),
                source: error.into(),
            })
    }

    /// Ends the table and puts it in its place.
    pub fn finish(mut self) -> Result<(), TableFileError> {
        let rows = self.rows.take();
        let put = || {
            let Some(rows) = rows else { return Ok(()) };
            let inner = rows.into_inner().map_err(csv::IntoInnerError::into_error)?;
            inner.finish()?.sync_all()?;
            fs::rename(&self.beside, &self.path)?;
            // The rename itself is durable once the folder is.
            let folder = self.path.parent();
            let folder = folder.filter(|folder| !folder.as_os_str().is_empty());
            File::open(folder.unwrap_or(Path::new(".")))?.sync_all()
        };
        put().map_err(|source| TableFileError {
            path: self.path.clone(),
            source,
        })
    }
}

impl Drop for TableFile {
    fn drop(&mut self) {
        // After a rename there is nothing; after an error nothing is lost with it.
        let _ = fs::remove_file(&self.beside);
    }
}

/// A file with the compression that its name asks for.
enum Compressed {
    Plain(BufWriter<File>),
    Gzip(Box<GzEncoder<BufWriter<File>>>),
    Zstd { frame: Vec<u8>, file: File },
}

impl Compressed {
    fn by_name(path: &Path, file: File) -> Self {
        match path.extension().and_then(|extension| extension.to_str()) {
            Some("gz") => {
                // The default takes longer than reading a dump does, for a tenth less.
                let level = flate2::Compression::fast();
                Self::Gzip(Box::new(GzEncoder::new(BufWriter::new(file), level)))
            }
            Some("zst") => Self::Zstd {
                frame: Vec::new(),
                file,
            },
            _ => Self::Plain(BufWriter::new(file)),
        }
    }

    fn finish(self) -> io::Result<File> {
        match self {
            Self::Plain(writer) => Ok(writer.into_inner()?),
            Self::Gzip(encoder) => Ok(encoder.finish()?.into_inner()?),
            Self::Zstd { frame, mut file } => {
                write_frame(&frame, &mut file)?;
                Ok(file)
            }
        }
    }
}

impl Write for Compressed {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Self::Plain(writer) => writer.write(bytes),
            Self::Gzip(encoder) => encoder.write(bytes),
            Self::Zstd { frame, file } => {
                frame.extend_from_slice(bytes);
                if frame.len() >= FRAME_BYTES {
                    write_frame(frame, file)?;
                    frame.clear();
                }
                Ok(bytes.len())
            }
        }
    }

    /// The csv crate flushes at its end: there is nothing to do before [`Compressed::finish`].
    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

fn write_frame(frame: &[u8], file: &mut File) -> io::Result<()> {
    file.write_all(&compress_to_vec(frame, CompressionLevel::Fastest))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::taxonomy::ExampleTable;

    fn example(number: usize) -> Example {
        Example {
            topic: "Arts/\"Music\"".to_owned(),
            url: format!("http://a/{number}"),
            title: "one, two".to_owned(),
            description: "three\nfour".to_owned(),
            text: "x".repeat(40),
            ..Example::default()
        }
    }

    #[test]
    fn what_was_written_is_read_back_in_each_compression() {
        let folder = tempfile::tempdir().unwrap();
        for name in ["t.csv", "t.csv.gz", "t.csv.zst"] {
            let path = folder.path().join(name);
            let mut file = TableFile::create(&path, true).unwrap();
            for number in 0..200_000 {
                file.write(&example(number)).unwrap();
            }
            assert!(!path.exists());
            file.finish().unwrap();
            let table = ExampleTable::open(&path).unwrap();
            assert_eq!(table.examples.len(), 200_000);
            let last = Example {
                line: table.examples[199_999].line,
                ..example(199_999)
            };
            assert_eq!(table.examples[199_999], last);
        }
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 3);
    }

    #[test]
    fn a_table_that_is_given_up_leaves_nothing_and_keeps_the_old_one() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("t.csv");
        fs::write(&path, "old").unwrap();
        let mut file = TableFile::create(&path, false).unwrap();
        file.write(&example(1)).unwrap();
        drop(file);
        assert_eq!(fs::read_to_string(&path).unwrap(), "old");
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
    }

    #[test]
    fn a_place_that_is_none_is_named() {
        let error = TableFile::create(Path::new("no/such/t.csv"), false);
        let error = error.err().unwrap().to_string();
        assert!(error.starts_with("no/such/t.csv: cannot be written"));
    }
}

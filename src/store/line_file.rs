//! A file of JSON lines for what may be lost: lines are appended as things become known, and when most of them
//! are out of date the file is written anew.
//!
//! Nothing is synced. A torn or foreign line says nothing.

use std::fs::{self, File, OpenOptions};
use std::io::{self, BufRead, BufReader, BufWriter, Read as _, Write};
use std::path::{Path, PathBuf};

use serde::Serialize;
use serde::de::DeserializeOwned;

/// The file, open for appending.
#[derive(Debug)]
pub(crate) struct LineFile {
    path: PathBuf,
    file: File,
    bytes: u64,
    /// How long it was when it was last written anew.
    bytes_whole: u64,
    slack: u64,
}

impl LineFile {
    /// Opens the file at `path`, made if need be, and hands every line that says something to `take`, in their
    /// order. No line is longer than `line_bytes_max`; the file may be twice as long as when it was last
    /// written anew, and `slack` bytes longer.
    pub(crate) fn open<L: DeserializeOwned>(
        path: &Path,
        (line_bytes_max, slack): (u64, u64),
        mut take: impl FnMut(L),
    ) -> io::Result<Self> {
        let file = OpenOptions::new()
            .read(true)
            .append(true)
            .create(true)
            .open(path)?;
        let mut reader = BufReader::new(&file);
        let mut line = Vec::new();
        let (mut bytes, mut is_whole) = (0, true);
        loop {
            line.clear();
            let mut part = reader.by_ref().take(line_bytes_max);
            let length = part.read_until(b'\n', &mut line)?;
            if length == 0 {
                break;
            }
            bytes += length as u64;
            is_whole = line.ends_with(b"\n");
            match serde_json::from_slice(&line) {
                Ok(line) => take(line),
                Err(error) => {
                    tracing::debug!(path = %path.display(), %error, "a line says nothing");
                }
            }
        }
        let mut lines = Self {
            path: path.to_path_buf(),
            file,
            bytes,
            bytes_whole: 0,
            slack,
        };
        if !is_whole {
            // The next line must not be lost with the torn one.
            lines.write(b"\n")?;
        }
        Ok(lines)
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Adds a line. Whether the file should now be written anew.
    pub(crate) fn append(&mut self, line: &impl Serialize) -> io::Result<bool> {
        self.write(&bytes_of(line)?)?;
        Ok(self.bytes > self.bytes_whole.saturating_mul(2) + self.slack)
    }

    /// Writes the file anew with these lines alone.
    pub(crate) fn rewrite<L: Serialize>(
        &mut self,
        lines: impl IntoIterator<Item = L>,
    ) -> io::Result<()> {
        let beside = self.path.with_extension("new");
        let mut writer = BufWriter::new(File::create(&beside)?);
        let mut bytes = 0;
        for line in lines {
            let line = bytes_of(&line)?;
            writer.write_all(&line)?;
            bytes += line.len() as u64;
        }
        writer
            .into_inner()
            .map_err(io::IntoInnerError::into_error)?;
        fs::rename(&beside, &self.path)?;
        self.file = OpenOptions::new().append(true).open(&self.path)?;
        (self.bytes, self.bytes_whole) = (bytes, bytes);
        Ok(())
    }

    fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.bytes += bytes.len() as u64;
        self.file.write_all(bytes)
    }
}

fn bytes_of(line: &impl Serialize) -> io::Result<Vec<u8>> {
    let mut bytes = serde_json::to_vec(line)?;
    bytes.push(b'\n');
    Ok(bytes)
}

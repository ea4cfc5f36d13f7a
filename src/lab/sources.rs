//! Which files a contest is held on, by their contents.

use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use data_encoding::HEXLOWER;
use sha1::{Digest, Sha1};

/// Read at once.
const CHUNK: usize = 1 << 20;

/// SHA-1 of each file, as `sha1sum` prints it.
#[derive(Clone, Debug, Default, PartialEq, Eq, serde::Serialize)]
pub struct Digests {
    /// The archived web.
    pub archive: Vec<String>,
    /// The critic, or the table that it is trained from.
    pub critic: Option<String>,
    /// The labels.
    pub labels: Option<String>,
    /// The table of pages that are left out of the loss beside.
    pub exclude: Option<String>,
}

/// A file that cannot be read.
#[derive(Debug, thiserror::Error)]
#[error("{path}: {error}", path = .path.display())]
pub struct DigestError {
    path: PathBuf,
    error: io::Error,
}

impl Digests {
    /// The digest of one file.
    ///
    /// # Errors
    /// [`DigestError`] names it.
    pub fn of(path: &Path) -> Result<String, DigestError> {
        digest(path).map_err(|error| DigestError {
            path: path.to_path_buf(),
            error,
        })
    }
}

fn digest(path: &Path) -> io::Result<String> {
    let mut file = File::open(path)?;
    let mut sum = Sha1::new();
    let mut chunk = vec![0; CHUNK];
    loop {
        match file.read(&mut chunk)? {
            0 => return Ok(HEXLOWER.encode(&sum.finalize())),
            n => sum.update(&chunk[..n]),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_what_sha1sum_says() {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), "abc").unwrap();
        // FIPS 180-2, appendix A.1.
        let expected = "a9993e364706816aba3e25717850c26c9cd0d89d";
        assert_eq!(Digests::of(file.path()).unwrap(), expected);
        let missing = Digests::of(Path::new("/nowhere/x"))
            .unwrap_err()
            .to_string();
        assert!(missing.contains("/nowhere/x"), "{missing}");
    }
}

//! The results of runs as files in a folder, each under the key of all that its run depends on.
//!
//! A file is written beside its place and renamed, so that it is there wholly or not at all; one that
//! cannot be read counts as not there, and its run is done anew.

use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use data_encoding::HEXLOWER;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use sha1::{Digest, Sha1};

/// The folder in which an experiment keeps its runs.
const RUNS: &str = "runs";

/// Why a result cannot be kept.
#[derive(Debug, thiserror::Error)]
#[error("{path}: {error}; the runs that are done are kept there", path = .path.display())]
pub struct RunFolderError {
    /// Which file or folder.
    path: PathBuf,
    /// Why.
    error: io::Error,
}

/// See the module.
#[derive(Clone, Debug)]
pub struct RunFolder {
    dir: PathBuf,
}

/// A file of it. The key is said in full, so that a person can see what a result is of.
#[derive(Serialize, Deserialize)]
struct File<K, R> {
    key: K,
    result: R,
}

impl RunFolder {
    /// The runs of the experiment whose reports go to `dir`; the folder is made if it is not there.
    ///
    /// # Errors
    /// [`RunFolderError`] if it cannot be made.
    pub fn open(dir: &Path) -> Result<Self, RunFolderError> {
        let dir = dir.join(RUNS);
        match fs::create_dir_all(&dir) {
            Ok(()) => Ok(Self { dir }),
            Err(error) => Err(RunFolderError { path: dir, error }),
        }
    }

    /// How many results it holds, also those of other specs.
    pub fn count(&self) -> usize {
        let files = fs::read_dir(&self.dir).into_iter().flatten().flatten();
        let names = files.map(|file| file.file_name());
        names
            .filter(|name| Path::new(name).extension().is_some_and(|ext| ext == "json"))
            .count()
    }

    /// What was kept under `key`.
    pub(in crate::lab) fn get<R: DeserializeOwned>(&self, key: &serde_json::Value) -> Option<R> {
        let path = self.path_of(key);
        let text = fs::read(&path).ok()?;
        match serde_json::from_slice::<File<serde_json::Value, R>>(&text) {
            Ok(file) => (file.key == *key).then_some(file.result),
            Err(error) => {
                tracing::warn!(path = %path.display(), %error, "this run is done anew");
                None
            }
        }
    }

    /// Keeps `result` under `key`.
    ///
    /// # Errors
    /// [`RunFolderError`] names the file.
    pub(in crate::lab) fn put<R: Serialize>(
        &self,
        key: &serde_json::Value,
        result: &R,
    ) -> Result<(), RunFolderError> {
        let path = self.path_of(key);
        let beside = path.with_extension("part");
        let write = || {
            let text = serde_json::to_vec(&File { key, result })?;
            let mut file = fs::File::create(&beside)?;
            file.write_all(&text)?;
            file.sync_all()?;
            fs::rename(&beside, &path)
        };
        write().map_err(|error| RunFolderError { path, error })
    }

    fn path_of(&self, key: &serde_json::Value) -> PathBuf {
        let name = HEXLOWER.encode(&Sha1::digest(key.to_string().as_bytes()));
        self.dir.join(format!("{name}.json"))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_was_kept_is_found_under_its_key_alone() {
        let dir = tempfile::tempdir().unwrap();
        let folder = RunFolder::open(dir.path()).unwrap();
        let key = json!({ "budget": 10 });
        assert_eq!(folder.get::<u32>(&key), None);
        folder.put(&key, &7_u32).unwrap();
        assert_eq!(folder.get(&key), Some(7_u32));
        assert_eq!(folder.get::<u32>(&json!({ "budget": 11 })), None);
        assert_eq!(folder.count(), 1);
    }

    #[test]
    fn a_file_that_was_cut_counts_as_not_there() {
        let dir = tempfile::tempdir().unwrap();
        let folder = RunFolder::open(dir.path()).unwrap();
        let key = json!("k");
        folder.put(&key, &vec![1_u32, 2, 3]).unwrap();
        let path = folder.path_of(&key);
        let text = fs::read(&path).unwrap();
        for length in 0..text.len() {
            fs::write(&path, &text[..length]).unwrap();
            assert_eq!(folder.get::<Vec<u32>>(&key), None, "{length}");
        }
        folder.put(&key, &vec![4_u32]).unwrap();
        assert_eq!(folder.get(&key), Some(vec![4_u32]));
    }

    #[test]
    fn a_folder_that_cannot_be_is_named() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let problem = RunFolder::open(file.path()).unwrap_err().to_string();
        assert!(problem.contains("runs"), "{problem}");
    }
}

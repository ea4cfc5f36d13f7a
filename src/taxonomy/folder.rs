//! Example pages from a folder: one folder a topic, with the pages as files in it.

use std::fs;
use std::path::{Path, PathBuf};

use crate::taxonomy::topic::{TopicFault, check_topic};

/// Folders deeper than this are refused.
const DEPTH_MAX: usize = 32;
/// More files than this are refused.
const FILES_MAX: usize = 4_000_000;

/// A page in a file.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct ExampleFile {
    /// The folders between the root and the file, joined with `/`.
    pub topic: String,
    /// Where it is.
    pub path: PathBuf,
}

/// The example pages under a folder, by topic and path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ExampleFolder {
    /// The files, sorted.
    pub files: Vec<ExampleFile>,
    /// Files right in the root, which belong to no topic; they are left out.
    pub outside: Vec<PathBuf>,
}

/// Why a folder could not be read.
#[derive(Debug, thiserror::Error)]
pub enum FolderError {
    /// The file system refused.
    #[error("{}: cannot be read: {source}", .path.display())]
    Io {
        /// A folder or a file.
        path: PathBuf,
        /// The system's words.
        source: std::io::Error,
    },
    /// A folder's name is no topic.
    #[error("{}: {fault}; rename the folder", .path.display())]
    Topic {
        /// The folder.
        path: PathBuf,
        /// What is wrong.
        fault: TopicFault,
    },
    /// A folder's name is not UTF-8.
    #[error("{}: the name is not UTF-8; rename the folder", .path.display())]
    Name {
        /// The folder.
        path: PathBuf,
    },
    /// Nested too deeply, or too many files.
    #[error("{}: more than {FILES_MAX} files or {DEPTH_MAX} folders deep", .path.display())]
    TooLarge {
        /// Where the bound was met.
        path: PathBuf,
    },
    /// No page in any topic's folder.
    #[error(
        "{}: no examples; make a folder for each topic and put its pages in it as files",
        .path.display()
    )]
    Empty {
        /// The root.
        path: PathBuf,
    },
}

impl ExampleFolder {
    /// Lists the pages under `root`.
    ///
    /// A folder in a folder is a topic below it. Names that begin with a dot are left out; links
    /// to folders are not followed, since they may lead in a circle.
    pub fn open(root: &Path) -> Result<Self, FolderError> {
        let mut found = Self {
            files: Vec::new(),
            outside: Vec::new(),
        };
        let mut open = vec![(root.to_owned(), String::new(), 0)];
        while let Some((folder, topic, depth)) = open.pop() {
            for path in entries(&folder)? {
                if path.is_dir() {
                    if path.is_symlink() {
                        continue;
                    }
                    if depth == DEPTH_MAX {
                        return Err(FolderError::TooLarge { path });
                    }
                    let below = topic_of(&topic, &path)?;
                    open.push((path, below, depth + 1));
                } else if topic.is_empty() {
                    found.outside.push(path);
                } else if found.files.len() == FILES_MAX {
                    return Err(FolderError::TooLarge { path });
                } else {
                    let topic = topic.clone();
                    found.files.push(ExampleFile { topic, path });
                }
            }
        }
        if found.files.is_empty() {
            return Err(FolderError::Empty {
                path: root.to_owned(),
            });
        }
        found.files.sort();
        found.outside.sort();
        Ok(found)
    }
}

fn entries(folder: &Path) -> Result<Vec<PathBuf>, FolderError> {
    let io = |source| FolderError::Io {
        path: folder.to_owned(),
        source,
    };
    let mut paths = Vec::new();
    for entry in fs::read_dir(folder).map_err(io)? {
        let entry = entry.map_err(io)?;
        if !entry.file_name().as_encoded_bytes().starts_with(b".") {
            paths.push(entry.path());
        }
    }
    Ok(paths)
}

fn topic_of(above: &str, folder: &Path) -> Result<String, FolderError> {
    let name = folder.file_name().and_then(|name| name.to_str());
    let name = name.ok_or_else(|| FolderError::Name {
        path: folder.to_owned(),
    })?;
    let topic = if above.is_empty() {
        name.to_owned()
    } else {
        format!("{above}/{name}")
    };
    check_topic(&topic).map_err(|fault| FolderError::Topic {
        path: folder.to_owned(),
        fault,
    })?;
    Ok(topic)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn write(root: &Path, name: &str) {
        let path = root.join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, "text").unwrap();
    }

    #[test]
    fn nested_folders_are_topics_and_loose_or_hidden_files_are_none() {
        let root = tempfile::tempdir().unwrap();
        for name in ["b/1.html", "a/x/2.html", "a/1.html", "README", "a/.hidden"] {
            write(root.path(), name);
        }
        let folder = ExampleFolder::open(root.path()).unwrap();
        let topics: Vec<&str> = folder.files.iter().map(|file| &*file.topic).collect();
        assert_eq!(topics, ["a", "a/x", "b"]);
        assert_eq!(folder.outside, [root.path().join("README")]);
    }

    #[cfg(unix)]
    #[test]
    fn a_link_to_a_folder_above_is_not_followed() {
        let root = tempfile::tempdir().unwrap();
        write(root.path(), "a/1.html");
        std::os::unix::fs::symlink(root.path(), root.path().join("a/up")).unwrap();
        assert_eq!(ExampleFolder::open(root.path()).unwrap().files.len(), 1);
    }

    #[test]
    fn a_folder_without_topics_says_what_is_wanted() {
        let root = tempfile::tempdir().unwrap();
        let error = ExampleFolder::open(root.path()).unwrap_err().to_string();
        assert!(error.contains("make a folder for each topic"), "{error}");
        let error = ExampleFolder::open(Path::new("no/such")).unwrap_err();
        assert!(error.to_string().starts_with("no/such: cannot be read"));
    }
}

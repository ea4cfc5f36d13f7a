//! The classes of a judge that may change its mind: numbers, once given, stay.
//!
//! Bookings name classes by number, so a later version of the judge with other classes must not give
//! an old number to another class: what it has new is put at the end.

use std::collections::HashMap;
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use crate::critic::far::JudgeAway;

/// Numbers are `u16`, and the last of them stands for no class.
const CLASSES_MAX: usize = u16::MAX as usize;
/// The longest name, in bytes.
const NAME_BYTES_MAX: usize = 200;

/// The numbers of the classes that a judge has at present.
pub(super) type Numbers = HashMap<String, u16>;

/// All classes that a judge has named so far, and the file that keeps them: a name a line.
#[derive(Debug)]
pub(super) struct ClassList {
    names: Mutex<Arc<[String]>>,
    file: Option<PathBuf>,
}

impl ClassList {
    /// An empty list, kept nowhere.
    pub(super) fn new() -> Self {
        Self {
            names: Mutex::new(Arc::default()),
            file: None,
        }
    }

    /// The list that `file` keeps; empty if there is no such file.
    pub(super) fn open(file: &Path) -> std::io::Result<Self> {
        let text = match fs::read_to_string(file) {
            Ok(text) => text,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => String::new(),
            Err(error) => return Err(error),
        };
        Ok(Self {
            names: Mutex::new(text.lines().map(str::to_owned).collect()),
            file: Some(file.to_path_buf()),
        })
    }

    pub(super) fn names(&self) -> Arc<[String]> {
        Arc::clone(&self.names.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Takes in the classes of a description and gives their numbers; the new ones are on disk then.
    /// Blocks on the disk, if there are new ones.
    pub(super) fn extend(&self, described: &[String]) -> Result<Numbers, JudgeAway> {
        let known = self.names();
        let mut numbers: Numbers = known.iter().cloned().zip(0..).collect();
        let mut names = known.to_vec();
        let mut present = Numbers::with_capacity(described.len());
        for name in described {
            check_name(name)?;
            let next = u16::try_from(names.len()).unwrap_or(u16::MAX);
            let number = *numbers.entry(name.clone()).or_insert(next);
            if number == next {
                names.push(name.clone());
            }
            if names.len() > CLASSES_MAX {
                return Err(bad(format!(
                    "more than {CLASSES_MAX} classes, those of earlier versions counted"
                )));
            }
            if present.insert(name.clone(), number).is_some() {
                return Err(bad(format!("class {name:?} is described twice")));
            }
        }
        if names.len() > known.len() || self.file.as_ref().is_some_and(|file| !file.exists()) {
            self.keep(&names)?;
            *self.names.lock().unwrap_or_else(PoisonError::into_inner) = names.into();
        }
        Ok(present)
    }

    fn keep(&self, names: &[String]) -> Result<(), JudgeAway> {
        let Some(file) = &self.file else {
            return Ok(());
        };
        write_whole(file, names).map_err(|error| {
            JudgeAway::File(format!(
                "its classes cannot be kept in {}: {error}",
                file.display()
            ))
        })
    }
}

fn bad(words: String) -> JudgeAway {
    JudgeAway::BadAnswer(words)
}

fn check_name(name: &str) -> Result<(), JudgeAway> {
    if name.is_empty() || name.len() > NAME_BYTES_MAX || name.chars().any(char::is_control) {
        let shown: String = name.chars().take(40).collect();
        return Err(bad(format!(
            "{shown:?} can be no class: a name has 1 to {NAME_BYTES_MAX} bytes and no control characters"
        )));
    }
    Ok(())
}

/// Writes beside, then renames.
fn write_whole(file: &Path, names: &[String]) -> std::io::Result<()> {
    let beside = file.with_extension("new");
    let mut text = fs::File::create(&beside)?;
    for name in names {
        writeln!(text, "{name}")?;
    }
    text.sync_all()?;
    fs::rename(&beside, file)?;
    let folder = file.parent().unwrap_or(Path::new("."));
    fs::File::open(folder)?.sync_all()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(names: &[&str]) -> Vec<String> {
        names.iter().map(|name| (*name).to_owned()).collect()
    }

    #[test]
    fn a_class_keeps_its_number_whatever_later_versions_describe() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("judge.classes");
        let list = ClassList::open(&file).unwrap();
        assert_eq!(list.extend(&names(&["b", "a"])).unwrap()["a"], 1);
        let later = list.extend(&names(&["c", "a"])).unwrap();
        assert_eq!((later["c"], later["a"]), (2, 1));
        assert!(!later.contains_key("b"), "it is not described any more");
        // Another process.
        let again = ClassList::open(&file).unwrap();
        assert_eq!(again.names().to_vec(), names(&["b", "a", "c"]));
        assert_eq!(again.extend(&names(&["b"])).unwrap()["b"], 0);
    }

    #[test]
    fn names_that_cannot_be_kept_are_refused_and_change_nothing() {
        let list = ClassList::new();
        list.extend(&names(&["a"])).unwrap();
        for wrong in [vec!["b", "b"], vec!["b", ""], vec!["b", "c\nd"]] {
            let error = list.extend(&names(&wrong)).unwrap_err();
            assert!(matches!(error, JudgeAway::BadAnswer(_)), "{error}");
            assert_eq!(list.names().to_vec(), names(&["a"]));
        }
        let many: Vec<String> = (0..65_535).map(|n| n.to_string()).collect();
        assert!(list.extend(&many).is_err());
        assert!(list.extend(&many[..65_534]).is_ok());
    }
}

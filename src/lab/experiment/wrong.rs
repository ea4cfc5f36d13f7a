//! What can be wrong with an experiment's file, with the line.

use std::io;
use std::ops::Range;
use std::path::{Path, PathBuf};

/// Why an experiment's file cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum ExperimentError {
    /// It cannot be read.
    #[error("{path}: {error}", path = .path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// Why.
        error: io::Error,
    },
    /// Something in it is wrong.
    #[error("{path}, line {line}: {field}: {problem}", path = .path.display())]
    Wrong {
        /// The file.
        path: PathBuf,
        /// The line, from 1.
        line: usize,
        /// The field.
        field: String,
        /// What is wrong with it, and what would be right.
        problem: String,
    },
}

/// Something wrong in a text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Wrong {
    pub(super) line: usize,
    pub(super) field: String,
    pub(super) problem: String,
}

impl Wrong {
    /// At a place of `text`.
    pub(super) fn at(text: &str, span: &Range<usize>, field: &str, problem: String) -> Self {
        let before = text.get(..span.start).unwrap_or_default();
        Self {
            line: before.matches('\n').count() + 1,
            field: field.to_owned(),
            problem,
        }
    }

    /// What TOML itself complains of; the field is the key of the line.
    pub(super) fn of_toml(text: &str, error: &toml::de::Error) -> Self {
        let span = error.span().unwrap_or(0..0);
        let before = text.get(..span.start).unwrap_or_default();
        let line = text.lines().nth(before.matches('\n').count());
        let key = line
            .and_then(|line| line.split_once('='))
            .map(|(key, _)| key.trim());
        let field = match key {
            Some(key) if !key.is_empty() && !error.message().contains(&format!("`{key}`")) => key,
            _ => "TOML",
        };
        let mut problem = error.message().replace('\n', " ");
        if field == "apprentice" && problem.contains("invalid type: string") {
            problem += "; a saved one stands with its crawler, as in crawlers = [{ crawler = \"auto\", apprentice = \"FILE\" }]";
        }
        Self::at(text, &span, field, problem)
    }

    pub(super) fn of(self, path: &Path) -> ExperimentError {
        ExperimentError::Wrong {
            path: path.to_path_buf(),
            line: self.line,
            field: self.field,
            problem: self.problem,
        }
    }
}

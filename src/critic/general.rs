//! The critic that comes with the program.

use std::path::Path;

use crate::critic::model::CriticModel;
use crate::critic::model_file::ModelFileError;

/// In the program itself: a file beside it would be lost by whoever copies the program alone, as
/// `cargo install` does. models/general.md says what is in it.
static GENERAL: &[u8] = include_bytes!("../../models/general.critic");

impl CriticModel {
    /// Its name where the path of a model is asked for.
    pub const GENERAL: &str = "general";

    /// The general critic that comes with the program (models/general.md).
    pub fn general() -> Result<Self, ModelFileError> {
        Self::from_bytes(GENERAL, Path::new("models/general.critic"))
    }

    /// [`CriticModel::open`], or the general critic if `path` is [`CriticModel::GENERAL`] and there is
    /// no such file.
    pub fn open_or_general(path: &Path) -> Result<Self, ModelFileError> {
        if path == Path::new(Self::GENERAL) && !path.exists() {
            return Self::general();
        }
        Self::open(path)
    }
}

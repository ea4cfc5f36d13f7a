//! An archive as the shelf of a replay.

use std::sync::Arc;

use crate::archive::Archive;
use crate::fetch::{Fields, Shelf, Shelved};
use crate::url::CanonicalUrl;

/// An archive that several replays read at once.
#[derive(Clone, Debug)]
pub struct ArchiveShelf(pub Arc<Archive>);

impl Shelf for ArchiveShelf {
    fn get(&self, url: &CanonicalUrl) -> Option<Shelved> {
        let answer = match self.0.answer(url) {
            Ok(answer) => answer?,
            Err(error) => {
                // A page that cannot be read is a page that the replay does not have.
                tracing::warn!(%url, %error, "left out of the replay");
                return None;
            }
        };
        let pairs = answer.headers.iter();
        let fields =
            Fields::from_pairs(pairs.map(|(name, value)| (name.as_str(), value.as_bytes())));
        Some(Shelved {
            status: answer.status,
            fields,
            body: answer.body,
        })
    }
}

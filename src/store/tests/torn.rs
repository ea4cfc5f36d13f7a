//! What a power cut leaves: of what was not synced, any sector is there or not.
//!
//! Of `tests/it/power.rs` as well, so that nothing here may be of this crate alone.

use std::fs;
use std::path::{Path, PathBuf};

use rand::{Rng, RngExt};

const SECTOR: usize = 512;

/// What is left of a file that was being changed from `old` to `new`.
pub(crate) fn torn(old: &[u8], new: &[u8], chance: &mut impl Rng) -> Vec<u8> {
    let length = [old.len(), new.len()][usize::from(chance.random_bool(0.7))];
    let share = chance.random_range(0.0..=1.0);
    let mut left = vec![0; length];
    for (at, sector) in left.chunks_mut(SECTOR).enumerate() {
        let from = if chance.random_bool(share) { new } else { old };
        let written = from.get(at * SECTOR..).unwrap_or_default();
        let written = &written[..written.len().min(sector.len())];
        sector[..written.len()].copy_from_slice(written);
    }
    left
}

/// The files below `folder`, by their names in it; no sockets.
pub(crate) fn files(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut folders = vec![PathBuf::new()];
    while let Some(inner) = folders.pop() {
        for entry in fs::read_dir(folder.join(&inner)).unwrap() {
            let entry = entry.unwrap();
            let name = inner.join(entry.file_name());
            let kind = entry.file_type().unwrap();
            if kind.is_dir() {
                folders.push(name);
            } else if kind.is_file() {
                found.push(name);
            }
        }
    }
    found.sort();
    found
}

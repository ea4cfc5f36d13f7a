//! How much room is left: sled does not survive a full disk, so a write that would fill it is not
//! begun.

use std::io;
use std::path::Path;

/// Bytes that an ordinary user may still write in the file system of `folder`.
pub(crate) fn free_bytes(folder: &Path) -> io::Result<u64> {
    let figures = rustix::fs::statvfs(folder)?;
    Ok(figures.f_bavail.saturating_mul(figures.f_frsize))
}

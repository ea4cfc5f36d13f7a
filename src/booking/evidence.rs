//! The evidence of a page: leaves, words and links, in one bytes field with an offset table, so that
//! one link is read without decoding the others (DESIGN.md 4.6).

use crate::page::{Link, Page};
use crate::url::CanonicalUrl;

use super::DecodeError;

/// The evidence of `page`.
pub fn encode(page: &Page) -> Vec<u8> {
    let _ = page;
    Vec::new()
}

/// The URL of link `link`, read alone.
///
/// # Errors
/// [`DecodeError::Evidence`] if there is no such link or the bytes are damaged.
pub fn link_url(evidence: &[u8], link: u32) -> Result<CanonicalUrl, DecodeError> {
    let _ = (evidence, link);
    Err(DecodeError::Evidence("not written yet"))
}

/// Link `link`, whole, read alone.
///
/// # Errors
/// As [`link_url`].
pub fn link(evidence: &[u8], link: u32) -> Result<Link, DecodeError> {
    let _ = (evidence, link);
    Err(DecodeError::Evidence("not written yet"))
}

/// The page as it was parsed.
///
/// # Errors
/// As [`link_url`].
pub fn decode(evidence: &[u8]) -> Result<Page, DecodeError> {
    let _ = evidence;
    Err(DecodeError::Evidence("not written yet"))
}

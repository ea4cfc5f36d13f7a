//! Which page, which host?
//!
//! A [`CanonicalUrl`] is the one spelling under which a page is known: it is the key in the frontier
//! and the bytes that are requested. [`UrlId`] is its fingerprint, [`HostKey`] the authority that
//! politeness is owed to.

mod canonical;
mod host;
mod id;
mod strip;
mod trap;

pub use canonical::{CanonicalUrl, UrlError};
pub use host::{HostKey, registrable_domain};
pub use id::{FingerprintHasher, FingerprintState, UrlId};
pub use strip::UrlRules;
pub use trap::{Trap, trap_of};

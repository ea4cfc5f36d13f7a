//! The authority that politeness is owed to.

use std::fmt;
use std::sync::Arc;

/// A host with its port, as the calendar knows it: lower case, ASCII (IDNA), no trailing dot, the
/// port only where it is not the scheme's own.
///
/// `http` and `https` of one host share a key: they are one server to be polite to.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct HostKey(Arc<str>);

impl HostKey {
    pub(super) fn of(url: &::url::Url) -> Self {
        let host = url.host_str().unwrap_or_default().trim_end_matches('.');
        match url.port() {
            Some(port) => Self(format!("{host}:{port}").into()),
            None => Self(host.into()),
        }
    }

    /// A key that was stored; the text is taken as it is.
    pub fn from_stored(text: &str) -> Self {
        Self(text.into())
    }

    /// `host` or `host:port`.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for HostKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

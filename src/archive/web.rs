//! The archived web as its servers would answer.
//!
//! Archives of pages alone have lost the redirects between them, the commonest of which leads from
//! `http:` to `https:` of the same URL (or back). A link under the scheme that the archive lacks is
//! therefore answered by a redirect to the one that it has (docs/decisions/0003).

use super::{Archive, ArchiveError, ArchivedResponse};
use crate::url::CanonicalUrl;

impl Archive {
    /// The stored answer, or a redirect to the same URL under the other scheme if that is stored.
    ///
    /// # Errors
    /// As [`Archive::get`].
    pub fn answer(&self, url: &CanonicalUrl) -> Result<Option<ArchivedResponse>, ArchiveError> {
        if let Some(response) = self.get(url)? {
            return Ok(Some(response));
        }
        Ok(self.twin(url).map(|twin| ArchivedResponse {
            status: 301,
            headers: vec![("Location".to_owned(), twin.as_str().to_owned())],
            content_type: None,
            body: bytes::Bytes::new(),
        }))
    }

    /// Whether [`Archive::answer`] has one.
    pub fn answers(&self, url: &CanonicalUrl) -> bool {
        self.contains(url) || self.twin(url).is_some()
    }

    fn twin(&self, url: &CanonicalUrl) -> Option<CanonicalUrl> {
        let text = url.as_str();
        let twin = match text.strip_prefix("http://") {
            Some(rest) => format!("https://{rest}"),
            None => format!("http://{}", text.strip_prefix("https://")?),
        };
        let twin = CanonicalUrl::parse(&twin).ok()?;
        self.contains(&twin).then_some(twin)
    }
}

//! How URLs are collected.

use std::sync::Arc;
use std::time::Duration;

use super::CollectError;
use crate::crawl::{check_contact, user_agent};
use crate::fetch::{FetchLimits, GuardRules, Kinds, Request};
use crate::frontier::{HOSTS_PER_ADDRESS, Spacing};
use crate::url::CanonicalUrl;

/// How URLs are collected.
#[derive(Clone, Debug)]
pub struct CollectParams {
    /// Says who asks.
    pub user_agent: String,
    /// Between two requests to a host, from the end of one to the next.
    pub delay: Duration,
    /// Requests at once, and a delay, to all hosts behind one address together.
    pub per_address: u32,
    /// Hosts that are asked at once; each gets one request at a time.
    pub parallel: usize,
    /// What may be connected to beside public addresses.
    pub guard: Arc<GuardRules>,
    /// The bounds of one fetch.
    pub limits: FetchLimits,
    /// A host that is to be left alone for longer than this is left to the next start.
    pub patience: Duration,
}

impl CollectParams {
    /// The usual bounds, for public addresses. `contact` is who answers for the requests, and stands
    /// in the User-Agent.
    ///
    /// # Errors
    /// [`CollectError::Contact`], if it is none.
    pub fn new(contact: Option<&str>) -> Result<Self, CollectError> {
        if let Some(contact) = contact {
            check_contact(contact).map_err(|error| CollectError::Contact(error.problem))?;
        }
        Ok(Self {
            user_agent: user_agent(contact),
            delay: Duration::from_secs(1),
            per_address: HOSTS_PER_ADDRESS,
            parallel: 32,
            guard: Arc::new(GuardRules::public_only()),
            limits: FetchLimits::default(),
            patience: Duration::from_mins(2),
        })
    }

    /// The distance to keep from a host that is owed `delay`.
    pub(super) fn spacing(&self, delay: Duration) -> Spacing {
        Spacing {
            delay,
            per_address: self.per_address,
        }
    }

    pub(super) fn request(&self, url: CanonicalUrl) -> Request {
        Request {
            url,
            user_agent: self.user_agent.clone(),
            limits: self.limits,
            guard: Arc::clone(&self.guard),
            kinds: Kinds::Pages,
            recorder: None,
        }
    }
}

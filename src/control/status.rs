//! Errors as gRPC status codes: the words are the error's own.

use tonic::{Code, Status};

use crate::crawl::{CrawlError, StartError};
use crate::critic::JudgeError;
use crate::registry::RegistryError;
use crate::taxonomy::FocusError;

/// The status of a registry's error.
pub(super) fn of_registry(error: &RegistryError) -> Status {
    let code = match error {
        RegistryError::NotFound { .. }
        | RegistryError::Focus(FocusError::Unknown { .. })
        | RegistryError::Judge(JudgeError::Focus(FocusError::Unknown { .. })) => Code::NotFound,
        RegistryError::Start(StartError::Critic(_) | StartError::NoInstances(_)) => {
            Code::FailedPrecondition
        }
        RegistryError::Exists(_) => Code::AlreadyExists,
        RegistryError::Running(_)
        | RegistryError::Broken { .. }
        | RegistryError::NothingWithin(_)
        | RegistryError::JudgeAway { .. } => Code::FailedPrecondition,
        RegistryError::Start(StartError::Engine(_) | StartError::Store(_))
        | RegistryError::Io { .. }
        | RegistryError::Open(_)
        | RegistryError::Store(_)
        | RegistryError::Engine(_) => Code::Internal,
        RegistryError::NoSeeds
        | RegistryError::NoContact
        | RegistryError::Spec(_)
        | RegistryError::Start(_)
        | RegistryError::Model(_)
        | RegistryError::Judge(_)
        | RegistryError::Focus(_) => Code::InvalidArgument,
        RegistryError::Stopping | RegistryError::Opening { .. } => Code::Unavailable,
        RegistryError::Damaged(_) => Code::DataLoss,
        RegistryError::Crawl(error) => return of_crawl(error),
    };
    Status::new(code, error.to_string())
}

/// The status of a crawl's error.
pub(super) fn of_crawl(error: &CrawlError) -> Status {
    let code = match error {
        CrawlError::Closed(_) => Code::Unavailable,
        CrawlError::State(_) => Code::FailedPrecondition,
        CrawlError::Spec(_) | CrawlError::Feedback(_) => Code::InvalidArgument,
        CrawlError::NoPage(_) | CrawlError::NoEpoch(_) | CrawlError::Focus(_) => Code::NotFound,
        CrawlError::Store(_) => Code::Internal,
    };
    Status::new(code, error.to_string())
}

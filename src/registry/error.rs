//! Why the registry does not do what it is told.

use std::path::PathBuf;

use crate::crawl::{CrawlError, EngineError, SpecError, StartError};
use crate::critic::{JudgeAway, JudgeError, ModelFileError};
use crate::frontier::StoreFailure;
use crate::store::OpenError;
use crate::taxonomy::FocusError;

/// Why the registry does not do what it is told.
#[derive(Debug, thiserror::Error)]
pub enum RegistryError {
    /// No crawl of that name.
    #[error("no crawl {name:?}; there {}", is_or_are(.known))]
    NotFound {
        /// The name asked for.
        name: String,
        /// Those that there are.
        known: Vec<String>,
    },
    /// A crawl of that name exists.
    #[error("a crawl {0:?} exists; choose another name, or delete it with `crawl delete {0}`")]
    Exists(String),
    /// It runs, and must not.
    #[error("crawl {0:?} is running; stop it first with `crawl stop {0}`")]
    Running(String),
    /// Its log is being read.
    #[error("crawl {name:?} is being opened ({how_far}); wait for it")]
    Opening {
        /// Which.
        name: String,
        /// In words.
        how_far: String,
    },
    /// It could not be opened, or its engine broke.
    #[error("crawl {name:?} has failed: {reason}; mend the cause and `crawl resume {name}`")]
    Broken {
        /// Which.
        name: String,
        /// Why.
        reason: String,
    },
    /// There is nothing to start from.
    #[error(
        "no seeds; give URLs, a file of URLs, or take the topic's examples with --example-seeds N (the model may hold none)"
    )]
    NoSeeds,
    /// A crawl is to stay within one that has fetched nothing.
    #[error(
        "crawl {0:?} has fetched nothing yet, so that there is nothing to stay within; wait for it"
    )]
    NothingWithin(String),
    /// The network is not crawled anonymously.
    #[error(
        "no contact; a crawl of the network needs `contact` (an e-mail address or a URL where a site's owner reaches you), it is sent in the User-Agent"
    )]
    NoContact,
    /// The daemon is on its way out.
    #[error("the daemon is stopping")]
    Stopping,
    /// A file of the crawl cannot be used.
    #[error("{path}: {error}")]
    Io {
        /// Which.
        path: PathBuf,
        /// Why.
        error: std::io::Error,
    },
    /// The crawl's own data are not what they should be.
    #[error("{0}")]
    Damaged(String),
    /// The spec cannot be taken.
    #[error(transparent)]
    Spec(#[from] SpecError),
    /// It cannot begin with what it is told to.
    #[error(transparent)]
    Start(#[from] StartError),
    /// The model file cannot be used.
    #[error(transparent)]
    Model(#[from] ModelFileError),
    /// The judge that a new crawl names gives no account of itself.
    #[error("the judge at {place}: {why}; see that it runs there and understands the topics")]
    JudgeAway {
        /// Where.
        place: String,
        /// Why.
        why: JudgeAway,
    },
    /// The model cannot judge this focus.
    #[error(transparent)]
    Judge(#[from] JudgeError),
    /// The topics cannot be a focus.
    #[error(transparent)]
    Focus(#[from] FocusError),
    /// The store cannot be opened.
    #[error(transparent)]
    Open(#[from] OpenError),
    /// The store cannot be read or written.
    #[error(transparent)]
    Store(#[from] StoreFailure),
    /// The log cannot be folded.
    #[error(transparent)]
    Engine(#[from] EngineError),
    /// The crawl refuses.
    #[error(transparent)]
    Crawl(#[from] CrawlError),
}

fn is_or_are(known: &[String]) -> String {
    match known {
        [] => "are none yet".to_owned(),
        [only] => format!("is only {only:?}"),
        many => format!("are {}", many.join(", ")),
    }
}

//! From the errors of the libraries to the names of our own.

use std::error::Error;
use std::io;
use std::time::Duration;

use crate::fetch::FetchError;

/// More causes behind one error than any library chains.
const CAUSES_MAX: usize = 16;

/// Why no connection stands (before TLS) within `limit`.
pub(super) fn connecting(error: &(dyn Error + 'static), limit: Duration) -> FetchError {
    if let Some(known) = causes(error).find_map(|cause| cause.downcast_ref::<FetchError>()) {
        return known.clone();
    }
    let timed_out = causes(error)
        .filter_map(|cause| cause.downcast_ref::<io::Error>())
        .any(|cause| cause.kind() == io::ErrorKind::TimedOut);
    if timed_out {
        return FetchError::TimeoutConnect(limit);
    }
    FetchError::Connect(words(error))
}

/// Why a request that was given to the client brought no answer.
pub(super) fn exchanging(error: &(dyn Error + 'static)) -> FetchError {
    if let Some(known) = causes(error).find_map(|cause| cause.downcast_ref::<FetchError>()) {
        return known.clone();
    }
    let tls = causes(error).any(|cause| {
        cause.is::<rustls::Error>()
            || cause
                .downcast_ref::<io::Error>()
                .and_then(io::Error::get_ref)
                .is_some_and(is_tls)
    });
    if tls {
        return FetchError::Tls(words(error));
    }
    let connecting = causes(error)
        .find_map(|cause| cause.downcast_ref::<hyper_util::client::legacy::Error>())
        .is_some_and(hyper_util::client::legacy::Error::is_connect);
    match causes(error).find_map(|cause| cause.downcast_ref::<hyper::Error>()) {
        Some(cause) if cause.is_parse() || cause.is_parse_too_large() => {
            FetchError::Protocol(words(error))
        }
        // Past TCP and before HTTP there is only TLS: the handshake was cut off.
        None if connecting => FetchError::Tls(words(error)),
        _ => FetchError::Broken(words(error)),
    }
}

/// `io::Error` hides the error that it wraps from the chain of causes, and hyper-rustls wraps twice.
fn is_tls(error: &(dyn Error + Send + Sync + 'static)) -> bool {
    error.is::<rustls::Error>()
        || error
            .downcast_ref::<io::Error>()
            .and_then(io::Error::get_ref)
            .is_some_and(<dyn Error + Send + Sync>::is::<rustls::Error>)
}

fn causes<'a>(error: &'a (dyn Error + 'static)) -> impl Iterator<Item = &'a (dyn Error + 'static)> {
    std::iter::successors(Some(error), |&cause| cause.source()).take(CAUSES_MAX)
}

/// The words of the innermost cause: the outer ones only say that something failed.
fn words(error: &(dyn Error + 'static)) -> String {
    causes(error)
        .last()
        .map_or_else(String::new, ToString::to_string)
}

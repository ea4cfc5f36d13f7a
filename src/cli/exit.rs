//! Errors for people, and what the exit code says.

use std::error::Error;
use std::io;
use std::process::ExitCode;

use crate::control::client::ConnectError;
use crate::critic::JudgeError;
use crate::taxonomy::{FocusError, PruneError};

/// It failed.
pub(super) const FAILED: u8 = 1;
/// No daemon answers.
const NO_DAEMON: u8 = 3;
/// No such crawl, topic or URL.
pub(super) const NOT_FOUND: u8 = 4;
/// Refused as asked.
pub(super) const REFUSED: u8 = 5;

/// Prints the error on one line and gives the exit code that fits its cause.
pub(super) fn report(error: &anyhow::Error) -> ExitCode {
    if is_broken_pipe(error) {
        // Whoever read us has seen enough.
        return ExitCode::SUCCESS;
    }
    let hint = if connection_broke(error) {
        "the connection to the daemon broke; is it still running, and is its address http for a plain port and https for one with TLS? "
    } else {
        ""
    };
    super::output::complain(&format!("error: {hint}{}", words(error)));
    ExitCode::from(code(error))
}

fn code(error: &anyhow::Error) -> u8 {
    if error.downcast_ref::<ConnectError>().is_some() || connection_broke(error) {
        return NO_DAEMON;
    }
    if let Some(JudgeError::Focus(FocusError::Unknown { .. })) = error.downcast_ref() {
        return NOT_FOUND;
    }
    match error.downcast_ref() {
        Some(PruneError::UnknownFocus { .. }) => return NOT_FOUND,
        Some(PruneError::FocusTooSmall { .. }) => return REFUSED,
        _ => {}
    }
    match error
        .downcast_ref::<tonic::Status>()
        .map(tonic::Status::code)
    {
        Some(tonic::Code::NotFound) => NOT_FOUND,
        Some(
            tonic::Code::InvalidArgument
            | tonic::Code::FailedPrecondition
            | tonic::Code::AlreadyExists
            | tonic::Code::Unauthenticated,
        ) => REFUSED,
        Some(tonic::Code::Unavailable) => NO_DAEMON,
        _ => FAILED,
    }
}

/// The error and its causes on one line, each said once.
fn words(error: &anyhow::Error) -> String {
    let mut line = String::new();
    for cause in error.chain() {
        let cause = match cause.downcast_ref::<tonic::Status>() {
            Some(status) if status.message().is_empty() => status.code().to_string(),
            Some(status) => status.message().to_owned(),
            None => cause.to_string(),
        };
        if line.contains(&cause) {
            continue;
        }
        if !line.is_empty() {
            line.push_str(": ");
        }
        line.push_str(&cause);
    }
    line.replace('\n', "; ")
}

/// Whether standard output was closed. A connection to a daemon can break the same way, and that is
/// no reason to be silent.
fn is_broken_pipe(error: &anyhow::Error) -> bool {
    let of_connection = error.chain().any(|cause| {
        cause.is::<tonic::Status>()
            || cause.is::<tonic::transport::Error>()
            || cause.is::<ConnectError>()
    });
    !of_connection
        && error
            .chain()
            .any(|cause| io_kind(cause) == Some(io::ErrorKind::BrokenPipe))
}

/// Whether the connection broke under a call: then the status was made here, not by the daemon.
fn connection_broke(error: &anyhow::Error) -> bool {
    let made_here = |status: &tonic::Status| status.source().is_some();
    error.downcast_ref::<tonic::Status>().is_some_and(made_here)
}

/// What the system said, also where a writer of CSV or JSON has wrapped it.
fn io_kind(cause: &(dyn Error + 'static)) -> Option<io::ErrorKind> {
    if let Some(error) = cause.downcast_ref::<csv::Error>() {
        return match error.kind() {
            csv::ErrorKind::Io(error) => io_kind(error),
            _ => None,
        };
    }
    if let Some(error) = cause.downcast_ref::<serde_json::Error>() {
        return error.io_error_kind();
    }
    let error = cause.downcast_ref::<io::Error>()?;
    let inner = error.get_ref().and_then(|inner| io_kind(inner));
    inner.or(Some(error.kind()))
}

//! Errors for people, and what the exit code says.

use std::process::ExitCode;

use crate::control::client::ConnectError;

/// It failed.
pub(super) const FAILED: u8 = 1;
/// No daemon answers.
const NO_DAEMON: u8 = 3;
/// No such crawl.
pub(super) const NOT_FOUND: u8 = 4;
/// Refused as asked.
pub(super) const REFUSED: u8 = 5;

/// Prints the error on one line and gives the exit code that fits its cause.
pub(super) fn report(error: &anyhow::Error) -> ExitCode {
    if is_broken_pipe(error) {
        // Whoever read us has seen enough.
        return ExitCode::SUCCESS;
    }
    super::output::complain(&format!("error: {}", words(error)));
    ExitCode::from(code(error))
}

fn code(error: &anyhow::Error) -> u8 {
    if error.downcast_ref::<ConnectError>().is_some() {
        return NO_DAEMON;
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

fn is_broken_pipe(error: &anyhow::Error) -> bool {
    error.chain().any(|cause| {
        cause
            .downcast_ref::<std::io::Error>()
            .is_some_and(|error| error.kind() == std::io::ErrorKind::BrokenPipe)
    })
}

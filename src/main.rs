//! The `apprentice` program.

use std::process::ExitCode;

fn main() -> ExitCode {
    apprentice::cli::run()
}

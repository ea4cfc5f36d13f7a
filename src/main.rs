//! The `apprentice` program.

use std::process::ExitCode;

/// The parts of many pages come from one thread and are freed on another. glibc's allocator takes half
/// a second to tidy up when a large crawl changes over to a new epoch, and the engine waits meanwhile.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    apprentice::cli::run()
}

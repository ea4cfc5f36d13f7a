//! See `apprentice_fuzz::warc_file`: `cargo fuzz run warc_file` (needs nightly, or stable with `RUSTC_BOOTSTRAP=1`).
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| apprentice_fuzz::warc_file(bytes));

//! See `apprentice_fuzz::charset`: `cargo fuzz run charset` (needs nightly, or stable with `RUSTC_BOOTSTRAP=1`).
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| apprentice_fuzz::charset(bytes));

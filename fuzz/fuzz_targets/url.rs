//! See `apprentice_fuzz::url`: `cargo fuzz run url` (needs nightly, or stable with `RUSTC_BOOTSTRAP=1`).
#![no_main]

libfuzzer_sys::fuzz_target!(|text: &str| apprentice_fuzz::url(text));

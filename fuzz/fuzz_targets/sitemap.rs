//! See `apprentice_fuzz::sitemap`: `cargo fuzz run sitemap` (needs nightly, or stable with `RUSTC_BOOTSTRAP=1`).
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| apprentice_fuzz::sitemap(bytes));

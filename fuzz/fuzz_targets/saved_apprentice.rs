//! Any bytes are a saved apprentice or an error that says what is wrong with the file.
#![no_main]

use std::path::Path;

use apprentice::apprentice::SavedApprentice;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let _ = SavedApprentice::from_bytes(bytes, Path::new("fuzz.apprentice"));
});

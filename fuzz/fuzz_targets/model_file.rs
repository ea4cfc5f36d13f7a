//! Any bytes are a model or an error that says what is wrong with the file.
#![no_main]

use std::path::Path;

use apprentice::critic::CriticModel;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let _ = CriticModel::from_bytes(bytes, Path::new("fuzz.critic"));
});

//! Stored bytes are an event or an error; an event is written back as it was read.
#![no_main]

use apprentice::booking::{decode, encode};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    if let Ok(event) = decode(bytes) {
        let again = decode(&encode(&event)).expect("its own encoding");
        // NaN is not equal to itself; the bytes are.
        assert_eq!(encode(&again), encode(&event));
    }
});

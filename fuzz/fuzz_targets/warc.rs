//! A stored HTTP answer is read or refused, whatever its bytes are.
#![no_main]

use apprentice::archive::ArchivedResponse;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    if let Ok(response) = ArchivedResponse::from_http(bytes.to_vec()) {
        assert!((100..=999).contains(&response.status));
    }
});

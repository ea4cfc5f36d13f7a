//! What is canonical stays so, and no text panics.
#![no_main]

use apprentice::url::{CanonicalUrl, registrable_domain};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    let base = url::Url::parse("https://h.test/a/b?c").expect("a URL");
    for url in [
        CanonicalUrl::parse(text),
        CanonicalUrl::resolve(&base, text),
    ] {
        let Ok(url) = url else { continue };
        let again = CanonicalUrl::parse(url.as_str()).expect("canonical parses");
        assert_eq!(again, url);
        let key = url.host_key();
        assert!(!key.as_str().is_empty());
        let _ = registrable_domain(&key);
    }
    let _ = CanonicalUrl::from_stored(text.to_owned()).host_key();
});

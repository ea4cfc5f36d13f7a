//! Any bytes are a DMOZ dump: read to the end, faults counted, and what comes out are examples.
#![no_main]

use std::path::Path;

use apprentice::taxonomy::{Source, SourceKind, check_topic};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let dump = [b"<RDF>\n", bytes].concat();
    let mut source = Source::from_bytes(dump, Path::new("fuzz.rdf")).expect("a dump");
    assert_eq!(source.kind(), SourceKind::Rdf);
    for example in source.by_ref() {
        let example = example.expect("no fault ends the reading");
        assert_eq!(check_topic(&example.topic), Ok(()));
        assert!(!example.url.is_empty());
        assert!(example.title.len() <= 1_024);
    }
    let _ = (
        source.declared(),
        source.faults().map(|faults| faults.lines()),
    );
});

//! Any bytes after a sound line are more lines, or an error that names the line.
#![no_main]

use std::path::Path;

use apprentice::taxonomy::{Source, SourceKind, check_topic};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let lines = [b"{\"topic\":\"a\",\"title\":\"t\"}\n", bytes].concat();
    let mut source = Source::from_bytes(lines, Path::new("fuzz.jsonl")).expect("JSON lines");
    assert_eq!(source.kind(), SourceKind::JsonLines);
    assert!(source.next().is_some_and(|first| first.is_ok()));
    for example in source {
        match example {
            Ok(example) => {
                assert_eq!(check_topic(&example.topic), Ok(()));
                assert!(!example.url.is_empty());
            }
            Err(error) => assert!(error.to_string().starts_with("fuzz.jsonl:")),
        }
    }
});

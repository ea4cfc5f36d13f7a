//! Any bytes are a table or an error that says what is wrong.
#![no_main]

use std::path::Path;

use apprentice::taxonomy::{ExampleTable, Source, check_topic};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    // Whatever kind it is taken for.
    if let Ok(source) = Source::from_bytes(bytes.to_vec(), Path::new("fuzz")) {
        source.for_each(drop);
    }
    let table = [b"topic,url,title\n", bytes].concat();
    if let Ok(table) = ExampleTable::read(table.as_slice(), Path::new("fuzz.csv")) {
        for example in &table.examples {
            assert_eq!(check_topic(&example.topic), Ok(()));
            assert!(!example.url.is_empty());
        }
        assert_eq!(table.topics().values().sum::<usize>(), table.examples.len());
    }
});

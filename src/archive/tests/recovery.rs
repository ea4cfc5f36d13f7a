//! Where an archive ends that was being written.

use proptest::prelude::*;

use super::*;

/// What was found, and the URLs of the answers.
fn recovered(path: &Path) -> Result<(Recovered, Vec<String>), ArchiveError> {
    let mut urls = Vec::new();
    let found = recover(path, "tests/9.9", |url, answer| {
        assert_eq!(answer.status, 200);
        urls.push(url.as_str().to_owned());
    })?;
    Ok((found, urls))
}

#[test]
fn a_whole_archive_is_whole_and_gives_every_answer() {
    let (_folder, path, offsets) = written(PAGES);
    let (found, urls) = recovered(&path).unwrap();
    let whole = *offsets.last().unwrap();
    assert_eq!(found, Recovered { whole, torn: 0 });
    let written: Vec<&str> = PAGES.iter().map(|(url, _)| *url).collect();
    assert_eq!(urls, written);
}

#[test]
fn cut_anywhere_it_ends_after_the_last_whole_record() {
    let (_folder, path, offsets) = written(PAGES);
    let bytes = fs::read(&path).unwrap();
    let first = usize::try_from(offsets[0]).unwrap();
    for length in first..bytes.len() {
        fs::write(&path, &bytes[..length]).unwrap();
        let (found, urls) = recovered(&path).unwrap();
        let length = length as u64;
        let ends = offsets.iter().take_while(|end| **end <= length);
        assert_eq!(found.whole, *ends.clone().last().unwrap(), "{length}");
        assert_eq!(found.whole + found.torn, length);
        assert_eq!(urls.len(), ends.count() - 1, "{length}");
    }
    // What is left can be written to, and is an archive again.
    let (found, _) = recovered(&path).unwrap();
    WarcWriter::resume(&path, found.whole).unwrap();
    assert_eq!(Archive::open(&[&path]).unwrap().info().unparsable, 0);
}

#[test]
fn damage_with_whole_records_behind_it_is_not_taken_for_a_torn_end() {
    let (_folder, path, offsets) = written(PAGES);
    let mut bytes = fs::read(&path).unwrap();
    let middle = usize::try_from(offsets[0] + (offsets[1] - offsets[0]) / 2).unwrap();
    bytes[middle] ^= 0xff;
    fs::write(&path, &bytes).unwrap();
    let error = recovered(&path).unwrap_err();
    let words = error.to_string();
    let ArchiveError::Damaged { damage, next } = error else {
        panic!("{error}");
    };
    assert_eq!((damage.offset, next), (offsets[0], offsets[1]));
    assert!(words.contains("move it away"), "{words}");
}

#[test]
fn a_file_of_others_is_refused() {
    let (_folder, path, _) = written(PAGES);
    let error = recover(&path, "other/1", |_, _| ()).unwrap_err();
    assert!(error.to_string().contains("not written by"), "{error}");
    for bytes in [&b""[..], b"WARC/1.0\r\n", b"\x1f\x8b\x08", b"hello"] {
        let (_folder, path) = folder_with("a.warc.gz", bytes);
        let found = recovered(&path);
        if bytes.is_empty() {
            assert_eq!(found.unwrap().0, Recovered::default());
        } else {
            assert!(matches!(found, Err(ArchiveError::NotOurs { .. })));
        }
    }
}

proptest! {
    /// Whatever a crash of the machine left behind the last whole record is no record.
    #[test]
    fn any_bytes_at_the_end_are_torn(tail in proptest::collection::vec(any::<u8>(), 1..200)) {
        let (_folder, path, offsets) = written(&PAGES[..1]);
        let mut bytes = fs::read(&path).unwrap();
        bytes.extend(&tail);
        fs::write(&path, &bytes).unwrap();
        let (found, urls) = recovered(&path).unwrap();
        let torn = tail.len() as u64;
        prop_assert_eq!(found, Recovered { whole: offsets[1], torn });
        prop_assert_eq!(urls.len(), 1);
    }
}

//! Archives that are cut, changed, foreign, or badly made.

use std::fs;
use std::path::Path;

use proptest::prelude::*;

use super::*;

#[test]
fn a_cut_last_record_is_reported_with_its_place_and_the_others_stay() {
    let (_folder, path, offsets) = written(PAGES);
    let bytes = fs::read(&path).unwrap();
    fs::write(&path, &bytes[..bytes.len() - 20]).unwrap();
    let archive = Archive::open(&[&path]).unwrap();
    assert_eq!(archive.len(), 2);
    let damage = &archive.info().damage[0];
    assert_eq!(
        (damage.offset, &damage.flaw),
        (offsets[2], &Flaw::UnexpectedEnd)
    );
    let words = damage.to_string();
    assert!(
        words.contains("pages.warc.gz") && words.contains(&offsets[2].to_string()),
        "{words}"
    );

    let text = http_record("http://a.example/", "HTTP/1.1 200 OK\r\n\r\nwhole");
    let cut = http_record("http://b.example/", "HTTP/1.1 200 OK\r\n\r\ncut");
    let both = [&text[..], &cut[..cut.len() - 6]].concat();
    let (_folder, path) = folder_with("a.warc", &both);
    let archive = Archive::open(&[&path]).unwrap();
    assert_eq!(archive.len(), 1);
    let flaw = &archive.info().damage[0].flaw;
    assert!(matches!(flaw, Flaw::CutOff { missing: 2, .. }), "{flaw}");
}

#[test]
fn damage_in_the_middle_of_a_zipped_file_costs_one_record() {
    let (_folder, path, offsets) = written(PAGES);
    let mut bytes = fs::read(&path).unwrap();
    let middle = usize::try_from(u64::midpoint(offsets[1], offsets[2])).unwrap();
    for byte in &mut bytes[middle..middle + 8] {
        *byte ^= 0xff;
    }
    fs::write(&path, &bytes).unwrap();
    let archive = Archive::open(&[&path]).unwrap();
    assert_eq!(archive.info().unparsable, 1, "{:?}", archive.info().damage);
    assert_eq!(archive.info().damage[0].offset, offsets[1]);
    assert!(body_of(&archive, PAGES[0].0).is_some());
    assert!(body_of(&archive, PAGES[1].0).is_none());
    assert!(body_of(&archive, PAGES[2].0).is_some());
}

#[test]
fn a_bad_record_in_a_good_member_costs_itself_alone() {
    let bytes = [
        gzip(&http_record(
            "http://a.example/",
            "HTTP/1.1 200 OK\r\n\r\na",
        )),
        gzip(b"WARC/1.1\r\nWARC-Type: response\r\n\r\nno length"),
        gzip(&http_record(
            "http://b.example/",
            "HTTP/1.1 200 OK\r\n\r\nb",
        )),
        b"trailing garbage".to_vec(),
    ]
    .concat();
    let (_folder, path) = folder_with("a.warc.gz", &bytes);
    let archive = Archive::open(&[&path]).unwrap();
    assert_eq!(archive.len(), 2);
    let flaws: Vec<&Flaw> = archive
        .info()
        .damage
        .iter()
        .map(|damage| &damage.flaw)
        .collect();
    assert!(
        matches!(flaws[..], [Flaw::NoLength, Flaw::Gzip(_)]),
        "{flaws:?}"
    );
}

#[test]
fn foreign_files_are_refused_in_words_that_name_them() {
    for bytes in [
        &b""[..],
        b"<html>not an archive</html>",
        b"\x1f\x8b\x08\x00garbage",
        &gzip(b"PK"),
    ] {
        let (_folder, path) = folder_with("foreign.bin", bytes);
        let error = Archive::open(&[&path]).unwrap_err();
        assert!(matches!(error, ArchiveError::NotWarc { .. }), "{error}");
        assert!(error.to_string().contains("foreign.bin"), "{error}");
    }
    let folder = tempfile::tempdir().unwrap();
    let missing = folder.path().join("missing.warc");
    assert!(matches!(
        Archive::open(&[&missing]),
        Err(ArchiveError::Open { .. })
    ));
    assert!(matches!(
        Archive::open(&[folder.path()]),
        Err(ArchiveError::Open { .. })
    ));
    assert!(matches!(
        Archive::open::<&Path>(&[]),
        Err(ArchiveError::NoFiles)
    ));
}

#[test]
fn a_file_that_changes_under_the_index_gives_an_error_and_no_wrong_page() {
    let (_folder, path, _) = written(PAGES);
    let archive = Archive::open(&[&path]).unwrap();
    let file = fs::OpenOptions::new().write(true).open(&path).unwrap();
    file.set_len(0).unwrap();
    let error = archive.get(&url(PAGES[0].0)).unwrap_err();
    assert!(
        error.to_string().contains("was the file changed"),
        "{error}"
    );
}

proptest! {
    #[test]
    fn no_damage_makes_opening_or_reading_fail_in_another_way_than_by_an_error(
        changes in proptest::collection::vec((any::<proptest::sample::Index>(), any::<u8>()), 1..6),
        cut in any::<proptest::sample::Index>(),
        zipped in any::<bool>(),
    ) {
        let plain: Vec<u8> = PAGES.iter().flat_map(|(address, body)| {
            let head = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n";
            http_record(address, &format!("{head}5\r\n{body}\r\n0\r\n\r\n"))
        }).collect();
        let mut bytes = if zipped { gzip(&plain) } else { plain };
        for (index, byte) in changes {
            let at = index.index(bytes.len());
            bytes[at] = byte;
        }
        bytes.truncate(cut.index(bytes.len()) + 1);
        let (_folder, path) = folder_with("a.warc", &bytes);
        if let Ok(archive) = Archive::open(&[&path]) {
            prop_assert_eq!(archive.urls().count(), archive.len());
            for url in archive.urls() {
                let _ = archive.get(&url);
            }
        }
    }
}

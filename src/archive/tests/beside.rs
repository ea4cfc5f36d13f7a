//! Archives opened through the indexes beside them.

use std::fmt::Write as _;
use std::os::unix::fs::PermissionsExt;
use std::time::{Duration, UNIX_EPOCH};

use super::*;

/// An archive that is large enough to have an index, with a damaged record, in a folder of its own.
fn large() -> (TempDir, PathBuf) {
    // Knuth's MMIX generator: what it gives does not zip.
    let mut state = 1_u64;
    let mut body = String::new();
    for _ in 0..20_000 {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        write!(body, "{state:016x}").unwrap();
    }
    let pages: Vec<(String, &str)> = (0..8)
        .map(|n| (format!("http://h{n}.example/"), body.as_str()))
        .collect();
    let pages: Vec<(&str, &str)> = pages.iter().map(|(url, body)| (&**url, *body)).collect();
    let (folder, path, _) = written(&pages);
    let mut bytes = fs::read(&path).unwrap();
    bytes.extend(gzip(b"WARC/9 no record"));
    fs::write(&path, bytes).unwrap();
    (folder, path)
}

fn index_of(path: &Path) -> PathBuf {
    path.with_file_name("pages.warc.gz.index")
}

/// Opens it and says whether the file itself was read: only then it tells how far it is in between.
fn open(path: &Path, indexes: &Indexes) -> (Archive, bool) {
    let mut told = 0;
    let archive = Archive::open_watched(&[path], indexes, &mut |_| told += 1).unwrap();
    (archive, told > 1)
}

fn same(one: &Archive, other: &Archive) {
    assert_eq!(one.info(), other.info());
    assert_eq!(
        one.urls().collect::<Vec<_>>(),
        other.urls().collect::<Vec<_>>()
    );
    for url in one.urls() {
        assert_eq!(one.get(&url).unwrap(), other.get(&url).unwrap());
    }
}

#[test]
fn an_archive_opened_by_its_index_is_the_same_and_is_not_read() {
    let (_folder, path) = large();
    let plain = Archive::open(&[&path]).unwrap();
    assert!(!index_of(&path).exists(), "nobody asked for one");
    assert_eq!((plain.len(), plain.info().unparsable), (8, 1));
    let indexes = Indexes::beside(None);
    let (first, was_read) = open(&path, &indexes);
    assert!(was_read && index_of(&path).exists());
    let (second, was_read) = open(&path, &indexes);
    assert!(!was_read);
    same(&plain, &first);
    same(&plain, &second);
}

#[test]
fn an_index_that_is_torn_or_foreign_is_replaced() {
    let (_folder, path) = large();
    let plain = Archive::open(&[&path]).unwrap();
    let indexes = Indexes::beside(None);
    open(&path, &indexes);
    let whole = fs::read(index_of(&path)).unwrap();
    let mut flipped = whole.clone();
    flipped[whole.len() / 2] ^= 1;
    let torn = whole[..whole.len() - 1].to_vec();
    for wrong in [Vec::new(), b"a text".to_vec(), torn, flipped] {
        fs::write(index_of(&path), wrong).unwrap();
        let (archive, was_read) = open(&path, &indexes);
        assert!(was_read);
        same(&plain, &archive);
        assert_eq!(fs::read(index_of(&path)).unwrap(), whole);
    }
}

#[test]
fn an_index_of_another_state_or_of_another_archive_is_not_used() {
    let (_folder, path) = large();
    let indexes = Indexes::beside(None);
    open(&path, &indexes);
    // As many bytes, written at the same moment, and others at the end.
    let file = fs::File::options().write(true).open(&path).unwrap();
    let moment = file.metadata().unwrap().modified().unwrap();
    let mut bytes = fs::read(&path).unwrap();
    let last = bytes.len() - 1;
    bytes[last] ^= 1;
    fs::write(&path, &bytes).unwrap();
    file.set_modified(moment).unwrap();
    assert!(open(&path, &indexes).1);
    assert!(!open(&path, &indexes).1);
    file.set_modified(UNIX_EPOCH + Duration::from_secs(1))
        .unwrap();
    assert!(open(&path, &indexes).1);
    bytes.extend(gzip(&http_record(
        "http://new.example/",
        "HTTP/1.1 200 OK\r\n\r\nx",
    )));
    fs::write(&path, &bytes).unwrap();
    assert_eq!(open(&path, &indexes).0.len(), 9);
}

#[test]
fn an_archive_where_nothing_can_be_written_has_its_index_in_the_other_folder() {
    let (folder, path) = large();
    let other = tempfile::tempdir().unwrap();
    let inner = other.path().join("made/for/it");
    // No folder can be made or written below a file, even by root.
    fs::create_dir(index_of(&path)).unwrap();
    fs::write(index_of(&path).join("in the way"), "").unwrap();
    let indexes = Indexes::beside(Some(inner.clone()));
    assert!(open(&path, &indexes).1);
    assert!(!open(&path, &indexes).1);
    assert_eq!(fs::read_dir(&inner).unwrap().count(), 1);
    assert_eq!(
        fs::read_dir(folder.path()).unwrap().count(),
        2,
        "the archive and what is in the way"
    );
    // An index that cannot be had at all costs only time.
    fs::set_permissions(&inner, fs::Permissions::from_mode(0o500)).unwrap();
    assert!(!open(&path, &Indexes::within(inner)).1);
    assert!(open(&path, &Indexes::within(path.clone())).1);
}

#[test]
fn a_small_archive_has_no_index() {
    let (_folder, path, _) = written(PAGES);
    open(&path, &Indexes::beside(None));
    assert!(!index_of(&path).exists());
}

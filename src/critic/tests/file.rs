//! Tests of model files.

use std::path::Path;

use proptest::prelude::*;

use super::{model, page};
use crate::critic::{CriticModel, Layout, ModelFileError};

const LAYOUTS: [Layout; 2] = [Layout::Packed, Layout::Mapped];

fn bytes() -> Vec<u8> {
    model().to_bytes_as(Layout::Packed).unwrap()
}

fn complaint(bytes: &[u8]) -> String {
    CriticModel::from_bytes(bytes, Path::new("m.critic"))
        .unwrap_err()
        .to_string()
}

/// The same bytes with a checksum that fits them.
fn resealed(mut bytes: Vec<u8>) -> Vec<u8> {
    let end = bytes.len() - 8;
    let checksum = xxhash_rust::xxh3::xxh3_64(&bytes[..end]);
    bytes[end..].copy_from_slice(&checksum.to_le_bytes());
    bytes
}

#[test]
fn a_model_reads_back_as_it_was_written() {
    let (model, page) = (model(), page("gene coach laser"));
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("m.critic");
    for layout in LAYOUTS {
        model.save_as(&path, layout).unwrap();
        let bytes = std::fs::read(&path).unwrap();
        for read in [
            CriticModel::open(&path).unwrap(),
            CriticModel::from_bytes(&bytes, &path).unwrap(),
        ] {
            let (mut mine, mut theirs) = (Vec::new(), Vec::new());
            read.score(&page, &mut mine);
            model.score(&page, &mut theirs);
            assert_eq!(mine, theirs);
            assert_eq!(read.version(), model.version());
            assert_eq!(read.classes(), model.classes());
            assert_eq!(read.vocabulary(), model.vocabulary());
            assert_eq!(read.bayes(), model.bayes());
            assert_eq!(read.training(), model.training());
            assert_eq!(read.telling_terms(1, 5), model.telling_terms(1, 5));
            // What was read is written as it was.
            assert_eq!(read.to_bytes_as(layout).unwrap(), bytes);
        }
    }
}

#[test]
fn saving_replaces_the_file_and_leaves_nothing_beside_it() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("m.critic");
    std::fs::write(&path, "old").unwrap();
    model().save(&path).unwrap();
    assert!(CriticModel::open(&path).is_ok());
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1);
}

#[test]
fn a_folder_that_is_not_there_is_named() {
    let error = model().save(Path::new("no/such/m.critic")).unwrap_err();
    assert!(
        error
            .to_string()
            .starts_with("no/such/m.critic: cannot be written")
    );
    let error = CriticModel::open(Path::new("no/such/m.critic")).unwrap_err();
    assert!(
        error
            .to_string()
            .starts_with("no/such/m.critic: cannot be read")
    );
}

#[test]
fn a_mapped_model_outlives_the_file_that_replaces_it() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("m.critic");
    model().save(&path).unwrap();
    let old = CriticModel::open(&path).unwrap();
    model().save_as(&path, Layout::Packed).unwrap();
    std::fs::remove_file(&path).unwrap();
    let (mut mine, mut theirs) = (Vec::new(), Vec::new());
    old.score(&page("gene coach"), &mut mine);
    model().score(&page("gene coach"), &mut theirs);
    assert_eq!(mine, theirs);
    assert_eq!(old.bayes(), model().bayes());
}

#[test]
fn a_model_of_the_first_format_is_read() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/model_v1.critic");
    let model = CriticModel::open(&path).unwrap();
    assert_eq!(model.classes().len(), 10);
    // It was made before there were calibrations: calibrated is what is raw.
    assert_eq!(model.calibration(), None);
    assert!(model.training().held_out.accuracy().value > 0.9);
}

#[test]
fn a_mapped_file_that_was_cut_or_changed_says_so() {
    let good = model().to_bytes_as(Layout::Mapped).unwrap();
    assert_eq!(
        complaint(&good[..good.len() - 1]),
        format!(
            "m.critic: truncated: {} bytes of {}; copy it again or train again",
            good.len() - 1,
            good.len()
        )
    );
    let mut flipped = good.clone();
    *flipped.last_mut().unwrap() ^= 1;
    assert_eq!(
        complaint(&flipped),
        "m.critic: damaged (its checksum is another); copy it again or train again"
    );
    let mut moved = good.clone();
    moved[24] ^= 8;
    assert!(complaint(&moved).contains("the checksum of its head is another"));
    assert!(complaint(&[good.as_slice(), b"x"].concat()).contains("longer than it says"));
}

#[test]
fn each_kind_of_bad_file_is_told_apart() {
    let good = bytes();
    assert_eq!(
        complaint(b"PK\x03\x04 something else"),
        "m.critic: not a model file; `apprentice critic train --out MODEL` makes one"
    );
    assert_eq!(
        complaint(&good[..good.len() - 1]),
        format!(
            "m.critic: truncated: {} bytes of {}; copy it again or train again",
            good.len() - 1,
            good.len()
        )
    );
    let mut flipped = good.clone();
    flipped[good.len() / 2] ^= 1;
    assert_eq!(
        complaint(&flipped),
        "m.critic: damaged (its checksum is another); copy it again or train again"
    );
    let mut newer = good.clone();
    newer[8] = 9;
    assert_eq!(
        complaint(&resealed(newer)),
        "m.critic: format 9 of model files, this program reads up to 2; update it or train again"
    );
    let longer = [good.as_slice(), b"x"].concat();
    assert!(complaint(&longer).contains("longer than it says"));
}

#[test]
fn lengths_that_the_file_does_not_have_are_refused_before_anything_is_made() {
    let mut huge = bytes();
    huge[20..28].copy_from_slice(&u64::MAX.to_le_bytes());
    assert!(complaint(&resealed(huge)).contains("it claims to hold 18446744073709551615 bytes"));
    let mut short = bytes();
    short[20..28].copy_from_slice(&10_u64.to_le_bytes());
    assert!(complaint(&resealed(short)).contains("it does not hold 10 bytes"));
    let mut far = bytes();
    far[12..20].copy_from_slice(&u64::MAX.to_le_bytes());
    assert!(complaint(&resealed(far)).contains("truncated"));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn a_cut_or_a_changed_byte_never_goes_unnoticed(at in 0.0..1.0_f64, change in 1..=255_u8) {
        for layout in LAYOUTS {
            let good = model().to_bytes_as(layout).unwrap();
            let last = (good.len() - 1) as f64;
            #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "0 to len - 1")]
            let at = (at * last).round() as usize;
            prop_assert!(CriticModel::from_bytes(&good[..at], Path::new("m")).is_err());
            let mut changed = good.clone();
            changed[at] ^= change;
            prop_assert!(CriticModel::from_bytes(&changed, Path::new("m")).is_err());
        }
    }

    #[test]
    fn a_sealed_record_of_any_bytes_is_an_error_or_a_model_but_never_a_panic(
        at in 0.0..1.0_f64,
        change in 1..=255_u8,
    ) {
        let record = crate::critic::record::to_record(&model());
        let mut bytes = prost::Message::encode_to_vec(&record);
        #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "0 to len - 1")]
        let at = (at * (bytes.len() - 1) as f64).round() as usize;
        bytes[at] ^= change;
        if let Ok(record) = prost::Message::decode(bytes.as_slice())
            && let Ok(model) = crate::critic::record::from_record(record)
        {
            let mut scores = Vec::new();
            model.score(&page("gene coach laser"), &mut scores);
            prop_assert!(scores.iter().all(|score| !score.is_nan()));
        }
    }
}

#[test]
fn errors_are_of_the_kind_that_a_caller_can_tell() {
    let good = bytes();
    let error = CriticModel::from_bytes(&good[..12], Path::new("m")).unwrap_err();
    assert!(matches!(error, ModelFileError::Truncated { bytes: 12, .. }));
}

/// The same bytes of a mapped file with checksums that fit them.
fn resealed_mapped(mut bytes: Vec<u8>) -> Vec<u8> {
    let field = |bytes: &[u8], at: usize| {
        let field: [u8; 8] = bytes[at..at + 8].try_into().unwrap();
        usize::try_from(u64::from_le_bytes(field)).unwrap()
    };
    for entry in (24..144).step_by(24) {
        let (start, length) = (field(&bytes, entry), field(&bytes, entry + 8));
        let sum = xxhash_rust::xxh3::xxh3_64(&bytes[start..start + length]);
        bytes[entry + 16..entry + 24].copy_from_slice(&sum.to_le_bytes());
    }
    let seal = xxhash_rust::xxh3::xxh3_64(&bytes[..144]);
    bytes[144..152].copy_from_slice(&seal.to_le_bytes());
    bytes
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    #[test]
    fn a_sealed_mapped_file_of_any_content_is_an_error_or_a_model_but_never_a_panic(
        at in 0.0..1.0_f64,
        change in 1..=255_u8,
    ) {
        let mut bytes = model().to_bytes_as(Layout::Mapped).unwrap();
        let last = (bytes.len() - 153) as f64;
        #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "0 to len - 153")]
        let at = 152 + (at * last).round() as usize;
        bytes[at] ^= change;
        if let Ok(model) = CriticModel::from_bytes(&resealed_mapped(bytes), Path::new("m")) {
            let mut scores = Vec::new();
            model.score(&page("gene coach laser"), &mut scores);
            prop_assert!(scores.iter().all(|score| !score.is_nan()));
            model.telling_terms(0, 5);
        }
    }
}

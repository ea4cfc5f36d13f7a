use std::path::Path;

use proptest::prelude::*;

use super::*;
use crate::apprentice::{
    Ftrl, FtrlParams, Instance, Panel, SourceRelevance, TwoClassBayes, View, dense,
};
use crate::features::{Namespace, key};
use crate::url::UrlId;

fn panel(bits: u32) -> Panel {
    let ftrl = Ftrl::new(FtrlParams {
        bits,
        ..FtrlParams::default()
    });
    Panel::following_best(vec![
        (Box::new(ftrl), View::All),
        (Box::new(SourceRelevance), View::All),
        (Box::new(TwoClassBayes::new()), View::Text),
    ])
}

/// A relevant link says so in its text and stands in a list of its own.
fn link(turn: u64) -> (Instance, f32) {
    let is_relevant = turn.is_multiple_of(3);
    let word = (u64::from(is_relevant) + 2 * (turn % 5)) << 20;
    let mut instance = Instance::default();
    instance.vector.push(key(Namespace::Text, 0, word), 1.0);
    let list = u64::from(is_relevant) << 40;
    instance.vector.push(key(Namespace::TagPath, 1, list), 1.0);
    instance.dense[dense::BIAS] = 1.0;
    instance.dense[dense::RELEVANCE] = (turn % 7) as f32 / 3.0 - 1.0;
    (instance, if is_relevant { 6.0 } else { -6.0 })
}

fn learn(panel: &mut Panel, turns: std::ops::Range<u64>) {
    for turn in turns {
        let (instance, log_odds) = link(turn);
        let scores = panel.predict_all(&instance);
        panel.learn(&[instance], &[UrlId(turn)], &[scores], log_odds);
        if turn % 10 == 9 {
            panel.publish();
        }
    }
    panel.publish();
}

fn saved_of(panel: &Panel) -> SavedApprentice {
    SavedApprentice {
        provenance: Provenance {
            crawl: "bees".to_owned(),
            topics: vec!["beekeeping".to_owned()],
            order: "auto".to_owned(),
            instances: 95,
            at: Timestamp(7),
            ..Provenance::default()
        },
        features: FeatureSpec::default(),
        carried: Carry::All,
        panel: panel.save(),
    }
}

fn file() -> Vec<u8> {
    let mut panel = panel(10);
    learn(&mut panel, 0..95);
    saved_of(&panel).to_bytes().unwrap()
}

fn read(bytes: &[u8]) -> Result<SavedApprentice, SavedError> {
    SavedApprentice::from_bytes(bytes, Path::new("bees.apprentice"))
}

fn scores(panel: &mut Panel) -> Vec<u32> {
    let links = (0..30).flat_map(|turn| panel.predict_all(&link(turn).0));
    links.map(f32::to_bits).collect()
}

#[test]
fn one_that_begins_with_what_was_saved_predicts_and_learns_as_the_other_goes_on() {
    let mut first = panel(10);
    learn(&mut first, 0..95);
    let back = read(&saved_of(&first).to_bytes().unwrap()).unwrap();
    assert_eq!(back, saved_of(&first));
    let mut second = panel(12);
    second.begin_with(&back.panel);
    assert_eq!(scores(&mut second), scores(&mut first));
    learn(&mut first, 95..200);
    learn(&mut second, 95..200);
    assert_eq!(scores(&mut second), scores(&mut first));
    assert_eq!(second.save(), first.save());
    assert_eq!(second.reports()[0].figures.instances, 105);
}

#[test]
fn another_topic_is_given_what_belongs_to_none() {
    let mut first = panel(18);
    learn(&mut first, 0..95);
    let mut second = panel(18);
    let free = saved_of(&first).carrying(Carry::TopicFree);
    second.begin_with(&free.panel);
    let mut at = |namespace, term: u64| {
        let mut instance = Instance::default();
        instance.vector.push(key(namespace, 1, term << 40), 1.0);
        second.predict_all(&instance)[0]
    };
    assert!(at(Namespace::TagPath, 1) > 0.1 && at(Namespace::TagPath, 0) < -0.1);
    let mut word = Instance::default();
    word.vector.push(key(Namespace::Text, 0, 1 << 20), 1.0);
    assert!(first.predict_all(&word)[0] > 0.1);
    let of_word = second.predict_all(&word)[0];
    assert!(of_word.abs() < 1e-6, "{of_word}");
    let bytes = free.to_bytes().unwrap();
    assert_eq!(read(&bytes).unwrap().carried, Carry::TopicFree);
    let nb = free.panel.of("nb", true).unwrap();
    assert_eq!(nb.weights, Weights::None);
}

#[test]
fn what_is_no_saved_apprentice_is_told_apart() {
    let whole = file();
    let words = |bytes: &[u8]| read(bytes).unwrap_err().to_string();
    assert!(words(b"").contains("not a saved apprentice"));
    assert!(words(b"APPRCRIT\x02\0\0\0").contains("a critic"));
    assert!(words(&whole[..9]).contains("truncated"));
    assert!(words(&whole[..whole.len() - 1]).contains("truncated"));
    let longer = [whole.as_slice(), b"x"].concat();
    assert!(words(&longer).contains("longer than it says"));
    let mut newer = whole.clone();
    newer[8] = 9;
    assert!(words(&newer).contains("format 9"));
    let mut damaged = whole;
    damaged[40] ^= 4;
    assert!(words(&damaged).contains("checksum"));
}

/// A file around any record.
fn framed(record: &crate::proto::v1::SavedApprentice) -> Vec<u8> {
    use std::io::Write as _;

    use prost::Message as _;
    let record = record.encode_to_vec();
    let mut packer = flate2::write::ZlibEncoder::new(Vec::new(), flate2::Compression::fast());
    packer.write_all(&record).unwrap();
    let packed = packer.finish().unwrap();
    let mut bytes = b"APPRSAVE\x01\0\0\0".to_vec();
    bytes.extend((packed.len() as u64).to_le_bytes());
    bytes.extend((record.len() as u64).to_le_bytes());
    bytes.extend(packed);
    bytes.extend(xxhash_rust::xxh3::xxh3_64(&bytes).to_le_bytes());
    bytes
}

#[test]
fn a_record_is_not_believed() {
    let mut first = panel(10);
    learn(&mut first, 0..95);
    let good = record::to_record(&saved_of(&first));
    assert!(read(&framed(&good)).is_ok());
    let problem = |change: &dyn Fn(&mut crate::proto::v1::SavedApprentice)| {
        let mut record = good.clone();
        change(&mut record);
        read(&framed(&record)).unwrap_err().to_string()
    };
    let ftrl = |record: &mut crate::proto::v1::SavedApprentice| {
        record.learners[0].ftrl.clone().unwrap_or_default()
    };
    assert!(problem(&|r| r.features_version = 2).contains("version 2"));
    assert!(problem(&|r| r.groups.push("smell".to_owned())).contains("`smell`"));
    assert!(problem(&|r| r.learners.clear()).contains("0 learners"));
    let wide = problem(&|r| {
        let wide = v1_ftrl(ftrl(r), |f| f.bits = 40);
        r.learners[0].ftrl = Some(wide);
    });
    assert!(wide.contains("2^40 slots"), "{wide}");
    let beyond = problem(&|r| {
        let beyond = v1_ftrl(ftrl(r), |f| f.slot_gaps[0] = u32::MAX);
        r.learners[0].ftrl = Some(beyond);
    });
    assert!(beyond.contains("beyond the last"), "{beyond}");
    let nan = problem(&|r| {
        let nan = v1_ftrl(ftrl(r), |f| f.z[0] = f32::NAN);
        r.learners[0].ftrl = Some(nan);
    });
    assert!(nan.contains("sums that are none"), "{nan}");
}

fn v1_ftrl(
    mut ftrl: crate::proto::v1::SavedFtrl,
    change: impl Fn(&mut crate::proto::v1::SavedFtrl),
) -> crate::proto::v1::SavedFtrl {
    change(&mut ftrl);
    ftrl
}

proptest! {
    #[test]
    fn a_file_that_was_changed_is_an_error(at in any::<prop::sample::Index>(), flip in 1_u8.., cut in any::<bool>()) {
        let mut bytes = file();
        let at = at.index(bytes.len());
        if cut { bytes.truncate(at) } else { bytes[at] ^= flip }
        prop_assert!(read(&bytes).is_err());
    }

    #[test]
    fn a_record_that_was_changed_never_breaks_the_reader(changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..8)) {
        use prost::Message as _;
        let mut first = panel(10);
        learn(&mut first, 0..20);
        let mut record = record::to_record(&saved_of(&first)).encode_to_vec();
        for (at, byte) in changes {
            let at = at.index(record.len());
            record[at] = byte;
        }
        if let Ok(record) = crate::proto::v1::SavedApprentice::decode(record.as_slice())
            && let Ok(saved) = read(&framed(&record))
        {
            let mut panel = panel(10);
            panel.begin_with(&saved.panel);
            let score = panel.predict(&link(3).0);
            prop_assert!(!score.is_nan());
        }
    }
}

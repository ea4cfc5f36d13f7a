//! The mapped layout of model files (format 2): the weights as the judge uses them, read in place.
//!
//! A file is, numbers being little-endian, each section at a multiple of 8 bytes:
//!
//! | bytes | what |
//! |---|---|
//! | 8 | `APPRCRIT` |
//! | 4 | version of the format, 2 |
//! | 4 | 0 |
//! | 8 | length of the file |
//! | 5 x 24 | of each section: where it begins, its length, XXH3 (64 bits) of it |
//! | 8 | XXH3 (64 bits) of everything before |
//! | n | the record: `CriticRecord` of model.proto without terms and counts |
//! | 8 (classes + 1) | where the entries of each class begin among terms and counts |
//! | 4 entries | terms, rising within a class |
//! | 4 entries | how often each occurs |
//! | 4 terms x classes | weights: row by row, one row a term (see `Matrix` in weights.rs); none for a model whose
//!   matrix would be too large, whose weights are derived when it is first used |
//!
//! Terms and counts are needed to train on, not to judge, and are taken out when asked for.

use std::ops::Range;
use std::path::Path;
use std::sync::Arc;
use std::thread;

use prost::Message;
use xxhash_rust::xxh3::xxh3_64;
use zerocopy::FromBytes;

use crate::critic::bayes::SparseNb;
use crate::critic::mapping::Mapping;
use crate::critic::model::CriticModel;
use crate::critic::model_file::{MAGIC, ModelFileError, number};
use crate::critic::record::{from_parts, to_parts};
use crate::critic::weights::{Rows, Weights};
use crate::proto::v1;

pub(super) const FORMAT: u32 = 2;
const SECTIONS: usize = 5;
const TABLE_AT: usize = 24;
const SEAL_AT: usize = TABLE_AT + SECTIONS * 24;
pub(super) const HEAD_BYTES: usize = SEAL_AT + 8;

/// The content of a file that holds `model`.
pub(super) fn write(model: &CriticModel) -> std::io::Result<Vec<u8>> {
    let mut starts = 0_u64.to_le_bytes().to_vec();
    let (mut terms, mut counts) = (Vec::new(), Vec::new());
    let mut entries = 0_u64;
    for class in model.bayes().classes() {
        for (term, count) in &class.terms {
            let count = u32::try_from(*count)
                .map_err(|_| std::io::Error::other("a term occurs more than 4294967295 times"))?;
            terms.extend(term.to_le_bytes());
            counts.extend(count.to_le_bytes());
        }
        entries += class.terms.len() as u64;
        starts.extend(entries.to_le_bytes());
    }
    let rows = model.matrix_rows().unwrap_or_default();
    let rows: Vec<u8> = rows
        .iter()
        .flat_map(|weight| weight.to_le_bytes())
        .collect();
    let sections = [to_parts(model).encode_to_vec(), starts, terms, counts, rows];
    let mut bytes = vec![0; HEAD_BYTES];
    bytes[..8].copy_from_slice(MAGIC);
    bytes[8..12].copy_from_slice(&FORMAT.to_le_bytes());
    for (number, section) in sections.iter().enumerate() {
        bytes.resize(bytes.len().next_multiple_of(8), 0);
        let entry = [bytes.len() as u64, section.len() as u64, xxh3_64(section)];
        let at = TABLE_AT + number * 24;
        for (place, value) in entry.iter().enumerate() {
            bytes[at + place * 8..at + place * 8 + 8].copy_from_slice(&value.to_le_bytes());
        }
        bytes.extend(section);
    }
    let length = (bytes.len() as u64).to_le_bytes();
    bytes[16..24].copy_from_slice(&length);
    let seal = xxh3_64(&bytes[..SEAL_AT]);
    bytes[SEAL_AT..HEAD_BYTES].copy_from_slice(&seal.to_le_bytes());
    Ok(bytes)
}

/// The model in the content of a file; its weights stay there if it is a mapping.
pub(super) fn read(
    bytes: &[u8],
    mapping: Option<&Arc<Mapping>>,
    path: &Path,
) -> Result<CriticModel, ModelFileError> {
    let damaged = |problem: String| ModelFileError::Damaged {
        path: path.to_owned(),
        problem,
    };
    let sections = check_head(bytes, path)?;
    let [record, starts, terms, counts, rows] = sections.map(|section| section.range);
    let sums = sections_of(bytes);
    // The large sections are read on a core of their own while the record is decoded.
    let (checked, made) = thread::scope(|scope| {
        let large = scope.spawn(|| {
            check_rows(&bytes[rows.clone()], sums[4])?;
            for (range, sum) in [(&starts, 1), (&terms, 2), (&counts, 3)] {
                check_sum(&bytes[range.clone()], sums[sum])?;
            }
            let entries = Entries {
                starts: numbers(&bytes[starts.clone()]),
                terms: &bytes[terms.clone()],
                counts: &bytes[counts.clone()],
            };
            let terms = entries.check()?;
            Ok((entries.starts, terms))
        });
        let made = check_sum(&bytes[record.clone()], sums[0]).and_then(|()| {
            let record =
                v1::CriticRecord::decode(&bytes[record]).map_err(|error| error.to_string())?;
            from_parts(record)
        });
        let checked = match large.join() {
            Ok(checked) => checked,
            Err(panic) => std::panic::resume_unwind(panic),
        };
        (checked, made)
    });
    let mut model = made.map_err(damaged)?;
    let (starts, terms_used) = checked.map_err(damaged)?;
    if starts.len() != model.class_names().len() + 1 || terms_used > model.vocabulary().len() {
        return Err(damaged(
            "its entries do not fit its classes and words".to_owned(),
        ));
    }
    let wanted = model.class_names().len() * model.vocabulary().len() * size_of::<f32>();
    if !rows.is_empty() && rows.len() != wanted {
        return Err(damaged(format!(
            "{} bytes of weights instead of {wanted}",
            rows.len()
        )));
    }
    let keep = Kept {
        starts,
        terms,
        counts,
        rows,
    };
    keep.put_into(&mut model, bytes, mapping);
    Ok(model)
}

/// What is taken out of the file later, or stays in it.
struct Kept {
    starts: Vec<u64>,
    terms: Range<usize>,
    counts: Range<usize>,
    rows: Range<usize>,
}

impl Kept {
    fn put_into(self, model: &mut CriticModel, bytes: &[u8], mapping: Option<&Arc<Mapping>>) {
        let Self {
            starts,
            terms,
            counts,
            rows,
        } = self;
        let has_rows = !rows.is_empty();
        if let Some(mapping) = mapping {
            if has_rows && let Some(rows) = Rows::mapped(mapping, rows) {
                model.put_weights(Weights::matrix(model.skeleton(), rows));
            }
            let mapping = Arc::clone(mapping);
            model.put_counts_later(Box::new(move |bayes| {
                let terms = &mapping[terms.clone()];
                fill(bayes, &starts, terms, &mapping[counts.clone()]);
            }));
        } else {
            if has_rows {
                let rows = words(&bytes[rows]).map(f32::from_bits).collect();
                model.put_weights(Weights::matrix(model.skeleton(), Rows::Own(rows)));
            }
            let mut bayes = model.skeleton().clone();
            fill(&mut bayes, &starts, &bytes[terms], &bytes[counts]);
            model.put_counts(bayes);
        }
    }
}

/// Puts terms and counts, which were checked, into the classes of `bayes`.
fn fill(bayes: &mut SparseNb, starts: &[u64], terms: &[u8], counts: &[u8]) {
    let mut entries = words(terms).zip(words(counts).map(u64::from));
    for (class, ends) in bayes.classes.iter_mut().zip(starts.windows(2)) {
        let length = usize::try_from(ends[1] - ends[0]).unwrap_or(usize::MAX);
        class.terms = entries.by_ref().take(length).collect();
    }
}

/// A section that the table names.
#[derive(Clone, Debug)]
struct Section {
    range: Range<usize>,
}

/// The checksums of the sections, from a head that was checked.
fn sections_of(bytes: &[u8]) -> [u64; SECTIONS] {
    std::array::from_fn(|section| number(bytes, TABLE_AT + section * 24 + 16).unwrap_or_default())
}

/// Checks the head; gives the sections, which lie inside of the file.
fn check_head(bytes: &[u8], path: &Path) -> Result<[Section; SECTIONS], ModelFileError> {
    let truncated = |wanted: u64| ModelFileError::Truncated {
        path: path.to_owned(),
        bytes: bytes.len() as u64,
        wanted,
    };
    let damaged = |problem: &str| ModelFileError::Damaged {
        path: path.to_owned(),
        problem: problem.to_owned(),
    };
    let Some((length, seal)) = number(bytes, 16).zip(number(bytes, SEAL_AT)) else {
        return Err(truncated(HEAD_BYTES as u64));
    };
    if seal != xxh3_64(&bytes[..SEAL_AT]) {
        return Err(damaged("the checksum of its head is another"));
    }
    if (bytes.len() as u64) < length {
        return Err(truncated(length));
    }
    if bytes.len() as u64 > length {
        return Err(damaged("it is longer than it says"));
    }
    let mut sections = Vec::with_capacity(SECTIONS);
    let mut end = HEAD_BYTES;
    for at in (TABLE_AT..SEAL_AT).step_by(24) {
        let field = |place| usize::try_from(number(bytes, at + place)?).ok();
        let range = field(0).zip(field(8)).and_then(|(start, length)| {
            let range = start..start.checked_add(length)?;
            (start == end.next_multiple_of(8) && range.end <= bytes.len()).then_some(range)
        });
        let range = range.ok_or_else(|| damaged("its sections do not follow each other"))?;
        if bytes[end..range.start].iter().any(|byte| *byte != 0) {
            return Err(damaged("there is something between its sections"));
        }
        end = range.end;
        sections.push(Section { range });
    }
    let gap = end..bytes.len();
    match <[Section; SECTIONS]>::try_from(sections) {
        Ok(sections) if gap.is_empty() => Ok(sections),
        _ => Err(damaged("its sections do not fill it")),
    }
}

fn check_sum(section: &[u8], wanted: u64) -> Result<(), String> {
    if xxh3_64(section) == wanted {
        Ok(())
    } else {
        Err("its checksum is another".to_owned())
    }
}

/// -0 and minus infinity: of numbers that are not positive the bits rise from the one to the other. 0
/// is the best weight of a row.
const ZERO_BELOW: u32 = 0x8000_0000;
const INFINITE: u32 = 0xff80_0000;

/// Weights are at most 0 by construction, and no number that is none gets into a verdict.
fn check_rows(rows: &[u8], wanted: u64) -> Result<(), String> {
    check_sum(rows, wanted)?;
    let sound = |bits: u32| bits == 0 || (ZERO_BELOW..INFINITE).contains(&bits);
    if rows.len().is_multiple_of(4) && words(rows).fold(true, |all, bits| all & sound(bits)) {
        Ok(())
    } else {
        Err("a weight is no number that is at most 0".to_owned())
    }
}

/// Terms and counts of all classes.
struct Entries<'a> {
    starts: Vec<u64>,
    terms: &'a [u8],
    counts: &'a [u8],
}

impl Entries<'_> {
    /// Checks that the terms of each class rise and counts are above 0; gives the number after the
    /// greatest term.
    ///
    /// Without a branch an entry, since there are millions and the start waits for it: as many places
    /// as do not rise in the whole must be those at which a class begins.
    fn check(&self) -> Result<usize, String> {
        let entries = (self.terms.len() / 4) as u64;
        let fits = self.starts.is_sorted()
            && self.starts.first() == Some(&0)
            && self.starts.last() == Some(&entries)
            && self.terms.len().is_multiple_of(4)
            && self.counts.len() == self.terms.len();
        if !fits {
            return Err("its classes have not the entries that it holds".to_owned());
        }
        if words(self.counts).fold(0, |zeros, count| zeros + u32::from(count == 0)) > 0 {
            return Err("a count is 0".to_owned());
        }
        let next = words(self.terms.get(4..).unwrap_or_default());
        let falls = words(self.terms)
            .zip(next)
            .fold(0_u64, |falls, (term, next)| falls + u64::from(term >= next));
        let (terms, _) = self.terms.as_chunks::<4>();
        let term = |place: u64| {
            let word = usize::try_from(place)
                .ok()
                .and_then(|place| terms.get(place));
            word.map(|word| u32::from_le_bytes(*word))
        };
        let mut begins: Vec<u64> = self.starts.clone();
        begins.dedup();
        let at_begins = begins.into_iter().filter(|begin| *begin > 0);
        let falls_at_begins = at_begins
            .filter(|begin| term(*begin).is_some_and(|next| term(begin - 1) >= Some(next)))
            .count() as u64;
        if falls != falls_at_begins {
            return Err("a class has a term twice, or terms that do not rise".to_owned());
        }
        let greatest = words(self.terms).fold(None, |most, term| most.max(Some(term)));
        Ok(greatest.map_or(0, |term| term as usize + 1))
    }
}

/// 4 bytes each as a number.
fn words(bytes: &[u8]) -> impl Iterator<Item = u32> + '_ {
    bytes
        .as_chunks()
        .0
        .iter()
        .map(|word| u32::from_le_bytes(*word))
}

/// 8 bytes each as a number.
fn numbers(bytes: &[u8]) -> Vec<u64> {
    bytes
        .as_chunks()
        .0
        .iter()
        .map(|number| u64::from_le_bytes(*number))
        .collect()
}

impl Rows {
    /// The weights at `range` of a mapping; `None` on a machine that cannot read them in place.
    fn mapped(mapping: &Arc<Mapping>, range: Range<usize>) -> Option<Self> {
        let readable = cfg!(target_endian = "little")
            && <[f32]>::ref_from_bytes(&mapping[range.clone()]).is_ok();
        readable.then(|| Self::Mapped(Arc::clone(mapping), range))
    }
}

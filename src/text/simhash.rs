//! A sketch of a text: texts that are alike have sketches that differ in few bits.
//!
//! Charikar, Similarity estimation techniques from rounding algorithms (STOC 2002); that 64 bits with
//! a distance of 3 fit web pages is of Manku, Jain, Das Sarma, Detecting near-duplicates for web
//! crawling (WWW 2007).

/// Words that stand together as one feature.
const SHINGLE: usize = 3;

/// Texts of fewer words are alike by chance.
const WORDS_MIN: usize = 50;

/// From this many different bits on two texts are not alike.
pub const DISTANCE_MAX: u32 = 3;

/// The sketch of a text given as the places of its words in `vocabulary`; `None` for a short one.
/// A place beyond the vocabulary is passed over.
pub fn simhash(words: &[u32], vocabulary: &[String]) -> Option<u64> {
    if words.len() < WORDS_MIN {
        return None;
    }
    let hashes: Vec<u64> = vocabulary
        .iter()
        .map(|word| xxhash_rust::xxh3::xxh3_64(word.as_bytes()))
        .collect();
    let words: Vec<u64> = words
        .iter()
        .filter_map(|word| hashes.get(*word as usize).copied())
        .collect();
    let mut weights = [0_i32; 64];
    for shingle in words.windows(SHINGLE) {
        let together = shingle
            .iter()
            .fold(0_u64, |sum, word| mixed(sum.rotate_left(21) ^ word));
        for (bit, weight) in weights.iter_mut().enumerate() {
            *weight += if together >> bit & 1 == 1 { 1 } else { -1 };
        }
    }
    let bits = weights.iter().enumerate();
    Some(bits.fold(0, |sketch, (bit, weight)| {
        sketch | u64::from(*weight > 0) << bit
    }))
}

/// The finalizer of `SplitMix64`: every bit depends on every other.
fn mixed(mut bits: u64) -> u64 {
    bits = (bits ^ (bits >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    bits = (bits ^ (bits >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    bits ^ (bits >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn vocabulary() -> Vec<String> {
        (0..1000).map(|n| format!("word{n}")).collect()
    }

    fn sketch(words: impl Iterator<Item = u32>) -> u64 {
        simhash(&words.collect::<Vec<_>>(), &vocabulary()).unwrap()
    }

    #[test]
    fn texts_that_differ_in_a_word_are_alike_and_others_are_not() {
        let text = || (0..400).map(|n| n * 7 % 1000);
        let one_word = text().map(|word| if word == 700 { 3 } else { word });
        let other = (0..400).map(|n| (n * 11 + 5) % 1000);
        let distance = |a: u64, b: u64| (a ^ b).count_ones();
        assert!(distance(sketch(text()), sketch(one_word)) <= DISTANCE_MAX);
        // Of unrelated texts about half of the bits differ.
        assert!(distance(sketch(text()), sketch(other)) > 16);
    }

    #[test]
    fn a_short_text_has_no_sketch() {
        assert_eq!(simhash(&[1; 49], &vocabulary()), None);
        assert!(
            simhash(&[5000; 60], &vocabulary()).is_some(),
            "places beyond are borne"
        );
    }
}

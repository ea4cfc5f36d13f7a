//! Which words become terms.
//!
//! Rare words are noise that smoothing cannot mend, words of every second page say nothing; of the
//! rest the most informative ones are kept. Smoothing over an uncut vocabulary gave a class of 120
//! pages relevance 0 everywhere (measured on real pages), so the cut is no matter of speed alone.

use crate::critic::trainer::TrainingPage;

/// The rules of the cut.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Cut {
    /// A term stands in at least this many documents.
    pub(super) documents_min: u32,
    /// A term stands in at most this share of the documents.
    pub(super) share_max: f64,
    /// At most this many terms.
    pub(super) terms_max: usize,
}

/// The words (by their numbers, of which there are `words`) that become terms, by rising number.
pub(super) fn select(pages: &[&TrainingPage], words: usize, cut: Cut) -> Vec<u32> {
    let mut documents = vec![0_u32; words];
    for page in pages {
        for (word, _) in &page.bag {
            documents[*word as usize] += 1;
        }
    }
    let most = pages.len() as f64 * cut.share_max;
    let mut kept: Vec<u32> = (0..)
        .zip(&documents)
        .filter(|(_, n)| **n >= cut.documents_min.max(1) && f64::from(**n) <= most)
        .map(|(word, _)| word)
        .collect();
    if kept.len() > cut.terms_max {
        let gains = information_gains(pages, &documents, &kept);
        let mut ranked: Vec<(f64, u32)> = gains.into_iter().zip(kept).collect();
        // Ties go to the lower number, so that the cut is the same each time.
        ranked.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
        ranked.truncate(cut.terms_max);
        kept = ranked.into_iter().map(|(_, word)| word).collect();
        kept.sort_unstable();
    }
    kept
}

/// How much the presence of each of `candidates` says about the class, in nats:
/// IG(t) = H(C) - Pr(t) H(C|t) - Pr(not t) H(C|not t) (Yang and Pedersen, ICML 1997, section 2.2).
fn information_gains(pages: &[&TrainingPage], documents: &[u32], candidates: &[u32]) -> Vec<f64> {
    // The classes of the documents that a candidate stands in, all in one vector.
    let mut place = vec![usize::MAX; documents.len()];
    let mut end = 0;
    for word in candidates {
        place[*word as usize] = end;
        end += documents[*word as usize] as usize;
    }
    let mut classes = vec![0_u16; end];
    let mut class_documents: Vec<u32> = Vec::new();
    for page in pages {
        let class = usize::from(page.class);
        if class_documents.len() <= class {
            class_documents.resize(class + 1, 0);
        }
        class_documents[class] += 1;
        for (word, _) in &page.bag {
            let place = &mut place[*word as usize];
            if *place != usize::MAX {
                classes[*place] = page.class;
                *place += 1;
            }
        }
    }
    // With n ln n summed over classes, an entropy times its documents is N ln N less that sum.
    let all = pages.len() as f64;
    let sum_all: f64 = class_documents.iter().map(|n| n_ln_n(f64::from(*n))).sum();
    let mut start = 0;
    let gain = |word: &u32| {
        let n = documents[*word as usize];
        let mine = &mut classes[start..start + n as usize];
        start += n as usize;
        mine.sort_unstable();
        let (mut sum_with, mut sum_without) = (0.0, sum_all);
        for run in mine.chunk_by(|a, b| a == b) {
            let with = run.len() as f64;
            let of_class = f64::from(class_documents[usize::from(run[0])]);
            sum_with += n_ln_n(with);
            sum_without += n_ln_n(of_class - with) - n_ln_n(of_class);
        }
        let with = f64::from(n);
        let remaining = (n_ln_n(with) - sum_with) + (n_ln_n(all - with) - sum_without);
        (n_ln_n(all) - sum_all - remaining) / all
    };
    candidates.iter().map(gain).collect()
}

fn n_ln_n(n: f64) -> f64 {
    if n > 0.0 { n * n.ln() } else { 0.0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn page(class: u16, words: &[u32]) -> TrainingPage {
        TrainingPage {
            class,
            url: String::new(),
            bag: words.iter().map(|word| (*word, 1)).collect(),
        }
    }

    fn cut(documents_min: u32, share_max: f64, terms_max: usize) -> Cut {
        Cut {
            documents_min,
            share_max,
            terms_max,
        }
    }

    #[test]
    fn words_of_too_few_and_of_too_many_documents_go() {
        let pages = [
            page(0, &[0, 1, 3]),
            page(0, &[0, 1]),
            page(1, &[0, 2]),
            page(1, &[0, 4]),
        ];
        let pages: Vec<&TrainingPage> = pages.iter().collect();
        // Word 0 stands everywhere, word 1 in half of the documents, the others in one each.
        assert_eq!(select(&pages, 5, cut(2, 0.5, 10)), [1]);
        assert_eq!(select(&pages, 5, cut(1, 1.0, 10)), [0, 1, 2, 3, 4]);
    }

    #[test]
    fn a_full_vocabulary_keeps_the_most_informative_words() {
        // Word 0 tells the classes apart, word 1 says nothing, word 2 says a little.
        let pages = [
            page(0, &[0, 1]),
            page(0, &[0, 2]),
            page(1, &[1]),
            page(1, &[]),
        ];
        let pages: Vec<&TrainingPage> = pages.iter().collect();
        let gains = information_gains(&pages, &[2, 2, 1], &[0, 1, 2]);
        // H(C) = ln 2; after word 0 nothing remains; after word 1 everything does; after word 2
        // the three documents without it have entropy H(1/3).
        let third = -(1.0 / 3.0 * (1.0_f64 / 3.0).ln() + 2.0 / 3.0 * (2.0_f64 / 3.0).ln());
        let expected = [2.0_f64.ln(), 0.0, 2.0_f64.ln() - 0.75 * third];
        for (gain, expected) in gains.iter().zip(expected) {
            assert!((gain - expected).abs() < 1e-12, "{gains:?}");
        }
        assert_eq!(select(&pages, 3, cut(1, 1.0, 2)), [0, 2]);
    }
}

//! How well scores put the relevant before the others.

/// Area under the ROC curve of scores with their truth: the chance that a relevant one has the higher
/// score, ties counting half (by ranks, Mann and Whitney 1947). `None` without both kinds. Sorts `scored`.
pub fn roc_auc(scored: &mut [(f32, bool)]) -> Option<f64> {
    scored.sort_by(|a, b| a.0.total_cmp(&b.0));
    let (mut relevant, mut others, mut won) = (0.0, 0.0, 0.0);
    for tied in scored.chunk_by(|a, b| a.0.total_cmp(&b.0).is_eq()) {
        let high = tied.iter().filter(|(_, is_relevant)| *is_relevant).count() as f64;
        let low = tied.len() as f64 - high;
        won += high * (others + low / 2.0);
        relevant += high;
        others += low;
    }
    (relevant > 0.0 && others > 0.0).then(|| won / (relevant * others))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_counts_pairs_in_the_right_order() {
        // Of the four pairs three are right.
        let mut scored = [(4.0, true), (1.0, false), (3.0, false), (2.0, true)];
        assert_eq!(roc_auc(&mut scored), Some(0.75));
        assert_eq!(roc_auc(&mut [(1.0, true), (1.0, false)]), Some(0.5));
        assert_eq!(roc_auc(&mut [(1.0, true)]), None);
    }
}

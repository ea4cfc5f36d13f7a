//! The words of a page and those around its links, for scorers that learn nothing.

use super::sketch::PageSketch;

impl PageSketch {
    /// Every word of the title and the text, as often as it stands there ([`term_hash`](super::term_hash)).
    pub fn words(&self) -> impl Iterator<Item = u64> + '_ {
        let all = self.title.iter().chain(&self.words);
        all.map(|word| self.terms[*word as usize])
    }

    /// The words inside of link `link`, and those at most `d_max` leaves around it; none of a link that
    /// there is not.
    pub fn words_near(&self, link: usize, d_max: u8) -> (Vec<u64>, Vec<u64>) {
        let (mut inside, mut around) = (Vec::new(), Vec::new());
        let leaves = self
            .links
            .get(link)
            .map(|link| self.near_leaves(link, d_max));
        for (offset, leaf) in leaves.into_iter().flatten() {
            let words = if offset == 0 {
                &mut inside
            } else {
                &mut around
            };
            let leaf = self.near_words(offset, leaf).iter();
            words.extend(leaf.map(|word| self.terms[*word as usize]));
        }
        (inside, around)
    }
}

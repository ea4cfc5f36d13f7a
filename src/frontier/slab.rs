//! A vector in pages: it grows without moving what it holds, so that no growth is a pause.

const PAGE_BITS: u32 = 12;
const PAGE: usize = 1 << PAGE_BITS;

/// Items by number. All pages but the last one are full.
#[derive(Debug)]
pub(super) struct Slab<T> {
    pages: Vec<Vec<T>>,
}

impl<T> Default for Slab<T> {
    fn default() -> Self {
        Self { pages: Vec::new() }
    }
}

impl<T> Slab<T> {
    /// Adds an item; gives its number.
    pub(super) fn push(&mut self, item: T) -> u32 {
        let number = self.len();
        match self.pages.last_mut() {
            Some(page) if page.len() < PAGE => page.push(item),
            _ => {
                // Of a small crawl's first page only what is needed.
                let mut page = Vec::new();
                if number > 0 {
                    page.reserve_exact(PAGE);
                }
                page.push(item);
                self.pages.push(page);
            }
        }
        // 2^32 links would need 400 GB.
        u32::try_from(number).unwrap_or(u32::MAX)
    }

    pub(super) fn len(&self) -> usize {
        match self.pages.last() {
            Some(last) => (self.pages.len() - 1) * PAGE + last.len(),
            None => 0,
        }
    }

    pub(super) fn get(&self, number: u32) -> Option<&T> {
        self.pages.get(page_of(number))?.get(place_of(number))
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &T> {
        self.pages.iter().flatten()
    }
}

impl<T> std::ops::Index<u32> for Slab<T> {
    type Output = T;

    fn index(&self, number: u32) -> &T {
        &self.pages[page_of(number)][place_of(number)]
    }
}

impl<T> std::ops::IndexMut<u32> for Slab<T> {
    fn index_mut(&mut self, number: u32) -> &mut T {
        &mut self.pages[page_of(number)][place_of(number)]
    }
}

fn page_of(number: u32) -> usize {
    (number >> PAGE_BITS) as usize
}

fn place_of(number: u32) -> usize {
    number as usize % PAGE
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_pushed_stays_under_its_number() {
        let mut slab = Slab::default();
        for number in 0..3 * PAGE as u32 / 2 {
            assert_eq!(slab.len(), number as usize);
            assert!(slab.get(number).is_none());
            assert_eq!(slab.push(number), number);
        }
        slab[PAGE as u32] = 7;
        let all: Vec<u32> = slab.iter().copied().collect();
        assert_eq!(all.len(), slab.len());
        assert_eq!((all[PAGE - 1], all[PAGE]), (PAGE as u32 - 1, 7));
        assert_eq!(slab[PAGE as u32 + 1], PAGE as u32 + 1);
    }
}

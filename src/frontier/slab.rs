//! A vector in pages: it grows without moving what it holds, so that no growth is a pause.

/// A page has as many items as fit into so many bytes, which is a size that no allocator rounds up.
const PAGE_BYTES: usize = 1 << 16;

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
    const PAGE: usize = PAGE_BYTES / size_of::<T>();

    /// Adds an item; gives its number.
    pub(super) fn push(&mut self, item: T) -> u32 {
        let number = self.len();
        match self.pages.last_mut() {
            Some(page) if page.len() < Self::PAGE => page.push(item),
            _ => {
                // Of a small crawl's first page only what is needed.
                let mut page = Vec::new();
                if number > 0 {
                    page.reserve_exact(Self::PAGE);
                }
                page.push(item);
                self.pages.push(page);
            }
        }
        // 2^32 links would need 250 GB.
        u32::try_from(number).unwrap_or(u32::MAX)
    }

    pub(super) fn len(&self) -> usize {
        match self.pages.last() {
            Some(last) => (self.pages.len() - 1) * Self::PAGE + last.len(),
            None => 0,
        }
    }

    pub(super) fn get(&self, number: u32) -> Option<&T> {
        self.pages
            .get(Self::page_of(number))?
            .get(Self::place_of(number))
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &T> {
        self.pages.iter().flatten()
    }

    fn page_of(number: u32) -> usize {
        number as usize / Self::PAGE
    }

    fn place_of(number: u32) -> usize {
        number as usize % Self::PAGE
    }
}

impl<T> std::ops::Index<u32> for Slab<T> {
    type Output = T;

    fn index(&self, number: u32) -> &T {
        &self.pages[Self::page_of(number)][Self::place_of(number)]
    }
}

impl<T> std::ops::IndexMut<u32> for Slab<T> {
    fn index_mut(&mut self, number: u32) -> &mut T {
        &mut self.pages[Self::page_of(number)][Self::place_of(number)]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_pushed_stays_under_its_number() {
        let page = Slab::<u64>::PAGE;
        let mut slab = Slab::default();
        for number in 0..3 * page / 2 {
            assert_eq!(slab.len(), number);
            let next = u32::try_from(number).unwrap();
            assert!(slab.get(next).is_none());
            assert_eq!(slab.push(number as u64), next);
        }
        let first_of_second = u32::try_from(page).unwrap();
        slab[first_of_second] = 7;
        let all: Vec<u64> = slab.iter().copied().collect();
        assert_eq!(all.len(), slab.len());
        assert_eq!((all[page - 1], all[page]), (page as u64 - 1, 7));
        assert_eq!(slab[first_of_second + 1], page as u64 + 1);
    }
}

//! Vectors in pages: they grow without moving what they hold, so that no growth is a pause.

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

/// Items by number, each the default until it is written; a page is made when something is written there.
#[derive(Debug)]
pub(super) struct Sparse<T> {
    pages: Vec<Option<Box<[T]>>>,
    /// Pages of what was forgotten: to be used again, or to be given back one after another.
    spare: Vec<Box<[T]>>,
}

impl<T> Default for Sparse<T> {
    fn default() -> Self {
        Self {
            pages: Vec::new(),
            spare: Vec::new(),
        }
    }
}

impl<T: Copy + Default> Sparse<T> {
    const PAGE: usize = PAGE_BYTES / size_of::<T>();

    pub(super) fn get(&self, number: u32) -> T {
        let page = self.pages.get(number as usize / Self::PAGE);
        let page = page.and_then(Option::as_ref);
        page.map_or_else(T::default, |page| page[number as usize % Self::PAGE])
    }

    /// The item, to be written.
    pub(super) fn get_mut(&mut self, number: u32) -> &mut T {
        let at = number as usize / Self::PAGE;
        if self.pages.len() <= at {
            self.pages.resize_with(at + 1, || None);
        }
        let page = self.pages[at].get_or_insert_with(|| match self.spare.pop() {
            Some(mut page) => {
                page.fill(T::default());
                page
            }
            None => vec![T::default(); Self::PAGE].into(),
        });
        &mut page[number as usize % Self::PAGE]
    }

    /// All are the default again. The pages stay for what is written next.
    pub(super) fn forget(&mut self) {
        self.spare.extend(self.pages.drain(..).flatten());
    }

    /// Nobody will write item `number` or one before it: gives back what has become free by that, which is
    /// a page or two.
    pub(super) fn is_done_with(&mut self, number: u32) {
        if (number as usize + 1).is_multiple_of(Self::PAGE) {
            if let Some(page) = self.pages.get_mut(number as usize / Self::PAGE) {
                *page = None;
            }
            self.spare.pop();
        }
    }

    /// The items of the pages that there are.
    pub(super) fn written(&self) -> impl Iterator<Item = &T> {
        self.pages.iter().flatten().flatten()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_far_apart_costs_a_page_each() {
        const PAGE: u32 = 1 << 14;
        let mut sparse = Sparse::<u32>::default();
        let pages = |sparse: &Sparse<u32>| {
            let there = sparse.written().count() / PAGE as usize;
            (there, sparse.spare.len())
        };
        *sparse.get_mut(40 * PAGE + 3) = 7;
        *sparse.get_mut(2) = 5;
        assert_eq!(pages(&sparse), (2, 0));
        let read = [2, 3, 40 * PAGE + 3, 90 * PAGE].map(|number| sparse.get(number));
        assert_eq!(read, [5, 0, 7, 0]);
        assert_eq!(pages(&sparse), (2, 0), "reading makes none");
        sparse.forget();
        assert_eq!((sparse.get(2), pages(&sparse)), (0, (0, 2)));
        *sparse.get_mut(9) = 1;
        *sparse.get_mut(5 * PAGE) = 1;
        assert_eq!(
            (sparse.get(2), sparse.get(3)),
            (0, 0),
            "an old page is empty"
        );
        assert_eq!(pages(&sparse), (2, 0));
        for number in 0..PAGE {
            assert_eq!(pages(&sparse), (2, 0));
            sparse.is_done_with(number);
        }
        assert_eq!((sparse.get(9), pages(&sparse)), (0, (1, 0)));
    }

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

//! Which of several sorted sources has the next entry.

/// Places of sources as a binary heap: the source whose head comes next is the first.
#[derive(Default)]
pub(crate) struct Heap(Vec<usize>);

impl Heap {
    /// A heap of these sources. `is_before` compares the heads of two of them.
    pub(crate) fn new(places: Vec<usize>, is_before: impl Fn(usize, usize) -> bool) -> Self {
        let mut heap = Self(places);
        for at in (0..heap.0.len() / 2).rev() {
            heap.sink(at, &is_before);
        }
        heap
    }

    /// The source whose head comes next.
    pub(crate) fn first(&self) -> Option<usize> {
        self.0.first().copied()
    }

    /// The first source has another head.
    pub(crate) fn sink_first(&mut self, is_before: impl Fn(usize, usize) -> bool) {
        self.sink(0, &is_before);
    }

    /// The first source is at its end.
    pub(crate) fn drop_first(&mut self, is_before: impl Fn(usize, usize) -> bool) {
        if !self.0.is_empty() {
            self.0.swap_remove(0);
            self.sink(0, &is_before);
        }
    }

    /// Moves a source down to where it belongs.
    fn sink(&mut self, mut at: usize, is_before: &impl Fn(usize, usize) -> bool) {
        loop {
            let mut first = at;
            for child in [2 * at + 1, 2 * at + 2] {
                if child < self.0.len() && is_before(self.0[child], self.0[first]) {
                    first = child;
                }
            }
            if first == at {
                return;
            }
            self.0.swap(at, first);
            at = first;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sources_come_in_the_order_of_their_heads() {
        let mut sources = [vec![9, 4, 1], vec![], vec![8, 8, 2], vec![3]];
        let mut found = Vec::new();
        let places = (0..sources.len()).filter(|place| !sources[*place].is_empty()).collect();
        let head = |sources: &[Vec<i32>; 4], place: usize| sources[place].last().copied();
        let mut heap = Heap::new(places, |a, b| head(&sources, a) < head(&sources, b));
        while let Some(first) = heap.first() {
            found.extend(sources[first].pop());
            let is_before = |a: usize, b: usize| head(&sources, a) < head(&sources, b);
            match sources[first].is_empty() {
                true => heap.drop_first(is_before),
                false => heap.sink_first(is_before),
            }
        }
        assert_eq!(found, [1, 2, 3, 4, 8, 8, 9]);
    }
}

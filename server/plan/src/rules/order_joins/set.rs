//! Some of the inputs of a run of joins.

/// A set of inputs, by their places.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub(super) struct Set(u128);

impl Set {
    /// The most inputs that a set can tell apart.
    pub(crate) const INPUTS_MAX: usize = 128;

    /// A set of one.
    pub(crate) fn of(place: usize) -> Self {
        Self(1 << place)
    }

    /// All inputs before a place, and that one.
    pub(crate) fn up_to(place: usize) -> Self {
        Self(u128::MAX >> (Self::INPUTS_MAX - 1 - place))
    }

    pub(crate) fn is_empty(self) -> bool {
        self.0 == 0
    }

    pub(crate) fn len(self) -> usize {
        self.0.count_ones() as usize
    }

    pub(crate) fn union(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    pub(crate) fn without(self, other: Self) -> Self {
        Self(self.0 & !other.0)
    }

    pub(crate) fn common(self, other: Self) -> Self {
        Self(self.0 & other.0)
    }

    pub(crate) fn meets(self, other: Self) -> bool {
        self.0 & other.0 != 0
    }

    pub(crate) fn is_within(self, other: Self) -> bool {
        self.0 & !other.0 == 0
    }

    /// The first place.
    pub(crate) fn first(self) -> Option<usize> {
        (self.0 != 0).then(|| self.0.trailing_zeros() as usize)
    }

    /// The places in order.
    pub(crate) fn places(self) -> impl DoubleEndedIterator<Item = usize> {
        (0..Self::INPUTS_MAX).filter(move |place| self.0 >> place & 1 == 1)
    }

    /// Every part of the set that is not empty, smaller ones first among those of the same places.
    pub(crate) fn parts(self) -> impl Iterator<Item = Self> {
        let mut part = 0u128;
        std::iter::from_fn(move || {
            part = part.wrapping_sub(self.0) & self.0;
            (part != 0).then_some(Self(part))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_parts_of_a_set_are_all_of_them() {
        let set = Set::of(1).union(Set::of(4)).union(Set::of(127));
        let parts: Vec<Set> = set.parts().collect();
        assert_eq!(parts.len(), 7);
        assert!(parts.iter().all(|part| part.is_within(set) && !part.is_empty()));
        assert!(parts.last() == Some(&set));
        assert_eq!(set.places().collect::<Vec<_>>(), [1, 4, 127]);
        assert!(Set::up_to(4).common(set) == Set::of(1).union(Set::of(4)));
        assert_eq!(Set::up_to(127).len(), 128);
    }
}

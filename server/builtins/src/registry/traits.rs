//! What clients ask of indexes and sequences.

/// An index as clients ask for it.
#[derive(Clone, Debug)]
pub struct IndexTraits {
    /// The access method.
    pub method: String,
    /// Whether each key goes down, and whether its NULLs come first.
    pub keys: Vec<(bool, bool)>,
    /// How many columns are kept beside the keys.
    pub included: usize,
}

/// What a sequence counts by.
#[derive(Clone, Copy, Debug)]
pub struct SequenceTraits {
    /// Start, least and largest value, increment.
    pub numbers: [i64; 4],
    /// Whether it begins again.
    pub cycle: bool,
    /// How many values a session takes at once.
    pub cache: i64,
    /// The number of its type.
    pub ty: u32,
}

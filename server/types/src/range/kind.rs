//! The built-in types of ranges.

/// What the values of a range type are ranges of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
pub enum RangeKind {
    /// `int4range`
    Int4,
    /// `int8range`
    Int8,
    /// `numrange`
    Num,
    /// `tsrange`
    Ts,
    /// `tstzrange`
    Tstz,
    /// `daterange`
    Date,
}

impl RangeKind {
    /// Every kind, in the order of the types' numbers.
    pub const ALL: [RangeKind; 6] = [
        RangeKind::Int4,
        RangeKind::Num,
        RangeKind::Ts,
        RangeKind::Tstz,
        RangeKind::Date,
        RangeKind::Int8,
    ];
}

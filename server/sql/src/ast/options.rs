//! Options that several statements share.

use super::{DataType, ObjectName};

/// `CASCADE` or `RESTRICT`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DropBehavior {
    /// `RESTRICT`, the default.
    Restrict,
    /// `CASCADE`.
    Cascade,
}

/// An option of a sequence. A number out of the range of `i64` is refused by the parser.
#[derive(Debug, Clone, PartialEq)]
pub enum SequenceOption {
    /// `AS type`.
    As(DataType),
    /// `INCREMENT [BY]`.
    IncrementBy(i64),
    /// `MINVALUE`, or `NO MINVALUE`.
    MinValue(Option<i64>),
    /// `MAXVALUE`, or `NO MAXVALUE`.
    MaxValue(Option<i64>),
    /// `START [WITH]`.
    StartWith(i64),
    /// `RESTART [WITH n]`.
    Restart(Option<i64>),
    /// `CACHE`.
    Cache(i64),
    /// `CYCLE` or `NO CYCLE`.
    Cycle(bool),
    /// `OWNED BY table.column`, or `OWNED BY NONE`.
    OwnedBy(Option<ObjectName>),
    /// `SEQUENCE NAME name`, of identity columns.
    Name(ObjectName),
}

/// What equal keys of a unique key are, and when they are looked for.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct UniqueRules {
    /// `NULLS NOT DISTINCT`.
    pub nulls_not_distinct: bool,
    /// `DEFERRABLE`.
    pub deferrable: bool,
    /// `INITIALLY DEFERRED`.
    pub initially_deferred: bool,
}

impl UniqueRules {
    /// The rules of an index, which is never deferrable.
    pub fn of_index(nulls_not_distinct: bool) -> Self {
        Self { nulls_not_distinct, ..Self::default() }
    }
}

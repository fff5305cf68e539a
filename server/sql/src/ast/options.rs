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

//! Options that several statements share.

use super::{DataType, Expr, Ident, NonBlock, ObjectName};

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

/// The strength of a locking clause such as `FOR UPDATE`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum LockStrength {
    /// `FOR KEY SHARE`.
    KeyShare,
    /// `FOR SHARE`.
    Share,
    /// `FOR NO KEY UPDATE`.
    NoKeyUpdate,
    /// `FOR UPDATE`.
    Update,
}

impl LockStrength {
    /// The clause as text, for messages such as `FOR UPDATE is not allowed with …`.
    pub fn clause(self) -> &'static str {
        match self {
            LockStrength::KeyShare => "FOR KEY SHARE",
            LockStrength::Share => "FOR SHARE",
            LockStrength::NoKeyUpdate => "FOR NO KEY UPDATE",
            LockStrength::Update => "FOR UPDATE",
        }
    }
}

/// A row-locking clause, decoded from sqlparser's form by [`crate::row_locks`].
#[derive(Debug, Clone, PartialEq)]
pub struct RowLock {
    /// The strength.
    pub strength: LockStrength,
    /// `OF` these relations; empty means all.
    pub of: Vec<Ident>,
    /// `NOWAIT` or `SKIP LOCKED`.
    pub wait: Option<NonBlock>,
}

/// What `REPLICA IDENTITY` says.
#[derive(Debug, Clone, PartialEq)]
pub enum ReplicaIdentityClause {
    /// `DEFAULT`.
    Default,
    /// `FULL`.
    Full,
    /// `NOTHING`.
    Nothing,
    /// `USING INDEX index`.
    Index(Ident),
}

/// `CHECK (expr) [NO INHERIT]`.
#[derive(Debug, Clone, PartialEq)]
pub struct CheckClause {
    /// The condition.
    pub expr: Expr,
    /// `NO INHERIT`: other tables do not get the constraint from this one.
    pub no_inherit: bool,
}

/// What `ALTER COLUMN` changes without a change of any row.
#[derive(Debug, Clone, PartialEq)]
pub enum ColumnTuning {
    /// `SET STATISTICS n`.
    Statistics(i64),
    /// `SET STORAGE word`.
    Storage(String),
    /// `SET COMPRESSION …`, `SET (…)` and `RESET (…)`: accepted, no effect.
    Ignored,
}

/// `MATCH` of a foreign key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MatchKind {
    /// `MATCH SIMPLE`, the default.
    Simple,
    /// `MATCH FULL`.
    Full,
}

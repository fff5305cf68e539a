//! Partitioned tables and their partitions.

use super::{ColumnConstraint, Expr, Ident, IndexKey, ObjectName, Span};

/// `PARTITION BY strategy (keys)`.
#[derive(Debug, Clone, PartialEq)]
pub struct PartitionBy {
    /// `RANGE`, `LIST` or `HASH`, as written.
    pub strategy: Ident,
    /// The keys: columns and expressions.
    pub keys: Vec<IndexKey>,
}

/// `PARTITION OF parent (…) FOR VALUES …`.
#[derive(Debug, Clone, PartialEq)]
pub struct PartitionOfClause {
    /// The partitioned table.
    pub parent: ObjectName,
    /// Constraints for columns of the parent.
    pub columns: Vec<ColumnOptions>,
    /// The keys of the partition.
    pub bound: BoundClause,
}

/// `column [WITH OPTIONS] constraints` of a partition.
#[derive(Debug, Clone, PartialEq)]
pub struct ColumnOptions {
    /// The column of the parent.
    pub name: Ident,
    /// What is written behind it.
    pub constraints: Vec<ColumnConstraint>,
}

/// The keys of a partition, as written.
#[derive(Debug, Clone, PartialEq)]
pub struct BoundClause {
    /// What it says.
    pub kind: BoundKind,
    /// Where it starts.
    pub span: Span,
}

/// What a [`BoundClause`] says.
#[derive(Debug, Clone, PartialEq)]
pub enum BoundKind {
    /// `FOR VALUES FROM (…) TO (…)`; MINVALUE and MAXVALUE are identifiers.
    Range(Vec<Expr>, Vec<Expr>),
    /// `FOR VALUES IN (…)`.
    List(Vec<Expr>),
    /// `FOR VALUES WITH (MODULUS m, REMAINDER r)`.
    Hash(i64, i64),
    /// `DEFAULT`.
    Default,
}

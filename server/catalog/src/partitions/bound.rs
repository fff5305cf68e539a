//! What descriptors keep of partitioned tables and of partitions.

use braid_types::{Error, Result, SqlType};
use serde::{Deserialize, Serialize};

use crate::{ColumnId, Id, StoredDatum, StoredExpr, Table};

/// How the rows of a table are divided.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum PartitionStrategy {
    /// By lists of values.
    List,
    /// By ranges of values.
    Range,
    /// By remainders of a hash.
    Hash,
}

impl PartitionStrategy {
    /// Its keyword.
    pub fn name(self) -> &'static str {
        match self {
            PartitionStrategy::List => "LIST",
            PartitionStrategy::Range => "RANGE",
            PartitionStrategy::Hash => "HASH",
        }
    }
}

/// How a partitioned table divides its rows.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Partitioning {
    /// The strategy.
    pub strategy: PartitionStrategy,
    /// The keys, at least one.
    pub keys: Vec<PartitionKey>,
    /// The partitions, in the order in which they were added.
    pub partitions: Vec<Id>,
}

/// A partition key: a column, or an expression over the table's row.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct PartitionKey {
    /// What it is.
    pub part: KeyPart,
    /// `COLLATE` where it was written.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub collation: Option<String>,
}

/// What a partition key is.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub enum KeyPart {
    /// A column.
    Column(ColumnId),
    /// An expression and its type.
    Expr(StoredExpr, SqlType),
}

impl PartitionKey {
    /// The type of its values.
    pub fn ty(&self, table: &Table) -> Result<SqlType> {
        match &self.part {
            KeyPart::Column(id) => match table.column(*id) {
                Some(column) => Ok(column.ty.clone()),
                None => {
                    let message = format!("a partition key of \"{}\" is missing", table.name);
                    Err(Error::broken(message))
                }
            },
            KeyPart::Expr(_, ty) => Ok(ty.clone()),
        }
    }
}

/// Of which table a partition is one, and which keys it has.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct PartitionOf {
    /// The partitioned table.
    pub parent: Id,
    /// The keys of its rows.
    pub bound: PartitionBound,
}

/// The keys of a partition's rows.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub enum PartitionBound {
    /// `FOR VALUES FROM (…) TO (…)`.
    Range {
        /// The lowest key.
        from: Vec<RangeEnd>,
        /// The lowest key above the range.
        to: Vec<RangeEnd>,
    },
    /// `FOR VALUES IN (…)`.
    List(Vec<StoredDatum>),
    /// `FOR VALUES WITH (MODULUS m, REMAINDER r)`.
    Hash {
        /// The modulus.
        modulus: u32,
        /// The remainder.
        remainder: u32,
    },
    /// `DEFAULT`: every key that no other partition has.
    Default,
}

impl PartitionBound {
    /// Its values for the key at a place, to be changed.
    pub fn values_mut(&mut self, place: usize) -> Vec<&mut StoredDatum> {
        match self {
            PartitionBound::List(values) => values.iter_mut().collect(),
            PartitionBound::Range { from, to } => {
                let ends = [from.get_mut(place), to.get_mut(place)].into_iter().flatten();
                ends.filter_map(|end| match end {
                    RangeEnd::Value(value) => Some(value),
                    RangeEnd::MinValue | RangeEnd::MaxValue => None,
                })
                .collect()
            }
            PartitionBound::Hash { .. } | PartitionBound::Default => Vec::new(),
        }
    }
}

/// A part of the end of a range.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub enum RangeEnd {
    /// `MINVALUE`.
    MinValue,
    /// A value.
    Value(StoredDatum),
    /// `MAXVALUE`.
    MaxValue,
}

//! Objects of CREATE STATISTICS, as they are stored with their table.
//!
//! They are kept and shown. The planner uses what ANALYZE finds about indexes instead.

use serde::{Deserialize, Serialize};

use super::super::{ColumnId, Id, StoredExpr};

/// An object of CREATE STATISTICS.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct ExtendedStatistics {
    /// Its oid.
    pub id: Id,
    /// Its schema, which may be another one than that of the table.
    pub schema: Id,
    /// Its name.
    pub name: String,
    /// Its owner.
    pub owner: Id,
    /// The kinds that it asks for; none for a single expression.
    pub kinds: Vec<StatisticsKind>,
    /// The columns, in ascending order.
    pub columns: Vec<ColumnId>,
    /// The expressions.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub exprs: Vec<StoredExpr>,
    /// SET STATISTICS; -1 is the default.
    pub target: i32,
    /// COMMENT ON STATISTICS.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub comment: Option<String>,
}

/// What an object of CREATE STATISTICS asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum StatisticsKind {
    /// `ndistinct`
    Distinct,
    /// `dependencies`
    Dependencies,
    /// `mcv`
    CommonValues,
}

impl StatisticsKind {
    /// All of them, in PostgreSQL's order.
    pub const ALL: [StatisticsKind; 3] =
        [StatisticsKind::Distinct, StatisticsKind::Dependencies, StatisticsKind::CommonValues];

    /// Its word in CREATE STATISTICS.
    pub fn word(self) -> &'static str {
        match self {
            StatisticsKind::Distinct => "ndistinct",
            StatisticsKind::Dependencies => "dependencies",
            StatisticsKind::CommonValues => "mcv",
        }
    }

    /// Its letter in `pg_statistic_ext`.
    pub fn letter(self) -> &'static str {
        match self {
            StatisticsKind::Distinct => "d",
            StatisticsKind::Dependencies => "f",
            StatisticsKind::CommonValues => "m",
        }
    }
}

//! Tables: columns, indexes, families, constraints.

use braid_types::{Error, Result};
use serde::{Deserialize, Serialize};

use super::column::Column;
use super::index::{Index, Moving};
use super::objects::{Grant, Materialized};
use super::{
    ColumnId, ExtendedStatistics, FamilyId, ForeignKey, Id, IndexNumber, RowSecurity, StoredExpr,
    Trigger, TriggerState,
};
use crate::partitions::{PartitionOf, Partitioning};

/// A table.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Table {
    /// Its id, which also starts its keys; TRUNCATE gives the data a new one (`data_id`).
    pub id: Id,
    /// What its keys start with.
    pub data_id: Id,
    /// The version of the catalog that stored this descriptor. So none comes twice, and who proves
    /// that it is unchanged proves that it has not been another one meanwhile, also where the store
    /// compares values.
    #[serde(default)]
    pub version: u64,
    /// Its database.
    pub database: Id,
    /// Its schema.
    pub schema: Id,
    /// Its name.
    pub name: String,
    /// Its owner.
    pub owner: Id,
    /// UNLOGGED. Its rows are as durable as all others; only the catalog shows the difference.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub unlogged: bool,
    /// `REPLICA IDENTITY`, which only the catalog shows.
    #[serde(default, skip_serializing_if = "ReplicaIdentity::is_default")]
    pub replica_identity: ReplicaIdentity,
    /// `CLUSTER ON`: an index, which only the catalog shows.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub clustered_on: Option<IndexNumber>,
    /// What a commit does to a temporary table.
    #[serde(default, skip_serializing_if = "OnCommit::is_preserve")]
    pub on_commit: OnCommit,
    /// Columns in the order they were added, without dropped ones.
    pub columns: Vec<Column>,
    /// The next column number.
    pub next_column: ColumnId,
    /// The primary key; tables without one get a hidden column `rowid`.
    pub primary: Index,
    /// Secondary indexes.
    pub indexes: Vec<Index>,
    /// The next index number.
    pub next_index: IndexNumber,
    /// Column families; at least one.
    pub families: Vec<Family>,
    /// The next family number.
    pub next_family: FamilyId,
    /// CHECK constraints.
    pub checks: Vec<Check>,
    /// Foreign keys of this table.
    pub foreign_keys: Vec<ForeignKey>,
    /// Ids of tables whose foreign keys point here.
    pub referenced_by: Vec<Id>,
    /// Where its rows are being moved to; until they are there they are read where they were.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub moving: Option<Moving>,
    /// Whether the range of its own, from which its rows have moved away, still has to be emptied.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub vacated: bool,
    /// The gateway of a definition that reads or rewrites all rows. Until the definition ends,
    /// other statements that would change rows wait. Only over stores that lock no spans.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub closed_by: Option<u64>,
    /// Of a materialized view: the query whose rows it keeps.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub materialized: Option<Box<Materialized>>,
    /// Of a partitioned table: how its rows are divided among its partitions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub partitioning: Option<Box<Partitioning>>,
    /// Of a partition: its parent and the keys of its rows.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub partition_of: Option<Box<PartitionOf>>,
    /// Its triggers, by name.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub triggers: Vec<Trigger>,
    /// When its foreign keys are checked and act, which PostgreSQL does by triggers.
    #[serde(default, skip_serializing_if = "TriggerState::is_origin")]
    pub key_triggers: TriggerState,
    /// Row-level security.
    #[serde(default, skip_serializing_if = "RowSecurity::is_default")]
    pub security: RowSecurity,
    /// `WITH (…)`: storage parameters as the catalog shows them, such as `fillfactor=70`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub options: Vec<String>,
    /// Objects of CREATE STATISTICS.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub statistics: Vec<ExtendedStatistics>,
    /// Privileges granted on it.
    pub grants: Vec<Grant>,
    /// COMMENT ON TABLE.
    pub comment: Option<String>,
}

/// ON COMMIT of a temporary table.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum OnCommit {
    /// PRESERVE ROWS.
    #[default]
    Preserve,
    /// DELETE ROWS.
    Delete,
    /// DROP.
    Drop,
}

impl OnCommit {
    fn is_preserve(&self) -> bool {
        *self == OnCommit::Preserve
    }
}

/// A column family: one key/value pair per row.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Family {
    /// Its number: the last part of a key.
    pub id: FamilyId,
    /// Its name.
    pub name: String,
}

/// A CHECK constraint.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Check {
    /// Its oid.
    pub id: Id,
    /// Its name.
    pub name: String,
    /// The condition.
    pub expr: StoredExpr,
    /// The columns it names.
    pub columns: Vec<ColumnId>,
    /// Existing rows were checked.
    #[serde(default = "is_checked")]
    pub validated: bool,
    /// `NO INHERIT`.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub no_inherit: bool,
    /// COMMENT ON CONSTRAINT.
    pub comment: Option<String>,
}

/// Descriptors that do not say otherwise are of constraints whose rows were checked.
fn is_checked() -> bool {
    true
}

/// What a replica would find changed rows by.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum ReplicaIdentity {
    /// The primary key.
    #[default]
    Default,
    /// All columns.
    Full,
    /// Nothing.
    Nothing,
    /// A unique index.
    Index(IndexNumber),
}

impl ReplicaIdentity {
    fn is_default(&self) -> bool {
        *self == ReplicaIdentity::Default
    }

    /// The letter in `pg_class`.
    pub fn letter(self) -> &'static str {
        match self {
            ReplicaIdentity::Default => "d",
            ReplicaIdentity::Full => "f",
            ReplicaIdentity::Nothing => "n",
            ReplicaIdentity::Index(_) => "i",
        }
    }
}

impl Table {
    /// A table of one column, which stands for a value in expressions. No catalog has it.
    pub fn of_column(column: Column, (database, schema): (Id, Id), name: &str, owner: Id) -> Self {
        Self {
            id: 0,
            data_id: 0,
            version: 0,
            database,
            schema,
            name: name.to_owned(),
            owner,
            unlogged: false,
            replica_identity: ReplicaIdentity::Default,
            clustered_on: None,
            on_commit: OnCommit::Preserve,
            columns: vec![column],
            next_column: 2,
            primary: Index { unique: true, ..Index::plain(0, "") },
            indexes: Vec::new(),
            next_index: 1,
            families: Vec::new(),
            next_family: 0,
            checks: Vec::new(),
            foreign_keys: Vec::new(),
            referenced_by: Vec::new(),
            moving: None,
            vacated: false,
            closed_by: None,
            materialized: None,
            partitioning: None,
            partition_of: None,
            triggers: Vec::new(),
            key_triggers: TriggerState::Origin,
            security: RowSecurity::default(),
            options: Vec::new(),
            statistics: Vec::new(),
            grants: Vec::new(),
            comment: None,
        }
    }

    /// What PostgreSQL calls its kind.
    pub fn kind(&self) -> &'static str {
        if self.materialized.is_some() { "materialized view" } else { "table" }
    }

    /// The column of this number.
    pub fn column(&self, id: ColumnId) -> Option<&Column> {
        self.columns.iter().find(|column| column.id == id)
    }

    /// The place of a column among `columns`, if the table has it.
    pub fn position_of(&self, id: ColumnId) -> Option<usize> {
        self.columns.iter().position(|column| column.id == id)
    }

    /// The place of a column among `columns`; XX000 if the table has no such column.
    pub fn place_of(&self, id: ColumnId) -> Result<usize> {
        self.position_of(id)
            .ok_or_else(|| Error::broken(format!("table \"{}\" has no column {id}", self.name)))
    }

    /// The columns for the keys of indexes that are expressions.
    pub fn key_exprs(&self) -> impl Iterator<Item = (usize, &Column)> {
        self.columns.iter().enumerate().filter(|(_, column)| column.is_key_expr)
    }

    /// Whether a column is the key of an index that is an expression.
    pub fn is_key_expr(&self, id: ColumnId) -> bool {
        self.column(id).is_some_and(|column| column.is_key_expr)
    }

    /// Removes the columns for the expressions of indexes that are gone.
    pub fn forget_key_exprs(&mut self) {
        let indexes = std::iter::once(&self.primary).chain(&self.indexes);
        let used: Vec<ColumnId> =
            indexes.flat_map(|index| index.keys.iter().map(|key| key.column)).collect();
        self.columns.retain(|column| !column.is_key_expr || used.contains(&column.id));
    }

    /// The place of a column among `columns` by name.
    pub fn column_by_name(&self, name: &str) -> Option<usize> {
        self.columns.iter().position(|column| column.name == name)
    }

    /// The primary key and the secondary indexes.
    pub fn all_indexes(&self) -> impl Iterator<Item = &Index> {
        std::iter::once(&self.primary).chain(&self.indexes)
    }

    /// Whether this is the primary key over the hidden `rowid`, which no user sees.
    pub fn is_hidden_key(&self, index: &Index) -> bool {
        index.number == self.primary.number
            && index.keys.iter().all(|key| self.column(key.column).is_some_and(|c| c.hidden))
    }

    /// Whether this is the primary key that was declared.
    pub fn is_primary_key(&self, index: &Index) -> bool {
        let stores_rows = index.number == self.primary.number && !self.is_hidden_key(index);
        stores_rows || index.is_late_primary
    }

    /// The primary key that was declared.
    pub fn primary_key(&self) -> Option<&Index> {
        self.all_indexes().find(|index| self.is_primary_key(index))
    }

    /// The index of that number.
    pub fn index(&self, number: IndexNumber) -> Option<&Index> {
        self.all_indexes().find(|index| index.number == number)
    }

    /// The columns that users see.
    pub fn visible_columns(&self) -> impl Iterator<Item = &Column> {
        self.columns.iter().filter(|column| !column.hidden)
    }
}

//! Indexes, and where their entries are.

use std::borrow::Cow;

use braid_codec::terms::TermClass;
use serde::{Deserialize, Serialize};

use super::{ColumnId, Id, IndexNumber, StoredExpr};

/// An index; the primary key is one.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Index {
    /// Its oid.
    pub id: Id,
    /// Its place in the table's keys.
    pub number: IndexNumber,
    /// Its name, which is also its constraint's.
    pub name: String,
    /// No two rows with equal keys, at any time. NULLs are not equal unless `nulls_not_distinct`
    /// is set. False for a deferrable constraint: its rows may have equal keys for a while.
    pub unique: bool,
    /// `DEFERRABLE`: equal keys are looked for when a statement or the transaction ends.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub deferrable: bool,
    /// `INITIALLY DEFERRED`: when the transaction ends, unless SET CONSTRAINTS says otherwise.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub initially_deferred: bool,
    /// `PRIMARY KEY … DEFERRABLE`: a secondary index of a table whose rows are stored under the
    /// hidden key, because two rows may have equal keys for a while.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_late_primary: bool,
    /// `NULLS NOT DISTINCT`: a unique key treats NULLs as equal.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub nulls_not_distinct: bool,
    /// Of an exclusion constraint, what two rows must not have.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub exclusion: Option<Exclusion>,
    /// `USING hash`: it is kept and read as any other, and shown as it was written.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_hash: bool,
    /// `USING gin`: what the terms of each key are. A row has an entry for each term.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub inverted: Vec<TermClass>,
    /// Whether it came from a key constraint or an exclusion constraint; that constraint's oid.
    pub constraint: Option<Id>,
    /// The key columns.
    pub keys: Vec<IndexKey>,
    /// STORING / INCLUDE columns.
    pub storing: Vec<ColumnId>,
    /// The columns of INCLUDE as they were written, if some are keys as well or come twice.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub written_storing: Vec<ColumnId>,
    /// `WHERE` of a partial index.
    pub predicate: Option<StoredExpr>,
    /// How far its building got.
    pub state: IndexState,
    /// Of an index of a partition: the oid of the index of its parent that it is a part of.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub part_of: Option<Id>,
    /// The gateway that is building it, if there may be others.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub builder: Option<u64>,
    /// The index whose name and part it takes when it is complete.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub replaces: Option<IndexNumber>,
    /// Where its entries lie, if that is below the rows of another table.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub interleaving: Option<Interleaving>,
    /// The indexes whose entries lie right below this one's rows: table and number. Only a primary
    /// key has any.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub below: Vec<(Id, IndexNumber)>,
    /// Keys below this one's rows that nobody reads: on their way in, or left behind.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub passing: Vec<Passing>,
    /// `WITH (…)`: storage parameters as the catalog shows them, such as `fillfactor=70`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub options: Vec<String>,
    /// COMMENT ON INDEX.
    pub comment: Option<String>,
    /// COMMENT ON CONSTRAINT of its key constraint or exclusion constraint.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub constraint_comment: Option<String>,
}

impl Index {
    /// A public index of that number and name, without keys; its id is 0.
    pub fn plain(number: IndexNumber, name: &str) -> Self {
        Index {
            id: 0,
            number,
            name: name.to_owned(),
            unique: false,
            deferrable: false,
            initially_deferred: false,
            is_late_primary: false,
            nulls_not_distinct: false,
            exclusion: None,
            is_hash: false,
            inverted: Vec::new(),
            constraint: None,
            keys: Vec::new(),
            storing: Vec::new(),
            written_storing: Vec::new(),
            predicate: None,
            state: IndexState::Public,
            part_of: None,
            builder: None,
            replaces: None,
            interleaving: None,
            below: Vec::new(),
            passing: Vec::new(),
            options: Vec::new(),
            comment: None,
            constraint_comment: None,
        }
    }

    /// Whether it was declared UNIQUE, be it deferrable or not.
    pub fn declares_unique(&self) -> bool {
        self.unique || self.is_deferrable_unique()
    }

    /// Whether its entries are terms, of which a row may have many or none. It has no order and no
    /// values of columns.
    pub fn is_inverted(&self) -> bool {
        !self.inverted.is_empty()
    }

    /// The columns of INCLUDE as they were written.
    pub fn included(&self) -> &[ColumnId] {
        if self.written_storing.is_empty() { &self.storing } else { &self.written_storing }
    }

    /// The access method that was written.
    pub fn method(&self) -> &str {
        match &self.exclusion {
            Some(exclusion) => &exclusion.method,
            None if self.is_inverted() => "gin",
            None if self.is_hash => "hash",
            None => "btree",
        }
    }

    /// Whether it is a UNIQUE constraint whose rows may have equal keys for a while.
    pub fn is_deferrable_unique(&self) -> bool {
        self.deferrable && self.exclusion.is_none()
    }

    /// Whether it is a constraint that is checked when all rows are written, not row by row.
    pub fn is_checked_late(&self) -> bool {
        self.deferrable || self.exclusion.is_some()
    }

    /// The index with its keys in the order in which they were written.
    pub fn as_written(&self) -> Cow<'_, Index> {
        let Some(exclusion) = &self.exclusion else { return Cow::Borrowed(self) };
        let mut parts: Vec<(&ExcludedKey, &IndexKey)> =
            exclusion.keys.iter().zip(&self.keys).collect();
        parts.sort_by_key(|(excluded, _)| excluded.place);
        let mut written = self.clone();
        written.keys = parts.iter().map(|(_, key)| (*key).clone()).collect();
        let keys = parts.into_iter().map(|(excluded, _)| excluded.clone()).collect();
        written.exclusion = Some(Exclusion { keys, ..exclusion.clone() });
        Cow::Owned(written)
    }
}

/// `EXCLUDE`: no two rows for whose keys all operators hold.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Exclusion {
    /// The access method that was written. The entries are those of btree in any case.
    pub method: String,
    /// For each key of the index what it is excluded by. Keys with `=` come first.
    pub keys: Vec<ExcludedKey>,
}

/// What a key of an exclusion constraint is compared by.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ExcludedKey {
    /// Its operator.
    pub operator: ExclusionOperator,
    /// Its place as it was written, from 0.
    pub place: usize,
}

/// An operator of an exclusion constraint.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum ExclusionOperator {
    /// `=`
    Equal,
    /// `<>`
    NotEqual,
    /// `&&` of ranges or multiranges
    Overlaps,
    /// `-|-` of ranges or multiranges
    Adjoins,
}

impl ExclusionOperator {
    /// The operator with that symbol, if constraints may use it.
    pub fn from_symbol(symbol: &str) -> Option<Self> {
        Some(match symbol {
            "=" => ExclusionOperator::Equal,
            "<>" | "!=" => ExclusionOperator::NotEqual,
            "&&" => ExclusionOperator::Overlaps,
            "-|-" => ExclusionOperator::Adjoins,
            _ => return None,
        })
    }

    /// How it is written.
    pub fn symbol(self) -> &'static str {
        match self {
            ExclusionOperator::Equal => "=",
            ExclusionOperator::NotEqual => "<>",
            ExclusionOperator::Overlaps => "&&",
            ExclusionOperator::Adjoins => "-|-",
        }
    }
}

/// The rows below which an index's entries lie.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Interleaving {
    /// The primary keys above, the root's first, the parent's last.
    pub above: Vec<Ancestor>,
    /// The foreign key that ON DELETE made, if it was written.
    #[serde(default)]
    pub foreign_key: Option<Id>,
}

/// A primary key above an interleaved index.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Ancestor {
    /// Its table.
    pub table: Id,
    /// What stands for the table in keys.
    pub data_id: Id,
    /// How many key columns it adds to those of the one above it.
    pub columns: usize,
}

/// A move of a table's rows to another place. Until it ends, writers write each row to both places.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Moving {
    /// Where they will lie.
    pub to: Option<Interleaving>,
    /// The gateway that moves them, if there may be others.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mover: Option<u64>,
}

/// Keys of an index that is not, or no longer, read where they are: while the table is moving
/// they are being put there, else they are left over and removed in the background.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Passing {
    /// What stands for the table in them.
    pub data_id: Id,
    /// What stands for the index in them.
    pub number: IndexNumber,
    /// The primary keys above, the root's first.
    pub above: Vec<Ancestor>,
    /// For each key column: whether it descends.
    pub descending: Vec<bool>,
}

/// A part of an index key.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct IndexKey {
    /// The column.
    pub column: ColumnId,
    /// Descending.
    pub descending: bool,
    /// NULLS FIRST of an ascending key, or NULLS LAST of a descending one. Such a key is stored in
    /// its direction's own order, so that the planner never takes it for the declared one.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub nulls_opposed: bool,
    /// The oid of an operator class that is not its type's default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub operator_class: Option<u32>,
    /// `COLLATE` where it is not the column's: `C`, `POSIX` or `default`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub collation: Option<String>,
}

impl IndexKey {
    /// An ascending key without anything beside its column.
    pub fn plain(column: ColumnId) -> Self {
        let (operator_class, collation) = (None, None);
        Self { column, descending: false, nulls_opposed: false, operator_class, collation }
    }

    /// Whether NULLs were declared to come first.
    pub fn declares_nulls_first(&self) -> bool {
        self.descending != self.nulls_opposed
    }
}

/// How far the building of an index got.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum IndexState {
    /// Writers keep it; nobody reads it; older rows are being filled in.
    Building,
    /// Complete.
    Public,
}

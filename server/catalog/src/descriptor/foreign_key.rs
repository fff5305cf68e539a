//! Foreign keys as descriptors keep them.

use serde::{Deserialize, Serialize};

use crate::{ColumnId, Id, IndexNumber};

/// What happens to rows that point at one that goes or changes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum ForeignKeyAction {
    /// Refuse at the end of the statement.
    NoAction,
    /// Refuse at once.
    Restrict,
    /// Delete or change them too.
    Cascade,
    /// Set the columns to NULL.
    SetNull,
    /// Set the columns to their defaults.
    SetDefault,
}

/// A foreign key.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct ForeignKey {
    /// Its oid.
    pub id: Id,
    /// Its name.
    pub name: String,
    /// The columns of this table.
    pub columns: Vec<ColumnId>,
    /// The table pointed at.
    pub parent: Id,
    /// The columns pointed at, in the order of `columns`.
    pub parent_columns: Vec<ColumnId>,
    /// The unique index of the parent that covers them (its number; 1 is the primary key).
    pub parent_index: IndexNumber,
    /// MATCH FULL instead of SIMPLE.
    pub match_full: bool,
    /// ON DELETE.
    pub on_delete: ForeignKeyAction,
    /// ON UPDATE.
    pub on_update: ForeignKeyAction,
    /// The columns that ON DELETE SET NULL or SET DEFAULT sets; empty: all of them.
    #[serde(default)]
    pub delete_columns: Vec<ColumnId>,
    /// DEFERRABLE: SET CONSTRAINTS may put its checks off to the commit.
    #[serde(default)]
    pub deferrable: bool,
    /// INITIALLY DEFERRED: they are deferred unless SET CONSTRAINTS says otherwise.
    #[serde(default)]
    pub initially_deferred: bool,
    /// Existing rows were checked.
    pub validated: bool,
    /// It is being added by a statement that checks existing rows in steps; if the process ends
    /// meanwhile, the next start or another gateway removes it.
    #[serde(default)]
    pub unfinished: bool,
    /// The gateway that is adding it, if there may be others.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub adder: Option<u64>,
    /// COMMENT ON CONSTRAINT.
    pub comment: Option<String>,
}

//! Composite types: rows with a name that no table has.
//!
//! A composite type is a relation without rows, as in PostgreSQL. So its name is unique among the
//! names of tables, and its row type has the numbers that the row type of a table has:
//!
//! ```text
//!   CREATE TYPE money AS (amount numeric, currency text)
//!   Composite 16384, columns amount 1, currency 2        row type 16384 | 2^28
//! ```
//!
//! Rule: the number of an attribute is never used again. Stored values name their attributes by
//! number, so no row is touched when an attribute is added or dropped.

use serde::{Deserialize, Serialize};

use crate::descriptor::column::Column;
use crate::descriptor::table::Table;
use crate::descriptor::{ColumnId, Grant, Id};

/// A composite type.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Composite {
    /// Its id as a relation.
    pub id: Id,
    /// Its database.
    pub database: Id,
    /// Its schema.
    pub schema: Id,
    /// Its name.
    pub name: String,
    /// Its owner.
    pub owner: Id,
    /// Its attributes in the order in which they were added, without dropped ones. They have
    /// neither defaults nor constraints.
    pub columns: Vec<Column>,
    /// The number of the next attribute.
    pub next_column: ColumnId,
    /// Privileges granted on it.
    pub grants: Vec<Grant>,
    /// COMMENT ON TYPE.
    pub comment: Option<String>,
}

impl Composite {
    /// The place of an attribute by name.
    pub fn column_by_name(&self, name: &str) -> Option<usize> {
        self.columns.iter().position(|column| column.name == name)
    }

    /// A table with the attributes as its columns. No catalog has it.
    pub fn as_table(&self) -> Table {
        let place = (self.database, self.schema);
        let table = Table::of_column(
            Column::plain(1, "", braid_types::SqlType::Unknown),
            place,
            &self.name,
            self.owner,
        );
        Table { id: self.id, columns: self.columns.clone(), next_column: self.next_column, ..table }
    }
}

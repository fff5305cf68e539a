//! Domains: a type with a name, a default and constraints of its own.
//!
//! A column's descriptor has the type below the domain as its type, and the domain's id beside it:
//!
//! ```text
//!   domain 16384: base int4, CHECK (VALUE > 0)      table t: n { ty: Int4, domain: 16384 }
//! ```
//!
//! So keys, rows, operators and the protocol treat the column as one of the base type. Only the
//! places where a value becomes the domain's check it.
//!
//! Rule: a change of a domain stores the tables that use it again ([`crate::Draft::put`]), so
//! that what was planned with the old constraints cannot commit.

use braid_types::SqlType;
use serde::{Deserialize, Serialize};

use crate::descriptor::column::Column;
use crate::descriptor::table::Table;
use crate::descriptor::{Grant, Id, StoredExpr};

/// A domain.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Domain {
    /// Its id.
    pub id: Id,
    /// The id of the type of its arrays; 0 if there is none. A domain over arrays has none.
    #[serde(default)]
    pub array: Id,
    /// The domain of the elements, for what stands for the arrays of a domain: it is made with its
    /// domain and never stored.
    #[serde(skip)]
    pub element: Option<Id>,
    /// Its database.
    pub database: Id,
    /// Its schema.
    pub schema: Id,
    /// Its name.
    pub name: String,
    /// Its owner.
    pub owner: Id,
    /// The type below it and below all domains that it is over, with modifiers.
    pub base: SqlType,
    /// The base type's modifier of times, as [`Column::modifier`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub modifier: Option<i32>,
    /// As [`Column::more_dimensions`].
    #[serde(default, skip_serializing_if = "is_zero")]
    pub more_dimensions: u8,
    /// The domain that it is over, if its type is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent: Option<Id>,
    /// As [`Column::collation`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub collation: Option<String>,
    /// NOT NULL of its own.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub not_null: bool,
    /// The DEFAULT expression.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub default: Option<StoredExpr>,
    /// CHECK constraints.
    pub checks: Vec<DomainCheck>,
    /// Privileges granted on it.
    pub grants: Vec<Grant>,
    /// COMMENT ON DOMAIN.
    pub comment: Option<String>,
}

fn is_zero(number: &u8) -> bool {
    *number == 0
}

/// A CHECK constraint of a domain.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct DomainCheck {
    /// Its oid.
    pub id: Id,
    /// Its name.
    pub name: String,
    /// The condition over the row of [`Domain::row`].
    pub expr: StoredExpr,
    /// Whether the stored rows are known to satisfy it.
    pub validated: bool,
    /// COMMENT ON CONSTRAINT.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub comment: Option<String>,
}

impl Domain {
    /// What stands for the arrays of the domain. A column of `price[]` has it as its domain.
    pub(crate) fn of_arrays(&self) -> Option<Domain> {
        (self.array != 0).then(|| Domain {
            id: self.array,
            array: 0,
            element: Some(self.id),
            name: format!("_{}", self.name),
            base: self.base.clone().array(),
            parent: None,
            not_null: false,
            default: None,
            checks: Vec::new(),
            comment: None,
            ..self.clone()
        })
    }

    /// Makes a column one of the domain; it has the base type already.
    pub fn give_to(&self, column: &mut Column) {
        column.domain = Some(self.id);
        column.modifier = self.modifier;
        if column.collation.is_none() {
            column.collation.clone_from(&self.collation);
        }
    }

    /// The table whose one column stands for VALUE in the domain's conditions. No catalog has it.
    pub fn row(&self, column: &str, ty: SqlType) -> Table {
        // In the conditions VALUE has the collation of the base type, as in PostgreSQL.
        let value = Column { modifier: self.modifier, ..Column::plain(1, column, ty) };
        Table::of_column(value, (self.database, self.schema), &self.name, self.owner)
    }
}

//! Enum types: their descriptors, and how columns get to know the labels.
//!
//! A column's descriptor names its enum by oid alone. When a catalog is put together, each enum in
//! a table's or view's columns is replaced by the one with today's labels, so that every
//! reader of a column can read, write and print its values:
//!
//! ```text
//!   stored   table t: m {"Enum": 16384}      enum 16384: sad 1, happy 2
//!   Catalog  table t: m SqlType::Enum(mood, [sad 1, happy 2])
//! ```
//!
//! Stored expressions and queries name an enum as `"#"."16384"`, so that no renaming changes what
//! they mean.
//!
//! Rule: a change of an enum stores the tables that use it again ([`crate::Draft::put`]), so
//! that what was planned with the old labels cannot commit.

use std::sync::Arc;

use braid_sql::quote_ident;
use braid_types::{EnumLabel, EnumType};
use serde::{Deserialize, Serialize};

use crate::names::qualified;
use crate::{Grant, Id};

/// An enum type.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Enum {
    /// Its id.
    pub id: Id,
    /// The id of the type of its arrays.
    pub array: Id,
    /// Its database.
    pub database: Id,
    /// Its schema.
    pub schema: Id,
    /// Its name.
    pub name: String,
    /// The name of the type of its arrays.
    pub array_name: String,
    /// Its owner.
    pub owner: Id,
    /// Its labels, in order.
    pub labels: Vec<Label>,
    /// Privileges granted on it.
    pub grants: Vec<Grant>,
    /// COMMENT ON TYPE.
    pub comment: Option<String>,
}

/// A label of an enum.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Label {
    /// Its oid.
    pub id: Id,
    /// Its place; see [`braid_types::enums`].
    pub order: i64,
    /// Its text.
    pub name: String,
    /// Added by this transaction, to a type that it has not made itself.
    #[serde(skip)]
    pub is_uncommitted: bool,
}

impl Enum {
    /// The type as columns have it.
    pub(crate) fn with_labels(&self, schema: &str) -> EnumType {
        let display = match schema {
            "public" => quote_ident(&self.name),
            schema => qualified(schema, &self.name),
        };
        let label = |label: &Label| {
            Arc::new(EnumLabel {
                oid: label.id,
                order: label.order,
                name: Arc::from(label.name.as_str()),
                is_uncommitted: label.is_uncommitted,
            })
        };
        EnumType {
            oid: self.id,
            array_oid: self.array,
            name: self.name.clone(),
            array_name: self.array_name.clone(),
            array_display: format!("{display}[]"),
            display,
            labels: self.labels.iter().map(label).collect(),
        }
    }
}

/// The enums that a stored expression or query names.
pub fn enums_named(text: &str) -> Vec<Id> {
    const MARK: &str = "\"#\".\"";
    let mut found = Vec::new();
    // Most texts name none.
    let mut rest = if text.contains(MARK) { text } else { "" };
    while let Some(at) = rest.find(['\'', '"']) {
        rest = &rest[at..];
        if let Some(after) = rest.strip_prefix(MARK)
            && let Some(end) = after.find('"')
        {
            found.extend(after[..end].parse::<Id>());
            rest = &after[end + 1..];
            continue;
        }
        let quote = if rest.starts_with('\'') { '\'' } else { '"' };
        let end = rest[1..].find(quote).map_or(rest.len(), |end| end + 2);
        rest = &rest[end..];
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn marks_in_literals_are_text() {
        let quoted = "t <> '\"#\".\"19\"' AND \"x'\"";
        let text = format!("m = 'a'::\"#\".\"17\" AND {quoted} = 'it''s'::\"#\".\"18\"[]");
        assert_eq!(enums_named(&text), [17, 18]);
    }
}

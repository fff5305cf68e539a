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
//! Rule: a change of an enum stores the tables that use it again ([`crate::Draft::put_enum`]), so
//! that what was planned with the old labels cannot commit.

use std::sync::Arc;

use braid_types::{EnumLabel, EnumType, Result, SqlType};
use serde::{Deserialize, Serialize};

use crate::names::{qualified, quote_ident};
use crate::resolve::split_qualified;
use crate::{Catalog, Grant, Id, PUBLIC, SearchPath, Table, View};

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
    /// What everybody may do with a new type.
    pub fn first_grants() -> Vec<Grant> {
        vec![Grant { role: PUBLIC, privileges: vec!["USAGE".to_owned()], grant_option: false }]
    }

    /// The type as columns have it.
    fn with_labels(&self, schema: &str) -> EnumType {
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

/// Whether a table has a column of an enum, or of its arrays.
pub fn uses_enum(table: &Table, id: Id) -> bool {
    table.columns.iter().any(|column| column.ty.inner_enum().is_some_and(|ty| ty.oid == id))
}

impl Catalog {
    /// An enum by id.
    pub fn enum_by_id(&self, id: Id) -> Option<&Arc<Enum>> {
        self.enums.get(&id)
    }

    /// Every enum, by id.
    pub fn enums(&self) -> impl Iterator<Item = &Arc<Enum>> {
        self.enums.values()
    }

    /// The enums of a database, by id.
    pub fn enums_of(&self, database: Id) -> impl Iterator<Item = &Arc<Enum>> {
        self.enums.values().filter(move |found| found.database == database)
    }

    /// The enum of that name in a schema, or the one whose arrays' type has that name, and whether
    /// it is the latter.
    pub fn enum_named(&self, schema: Id, name: &str) -> Option<(&Arc<Enum>, bool)> {
        let of_schema = || self.enums.values().filter(move |found| found.schema == schema);
        let found = of_schema().find(|found| found.name == name).map(|found| (found, false));
        found.or_else(|| {
            of_schema().find(|found| found.array_name == name).map(|found| (found, true))
        })
    }

    /// The enum, or the array of one, that a name of one to three parts means. 0A000 for a foreign
    /// database, 42601 for too many parts.
    pub fn resolve_enum(
        &self,
        path: &SearchPath,
        name: &[String],
    ) -> Result<Option<(&Arc<Enum>, bool)>> {
        if self.enums.values().next().is_none() {
            return Ok(None);
        }
        let find = |schema: &str, name: &str| {
            let schema = self.schema_by_name(path.database, schema)?;
            self.enum_named(schema.id, name)
        };
        match name {
            [name] => Ok(path.names(true).find_map(|schema| find(schema, name))),
            _ => split_qualified(path, name).map(|(schema, name)| find(schema, name)),
        }
    }

    /// The enum of that oid with its labels, as a type; also for the oid of its arrays.
    pub fn enum_type(&self, oid: Id) -> Option<SqlType> {
        if let Some(ty) = self.enum_types.get(&oid) {
            return Some(SqlType::Enum(ty.clone()));
        }
        let found = self.enum_types.values().find(|ty| ty.array_oid == oid)?;
        Some(SqlType::Enum(found.clone()).array())
    }

    /// Puts today's labels into a type.
    pub fn refresh_type(&self, ty: &mut SqlType) {
        ty.refresh_enums(&|oid| self.enum_types.get(&oid).cloned());
    }

    /// An enum's name as a session has to write it; without a search path only those of `public`
    /// stand without their schema.
    pub fn enum_text(&self, path: Option<&SearchPath>, found: &Enum) -> String {
        let is_visible = match path {
            Some(path) => {
                let first = self.resolve_enum(path, std::slice::from_ref(&found.name));
                first.ok().flatten().is_some_and(|(first, _)| first.id == found.id)
            }
            None => self.schema_name(found.schema) == "public",
        };
        match is_visible {
            true => quote_ident(&found.name),
            false => qualified(&self.schema_name(found.schema), &found.name),
        }
    }

    /// Adds or replaces an enum, and what the columns of that type know of it.
    pub(crate) fn insert_enum(&mut self, found: Arc<Enum>) {
        self.enums.insert(found.id, found);
    }

    pub(crate) fn remove_enum(&mut self, id: Id) {
        self.enums.remove(&id);
        self.enum_types.remove(&id);
    }

    /// Gives every column of an enum's type the labels that the enum has now.
    pub(crate) fn settle_enums(&mut self) {
        let types: Vec<(Id, Arc<EnumType>)> = self
            .enums
            .values()
            .map(|found| {
                let schema = self.schema_name(found.schema);
                (found.id, Arc::new(found.with_labels(&schema)))
            })
            .collect();
        for (id, ty) in types {
            self.enum_types.insert(id, ty);
        }
        let has_enum = |table: &Table| table.columns.iter().any(|c| c.ty.inner_enum().is_some());
        let tables: Vec<Arc<Table>> =
            self.tables.values().filter(|table| has_enum(table)).cloned().collect();
        for table in tables {
            let table = self.with_labels(table);
            self.tables.insert(table.id, table);
        }
        let has_enum = |view: &View| view.columns.iter().any(|(_, ty)| ty.inner_enum().is_some());
        let views: Vec<Arc<View>> =
            self.views.values().filter(|view| has_enum(view)).cloned().collect();
        for view in views {
            let view = self.view_with_labels(view);
            self.views.insert(view.id, view);
        }
    }

    /// A table whose columns know the labels of their enums.
    pub(crate) fn with_labels(&self, mut table: Arc<Table>) -> Arc<Table> {
        if table.columns.iter().any(|column| column.ty.inner_enum().is_some()) {
            for column in &mut Arc::make_mut(&mut table).columns {
                self.refresh_type(&mut column.ty);
            }
        }
        table
    }

    /// A view whose columns know the labels of their enums.
    pub(crate) fn view_with_labels(&self, mut view: Arc<View>) -> Arc<View> {
        if view.columns.iter().any(|(_, ty)| ty.inner_enum().is_some()) {
            for (_, ty) in &mut Arc::make_mut(&mut view).columns {
                self.refresh_type(ty);
            }
        }
        view
    }
}

/// The enums that a stored expression or query names.
pub fn enums_named(text: &str) -> Vec<Id> {
    const MARK: &str = "\"#\".\"";
    let mut found = Vec::new();
    let mut rest = text;
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

//! The enums of a catalog: by name, by type, and with today's labels.

use std::sync::Arc;

use braid_sql::quote_ident;
use braid_types::sql_type::refresh_types;
use braid_types::{Result, SqlType};

use crate::names::{NameKind, names_built_in_type, qualified, searched};
use crate::{Catalog, Enum, Id, SearchPath};

/// The enums of a catalog.
#[derive(Clone, Copy)]
pub struct Enums<'c> {
    catalog: &'c Catalog,
}

impl Catalog {
    /// The enums and their types.
    pub fn enums(&self) -> Enums<'_> {
        Enums::new(self)
    }
}

impl<'c> Enums<'c> {
    pub(crate) fn new(catalog: &'c Catalog) -> Self {
        Enums { catalog }
    }

    /// An enum by id.
    pub fn get(self, id: Id) -> Option<&'c Arc<Enum>> {
        self.catalog.enums.get(id)
    }

    /// Every enum, by id.
    pub fn iter(self) -> impl Iterator<Item = &'c Arc<Enum>> {
        self.catalog.enums.iter()
    }

    /// The enums of a database, by id.
    pub fn in_database(self, database: Id) -> impl Iterator<Item = &'c Arc<Enum>> {
        self.catalog.enums.in_database(database)
    }

    /// The enum of that name in a schema, or the one whose arrays' type has that name, and whether
    /// it is the latter.
    pub fn find(self, schema: Id, name: &str) -> Option<(&'c Arc<Enum>, bool)> {
        let find = |kind| {
            let found = self.catalog.object_names.find((kind, schema), name).next()?;
            self.get(found)
        };
        let found = find(NameKind::Enum).map(|found| (found, false));
        found.or_else(|| find(NameKind::EnumArray).map(|found| (found, true)))
    }

    /// The enum, or the array of one, that a name of one to three parts means. 0A000 for a foreign
    /// database, 42601 for too many parts.
    pub fn resolve(
        self,
        path: &SearchPath,
        name: &[String],
    ) -> Result<Option<(&'c Arc<Enum>, bool)>> {
        if self.iter().next().is_none() {
            return Ok(None);
        }
        searched(self.catalog, path, name, |schema, name| self.find(schema, name))
    }

    /// The enum of that oid with its labels, as a type; also for the oid of its arrays.
    pub fn type_of(self, oid: Id) -> Option<SqlType> {
        let types = &self.catalog.enum_types;
        if let Some(ty) = types.get(&oid) {
            return Some(SqlType::Enum(ty.clone()));
        }
        let found = types.values().find(|ty| ty.array_oid == oid)?;
        Some(SqlType::Enum(found.clone()).array())
    }

    /// Puts today's labels of enums, and today's columns of row types, into a type.
    pub fn refresh(self, ty: &mut SqlType) {
        let enums = |oid| self.catalog.enum_types.get(&oid).cloned();
        refresh_types(ty, &enums, &|oid| self.catalog.names().row_types().get(oid));
    }

    /// An enum's name as a session has to write it; without a search path only those of `public`
    /// stand without their schema.
    pub fn text(self, path: Option<&SearchPath>, found: &Enum) -> String {
        let is_visible = match path {
            Some(path) => {
                let first = self.resolve(path, std::slice::from_ref(&found.name));
                first.ok().flatten().is_some_and(|(first, _)| first.id == found.id)
            }
            None => self.catalog.schema_name(found.schema) == "public",
        };
        match is_visible && !names_built_in_type(&found.name) {
            true => quote_ident(&found.name),
            false => qualified(&self.catalog.schema_name(found.schema), &found.name),
        }
    }
}

//! From a name in a statement to the object it means.
//!
//! Rules: the session's temporary schema is searched first, then `pg_catalog`, unless the search
//! path names them; `"$user"` stands for
//! the user's name; a schema of the path that does not exist is passed over.

use std::sync::Arc;

use braid_types::{Error, Result, SqlState};

use crate::virtual_tables::{self, VirtualTable};
use crate::{Catalog, Id, IndexNumber, Named, PG_TEMP, Sequence, Table, View, is_temporary};

/// What a relation's name stands for.
#[derive(Clone)]
pub enum Relation {
    /// A table.
    Table(Arc<Table>),
    /// A view.
    View(Arc<View>),
    /// A sequence.
    Sequence(Arc<Sequence>),
    /// A table of `pg_catalog`, `information_schema` or `braid_internal`.
    Virtual(&'static VirtualTable),
    /// An index of a table.
    Index(Arc<Table>, IndexNumber),
}

impl Relation {
    /// Its oid.
    pub fn oid(&self) -> Id {
        match self {
            Relation::Table(table) => table.id,
            Relation::View(view) => view.id,
            Relation::Sequence(sequence) => sequence.id,
            Relation::Virtual(table) => table.oid,
            Relation::Index(table, number) => table.index(*number).map_or(0, |index| index.id),
        }
    }

    /// What PostgreSQL calls its kind.
    pub fn kind(&self) -> &'static str {
        match self {
            Relation::Table(_) => "table",
            Relation::View(_) => "view",
            Relation::Sequence(_) => "sequence",
            Relation::Virtual(table) => table.kind(),
            Relation::Index(..) => "index",
        }
    }

    /// The name of its schema.
    pub fn schema_name(&self, catalog: &Catalog) -> String {
        match self {
            Relation::Table(table) | Relation::Index(table, _) => catalog.schema_name(table.schema),
            Relation::View(view) => catalog.schema_name(view.schema),
            Relation::Sequence(sequence) => catalog.schema_name(sequence.schema),
            Relation::Virtual(table) => table.schema.to_owned(),
        }
    }

    /// Its name without schema.
    pub fn name(&self) -> &str {
        match self {
            Relation::Table(table) => &table.name,
            Relation::View(view) => &view.name,
            Relation::Sequence(sequence) => &sequence.name,
            Relation::Virtual(table) => table.name,
            Relation::Index(table, number) => {
                table.index(*number).map_or("", |index| index.name.as_str())
            }
        }
    }
}

/// Where unqualified names are looked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SearchPath {
    /// The database of the session.
    pub database: Id,
    /// Its name.
    pub database_name: String,
    /// The schemas as `search_path` lists them, `"$user"` included.
    pub schemas: Vec<String>,
    /// The user that `"$user"` stands for.
    pub user: String,
}

impl SearchPath {
    /// The path that a fresh session has.
    pub fn new(database: Id, database_name: &str, user: &str) -> Self {
        SearchPath {
            database,
            database_name: database_name.to_owned(),
            schemas: vec!["$user".to_owned(), "public".to_owned()],
            user: user.to_owned(),
        }
    }

    /// The schemas in the order in which they are searched, existing or not; `implicit` puts
    /// `pg_temp` and `pg_catalog` first unless they are listed.
    pub fn names(&self, implicit: bool) -> impl Iterator<Item = &str> {
        let is_listed = |name: &str| self.schemas.iter().any(|schema| schema == name);
        let first = [PG_TEMP, virtual_tables::PG_CATALOG];
        let first = first.into_iter().filter(move |name| implicit && !is_listed(name));
        let named = self.schemas.iter().map(|schema| match schema.as_str() {
            "$user" => self.user.as_str(),
            name => name,
        });
        first.chain(named)
    }
}

impl View {
    /// Where the names of its query are looked for, if it is kept as it was written. A temporary
    /// object of the session never stands for one that a permanent view means.
    pub fn path(&self, session: &SearchPath) -> SearchPath {
        let mut schemas = self.search_path.clone();
        if !is_temporary(self.id) && schemas.iter().all(|schema| schema != PG_TEMP) {
            schemas.push(PG_TEMP.to_owned());
        }
        SearchPath { schemas, ..session.clone() }
    }
}

impl Catalog {
    /// The relation that a name of one to three parts means; `None` if there is none.
    /// 0A000 for a foreign database, 42601 for too many parts.
    pub fn resolve(&self, path: &SearchPath, name: &[String]) -> Result<Option<Relation>> {
        match name {
            [name] => Ok(path
                .names(true)
                .find_map(|schema| self.relation_in(path.database, schema, name))),
            _ => {
                let (schema, name) = split_qualified(path, name)?;
                Ok(self.relation_in(path.database, schema, name))
            }
        }
    }

    /// The relation of that name in a schema given by name.
    pub fn relation_in(&self, database: Id, schema: &str, name: &str) -> Option<Relation> {
        if let Some(table) = virtual_tables::find(schema, name) {
            return Some(Relation::Virtual(table));
        }
        let schema = self.schema_by_name(database, schema)?;
        self.relation_named(self.named(schema.id, name)?)
    }

    /// The relation that an entry of a schema's names stands for.
    pub fn relation_named(&self, named: Named) -> Option<Relation> {
        Some(match named {
            Named::Table(id) => Relation::Table(self.table(id)?.clone()),
            Named::View(id) => Relation::View(self.view(id)?.clone()),
            Named::Sequence(id) => Relation::Sequence(self.sequence(id)?.clone()),
            Named::Index(id, number) => Relation::Index(self.table(id)?.clone(), number),
        })
    }

    /// The relation with that oid.
    pub fn relation(&self, oid: Id) -> Option<Relation> {
        if let Some(table) = self.table(oid) {
            return Some(Relation::Table(table.clone()));
        }
        if let Some(view) = self.view(oid) {
            return Some(Relation::View(view.clone()));
        }
        if let Some(sequence) = self.sequence(oid) {
            return Some(Relation::Sequence(sequence.clone()));
        }
        if let Some(table) = virtual_tables::by_oid(oid) {
            return Some(Relation::Virtual(table));
        }
        let (table, index) = self.index(oid)?;
        Some(Relation::Index(table.clone(), index.number))
    }

    /// The schema id and name of a relation.
    pub fn schema_of(&self, relation: &Relation) -> (Id, String) {
        let id = match relation {
            Relation::Table(table) | Relation::Index(table, _) => table.schema,
            Relation::View(view) => view.schema,
            Relation::Sequence(sequence) => sequence.schema,
            Relation::Virtual(table) => {
                let id = virtual_tables::virtual_schema(table.schema).unwrap_or(0);
                return (id, table.schema.to_owned());
            }
        };
        (id, self.schema_name(id))
    }

    /// Where a new object of that name goes: its schema's id and its own name. 3F000 if the
    /// schema does not exist or none is selected, 42501 for a schema of the system.
    pub fn creation_target<'n>(
        &self,
        path: &SearchPath,
        name: &'n [String],
    ) -> Result<(Id, &'n str)> {
        let denied = |schema: &str, name: &str| {
            let message = format!("permission denied to create \"{schema}.{name}\"");
            Error::new(SqlState::InsufficientPrivilege, message)
                .detail("System catalog modifications are currently disallowed.")
        };
        if let [name] = name {
            for schema in path.names(false) {
                if virtual_tables::virtual_schema(schema).is_some() {
                    return Err(denied(schema, name));
                }
                if let Some(schema) = self.schema_by_name(path.database, schema) {
                    return Ok((schema.id, name));
                }
            }
            let message = "no schema has been selected to create in";
            return Err(Error::new(SqlState::InvalidSchemaName, message));
        }
        let (schema, name) = split_qualified(path, name)?;
        if virtual_tables::virtual_schema(schema).is_some() {
            return Err(denied(schema, name));
        }
        match self.schema_by_name(path.database, schema) {
            Some(found) => Ok((found.id, name)),
            None => {
                let message = format!("schema \"{schema}\" does not exist");
                Err(Error::new(SqlState::InvalidSchemaName, message))
            }
        }
    }

    /// Whether the unqualified name of a relation finds it.
    pub fn is_visible(&self, path: &SearchPath, relation: &Relation) -> bool {
        let name = relation.name();
        let found =
            path.names(true).find_map(|schema| self.relation_in(path.database, schema, name));
        found.is_some_and(|found| found.oid() == relation.oid())
    }
}

/// Schema and name of a name of two or three parts.
pub(crate) fn split_qualified<'n>(
    path: &SearchPath,
    name: &'n [String],
) -> Result<(&'n str, &'n str)> {
    match name {
        [schema, name] => Ok((schema, name)),
        [database, schema, name] if *database == path.database_name => Ok((schema, name)),
        [_, _, _] => {
            let message =
                format!("cross-database references are not implemented: \"{}\"", name.join("."));
            Err(Error::new(SqlState::FeatureNotSupported, message))
        }
        _ => {
            let message =
                format!("improper qualified name (too many dotted names): {}", name.join("."));
            Err(Error::new(SqlState::SyntaxError, message))
        }
    }
}

/// 42P01: there is no relation of that name.
pub fn undefined_relation(name: &[String]) -> Error {
    let message = format!("relation \"{}\" does not exist", name.join("."));
    Error::new(SqlState::UndefinedTable, message)
}

//! From a name in a statement to the object it means.
//!
//! Rules: the session's temporary schema is searched first, then `pg_catalog`, unless the search
//! path names them; `"$user"` stands for
//! the user's name; a schema of the path that does not exist is passed over.

use std::sync::Arc;

use braid_types::{Error, Result, SqlState};

use super::{NameKind, Named};
use crate::{
    Catalog, Database, Id, Object, PG_CATALOG, PG_TEMP, Relation, Role, Schema, View, is_temporary,
    is_virtual_schema, virtual_schema, virtual_table, virtual_table_by_oid,
};

/// Where unqualified names are looked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SearchPath {
    /// The database of the session.
    pub database: Id,
    /// Its name.
    pub database_name: String,
    /// The schemas as `search_path` lists them, `"$user"` included.
    pub schemas: Vec<String>,
    /// The user that `"$user"` stands for, and who has to have USAGE on the schemas.
    pub user: String,
    /// The names stand in a stored text, and were looked for when it was written: USAGE is not
    /// asked for again.
    pub is_stored: bool,
}

impl SearchPath {
    /// The path that a fresh session has.
    pub fn new(database: Id, database_name: &str, user: &str) -> Self {
        SearchPath {
            database,
            database_name: database_name.to_owned(),
            schemas: vec!["$user".to_owned(), "public".to_owned()],
            user: user.to_owned(),
            is_stored: false,
        }
    }

    /// The schemas in the order in which they are searched, existing or not; `implicit` puts
    /// `pg_temp` and `pg_catalog` first unless they are listed.
    pub fn names(&self, implicit: bool) -> impl Iterator<Item = &str> {
        let is_listed = |name: &str| self.schemas.iter().any(|schema| schema == name);
        let first = [PG_TEMP, PG_CATALOG];
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
        SearchPath { schemas, is_stored: true, ..session.clone() }
    }
}

/// The objects of a catalog by name.
#[derive(Clone, Copy)]
pub struct Names<'c> {
    pub(crate) catalog: &'c Catalog,
}

impl Catalog {
    /// The objects by name.
    pub fn names(&self) -> Names<'_> {
        Names::new(self)
    }

    /// The relation with that oid.
    pub fn relation(&self, oid: Id) -> Option<Relation> {
        if let Some(table) = self.tables.get(oid) {
            return Some(Relation::Table(table.clone()));
        }
        if let Some(view) = self.views.get(oid) {
            return Some(Relation::View(view.clone()));
        }
        if let Some(sequence) = self.sequences.get(oid) {
            return Some(Relation::Sequence(sequence.clone()));
        }
        if let Some(found) = self.composites.get(oid) {
            return Some(Relation::Composite(found.clone()));
        }
        if let Some(table) = virtual_table_by_oid(oid) {
            return Some(Relation::Virtual(table));
        }
        let (table, index) = self.index(oid)?;
        Some(Relation::Index(table.clone(), Arc::new(index.clone())))
    }
}

impl<'c> Names<'c> {
    pub(crate) fn new(catalog: &'c Catalog) -> Self {
        Names { catalog }
    }

    /// A schema of a database by name. The virtual ones (`pg_catalog` …) are not descriptors: see
    /// [`crate::virtual_schema`]. `pg_temp` is the session's own temporary schema, which may not be
    /// there yet.
    pub fn schema(self, database: Id, name: &str) -> Option<&'c Arc<Schema>> {
        if name == PG_TEMP {
            return self.catalog.temporary_schema();
        }
        let found = self.catalog.object_names.find((NameKind::Schema, database), name).next()?;
        self.catalog.schemas.get(found)
    }

    /// A database by name.
    pub fn database(self, name: &str) -> Option<&'c Arc<Database>> {
        let found = self.catalog.object_names.find((NameKind::Database, 0), name).next()?;
        self.catalog.databases.get(found)
    }

    /// A role by name.
    pub fn role(self, name: &str) -> Option<&'c Arc<Role>> {
        let found = self.catalog.object_names.find((NameKind::Role, 0), name).next()?;
        self.catalog.roles.get(found)
    }

    /// What a name stands for in a schema.
    pub fn find(self, schema: Id, name: &str) -> Option<Named> {
        self.catalog.names.get_by(|(of, known)| (*of, &**known).cmp(&(schema, name))).copied()
    }

    /// Every name of a schema in order, with what it stands for.
    pub fn in_schema(self, schema: Id) -> impl Iterator<Item = (&'c str, Named)> {
        let names = &self.catalog.names;
        let from = names.iter_from(move |(of, known)| (*of, &**known).cmp(&(schema, "")));
        let names = from.take_while(move |((of, _), _)| *of == schema);
        names.map(|((_, name), named)| (&**name, *named))
    }

    /// The relation that a name of one to three parts means; `None` if there is none.
    /// 0A000 for a foreign database, 42601 for too many parts, 42501 for a schema that the user of
    /// the path may not use.
    pub fn resolve(self, path: &SearchPath, name: &[String]) -> Result<Option<Relation>> {
        match name {
            [name] => Ok(path.names(true).find_map(|schema| {
                // Most schemas do not have the name, so their privileges need not be known.
                let found = self.relation_in(path.database, schema, name)?;
                self.may_search(path, schema).then_some(found)
            })),
            _ => {
                let (schema, name) = split_qualified(path, name)?;
                self.check_usage(path, schema)?;
                Ok(self.relation_in(path.database, schema, name))
            }
        }
    }

    /// Whether the user of the path may look for names in a schema, if there is one of that name.
    pub fn may_search(self, path: &SearchPath, schema: &str) -> bool {
        path.is_stored
            || self.schema(path.database, schema).is_none_or(|schema| {
                let privileges = self.catalog.privileges();
                let may_use = |role: Id| privileges.has(role, Object::Schema(schema), "USAGE");
                self.role(&path.user).is_none_or(|role| may_use(role.id))
            })
    }

    /// 42501 unless the user of the path may look for names in the schema.
    pub fn check_usage(self, path: &SearchPath, schema: &str) -> Result<()> {
        match self.schema(path.database, schema) {
            Some(found) if !self.may_search(path, schema) => {
                Err(self.catalog.privileges().denied(Object::Schema(found)))
            }
            _ => Ok(()),
        }
    }

    /// The relation of that name in a schema given by name.
    pub fn relation_in(self, database: Id, schema: &str, name: &str) -> Option<Relation> {
        if let Some(table) = virtual_table(schema, name) {
            return Some(Relation::Virtual(table));
        }
        let schema = self.schema(database, schema)?;
        self.relation_of(self.find(schema.id, name)?)
    }

    /// The relation that an entry of a schema's names stands for.
    pub fn relation_of(self, named: Named) -> Option<Relation> {
        Some(match named {
            Named::Table(id) => Relation::Table(self.catalog.table(id)?.clone()),
            Named::View(id) => Relation::View(self.catalog.views.get(id)?.clone()),
            Named::Sequence(id) => Relation::Sequence(self.catalog.sequences.get(id)?.clone()),
            Named::Composite(id) => Relation::Composite(self.catalog.composites.get(id)?.clone()),
            Named::Index(id, number) => {
                let table = self.catalog.table(id)?;
                Relation::Index(table.clone(), Arc::new(table.index(number)?.clone()))
            }
        })
    }

    /// The schema id and name of a relation.
    pub fn schema_of(self, relation: &Relation) -> (Id, String) {
        let id = match relation {
            Relation::Table(table) | Relation::Index(table, _) => table.schema,
            Relation::View(view) => view.schema,
            Relation::Sequence(sequence) => sequence.schema,
            Relation::Composite(found) => found.schema,
            Relation::Virtual(table) => {
                let id = virtual_schema(table.schema).unwrap_or(0);
                return (id, table.schema.to_owned());
            }
        };
        (id, self.catalog.schema_name(id))
    }

    /// Where a new object of that name goes: its schema's id and its own name. 3F000 if the
    /// schema does not exist or none is selected, 42501 for a schema of the system.
    pub fn creation_target<'n>(
        self,
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
                if virtual_schema(schema).is_some() {
                    return Err(denied(schema, name));
                }
                if let Some(found) = self.schema(path.database, schema)
                    && self.may_search(path, schema)
                {
                    return Ok((found.id, name));
                }
            }
            let message = "no schema has been selected to create in";
            return Err(Error::new(SqlState::InvalidSchemaName, message));
        }
        let (schema, name) = split_qualified(path, name)?;
        if virtual_schema(schema).is_some() {
            return Err(denied(schema, name));
        }
        match self.schema(path.database, schema) {
            Some(found) => Ok((found.id, name)),
            None => {
                let message = format!("schema \"{schema}\" does not exist");
                Err(Error::new(SqlState::InvalidSchemaName, message))
            }
        }
    }

    /// Whether the unqualified name of a relation finds it.
    pub fn is_visible(self, path: &SearchPath, relation: &Relation) -> bool {
        let name = relation.name();
        let found = self.resolve(path, std::slice::from_ref(&name.to_owned()));
        found.ok().flatten().is_some_and(|found| found.oid() == relation.oid())
    }

    /// Whether a schema of that name is, or would be, the session's temporary one.
    pub fn is_temporary_schema(self, name: &str) -> bool {
        name == PG_TEMP || self.catalog.temporary_schema().is_some_and(|schema| schema.name == name)
    }

    /// Whether CREATE with this name makes a temporary object although it does not say so.
    pub fn creates_temporary(self, path: &SearchPath, name: &[String]) -> bool {
        match name {
            [_] => {
                let exists = |schema: &&str| {
                    self.is_temporary_schema(schema)
                        || is_virtual_schema(schema)
                        || self.schema(path.database, schema).is_some()
                };
                let first = path.names(false).find(exists);
                first.is_some_and(|schema| self.is_temporary_schema(schema))
            }
            [.., schema, _] => self.is_temporary_schema(schema),
            [] => false,
        }
    }
}

/// What a name of one to three parts means: the first that is found in the schemas of the path, by
/// the schema's id and the last part. 0A000 for a foreign database, 42601 for too many parts,
/// 42501 for a schema that the user of the path may not use.
pub(crate) fn searched<T>(
    catalog: &Catalog,
    path: &SearchPath,
    name: &[String],
    find: impl Fn(Id, &str) -> Option<T>,
) -> Result<Option<T>> {
    let names = catalog.names();
    let find = |schema: &str, name: &str| find(names.schema(path.database, schema)?.id, name);
    match name {
        [name] => Ok(path.names(true).find_map(|schema| {
            let found = find(schema, name)?;
            names.may_search(path, schema).then_some(found)
        })),
        _ => {
            let (schema, name) = split_qualified(path, name)?;
            names.check_usage(path, schema)?;
            Ok(find(schema, name))
        }
    }
}

/// Schema and name of a name of two or three parts.
fn split_qualified<'n>(path: &SearchPath, name: &'n [String]) -> Result<(&'n str, &'n str)> {
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

//! Names in statements to objects, with PostgreSQL's errors.

use std::fmt;
use std::sync::Arc;

use braid_catalog::{
    Catalog, Id, Named, Object, Relation, Schema, Sequence, Table, View, is_virtual_schema,
};
use braid_sql::ast::{Ident, ObjectName, ObjectNamePart};
use braid_sql::fold;
use braid_types::{Error, Result, SqlState};

use crate::context::DdlContext;

/// The parts of a name, as the catalog knows them.
pub(crate) fn parts(name: &ObjectName) -> Vec<String> {
    let idents = name.0.iter().filter_map(|part| match part {
        ObjectNamePart::Identifier(ident) => Some(fold(ident)),
        _ => None,
    });
    idents.collect()
}

/// Several identifiers, as the catalog knows them.
pub(crate) fn folded(names: &[Ident]) -> Vec<String> {
    names.iter().map(fold).collect()
}

/// The last part of a name.
pub(crate) fn last(name: &ObjectName) -> String {
    parts(name).pop().unwrap_or_default()
}

/// 42P01 with the wording for a kind of relation.
pub(crate) fn undefined(kind: &str, name: &[String]) -> Error {
    let name = name.join(".");
    let message = match kind {
        "table" | "relation" => format!("relation \"{name}\" does not exist"),
        kind => format!("{kind} \"{name}\" does not exist"),
    };
    let state = match kind {
        "index" | "foreign table" => SqlState::UndefinedObject,
        _ => SqlState::UndefinedTable,
    };
    Error::new(state, message)
}

/// 42809: the relation is of another kind than the statement wants.
pub(crate) fn wrong_kind(name: &str, kind: &str) -> Error {
    let article = if kind == "index" { "an" } else { "a" };
    let message = format!("\"{name}\" is not {article} {kind}");
    Error::new(SqlState::WrongObjectType, message).caused_by(WrongKind { name: name.to_owned() })
}

/// The cause of 42809: a name means an object of another kind than the statement wants.
#[derive(Clone, Debug)]
pub(crate) struct WrongKind {
    /// The object, as messages show it.
    pub(crate) name: String,
}

impl fmt::Display for WrongKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} is of another kind", self.name)
    }
}

impl std::error::Error for WrongKind {}

/// The names of PostgreSQL's system columns, which no column may have.
const SYSTEM_COLUMNS: &[&str] = &["tableoid", "cmax", "xmax", "cmin", "xmin", "ctid"];

/// Whether a name is that of a system column.
pub(crate) fn is_system_column(name: &str) -> bool {
    SYSTEM_COLUMNS.contains(&name)
}

/// 0A000 for a change of a system column, 42703 for a column that a table lacks.
pub(crate) fn unchangeable_column(table: &str, column: &str, change: &str) -> Error {
    if !is_system_column(column) {
        return undefined_column(table, column);
    }
    let message = format!("cannot {change} system column \"{column}\"");
    Error::new(SqlState::FeatureNotSupported, message)
}

/// The error for a system column as the key of an index: the types of some have no order.
pub(crate) fn system_key(column: &str, method: &str) -> Option<Error> {
    let ty = match column {
        "xmin" | "xmax" => "xid",
        "cmin" | "cmax" => "cid",
        "ctid" | "tableoid" => {
            let message = "index creation on system columns is not supported";
            return Some(Error::new(SqlState::FeatureNotSupported, message));
        }
        _ => return None,
    };
    let message =
        format!("data type {ty} has no default operator class for access method \"{method}\"");
    let hint = "You must specify an operator class for the index or define a default operator \
                class for the data type.";
    Some(Error::new(SqlState::UndefinedObject, message).hint(hint))
}

/// 42703 for a column of a table.
pub(crate) fn undefined_column(table: &str, column: &str) -> Error {
    let message = format!("column \"{column}\" of relation \"{table}\" does not exist");
    Error::new(SqlState::UndefinedColumn, message)
}

/// Whether the schema of a qualified name is missing: a NOTICE with IF EXISTS, else 3F000.
pub(crate) fn lacks_schema(
    cx: &mut DdlContext<'_>,
    name: &[String],
    if_exists: bool,
) -> Result<bool> {
    let [.., schema, _] = name else { return Ok(false) };
    let catalog = cx.catalog();
    if is_virtual_schema(schema) || catalog.names().schema(cx.path().database, schema).is_some() {
        return Ok(false);
    }
    let message = format!("schema \"{schema}\" does not exist");
    skip(cx, SqlState::InvalidSchemaName, message, if_exists)?;
    Ok(true)
}

/// A NOTICE that says that something missing is skipped; without IF EXISTS it is the error.
pub(crate) fn skip(
    cx: &mut DdlContext<'_>,
    state: SqlState,
    message: String,
    if_exists: bool,
) -> Result<()> {
    if !if_exists {
        return Err(Error::new(state, message));
    }
    cx.notice(SqlState::SuccessfulCompletion, format!("{message}, skipping"));
    Ok(())
}

/// Whether a name means a partitioned table.
pub(crate) fn names_partitioned(cx: &DdlContext<'_>, name: &ObjectName) -> bool {
    let found = cx.find(name).ok().flatten();
    matches!(found, Some(Relation::Table(table)) if table.partitioning.is_some())
}

impl DdlContext<'_> {
    /// The relation of that name, `None` if there is none.
    pub(crate) fn find(&self, name: &ObjectName) -> Result<Option<Relation>> {
        self.catalog().names().resolve(self.path(), &parts(name))
    }

    /// The materialized view of that name, or the table. 42P01 if there is none, 42809 if it is
    /// something else.
    pub(crate) fn table_or_materialized(&self, name: &ObjectName) -> Result<Arc<Table>> {
        match self.find(name)? {
            Some(Relation::Table(table)) => Ok(table),
            _ => self.table(name),
        }
    }

    /// The table of that name. 42P01 if there is none, 42809 if it is something else, 42501
    /// unless the user owns it.
    pub(crate) fn own_table(&self, name: &ObjectName) -> Result<Arc<Table>> {
        let table = self.table(name)?;
        self.check_owner(Object::Table(&table))?;
        Ok(table)
    }

    /// The table of that name, without a check of its owner.
    pub(crate) fn table(&self, name: &ObjectName) -> Result<Arc<Table>> {
        match self.find(name)? {
            Some(Relation::Table(table)) if table.materialized.is_none() => Ok(table),
            Some(other @ Relation::Virtual(_)) => {
                self.check_owner(Object::from(&other))?;
                Err(wrong_kind(other.name(), "table"))
            }
            Some(other) => Err(wrong_kind(other.name(), "table")),
            None => Err(undefined("table", &parts(name))),
        }
    }

    /// The schema of that name in the session's database. 3F000 if there is none.
    pub(crate) fn schema(&self, name: &str) -> Result<Arc<Schema>> {
        if is_virtual_schema(name) {
            let message = format!("permission denied for schema {name}");
            return Err(Error::new(SqlState::InsufficientPrivilege, message));
        }
        let catalog = self.catalog();
        let schema = catalog.names().schema(self.path().database, name);
        schema.cloned().ok_or_else(|| {
            let message = format!("schema \"{name}\" does not exist");
            Error::new(SqlState::InvalidSchemaName, message)
        })
    }

    /// The role of that name; `current_user` and `session_user` mean the session's. 42704 if there
    /// is none.
    pub(crate) fn role(&self, ident: &Ident) -> Result<Id> {
        let name = self.role_name(ident);
        let catalog = self.catalog();
        catalog.names().role(&name).map(|role| role.id).ok_or_else(|| {
            let message = format!("role \"{name}\" does not exist");
            Error::new(SqlState::UndefinedObject, message)
        })
    }

    /// The name of a role as written, or the session's for `current_user`.
    pub(crate) fn role_name(&self, ident: &Ident) -> String {
        let name = fold(ident);
        match name.as_str() {
            "current_user" | "current_role" if ident.quote_style.is_none() => {
                self.exec.env.current_user().to_owned()
            }
            "session_user" if ident.quote_style.is_none() => {
                self.exec.env.session_user().to_owned()
            }
            _ => name,
        }
    }

    /// Where a new relation goes: schema and name. 3F000 or 42501.
    pub(crate) fn target(&self, name: &ObjectName) -> Result<(Arc<Schema>, String)> {
        let parts = parts(name);
        let catalog = self.catalog();
        let (schema, name) = catalog.names().creation_target(self.path(), &parts)?;
        let schema = catalog.schemas().get(schema).cloned();
        let schema = schema.ok_or_else(|| Error::internal("a schema has vanished"))?;
        catalog.privileges().check(self.user(), Object::Schema(&schema), "CREATE")?;
        Ok((schema, name.to_owned()))
    }

    /// 42P07 if the schema has a relation of that name already.
    pub(crate) fn check_free(&self, schema: Id, name: &str) -> Result<()> {
        if self.catalog().names().find(schema, name).is_none() {
            return Ok(());
        }
        Err(duplicate(name))
    }
}

/// 42P07: there is a relation of that name.
pub(crate) fn duplicate(name: &str) -> Error {
    Error::new(SqlState::DuplicateTable, format!("relation \"{name}\" already exists"))
}

/// A name for a new relation of a schema: `name1_name2_label`, with a number if it is taken.
pub(crate) fn choose_relation_name(
    catalog: &Catalog,
    schema: Id,
    name1: &str,
    name2: Option<&str>,
    label: &str,
    also_taken: &[String],
) -> String {
    braid_catalog::names::choose_name(name1, name2, label, |name| {
        catalog.names().find(schema, name).is_some() || also_taken.iter().any(|taken| taken == name)
    })
}

/// The tables, views and sequences of a schema.
pub(crate) type Content = (Vec<Arc<Table>>, Vec<Arc<View>>, Vec<Arc<Sequence>>);

/// What a schema holds, by its names.
pub(crate) fn content(catalog: &Catalog, schema: Id) -> Content {
    let (mut tables, mut views, mut sequences) = (Vec::new(), Vec::new(), Vec::new());
    for (_, named) in catalog.names().in_schema(schema) {
        match named {
            Named::Table(id) => tables.extend(catalog.table(id).cloned()),
            Named::View(id) => views.extend(catalog.views().get(id).cloned()),
            Named::Sequence(id) => sequences.extend(catalog.sequences().get(id).cloned()),
            Named::Composite(_) | Named::Index(..) => {}
        }
    }
    (tables, views, sequences)
}

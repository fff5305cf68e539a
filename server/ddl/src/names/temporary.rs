//! Temporary objects: where new ones go, which statements concern nothing else, and what a commit
//! does to them.
//!
//! A statement about temporary objects only does not lock the catalog: nobody else knows them.

use std::sync::Arc;

use braid_catalog::{Object, Relation, Schema, Table, is_temporary};
use braid_sql::ast::{
    AlterTarget, CommentTarget, DropKind, Ident, ObjectName, ObjectNamePart, OtherObject, Statement,
};
use braid_types::{Error, Result, SqlState};

use crate::context::DdlContext;
use crate::names::lookup::parts;

/// PostgreSQL's warning of `GLOBAL TEMPORARY`, which means the same as TEMPORARY.
const GLOBAL_IS_DEPRECATED: &str = "GLOBAL is deprecated in temporary table creation";

/// Where a new relation goes that may be temporary. 42P16 for a temporary one in another
/// schema, 42501 if the user may make none.
pub(crate) fn target_of(
    cx: &mut DdlContext<'_>,
    name: &ObjectName,
    temporary: bool,
) -> Result<(Arc<Schema>, String)> {
    let parts = parts(name);
    let catalog = cx.catalog();
    let unqualified = temporary && parts.len() == 1;
    let (true, Some(name)) =
        (unqualified || catalog.names().creates_temporary(cx.path(), &parts), parts.last())
    else {
        let found = cx.target(name)?;
        return if temporary { Err(not_temporary()) } else { Ok(found) };
    };
    let database = cx.path().database;
    if let Some(database) = catalog.database(database)
        && !catalog.privileges().has(cx.user(), Object::Database(database), "TEMPORARY")
    {
        let message = format!(
            "permission denied to create temporary tables in database \"{}\"",
            database.name
        );
        return Err(Error::new(SqlState::InsufficientPrivilege, message));
    }
    let session = cx.exec.env.backend_pid();
    Ok((cx.draft()?.temporary_schema(database, session), name.clone()))
}

/// The WARNING of `GLOBAL TEMPORARY`.
pub(crate) fn warn_of_global(cx: &mut DdlContext<'_>, is_global: bool) {
    if is_global {
        cx.notice(SqlState::Warning, GLOBAL_IS_DEPRECATED.to_owned());
    }
}

/// Whether a statement can change temporary objects only.
pub(crate) fn is_of_temporary(cx: &DdlContext<'_>, statement: &Statement) -> bool {
    let catalog = cx.catalog();
    let creates = |temporary: bool, name: &ObjectName| {
        temporary || catalog.names().creates_temporary(cx.path(), &parts(name))
    };
    // `DROP TABLE IF EXISTS pg_temp.t` of a table that is not there concerns nobody else, either.
    let is_qualified = |name: &ObjectName| {
        let parts = parts(name);
        parts.len() > 1 && catalog.names().creates_temporary(cx.path(), &parts)
    };
    let all = |names: &[ObjectName]| {
        let is_temporary = |name: &ObjectName| names_temporary(cx, name) || is_qualified(name);
        !names.is_empty() && names.iter().all(is_temporary)
    };
    match statement {
        Statement::CreateTable(create) => creates(create.temporary, &create.name),
        Statement::CreateView(create) => creates(create.temporary, &create.name),
        Statement::CreateSequence(create) => creates(create.temporary, &create.name),
        Statement::CreateRoutine(create) => creates(false, &create.name),
        Statement::CreateAggregate(create) => creates(false, &create.name),
        Statement::CreateIndex(create) => names_temporary(cx, &create.table),
        Statement::AlterTable(alter) => names_temporary(cx, &alter.name),
        Statement::AlterIndex(alter) => names_temporary(cx, &alter.name),
        Statement::AlterSequence(alter) => names_temporary(cx, &alter.name),
        Statement::CreateTrigger(create) => names_temporary(cx, &create.table),
        Statement::CreatePolicy(create) => names_temporary(cx, &create.table),
        Statement::AlterPolicy(alter) => names_temporary(cx, &alter.table),
        Statement::AlterView(alter) => names_temporary(cx, &alter.name),
        Statement::DropOther(drop) => match drop.items.as_slice() {
            [OtherObject::OnTable { table, .. }] => names_temporary(cx, table),
            _ => false,
        },
        Statement::Drop(drop) => is_relation(drop.kind) && all(&drop.names),
        Statement::Truncate(truncate) => all(&truncate.tables),
        Statement::Rename(rename) => match &rename.target {
            AlterTarget::Table(name)
            | AlterTarget::Index(name)
            | AlterTarget::View(name)
            | AlterTarget::MaterializedView(name)
            | AlterTarget::Sequence(name)
            | AlterTarget::Trigger { table: name, .. }
            | AlterTarget::Policy { table: name, .. } => names_temporary(cx, name),
            AlterTarget::Type(_)
            | AlterTarget::Domain(_)
            | AlterTarget::Collation(_)
            | AlterTarget::Statistics(_)
            | AlterTarget::Routine(_)
            | AlterTarget::Schema(_)
            | AlterTarget::Database(_) => false,
        },
        Statement::Comment(comment) => match &comment.target {
            CommentTarget::Table(name)
            | CommentTarget::Index(name)
            | CommentTarget::View(name)
            | CommentTarget::MaterializedView(name)
            | CommentTarget::Sequence(name)
            | CommentTarget::Constraint { table: name, .. }
            | CommentTarget::Trigger { table: name, .. }
            | CommentTarget::Policy { table: name, .. } => names_temporary(cx, name),
            _ => false,
        },
        _ => false,
    }
}

/// Whether a name means a temporary relation.
pub(crate) fn names_temporary(cx: &DdlContext<'_>, name: &ObjectName) -> bool {
    match cx.find(name) {
        Ok(Some(Relation::Index(table, _))) => is_temporary(table.id),
        Ok(Some(found)) => is_temporary(found.oid()),
        Ok(None) | Err(_) => false,
    }
}

/// A relation's name with its schema.
pub(crate) fn qualified_name(
    cx: &DdlContext<'_>,
    schema: braid_catalog::Id,
    name: &str,
) -> ObjectName {
    let part = |name: &str| ObjectNamePart::Identifier(Ident::with_quote('"', name));
    ObjectName(vec![part(&cx.catalog().schema_name(schema)), part(name)])
}

/// 42P16: TEMPORARY together with the name of another schema.
pub(crate) fn not_temporary() -> Error {
    let message = "cannot create temporary relation in non-temporary schema";
    Error::new(SqlState::InvalidTableDefinition, message)
}

/// 42P16 if a foreign key would join a temporary table and one that is not.
pub(crate) fn check_same_lifetime(child: &Table, parent: &Table) -> Result<()> {
    let refused = |kind: &str, allowed: &str| {
        let message = format!("constraints on {kind} tables may reference only {allowed} tables");
        Err(Error::new(SqlState::InvalidTableDefinition, message))
    };
    match (is_temporary(child.id), is_temporary(parent.id)) {
        (true, false) => refused("temporary", "temporary"),
        (false, true) if child.unlogged => refused("unlogged", "permanent or unlogged"),
        (false, true) => refused("permanent", "permanent"),
        _ => Ok(()),
    }
}

/// Whether the names of a DROP of this kind are names of relations.
fn is_relation(kind: DropKind) -> bool {
    matches!(kind, DropKind::Table | DropKind::Index | DropKind::View | DropKind::Sequence)
}

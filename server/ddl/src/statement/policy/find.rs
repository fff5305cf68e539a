//! The policy that a statement names: RENAME, COMMENT and DROP.

use std::sync::Arc;

use braid_catalog::{Object, Policy, Relation, RowSecurity, Table};
use braid_sql::ast::{DropOther, ObjectName, RenameKind};
use braid_sql::fold;
use braid_types::{Error, Result, SqlState};

use crate::context::DdlContext;
use crate::names::lookup::{lacks_schema, parts, skip, undefined, wrong_kind};

/// 42710: the table has a policy of that name.
pub(super) fn duplicate(name: &str, table: &str) -> Error {
    let message = format!("policy \"{name}\" for table \"{table}\" already exists");
    Error::new(SqlState::DuplicateObject, message)
}

/// 42704: a table has no such policy.
pub(super) fn missing(name: &str, table: &str) -> Error {
    let message = format!("policy \"{name}\" for table \"{table}\" does not exist");
    Error::new(SqlState::UndefinedObject, message)
}

/// The table of that name, which the user must own. The owner is checked before the kind.
pub(super) fn own_table(cx: &DdlContext<'_>, name: &ObjectName) -> Result<Arc<Table>> {
    let Some(found) = cx.find(name)? else {
        return Err(undefined("relation", &parts(name)));
    };
    cx.check_owner(Object::from(&found))?;
    match found {
        Relation::Table(table) if table.materialized.is_none() => Ok(table),
        other => Err(wrong_kind(other.name(), "table")),
    }
}

/// Gives a table other policies, which are kept by name.
pub(super) fn put_policies(
    cx: &mut DdlContext<'_>,
    table: &Table,
    mut policies: Vec<Policy>,
) -> Result<()> {
    policies.sort_by(|a, b| a.name.cmp(&b.name));
    let (enabled, forced) = (table.security.enabled, table.security.forced);
    let security = RowSecurity { policies, enabled, forced };
    cx.draft()?.put(Table { security, ..table.clone() });
    Ok(())
}

/// `ALTER POLICY … RENAME TO`
pub(crate) fn rename(
    cx: &mut DdlContext<'_>,
    name: &str,
    table: &ObjectName,
    (kind, if_exists): (&RenameKind, bool),
) -> Result<()> {
    let RenameKind::To(new) = kind else {
        let message = "a policy can only be given another name";
        return Err(Error::new(SqlState::SyntaxError, message));
    };
    let new = fold(new);
    if if_exists && cx.find(table)?.is_none() {
        let message = format!("relation \"{}\" does not exist", parts(table).join("."));
        return skip(cx, SqlState::UndefinedTable, message, true);
    }
    let table = own_table(cx, table)?;
    let mut policies = table.security.policies.clone();
    if policies.iter().any(|policy| policy.name == new) {
        return Err(duplicate(&new, &table.name));
    }
    let found = policies.iter_mut().find(|policy| policy.name == name);
    found.ok_or_else(|| missing(name, &table.name))?.name = new;
    put_policies(cx, &table, policies)
}

/// `COMMENT ON POLICY`
pub(crate) fn comment(
    cx: &mut DdlContext<'_>,
    name: &str,
    table: &ObjectName,
    text: Option<String>,
) -> Result<()> {
    let Some(Relation::Table(found)) = cx.find(table)? else {
        return Err(undefined("relation", &parts(table)));
    };
    let mut policies = found.security.policies.clone();
    let policy = policies.iter_mut().find(|policy| policy.name == name);
    policy.ok_or_else(|| missing(name, &found.name))?.comment = text;
    cx.check_owner(Object::Table(&found)).map_err(|error| {
        let message = format!("must be owner of relation {}", found.name);
        Error::new(error.state(), message)
    })?;
    put_policies(cx, &found, policies)
}

/// `DROP POLICY`
pub(crate) fn drop_policy(
    cx: &mut DdlContext<'_>,
    statement: &DropOther,
    name: &str,
    table: &ObjectName,
) -> Result<()> {
    let if_exists = statement.if_exists;
    let written = parts(table);
    let Some(relation) = cx.find(table)? else {
        if lacks_schema(cx, &written, if_exists)? {
            return Ok(());
        }
        let error = undefined("relation", &written);
        return skip(cx, error.state(), error.message().to_owned(), if_exists);
    };
    let Relation::Table(table) = &relation else {
        return match if_exists {
            true => skip(cx, SqlState::UndefinedObject, absent(name, &written), true),
            false => Err(missing(name, relation.name())),
        };
    };
    let mut policies = table.security.policies.clone();
    if !policies.iter().any(|policy| policy.name == name) {
        return match if_exists {
            true => skip(cx, SqlState::UndefinedObject, absent(name, &written), true),
            false => Err(missing(name, &table.name)),
        };
    }
    cx.check_owner(Object::Table(table)).map_err(|error| {
        let message = format!("must be owner of relation {}", table.name);
        Error::new(error.state(), message)
    })?;
    policies.retain(|policy| policy.name != name);
    put_policies(cx, table, policies)
}

/// What the notice of IF EXISTS says.
fn absent(name: &str, relation: &[String]) -> String {
    format!("policy \"{name}\" for relation \"{}\" does not exist", relation.join("."))
}

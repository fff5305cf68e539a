//! CREATE POLICY, ALTER POLICY, and ROW LEVEL SECURITY of ALTER TABLE.

use std::sync::Arc;

use braid_catalog::{Id, PUBLIC, Policy, PolicyCommand, PolicyExpr, Table};
use braid_plan::{NoStoredForm, identify_policy};
use braid_sql::ast::{self, AlterPolicy, CreatePolicy, Grantee, RowSecurityChange};
use braid_sql::fold;
use braid_types::{Error, Result, SqlState};

use super::find::{duplicate, missing, own_table, put_policies};
use crate::context::DdlContext;
use crate::roles::user::grantee;

fn misplaced(message: &str) -> Error {
    Error::new(SqlState::SyntaxError, message)
}

fn command(written: ast::PolicyCommand) -> PolicyCommand {
    match written {
        ast::PolicyCommand::All => PolicyCommand::All,
        ast::PolicyCommand::Select => PolicyCommand::Select,
        ast::PolicyCommand::Insert => PolicyCommand::Insert,
        ast::PolicyCommand::Update => PolicyCommand::Update,
        ast::PolicyCommand::Delete => PolicyCommand::Delete,
    }
}

/// `CREATE POLICY`
pub(crate) fn create(cx: &mut DdlContext<'_>, create: &CreatePolicy) -> Result<()> {
    let command = command(create.command);
    let only_using = matches!(command, PolicyCommand::Select | PolicyCommand::Delete);
    if only_using && create.check.is_some() {
        return Err(misplaced("WITH CHECK cannot be applied to SELECT or DELETE"));
    }
    if command == PolicyCommand::Insert && create.using.is_some() {
        return Err(misplaced("only WITH CHECK expression allowed for INSERT"));
    }
    let roles = roles(cx, &create.roles)?;
    let table = own_table(cx, &create.table)?;
    let using = condition(cx, &table, create.using.as_ref())?;
    let check = condition(cx, &table, create.check.as_ref())?;
    let name = fold(&create.name);
    if table.security.policies.iter().any(|policy| policy.name == name) {
        return Err(duplicate(&name, &table.name));
    }
    let id = cx.draft()?.allocate_id(table.id);
    let permissive = create.permissive;
    let policy = Policy { id, name, permissive, command, roles, using, check, comment: None };
    let mut policies = table.security.policies.clone();
    policies.push(policy);
    put_policies(cx, &table, policies)
}

/// `ALTER POLICY`
pub(crate) fn alter(cx: &mut DdlContext<'_>, alter: &AlterPolicy) -> Result<()> {
    let roles = match &alter.roles {
        Some(written) => Some(roles(cx, written)?),
        None => None,
    };
    let table = own_table(cx, &alter.table)?;
    let using = condition(cx, &table, alter.using.as_ref())?;
    let check = condition(cx, &table, alter.check.as_ref())?;
    let name = fold(&alter.name);
    let mut policies = table.security.policies.clone();
    let found = policies.iter_mut().find(|policy| policy.name == name);
    let policy = found.ok_or_else(|| missing(&name, &table.name))?;
    let only_using = matches!(policy.command, PolicyCommand::Select | PolicyCommand::Delete);
    if only_using && check.is_some() {
        return Err(misplaced("only USING expression allowed for SELECT, DELETE"));
    }
    if policy.command == PolicyCommand::Insert && using.is_some() {
        return Err(misplaced("only WITH CHECK expression allowed for INSERT"));
    }
    if let Some(roles) = roles {
        policy.roles = roles;
    }
    policy.using = using.or_else(|| policy.using.take());
    policy.check = check.or_else(|| policy.check.take());
    put_policies(cx, &table, policies)
}

/// The roles of TO; everybody without it.
fn roles(cx: &mut DdlContext<'_>, written: &[Grantee]) -> Result<Vec<Id>> {
    if written.is_empty() {
        return Ok(vec![PUBLIC]);
    }
    let is_public = |role: &Grantee| *role == Grantee::Public;
    if written.iter().any(is_public) {
        if written.len() > 1 {
            let warning = "ignoring specified roles other than PUBLIC";
            let warning = Error::new(SqlState::Warning, warning);
            cx.notices.push(warning.hint("All roles are members of the PUBLIC role."));
        }
        return Ok(vec![PUBLIC]);
    }
    let mut roles = Vec::with_capacity(written.len());
    for role in written {
        roles.push(grantee(cx, role)?.unwrap_or(PUBLIC));
    }
    Ok(roles)
}

/// A condition as it is stored. 0A000 for one that cannot be.
fn condition(
    cx: &DdlContext<'_>,
    table: &Arc<Table>,
    written: Option<&ast::Expr>,
) -> Result<Option<PolicyExpr>> {
    let Some(written) = written else { return Ok(None) };
    let found = cx.plan(|context| identify_policy(written, table, context));
    found.map(Some).map_err(|error| match error.cause::<NoStoredForm>() {
        Some(_) => Error::unsupported("this condition of a policy"),
        None => error,
    })
}

/// `ENABLE`, `DISABLE`, `FORCE` and `NO FORCE ROW LEVEL SECURITY`
pub(crate) fn set_security(
    cx: &mut DdlContext<'_>,
    table: &Arc<Table>,
    change: RowSecurityChange,
) -> Result<()> {
    let mut table = Table::clone(table);
    match change {
        RowSecurityChange::Enable => table.security.enabled = true,
        RowSecurityChange::Disable => table.security.enabled = false,
        RowSecurityChange::Force => table.security.forced = true,
        RowSecurityChange::NoForce => table.security.forced = false,
    }
    cx.draft()?.put(table);
    Ok(())
}

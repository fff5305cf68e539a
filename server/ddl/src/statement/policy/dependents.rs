//! What policies depend on: relations, functions, columns and roles.

use std::sync::Arc;

use braid_catalog::{Catalog, ColumnId, Id, Mentioning, Policy, Table};
use braid_types::Result;

use super::find::put_policies;
use crate::context::DdlContext;
use crate::names::describe::describe;
use crate::table::expr_text::columns_used;

/// `policy p on table t`.
pub(crate) fn describe_policy(cx: &DdlContext<'_>, table: &Table, policy: &Policy) -> String {
    format!("policy {} on {}", policy.name, describe(cx, &cx.catalog(), table.id))
}

/// The policies whose conditions name a relation or a function, with their tables.
pub(crate) fn policies_using(catalog: &Catalog, id: Id) -> Vec<(Arc<Table>, Policy)> {
    let mut found = Vec::new();
    for table in Mentioning::of(catalog, id).tables() {
        let using = table.security.policies.iter().filter(|policy| policy.uses(id));
        found.extend(using.map(|policy| (table.clone(), policy.clone())));
    }
    found.sort_by_key(|(_, policy)| policy.id);
    found
}

/// The policies whose conditions read a column of a table, with their tables.
pub(crate) fn policies_reading(
    catalog: &Catalog,
    table: &Table,
    column: ColumnId,
) -> Vec<(Arc<Table>, Policy)> {
    let mut found = Vec::new();
    for of in catalog.tables().iter() {
        let reads = |policy: &&Policy| {
            let reads_own = |policy: &Policy| {
                let mut conditions = policy.conditions();
                conditions.any(|condition| columns_used(of, &condition.expr).contains(&column))
            };
            policy.reads(table.id, column) || (of.id == table.id && reads_own(policy))
        };
        let reading = of.security.policies.iter().filter(reads);
        found.extend(reading.map(|policy| (of.clone(), policy.clone())));
    }
    found
}

/// Drops the policies that name a function; their descriptions.
pub(crate) fn drop_policies_using(cx: &mut DdlContext<'_>, id: Id) -> Result<Vec<String>> {
    let mut lines = Vec::new();
    for (table, policy) in policies_using(&cx.catalog(), id) {
        lines.push(describe_policy(cx, &table, &policy));
        let Some(table) = cx.catalog().table(table.id).cloned() else { continue };
        let mut policies = table.security.policies.clone();
        policies.retain(|other| other.id != policy.id);
        put_policies(cx, &table, policies)?;
    }
    Ok(lines)
}

/// The policies of a table as DROP OWNED leaves them: without these roles, and without those that
/// were for no other role. `None` if none is for them.
pub(crate) fn without_roles(table: &Table, roles: &[Id]) -> Option<Vec<Policy>> {
    let policies = &table.security.policies;
    let is_theirs = |role: &Id| roles.contains(role);
    if !policies.iter().any(|policy| policy.roles.iter().any(is_theirs)) {
        return None;
    }
    let mut policies = policies.clone();
    policies.iter_mut().for_each(|policy| policy.roles.retain(|role| !is_theirs(role)));
    policies.retain(|policy| !policy.roles.is_empty());
    Some(policies)
}

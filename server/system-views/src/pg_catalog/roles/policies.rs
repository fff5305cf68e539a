//! `pg_policy` and `pg_policies`: row-level security.

use std::collections::BTreeSet;

use braid_catalog::{PUBLIC, Policy, PolicyExpr, Table};
use braid_types::{Datum, Result, Row, SqlType};

use crate::cell::{flag, int, ints, optional, text};
use crate::context::{RowsOf, VirtualContext};
use crate::row_builder::RowBuilder;

pub(crate) fn rows_of(name: &str) -> Option<RowsOf> {
    Some(match name {
        "pg_policy" => pg_policy,
        "pg_policies" => pg_policies,
        _ => return None,
    })
}

fn pg_policy(cx: &VirtualContext<'_>) -> Result<Vec<Row>> {
    let mut builder = RowBuilder::new(
        "pg_policy",
        &[
            "oid",
            "polname",
            "polrelid",
            "polcmd",
            "polpermissive",
            "polroles",
            "polqual",
            "polwithcheck",
        ],
    );
    let names = cx.names();
    for table in cx.catalog.tables().in_database(cx.path.database) {
        let node = |condition: &Option<PolicyExpr>| {
            optional(condition.as_ref().map(|found| names.node_text(table, &[&found.expr])))
        };
        // In the order in which they were made, as PostgreSQL's catalog has them.
        let mut policies: Vec<&Policy> = table.security.policies.iter().collect();
        policies.sort_by_key(|policy| policy.id);
        for policy in policies {
            builder.push([
                int(policy.id),
                text(&policy.name),
                int(table.id),
                text(policy.command.letter()),
                flag(policy.permissive),
                ints(SqlType::Oid, policy.roles.iter().map(|role| i64::from(*role))),
                node(&policy.using),
                node(&policy.check),
            ]);
        }
    }
    builder.rows()
}

fn pg_policies(cx: &VirtualContext<'_>) -> Result<Vec<Row>> {
    let mut builder = RowBuilder::new(
        "pg_policies",
        &[
            "schemaname",
            "tablename",
            "policyname",
            "permissive",
            "roles",
            "cmd",
            "qual",
            "with_check",
        ],
    );
    let names = cx.names();
    let shown = |table: &Table, condition: &Option<PolicyExpr>| {
        optional(condition.as_ref().map(|found| names.expr(table, &found.expr, false)))
    };
    for table in cx.catalog.tables().in_database(cx.path.database) {
        for policy in &table.security.policies {
            builder.push([
                text(cx.catalog.schema_name(table.schema)),
                text(&table.name),
                text(&policy.name),
                text(if policy.permissive { "PERMISSIVE" } else { "RESTRICTIVE" }),
                roles(cx, policy),
                text(policy.command.word()),
                shown(table, &policy.using),
                shown(table, &policy.check),
            ]);
        }
    }
    builder.rows()
}

/// The names of a policy's roles, each once.
fn roles(cx: &VirtualContext<'_>, policy: &Policy) -> Datum {
    let name = |role: &braid_catalog::Id| match *role {
        PUBLIC => "public".to_owned(),
        role => cx.catalog.role_name(role),
    };
    let names: BTreeSet<String> = policy.roles.iter().map(name).collect();
    Datum::array(SqlType::Name, names.iter().map(text).collect())
}

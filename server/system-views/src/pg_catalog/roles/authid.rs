//! `pg_authid` and the views on it: `pg_roles`, `pg_user`, `pg_shadow`.

use braid_catalog::{ROOT, Role};
use braid_types::text::parse;
use braid_types::{Datum, FormatSettings, Result, Row, SqlType};

use super::settings::settings;
use crate::cell::{flag, int, optional, text};
use crate::context::{RowsOf, VirtualContext};
use crate::row_builder::RowBuilder;

pub(crate) fn rows_of(name: &str) -> Option<RowsOf> {
    Some(match name {
        "pg_authid" => pg_authid,
        "pg_roles" => pg_roles,
        "pg_user" => |cx| users(cx, "pg_user"),
        "pg_shadow" => |cx| users(cx, "pg_shadow"),
        _ => return None,
    })
}

/// Whether the session's user may see secrets.
fn sees_secrets(cx: &VirtualContext<'_>) -> bool {
    let user = cx.catalog.names().role(cx.env.current_user());
    user.is_some_and(|user| user.superuser)
}

fn connection_limit(role: &Role) -> Datum {
    int(role.connection_limit.unwrap_or(-1))
}

/// When its password ends; NULL if never.
fn valid_until(role: &Role) -> Datum {
    let until = role
        .valid_until
        .as_deref()
        .map(|text| parse(&SqlType::Timestamptz, text, &FormatSettings::default(), 0));
    until.and_then(Result::ok).unwrap_or(Datum::Null)
}

/// BYPASSRLS. The first superuser has it from the start.
fn bypasses(role: &Role) -> bool {
    role.bypass_policies || role.id == ROOT
}

fn pg_authid(cx: &VirtualContext<'_>) -> Result<Vec<Row>> {
    let mut builder = RowBuilder::new(
        "pg_authid",
        &[
            "oid",
            "rolname",
            "rolsuper",
            "rolinherit",
            "rolcreaterole",
            "rolcreatedb",
            "rolcanlogin",
            "rolconnlimit",
            "rolpassword",
            "rolreplication",
            "rolbypassrls",
            "rolvaliduntil",
        ],
    );
    let secrets = sees_secrets(cx);
    for role in cx.catalog.roles().iter() {
        let password = role.password.as_ref();
        let hidden = password.map(|_| "********");
        builder.push([
            int(role.id),
            text(&role.name),
            flag(role.superuser),
            flag(!role.no_inherit),
            flag(role.create_role),
            flag(role.create_db),
            flag(role.login),
            connection_limit(role),
            if secrets { optional(password) } else { optional(hidden) },
            flag(role.replication),
            flag(bypasses(role)),
            valid_until(role),
        ]);
    }
    builder.rows()
}

fn pg_roles(cx: &VirtualContext<'_>) -> Result<Vec<Row>> {
    let mut builder = RowBuilder::new(
        "pg_roles",
        &[
            "rolname",
            "rolsuper",
            "rolinherit",
            "rolcreaterole",
            "rolcreatedb",
            "rolcanlogin",
            "rolconnlimit",
            "rolpassword",
            "rolbypassrls",
            "rolconfig",
            "oid",
            "rolreplication",
            "rolvaliduntil",
        ],
    );
    for role in cx.catalog.roles().iter() {
        builder.push([
            text(&role.name),
            flag(role.superuser),
            flag(!role.no_inherit),
            flag(role.create_role),
            flag(role.create_db),
            flag(role.login),
            connection_limit(role),
            text("********"),
            flag(bypasses(role)),
            settings(role),
            int(role.id),
            flag(role.replication),
            valid_until(role),
        ]);
    }
    builder.rows()
}

fn users(cx: &VirtualContext<'_>, name: &str) -> Result<Vec<Row>> {
    let columns =
        ["usename", "usesysid", "usecreatedb", "usesuper", "usebypassrls", "passwd", "useconfig"];
    let mut builder = RowBuilder::new(name, &columns);
    let secrets = name == "pg_shadow" && sees_secrets(cx);
    for role in cx.catalog.roles().iter().filter(|role| role.login) {
        builder.push([
            text(&role.name),
            int(role.id),
            flag(role.create_db),
            flag(role.superuser),
            flag(bypasses(role)),
            if secrets { optional(role.password.as_ref()) } else { text("********") },
            settings(role),
        ]);
    }
    builder.rows()
}

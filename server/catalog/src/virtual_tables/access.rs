//! Databases and roles: `pg_database`, `pg_authid` and the views on it, memberships.

use std::collections::BTreeSet;

use braid_types::text::parse;
use braid_types::{Datum, FormatSettings, Result, Row, SqlType};

use super::registry::{RowsOf, VirtualContext};
use super::sheet::{Sheet, acl_items, flag, int, ints, optional, text, texts};
use crate::{Id, Object, ROOT, Role};

pub(super) fn rows_of(name: &str) -> Option<RowsOf> {
    Some(match name {
        "pg_database" => pg_database,
        "pg_authid" => pg_authid,
        "pg_roles" => pg_roles,
        "pg_user" => |cx| users(cx, "pg_user"),
        "pg_shadow" => |cx| users(cx, "pg_shadow"),
        "pg_group" => pg_group,
        "pg_auth_members" => pg_auth_members,
        "pg_db_role_setting" => pg_db_role_setting,
        _ => return None,
    })
}

fn pg_database(cx: &VirtualContext<'_>) -> Result<Vec<Row>> {
    let mut sheet = Sheet::new(
        "pg_database",
        &[
            "oid",
            "datname",
            "datdba",
            "encoding",
            "datlocprovider",
            "datistemplate",
            "datallowconn",
            "datconnlimit",
            "dattablespace",
            "datcollate",
            "datctype",
            "datacl",
        ],
    );
    for database in cx.catalog.databases() {
        sheet.push([
            int(database.id),
            text(&database.name),
            int(database.owner),
            int(6),
            text("c"),
            flag(false),
            flag(true),
            int(-1),
            int(1663),
            text("C"),
            text("C.UTF-8"),
            acl_items(cx.catalog.acl(Object::Database(database))),
        ]);
    }
    // Tools expect PostgreSQL's templates. Nobody can connect to them.
    for (oid, name) in [(4, "template0"), (1, "template1")] {
        sheet.push([
            int(oid),
            text(name),
            int(ROOT),
            int(6),
            text("c"),
            flag(true),
            flag(false),
            int(-1),
            int(1663),
            text("C"),
            text("C.UTF-8"),
            acl_items(None),
        ]);
    }
    sheet.rows()
}

/// Whether the session's user may see secrets.
fn sees_secrets(cx: &VirtualContext<'_>) -> bool {
    let user = cx.catalog.role_by_name(cx.env.current_user());
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

fn settings(role: &Role) -> Datum {
    let settings: Vec<String> =
        role.settings.iter().map(|(name, value)| format!("{name}={value}")).collect();
    texts(Some(settings).filter(|settings| !settings.is_empty()))
}

fn pg_authid(cx: &VirtualContext<'_>) -> Result<Vec<Row>> {
    let mut sheet = Sheet::new(
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
    for role in cx.catalog.roles() {
        let password = role.password.as_ref();
        let hidden = password.map(|_| "********");
        sheet.push([
            int(role.id),
            text(&role.name),
            flag(role.superuser),
            flag(true),
            flag(role.create_role),
            flag(role.create_db),
            flag(role.login),
            connection_limit(role),
            if secrets { optional(password) } else { optional(hidden) },
            flag(role.replication),
            flag(role.superuser),
            valid_until(role),
        ]);
    }
    sheet.rows()
}

fn pg_roles(cx: &VirtualContext<'_>) -> Result<Vec<Row>> {
    let mut sheet = Sheet::new(
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
    for role in cx.catalog.roles() {
        sheet.push([
            text(&role.name),
            flag(role.superuser),
            flag(true),
            flag(role.create_role),
            flag(role.create_db),
            flag(role.login),
            connection_limit(role),
            text("********"),
            flag(role.superuser),
            settings(role),
            int(role.id),
            flag(role.replication),
            valid_until(role),
        ]);
    }
    sheet.rows()
}

fn users(cx: &VirtualContext<'_>, name: &str) -> Result<Vec<Row>> {
    let columns =
        ["usename", "usesysid", "usecreatedb", "usesuper", "usebypassrls", "passwd", "useconfig"];
    let mut sheet = Sheet::new(name, &columns);
    let secrets = name == "pg_shadow" && sees_secrets(cx);
    for role in cx.catalog.roles().filter(|role| role.login) {
        sheet.push([
            text(&role.name),
            int(role.id),
            flag(role.create_db),
            flag(role.superuser),
            flag(role.superuser),
            if secrets { optional(role.password.as_ref()) } else { text("********") },
            settings(role),
        ]);
    }
    sheet.rows()
}

fn pg_group(cx: &VirtualContext<'_>) -> Result<Vec<Row>> {
    let mut sheet = Sheet::new("pg_group", &["groname", "grosysid", "grolist"]);
    for role in cx.catalog.roles().filter(|role| !role.login) {
        let members = cx.catalog.roles().filter(|member| member.member_of.contains(&role.id));
        let members = ints(SqlType::Oid, members.map(|member| i64::from(member.id)));
        sheet.push([text(&role.name), int(role.id), members]);
    }
    sheet.rows()
}

fn pg_auth_members(cx: &VirtualContext<'_>) -> Result<Vec<Row>> {
    let columns = ["roleid", "member", "grantor", "admin_option"];
    let mut sheet = Sheet::new("pg_auth_members", &columns);
    for role in cx.catalog.roles() {
        for parent in &role.member_of {
            let admin = role.admin_of.contains(parent);
            sheet.push([int(*parent), int(role.id), int(ROOT), flag(admin)]);
        }
    }
    sheet.rows()
}

fn pg_db_role_setting(cx: &VirtualContext<'_>) -> Result<Vec<Row>> {
    let mut sheet = Sheet::new("pg_db_role_setting", &["setdatabase", "setrole", "setconfig"]);
    for role in cx.catalog.roles().filter(|role| !role.settings.is_empty()) {
        sheet.push([int(0), int(role.id), settings(role)]);
    }
    for database in cx.catalog.databases() {
        let roles: BTreeSet<Id> = database.settings.iter().map(|setting| setting.role).collect();
        for role in roles {
            let own = database.settings.iter().filter(|setting| setting.role == role);
            let lines = own.map(|setting| format!("{}={}", setting.name, setting.value)).collect();
            sheet.push([int(database.id), int(role), texts(Some(lines))]);
        }
    }
    sheet.rows()
}

//! Databases and roles: `pg_database`, `pg_authid` and the views on it, memberships.

pub(crate) mod policies;

use std::collections::BTreeSet;

use braid_types::text::parse;
use braid_types::{Datum, FormatSettings, Result, Row, SqlType};

use crate::cell::{acl_items, flag, int, ints, optional, text, texts};
use crate::context::{RowsOf, VirtualContext};
use crate::row_builder::RowBuilder;
use braid_catalog::{Id, Object, ROOT, Role, TEMPLATE_DATABASE};

pub(crate) fn rows_of(name: &str) -> Option<RowsOf> {
    Some(match name {
        "pg_database" => pg_database,
        "pg_authid" => pg_authid,
        "pg_roles" => pg_roles,
        "pg_user" => |cx| users(cx, "pg_user"),
        "pg_shadow" => |cx| users(cx, "pg_shadow"),
        "pg_group" => pg_group,
        "pg_auth_members" => pg_auth_members,
        "pg_db_role_setting" => pg_db_role_setting,
        "pg_default_acl" => pg_default_acl,
        _ => return None,
    })
}

/// PostgreSQL's templates, which are shown even if there is no database of that name.
pub(crate) const TEMPLATES: [(Id, &str); 2] = [(4, "template0"), (TEMPLATE_DATABASE, "template1")];

/// The name of a template with that number.
pub(crate) fn template_name(oid: Id) -> Option<&'static str> {
    TEMPLATES.iter().find(|(known, _)| *known == oid).map(|(_, name)| *name)
}

/// The first number of a transaction, and of a group of them: none is ever used up.
const FIRST_TRANSACTIONS: [i32; 2] = [3, 1];

fn pg_database(cx: &VirtualContext<'_>) -> Result<Vec<Row>> {
    let mut builder = RowBuilder::new(
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
            "datfrozenxid",
            "datminmxid",
            "dattablespace",
            "datcollate",
            "datctype",
            "datacl",
        ],
    );
    for database in cx.catalog.databases().iter() {
        builder.push([
            int(database.id),
            text(&database.name),
            int(database.owner),
            int(6),
            text("c"),
            flag(database.id == TEMPLATE_DATABASE || database.is_template),
            flag(!database.refuses_connections),
            int(database.connection_limit.unwrap_or(-1)),
            int(FIRST_TRANSACTIONS[0]),
            int(FIRST_TRANSACTIONS[1]),
            int(1663),
            text("C"),
            text("C.UTF-8"),
            acl_items(cx.catalog.privileges().acl(Object::Database(database))),
        ]);
    }
    // Tools expect PostgreSQL's templates. Nobody can connect to those without a descriptor: an
    // old store has none for `template1`.
    for (oid, name) in TEMPLATES.into_iter().filter(|(oid, _)| cx.catalog.database(*oid).is_none())
    {
        builder.push([
            int(oid),
            text(name),
            int(ROOT),
            int(6),
            text("c"),
            flag(true),
            flag(false),
            int(-1),
            int(FIRST_TRANSACTIONS[0]),
            int(FIRST_TRANSACTIONS[1]),
            int(1663),
            text("C"),
            text("C.UTF-8"),
            acl_items(None),
        ]);
    }
    builder.rows()
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

fn settings(role: &Role) -> Datum {
    let settings: Vec<String> =
        role.settings.iter().map(|(name, value)| format!("{name}={value}")).collect();
    texts(Some(settings).filter(|settings| !settings.is_empty()))
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

fn pg_group(cx: &VirtualContext<'_>) -> Result<Vec<Row>> {
    let mut builder = RowBuilder::new("pg_group", &["groname", "grosysid", "grolist"]);
    for role in cx.catalog.roles().iter().filter(|role| !role.login) {
        let members =
            cx.catalog.roles().iter().filter(|member| member.member_of.contains(&role.id));
        let members = ints(SqlType::Oid, members.map(|member| i64::from(member.id)));
        builder.push([text(&role.name), int(role.id), members]);
    }
    builder.rows()
}

fn pg_auth_members(cx: &VirtualContext<'_>) -> Result<Vec<Row>> {
    let columns = ["roleid", "member", "grantor", "admin_option"];
    let mut builder = RowBuilder::new("pg_auth_members", &columns);
    for role in cx.catalog.roles().iter() {
        for parent in &role.member_of {
            let admin = role.admin_of.contains(parent);
            let grantor = role.grantor_of(*parent);
            builder.push([int(*parent), int(role.id), int(grantor), flag(admin)]);
        }
    }
    builder.rows()
}

fn pg_db_role_setting(cx: &VirtualContext<'_>) -> Result<Vec<Row>> {
    let mut builder =
        RowBuilder::new("pg_db_role_setting", &["setdatabase", "setrole", "setconfig"]);
    for role in cx.catalog.roles().iter().filter(|role| !role.settings.is_empty()) {
        builder.push([int(0), int(role.id), settings(role)]);
    }
    for role in cx.catalog.roles().iter().filter(|role| !role.everyone.is_empty()) {
        let lines = role.everyone.iter().map(|(name, value)| format!("{name}={value}"));
        builder.push([int(0), int(0), texts(Some(lines.collect()))]);
    }
    for database in cx.catalog.databases().iter() {
        let roles: BTreeSet<Id> = database.settings.iter().map(|setting| setting.role).collect();
        for role in roles {
            let own = database.settings.iter().filter(|setting| setting.role == role);
            let lines = own.map(|setting| format!("{}={}", setting.name, setting.value)).collect();
            builder.push([int(database.id), int(role), texts(Some(lines))]);
        }
    }
    builder.rows()
}

fn pg_default_acl(cx: &VirtualContext<'_>) -> Result<Vec<Row>> {
    let columns = ["oid", "defaclrole", "defaclnamespace", "defaclobjtype", "defaclacl"];
    let mut builder = RowBuilder::new("pg_default_acl", &columns);
    let database = cx.catalog.database(cx.path.database);
    for entry in database.iter().flat_map(|database| &database.default_privileges) {
        builder.push([
            int(entry.id),
            int(entry.role),
            int(entry.schema.unwrap_or(0)),
            text(entry.kind.letter()),
            acl_items(Some(cx.catalog.privileges().default_acl(entry))),
        ]);
    }
    builder.rows()
}

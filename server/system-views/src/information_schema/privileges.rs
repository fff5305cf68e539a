//! `information_schema`: privileges and roles.

use braid_types::{Datum, Result, Row};

use crate::cell::{text, yes_no};
use crate::context::{RowsOf, VirtualContext};
use crate::information_schema::tables::{database, table_privileges};
use crate::row_builder::RowBuilder;
use braid_catalog::{ColumnId, Grant, Id, Object, PUBLIC};

pub(crate) fn rows_of(name: &str) -> Option<RowsOf> {
    Some(match name {
        "table_privileges" => |cx| table_grants(cx, "information_schema.table_privileges"),
        "role_table_grants" => |cx| table_grants(cx, "information_schema.role_table_grants"),
        "column_privileges" => |cx| column_grants(cx, "information_schema.column_privileges"),
        "role_column_grants" => |cx| column_grants(cx, "information_schema.role_column_grants"),
        "usage_privileges" => |cx| usage_grants(cx, "information_schema.usage_privileges"),
        "role_usage_grants" => |cx| usage_grants(cx, "information_schema.role_usage_grants"),
        "enabled_roles" => enabled_roles,
        "applicable_roles" => |cx| memberships(cx, "information_schema.applicable_roles"),
        "administrable_role_authorizations" => {
            |cx| memberships(cx, "information_schema.administrable_role_authorizations")
        }
        _ => return None,
    })
}

/// One privilege of one grantee on a relation, or on one of its columns.
struct GrantRow {
    owner: Datum,
    grantee: Datum,
    schema: Datum,
    table: Datum,
    privilege: String,
    grantable: bool,
    columns: Vec<String>,
    /// It was granted on a column alone.
    is_of_column: bool,
}

pub(crate) fn grantee(cx: &VirtualContext<'_>, role: Id) -> Datum {
    if role == PUBLIC { text("PUBLIC") } else { text(cx.catalog.role_name(role)) }
}

fn relation_grants(cx: &VirtualContext<'_>) -> Vec<GrantRow> {
    let mut found = Vec::new();
    let mut add = |object: Object<'_>, schema: Id, name: &str, columns: Vec<(ColumnId, String)>| {
        let (owner, grants) = (object.owner(), object.grants());
        let names: Vec<String> = columns.iter().map(|(_, name)| name.clone()).collect();
        let row = |role, privilege: &str, grantable| GrantRow {
            owner: text(cx.catalog.role_name(owner)),
            grantee: grantee(cx, role),
            schema: text(cx.catalog.schema_name(schema)),
            table: text(name),
            privilege: privilege.to_owned(),
            grantable,
            columns: names.clone(),
            is_of_column: false,
        };
        found.extend(table_privileges().iter().map(|privilege| row(owner, privilege, true)));
        for grant in grants {
            let option = grant.grant_option;
            found.extend(grant.privileges.iter().map(|name| row(grant.role, name, option)));
        }
        let on_all = |grant: &Grant, privilege: &String| {
            let mut same = grants.iter().filter(|all| all.role == grant.role);
            same.any(|all| all.privileges.contains(privilege))
        };
        for (column, name) in &columns {
            for grant in object.column_grants(*column) {
                let own = grant.privileges.iter().filter(|privilege| !on_all(grant, privilege));
                found.extend(own.map(|privilege| GrantRow {
                    columns: vec![name.clone()],
                    is_of_column: true,
                    ..row(grant.role, privilege, grant.grant_option)
                }));
            }
        }
    };
    let tables = cx.catalog.tables().in_database(cx.path.database);
    for table in tables.filter(|table| table.materialized.is_none()) {
        let columns = table.visible_columns().map(|column| (column.id, column.name.clone()));
        add(Object::Table(table), table.schema, &table.name, columns.collect());
    }
    for view in cx.catalog.views().in_database(cx.path.database) {
        let columns = (1..).zip(&view.columns).map(|(id, (name, _))| (id, name.clone()));
        add(Object::View(view), view.schema, &view.name, columns.collect());
    }
    found
}

fn table_grants(cx: &VirtualContext<'_>, name: &str) -> Result<Vec<Row>> {
    let columns = [
        "grantor",
        "grantee",
        "table_catalog",
        "table_schema",
        "table_name",
        "privilege_type",
        "is_grantable",
        "with_hierarchy",
    ];
    let mut builder = RowBuilder::new(name, &columns);
    for row in relation_grants(cx).into_iter().filter(|row| !row.is_of_column) {
        builder.push([
            row.owner,
            row.grantee,
            database(cx),
            row.schema,
            row.table,
            text(&row.privilege),
            yes_no(row.grantable),
            yes_no(row.privilege == "SELECT"),
        ]);
    }
    builder.rows()
}

fn column_grants(cx: &VirtualContext<'_>, name: &str) -> Result<Vec<Row>> {
    let columns = [
        "grantor",
        "grantee",
        "table_catalog",
        "table_schema",
        "table_name",
        "column_name",
        "privilege_type",
        "is_grantable",
    ];
    let mut builder = RowBuilder::new(name, &columns);
    const OF_COLUMNS: [&str; 4] = ["INSERT", "SELECT", "UPDATE", "REFERENCES"];
    for row in relation_grants(cx) {
        if !OF_COLUMNS.contains(&row.privilege.as_str()) {
            continue;
        }
        for column in &row.columns {
            builder.push([
                row.owner.clone(),
                row.grantee.clone(),
                database(cx),
                row.schema.clone(),
                row.table.clone(),
                text(column),
                text(&row.privilege),
                yes_no(row.grantable),
            ]);
        }
    }
    builder.rows()
}

fn usage_grants(cx: &VirtualContext<'_>, name: &str) -> Result<Vec<Row>> {
    let columns = [
        "grantor",
        "grantee",
        "object_catalog",
        "object_schema",
        "object_name",
        "object_type",
        "privilege_type",
        "is_grantable",
    ];
    let mut builder = RowBuilder::new(name, &columns);
    for sequence in cx.catalog.sequences().in_database(cx.path.database) {
        let granted = sequence
            .grants
            .iter()
            .filter(|grant| grant.privileges.iter().any(|privilege| privilege == "USAGE"));
        let granted = granted.map(|grant| (grant.role, grant.grant_option));
        for (role, option) in std::iter::once((sequence.owner, true)).chain(granted) {
            builder.push([
                text(cx.catalog.role_name(sequence.owner)),
                grantee(cx, role),
                database(cx),
                text(cx.catalog.schema_name(sequence.schema)),
                text(&sequence.name),
                text("SEQUENCE"),
                text("USAGE"),
                yes_no(option),
            ]);
        }
    }
    builder.rows()
}

fn enabled_roles(cx: &VirtualContext<'_>) -> Result<Vec<Row>> {
    let mut builder = RowBuilder::new("information_schema.enabled_roles", &["role_name"]);
    let Some(user) = cx.catalog.names().role(cx.env.current_user()) else { return builder.rows() };
    for role in
        cx.catalog.roles().iter().filter(|role| cx.catalog.privileges().acts_as(user.id, role.id))
    {
        builder.push([text(&role.name)]);
    }
    builder.rows()
}

fn memberships(cx: &VirtualContext<'_>, name: &str) -> Result<Vec<Row>> {
    let mut builder = RowBuilder::new(name, &["grantee", "role_name", "is_grantable"]);
    let only_admin = name.contains("administrable");
    for role in cx.catalog.roles().iter() {
        for parent in &role.member_of {
            let admin = role.admin_of.contains(parent);
            if admin || !only_admin {
                let parent = text(cx.catalog.role_name(*parent));
                builder.push([text(&role.name), parent, yes_no(admin)]);
            }
        }
    }
    builder.rows()
}

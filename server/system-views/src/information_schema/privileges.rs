//! `information_schema`: privileges, with the roles that granted them.

use std::collections::BTreeSet;

use braid_types::{Datum, Result, Row};

use crate::cell::{text, yes_no};
use crate::context::{RowsOf, VirtualContext};
use crate::information_schema::routines::specific_name;
use crate::information_schema::tables::database;
use crate::row_builder::RowBuilder;
use braid_catalog::{Acl, ColumnId, Id, Object, PUBLIC, Rights};

pub(crate) fn rows_of(name: &str) -> Option<RowsOf> {
    use Shown::{OwnRoles, WithPublic};
    Some(match name {
        "table_privileges" => {
            |cx| table_grants(cx, "information_schema.table_privileges", WithPublic)
        }
        "role_table_grants" => {
            |cx| table_grants(cx, "information_schema.role_table_grants", OwnRoles)
        }
        "column_privileges" => {
            |cx| column_grants(cx, "information_schema.column_privileges", WithPublic)
        }
        "role_column_grants" => {
            |cx| column_grants(cx, "information_schema.role_column_grants", OwnRoles)
        }
        "usage_privileges" => {
            |cx| usage_grants(cx, "information_schema.usage_privileges", WithPublic)
        }
        "role_usage_grants" => {
            |cx| usage_grants(cx, "information_schema.role_usage_grants", OwnRoles)
        }
        "udt_privileges" => |cx| type_grants(cx, "information_schema.udt_privileges", WithPublic),
        "role_udt_grants" => |cx| type_grants(cx, "information_schema.role_udt_grants", OwnRoles),
        "routine_privileges" => {
            |cx| routine_grants(cx, "information_schema.routine_privileges", WithPublic)
        }
        "role_routine_grants" => {
            |cx| routine_grants(cx, "information_schema.role_routine_grants", OwnRoles)
        }
        _ => return None,
    })
}

/// One privilege of one grantee on an object, or on columns.
struct GrantRow {
    grantor: Id,
    grantee: Id,
    privilege: &'static str,
    grantable: bool,
}

impl GrantRow {
    /// The first columns of a row: grantor and grantee.
    fn roles(&self, cx: &VirtualContext<'_>) -> [Datum; 2] {
        let grantee = match self.grantee {
            PUBLIC => "PUBLIC".to_owned(),
            role => cx.catalog.role_name(role),
        };
        [text(cx.catalog.role_name(self.grantor)), text(grantee)]
    }
}

/// Whose grants a view shows: those from and to roles that the user has the privileges of.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Shown {
    /// And those to everybody.
    WithPublic,
    /// And no others.
    OwnRoles,
}

/// What an ACL grants, as far as a view shows it.
fn rows_of_acl(cx: &VirtualContext<'_>, acl: &Acl, owner: Id, shown: Shown) -> Vec<GrantRow> {
    let known = cx.catalog.privileges();
    let Some(user) = cx.catalog.names().role(cx.env.current_user()) else { return Vec::new() };
    let mut rows = Vec::new();
    for item in acl.items() {
        let is_public = item.grantee == PUBLIC;
        let sees = known.acts_as(user.id, item.grantor)
            || (is_public && shown == Shown::WithPublic)
            || (!is_public && known.acts_as(user.id, item.grantee));
        if !sees {
            continue;
        }
        // An owner may grant without an option for it.
        let has_all = !is_public && known.acts_as(item.grantee, owner);
        rows.extend(item.rights.names().map(|privilege| GrantRow {
            grantor: item.grantor,
            grantee: item.grantee,
            privilege,
            grantable: has_all || !item.options.within(Rights::of([privilege])).is_empty(),
        }));
    }
    rows
}

/// The tables and views of the database with their schemas; no materialized views.
fn relations<'c>(cx: &'c VirtualContext<'_>) -> impl Iterator<Item = (Object<'c>, Id)> {
    let tables = cx.catalog.tables().in_database(cx.path.database);
    let tables = tables.filter(|table| table.materialized.is_none());
    let tables = tables.map(|table| (Object::Table(table), table.schema));
    let views = cx.catalog.views().in_database(cx.path.database);
    tables.chain(views.map(|view| (Object::View(view), view.schema)))
}

/// The numbers and names of a relation's columns.
fn columns_of(object: Object<'_>) -> Vec<(ColumnId, &str)> {
    match object {
        Object::Table(table) => {
            table.visible_columns().map(|column| (column.id, &*column.name)).collect()
        }
        Object::View(view) => (1..).zip(view.columns.iter().map(|(name, _)| &**name)).collect(),
        _ => Vec::new(),
    }
}

fn table_grants(cx: &VirtualContext<'_>, name: &str, shown: Shown) -> Result<Vec<Row>> {
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
    for (object, schema) in relations(cx) {
        for row in rows_of_acl(cx, &Acl::of(object), object.owner(), shown) {
            let [grantor, grantee] = row.roles(cx);
            builder.push([
                grantor,
                grantee,
                database(cx),
                text(cx.catalog.schema_name(schema)),
                text(object.describe().1),
                text(row.privilege),
                yes_no(row.grantable),
                yes_no(row.privilege == "SELECT"),
            ]);
        }
    }
    builder.rows()
}

fn column_grants(cx: &VirtualContext<'_>, name: &str, shown: Shown) -> Result<Vec<Row>> {
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
    for (object, schema) in relations(cx) {
        let whole = rows_of_acl(cx, &Acl::of(object), object.owner(), shown);
        for (column, column_name) in columns_of(object) {
            let acl = Acl::of_column(object, column);
            let own = rows_of_acl(cx, &acl, object.owner(), shown);
            // What was granted on both is one row.
            let mut seen = BTreeSet::new();
            for row in whole.iter().chain(&own) {
                let key = (row.grantor, row.grantee, row.privilege, row.grantable);
                let is_of_columns =
                    !Rights::of_columns().within(Rights::of([row.privilege])).is_empty();
                if !is_of_columns || !seen.insert(key) {
                    continue;
                }
                let [grantor, grantee] = row.roles(cx);
                builder.push([
                    grantor,
                    grantee,
                    database(cx),
                    text(cx.catalog.schema_name(schema)),
                    text(object.describe().1),
                    text(column_name),
                    text(row.privilege),
                    yes_no(row.grantable),
                ]);
            }
        }
    }
    builder.rows()
}

fn usage_grants(cx: &VirtualContext<'_>, name: &str, shown: Shown) -> Result<Vec<Row>> {
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
    let sequences = cx.catalog.sequences().in_database(cx.path.database);
    let sequences = sequences.map(|found| (Object::Sequence(found), found.schema, "SEQUENCE"));
    let domains = cx.catalog.domains().in_database(cx.path.database);
    let domains = domains.map(|found| (Object::Domain(found), found.schema, "DOMAIN"));
    for (object, schema, kind) in sequences.chain(domains) {
        let rows = rows_of_acl(cx, &Acl::of(object), object.owner(), shown);
        for row in rows.into_iter().filter(|row| row.privilege == "USAGE") {
            let [grantor, grantee] = row.roles(cx);
            builder.push([
                grantor,
                grantee,
                database(cx),
                text(cx.catalog.schema_name(schema)),
                text(object.describe().1),
                text(kind),
                text("USAGE"),
                yes_no(row.grantable),
            ]);
        }
    }
    builder.rows()
}

/// The row types of relations and composite types.
fn type_grants(cx: &VirtualContext<'_>, name: &str, shown: Shown) -> Result<Vec<Row>> {
    let columns = [
        "grantor",
        "grantee",
        "udt_catalog",
        "udt_schema",
        "udt_name",
        "privilege_type",
        "is_grantable",
    ];
    let mut builder = RowBuilder::new(name, &columns);
    let mut push = |acl: &Acl, owner: Id, schema: Id, name: &str| {
        for row in rows_of_acl(cx, acl, owner, shown) {
            let [grantor, grantee] = row.roles(cx);
            builder.push([
                grantor,
                grantee,
                database(cx),
                text(cx.catalog.schema_name(schema)),
                text(name),
                text("TYPE USAGE"),
                yes_no(row.grantable),
            ]);
        }
    };
    for found in cx.catalog.names().composites().in_database(cx.path.database) {
        push(&Acl::of(Object::Composite(found)), found.owner, found.schema, &found.name);
    }
    let tables = cx.catalog.tables().in_database(cx.path.database);
    let tables = tables.map(|table| (table.owner, table.schema, &*table.name));
    let views = cx.catalog.views().in_database(cx.path.database);
    let views = views.map(|view| (view.owner, view.schema, &*view.name));
    for (owner, schema, name) in tables.chain(views) {
        push(&Acl::of_row_type(owner), owner, schema, name);
    }
    builder.rows()
}

fn routine_grants(cx: &VirtualContext<'_>, name: &str, shown: Shown) -> Result<Vec<Row>> {
    let columns = [
        "grantor",
        "grantee",
        "specific_catalog",
        "specific_schema",
        "specific_name",
        "routine_catalog",
        "routine_schema",
        "routine_name",
        "privilege_type",
        "is_grantable",
    ];
    let mut builder = RowBuilder::new(name, &columns);
    for routine in cx.catalog.names().routines().in_database(cx.path.database) {
        let acl = Acl::of(Object::Routine(routine));
        let schema = text(cx.catalog.schema_name(routine.schema));
        for row in rows_of_acl(cx, &acl, routine.owner, shown) {
            let [grantor, grantee] = row.roles(cx);
            builder.push([
                grantor,
                grantee,
                database(cx),
                schema.clone(),
                specific_name(routine),
                database(cx),
                schema.clone(),
                text(&routine.name),
                text(row.privilege),
                yes_no(row.grantable),
            ]);
        }
    }
    builder.rows()
}

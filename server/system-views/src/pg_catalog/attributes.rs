//! `pg_attribute`, `pg_attrdef`, and the comments on everything.

use std::cell::RefCell;

use braid_catalog::names::index_labels;
use braid_types::collation::built_in_oid;
use braid_types::sql_type::{length, range_subtype, row_type_oid, storage};
use braid_types::{Result, Row, SqlType};

use crate::cell::{acl_items, count, flag, int, letter, text};
use crate::context::{RowsOf, VirtualContext};
use crate::pg_catalog::descriptions::descriptions;
use crate::pg_catalog::relations::{index_columns, visible_indexes};
use crate::row_builder::RowBuilder;
use braid_catalog::{
    COLLATION_MARK, Catalog, Column, ColumnId, Id, Identity, Object, StoredExpr, Table,
    virtual_tables, written_text,
};

pub(crate) fn rows_of(name: &str) -> Option<RowsOf> {
    Some(match name {
        "pg_attribute" => pg_attribute,
        "pg_attrdef" => pg_attrdef,
        "pg_description" => pg_description,
        "pg_shdescription" => pg_shdescription,
        _ => return None,
    })
}

/// `attalign` or `typalign`.
pub(crate) fn alignment(ty: &SqlType) -> &'static str {
    if matches!(ty.innermost(), SqlType::Record(_)) {
        return "d";
    }
    if let Some(subtype) = range_subtype(ty) {
        return if alignment(subtype) == "d" { "d" } else { "i" };
    }
    // Arrays are aligned as four bytes, or as their elements if these need more.
    if let (false, Some(element)) = (ty.is_vector(), ty.element()) {
        return if alignment(element) == "d" { "d" } else { "i" };
    }
    if matches!(ty, SqlType::Macaddr | SqlType::Macaddr8 | SqlType::Aclitem) {
        return "i";
    }
    match length(ty) {
        _ if matches!(ty, SqlType::Geometry(_)) => "d",
        1 | 64 | -2 => "c",
        2 | 6 => "s",
        8 | 12 | 16 if *ty != SqlType::Uuid => "d",
        _ if *ty == SqlType::Uuid => "c",
        _ => "i",
    }
}

/// Whether values of the type are passed by value.
pub(crate) fn by_value(ty: &SqlType) -> bool {
    *ty != SqlType::Macaddr8 && matches!(length(ty), 1 | 2 | 4 | 8)
}

/// The collation of a type: the database's, `C` for names, 0 where there is none.
pub(crate) fn collation(ty: &SqlType) -> u32 {
    match ty {
        SqlType::Name => 950,
        SqlType::Array(element) => collation(element),
        ty if ty.is_string() || *ty == SqlType::Citext => 100,
        _ => 0,
    }
}

/// The collation of a column: its own, or that of its type.
pub(crate) fn column_collation(column: &Column) -> u32 {
    column.collation.as_deref().map_or_else(|| collation(&column.ty), collation_oid)
}

/// The oid of a collation by its stored form.
pub(crate) fn collation_oid(name: &str) -> u32 {
    match name.strip_prefix(COLLATION_MARK) {
        Some(id) => id.parse().unwrap_or(100),
        None => built_in_oid(name).unwrap_or(100),
    }
}

/// A column of which no more than name and type is known.
fn plain<'a>(
    relation: Id,
    name: &'a str,
    number: usize,
    ty: &'a SqlType,
    not_null: bool,
) -> Attribute<'a> {
    let (column, inherited, of_domain, acl) = (None, false, false, None);
    Attribute { relation, name, number, ty, not_null, column, inherited, of_domain, acl }
}

struct Attribute<'a> {
    relation: Id,
    name: &'a str,
    number: usize,
    ty: &'a SqlType,
    not_null: bool,
    column: Option<&'a Column>,
    /// The column comes from a partitioned table.
    inherited: bool,
    acl: Option<Vec<String>>,
    /// Whether its type is a domain, which hides modifiers and dimensions.
    of_domain: bool,
}

/// Whether a column is of a domain, not of arrays of one.
fn is_of_domain(catalog: &Catalog, column: &Column) -> bool {
    let domain = column.domain.and_then(|id| catalog.domains().get(id));
    domain.is_some_and(|domain| domain.element.is_none())
}

fn push(builder: &mut RowBuilder, attribute: &Attribute<'_>) {
    let Attribute { relation, name, number, ty, not_null, column, .. } = *attribute;
    let Attribute { inherited, of_domain, .. } = *attribute;
    let identity = match column.and_then(|column| column.identity) {
        None => "",
        Some(Identity::Always) => "a",
        Some(Identity::ByDefault) => "d",
    };
    let generated = column.is_some_and(|column| column.generated.is_some());
    let more_dimensions = column.map_or(0, |column| i32::from(column.more_dimensions));
    let has_default = generated || column.is_some_and(|column| shown_default(column).is_some());
    builder.push([
        int(relation),
        text(name),
        int(column.and_then(|column| column.domain).unwrap_or_else(|| ty.oid())),
        int(column.and_then(|column| column.statistics_target).unwrap_or(-1)),
        int(length(ty)),
        count(number),
        int(if of_domain { 0 } else { i32::from(ty.is_array()) + more_dimensions }),
        int(-1),
        int(if of_domain { -1 } else { column.map_or_else(|| ty.typmod(), Column::typmod) }),
        flag(by_value(ty)),
        text(alignment(ty)),
        letter(column.and_then(|column| column.storage).unwrap_or_else(|| storage(ty))),
        flag(not_null),
        flag(has_default),
        flag(column.is_some_and(|column| column.missing.is_some())),
        text(identity),
        text(if generated { "s" } else { "" }),
        flag(false),
        flag(!inherited),
        int(u32::from(inherited)),
        int(column.map_or_else(|| collation(ty), column_collation)),
        acl_items(attribute.acl.clone()),
    ]);
}

/// A number without a column. Programs such as `pg_dump` expect that numbers have no gaps.
fn push_dropped(builder: &mut RowBuilder, relation: Id, number: ColumnId) {
    builder.push([
        int(relation),
        text(format!("........pg.dropped.{number}........")),
        int(0),
        int(-1),
        int(4),
        int(number),
        int(0),
        int(-1),
        int(-1),
        flag(true),
        text("i"),
        text("p"),
        flag(false),
        flag(false),
        flag(false),
        text(""),
        text(""),
        flag(true),
        flag(true),
        int(0),
        int(0),
        acl_items(None),
    ]);
}

/// The default that PostgreSQL shows: an identity column has none.
pub(crate) fn shown_default(column: &Column) -> Option<&StoredExpr> {
    column.default.as_ref().filter(|_| column.identity.is_none())
}

/// The columns of a table and of its indexes.
fn push_table(builder: &mut RowBuilder, table: &Table, catalog: &Catalog) {
    let privileges = catalog.privileges();
    let mut numbers: Vec<ColumnId> = table.visible_columns().map(|column| column.id).collect();
    numbers.sort_unstable();
    let last = numbers.last().copied().unwrap_or_default();
    for number in (1..last).filter(|number| numbers.binary_search(number).is_err()) {
        push_dropped(builder, table.id, number);
    }
    for column in table.visible_columns() {
        push(
            builder,
            &Attribute {
                relation: table.id,
                name: &column.name,
                number: usize::from(column.id),
                ty: &column.ty,
                not_null: !column.nullable,
                column: Some(column),
                of_domain: is_of_domain(catalog, column),
                inherited: table.partition_of.is_some(),
                acl: privileges.column_acl(Object::Table(table), column.id),
            },
        );
    }
    for index in visible_indexes(table) {
        let labels = index_labels(index_columns(table, index).map(|(name, _)| name));
        for (place, ((_, ty), name)) in index_columns(table, index).zip(&labels).enumerate() {
            push(builder, &plain(index.id, name, place + 1, &ty, false));
        }
    }
}

fn pg_attribute(cx: &VirtualContext<'_>) -> Result<Vec<Row>> {
    let mut builder = RowBuilder::new(
        "pg_attribute",
        &[
            "attrelid",
            "attname",
            "atttypid",
            "attstattarget",
            "attlen",
            "attnum",
            "attndims",
            "attcacheoff",
            "atttypmod",
            "attbyval",
            "attalign",
            "attstorage",
            "attnotnull",
            "atthasdef",
            "atthasmissing",
            "attidentity",
            "attgenerated",
            "attisdropped",
            "attislocal",
            "attinhcount",
            "attcollation",
            "attacl",
        ],
    );
    let privileges = cx.catalog.privileges();
    for table in cx.catalog.tables().in_database(cx.path.database) {
        push_table(&mut builder, table, cx.catalog);
    }
    for found in cx.catalog.names().composites().in_database(cx.path.database) {
        for column in &found.columns {
            let attribute = plain(found.id, &column.name, column.id.into(), &column.ty, false);
            let of_domain = is_of_domain(cx.catalog, column);
            push(&mut builder, &Attribute { column: Some(column), of_domain, ..attribute });
        }
    }
    for view in cx.catalog.views().in_database(cx.path.database) {
        for column in &view.as_table().columns {
            let acl = privileges.column_acl(Object::View(view), column.id);
            let attribute = plain(view.id, &column.name, column.id.into(), &column.ty, false);
            let of_domain = is_of_domain(cx.catalog, column);
            push(&mut builder, &Attribute { column: Some(column), of_domain, acl, ..attribute });
        }
    }
    for sequence in cx.catalog.sequences().in_database(cx.path.database) {
        let columns = [
            ("last_value", SqlType::Int8),
            ("log_cnt", SqlType::Int8),
            ("is_called", SqlType::Bool),
        ];
        for (place, (name, ty)) in columns.iter().enumerate() {
            push(&mut builder, &plain(sequence.id, name, place + 1, ty, true));
        }
    }
    for table in virtual_tables() {
        for (place, (name, ty)) in table.columns.iter().enumerate() {
            let not_null = table.relkind == 'r' && place == 0;
            push(&mut builder, &plain(table.oid, name, place + 1, ty, not_null));
        }
    }
    builder.rows()
}

/// A default or a generation expression, which has a number of its own.
pub(crate) struct DefaultRow<'a> {
    /// Not stored: any number unlike the others will do.
    pub oid: Id,
    pub table: &'a Table,
    pub column: &'a Column,
    expr: &'a StoredExpr,
}

impl DefaultRow<'_> {
    /// The sequences and other relations that it names.
    pub(crate) fn relations(&self) -> Vec<Id> {
        match self.expr {
            StoredExpr::Identified(expr) => expr.relations.clone(),
            StoredExpr::Written(text) => {
                let found = RefCell::new(Vec::new());
                written_text(text, |id| {
                    found.borrow_mut().push(id);
                    None
                });
                found.into_inner()
            }
        }
    }

    /// The columns of the table that it reads, where these are known.
    pub(crate) fn columns(&self) -> &[ColumnId] {
        columns_of(self.expr)
    }
}

/// The columns that an expression reads, where these are known.
pub(crate) fn columns_of(expr: &StoredExpr) -> &[ColumnId] {
    match expr {
        StoredExpr::Identified(expr) => &expr.columns,
        StoredExpr::Written(_) => &[],
    }
}

/// The defaults of all tables.
pub(crate) fn defaults(catalog: &Catalog, database: Id) -> Vec<DefaultRow<'_>> {
    let mut rows = Vec::new();
    for table in catalog.tables().in_database(database) {
        for column in table.visible_columns() {
            if let Some(expr) = column.generated.as_ref().or_else(|| shown_default(column)) {
                let oid = (1 << 31) | (rows.len() as Id + 1);
                rows.push(DefaultRow { oid, table, column, expr });
            }
        }
    }
    rows
}

fn pg_attrdef(cx: &VirtualContext<'_>) -> Result<Vec<Row>> {
    let mut builder = RowBuilder::new("pg_attrdef", &["oid", "adrelid", "adnum", "adbin"]);
    for row in defaults(cx.catalog, cx.path.database) {
        let node = text(cx.names().node_text(row.table, &[row.expr]));
        builder.push([int(row.oid), int(row.table.id), int(row.column.id), node]);
    }
    for view in cx.catalog.views().in_database(cx.path.database) {
        for (oid, (column, expr)) in (1..).zip(&view.defaults) {
            // Defaults have no numbers of their own.
            let oid: Id = (1 << 31) | (1 << 30) | (view.id << 8) | oid;
            let node = text(cx.names().node_text(&view.as_table(), &[expr]));
            builder.push([int(oid), int(view.id), int(*column), node]);
        }
    }
    builder.rows()
}

/// The oids of the catalogs that comments refer to.
const PG_PROC: u32 = 1255;
const PG_CLASS: u32 = 1259;
const PG_CONSTRAINT: u32 = 2606;
const PG_TYPE: u32 = 1247;
const PG_NAMESPACE: u32 = 2615;
const PG_COLLATION: u32 = 3456;
/// PostgreSQL keeps comments on large objects under the number of their pages' table.
const PG_LARGEOBJECT: u32 = 2613;
const PG_TRIGGER: u32 = 2620;
const PG_POLICY: u32 = 3256;
const PG_STATISTIC_EXT: u32 = 3381;
const PG_DATABASE: u32 = 1262;
const PG_AUTHID: u32 = 1260;

fn pg_description(cx: &VirtualContext<'_>) -> Result<Vec<Row>> {
    let columns = ["objoid", "classoid", "objsubid", "description"];
    let mut builder = RowBuilder::new("pg_description", &columns);
    let mut add = |oid: Id, class: u32, column: u16, comment: &Option<String>| {
        if let Some(comment) = comment {
            builder.push([int(oid), int(class), int(column), text(comment)]);
        }
    };
    for found in descriptions() {
        add(found.oid, found.class, 0, &Some(found.text.to_owned()));
    }
    let (catalog, database) = (cx.catalog, cx.path.database);
    for table in catalog.tables().in_database(database) {
        add(table.id, PG_CLASS, 0, &table.comment);
        table.columns.iter().for_each(|c| add(table.id, PG_CLASS, c.id, &c.comment));
        for index in table.all_indexes() {
            add(index.id, PG_CLASS, 0, &index.comment);
            add(index.constraint.unwrap_or(0), PG_CONSTRAINT, 0, &index.constraint_comment);
        }
        table.checks.iter().for_each(|check| add(check.id, PG_CONSTRAINT, 0, &check.comment));
        table.foreign_keys.iter().for_each(|key| add(key.id, PG_CONSTRAINT, 0, &key.comment));
        let policies = table.security.policies.iter();
        policies.for_each(|policy| add(policy.id, PG_POLICY, 0, &policy.comment));
        let statistics = table.statistics.iter();
        statistics.for_each(|object| add(object.id, PG_STATISTIC_EXT, 0, &object.comment));
    }
    for view in catalog.views().in_database(database) {
        add(view.id, PG_CLASS, 0, &view.comment);
        for (column, comment) in &view.column_comments {
            add(view.id, PG_CLASS, *column, &Some(comment.clone()));
        }
    }
    for sequence in catalog.sequences().in_database(database) {
        add(sequence.id, PG_CLASS, 0, &sequence.comment);
    }
    catalog
        .enums()
        .in_database(database)
        .for_each(|found| add(found.id, PG_TYPE, 0, &found.comment));
    for found in catalog.names().composites().in_database(database) {
        add(row_type_oid(found.id), PG_TYPE, 0, &found.comment);
        found.columns.iter().for_each(|c| add(found.id, PG_CLASS, c.id, &c.comment));
    }
    for found in catalog.domains().in_database(database) {
        add(found.id, PG_TYPE, 0, &found.comment);
        found.checks.iter().for_each(|check| add(check.id, PG_CONSTRAINT, 0, &check.comment));
    }
    for found in catalog.names().routines().in_database(database) {
        add(found.id, PG_PROC, 0, &found.comment);
    }
    for (_, trigger) in catalog.names().triggers().in_database(database) {
        add(trigger.id, PG_TRIGGER, 0, &trigger.comment);
    }
    for schema in catalog.schemas().in_database(database) {
        add(schema.id, PG_NAMESPACE, 0, &schema.comment);
        schema.collations.iter().for_each(|own| add(own.id, PG_COLLATION, 0, &own.comment));
    }
    cx.large_objects.iter().for_each(|found| add(found.id, PG_LARGEOBJECT, 0, &found.comment));
    builder.rows()
}

fn pg_shdescription(cx: &VirtualContext<'_>) -> Result<Vec<Row>> {
    let mut builder = RowBuilder::new("pg_shdescription", &["objoid", "classoid", "description"]);
    for database in cx.catalog.databases().iter() {
        if let Some(comment) = &database.comment {
            builder.push([int(database.id), int(PG_DATABASE), text(comment)]);
        }
    }
    for role in cx.catalog.roles().iter() {
        if let Some(comment) = &role.comment {
            builder.push([int(role.id), int(PG_AUTHID), text(comment)]);
        }
    }
    builder.rows()
}

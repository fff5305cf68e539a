//! `information_schema.columns` and `element_types`.

use braid_types::sql_type::{relation_of_row_type, row_name};
use braid_types::{Datum, Result, Row, SqlType};

use crate::access::may_see;
use crate::cell::{count, int, optional, text, yes_no};
use crate::context::{RowsOf, VirtualContext};
use crate::information_schema::tables::{database, writable_columns};
use crate::pg_catalog::attributes::shown_default;
use crate::row_builder::RowBuilder;
use braid_catalog::{
    Collations, Column, Identity, Object, Sequence, StoredExpr, Table, virtual_tables,
};

pub(crate) fn rows_of(name: &str) -> Option<RowsOf> {
    Some(match name {
        "columns" => columns,
        "element_types" => element_types,
        _ => return None,
    })
}

/// How a type's size shows: characters, octets, precision, radix, scale, fraction digits.
pub(crate) struct Size(pub(crate) [Datum; 6]);

/// The modifier of an interval whose precision is not limited has these bits set.
const INTERVAL_FULL_PRECISION: i32 = 0xFFFF;

/// The fraction digits of a type of times, which its modifier may limit.
fn fraction_digits(ty: &SqlType, modifier: Option<i32>) -> i32 {
    const DEFAULT: i32 = 6;
    match (ty, modifier) {
        (SqlType::Interval, Some(modifier)) => {
            let digits = modifier & INTERVAL_FULL_PRECISION;
            if digits == INTERVAL_FULL_PRECISION { DEFAULT } else { digits }
        }
        (_, Some(digits)) => digits,
        (_, None) => DEFAULT,
    }
}

pub(crate) fn size(ty: &SqlType, modifier: Option<i32>) -> Size {
    const N: Datum = Datum::Null;
    let binary = |bits: i64| [N, N, int(bits), int(2), int(0), N];
    Size(match ty {
        SqlType::Varchar(Some(length)) => {
            let octets = i64::from(*length).saturating_mul(4);
            [int(*length), int(octets), N, N, N, N]
        }
        SqlType::Char(length) if *length > 0 => {
            let octets = i64::from(*length).saturating_mul(4);
            [int(*length), int(octets), N, N, N, N]
        }
        SqlType::Bit(length) if *length > 0 => [int(*length), N, N, N, N, N],
        SqlType::Varbit(Some(length)) => [int(*length), N, N, N, N, N],
        ty if ty.is_string() && *ty != SqlType::Name => [N, int(1_073_741_824), N, N, N, N],
        SqlType::Int2 => binary(16),
        SqlType::Int4 => binary(32),
        SqlType::Int8 => binary(64),
        SqlType::Float4 => [N, N, int(24), int(2), N, N],
        SqlType::Float8 => [N, N, int(53), int(2), N, N],
        SqlType::Numeric(Some((precision, scale))) => {
            [N, N, int(*precision), int(10), int(*scale), N]
        }
        SqlType::Numeric(None) => [N, N, N, int(10), N, N],
        SqlType::Date => [N, N, N, N, N, int(0)],
        SqlType::Time
        | SqlType::Timetz
        | SqlType::Timestamp
        | SqlType::Timestamptz
        | SqlType::Interval => [N, N, N, N, N, int(fraction_digits(ty, modifier))],
        _ => [N, N, N, N, N, N],
    })
}

pub(crate) fn data_type(ty: &SqlType) -> Datum {
    match ty {
        ty if ty.is_array() => text("ARRAY"),
        ty if ty.is_enum() || row_name(ty).is_some() => text("USER-DEFINED"),
        SqlType::Citext | SqlType::Hstore => text("USER-DEFINED"),
        ty => text(ty.plain_name()),
    }
}

/// The schema of a type.
pub(crate) fn schema_of(cx: &VirtualContext<'_>, ty: &SqlType) -> String {
    if matches!(ty.innermost(), SqlType::Citext | SqlType::Hstore) {
        // Where extensions are created.
        return "public".to_owned();
    }
    if let Some((relation, _)) = row_name(ty).and_then(|row| relation_of_row_type(row.oid)) {
        let relation = cx.catalog.relation(relation);
        return relation.map_or_else(String::new, |found| found.schema_name(cx.catalog));
    }
    let found = ty.inner_enum().and_then(|ty| cx.catalog.enums().get(ty.oid));
    found.map_or_else(|| "pg_catalog".to_owned(), |found| cx.catalog.schema_name(found.schema))
}

/// The column's `is_identity`, generation, and the options of its sequence.
fn identity(cx: &VirtualContext<'_>, column: Option<&Column>) -> [Datum; 7] {
    let mode = column.and_then(|column| column.identity);
    let sequence = column.and_then(|column| column.owned_sequence).filter(|_| mode.is_some());
    let sequence = sequence.and_then(|id| cx.catalog.sequences().get(id));
    let option =
        |read: fn(&Sequence) -> i64| optional(sequence.map(|sequence| read(sequence).to_string()));
    let mode_text = mode.map(|mode| match mode {
        Identity::Always => "ALWAYS",
        Identity::ByDefault => "BY DEFAULT",
    });
    [
        yes_no(mode.is_some()),
        optional(mode_text),
        option(|sequence| sequence.start),
        option(|sequence| sequence.increment),
        option(|sequence| sequence.max),
        option(|sequence| sequence.min),
        yes_no(sequence.is_some_and(|sequence| sequence.cycle)),
    ]
}

struct ColumnRow<'a> {
    schema: &'a str,
    table: &'a str,
    name: &'a str,
    position: usize,
    ty: &'a SqlType,
    nullable: bool,
    column: Option<&'a Column>,
    /// The table that the column belongs to, if it is one's.
    owner: Option<&'a Table>,
    updatable: bool,
}

/// A column of which no more than name and type is known.
fn plain<'a>(
    schema: &'a str,
    table: &'a str,
    name: &'a str,
    position: usize,
    ty: &'a SqlType,
) -> ColumnRow<'a> {
    ColumnRow {
        schema,
        table,
        name,
        position,
        ty,
        nullable: true,
        column: None,
        owner: None,
        updatable: false,
    }
}

fn push(builder: &mut RowBuilder, cx: &VirtualContext<'_>, row: &ColumnRow<'_>) {
    let Size([characters, octets, precision, radix, scale, fraction]) =
        size(row.ty, row.column.and_then(|column| column.modifier));
    let [is_identity, mode, start, increment, max, min, cycle] = identity(cx, row.column);
    let generated = row.column.and_then(|column| column.generated.as_ref());
    let default = row.column.and_then(shown_default);
    let shown = |expr: &StoredExpr| row.owner.map(|table| cx.names().expr(table, expr, false));
    let stored = row.column.and_then(|column| column.collation.as_deref());
    let collation = stored.map(|stored| Collations::of(cx.catalog).names(stored));
    let domain = row.column.and_then(|column| cx.catalog.domains().get(column.domain?));
    let domain = domain.filter(|domain| domain.element.is_none());
    builder.push([
        database(cx),
        text(row.schema),
        text(row.table),
        text(row.name),
        count(row.position),
        optional(default.and_then(shown)),
        yes_no(row.nullable && !domain.is_some_and(|domain| domain.not_null)),
        data_type(row.ty),
        characters,
        octets,
        precision,
        radix,
        scale,
        fraction,
        optional(collation.as_ref().map(|_| cx.path.database_name.as_str())),
        optional(collation.as_ref().map(|(schema, _)| *schema)),
        optional(collation.as_ref().map(|(_, name)| name.as_str())),
        optional(domain.map(|_| cx.path.database_name.as_str())),
        optional(domain.map(|domain| cx.catalog.schema_name(domain.schema))),
        optional(domain.map(|domain| domain.name.as_str())),
        database(cx),
        text(schema_of(cx, row.ty)),
        text(row.ty.short_name()),
        text(row.position.to_string()),
        yes_no(false),
        is_identity,
        mode,
        start,
        increment,
        max,
        min,
        cycle,
        text(if generated.is_some() { "ALWAYS" } else { "NEVER" }),
        optional(generated.and_then(shown)),
        yes_no(row.updatable && generated.is_none()),
    ]);
}

/// The columns that have values.
const COLUMNS: &[&str] = &[
    "table_catalog",
    "table_schema",
    "table_name",
    "column_name",
    "ordinal_position",
    "column_default",
    "is_nullable",
    "data_type",
    "character_maximum_length",
    "character_octet_length",
    "numeric_precision",
    "numeric_precision_radix",
    "numeric_scale",
    "datetime_precision",
    "collation_catalog",
    "collation_schema",
    "collation_name",
    "domain_catalog",
    "domain_schema",
    "domain_name",
    "udt_catalog",
    "udt_schema",
    "udt_name",
    "dtd_identifier",
    "is_self_referencing",
    "is_identity",
    "identity_generation",
    "identity_start",
    "identity_increment",
    "identity_maximum",
    "identity_minimum",
    "identity_cycle",
    "is_generated",
    "generation_expression",
    "is_updatable",
];

fn columns(cx: &VirtualContext<'_>) -> Result<Vec<Row>> {
    let mut builder = RowBuilder::new("information_schema.columns", COLUMNS);
    for table in cx.catalog.tables().in_database(cx.path.database) {
        if table.materialized.is_some() || !may_see(cx, Object::Table(table)) {
            continue;
        }
        let schema = cx.catalog.schema_name(table.schema);
        for column in table.visible_columns() {
            push(
                &mut builder,
                cx,
                &ColumnRow {
                    schema: &schema,
                    table: &table.name,
                    name: &column.name,
                    position: usize::from(column.id),
                    ty: &column.ty,
                    nullable: column.nullable,
                    column: Some(column),
                    owner: Some(table),
                    updatable: true,
                },
            );
        }
    }
    for view in cx.catalog.views().in_database(cx.path.database) {
        if !may_see(cx, Object::View(view)) {
            continue;
        }
        let schema = cx.catalog.schema_name(view.schema);
        let writable = writable_columns(cx, view);
        for (place, column) in view.as_table().columns.iter().enumerate() {
            let row = plain(&schema, &view.name, &column.name, place + 1, &column.ty);
            let updatable = writable.get(place).copied().unwrap_or(false);
            push(&mut builder, cx, &ColumnRow { updatable, column: Some(column), ..row });
        }
    }
    for table in virtual_tables() {
        for (place, (name, ty)) in table.columns.iter().enumerate() {
            push(&mut builder, cx, &plain(table.schema, table.name, name, place + 1, ty));
        }
    }
    builder.rows()
}

fn element_types(cx: &VirtualContext<'_>) -> Result<Vec<Row>> {
    let mut builder = RowBuilder::new(
        "information_schema.element_types",
        &[
            "object_catalog",
            "object_schema",
            "object_name",
            "object_type",
            "collection_type_identifier",
            "data_type",
            "udt_catalog",
            "udt_schema",
            "udt_name",
            "dtd_identifier",
        ],
    );
    for table in cx.catalog.tables().in_database(cx.path.database) {
        for column in table.visible_columns() {
            let element = column.ty.element().filter(|_| table.materialized.is_none());
            let Some(element) = element else { continue };
            builder.push([
                database(cx),
                text(cx.catalog.schema_name(table.schema)),
                text(&table.name),
                text("TABLE"),
                text(column.id.to_string()),
                data_type(element),
                database(cx),
                text(schema_of(cx, element)),
                text(element.short_name()),
                text(format!("a{}", column.id)),
            ]);
        }
    }
    builder.rows()
}

//! `information_schema.user_defined_types` and `attributes`: composite types.

use std::sync::Arc;

use braid_catalog::{Collations, Composite, Object};
use braid_types::{Result, Row};

use crate::access::may_see;
use crate::cell::{count, optional, text, yes_no};
use crate::context::{RowsOf, VirtualContext};
use crate::information_schema::columns::{Size, data_type, schema_of, size};
use crate::information_schema::tables::database;
use crate::row_builder::RowBuilder;

pub(crate) fn rows_of(name: &str) -> Option<RowsOf> {
    Some(match name {
        "user_defined_types" => user_defined_types,
        "attributes" => attributes,
        _ => return None,
    })
}

fn visible<'c>(cx: &'c VirtualContext<'_>) -> impl Iterator<Item = &'c Arc<Composite>> {
    let all = cx.catalog.names().composites().in_database(cx.path.database);
    all.filter(|found| may_see(cx, Object::Composite(found)))
}

fn user_defined_types(cx: &VirtualContext<'_>) -> Result<Vec<Row>> {
    let mut builder = RowBuilder::new(
        "information_schema.user_defined_types",
        &[
            "user_defined_type_catalog",
            "user_defined_type_schema",
            "user_defined_type_name",
            "user_defined_type_category",
            "is_instantiable",
        ],
    );
    for found in visible(cx) {
        builder.push([
            database(cx),
            text(cx.catalog.schema_name(found.schema)),
            text(&found.name),
            text("STRUCTURED"),
            yes_no(true),
        ]);
    }
    builder.rows()
}

fn attributes(cx: &VirtualContext<'_>) -> Result<Vec<Row>> {
    let mut builder = RowBuilder::new(
        "information_schema.attributes",
        &[
            "udt_catalog",
            "udt_schema",
            "udt_name",
            "attribute_name",
            "ordinal_position",
            "is_nullable",
            "data_type",
            "character_maximum_length",
            "character_octet_length",
            "collation_catalog",
            "collation_schema",
            "collation_name",
            "numeric_precision",
            "numeric_precision_radix",
            "numeric_scale",
            "datetime_precision",
            "attribute_udt_catalog",
            "attribute_udt_schema",
            "attribute_udt_name",
            "dtd_identifier",
            "is_derived_reference_attribute",
        ],
    );
    for found in visible(cx) {
        let schema = cx.catalog.schema_name(found.schema);
        for column in &found.columns {
            let domain = column.domain.and_then(|id| cx.catalog.domains().get(id));
            let Size([characters, octets, precision, radix, scale, fraction]) =
                size(&column.ty, column.modifier);
            let stored = column.collation.as_deref();
            let collation = stored.map(|stored| Collations::of(cx.catalog).names(stored));
            let (udt_schema, udt) = match domain {
                Some(domain) => (cx.catalog.schema_name(domain.schema), domain.name.as_str()),
                None => (schema_of(cx, &column.ty), column.ty.short_name()),
            };
            builder.push([
                database(cx),
                text(&schema),
                text(&found.name),
                text(&column.name),
                count(usize::from(column.id)),
                yes_no(true),
                if domain.is_some() { text("USER-DEFINED") } else { data_type(&column.ty) },
                characters,
                octets,
                optional(collation.as_ref().map(|_| cx.path.database_name.as_str())),
                optional(collation.as_ref().map(|(schema, _)| *schema)),
                optional(collation.as_ref().map(|(_, name)| name.as_str())),
                precision,
                radix,
                scale,
                fraction,
                database(cx),
                text(udt_schema),
                text(udt),
                text(column.id.to_string()),
                yes_no(false),
            ]);
        }
    }
    builder.rows()
}

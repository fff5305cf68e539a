//! `information_schema.domains`, `domain_constraints` and `column_domain_usage`.

use std::sync::Arc;

use braid_catalog::{Collations, Domain, Object};
use braid_types::{Result, Row};

use crate::access::may_see;
use crate::cell::{optional, text, yes_no};
use crate::context::{RowsOf, VirtualContext};
use crate::information_schema::columns::{Size, data_type, schema_of, size};
use crate::information_schema::tables::database;
use crate::row_builder::RowBuilder;

pub(crate) fn rows_of(name: &str) -> Option<RowsOf> {
    Some(match name {
        "domains" => domains,
        "domain_constraints" => domain_constraints,
        "column_domain_usage" => column_domain_usage,
        _ => return None,
    })
}

fn visible<'c>(cx: &'c VirtualContext<'_>) -> impl Iterator<Item = &'c Arc<Domain>> {
    let all = cx.catalog.domains().in_database(cx.path.database);
    all.filter(|domain| may_see(cx, Object::Domain(domain)))
}

fn domains(cx: &VirtualContext<'_>) -> Result<Vec<Row>> {
    let mut builder = RowBuilder::new(
        "information_schema.domains",
        &[
            "domain_catalog",
            "domain_schema",
            "domain_name",
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
            "domain_default",
            "udt_catalog",
            "udt_schema",
            "udt_name",
            "dtd_identifier",
        ],
    );
    for domain in visible(cx) {
        let base = cx.catalog.domains().base(domain);
        let Size([characters, octets, precision, radix, scale, fraction]) =
            size(&base, domain.modifier);
        let stored = domain.collation.as_deref();
        let collation = stored.map(|stored| Collations::of(cx.catalog).names(stored));
        builder.push([
            database(cx),
            text(cx.catalog.schema_name(domain.schema)),
            text(&domain.name),
            data_type(&base),
            characters,
            octets,
            precision,
            radix,
            scale,
            fraction,
            optional(collation.as_ref().map(|_| cx.path.database_name.as_str())),
            optional(collation.as_ref().map(|(schema, _)| *schema)),
            optional(collation.as_ref().map(|(_, name)| name.as_str())),
            optional(cx.names().domain_default(domain)),
            database(cx),
            text(schema_of(cx, &base)),
            text(base.short_name()),
            text("1"),
        ]);
    }
    builder.rows()
}

fn domain_constraints(cx: &VirtualContext<'_>) -> Result<Vec<Row>> {
    let mut builder = RowBuilder::new(
        "information_schema.domain_constraints",
        &[
            "constraint_catalog",
            "constraint_schema",
            "constraint_name",
            "domain_catalog",
            "domain_schema",
            "domain_name",
            "is_deferrable",
            "initially_deferred",
        ],
    );
    for domain in visible(cx) {
        let schema = cx.catalog.schema_name(domain.schema);
        for check in &domain.checks {
            builder.push([
                database(cx),
                text(&schema),
                text(&check.name),
                database(cx),
                text(&schema),
                text(&domain.name),
                yes_no(false),
                yes_no(false),
            ]);
        }
    }
    builder.rows()
}

fn column_domain_usage(cx: &VirtualContext<'_>) -> Result<Vec<Row>> {
    let mut builder = RowBuilder::new(
        "information_schema.column_domain_usage",
        &[
            "domain_catalog",
            "domain_schema",
            "domain_name",
            "table_catalog",
            "table_schema",
            "table_name",
            "column_name",
        ],
    );
    for table in cx.catalog.tables().in_database(cx.path.database) {
        let schema = cx.catalog.schema_name(table.schema);
        for column in table.visible_columns() {
            let found = column.domain.and_then(|id| cx.catalog.domains().get(id));
            let found = found.filter(|found| found.element.is_none());
            let Some(domain) = found.filter(|found| may_see(cx, Object::Domain(found))) else {
                continue;
            };
            builder.push([
                database(cx),
                text(cx.catalog.schema_name(domain.schema)),
                text(&domain.name),
                database(cx),
                text(&schema),
                text(&table.name),
                text(&column.name),
            ]);
        }
    }
    builder.rows()
}

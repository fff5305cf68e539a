//! Which function computes the rows of which virtual table.
//!
//! It stands above the views: no view knows it.

use std::collections::HashMap;
use std::sync::LazyLock;

use braid_catalog::{INFORMATION_SCHEMA, Id, PG_CATALOG, VirtualTable, virtual_tables};
use braid_types::{Result, Row};

use crate::context::{RowsOf, VirtualContext};
use crate::{braid_internal, information_schema, pg_catalog};

/// The functions by the oids of their tables. A table without a function is always empty.
static ROWS: LazyLock<HashMap<Id, RowsOf>> = LazyLock::new(|| {
    let tables = virtual_tables().iter();
    tables.filter_map(|table| Some((table.oid, rows_of(table.schema, table.name)?))).collect()
});

/// The rows of a virtual table, in no order that could be relied on.
pub fn virtual_rows(table: &VirtualTable, cx: &VirtualContext<'_>) -> Result<Vec<Row>> {
    let Some(rows) = ROWS.get(&table.oid) else { return Ok(Vec::new()) };
    let rows = rows(cx)?;
    let width = table.columns.len();
    debug_assert!(rows.iter().all(|row| row.len() == width), "rows of {table:?}: {width} columns");
    Ok(rows)
}

fn rows_of(schema: &str, name: &str) -> Option<RowsOf> {
    let views: &[fn(&str) -> Option<RowsOf>] = match schema {
        PG_CATALOG => &[
            pg_catalog::relations::rows_of,
            pg_catalog::statistics::relations::rows_of,
            pg_catalog::statistics::columns::rows_of,
            pg_catalog::statistics::extended::rows_of,
            pg_catalog::attributes::rows_of,
            pg_catalog::constraints::rows_of,
            pg_catalog::dependencies::rows_of,
            pg_catalog::partitions::rows_of,
            pg_catalog::triggers::rows_of,
            pg_catalog::types::rows_of,
            pg_catalog::pg_type::rows_of,
            pg_catalog::roles::policies::rows_of,
            pg_catalog::procedures::rows_of,
            pg_catalog::roles::databases::rows_of,
            pg_catalog::roles::authid::rows_of,
            pg_catalog::roles::members::rows_of,
            pg_catalog::roles::settings::rows_of,
            pg_catalog::roles::default_acl::rows_of,
            pg_catalog::sessions::rows_of,
            pg_catalog::statements::rows_of,
        ],
        INFORMATION_SCHEMA => &[
            information_schema::tables::rows_of,
            information_schema::columns::rows_of,
            information_schema::constraints::rows_of,
            information_schema::domains::rows_of,
            information_schema::privileges::rows_of,
            information_schema::roles::rows_of,
            information_schema::routines::rows_of,
            information_schema::sql_features::rows_of,
            information_schema::triggers::rows_of,
            information_schema::user_types::rows_of,
        ],
        _ => &[braid_internal::objects::rows_of],
    };
    views.iter().find_map(|rows_of| rows_of(name))
}

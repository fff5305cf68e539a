//! `pg_default_acl`.

use braid_types::{Result, Row};

use crate::cell::{acl_items, int, text};
use crate::context::{RowsOf, VirtualContext};
use crate::row_builder::RowBuilder;

pub(crate) fn rows_of(name: &str) -> Option<RowsOf> {
    Some(match name {
        "pg_default_acl" => pg_default_acl,
        _ => return None,
    })
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

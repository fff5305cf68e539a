//! The hidden key of a table without a primary key.

use braid_catalog::{Column, ColumnId, IndexKey, StoredExpr, Table};
use braid_types::{Result, SqlType};

use crate::context::DdlContext;

/// The hidden column of tables without a primary key: above every number a column can get.
const ROWID: ColumnId = ColumnId::MAX;

/// Gives a table without a primary key the hidden column `rowid`.
pub(crate) fn add_rowid(cx: &mut DdlContext<'_>, table: &mut Table) -> Result<()> {
    if !table.primary.keys.is_empty() {
        return Ok(());
    }
    let taken = |name: &str| table.columns.iter().any(|column| column.name == name);
    let name = braid_catalog::names::choose_name("rowid", None, "hidden", |name| taken(name));
    let name = if taken("rowid") { name } else { "rowid".to_owned() };
    table.columns.push(Column {
        id: ROWID,
        name,
        ty: SqlType::Int8,
        modifier: None,
        more_dimensions: 0,
        domain: None,
        collation: None,
        nullable: false,
        default: Some(StoredExpr::Written("unique_rowid()".to_owned())),
        generated: None,
        identity: None,
        owned_sequence: None,
        family: table.families.first().map_or(0, |family| family.id),
        hidden: true,
        is_key_expr: false,
        missing: None,
        statistics_target: None,
        storage: None,
        grants: Vec::new(),
        comment: None,
    });
    table.primary.id = cx.draft()?.allocate_id(table.id);
    table.primary.name = format!("{}_rowid", table.name);
    table.primary.keys = vec![IndexKey::plain(ROWID)];
    Ok(())
}

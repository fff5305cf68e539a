//! ON COMMIT and DISCARD of temporary objects.

use std::sync::Arc;

use braid_catalog::partitions::references_to;
use braid_catalog::{Catalog, OnCommit, Table, table_span, temporary_span};
use braid_exec::from_kv;
use braid_sql::ast::DropBehavior;
use braid_types::{Error, Result, SqlState};

use crate::context::DdlContext;
use crate::statement::drop::relations::drop_relations;

/// DISCARD TEMP: drops every temporary object.
pub fn discard_temporary(cx: &mut DdlContext<'_>) -> Result<()> {
    if cx.catalog().temporary_schema().is_none() {
        return Ok(());
    }
    cx.open_temporary();
    let catalog = cx.catalog();
    for table in catalog.temporary_objects().tables() {
        cx.refuse_if_owed(table, "DROP TABLE")?;
    }
    cx.draft()?.drop_temporary();
    cx.txn().writes().delete_span(cx.seq(), temporary_span()).map_err(from_kv)
}

/// Carries out ON COMMIT of the temporary tables, right before the commit.
pub fn end_temporary(cx: &mut DdlContext<'_>) -> Result<()> {
    let catalog = cx.catalog();
    let objects = catalog.temporary_objects();
    let of = |wanted: OnCommit| objects.tables().iter().filter(move |t| t.on_commit == wanted);
    for table in of(OnCommit::Delete) {
        refuse_mixed(&catalog, table)?;
        let span = table_span(table.data_id);
        cx.txn().writes().delete_span(cx.seq(), span).map_err(from_kv)?;
    }
    let dropped: std::collections::BTreeSet<_> = of(OnCommit::Drop).map(|table| table.id).collect();
    if dropped.is_empty() {
        return Ok(());
    }
    cx.open_temporary();
    let noted = cx.notices.len();
    let result = drop_relations(cx, dropped, DropBehavior::Cascade);
    cx.notices.truncate(noted);
    result
}

/// Whether a commit has something to do for temporary tables.
pub fn has_on_commit<'t>(tables: impl IntoIterator<Item = &'t Arc<Table>>) -> bool {
    tables.into_iter().any(|table| table.on_commit != OnCommit::Preserve)
}

/// 0A000 if rows would go that rows of a table point at which stays.
fn refuse_mixed(catalog: &Catalog, table: &Arc<Table>) -> Result<()> {
    let references = references_to(catalog, table)?;
    let mut children = references.iter().map(|reference| &reference.child);
    let Some(child) = children.find(|child| child.on_commit != OnCommit::Delete) else {
        return Ok(());
    };
    let (child, parent) = (&child.name, &table.name);
    let detail = format!(
        "Table \"{child}\" references \"{parent}\", but they do not have the same ON COMMIT setting."
    );
    let message = "unsupported ON COMMIT and foreign key combination";
    Err(Error::new(SqlState::FeatureNotSupported, message).detail(detail))
}

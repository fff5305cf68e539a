//! CREATE INDEX, inside of a transaction block or alone.

use std::sync::Arc;

use braid_catalog::{IndexNumber, Object, Table};
use braid_sql::ast::{CreateIndex, UniqueRules};
use braid_sql::fold;
use braid_types::{Error, Result, SqlState};

use crate::context::DdlContext;
use crate::online::index::build_index;
use crate::partitions::indexes::spread_index;
use crate::rows::rewrite::fill_index;
use crate::statement::table::storage_options::{self, Owner};
use crate::table::constraints::add_key;
use crate::table::descriptor::wanted_name;
use crate::table::interleave::interleave_in_parent;
use crate::table::key_spec::{KeySpec, WrittenIndex, index_spec};
use crate::table::moving::refuse_moving;

/// The table and the key wanted; `None` if the index is there and IF NOT EXISTS was said.
fn prepare(cx: &mut DdlContext<'_>, create: &CreateIndex) -> Result<Option<(Arc<Table>, KeySpec)>> {
    let table = cx.table_or_materialized(&create.table)?;
    cx.check_owner(Object::Table(&table))?;
    if let Some(name) = wanted_name(create.name.as_ref())
        && create.if_not_exists
        && cx.catalog().names().find(table.schema, &name).is_some()
    {
        let message = format!("relation \"{name}\" already exists, skipping");
        cx.notice(SqlState::DuplicateTable, message);
        return Ok(None);
    }
    let written = WrittenIndex {
        name: create.name.as_ref(),
        method: create.method.as_ref(),
        unique: create.unique,
        keys: &create.keys,
        storing: &create.storing,
        predicate: create.predicate.as_ref(),
        is_exclusion: false,
    };
    let spec = index_spec(cx, &table, &written)?;
    let method = create.method.as_ref().map_or_else(|| "btree".to_owned(), fold);
    storage_options::check(Owner::Index(&method), &create.options, false)?;
    let rules = UniqueRules::of_index(create.nulls_not_distinct);
    let options = storage_options::changed(&[], &create.options, false);
    Ok(Some((table, KeySpec { rules, options, ..spec })))
}

fn add(
    cx: &mut DdlContext<'_>,
    table: &mut Table,
    spec: &KeySpec,
    create: &CreateIndex,
) -> Result<IndexNumber> {
    let number = add_key(cx, table, spec)?;
    if let Some(clause) = &create.interleave {
        if table.materialized.is_some() {
            return Err(Error::unsupported("an interleaved index of a materialized view"));
        }
        interleave_in_parent(cx, table, number, clause)?;
    }
    Ok(number)
}

/// Inside of a transaction block: filled by the transaction itself.
pub(crate) async fn run(cx: &mut DdlContext<'_>, create: &CreateIndex) -> Result<()> {
    if create.concurrently && !cx.implicit {
        let message = "CREATE INDEX CONCURRENTLY cannot run inside a transaction block";
        return Err(Error::new(SqlState::ActiveSqlTransaction, message));
    }
    let Some((table, spec)) = prepare(cx, create)? else { return Ok(()) };
    if table.partitioning.is_some() {
        return add_to_partitioned(cx, &table, &spec, create).await;
    }
    let mut changed = Table::clone(&table);
    let number = add(cx, &mut changed, &spec, create)?;
    let shape = Arc::new(changed.clone());
    if let Some(index) = shape.index(number) {
        fill_index(cx, &shape, index).await?;
    }
    cx.draft()?.put(changed);
    Ok(())
}

/// Each partition gets the index, too, unless ONLY is written.
async fn add_to_partitioned(
    cx: &mut DdlContext<'_>,
    table: &Table,
    spec: &KeySpec,
    create: &CreateIndex,
) -> Result<()> {
    if create.concurrently {
        let message =
            format!("cannot create index on partitioned table \"{}\" concurrently", table.name);
        return Err(Error::new(SqlState::FeatureNotSupported, message));
    }
    if create.interleave.is_some() {
        return Err(Error::unsupported("an interleaved index of a partitioned table"));
    }
    let mut changed = table.clone();
    let number = add_key(cx, &mut changed, spec)?;
    cx.draft()?.put(changed);
    if create.only { Ok(()) } else { spread_index(cx, table.id, number).await }
}

/// As a transaction of its own: announced, filled in batches beside writers, then made public.
pub(crate) async fn run_alone(cx: &mut DdlContext<'_>, create: &CreateIndex) -> Result<()> {
    if cx.txn().is_read_only() {
        let message = "cannot execute CREATE INDEX in a read-only transaction";
        return Err(Error::new(SqlState::ReadOnlySqlTransaction, message));
    }
    let announce = |cx: &mut DdlContext<'_>| {
        let Some((table, spec)) = prepare(cx, create)? else { return Ok(None) };
        if table.moving.is_some() {
            refuse_moving(&cx.catalog(), &table)?;
        }
        let mut changed = Table::clone(&table);
        let number = add(cx, &mut changed, &spec, create)?;
        Ok(Some((changed, number)))
    };
    build_index::run(cx, announce).await
}

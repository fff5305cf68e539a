//! Validates constraints on the rows of a table.

use std::collections::HashMap;
use std::sync::Arc;

use braid_catalog::partitions::ReferenceRoutes;
use braid_catalog::{Catalog, Check, ColumnId, ForeignKey, Id, Table};
use braid_exec::from_kv;
use braid_kv::{Key, Record, Seq, Transaction};
use braid_rows::{ForeignKeyValues, IndexRows, TableRows};
use braid_types::{Datum, Error, Result, Row, SqlState};

use crate::context::DdlContext;
use crate::rows::messages::{contains_nulls, no_parent};
use crate::rows::reader::{CHECKED, TableReader, block_writers, table_reader};
use crate::table::exprs::{check_boolean, evaluator};

/// Whether writers have checked a constraint of a table since before this transaction: a row
/// that is right then stays right, so that a validation needs no locks and remembers nothing.
fn is_enforced(cx: &DdlContext<'_>, table: &Table, constraint: Id) -> bool {
    let before = cx.draft.as_ref().and_then(|draft| draft.base().table(table.id));
    before.is_some_and(|table| {
        table.foreign_keys.iter().any(|key| key.id == constraint)
            || table.checks.iter().any(|check| check.id == constraint)
    })
}

/// Prepares the validation of a constraint; how its reads are remembered.
async fn before_validation(
    cx: &DdlContext<'_>,
    table: &Arc<Table>,
    constraint: Id,
) -> Result<Record> {
    if is_enforced(cx, table, constraint) {
        cx.txn().snapshots().renew(cx.seq()).await.map_err(from_kv)?;
        return Ok(Record::Never);
    }
    block_writers(cx, table).await?;
    Ok(CHECKED)
}

/// Whether a table has no rows.
pub(crate) async fn is_table_empty(cx: &DdlContext<'_>, table: &Arc<Table>) -> Result<bool> {
    block_writers(cx, table).await?;
    Ok(table_reader(cx, table)?.next().await?.is_none())
}

/// 23502 if a column of some row is NULL.
pub(crate) async fn validate_not_null(
    cx: &DdlContext<'_>,
    table: &Arc<Table>,
    places: &[usize],
) -> Result<()> {
    block_writers(cx, table).await?;
    let nullable = |place: &&usize| table.columns[**place].nullable;
    let places: Vec<usize> = places.iter().filter(nullable).copied().collect();
    if places.is_empty() {
        return Ok(());
    }
    let mut reader = table_reader(cx, table)?;
    while let Some(rows) = reader.next().await? {
        cx.exec.check_interrupts().await?;
        for row in rows {
            if let Some(place) = places.iter().find(|place| row[**place].is_null()) {
                return Err(contains_nulls(table, *place));
            }
        }
    }
    Ok(())
}

/// 23514 if some row violates a condition.
pub(crate) async fn validate_check(
    cx: &DdlContext<'_>,
    table: &Arc<Table>,
    check: &Check,
) -> Result<()> {
    let name = &check.name;
    let bound = check_boolean(cx, table, &check.expr, "CHECK", "check constraints")?;
    let record = before_validation(cx, table, check.id).await?;
    let mut reader = TableReader::recorded(cx.txn(), cx.seq(), table, record)?;
    let evaluator = evaluator(cx);
    while let Some(rows) = reader.next().await? {
        cx.exec.check_interrupts().await?;
        for row in rows {
            if evaluator.eval(&bound, &row).await?.as_bool() == Some(false) {
                return Err(violated(cx, table, name));
            }
        }
    }
    Ok(())
}

/// 23514 of a row that violates a condition.
fn violated(cx: &DdlContext<'_>, table: &Table, name: &str) -> Error {
    let relation = &table.name;
    let message =
        format!("check constraint \"{name}\" of relation \"{relation}\" is violated by some row");
    Error::new(SqlState::CheckViolation, message)
        .table(&cx.catalog().schema_name(table.schema), relation)
        .constraint(name)
}

/// 23514 if a row violates a CHECK constraint that names one of these columns, whose values this
/// transaction has changed. Constraints that are NOT VALID do not hold for rows that were there.
pub(crate) async fn validate_changed_columns(
    cx: &DdlContext<'_>,
    table: &Arc<Table>,
    columns: &[ColumnId],
) -> Result<()> {
    let mut checks = Vec::new();
    for check in table.checks.iter().filter(|check| check.validated) {
        if check.columns.iter().any(|id| columns.contains(id)) {
            let bound = check_boolean(cx, table, &check.expr, "CHECK", "check constraints")?;
            checks.push((&check.name, bound));
        }
    }
    if checks.is_empty() {
        return Ok(());
    }
    block_writers(cx, table).await?;
    let evaluator = evaluator(cx);
    let mut reader = table_reader(cx, table)?;
    while let Some(rows) = reader.next().await? {
        cx.exec.check_interrupts().await?;
        for row in &rows {
            for (name, bound) in &checks {
                if evaluator.eval(bound, row).await?.as_bool() == Some(false) {
                    return Err(violated(cx, table, name));
                }
            }
        }
    }
    Ok(())
}

/// 23503 if some row has no parent.
pub(crate) async fn validate_foreign_key(
    cx: &DdlContext<'_>,
    table: &Arc<Table>,
    key: &ForeignKey,
) -> Result<()> {
    let is_checked_by_writers = before_validation(cx, table, key.id).await? == Record::Never;
    find_parents(cx, table, key, is_checked_by_writers).await
}

/// The same after this transaction has changed values of one of the two tables.
pub(crate) async fn validate_changed_key(
    cx: &DdlContext<'_>,
    table: &Arc<Table>,
    key: &ForeignKey,
) -> Result<()> {
    block_writers(cx, table).await?;
    find_parents(cx, table, key, false).await
}

async fn find_parents(
    cx: &DdlContext<'_>,
    table: &Arc<Table>,
    key: &ForeignKey,
    is_checked_by_writers: bool,
) -> Result<()> {
    let catalog = cx.catalog();
    let parent = parent_of(&catalog, table, key)?.clone();
    // Both sides are validated at the commit, at every level, unless writers do it.
    let (children, parents) = match is_checked_by_writers {
        true => (Record::Never, Record::Never),
        false => (Record::Always { tag: key.id }, Record::Exists { tag: key.id }),
    };
    let mut reader = TableReader::recorded(cx.txn(), cx.seq(), table, children)?;
    let keys = ParentKeys::new(&catalog, table, &parent, key)?;
    while let Some(rows) = reader.next().await? {
        cx.exec.check_interrupts().await?;
        let looked = Looked { txn: cx.txn(), seq: cx.seq(), record: parents };
        look(looked, &catalog, table, &keys, key, &rows).await?;
    }
    Ok(())
}

/// The table that a foreign key refers to.
fn parent_of<'c>(
    catalog: &'c Catalog,
    table: &'c Arc<Table>,
    key: &ForeignKey,
) -> Result<&'c Arc<Table>> {
    let parent = if key.parent == table.id { Some(table) } else { catalog.table(key.parent) };
    parent.ok_or_else(|| {
        Error::broken(format!("foreign key \"{}\" refers to a missing table", key.name))
    })
}

/// How parents are looked for.
struct Looked<'a> {
    txn: &'a Transaction,
    seq: Seq,
    record: Record,
}

/// 23503 if some of these rows has no parent; nothing is remembered.
pub(crate) async fn check_parents(
    txn: &Transaction,
    seq: Seq,
    catalog: &Catalog,
    table: &Arc<Table>,
    key: &ForeignKey,
    rows: &[Row],
) -> Result<()> {
    let parent = parent_of(catalog, table, key)?;
    let keys = ParentKeys::new(catalog, table, parent, key)?;
    look(Looked { txn, seq, record: Record::Never }, catalog, table, &keys, key, rows).await
}

async fn look(
    how: Looked<'_>,
    catalog: &Catalog,
    table: &Table,
    keys: &ParentKeys,
    key: &ForeignKey,
    rows: &[Row],
) -> Result<()> {
    let pairs = rows.iter().map(|row| Ok((row, keys.of(row, key, table, catalog)?)));
    let pairs: Vec<(&Row, Option<Key>)> = pairs.collect::<Result<_>>()?;
    let wanted: Vec<(&Row, Key)> =
        pairs.into_iter().filter_map(|(row, key)| Some((row, key?))).collect();
    let names: Vec<Key> = wanted.iter().map(|(_, key)| key.clone()).collect();
    let found = how.txn.reads().multi_get_recorded(how.seq.after(), &names, how.record);
    for ((row, _), value) in wanted.iter().zip(found.await.map_err(from_kv)?) {
        if value.is_none() {
            return Err(no_parent(table, &keys.named.table, key, row, catalog));
        }
    }
    Ok(())
}

/// Makes the key that a child's parent row has.
struct ParentKeys {
    /// The table that the foreign key names.
    named: ParentRows,
    /// If it is partitioned: where its rows are.
    leaves: Option<(ReferenceRoutes, HashMap<Id, ParentRows>)>,
    /// Places of the foreign key in the child's row.
    places: Vec<usize>,
    values: ForeignKeyValues,
}

/// Keys of the rows of one table that may be parents.
struct ParentRows {
    table: Arc<Table>,
    primary: Option<TableRows>,
    index: Option<IndexRows>,
    /// Places of the columns that are pointed at.
    places: Vec<usize>,
}

impl ParentRows {
    fn new(table: &Arc<Table>, key: &ForeignKey) -> Result<Self> {
        let places = key.parent_columns.iter().map(|id| table.place_of(*id));
        let is_primary = key.parent_index == table.primary.number;
        let index = table.index(key.parent_index).ok_or_else(|| {
            Error::broken(format!("foreign key \"{}\" refers to a missing index", key.name))
        })?;
        Ok(Self {
            table: table.clone(),
            primary: is_primary.then(|| TableRows::new(table)).transpose()?,
            index: (!is_primary).then(|| IndexRows::new(table, index)).transpose()?,
            places: places.collect::<Result<_>>()?,
        })
    }

    /// The key of the row that has these values.
    fn key(&self, values: Vec<Datum>) -> Option<Key> {
        let mut row = vec![Datum::Null; self.table.columns.len()];
        for (place, value) in self.places.iter().zip(values) {
            row[*place] = value;
        }
        match (&self.primary, &self.index) {
            (Some(primary), _) => Some(primary.first_key(&row)),
            (None, Some(index)) => Some(index.entry(&self.table, &row).key),
            (None, None) => None,
        }
    }
}

impl ParentKeys {
    fn new(
        catalog: &Catalog,
        table: &Table,
        parent: &Arc<Table>,
        key: &ForeignKey,
    ) -> Result<Self> {
        let places = key.columns.iter().map(|own| table.place_of(*own)).collect::<Result<_>>()?;
        let mut leaves = None;
        if let Some(routes) = ReferenceRoutes::of(catalog, parent, key)? {
            let mut rows = HashMap::new();
            for (leaf, key) in routes.leaves() {
                rows.insert(leaf.id, ParentRows::new(leaf, key)?);
            }
            leaves = Some((routes, rows));
        }
        let values = ForeignKeyValues::new(table, parent, key);
        Ok(Self { named: ParentRows::new(parent, key)?, leaves, places, values })
    }

    fn of(
        &self,
        row: &[Datum],
        key: &ForeignKey,
        table: &Table,
        catalog: &Catalog,
    ) -> Result<Option<Key>> {
        let nulls = self.places.iter().filter(|own| row[**own].is_null()).count();
        if nulls > 0 {
            if key.match_full && nulls < self.places.len() {
                let message = format!(
                    "insert or update on table \"{}\" violates foreign key constraint \"{}\"",
                    table.name, key.name
                );
                return Err(Error::new(SqlState::ForeignKeyViolation, message)
                    .detail("MATCH FULL does not allow mixing of null and nonnull key values.")
                    .table(&catalog.schema_name(table.schema), &table.name)
                    .constraint(&key.name));
            }
            return Ok(None);
        }
        let values: Vec<Datum> = self.places.iter().map(|own| row[*own].clone()).collect();
        let values = self.values.of_child(values)?.into_owned();
        let found = self.leaves.as_ref().and_then(|(routes, rows)| {
            let (leaf, _) = routes.find(&values)?;
            rows.get(&leaf.id)
        });
        Ok(found.unwrap_or(&self.named).key(values))
    }
}

//! Foreign keys, checked in batches at the end of the statement, its own writes included.
//!
//! Two questions: does every new child have its parent, and does nobody point at a parent that
//! is gone? Both reads are remembered at every isolation level and validated at commit.

use std::collections::HashSet;
use std::sync::Arc;

use braid_catalog::{ForeignKey, Table};
use braid_codec::key;
use braid_kv::{Key, Record, ScanRequest, Span};
use braid_types::{Datum, Error, Result, Row, SqlState};

use super::change::columns_text;
use super::eval::Evaluator;
use super::multi_scan::first_batches;
use crate::rows::TableRows;

/// How many keys' children are looked for in one wait.
const KEYS_AT_ONCE: usize = 1024;

/// The checks of one statement on one table.
pub struct ForeignKeys {
    table: Arc<Table>,
    evaluator: Evaluator,
    /// For each of the table's foreign keys: the keys its new rows point at.
    outgoing: Vec<Outgoing>,
    /// Foreign keys of other tables (or this one) that point here.
    incoming: Vec<Incoming>,
}

struct Outgoing {
    foreign_key: ForeignKey,
    places: Vec<usize>,
    wanted: Vec<Row>,
}

struct Incoming {
    child: Arc<Table>,
    foreign_key: ForeignKey,
    /// Places of the referenced columns in this table.
    places: Vec<usize>,
    gone: Vec<Row>,
}

fn places(table: &Table, columns: &[braid_catalog::ColumnId]) -> Vec<usize> {
    columns
        .iter()
        .filter_map(|id| table.columns.iter().position(|column| column.id == *id))
        .collect()
}

fn pick(row: &[Datum], places: &[usize]) -> Row {
    places.iter().map(|place| row[*place].clone()).collect()
}

impl ForeignKeys {
    /// The checks that a statement on this table owes.
    pub fn new(table: &Arc<Table>, evaluator: Evaluator) -> Self {
        let outgoing = table
            .foreign_keys
            .iter()
            .map(|foreign_key| Outgoing {
                places: places(table, &foreign_key.columns),
                foreign_key: foreign_key.clone(),
                wanted: Vec::new(),
            })
            .collect();
        let catalog = &evaluator.run.cx.catalog;
        let mut incoming = Vec::new();
        for child in table.referenced_by.iter().filter_map(|id| catalog.table(*id)) {
            for foreign_key in child.foreign_keys.iter().filter(|fk| fk.parent == table.id) {
                incoming.push(Incoming {
                    child: child.clone(),
                    places: places(table, &foreign_key.parent_columns),
                    foreign_key: foreign_key.clone(),
                    gone: Vec::new(),
                });
            }
        }
        Self { table: table.clone(), evaluator, outgoing, incoming }
    }

    /// A row was added, or took the place of `old`.
    pub fn added(&mut self, new: &[Datum], old: Option<&[Datum]>) {
        for check in &mut self.outgoing {
            let key = pick(new, &check.places);
            if old.is_some_and(|old| pick(old, &check.places) == key) {
                continue;
            }
            // MATCH SIMPLE: a NULL points nowhere. MATCH FULL with some NULLs is found later.
            let nulls = key.iter().filter(|value| value.is_null()).count();
            let none = if check.foreign_key.match_full { nulls == key.len() } else { nulls > 0 };
            if !none {
                check.wanted.push(key);
            }
        }
    }

    /// A row was removed, or `new` took its place.
    pub fn removed(&mut self, old: &[Datum], new: Option<&[Datum]>) {
        for check in &mut self.incoming {
            let key = pick(old, &check.places);
            let same = new.is_some_and(|new| pick(new, &check.places) == key);
            if !same && !key.iter().any(Datum::is_null) {
                check.gone.push(key);
            }
        }
    }

    /// Checks what has gathered; 23503 names the constraint and the key.
    pub async fn check(&mut self) -> Result<()> {
        for i in 0..self.outgoing.len() {
            let wanted = std::mem::take(&mut self.outgoing[i].wanted);
            if !wanted.is_empty() {
                self.check_parents(&self.outgoing[i], wanted).await?;
            }
        }
        for i in 0..self.incoming.len() {
            let gone = std::mem::take(&mut self.incoming[i].gone);
            if !gone.is_empty() {
                self.check_children(&self.incoming[i], gone).await?;
            }
        }
        Ok(())
    }

    async fn check_parents(&self, check: &Outgoing, wanted: Vec<Row>) -> Result<()> {
        let foreign_key = &check.foreign_key;
        let run = &self.evaluator.run;
        let Some(parent) = run.cx.catalog.table(foreign_key.parent) else {
            return Err(Error::internal("a foreign key without its parent"));
        };
        let mut seen = HashSet::new();
        let mut keys = Vec::new();
        let mut values = Vec::new();
        for key in wanted {
            if key.iter().any(Datum::is_null) {
                return Err(self
                    .violated(foreign_key)
                    .detail("MATCH FULL does not allow mixing of null and nonnull key values."));
            }
            if seen.insert(key.clone()) {
                keys.push(parent_key(parent, foreign_key, &key)?);
                values.push(key);
            }
        }
        // The parent's row may change as long as it is there.
        let record = Record::Exists { tag: foreign_key.id };
        let read = run.cx.txn.multi_get_recorded(run.cx.seq.after(), &keys, record);
        let found = run.wait(read).await?;
        for (key, value) in values.iter().zip(found) {
            if value.is_none() {
                return Err(self.violated(foreign_key).detail(format!(
                    "Key {} is not present in table \"{}\".",
                    self.key_text(&self.table, &check.places, key),
                    parent.name
                )));
            }
        }
        Ok(())
    }

    fn violated(&self, foreign_key: &ForeignKey) -> Error {
        let catalog = &self.evaluator.run.cx.catalog;
        Error::new(
            SqlState::ForeignKeyViolation,
            format!(
                "insert or update on table \"{}\" violates foreign key constraint \"{}\"",
                self.table.name, foreign_key.name
            ),
        )
        .table(&catalog.schema_name(self.table.schema), &self.table.name)
        .constraint(&foreign_key.name)
    }

    fn key_text(&self, table: &Table, places: &[usize], key: &[Datum]) -> String {
        let mut row = vec![Datum::Null; table.columns.len()];
        for (place, value) in places.iter().zip(key) {
            row[*place] = value.clone();
        }
        columns_text(table, places, &row, self.evaluator.run.cx.env.settings())
    }

    async fn check_children(&self, check: &Incoming, gone: Vec<Row>) -> Result<()> {
        let run = &self.evaluator.run;
        let foreign_key = &check.foreign_key;
        // A key that another row of this statement has taken over is not gone.
        let keys = gone
            .iter()
            .map(|key| parent_key(&self.table, foreign_key, key))
            .collect::<Result<Vec<_>>>()?;
        let read = run.cx.txn.multi_get(run.cx.seq.after(), &keys);
        let still = run.wait(read).await?;
        let gone: Vec<Row> =
            gone.into_iter().zip(still).filter(|(_, v)| v.is_none()).map(|(k, _)| k).collect();
        if gone.is_empty() {
            return Ok(());
        }
        if let Some(key) = self.referenced(check, gone).await? {
            let catalog = &run.cx.catalog;
            return Err(Error::new(
                SqlState::ForeignKeyViolation,
                format!(
                    "update or delete on table \"{}\" violates foreign key constraint \"{}\" on \
                     table \"{}\"",
                    self.table.name, foreign_key.name, check.child.name
                ),
            )
            .detail(format!(
                "Key {} is still referenced from table \"{}\".",
                self.key_text(&self.table, &check.places, &key),
                check.child.name
            ))
            .table(&catalog.schema_name(check.child.schema), &check.child.name)
            .constraint(&foreign_key.name));
        }
        Ok(())
    }

    /// The first of these keys that a child points at.
    async fn referenced(&self, check: &Incoming, gone: Vec<Row>) -> Result<Option<Row>> {
        let run = &self.evaluator.run;
        let (cx, child) = (&run.cx, &check.child);
        let record = Record::Always { tag: check.foreign_key.id };
        if let Some(index) = index_on(child, &check.foreign_key) {
            for keys in gone.chunks(KEYS_AT_ONCE) {
                run.check_cancel()?;
                let scanner = |key: &Row| {
                    let span = child_span(child, index, &check.foreign_key, key);
                    let request = ScanRequest::new(span).limit_rows(1).keys_only().record(record);
                    cx.txn.scanner(cx.seq.after(), request)
                };
                let opened = first_batches(run, keys.iter().map(scanner).collect()).await?;
                for (key, (first, mut scanner)) in keys.iter().zip(opened) {
                    // A batch is empty where the transaction has deleted what the store has.
                    let mut batch = first;
                    while let Some(entries) = batch {
                        if !entries.is_empty() {
                            return Ok(Some(key.clone()));
                        }
                        batch = run.wait(scanner.next_batch()).await?;
                    }
                }
            }
            return Ok(None);
        }
        // Without an index every child is looked at, once for all keys.
        let gone: HashSet<Row> = gone.into_iter().collect();
        let rows = TableRows::new(child);
        let decoder = rows.reader(&places(child, &check.foreign_key.columns));
        let request = ScanRequest::new(rows.primary_span()).record(record);
        let mut scanner = cx.txn.scanner(cx.seq.after(), request);
        let mut partial: Option<(Vec<u8>, Row)> = None;
        while let Some(batch) = run.wait(scanner.next_batch()).await? {
            run.check_cancel()?;
            for (key, value) in batch.iter() {
                let row_key = decoder.row_key(key)?;
                if partial.as_ref().is_none_or(|(known, _)| known != row_key) {
                    if let Some((_, row)) = partial.take()
                        && gone.contains(&row)
                    {
                        return Ok(Some(row));
                    }
                    partial = Some((row_key.to_vec(), decoder.start(key)?));
                }
                if let Some((_, row)) = &mut partial {
                    decoder.fill(row, value)?;
                }
            }
        }
        Ok(partial.map(|(_, row)| row).filter(|row| gone.contains(row)))
    }
}

/// The key under which the parent row of these values would be found.
fn parent_key(parent: &Arc<Table>, foreign_key: &ForeignKey, values: &[Datum]) -> Result<Key> {
    let index = parent.all_indexes().find(|index| index.number == foreign_key.parent_index);
    let Some(index) = index else {
        return Err(Error::internal("a foreign key without its parent's index"));
    };
    let mut out = key::index_prefix(parent.data_id, index.number);
    for part in &index.keys {
        let at = foreign_key.parent_columns.iter().position(|id| *id == part.column);
        let (Some(value), Some(column)) =
            (at.and_then(|at| values.get(at)), parent.column(part.column))
        else {
            return Err(Error::internal("a foreign key that does not cover its parent's index"));
        };
        key::encode(&mut out, value, &column.ty, part.descending);
    }
    if index.number == 1 {
        key::encode_family(&mut out, 0);
    }
    Ok(out)
}

/// An index of the child whose first columns are the foreign key's, in any order.
pub fn index_on<'t>(
    child: &'t Table,
    foreign_key: &ForeignKey,
) -> Option<&'t braid_catalog::Index> {
    child.all_indexes().find(|index| {
        index.state == braid_catalog::IndexState::Public
            && index.predicate.is_none()
            && index.keys.len() >= foreign_key.columns.len()
            && index.keys[..foreign_key.columns.len()]
                .iter()
                .all(|part| foreign_key.columns.contains(&part.column))
    })
}

fn child_span(
    child: &Table,
    index: &braid_catalog::Index,
    foreign_key: &ForeignKey,
    values: &[Datum],
) -> Span {
    let mut out = key::index_prefix(child.data_id, index.number);
    for part in &index.keys[..foreign_key.columns.len()] {
        let at = foreign_key.columns.iter().position(|id| *id == part.column);
        if let (Some(value), Some(column)) =
            (at.and_then(|at| values.get(at)), child.column(part.column))
        {
            key::encode(&mut out, value, &column.ty, part.descending);
        }
    }
    Span::prefix(out)
}

//! What INSERT, UPDATE and DELETE share: constraints on a row, and a row's pairs and entries in
//! the transaction's buffer.

use std::collections::HashSet;
use std::sync::Arc;

use braid_catalog::{IndexNumber, Table};
use braid_exec::{Evaluator, ExecutionState, IndexExprs, from_kv};
use braid_kv::{Isolation, Key, LockRequest, Record, Seq, Transaction, Value};
use braid_plan::{Expr, IndexPart, PolicyUse, RowCheck, eval};
use braid_rows::{
    IndexEntry, IndexRows, PairBuffer, RowEntries, TableRows, changed_entries, duplicate_row, show,
};
use braid_types::{Datum, Error, Result, Row, SqlState};

use crate::counts::WriteCounts;
use crate::deferrable_keys::{defer_checks, defer_exclusions};
use crate::policy_checks::check_policies;

/// From how many keys on those that have to be free are locked without remembering their values.
pub(crate) const FREE_KEYS_MANY: usize = 64;

/// Writes rows of one table.
pub(crate) struct TableWriter {
    /// The layout of its rows.
    pub rows: TableRows,
    /// Their layout where they are being moved to.
    moved: Option<TableRows>,
    /// The layouts of its secondary indexes.
    pub indexes: Vec<IndexRows>,
    /// What they compute, in the same order.
    index_exprs: Vec<IndexExprs>,
    generated: Vec<(usize, Expr)>,
    checks: Vec<(RowCheck, Expr)>,
    /// Whether policies hold for the rows.
    has_policies: bool,
    /// Whether generated columns or checks call functions that wait.
    waits: bool,
    evaluator: Evaluator,
    counts: WriteCounts,
}

/// A key that no other row may have, for the check of unique constraints.
pub(crate) struct UniqueKey {
    /// The key.
    pub key: Key,
    /// The index it belongs to; 1 is the primary key.
    pub index: IndexNumber,
    /// The row, by its place among those that are written.
    pub row: usize,
}

/// What of a replacement is to be done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Part {
    /// The old rows go.
    Old,
    /// The new rows are checked and put.
    New,
    /// Both, one after the other.
    Both,
}

impl TableWriter {
    /// A writer with what the plan computes for each row.
    pub(crate) fn new(
        table: &Arc<Table>,
        generated: &[(usize, Expr)],
        checks: &[(RowCheck, Expr)],
        index_exprs: &[(IndexPart, Expr)],
        evaluator: Evaluator,
    ) -> Result<Self> {
        let moved = table.moved().map(|moved| TableRows::new(&Arc::new(moved)));
        Ok(Self {
            rows: TableRows::new(table)?,
            moved: moved.transpose()?,
            indexes: IndexRows::all(table)?,
            index_exprs: table
                .indexes
                .iter()
                .map(|index| IndexExprs::of(table, index, index_exprs))
                .collect(),
            generated: generated.to_vec(),
            checks: checks.to_vec(),
            has_policies: checks.iter().any(|(check, _)| check.is_policy()),
            waits: generated.iter().any(|(_, e)| e.waits())
                || checks.iter().any(|(_, e)| e.waits()),
            counts: WriteCounts::new(&evaluator.run, table),
            evaluator,
        })
    }

    /// Goes on with the number of a later run.
    pub(crate) fn go_on(&mut self, run: &Arc<ExecutionState>) {
        if !Arc::ptr_eq(&self.evaluator.run, run) {
            self.evaluator = Evaluator::new(run.clone(), self.evaluator.outer.clone());
        }
    }

    fn table(&self) -> &Table {
        &self.rows.table
    }

    /// Every layout that rows are written in: one, and while they are being moved two.
    fn layouts(&self) -> impl Iterator<Item = &TableRows> {
        std::iter::once(&self.rows).chain(&self.moved)
    }

    fn delete_pairs(&self, row: &[Datum]) -> Result<()> {
        let (txn, seq) = (&self.evaluator.run.cx.txn, self.evaluator.run.cx.seq);
        for layout in self.layouts() {
            layout.each_key(row, |key| txn.delete(seq, key).map_err(from_kv))?;
        }
        Ok(())
    }

    /// Computes the generated columns of a new row, then checks NOT NULL and CHECK.
    pub(crate) async fn complete(&self, row: &mut Row) -> Result<()> {
        self.complete_columns(row, PolicyUse::Insert, |_| true).await
    }

    /// The same for a changed row. A column that was null in the old row is not checked for NOT
    /// NULL: it is in a column family that the change neither read nor writes.
    pub(crate) async fn complete_changed(&self, old: &[Datum], row: &mut Row) -> Result<()> {
        self.complete_columns(row, PolicyUse::Update, |place| !old[place].is_null()).await
    }

    /// The value of an expression of the table's definition. Functions of users wait.
    async fn value(&self, e: &Expr, row: &[Datum]) -> Result<Datum> {
        match self.waits {
            true => self.evaluator.eval(e, row).await,
            false => eval::eval(e, row, &self.evaluator.context()),
        }
    }

    async fn complete_columns(
        &self,
        row: &mut Row,
        written: PolicyUse,
        must_have_value: impl Fn(usize) -> bool,
    ) -> Result<()> {
        self.generate(row).await?;
        self.check_policies(written, row).await?;
        let table = self.table();
        for (place, (column, value)) in table.columns.iter().zip(row.iter()).enumerate() {
            if value.is_null() && !column.nullable && must_have_value(place) {
                return Err(Error::new(
                    SqlState::NotNullViolation,
                    format!(
                        "null value in column \"{}\" of relation \"{}\" violates not-null \
                         constraint",
                        column.name, table.name
                    ),
                )
                .details(failing_row(self, row))
                .table(&schema_of(self), &table.name)
                .column(&column.name));
            }
        }
        self.check(row).await
    }

    /// Checks CHECK constraints, the conditions of views, and the bound of a partition.
    pub(crate) async fn check(&self, row: &[Datum]) -> Result<()> {
        for (check, e) in self.checks.iter().filter(|(check, _)| !check.is_policy()) {
            let holds = self.value(e, row).await?.as_bool();
            match check {
                RowCheck::Constraint(name) if holds == Some(false) => {
                    return Err(violated(self, name, row));
                }
                RowCheck::Partition if holds != Some(true) => {
                    return Err(outside_of_partition(self, row));
                }
                RowCheck::SamePartition if holds != Some(true) => return Err(moved_away()),
                RowCheck::View(name) if holds != Some(true) => {
                    let message = format!("new row violates check option for view \"{name}\"");
                    return Err(Error::new(SqlState::WithCheckOptionViolation, message)
                        .details(failing_row(self, row)));
                }
                _ => {}
            }
        }
        Ok(())
    }

    /// Computes the generated columns of a row.
    pub(crate) async fn generate(&self, row: &mut Row) -> Result<()> {
        for (place, e) in &self.generated {
            row[*place] = self.value(e, row).await?;
        }
        Ok(())
    }

    /// 42501 for a row that does not meet the policies of this use.
    pub(crate) async fn check_policies(&self, wanted: PolicyUse, row: &[Datum]) -> Result<()> {
        if !self.has_policies {
            return Ok(());
        }
        check_policies(&self.evaluator, &self.checks, wanted, row).await
    }

    /// The row's index entries; none where a partial index leaves it out.
    pub(crate) fn entries(&self, row: &[Datum]) -> Result<RowEntries> {
        let mut entries = RowEntries::default();
        entries.by_index.reserve_exact(self.indexes.len());
        for (place, index) in self.indexes.iter().enumerate() {
            if index.is_inverted() {
                entries.by_index.push(None);
                entries.terms.append(&mut entries_of(self, place, row)?);
            } else {
                entries.by_index.push(entry_of(self, place, row)?);
            }
        }
        Ok(entries)
    }

    /// The keys of a row that must be its alone.
    pub(crate) fn unique_keys(
        &self,
        row: &[Datum],
        entries: &RowEntries,
        place: usize,
        into: &mut Vec<UniqueKey>,
    ) {
        into.push(UniqueKey { key: self.rows.first_key(row), index: 1, row: place });
        for (index, entry) in self.indexes.iter().zip(&entries.by_index) {
            if let Some(entry) = entry.as_ref().filter(|entry| entry.must_be_unique) {
                let key = entry.key.clone();
                into.push(UniqueKey { key, index: index.number, row: place });
            }
        }
    }

    /// For each key: whether it exists, this statement's own writes included. Below SERIALIZABLE
    /// the keys are locked first, so that two transactions cannot both find them free.
    pub(crate) async fn existing(
        &self,
        keys: &[UniqueKey],
    ) -> Result<Vec<Option<braid_kv::Value>>> {
        let run = &self.evaluator.run;
        let txn = &run.cx.txn;
        let plain: Vec<Key> = keys.iter().map(|unique| unique.key.clone()).collect();
        if txn.isolation() != Isolation::Serializable {
            let mut request = LockRequest::keys(plain);
            // What is free is written next, and then known by that.
            if keys.len() >= FREE_KEYS_MANY {
                request = request.passing(true);
            }
            return Ok(run.wait(txn.lock(run.cx.seq.after(), request)).await?.values);
        }
        run.wait(txn.reads().multi_get_recorded(run.cx.seq.after(), &plain, Record::Default)).await
    }

    /// 23505 if any of the keys exists or comes twice; `row_of` gives the row of a place.
    pub(crate) async fn require_free<'r>(
        &self,
        keys: &[UniqueKey],
        row_of: impl Fn(usize) -> &'r Row,
    ) -> Result<()> {
        let mut seen: HashSet<&Key> = HashSet::with_capacity(keys.len());
        let found = self.existing(keys).await?;
        for (unique, value) in keys.iter().zip(found) {
            if value.is_some() || !seen.insert(&unique.key) {
                return Err(self.duplicate(unique.index, row_of(unique.row)));
            }
        }
        Ok(())
    }

    /// 23505 with the constraint's name and the key.
    pub(crate) fn duplicate(&self, number: IndexNumber, row: &[Datum]) -> Error {
        let table = self.table();
        let Some(index) = table.all_indexes().find(|index| index.number == number) else {
            return Error::internal("a duplicate in an index that does not exist");
        };
        let cx = self.evaluator.context();
        let place = self.indexes.iter().position(|index| index.number == number);
        let row = match place.map(|place| self.index_exprs[place].row(row, &cx)) {
            Some(Ok(Some(row))) => row,
            Some(Err(error)) => return error,
            Some(Ok(None)) | None => row.into(),
        };
        let run = &self.evaluator.run.cx;
        let error = duplicate_row(&run.catalog, table, index, &row, run.env.settings());
        if self.has_policies { error.without_detail() } else { error }
    }

    /// Notes what a row gets and is checked later: keys of deferrable constraints, and entries
    /// that an exclusion constraint may not allow.
    fn defer_checks<'e>(
        &self,
        old: Option<&[Datum]>,
        new: &[Datum],
        entries: impl Iterator<Item = (&'e IndexRows, &'e IndexEntry)>,
    ) -> Result<()> {
        let cx = &self.evaluator.run.cx;
        defer_checks(cx, self.table(), &self.indexes, old, new);
        defer_exclusions(cx, self.table(), entries)
    }

    /// Puts a row, whatever was there.
    pub(crate) fn put(&self, row: &[Datum], entries: RowEntries) -> Result<()> {
        self.defer_checks(None, row, given(&self.indexes, &entries.by_index))?;
        let (txn, seq) = (&self.evaluator.run.cx.txn, self.evaluator.run.cx.seq);
        let mut buffer = PairBuffer::default();
        for layout in self.layouts() {
            layout.each_pair(row, &mut buffer, |_, key, value| match value {
                Some(value) => put(txn, seq, key, value).map_err(from_kv),
                None => Ok(()),
            })?;
        }
        for entry in entries.by_index.into_iter().flatten().chain(entries.terms) {
            txn.put(seq, entry.key, entry.value).map_err(from_kv)?;
        }
        self.counts.inserted();
        Ok(())
    }

    /// Puts a row whose unique keys must be free, which is looked at later; 23505 at once if the
    /// transaction itself has put one of them.
    pub(crate) fn put_new(&self, row: &[Datum], entries: RowEntries) -> Result<()> {
        let (txn, seq) = (&self.evaluator.run.cx.txn, self.evaluator.run.cx.seq);
        let failed = |error: braid_kv::Error, index: IndexNumber| match error {
            braid_kv::Error::Duplicate { .. } => self.duplicate(index, row),
            error => from_kv(error),
        };
        self.defer_checks(None, row, given(&self.indexes, &entries.by_index))?;
        let mut buffer = PairBuffer::default();
        // The first family shows whether the row exists.
        self.rows.each_pair(row, &mut buffer, |family, key, value| match value {
            Some(value) if family == 0 => {
                let value = Value::copy_from_slice(value);
                txn.put_new(seq, key, value).map_err(|error| failed(error, 1))
            }
            Some(value) => put(txn, seq, key, value).map_err(from_kv),
            None => Ok(()),
        })?;
        if let Some(layout) = &self.moved {
            layout.each_pair(row, &mut buffer, |_, key, value| match value {
                Some(value) => put(txn, seq, key, value).map_err(from_kv),
                None => Ok(()),
            })?;
        }
        for (entry, index) in entries.by_index.into_iter().zip(&self.indexes) {
            let Some(entry) = entry else { continue };
            let put = match entry.must_be_unique {
                true => txn.put_new(seq, entry.key, entry.value),
                false => txn.put(seq, entry.key, entry.value),
            };
            put.map_err(|error| failed(error, index.number))?;
        }
        for entry in entries.terms {
            txn.put(seq, entry.key, entry.value).map_err(from_kv)?;
        }
        self.counts.inserted();
        Ok(())
    }

    /// Puts a row in the place of whatever has its primary key, without looking. Only for tables
    /// without secondary indexes.
    pub(crate) fn overwrite(&self, row: &[Datum]) -> Result<()> {
        let (txn, seq) = (&self.evaluator.run.cx.txn, self.evaluator.run.cx.seq);
        let mut buffer = PairBuffer::default();
        for layout in self.layouts() {
            layout.each_pair(row, &mut buffer, |_, key, value| {
                match value {
                    Some(value) => put(txn, seq, key, value),
                    None => txn.delete(seq, key),
                }
                .map_err(from_kv)
            })?;
        }
        self.counts.inserted();
        Ok(())
    }

    /// Deletes a row and its entries.
    pub(crate) fn delete(&self, row: &[Datum]) -> Result<()> {
        self.counts.deleted(1);
        self.delete_pairs(row)?;
        self.delete_entries(row)
    }

    /// Takes note of rows that were deleted as a range.
    pub(crate) fn note_deleted(&self, rows: usize) {
        self.counts.deleted(rows);
    }

    /// Deletes the entries of a row.
    pub(crate) fn delete_entries(&self, row: &[Datum]) -> Result<()> {
        let (txn, seq) = (&self.evaluator.run.cx.txn, self.evaluator.run.cx.seq);
        let cx = self.evaluator.context();
        for (index, exprs) in self.indexes.iter().zip(&self.index_exprs) {
            if let Some(row) = exprs.row(row, &cx)? {
                index.each_key(&row, |key| txn.delete(seq, key).map_err(from_kv))?;
            }
        }
        Ok(())
    }

    /// Replaces rows: first everything old goes, then the new keys are checked, then put. Keys
    /// may so move between rows of one statement.
    ///
    /// Changes that come in several lots are done in two halves: the old rows of all lots go before
    /// the new ones of the first are checked and put.
    pub(crate) async fn replace(
        &self,
        changes: &[(Row, Row)],
        places: &[usize],
        part: Part,
    ) -> Result<()> {
        let (old_goes, new_comes) = (part != Part::New, part != Part::Old);
        if new_comes {
            self.counts.updated(changes.len());
        }
        let touched: Vec<bool> = (self.indexes.iter().zip(&self.index_exprs))
            .map(|(index, exprs)| index.touches(places) || exprs.is_computed())
            .collect();
        let cx = &self.evaluator.run.cx;
        let (mut unique, mut news) = (Vec::new(), Vec::with_capacity(changes.len()));
        for (place, change) in changes.iter().enumerate() {
            let moved = !self.rows.has_same_key(&change.0, &change.1);
            if moved && old_goes {
                self.delete_pairs(&change.0)?;
            }
            if moved {
                let key = self.rows.first_key(&change.1);
                unique.push(UniqueKey { key, index: 1, row: place });
            }
            let mut entries = Vec::new();
            for at in (0..touched.len()).filter(|at| moved || touched[*at]) {
                if self.indexes[at].is_inverted() {
                    let new = replace_terms(self, at, change, old_goes)?;
                    entries.extend(new.into_iter().map(|entry| (at, entry)));
                    continue;
                }
                let entry = replace_entry(self, at, change, old_goes)?;
                if let Some((entry, true)) = &entry {
                    let (key, index) = (entry.key.clone(), self.indexes[at].number);
                    unique.push(UniqueKey { key, index, row: place });
                }
                entries.extend(entry.map(|(entry, _)| (at, entry)));
            }
            news.push((moved, entries));
        }
        if !new_comes {
            return Ok(());
        }
        if !unique.is_empty() {
            self.require_free(&unique, |place| &changes[place].1).await?;
        }
        let families = self.rows.families_of(places);
        let mut buffer = PairBuffer::default();
        for ((old, new), (moved, entries)) in changes.iter().zip(news) {
            let written = entries.iter().map(|(at, entry)| (&self.indexes[*at], entry));
            self.defer_checks(Some(old), new, written)?;
            for layout in self.layouts() {
                layout.each_pair(new, &mut buffer, |family, key, value| {
                    if !moved && !families.contains(&family) {
                        return Ok(());
                    }
                    match value {
                        Some(value) => put(&cx.txn, cx.seq, key, value),
                        None => cx.txn.delete(cx.seq, key),
                    }
                    .map_err(from_kv)
                })?;
            }
            for (_, entry) in entries {
                cx.txn.put(cx.seq, entry.key, entry.value).map_err(from_kv)?;
            }
        }
        Ok(())
    }
}

/// The entries that there are, with their indexes.
fn given<'e>(
    indexes: &'e [IndexRows],
    entries: &'e [Option<IndexEntry>],
) -> impl Iterator<Item = (&'e IndexRows, &'e IndexEntry)> {
    indexes.iter().zip(entries).filter_map(|(index, entry)| Some((index, entry.as_ref()?)))
}

/// The row's entry in the index at this place.
fn entry_of(writer: &TableWriter, place: usize, row: &[Datum]) -> Result<Option<IndexEntry>> {
    let row = writer.index_exprs[place].row(row, &writer.evaluator.context())?;
    Ok(row.map(|row| writer.indexes[place].entry(writer.table(), &row)))
}

/// The row's entries in the inverted index at this place, in the order of their keys.
fn entries_of(writer: &TableWriter, place: usize, row: &[Datum]) -> Result<Vec<IndexEntry>> {
    let row = writer.index_exprs[place].row(row, &writer.evaluator.context())?;
    Ok(row.map(|row| writer.indexes[place].entries(writer.table(), &row)).unwrap_or_default())
}

/// Deletes the old entries of a changed row in the inverted index at this place, but those of terms
/// that it still has. Returns the entries of the terms that it did not have before.
fn replace_terms(
    writer: &TableWriter,
    place: usize,
    (old, new): &(Row, Row),
    old_goes: bool,
) -> Result<Vec<IndexEntry>> {
    let (old, new) = (entries_of(writer, place, old)?, entries_of(writer, place, new)?);
    let (gone, new) = changed_entries(old, new);
    let cx = &writer.evaluator.run.cx;
    for key in gone.into_iter().filter(|_| old_goes) {
        cx.txn.delete(cx.seq, key).map_err(from_kv)?;
    }
    Ok(new)
}

/// Deletes the old entry of a changed row in the index at this place, if it has another key now.
/// Returns the new entry if it has to be put, and whether its key has to be free.
fn replace_entry(
    writer: &TableWriter,
    place: usize,
    (old, new): &(Row, Row),
    old_goes: bool,
) -> Result<Option<(IndexEntry, bool)>> {
    let (old, new) = (entry_of(writer, place, old)?, entry_of(writer, place, new)?);
    match (old, new) {
        (Some(old), Some(new)) if old.key == new.key => {
            Ok((old.value != new.value).then_some((new, false)))
        }
        (old, new) => {
            if let Some(old) = old.filter(|_| old_goes) {
                let cx = &writer.evaluator.run.cx;
                cx.txn.delete(cx.seq, old.key).map_err(from_kv)?;
            }
            Ok(new.map(|new| {
                let must_be_free = new.must_be_unique;
                (new, must_be_free)
            }))
        }
    }
}

/// Puts a pair that was encoded in memory of its own.
fn put(txn: &Transaction, seq: Seq, key: &[u8], value: &[u8]) -> braid_kv::Result<()> {
    txn.put(seq, key, Value::copy_from_slice(value))
}

fn schema_of(writer: &TableWriter) -> String {
    writer.evaluator.run.cx.catalog.schema_name(writer.table().schema)
}

/// 23514 for a row that does not meet a CHECK constraint.
fn violated(writer: &TableWriter, name: &str, row: &[Datum]) -> Error {
    let table = writer.table();
    Error::new(
        SqlState::CheckViolation,
        format!("new row for relation \"{}\" violates check constraint \"{name}\"", table.name),
    )
    .details(failing_row(writer, row))
    .table(&schema_of(writer), &table.name)
    .constraint(name)
}

/// 23514 for a row that does not belong to the partition.
fn outside_of_partition(writer: &TableWriter, row: &[Datum]) -> Error {
    let table = writer.table();
    let message = format!("new row for relation \"{}\" violates partition constraint", table.name);
    Error::new(SqlState::CheckViolation, message)
        .details(failing_row(writer, row))
        .table(&schema_of(writer), &table.name)
}

/// The values of a row; none where policies may hide them.
fn failing_row(writer: &TableWriter, row: &[Datum]) -> Option<String> {
    if writer.has_policies {
        return None;
    }
    let settings = writer.evaluator.run.cx.env.settings();
    let shown = writer.table().columns.iter().zip(row).filter(|(column, _)| !column.hidden);
    let values: Vec<String> =
        shown.map(|(column, value)| show(value, &column.ty, settings)).collect();
    Some(format!("Failing row contains ({}).", values.join(", ")))
}

/// 0A000 for a row that would have to move to another partition.
fn moved_away() -> Error {
    let message = "invalid ON UPDATE specification";
    Error::new(SqlState::FeatureNotSupported, message)
        .detail("The result tuple would appear in a different partition than the original tuple.")
}

/// 21000: a statement would change a row that it has written.
pub(crate) fn second_time(what: &str) -> Error {
    let message = format!("{what} command cannot affect row a second time");
    let hint = "Ensure that no rows proposed for insertion within the same command have duplicate \
                constrained values.";
    Error::new(SqlState::CardinalityViolation, message).hint(hint)
}

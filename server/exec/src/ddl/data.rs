//! Rows under DDL: read whole tables, check constraints on them, write them anew.
//!
//! Everything goes through the statement's transaction and sees what the statement itself wrote.
//! Before a table is read its writers are locked out ([`DdlContext::block_writers`]), so that a
//! statement ends however many write. What is read is remembered at every isolation level as well:
//! where the store does not lock spans, a row written meanwhile makes one of the two transactions
//! run again.

use std::collections::HashSet;
use std::sync::Arc;

use braid_catalog::{Catalog, Check, ForeignKey, Id, Index, Table, index_key_names};
use braid_kv::{Key, LockRequest, Record, ScanRequest, Scanner, Seq, Span, Transaction};
use braid_types::{Datum, Error, FormatSettings, Result, Row, SqlState};

use super::DdlContext;
use super::interleave::refuse_rewrite;
use crate::from_kv;
use crate::index_exprs::IndexExprs;
use crate::rows::{IndexRows, RowDecoder, TableRows};

/// Reads are checked at every level; the tag is no constraint's.
pub(super) const CHECKED: Record = Record::Always { tag: 0 };

/// The rows of a table, in batches.
pub(super) struct TableReader {
    decoder: RowDecoder,
    scanner: Scanner,
    /// The row whose pairs are being read.
    current: Option<(Key, Row)>,
    done: bool,
}

impl TableReader {
    /// A reader of every column of the rows in `span` (the whole table without one).
    pub(super) fn new(
        txn: &Arc<Transaction>,
        seq: Seq,
        table: &Arc<Table>,
        span: Option<Span>,
    ) -> Self {
        Self::over(txn, seq, table, span, CHECKED)
    }

    /// A reader of the whole table that is remembered in another way.
    pub(super) fn recorded(
        txn: &Arc<Transaction>,
        seq: Seq,
        table: &Arc<Table>,
        record: Record,
    ) -> Self {
        Self::over(txn, seq, table, None, record)
    }

    fn over(
        txn: &Arc<Transaction>,
        seq: Seq,
        table: &Arc<Table>,
        span: Option<Span>,
        record: Record,
    ) -> Self {
        let rows = TableRows::new(table);
        let places: Vec<usize> = (0..table.columns.len()).collect();
        let span = span.unwrap_or_else(|| rows.primary_span());
        let request = ScanRequest::new(span).record(record).shape(rows.shape.as_ref());
        TableReader {
            decoder: rows.reader(&places),
            scanner: txn.scanner(seq.after(), request),
            current: None,
            done: false,
        }
    }

    /// Some rows; `None` at the end.
    pub(super) async fn next(&mut self) -> Result<Option<Vec<Row>>> {
        while !self.done {
            let mut rows = Vec::new();
            match self.scanner.next_batch().await.map_err(from_kv)? {
                Some(batch) => {
                    for (key, value) in batch.iter() {
                        self.take(key, value, &mut rows)?;
                    }
                }
                None => {
                    self.done = true;
                    rows.extend(self.current.take().map(|(_, row)| row));
                }
            }
            if !rows.is_empty() {
                return Ok(Some(rows));
            }
        }
        Ok(None)
    }

    fn take(&mut self, key: &[u8], value: &[u8], rows: &mut Vec<Row>) -> Result<()> {
        let row_key = self.decoder.row_key(key)?;
        let same = self.current.as_ref().is_some_and(|(current, _)| current == row_key);
        if !same {
            let fresh = (row_key.to_vec(), self.decoder.start(key)?);
            rows.extend(self.current.replace(fresh).map(|(_, row)| row));
        }
        match &mut self.current {
            Some((_, row)) => self.decoder.fill(row, value),
            None => Ok(()),
        }
    }
}

/// Whole rows from the start of a request's span, and what is left of it. All pairs of a row are
/// read in one batch: the last row of a full batch is left to the next one.
pub(super) async fn whole_rows(
    txn: &Arc<Transaction>,
    seq: Seq,
    table: &TableRows,
    decoder: &RowDecoder,
    request: ScanRequest,
) -> Result<(Vec<Row>, Option<Span>)> {
    let end = request.span.end.clone();
    let pairs_max = request.limit_rows.max(table.family_count() * 2);
    let request = request.limit_rows(pairs_max).shape(table.shape.as_ref());
    let mut scanner = txn.scanner(seq, request);
    let mut rows: Vec<(Key, Row)> = Vec::new();
    let mut resume = None;
    // A batch may end anywhere, even within the first row.
    while let Some(pairs) = scanner.next_batch().await.map_err(from_kv)? {
        for (key, value) in pairs.iter() {
            let row_key = decoder.row_key(key)?;
            if rows.last().is_none_or(|(last, _)| last != row_key) {
                rows.push((row_key.to_vec(), decoder.start(key)?));
            }
            if let Some((_, row)) = rows.last_mut() {
                decoder.fill(row, value)?;
            }
        }
        resume = pairs.resume;
        if rows.len() > 1 || resume.is_none() {
            break;
        }
    }
    let left = resume.and_then(|_| rows.pop().map(|(key, _)| Span::new(key, end)));
    Ok((rows.into_iter().map(|(_, row)| row).collect(), left))
}

/// These rows as they are under their locks; those that have gone are left out. Nobody changes them
/// before the transaction ends, so that nothing of them has to be proved.
pub(super) async fn locked_rows(
    txn: &Transaction,
    seq: Seq,
    table: &TableRows,
    decoder: &RowDecoder,
    rows: &[Row],
) -> Result<Vec<Row>> {
    let keys: Vec<Key> =
        rows.iter().flat_map(|row| table.family_keys(&table.primary_key(row))).collect();
    let request = LockRequest::keys(keys.clone()).passing(true);
    let values = txn.lock(seq, request).await.map_err(from_kv)?.values;
    let mut found = Vec::with_capacity(rows.len());
    let width = table.family_count().max(1);
    for (keys, values) in keys.chunks(width).zip(values.chunks(width)) {
        // Family 0 says whether the row exists.
        if values[0].is_none() {
            continue;
        }
        let mut row = decoder.start(&keys[0])?;
        values.iter().flatten().try_for_each(|value| decoder.fill(&mut row, value))?;
        found.push(row);
    }
    Ok(found)
}

/// A value as messages show it.
fn shown(datum: &Datum, ty: &braid_types::SqlType) -> String {
    if datum.is_null() {
        return "null".to_owned();
    }
    braid_types::text::to_string(ty, datum, &FormatSettings::default())
}

/// `(a, b)=(1, 2)` of a row.
pub(super) fn key_detail(
    table: &Table,
    columns: &[braid_catalog::ColumnId],
    row: &[Datum],
) -> String {
    let places = columns.iter().filter_map(|id| table.columns.iter().position(|c| c.id == *id));
    let (names, values): (Vec<String>, Vec<String>) = places
        .map(|place| {
            let column = &table.columns[place];
            (column.name.clone(), shown(&row[place], &column.ty))
        })
        .unzip();
    format!("({})=({})", names.join(", "), values.join(", "))
}

/// 23505 of an index that cannot be built.
pub(super) fn not_unique(catalog: &Catalog, table: &Table, index: &Index, row: &[Datum]) -> Error {
    let place = |id| table.columns.iter().position(|column| column.id == id);
    let places = index.keys.iter().filter_map(|key| place(key.column));
    let values: Vec<String> =
        places.map(|place| shown(&row[place], &table.columns[place].ty)).collect();
    let key = format!("({})=({})", index_key_names(catalog, table, index), values.join(", "));
    let message = format!("could not create unique index \"{}\"", index.name);
    Error::new(SqlState::UniqueViolation, message)
        .detail(format!("Key {key} is duplicated."))
        .table(&catalog.schema_name(table.schema), &table.name)
        .constraint(&index.name)
}

/// One index that rows are written to.
struct IndexWriter {
    index: Index,
    rows: IndexRows,
    exprs: IndexExprs,
    seen: HashSet<Key>,
}

impl IndexWriter {
    fn new(cx: &DdlContext<'_>, table: &Arc<Table>, index: &Index) -> Result<Self> {
        Ok(IndexWriter {
            index: index.clone(),
            rows: IndexRows::new(table, index),
            exprs: cx.plan(|context| IndexExprs::bind(context, table, index))?,
            seen: HashSet::new(),
        })
    }

    fn write(&mut self, cx: &DdlContext<'_>, table: &Table, row: &[Datum]) -> Result<()> {
        let Some(row) = cx.index_row(&self.exprs, row)? else { return Ok(()) };
        let entry = self.rows.entry(table, &row);
        if entry.must_be_unique && !self.seen.insert(entry.key.clone()) {
            return Err(not_unique(&cx.catalog(), table, &self.index, &row));
        }
        cx.txn().put(cx.seq(), entry.key, entry.value).map_err(from_kv)
    }
}

impl DdlContext<'_> {
    /// The rows of a table, with what the transaction and this statement wrote.
    pub(super) fn reader(&self, table: &Arc<Table>) -> TableReader {
        TableReader::new(self.txn(), self.seq(), table, None)
    }

    /// Locks a table's rows, present and future ones, until the transaction ends. Writers that came
    /// before are waited for; those that come later wait, and plan again with the new descriptor.
    /// What the statement reads from here on is what is committed now.
    pub(super) async fn block_writers(&self, table: &Arc<Table>) -> Result<()> {
        let span = TableRows::new(table).primary_span();
        let request = LockRequest::spans(vec![span]);
        self.txn().lock(self.seq(), request).await.map_err(from_kv)?;
        self.txn().renew_snapshot(self.seq()).await.map_err(from_kv)
    }

    /// Whether writers have checked a constraint of a table since before this transaction: a row
    /// that is right then stays right, so that a validation needs no locks and remembers nothing.
    fn is_enforced(&self, table: &Table, constraint: Id) -> bool {
        let before = self.draft.as_ref().and_then(|draft| draft.base().table(table.id));
        before.is_some_and(|table| {
            table.foreign_keys.iter().any(|key| key.id == constraint)
                || table.checks.iter().any(|check| check.id == constraint)
        })
    }

    /// Prepares the validation of a constraint; how its reads are remembered.
    async fn before_validation(&self, table: &Arc<Table>, constraint: Id) -> Result<Record> {
        if self.is_enforced(table, constraint) {
            self.txn().renew_snapshot(self.seq()).await.map_err(from_kv)?;
            return Ok(Record::Never);
        }
        self.block_writers(table).await?;
        Ok(CHECKED)
    }

    /// Whether a table has no rows.
    pub(super) async fn is_empty(&self, table: &Arc<Table>) -> Result<bool> {
        self.block_writers(table).await?;
        Ok(self.reader(table).next().await?.is_none())
    }

    /// Fills a new index of a table from its rows. 23505 if they are not unique.
    pub(super) async fn fill_index(&self, table: &Arc<Table>, index: &Index) -> Result<()> {
        self.block_writers(table).await?;
        let mut writer = IndexWriter::new(self, table, index)?;
        let mut reader = self.reader(table);
        while let Some(rows) = reader.next().await? {
            self.exec.breathe().await?;
            rows.iter().try_for_each(|row| writer.write(self, table, row))?;
        }
        Ok(())
    }

    /// Writes every row of `old` anew as rows of `new`, whose data gets a new place. `map` makes a
    /// row of the new shape. 23505 if a unique key of `new` has duplicates.
    pub(super) async fn rewrite(
        &mut self,
        old: &Arc<Table>,
        new: &mut Table,
        mut map: impl FnMut(&DdlContext<'_>, &[Datum]) -> Result<Row>,
    ) -> Result<()> {
        refuse_rewrite(old)?;
        self.block_writers(old).await?;
        new.data_id = self.draft()?.allocate_id(new.id);
        let shape = Arc::new(new.clone());
        let layout = TableRows::new(&shape);
        let mut writers = Vec::new();
        for index in &shape.indexes {
            writers.push(IndexWriter::new(self, &shape, index)?);
        }
        let mut seen = HashSet::new();
        let mut reader = self.reader(old);
        while let Some(rows) = reader.next().await? {
            self.exec.breathe().await?;
            for row in rows {
                let row = map(self, &row)?;
                if !seen.insert(layout.primary_key(&row)) {
                    return Err(not_unique(&self.catalog(), &shape, &shape.primary, &row));
                }
                for (key, value) in layout.pairs(&row) {
                    if let Some(value) = value {
                        self.txn().put(self.seq(), key, value).map_err(from_kv)?;
                    }
                }
                for writer in &mut writers {
                    writer.write(self, &shape, &row)?;
                }
            }
        }
        new.primary.passing.clear();
        new.vacated = false;
        self.delete_rows(old, |_| false)
    }

    /// 23502 if a column of some row is NULL.
    pub(super) async fn validate_not_null(
        &self,
        table: &Arc<Table>,
        places: &[usize],
    ) -> Result<()> {
        self.block_writers(table).await?;
        let mut reader = self.reader(table);
        while let Some(rows) = reader.next().await? {
            self.exec.breathe().await?;
            for row in rows {
                if let Some(place) = places.iter().find(|place| row[**place].is_null()) {
                    return Err(contains_nulls(table, *place));
                }
            }
        }
        Ok(())
    }

    /// 23514 if some row violates a condition.
    pub(super) async fn validate_check(&self, table: &Arc<Table>, check: &Check) -> Result<()> {
        let name = &check.name;
        let bound = self.check_boolean(table, &check.expr, "CHECK", "check constraints")?;
        let record = self.before_validation(table, check.id).await?;
        let mut reader = TableReader::recorded(self.txn(), self.seq(), table, record);
        while let Some(rows) = reader.next().await? {
            self.exec.breathe().await?;
            for row in rows {
                if self.value(&bound, &row)?.as_bool() == Some(false) {
                    let relation = &table.name;
                    let message = format!(
                        "check constraint \"{name}\" of relation \"{relation}\" is violated by some row"
                    );
                    let schema = self.catalog().schema_name(table.schema);
                    return Err(Error::new(SqlState::CheckViolation, message)
                        .table(&schema, relation)
                        .constraint(name));
                }
            }
        }
        Ok(())
    }

    /// 23503 if some row has no parent.
    pub(super) async fn validate_foreign_key(
        &self,
        table: &Arc<Table>,
        key: &ForeignKey,
    ) -> Result<()> {
        let catalog = self.catalog();
        let parent = if key.parent == table.id { Some(table) } else { catalog.table(key.parent) };
        let Some(parent) = parent.cloned() else { return Ok(()) };
        // Both sides are validated at the commit, at every level, unless writers do it.
        let (children, parents) = match self.before_validation(table, key.id).await? {
            Record::Never => (Record::Never, Record::Never),
            _ => (Record::Always { tag: key.id }, Record::Exists { tag: key.id }),
        };
        let mut reader = TableReader::recorded(self.txn(), self.seq(), table, children);
        let keys = ParentKeys::new(table, &parent, key);
        while let Some(rows) = reader.next().await? {
            self.exec.breathe().await?;
            let looked = Looked { txn: self.txn(), seq: self.seq(), record: parents };
            look(looked, &catalog, table, &keys, key, &rows).await?;
        }
        Ok(())
    }
}

/// How parents are looked for.
struct Looked<'a> {
    txn: &'a Transaction,
    seq: Seq,
    record: Record,
}

/// 23503 if some of these rows has no parent; nothing is remembered.
pub(super) async fn check_parents(
    txn: &Transaction,
    seq: Seq,
    catalog: &Catalog,
    table: &Arc<Table>,
    key: &ForeignKey,
    rows: &[Row],
) -> Result<()> {
    let parent = if key.parent == table.id { Some(table) } else { catalog.table(key.parent) };
    let Some(parent) = parent else { return Ok(()) };
    let keys = ParentKeys::new(table, parent, key);
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
    let found = how.txn.multi_get_recorded(how.seq.after(), &names, how.record);
    for ((row, _), value) in wanted.iter().zip(found.await.map_err(from_kv)?) {
        if value.is_none() {
            return Err(no_parent(table, &keys.parent, key, row, catalog));
        }
    }
    Ok(())
}

/// 23502 of a column that was to be NOT NULL.
pub(super) fn contains_nulls(table: &Table, place: usize) -> Error {
    let (column, relation) = (&table.columns[place].name, &table.name);
    let message = format!("column \"{column}\" of relation \"{relation}\" contains null values");
    Error::new(SqlState::NotNullViolation, message).column(column)
}

fn no_parent(
    table: &Table,
    parent: &Table,
    key: &ForeignKey,
    row: &[Datum],
    catalog: &Catalog,
) -> Error {
    let message = format!(
        "insert or update on table \"{}\" violates foreign key constraint \"{}\"",
        table.name, key.name
    );
    let shown = key_detail(table, &key.columns, row);
    Error::new(SqlState::ForeignKeyViolation, message)
        .detail(format!("Key {shown} is not present in table \"{}\".", parent.name))
        .table(&catalog.schema_name(table.schema), &table.name)
        .constraint(&key.name)
}

/// Makes the key that a child's parent row has.
struct ParentKeys {
    parent: Arc<Table>,
    primary: Option<TableRows>,
    index: Option<IndexRows>,
    /// Places in the child's row and in the parent's.
    places: Vec<(usize, usize)>,
}

impl ParentKeys {
    fn new(table: &Table, parent: &Arc<Table>, key: &ForeignKey) -> Self {
        let place = |table: &Table, id| table.columns.iter().position(|column| column.id == id);
        let pairs = key.columns.iter().zip(&key.parent_columns);
        let places =
            pairs.filter_map(|(own, other)| Some((place(table, *own)?, place(parent, *other)?)));
        let is_primary = key.parent_index == parent.primary.number;
        let index = parent.index(key.parent_index).filter(|_| !is_primary);
        ParentKeys {
            parent: parent.clone(),
            primary: is_primary.then(|| TableRows::new(parent)),
            index: index.map(|index| IndexRows::new(parent, index)),
            places: places.collect(),
        }
    }

    fn of(
        &self,
        row: &[Datum],
        key: &ForeignKey,
        table: &Table,
        catalog: &Catalog,
    ) -> Result<Option<Key>> {
        let nulls = self.places.iter().filter(|(own, _)| row[*own].is_null()).count();
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
        let mut parent_row = vec![Datum::Null; self.parent.columns.len()];
        for (own, other) in &self.places {
            parent_row[*other] = row[*own].clone();
        }
        Ok(match (&self.primary, &self.index) {
            (Some(primary), _) => Some(primary.first_key(&parent_row)),
            (None, Some(index)) => Some(index.entry(&self.parent, &parent_row).key),
            (None, None) => None,
        })
    }
}

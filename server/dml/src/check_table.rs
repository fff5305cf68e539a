//! CHECK TABLE: does what is stored of a table fit together?
//!
//! ```text
//!   rows ──▶ are all families there? the entry of every index? the parent of every foreign key?
//!   entries of each index ──▶ is there a row, and does it belong here?
//! ```
//!
//! Everything is read at the statement's snapshot, in batches; nothing of it is remembered, and
//! nothing is repaired. Foreign keys that are NOT VALID and indexes that are being built may have
//! gaps, so they are left out.
//!
//! What a finding's `kind` may be is part of the interface: `corrupt`, `family`, `not_null`,
//! `index_missing`, `index_wrong`, `index_dangling`, `foreign_key`, `interleaving`, `more`.

use std::sync::Arc;

use braid_catalog::{CatalogKeyNames, IndexState, Passing, Table};
use braid_codec::key;
use braid_exec::{ExecContext, IndexExprs, Reader};
use braid_kv::{Key, KeyShape, Record, ScanRequest, Scanner, Span};
use braid_plan::PlanContext;
use braid_plan::eval::EvalContext;
use braid_rows::{IndexDecoder, IndexEntry, IndexRows, RowAssembler};
use braid_types::{Datum, Result, Row};

use crate::foreign_keys::link::{Link, TableLinks, pick};

/// The most findings that are listed.
const FINDINGS_MAX: usize = 10_000;
/// The most entries of a batch.
const BATCH_ENTRIES: usize = 2_000;

/// Checks a table; a row for each finding: table, kind, key, detail.
pub async fn check_table(cx: &ExecContext, table: &Arc<Table>) -> Result<Vec<Row>> {
    let mut check = Check::new(cx, table)?;
    check.rows().await?;
    for i in 0..check.indexes.len() {
        check.entries(i).await?;
    }
    if table.primary.has_below() && table.primary.interleaving.is_none() {
        check.interleaved().await?;
    }
    Ok(check.findings)
}

struct Check<'a> {
    cx: &'a ExecContext,
    table: &'a Arc<Table>,
    reader: Reader,
    indexes: Vec<IndexCheck>,
    links: Vec<Arc<Link>>,
    names: CatalogKeyNames,
    findings: Vec<Row>,
}

struct IndexCheck {
    name: String,
    rows: IndexRows,
    decoder: IndexDecoder,
    exprs: IndexExprs,
}

/// What is known of the row whose pairs are being read.
#[derive(Default)]
struct Partial {
    rows: RowAssembler,
    has_first: bool,
    is_broken: bool,
}

impl<'a> Check<'a> {
    fn new(cx: &'a ExecContext, table: &'a Arc<Table>) -> Result<Self> {
        let all: Vec<usize> = (0..table.columns.len()).collect();
        let reader = Reader::new(table, &all, true)?;
        let plan = PlanContext {
            catalog: &cx.catalog,
            path: &cx.path,
            env: &*cx.env,
            text: "",
            param_types: &[],
            variables: None,
        };
        let mut indexes = Vec::new();
        for index in table.indexes.iter().filter(|index| index.state == IndexState::Public) {
            let rows = IndexRows::new(table, index)?;
            indexes.push(IndexCheck {
                name: index.name.clone(),
                decoder: rows.reader(table, &reader.rows.primary_places()),
                rows,
                exprs: IndexExprs::bind(&plan, table, index)?,
            });
        }
        let mut links = TableLinks::of(&cx.catalog, table)?.outgoing;
        links.retain(|link| link.key.validated);
        let names = CatalogKeyNames(cx.catalog.clone());
        Ok(Self { cx, table, reader, indexes, links, names, findings: Vec::new() })
    }

    fn found(&mut self, kind: &str, key: &[u8], detail: String) {
        let key = key::print(key, &self.names);
        let (kind, key, detail) = match self.findings.len().cmp(&FINDINGS_MAX) {
            std::cmp::Ordering::Less => (kind, key, detail),
            std::cmp::Ordering::Equal => {
                ("more", String::new(), "further findings are left out".to_owned())
            }
            std::cmp::Ordering::Greater => return,
        };
        let table = self.table.name.clone();
        let texts = [table, kind.to_owned(), key, detail];
        self.findings.push(texts.into_iter().map(Datum::text).collect());
    }

    fn scan(&self, span: Span, shape: Option<&Arc<dyn KeyShape>>) -> Scanner {
        let request = ScanRequest::new(span).limit_rows(BATCH_ENTRIES).record(Record::Never);
        let request = request.shape(shape);
        self.cx.txn.scanner(self.cx.seq.after(), request)
    }

    async fn wait<T>(&self, work: impl Future<Output = braid_kv::Result<T>>) -> Result<T> {
        let result = self.cx.cancel.unless_stopped(work).await?;
        result.map_err(|error| self.cx.kv_error(error))
    }

    async fn get(&self, keys: &[Key]) -> Result<Vec<Option<braid_kv::Value>>> {
        let seq = self.cx.seq.after();
        self.wait(self.cx.txn.reads().multi_get_recorded(seq, keys, Record::Never)).await
    }

    /// Every row: its families, its entries, its parents.
    async fn rows(&mut self) -> Result<()> {
        let mut scanner =
            self.scan(self.reader.rows.primary_span(), self.reader.rows.shape.as_ref());
        let mut partial = Partial::default();
        loop {
            self.cx.cancel.check()?;
            let batch = self.wait(scanner.next_batch()).await?;
            let mut rows = Vec::new();
            for (key, value) in batch.iter().flat_map(|batch| batch.iter()) {
                let Ok(row_key) = self.reader.decoder.row_key(key) else {
                    self.found("corrupt", key, "the key cannot be read".to_owned());
                    continue;
                };
                let row_key = row_key.to_vec();
                if !partial.rows.is_at(&row_key) {
                    self.finish(std::mem::take(&mut partial), &mut rows);
                    let begun = partial.rows.begin(&self.reader.decoder, &row_key, key);
                    if let Err(error) = begun {
                        self.found("corrupt", key, error.message().to_owned());
                        continue;
                    }
                }
                self.add(&mut partial, &row_key, (key, value));
            }
            let at_end = batch.is_none();
            if at_end {
                self.finish(std::mem::take(&mut partial), &mut rows);
            }
            if !rows.is_empty() {
                self.check_entries(&rows).await?;
                self.check_parents(&rows).await?;
            }
            if at_end {
                return Ok(());
            }
        }
    }

    fn add(&mut self, partial: &mut Partial, row_key: &[u8], (key, value): (&[u8], &[u8])) {
        let families = self.reader.rows.family_keys(row_key);
        match families.iter().position(|family| family == key) {
            None => {
                self.found("family", key, "no such family".to_owned());
                return;
            }
            Some(place) => partial.has_first |= place == 0,
        }
        if let Err(error) = partial.rows.fill(&self.reader.decoder, value) {
            partial.is_broken = true;
            self.found("corrupt", key, error.message().to_owned());
        }
    }

    fn finish(&mut self, mut partial: Partial, rows: &mut Vec<(Key, Row)>) {
        let Some((row_key, row)) = partial.rows.finish() else { return };
        if !partial.has_first {
            let name = self.table.families.first().map_or("", |family| family.name.as_str());
            self.found("family", &row_key, format!("family \"{name}\" is missing"));
            return;
        }
        if partial.is_broken {
            return;
        }
        let table = self.table.clone();
        let columns = table.columns.iter().zip(&row);
        for (column, _) in columns.filter(|(c, value)| !c.nullable && value.is_null()) {
            self.found("not_null", &row_key, format!("column \"{}\" is null", column.name));
        }
        rows.push((row_key, row));
    }

    /// The entries that a row should have; none if a partial index leaves it out.
    fn expected(&self, index: &IndexCheck, row: &[Datum]) -> Result<Vec<IndexEntry>> {
        let eval = EvalContext { env: &*self.cx.env, params: &[], outer: &[] };
        let row = index.exprs.row(row, &eval)?;
        Ok(row.map(|row| index.rows.entries(self.table, &row)).unwrap_or_default())
    }

    async fn check_entries(&mut self, rows: &[(Key, Row)]) -> Result<()> {
        for i in 0..self.indexes.len() {
            let index = &self.indexes[i];
            let mut wanted = Vec::with_capacity(rows.len());
            for (row_key, row) in rows {
                let entries = self.expected(index, row)?.into_iter();
                wanted.extend(entries.map(|entry| (row_key, entry)));
            }
            let keys: Vec<Key> = wanted.iter().map(|(_, entry)| entry.key.clone()).collect();
            let values = self.get(&keys).await?;
            let name = index.name.clone();
            for ((row_key, entry), value) in wanted.iter().zip(values) {
                match value {
                    None => self.found(
                        "index_missing",
                        row_key,
                        format!("index \"{name}\" has no entry of the row"),
                    ),
                    Some(value) if value[..] != entry.value[..] => self.found(
                        "index_wrong",
                        &entry.key,
                        format!("index \"{name}\" does not say what the row says"),
                    ),
                    Some(_) => {}
                }
            }
        }
        Ok(())
    }

    async fn check_parents(&mut self, rows: &[(Key, Row)]) -> Result<()> {
        for link in self.links.clone() {
            let name = &link.key.name;
            let (mut wanted, mut keys) = (Vec::new(), Vec::new());
            for (row_key, row) in rows {
                let values = pick(row, &link.child_places);
                if link.points_nowhere(&values) {
                    continue;
                }
                if values.iter().any(Datum::is_null) {
                    let detail = format!("constraint \"{name}\": some columns are null");
                    self.found("foreign_key", row_key, detail);
                    continue;
                }
                keys.push(link.parent_key(&link.values.of_child(&values)?)?);
                wanted.push(row_key);
            }
            let values = self.get(&keys).await?;
            for ((row_key, key), _) in
                wanted.into_iter().zip(&keys).zip(values).filter(|(_, value)| value.is_none())
            {
                let parent = key::print(key, &self.names);
                let detail = format!("constraint \"{name}\": {parent} is missing");
                self.found("foreign_key", row_key, detail);
            }
        }
        Ok(())
    }

    /// Every key in the range that a root shares with what is interleaved in it: whose it is.
    async fn interleaved(&mut self) -> Result<()> {
        let mut scanner = self.scan(self.reader.rows.primary_span(), None);
        let below = self.cx.catalog.interleaving().below(self.table);
        let shapes =
            below.iter().filter_map(|(table, number)| table.key_shape(table.index(*number)?));
        // What was left behind is being removed, what is on its way belongs to a table.
        let owners = std::iter::once(self.table).chain(below.iter().map(|(table, _)| table));
        let passing = owners.flat_map(|table| &table.primary.passing).map(Passing::shape);
        let own = self.reader.rows.shape.clone();
        let shapes: Vec<Arc<dyn KeyShape>> = own.into_iter().chain(shapes).chain(passing).collect();
        while let Some(batch) = self.wait(scanner.next_batch()).await? {
            self.cx.cancel.check()?;
            for (key, _) in batch.iter() {
                if shapes.iter().all(|shape| shape.gap(key).is_some()) {
                    self.found("interleaving", key, "no table owns the key".to_owned());
                }
            }
        }
        Ok(())
    }

    /// Every entry of an index: its row.
    async fn entries(&mut self, i: usize) -> Result<()> {
        let mut scanner =
            self.scan(self.indexes[i].rows.span(), self.indexes[i].rows.shape.as_ref());
        while let Some(batch) = self.wait(scanner.next_batch()).await? {
            self.cx.cancel.check()?;
            let mut entries: Vec<(&[u8], Key)> = Vec::new();
            let mut keys = Vec::new();
            for (key, value) in batch.iter() {
                match self.indexes[i].decoder.decode(key, value) {
                    Ok(parts) => {
                        let row_key = self.reader.rows.primary_key_of_parts(&parts);
                        self.reader.keys_of(&row_key, &mut keys);
                        entries.push((key, row_key));
                    }
                    Err(error) => self.found("corrupt", key, error.message().to_owned()),
                }
            }
            let values = self.get(&keys).await?;
            let width = self.reader.families.len().max(1);
            for ((key, row_key), (keys, values)) in
                entries.into_iter().zip(keys.chunks(width).zip(values.chunks(width)))
            {
                // A row that cannot be read was reported before.
                let Ok(rows) = self.reader.decode(keys, values) else { continue };
                let Some(row) = rows.into_iter().next().flatten() else {
                    let row = key::print(&row_key, &self.names);
                    self.found("index_dangling", key, format!("{row} is missing"));
                    continue;
                };
                let expected = self.expected(&self.indexes[i], &row)?;
                let detail = match expected.is_empty() {
                    true => "the index leaves its row out",
                    false if expected.iter().any(|entry| entry.key == key) => continue,
                    false => "its row has other values",
                };
                self.found("index_dangling", key, detail.to_owned());
            }
        }
        Ok(())
    }
}

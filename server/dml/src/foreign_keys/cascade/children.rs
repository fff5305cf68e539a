//! The reads of a level: which children point at keys, which parents exist, and the rows that
//! are to be written, under their locks.
//!
//! Everything that is looked for at the same time goes out in one wait. What was found is
//! validated at commit at every isolation level: spans of children as they were, parents by their
//! existence. Without an index on the foreign key every row of the child's table is read, but
//! validated is only that no row has come to point at one of the keys (`pointing`).

use std::collections::HashMap;
use std::sync::Arc;

use braid_catalog::{Id, Index, Table};
use braid_exec::{ExecutionState, Reader, from_kv};
use braid_kv::{
    Error as Kv, Isolation, Key, LockRequest, LockResult, Record, RetryReason, ScanBatch,
    ScanRequest, Scanner,
};
use braid_rows::{IndexDecoder, IndexRows, RowAssembler, RowDecoder, RowKeys, TableRows};
use braid_types::{Result, Row};
use futures_util::future::{try_join, try_join_all};

use crate::foreign_keys::cascade::pointing::{Coming, Pointing};
use crate::foreign_keys::link::Link;

/// How many keys' children are looked for in one wait.
const KEYS_AT_ONCE: usize = 1024;

/// From how many rows on those that are locked are not remembered.
const LOCKED_ROWS_MANY: usize = 64;

/// What is to be known of the children of keys.
pub(crate) struct Search {
    /// The foreign key.
    pub link: Arc<Link>,
    /// The keys, each once.
    pub keys: Vec<Row>,
    /// All children, not only whether there is one.
    pub all: bool,
}

/// Parents of which is to be known whether they exist.
pub(crate) struct Look {
    /// The foreign key's number.
    pub tag: Id,
    /// Their keys.
    pub keys: Vec<Key>,
}

/// What was found.
#[derive(Default)]
pub(crate) struct Found {
    /// Primary keys of children, by foreign key and the values that they have in it.
    pub children: HashMap<(Id, Row), Vec<Key>>,
    /// Which parents exist.
    pub parents: HashMap<Key, bool>,
}

/// How the entries of a search are read.
enum Entries {
    /// Of the primary index, by its first columns.
    Primary(RowDecoder),
    /// Of a secondary index.
    Secondary(IndexDecoder, TableRows),
    /// Every row of the table.
    Whole(RowDecoder),
}

/// A scan for children.
struct Scan<'s> {
    search: &'s Search,
    entries: Arc<Entries>,
    /// The values looked for; `None`: all of the search.
    key: Option<&'s Row>,
    scanner: Scanner,
}

/// Answers searches and looks.
pub(crate) async fn find(
    run: &ExecutionState,
    searches: &[Search],
    looks: &[Look],
) -> Result<Found> {
    let mut found = Found::default();
    let mut scans = scans(run, searches)?;
    let mut looks = Some(looks);
    while !scans.is_empty() || looks.is_some() {
        run.check_interrupts().await?;
        let now: Vec<Scan<'_>> = scans.drain(..scans.len().min(KEYS_AT_ONCE)).collect();
        let opened = wave(run, now, looks.take().unwrap_or_default(), &mut found).await?;
        for (batch, scan) in opened {
            scan.gather(run, batch, &mut found.children).await?;
        }
    }
    Ok(found)
}

fn scans<'s>(run: &ExecutionState, searches: &'s [Search]) -> Result<Vec<Scan<'s>>> {
    let cx = &run.cx;
    let mut scans = Vec::new();
    for search in searches {
        let link = &search.link;
        let record = Record::Always { tag: link.key.id };
        let open = |request: ScanRequest| cx.txn.scanner(cx.seq.after(), request.record(record));
        let Some(index) = link.child_index() else {
            let rows = TableRows::new(&link.child)?;
            let entries = Arc::new(Entries::Whole(rows.reader(&link.child_places)));
            // Rows that are written but not locked have to stay as they are.
            let is_loose = search.all && !cx.implicit_locks;
            let matching = if is_loose { None } else { Pointing::at(link, &search.keys)? };
            let request = ScanRequest::new(rows.primary_span()).shape(rows.shape.as_ref());
            let scanner = open(request.matching(matching));
            scans.push(Scan { search, entries, key: None, scanner });
            continue;
        };
        let entries = Arc::new(entries(&link.child, index)?);
        let shape = link.child.key_shape(index);
        let keys_only = !search.all || matches!(&*entries, Entries::Primary(_));
        for key in &search.keys {
            let Some(span) = link.child_span(index, key) else { continue };
            let mut request = ScanRequest::new(span).shape(shape.as_ref());
            if keys_only {
                request = request.keys_only();
            }
            if !search.all {
                request = request.limit_rows(1).matching(Some(Coming::of(shape.as_ref())));
            }
            let entries = entries.clone();
            scans.push(Scan { search, entries, key: Some(key), scanner: open(request) });
        }
    }
    Ok(scans)
}

fn entries(child: &Arc<Table>, index: &Index) -> Result<Entries> {
    let rows = TableRows::new(child)?;
    if index.number == 1 {
        return Ok(Entries::Primary(rows.reader(&[])));
    }
    let decoder = IndexRows::new(child, index)?.reader(child, &rows.primary_places());
    Ok(Entries::Secondary(decoder, rows))
}

/// The first batches of scans and the answers to looks, in one wait.
async fn wave<'s>(
    run: &ExecutionState,
    mut scans: Vec<Scan<'s>>,
    looks: &[Look],
    found: &mut Found,
) -> Result<Vec<(Option<ScanBatch>, Scan<'s>)>> {
    let cx = &run.cx;
    let seq = cx.seq.after();
    let unknown = |look: &&Look| look.keys.iter().any(|key| !cx.txn.reads().knows(seq, key));
    let waits = scans.len() + looks.iter().filter(unknown).count();
    let work = async {
        let _one_wait = (waits > 1).then(|| cx.txn.round_trips().side_by_side());
        let look = |look: &Look| {
            let (keys, record) = (look.keys.clone(), Record::Exists { tag: look.tag });
            async move { cx.txn.reads().multi_get_recorded(seq, &keys, record).await }
        };
        let looks = try_join_all(looks.iter().map(look));
        let batches = try_join_all(scans.iter_mut().map(|scan| scan.scanner.next_batch()));
        try_join(looks, batches).await
    };
    let (values, batches) = run.wait(work).await?;
    for (look, values) in looks.iter().zip(values) {
        let there = values.iter().map(Option::is_some);
        found.parents.extend(look.keys.iter().cloned().zip(there));
    }
    Ok(batches.into_iter().zip(scans).collect())
}

impl Scan<'_> {
    /// Adds what the scan shows, from its first batch on.
    async fn gather(
        mut self,
        run: &ExecutionState,
        first: Option<ScanBatch>,
        into: &mut HashMap<(Id, Row), Vec<Key>>,
    ) -> Result<()> {
        let id = self.search.link.key.id;
        let wanted: HashMap<Row, &Row> = match self.key {
            Some(_) => HashMap::new(),
            None => {
                let keys = self.search.keys.iter();
                let values = &self.search.link.values;
                keys.map(|key| (values.of_parent(key).into_owned(), key)).collect()
            }
        };
        let mut rows_read = RowAssembler::default();
        let mut row_keys = RowKeys::default();
        let mut batch = first;
        while let Some(entries) = batch {
            run.check_interrupts().await?;
            for (key, value) in entries.iter() {
                match (&*self.entries, self.key) {
                    (Entries::Primary(decoder), Some(values)) => {
                        if let Some(row_key) = row_keys.next(decoder, key)? {
                            let list = into.entry((id, values.clone())).or_default();
                            list.push(row_key.to_vec());
                        }
                    }
                    (Entries::Secondary(..), Some(values)) if !self.search.all => {
                        into.entry((id, values.clone())).or_default().push(key.to_vec());
                    }
                    (Entries::Secondary(decoder, rows), Some(values)) => {
                        let row_key = rows.primary_key_of_parts(&decoder.decode(key, value)?);
                        into.entry((id, values.clone())).or_default().push(row_key);
                    }
                    (Entries::Whole(decoder), _) => {
                        let complete = rows_read.add(decoder, key, value)?;
                        keep(&self.search.link, complete, &wanted, into)?;
                    }
                    (_, None) => {}
                }
            }
            // A batch is empty where the transaction has deleted what the store has.
            let enough = match self.key {
                Some(_) => !self.search.all && !entries.is_empty(),
                None => {
                    let has = |key: &Row| into.contains_key(&(id, key.clone()));
                    !self.search.all && self.search.keys.iter().all(has)
                }
            };
            if enough {
                return Ok(());
            }
            batch = run.wait(self.scanner.next_batch()).await?;
        }
        keep(&self.search.link, rows_read.finish(), &wanted, into)
    }
}

fn keep(
    link: &Link,
    row: Option<(Key, Row)>,
    wanted: &HashMap<Row, &Row>,
    into: &mut HashMap<(Id, Row), Vec<Key>>,
) -> Result<()> {
    let Some((key, values)) = row else { return Ok(()) };
    if let Some(values) = wanted.get(&*link.values.of_child(values)?) {
        into.entry((link.key.id, (*values).clone())).or_default().push(key);
    }
    Ok(())
}

/// Whole rows by their primary keys, locked as an UPDATE would lock them.
pub(crate) async fn lock_rows(
    run: &ExecutionState,
    wanted: Vec<(Arc<Table>, Vec<Key>)>,
) -> Result<HashMap<(Id, Key), Row>> {
    let cx = &run.cx;
    let all = |table: &Table| (0..table.columns.len()).collect::<Vec<usize>>();
    let readers: Vec<(Reader, &Vec<Key>, Vec<Key>)> = wanted
        .iter()
        .map(|(table, rows)| {
            let reader = Reader::new(table, &all(table), true)?;
            let mut keys = Vec::with_capacity(rows.len());
            rows.iter().for_each(|row| reader.keys_of(row, &mut keys));
            Ok((reader, rows, keys))
        })
        .collect::<Result<_>>()?;
    let seq = cx.seq.after();
    let read = |keys: Vec<Key>| async move {
        if cx.implicit_locks {
            // The locks protect what was read. Remembering it would pay for few rows only.
            let many = keys.len() >= LOCKED_ROWS_MANY;
            let request = LockRequest::keys(keys);
            let request = if many { request.passing(true) } else { request };
            return cx.txn.lock(seq, request).await;
        }
        let values = cx.txn.reads().multi_get(seq, &keys).await?;
        Ok(LockResult { values, ..LockResult::default() })
    };
    let unknown = |keys: &Vec<Key>| keys.iter().any(|key| !cx.txn.reads().knows(seq, key));
    let waits = readers.iter().filter(|(_, _, keys)| unknown(keys)).count();
    let work = async {
        let _one_wait = (waits > 1).then(|| cx.txn.round_trips().side_by_side());
        try_join_all(readers.iter().map(|(_, _, keys)| read(keys.clone()))).await
    };
    let results = run.wait(work).await?;
    let mut found = HashMap::new();
    for ((reader, rows, keys), result) in readers.iter().zip(results) {
        // At READ COMMITTED a row that was waited for may point elsewhere now, and others may point
        // here: with the locks in hand the statement looks again.
        let changed = result.changed.iter().any(|changed| *changed);
        if changed && cx.txn.isolation() == Isolation::ReadCommitted {
            return Err(from_kv(Kv::retry(RetryReason::WriteConflict, None)));
        }
        let decoded = reader.decode(keys, &result.values)?;
        for (row_key, row) in rows.iter().zip(decoded) {
            if let Some(row) = row {
                run.count_rows(std::slice::from_ref(&row))?;
                found.insert((reader.rows.table.id, row_key.clone()), row);
            }
        }
    }
    Ok(found)
}

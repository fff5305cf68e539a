//! Levels that delete children and do nothing else, whatever their number: in a stream, without
//! keeping rows.
//!
//! ```text
//!   keys of parents ──▶ spans of children ──▶ portion: lock ─▶ delete ─▶ next level's questions
//!                       (neighbours are one)  ▲──────────────────┘
//! ```
//!
//! Nothing in such a level depends on the order of its events: no check looks at what the others
//! have done, and no two of them reach the same row. All other levels are [`super::level`]'s.
//!
//! Only what is needed is read: the keys alone, if the table has no secondary index and no foreign
//! key refers to other columns of it. The lock reports rows that changed after the scan. The
//! transaction has read the spans, so such a change is a retry or, at READ COMMITTED, another run
//! of the statement.
//!
//! If the primary key of the children begins with the foreign key, and no other keys are between
//! them, a long span of children goes as a whole: one lock and one range delete, unless
//! `range_delete` is off. Columns that are not needed are not read. The result is the same: a child
//! that was committed before the lock is in the span, and a later one waits for the lock and fails
//! by its own check of the parent. If the rows that depend on these children have the same order
//! ([`Link::is_placed_alike`]), they go by a range delete as well, and so on downwards.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;

use braid_catalog::{ForeignKeyAction, Id, Index, Table};
use braid_exec::{Evaluator, ExecutionState, Reader, first_batches, from_kv};
use braid_kv::{
    Error as Kv, Isolation, Key, KeyShape, LockRequest, LockResult, Record, RetryReason, ScanBatch,
    ScanRequest, Scanner, Span,
};
use braid_plan::CascadeTable;
use braid_rows::{IndexDecoder, IndexRows, RowKeys};
use braid_types::{Datum, Error, Result, Row};
use futures_util::future::try_join_all;

use crate::foreign_keys::collect::parent_events;
use crate::foreign_keys::event::Event;
use crate::foreign_keys::link::{Link, TableLinks};
use crate::table_writer::TableWriter;

/// How many scans are opened in one wait.
const SCANS_AT_ONCE: usize = 1024;
/// Rows locked and deleted at once.
const PORTION_ROWS: usize = 4096;
/// A span that has more rows than this goes as a whole.
const SPAN_ROWS: usize = 1024;

/// A foreign key and the keys that are gone.
pub(crate) struct Cascade<'e> {
    link: Arc<Link>,
    gone: Vec<&'e Row>,
}

/// What a level deletes, by foreign key, if that is all it does.
pub(crate) fn cascades<'e>(
    events: &'e [Event],
    tables: &HashMap<Id, Arc<CascadeTable>>,
) -> Option<Vec<Cascade<'e>>> {
    let has_triggers =
        |child: &Table| tables.get(&child.id).is_some_and(|entry| !entry.triggers.is_empty());
    let mut found: Vec<Cascade<'e>> = Vec::new();
    for event in events {
        let Event::Parent { link, old, new: None } = event else { return None };
        if let Some(known) = found.iter_mut().find(|known| known.link.key.id == link.key.id) {
            known.gone.push(old);
            continue;
        }
        let child = &link.child;
        let is_plain = link.key.on_delete == ForeignKeyAction::Cascade
            && child.moving.is_none()
            && !has_triggers(child)
            && link.child_index().is_some()
            && found.iter().all(|known| known.link.child.id != child.id);
        if !is_plain {
            return None;
        }
        found.push(Cascade { link: link.clone(), gone: vec![old] });
    }
    Some(found)
}

/// Deletes the children; gives the questions that follow.
pub(crate) async fn delete(
    run: &Arc<ExecutionState>,
    tables: &HashMap<Id, Arc<CascadeTable>>,
    cascades: Vec<Cascade<'_>>,
) -> Result<Vec<Event>> {
    let mut level = CascadeLevel {
        run,
        tables,
        children: Vec::new(),
        events: Vec::new(),
        scans: VecDeque::new(),
    };
    for Cascade { link, gone } in cascades {
        let number = level.child(&link)?;
        let child = &level.children[number];
        let spans = gone.into_iter().filter_map(|values| link.child_span(&child.index, values));
        let spans = joined(spans);
        let scan = |(span, keys)| {
            (Scan { number, span: Span::clone(&span) }, child.scanner(run, span, keys))
        };
        let opened: Vec<(Scan, Scanner)> = spans.into_iter().map(scan).collect();
        level.scans.extend(opened);
    }
    while !level.scans.is_empty() {
        run.check_interrupts().await?;
        let count = level.scans.len().min(SCANS_AT_ONCE);
        let (now, scanners): (Vec<Scan>, Vec<Scanner>) = level.scans.drain(..count).unzip();
        let opened = open(run, scanners).await?;
        for (scan, (first, scanner)) in now.into_iter().zip(opened) {
            level.gather(scan, first, scanner).await?;
        }
        level.flush().await?;
    }
    Ok(level.events)
}

/// What is scanned for children.
struct Scan {
    /// Of which table.
    number: usize,
    span: Span,
}

/// The first batches, in one wait.
async fn open(
    run: &ExecutionState,
    mut scanners: Vec<Scanner>,
) -> Result<Vec<(Option<ScanBatch>, Scanner)>> {
    match scanners.pop() {
        Some(mut only) if scanners.is_empty() => {
            let batch = run.wait(only.next_batch()).await?;
            Ok(vec![(batch, only)])
        }
        last => {
            scanners.extend(last);
            first_batches(run, scanners).await
        }
    }
}

struct CascadeLevel<'r> {
    run: &'r Arc<ExecutionState>,
    tables: &'r HashMap<Id, Arc<CascadeTable>>,
    children: Vec<Child>,
    /// What is still to be scanned.
    scans: VecDeque<(Scan, Scanner)>,
    events: Vec<Event>,
}

/// How a row's columns are found, if any are needed.
enum Source {
    /// In the entries of the scan.
    Scanned,
    /// Under its lock, by its primary key.
    Locked,
}

/// A table whose rows go.
struct Child {
    link: Arc<Link>,
    table: Arc<Table>,
    /// The index by which they are found.
    index: Index,
    shape: Option<Arc<dyn KeyShape>>,
    keys_only: bool,
    reader: Reader,
    /// What the reader gives: places in the row.
    places: Vec<usize>,
    source: Source,
    /// If children are found by a secondary index: gives the primary key.
    secondary: Option<IndexDecoder>,
    writer: TableWriter,
    links: TableLinks,
    /// Whether a span that is scanned may go as a whole.
    spans_go: bool,
    /// If a span has gone and nothing depends on its rows but others that lie as they do: these.
    alike: Option<Vec<Arc<Link>>>,
    /// Distinguishes the rows, where a row has several pairs.
    row_keys: RowKeys,
    /// Keys to be locked and deleted.
    keys: Vec<Key>,
    /// Their rows, if they were scanned and are needed.
    rows: Vec<Row>,
}

impl Child {
    fn new(run: &Arc<ExecutionState>, entry: &CascadeTable, link: &Arc<Link>) -> Result<Self> {
        let table = &link.child;
        let Some(index) = link.child_index() else {
            return Err(Error::internal("a plain cascade without an index"));
        };
        let links = TableLinks::acting(run, table)?;
        let mut places: Vec<usize> = match table.indexes.is_empty() {
            false => (0..table.columns.len()).collect(),
            true => links.incoming.iter().flat_map(|link| link.parent_places.clone()).collect(),
        };
        places.sort_unstable();
        places.dedup();
        let reader = Reader::new(table, &places, true)?;
        let primary = reader.rows.primary_places();
        let secondary = match index.number {
            1 => None,
            _ => Some(IndexRows::new(table, index)?.reader(table, &primary)),
        };
        let in_keys = places.is_empty() || !reader.decoder.needs_values();
        let source = match &secondary {
            None if in_keys || reader.rows.family_count() == 1 => Source::Scanned,
            None | Some(_) => Source::Locked,
        };
        let is_scanned = places.is_empty() || matches!(source, Source::Scanned);
        let is_alone = secondary.is_none() && !index.is_mixed();
        let are_alike = links.incoming.iter().all(|link| link.is_placed_alike());
        let evaluator = Evaluator::new(run.clone(), run.no_outer());
        Ok(Self {
            link: link.clone(),
            index: index.clone(),
            shape: table.key_shape(index),
            keys_only: secondary.is_none() && (in_keys || matches!(source, Source::Locked)),
            spans_go: run.cx.range_delete && is_alone && is_scanned,
            alike: (table.indexes.is_empty() && are_alike).then(|| links.incoming.clone()),
            writer: TableWriter::new(&entry.table, &[], &[], &entry.index_exprs, evaluator)?,
            table: table.clone(),
            reader,
            places,
            source,
            secondary,
            links,
            row_keys: RowKeys::default(),
            keys: Vec::new(),
            rows: Vec::new(),
        })
    }

    /// A scan of a span that has the children of that number of keys.
    fn scanner(&self, run: &ExecutionState, span: Span, keys: usize) -> Scanner {
        let record = Record::Always { tag: self.link.key.id };
        let mut request = ScanRequest::new(span).record(record).shape(self.shape.as_ref());
        request.keys_only = self.keys_only;
        // The children of many keys come in as few waits as if they were asked for one by one.
        request.limit_rows = if keys > 1 { PORTION_ROWS } else { 0 };
        run.cx.txn.scanner(run.cx.seq.after(), request)
    }

    /// The ranges that go with a span of it, if nothing else depends on its rows.
    fn below(&self, span: &Span) -> Option<Vec<(Arc<Link>, Span)>> {
        let alike = |link: &Arc<Link>| Some((link.clone(), link.span_alike(span)?));
        self.alike.as_ref()?.iter().map(alike).collect()
    }

    /// Takes the rows of a batch.
    fn take(&mut self, batch: &ScanBatch) -> Result<()> {
        let Reader { rows, decoder, .. } = &self.reader;
        let needs_rows = !self.places.is_empty() && matches!(self.source, Source::Scanned);
        for (key, value) in batch.iter() {
            if let Some(secondary) = &self.secondary {
                let row_key = rows.primary_key_of_parts(&secondary.decode(key, value)?);
                self.keys.append(&mut rows.family_keys(&row_key));
                continue;
            }
            if rows.family_count() == 1 {
                self.keys.push(key.to_vec());
            } else {
                let Some(row_key) = self.row_keys.next(decoder, key)? else { continue };
                self.keys.append(&mut rows.family_keys(row_key));
            }
            if needs_rows {
                let mut row = Row::with_capacity(self.places.len());
                decoder.append(&mut row, key, value)?;
                self.rows.push(row);
            }
        }
        Ok(())
    }

    fn waiting_rows(&self) -> usize {
        self.rows.len().max(self.keys.len() / self.reader.families.len().max(1))
    }

    /// What the lock of its keys is to bring.
    fn needs_values(&self) -> bool {
        !self.places.is_empty() && matches!(self.source, Source::Locked)
    }

    /// Deletes what is locked now.
    fn delete(
        &mut self,
        run: &ExecutionState,
        keys: &[Key],
        locked: &LockResult,
        into: &mut Vec<Event>,
    ) -> Result<()> {
        let (txn, seq) = (&run.cx.txn, run.cx.seq);
        txn.writes().delete_all(seq, keys).map_err(from_kv)?;
        self.writer.note_deleted(keys.len() / self.reader.families.len().max(1));
        let mut rows = std::mem::take(&mut self.rows);
        if self.needs_values() {
            rows.extend(self.reader.decode(keys, &locked.values)?.into_iter().flatten());
        }
        let mut whole: Row = vec![Datum::Null; self.table.columns.len()];
        for row in rows {
            self.places.iter().zip(row).for_each(|(place, value)| whole[*place] = value);
            self.writer.delete_entries(&whole)?;
            let from = into.len();
            parent_events(&self.links.incoming, &whole, None, into);
            for event in &into[from..] {
                if let Event::Parent { old, .. } = event {
                    run.count_rows(std::slice::from_ref(old))?;
                }
            }
        }
        Ok(())
    }
}

/// Locks all children in a span, present and future ones.
async fn lock_span(run: &ExecutionState, span: &Span) -> Result<()> {
    let lock = run.cx.txn.lock(run.cx.seq.after(), LockRequest::spans(vec![span.clone()]));
    require_unchanged(run, &run.wait(lock).await?)
}

/// At READ COMMITTED a row that was waited for may point elsewhere now, and others may point here:
/// with the locks in hand the statement looks again.
fn require_unchanged(run: &ExecutionState, locked: &LockResult) -> Result<()> {
    let changed = locked.changed.iter().any(|changed| *changed);
    if changed && run.cx.txn.isolation() == Isolation::ReadCommitted {
        return Err(from_kv(Kv::retry(RetryReason::WriteConflict, None)));
    }
    Ok(())
}

/// Spans in their order, those that follow each other without a gap as one, and of how many.
fn joined(spans: impl Iterator<Item = Span>) -> Vec<(Span, usize)> {
    let mut joined: Vec<(Span, usize)> = Vec::new();
    for span in spans {
        match joined.last_mut() {
            Some((last, count)) if last.end == span.start => {
                last.end = span.end;
                *count += 1;
            }
            _ => joined.push((span, 1)),
        }
    }
    joined
}

impl CascadeLevel<'_> {
    /// Deletes what a scan shows, from its first batch on, but for the last portion.
    async fn gather(
        &mut self,
        scan: Scan,
        first: Option<ScanBatch>,
        mut scanner: Scanner,
    ) -> Result<()> {
        let Scan { number, span } = scan;
        let (mut seen, mut is_whole) = (0, false);
        let mut below: Option<Vec<(Arc<Link>, Span)>> = None;
        let child = &self.children[number];
        let before = (child.keys.len(), child.rows.len());
        let mut batch = first;
        while let Some(entries) = batch {
            self.run.check_interrupts().await?;
            let child = &mut self.children[number];
            child.take(&entries)?;
            seen += entries.len();
            let mut goes_on = entries.resume.is_some();
            if !is_whole && child.spans_go && seen > SPAN_ROWS {
                is_whole = true;
                below = child.below(&span);
                lock_span(self.run, &span).await?;
            }
            if is_whole {
                // What was there of it before is deleted once more at the most.
                child.keys.truncate(before.0);
                if below.is_some() {
                    child.rows.truncate(before.1);
                    goes_on = false;
                }
            }
            if self.children.iter().map(Child::waiting_rows).sum::<usize>() >= PORTION_ROWS {
                self.flush().await?;
            }
            if !goes_on {
                break;
            }
            batch = self.run.wait(scanner.next_batch()).await?;
        }
        if is_whole {
            // Not before the scan has ended, which would not see the rows any more.
            self.run.cx.txn.writes().delete_span(self.run.cx.seq, span.clone()).map_err(from_kv)?;
            for (link, span) in below.unwrap_or_default() {
                let number = self.child(&link)?;
                let scanner = self.children[number].scanner(self.run, span.clone(), 2);
                self.scans.push_back((Scan { number, span }, scanner));
            }
        }
        Ok(())
    }

    /// The number of the children by a foreign key.
    fn child(&mut self, link: &Arc<Link>) -> Result<usize> {
        let known = self.children.iter().position(|child| child.link.key.id == link.key.id);
        if let Some(number) = known {
            return Ok(number);
        }
        let Some(entry) = self.tables.get(&link.child.id) else {
            return Err(Error::internal("a cascade to a table that was not planned"));
        };
        self.children.push(Child::new(self.run, entry, link)?);
        Ok(self.children.len() - 1)
    }

    /// Locks and deletes what was gathered.
    async fn flush(&mut self) -> Result<()> {
        let cx = &self.run.cx;
        let seq = cx.seq.after();
        let requests: Vec<LockRequest> = self
            .children
            .iter_mut()
            .map(|child| {
                let values = child.needs_values();
                LockRequest::keys(std::mem::take(&mut child.keys)).passing(values)
            })
            .collect();
        let lock = |request| async move {
            let keys = LockRequest::wanted_keys(request);
            if keys.is_empty() {
                return Ok(LockResult::default());
            }
            if cx.implicit_locks {
                return cx.txn.locks().take(seq, request).await;
            }
            let values =
                if request.values { cx.txn.reads().multi_get(seq, keys).await? } else { vec![] };
            Ok(LockResult { values, ..LockResult::default() })
        };
        let is_unknown = |key: &Key| !cx.txn.reads().knows(seq, key);
        let unknown = |request: &&LockRequest| request.wanted_keys().iter().any(is_unknown);
        let waits = requests.iter().filter(unknown).count();
        let work = async {
            let _one_wait = (waits > 1).then(|| cx.txn.round_trips().side_by_side());
            try_join_all(requests.iter().map(lock)).await
        };
        let results = self.run.wait(work).await?;
        for ((child, request), locked) in self.children.iter_mut().zip(&requests).zip(&results) {
            require_unchanged(self.run, locked)?;
            child.delete(self.run, request.wanted_keys(), locked, &mut self.events)?;
        }
        Ok(())
    }
}

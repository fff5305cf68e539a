//! A join by an index of its right side: for each batch of left rows all the right rows are read
//! in one wait (two, where entries of a secondary index lead to rows).
//!
//! Where nothing but the bounds decides whether a row matches, a semi or anti join reads the first
//! right row of each left row, and a join below a LIMIT no more of them than the limit takes.

use std::ops::Range;

use braid_kv::{Key, Record, ScanRequest, Span};
use braid_plan::{Bound, Expr, Join, JoinKind, Node};
use braid_rows::RowAssembler;
use braid_types::{Datum, Result, Row};
use futures_util::future::BoxFuture;

use crate::memory::row_bytes;
use crate::operator::counts::ScanCounts;
use crate::operator::eval::Evaluator;
use crate::operator::join::limit_goal::LimitGoal;
use crate::operator::join::lookup_conditions::undecided;
use crate::operator::postponed::Postponed;
use crate::operator::reservation::MemoryReservation;
use crate::operator::scan::multi_scan::MultiScan;
use crate::operator::scan::reader::{KeyBounds, Reader, Secondary, index_of};
use crate::operator::{BATCH_ROWS, BoxedOperator, Operator};

/// With more bytes found than this, the next lookup is for fewer left rows.
const FOUND_BYTES: usize = 4 << 20;
/// The fewest left rows that are looked up in one wait.
const LOOKUPS_MIN: usize = 16;
/// The left rows of the first wait where ranges are read, each of which may have many rows.
const RANGES_FIRST: usize = 128;
/// Roughly the memory of a key that was found.
const KEY_BYTES: usize = 64;

/// A join by lookups.
pub struct LookupJoinOperator {
    evaluator: Evaluator,
    left: BoxedOperator,
    kind: JoinKind,
    lookup: Lookup,
    filter: Vec<Expr>,
    on: Vec<Expr>,
    on_waits: bool,
    outer: Vec<Expr>,
    right_width: usize,
    /// Left rows that nothing was looked up for yet.
    pending: std::vec::IntoIter<Row>,
    /// How many left rows are looked up in one wait.
    lookups: usize,
    goal: LimitGoal,
    looked_up: LookedUp,
    /// Memory of what was looked up, and of the rows last given.
    held: MemoryReservation,
    result_held: MemoryReservation,
    counts: ScanCounts,
    failed: Postponed,
}

/// How the right side is read.
struct Lookup {
    evaluator: Evaluator,
    reader: Reader,
    bounds: KeyBounds,
    secondary: Option<Secondary>,
    /// By whole primary keys.
    points: bool,
    /// Nothing but the bounds decides whether a row matches, and each span is of one left row: the
    /// first rows of a span are enough if no more are wanted.
    first_ones_do: bool,
    /// One match of a left row is enough.
    one_match: bool,
    record: Record,
}

/// Left rows that were looked up, each with the places of its spans, and what was found.
#[derive(Default)]
struct LookedUp {
    left: std::vec::IntoIter<(Row, Evaluator, Range<usize>)>,
    spans: Vec<Span>,
    found: Found,
}

/// The right rows of a batch of left rows.
#[derive(Default)]
struct Found {
    /// The keys that they were found by, ascending, if they come from spans.
    keys: Vec<Key>,
    rows: Vec<Option<Row>>,
}

impl LookupJoinOperator {
    /// The join, unless its right side locks rows.
    pub fn new(join: &Join, left: BoxedOperator, evaluator: &Evaluator) -> Result<Option<Self>> {
        let Node::Scan(scan) = &join.right else { return Ok(None) };
        if scan.lock.is_some() || scan.access.limit.is_some() {
            return Ok(None);
        }
        let is_range = |bound: &Bound| !bound.is_of_values();
        let lookups = match scan.access.bounds.iter().any(is_range) {
            true => RANGES_FIRST,
            false => BATCH_ROWS,
        };
        let bounds = KeyBounds::new(scan)?;
        let places: Vec<usize> = scan.columns.iter().map(|(_, place)| *place).collect();
        let reader = Reader::new(&scan.table, &places, false)?.only_members(scan);
        let secondary = Secondary::new(scan, &places, &reader, false)?;
        let on = undecided(join, scan, index_of(scan)?);
        // Spans of values are equal or apart, so that no two of them become one.
        let first_ones_do = on.is_empty()
            && scan.filter.is_empty()
            && !scan.access.bounds.iter().any(is_range)
            && bounds.shape.is_none()
            && (secondary.is_some() || scan.table.families.len() == 1);
        Ok(Some(Self {
            evaluator: evaluator.clone(),
            left,
            kind: join.kind,
            lookup: Lookup {
                evaluator: evaluator.clone(),
                points: secondary.is_none() && bounds.are_points(),
                reader,
                secondary,
                bounds,
                first_ones_do,
                one_match: matches!(join.kind, JoinKind::Semi | JoinKind::Anti),
                record: if scan.unrecorded { Record::Never } else { Record::Default },
            },
            filter: scan.filter.clone(),
            on_waits: on.iter().any(Expr::waits),
            on,
            outer: join.outer.clone(),
            right_width: places.len(),
            pending: Vec::new().into_iter(),
            lookups,
            goal: LimitGoal::new(join.limit_hint.clone()),
            looked_up: LookedUp::default(),
            held: MemoryReservation::new(&evaluator.run),
            result_held: MemoryReservation::new(&evaluator.run),
            counts: ScanCounts::new(&evaluator.run, scan),
            failed: Postponed::default(),
        }))
    }

    async fn next_rows(&mut self) -> Result<Option<Vec<Row>>> {
        loop {
            while self.looked_up.left.len() > 0 || self.failed.is_waiting() {
                self.failed.check()?;
                let mut rows = Vec::new();
                if let Err(error) = self.join_some(&mut rows).await {
                    self.failed.keep(error, !rows.is_empty())?;
                }
                if !rows.is_empty() {
                    self.goal.gave(rows.len());
                    return Ok(Some(rows));
                }
            }
            if self.pending.len() == 0 {
                let Some(batch) = self.left.next().await? else { return Ok(None) };
                self.pending = batch.into_iter();
            }
            self.evaluator.run.breathe().await?;
            self.look_up().await?;
        }
    }

    /// Looks up the right rows of the next left rows. How many left rows depends on how much the
    /// last ones have found.
    async fn look_up(&mut self) -> Result<()> {
        let (lookups, matches) = self.goal.next(&self.evaluator).await;
        let batch: Vec<Row> = self.pending.by_ref().take(self.lookups.min(lookups)).collect();
        self.goal.looked_up(batch.len());
        let mut spans: Vec<Span> = Vec::with_capacity(batch.len());
        let mut left = Vec::with_capacity(batch.len());
        for row in batch {
            let outer = self.evaluator.eval_all(&self.outer, true, &row).await?;
            let inner = Evaluator::new(self.evaluator.run.clone(), outer.into());
            let from = spans.len();
            spans.extend(self.lookup.bounds.spans(&inner).await?);
            left.push((row, inner, from..spans.len()));
        }
        self.held.clear();
        let found = self.lookup.find(&spans, matches, &mut self.held).await?;
        self.counts.begin(spans.len());
        self.counts.fetched(found.rows.iter().flatten().count());
        self.lookups = match self.held.bytes() {
            0..=FOUND_BYTES => (self.lookups * 2).min(BATCH_ROWS),
            _ => (self.lookups / 2).max(LOOKUPS_MIN),
        };
        self.looked_up = LookedUp { left: left.into_iter(), spans, found };
        Ok(())
    }

    /// Joins left rows with what was looked up for them, until there is a batch.
    async fn join_some(&mut self, result: &mut Vec<Row>) -> Result<()> {
        let LookedUp { left: lefts, spans, found } = &mut self.looked_up;
        let mut bytes = 0;
        self.result_held.clear();
        while result.len() < BATCH_ROWS
            && let Some((left, inner, range)) = lefts.next()
        {
            let mut matched = false;
            'rows: for place in range {
                for right in found.rows[found.places(place, &spans[place])].iter().flatten() {
                    if !inner.holds_now(&self.filter, right)? {
                        continue;
                    }
                    let mut both = left.clone();
                    both.extend(right.iter().cloned());
                    if !self.evaluator.holds(&self.on, self.on_waits, &both).await? {
                        continue;
                    }
                    matched = true;
                    if matches!(self.kind, JoinKind::Semi | JoinKind::Anti) {
                        break 'rows;
                    }
                    bytes += row_bytes(&both);
                    result.push(both);
                    if bytes > FOUND_BYTES {
                        self.result_held.take(std::mem::take(&mut bytes))?;
                        self.evaluator.run.breathe().await?;
                    }
                }
            }
            match self.kind {
                JoinKind::Left if !matched => {
                    let mut both = left;
                    both.resize(both.len() + self.right_width, Datum::Null);
                    result.push(both);
                }
                JoinKind::Semi if matched => result.push(left),
                JoinKind::Anti if !matched => result.push(left),
                _ => {}
            }
        }
        Ok(())
    }
}

impl Lookup {
    /// What spans have; at least this number of rows of each, if it has them.
    async fn find(
        &self,
        spans: &[Span],
        matches: usize,
        held: &mut MemoryReservation,
    ) -> Result<Found> {
        if self.points {
            return self.by_keys(spans, held).await;
        }
        let rows_max = match (self.first_ones_do, self.one_match) {
            (false, _) => 0,
            (true, true) => 1,
            (true, false) if matches == usize::MAX => 0,
            (true, false) => matches,
        };
        self.by_spans(spans, rows_max, held).await
    }

    /// One row for each whole primary key.
    async fn by_keys(&self, spans: &[Span], held: &mut MemoryReservation) -> Result<Found> {
        let keys: Vec<&[u8]> = spans.iter().map(|span| span.start.as_slice()).collect();
        Ok(Found { keys: Vec::new(), rows: self.rows_of(&keys, held).await? })
    }

    async fn rows_of(
        &self,
        primary_keys: &[impl AsRef<[u8]>],
        held: &mut MemoryReservation,
    ) -> Result<Vec<Option<Row>>> {
        let mut keys: Vec<Key> = Vec::with_capacity(primary_keys.len());
        for key in primary_keys {
            self.reader.keys_of(key.as_ref(), &mut keys);
        }
        let cx = &self.evaluator.run.cx;
        let values = self
            .evaluator
            .run
            .wait(cx.txn.reads().multi_get_recorded(cx.seq, &keys, self.record))
            .await?;
        let rows = self.reader.decode(&keys, &values)?;
        held.take(rows.iter().flatten().map(|row| row_bytes(row)).sum())?;
        Ok(rows)
    }

    /// The rows of all spans, each read once; or about this number of each, if it is not 0.
    async fn by_spans(
        &self,
        spans: &[Span],
        rows_max: usize,
        held: &mut MemoryReservation,
    ) -> Result<Found> {
        let mut wanted = without_overlaps(spans);
        wanted.reverse();
        let mut scan = MultiScan::new(wanted, false).rows_max(rows_max);
        let run = &self.evaluator.run;
        let mut found = Found::default();
        let mut primary_keys: Vec<Key> = Vec::new();
        let mut partial = RowAssembler::default();
        let shape = self.bounds.shape.as_ref();
        let request =
            |span| ScanRequest::new(span).record(self.record).shape(shape).limit_rows(rows_max);
        while let Some(batch) = scan.next(run, request).await? {
            run.breathe().await?;
            let known = found.rows.len();
            for (key, value) in batch.iter() {
                let Some(secondary) = &self.secondary else {
                    found.add(partial.add(&self.reader.decoder, key, value)?);
                    continue;
                };
                found.keys.push(key.to_vec());
                match &secondary.covering {
                    Some(decoder) => found.rows.push(Some(decoder.decode(key, value)?)),
                    None => {
                        let parts = secondary.primary.decode(key, value)?;
                        primary_keys.push(self.reader.rows.primary_key_of_parts(&parts));
                    }
                }
            }
            let new = found.rows[known..].iter().flatten().map(|row| row_bytes(row)).sum::<usize>();
            held.take(new + batch.len() * KEY_BYTES)?;
        }
        if let Some((key, row)) = partial.finish() {
            held.take(row_bytes(&row))?;
            found.add(Some((key, row)));
        }
        if !primary_keys.is_empty() {
            found.rows = self.rows_of(&primary_keys, held).await?;
        }
        Ok(found)
    }
}

impl Found {
    /// Adds a row of the primary index whose families have all been read.
    fn add(&mut self, complete: Option<(Key, Row)>) {
        if let Some((key, row)) = complete {
            self.keys.push(key);
            self.rows.push(Some(row));
        }
    }

    /// The places of the rows that a span has found.
    fn places(&self, place: usize, span: &Span) -> Range<usize> {
        if self.keys.is_empty() {
            // One row for each key, or nothing at all.
            return if self.rows.is_empty() { 0..0 } else { place..place + 1 };
        }
        let from = self.keys.partition_point(|key| *key < span.start);
        let to = from + self.keys[from..].partition_point(|key| *key < span.end);
        from..to
    }
}

/// Spans in key order that cover the same keys, each key once: the spans of several left rows may
/// overlap. Spans that only touch stay apart, so that they are read side by side.
fn without_overlaps(spans: &[Span]) -> Vec<Span> {
    let mut wanted = spans.to_vec();
    wanted.sort_unstable();
    wanted.dedup_by(|next, last| {
        let is_covered = *next == *last || next.start < last.end;
        if is_covered && last.end < next.end {
            last.end = std::mem::take(&mut next.end);
        }
        is_covered
    });
    wanted
}

impl Operator for LookupJoinOperator {
    fn next(&mut self) -> BoxFuture<'_, Result<Option<Vec<Row>>>> {
        Box::pin(self.next_rows())
    }
}

//! A join by an index of its right side: for each batch of left rows all the right rows are read
//! in one wait (two, where entries of a secondary index lead to rows).
//!
//! Where nothing but the bounds decides whether a row matches, a semi or anti join reads the first
//! right row of each left row, and a join below a LIMIT no more of them than the limit takes.
//!
//! Left rows whose right rows do not fit into a page are put back, and looked up with the next
//! ones. A left row that has more than a page by itself is joined with page after page.

use std::collections::VecDeque;
use std::ops::Range;

use braid_kv::{Record, Span};
use braid_plan::{Bound, Expr, Join, JoinKind, Node};
use braid_types::{Datum, Result, Row};
use futures_util::future::BoxFuture;

use crate::memory::row_bytes;
use crate::operator::counts::ScanCounts;
use crate::operator::eval::Evaluator;
use crate::operator::join::limit_goal::LimitGoal;
use crate::operator::join::lookup_conditions::undecided;
use crate::operator::join::right_rows::{Found, PAGE_BYTES, PAGE_ROWS, PageReader, RightSide};
use crate::operator::postponed::Postponed;
use crate::operator::reservation::MemoryReservation;
use crate::operator::scan::reader::{KeyBounds, Reader, Secondary, index_of};
use crate::operator::{BATCH_ROWS, BoxedOperator, Operator};

/// The fewest left rows that are looked up in one wait.
const LOOKUPS_MIN: usize = 16;
/// The left rows of the first wait where ranges are read, each of which may have many rows.
const RANGES_FIRST: usize = 128;
/// The right rows of the first page, before the size of a row is known, and the fewest of a page.
const PAGE_ROWS_FIRST: usize = 1_024;
const PAGE_ROWS_MIN: usize = 64;

/// A join by lookups.
pub(crate) struct LookupJoinOperator {
    evaluator: Evaluator,
    left: BoxedOperator,
    right: RightSide,
    conditions: Conditions,
    outer: Vec<Expr>,
    right_width: usize,
    /// Left rows that nothing was looked up for yet.
    pending: VecDeque<Row>,
    /// How many left rows are looked up in one wait.
    lookups: usize,
    goal: LimitGoal,
    /// Bytes of one right row of the last page; 0 before the first one.
    row_bytes: usize,
    looked_up: LookedUp,
    /// The left row that is joined page by page.
    paged: Option<Paged>,
    /// Memory of what was looked up, and of the rows last given.
    held: MemoryReservation,
    result_held: MemoryReservation,
    counts: ScanCounts,
    failed: Postponed,
}

/// What a right row must meet to be a match of a left row.
struct Conditions {
    kind: JoinKind,
    evaluator: Evaluator,
    filter: Vec<Expr>,
    on: Vec<Expr>,
    on_waits: bool,
}

/// A left row, the evaluator of the right side for it, and the places of its spans.
type LeftRow = (Row, Evaluator, Range<usize>);

/// Left rows that were looked up, and what was found.
#[derive(Default)]
struct LookedUp {
    left: std::vec::IntoIter<LeftRow>,
    spans: Vec<Span>,
    found: Found,
}

/// A left row with more right rows than one page.
struct Paged {
    left: Row,
    inner: Evaluator,
    reader: PageReader,
    /// A page that was read and not joined yet.
    found: Found,
    matched: bool,
}

impl LookupJoinOperator {
    /// The join, unless its right side locks rows.
    pub(crate) fn new(
        join: &Join,
        left: BoxedOperator,
        evaluator: &Evaluator,
    ) -> Result<Option<Self>> {
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
            right: RightSide {
                evaluator: evaluator.clone(),
                points: secondary.is_none() && bounds.are_points(),
                reader,
                secondary,
                bounds,
                first_ones_do,
                one_match: matches!(join.kind, JoinKind::Semi | JoinKind::Anti),
                record: if scan.unrecorded { Record::Never } else { Record::Default },
            },
            conditions: Conditions {
                kind: join.kind,
                evaluator: evaluator.clone(),
                filter: scan.filter.clone(),
                on_waits: on.iter().any(Expr::waits),
                on,
            },
            outer: join.outer.clone(),
            right_width: places.len(),
            pending: VecDeque::new(),
            lookups,
            goal: LimitGoal::new(join.limit_hint.clone()),
            row_bytes: 0,
            looked_up: LookedUp::default(),
            paged: None,
            held: MemoryReservation::new(&evaluator.run),
            result_held: MemoryReservation::new(&evaluator.run),
            counts: ScanCounts::new(&evaluator.run, scan),
            failed: Postponed::default(),
        }))
    }

    async fn next_rows(&mut self) -> Result<Option<Vec<Row>>> {
        loop {
            while self.looked_up.left.len() > 0 || self.paged.is_some() || self.failed.is_waiting()
            {
                self.failed.check()?;
                let mut rows = Vec::new();
                let joined = match self.paged.take() {
                    Some(paged) => self.join_page(paged, &mut rows).await,
                    None => self.join_some(&mut rows).await,
                };
                if let Err(error) = joined {
                    self.failed.keep(error, !rows.is_empty())?;
                }
                if !rows.is_empty() {
                    self.goal.gave(rows.len());
                    return Ok(Some(rows));
                }
            }
            if self.pending.is_empty() {
                let Some(batch) = self.left.next().await? else { return Ok(None) };
                self.pending = batch.into();
            }
            self.evaluator.run.breathe().await?;
            self.look_up().await?;
        }
    }

    /// Looks up the right rows of the next left rows. How many left rows depends on how much the
    /// last ones have found.
    async fn look_up(&mut self) -> Result<()> {
        let (lookups, matches) = self.goal.next(&self.evaluator).await;
        let lookups = self.lookups.min(lookups).min(self.pending.len());
        let mut spans: Vec<Span> = Vec::with_capacity(lookups);
        let mut left = Vec::with_capacity(lookups);
        for row in self.pending.drain(..lookups) {
            let outer = self.evaluator.eval_all(&self.outer, true, &row).await?;
            let inner = Evaluator::new(self.evaluator.run.clone(), outer.into());
            let from = spans.len();
            spans.extend(self.right.bounds.spans(&inner).await?);
            left.push((row, inner, from..spans.len()));
        }
        self.held.clear();
        let mut reader =
            (!self.right.points).then(|| PageReader::new(&self.right, &spans, matches));
        let page_rows = self.page_rows();
        let found = match &mut reader {
            None => self.right.by_keys(&spans, &mut self.held).await?,
            Some(reader) => reader.read(&self.right, page_rows, &mut self.held).await?,
        };
        if let Some(reader) = reader.filter(|reader| !reader.is_done) {
            self.put_back(left, spans, found, (reader, matches));
            return Ok(());
        }
        self.note_read(&found, left.len(), spans.len());
        self.looked_up = LookedUp { left: left.into_iter(), spans, found };
        Ok(())
    }

    /// Keeps the first of the left rows: those of which the page has all right rows, or one row
    /// that is joined page by page. The others are looked up later.
    fn put_back(
        &mut self,
        mut left: Vec<LeftRow>,
        spans: Vec<Span>,
        mut found: Found,
        (mut reader, matches): (PageReader, usize),
    ) {
        let has_all = |(_, _, range): &&LeftRow| {
            spans[range.clone()].iter().all(|span| found.has_all_of(span))
        };
        let whole = left.iter().take_while(has_all).count();
        let is_one = left.len() == 1;
        for (row, ..) in left.drain(whole.max(1)..).rev() {
            self.pending.push_front(row);
        }
        if whole > 0 {
            let spans_kept = left.last().map_or(0, |(_, _, range)| range.end);
            self.note_read(&found, whole, spans_kept);
            self.lookups = whole;
            self.looked_up = LookedUp { left: left.into_iter(), spans, found };
            return;
        }
        let Some((left, inner, range)) = left.pop() else { return };
        let own = &spans[range];
        if !is_one {
            reader = PageReader::new(&self.right, own, matches);
            found = Found::default();
        }
        self.note_read(&found, 1, own.len());
        self.lookups = 1;
        self.paged = Some(Paged { left, inner, reader, found, matched: false });
    }

    /// The rows after which a page ends.
    fn page_rows(&self) -> usize {
        let rows = match self.row_bytes {
            0 => PAGE_ROWS_FIRST,
            bytes => (self.right.page_bytes() / bytes).clamp(PAGE_ROWS_MIN, PAGE_ROWS),
        };
        rows.min(self.goal.page_rows())
    }

    /// Counts what was read for left rows, and plans how many are looked up next.
    fn note_read(&mut self, found: &Found, left_rows: usize, spans: usize) {
        self.counts.begin(spans);
        self.note_page(found, left_rows);
        let (rows, bytes) = (found.rows.len(), self.held.bytes());
        if rows <= PAGE_ROWS / 2 && bytes <= PAGE_BYTES / 2 {
            self.lookups = (self.lookups * 2).min(BATCH_ROWS);
        } else if bytes > PAGE_BYTES {
            self.lookups = (self.lookups / 2).max(LOOKUPS_MIN);
        }
    }

    /// Counts the rows of a page.
    fn note_page(&mut self, found: &Found, left_rows: usize) {
        self.counts.fetched(found.rows.iter().flatten().count());
        self.goal.looked_up(left_rows, found.rows.len());
        if let Some(bytes) = self.held.bytes().checked_div(found.rows.len()) {
            self.row_bytes = bytes.max(1);
        }
    }

    /// Joins left rows with what was looked up for them, until there is a batch.
    async fn join_some(&mut self, result: &mut Vec<Row>) -> Result<()> {
        let LookedUp { left: lefts, spans, found } = &mut self.looked_up;
        self.result_held.clear();
        while result.len() < BATCH_ROWS
            && let Some((left, inner, range)) = lefts.next()
        {
            let mut matched = false;
            for place in range {
                let rights = &found.rows[found.places(place, &spans[place])];
                let pair = (&left, &inner);
                matched |=
                    self.conditions.matches(pair, rights, result, &mut self.result_held).await?;
                if matched && self.right.one_match {
                    break;
                }
            }
            self.conditions.end(left, matched, self.right_width, result);
        }
        Ok(())
    }

    /// Joins a left row with its next page.
    async fn join_page(&mut self, mut paged: Paged, result: &mut Vec<Row>) -> Result<()> {
        self.result_held.clear();
        let mut found = std::mem::take(&mut paged.found);
        if found.rows.is_empty() {
            self.held.clear();
            let page_rows = self.page_rows();
            found = paged.reader.read(&self.right, page_rows, &mut self.held).await?;
            self.note_page(&found, 0);
        }
        let pair = (&paged.left, &paged.inner);
        paged.matched |=
            self.conditions.matches(pair, &found.rows, result, &mut self.result_held).await?;
        if paged.reader.is_done || (paged.matched && self.right.one_match) {
            self.conditions.end(paged.left, paged.matched, self.right_width, result);
            return Ok(());
        }
        self.paged = Some(paged);
        Ok(())
    }
}

impl Conditions {
    /// Whether any of the right rows matches a left row. The pairs are results, unless the join
    /// gives left rows only.
    async fn matches(
        &self,
        (left, inner): (&Row, &Evaluator),
        rights: &[Option<Row>],
        result: &mut Vec<Row>,
        held: &mut MemoryReservation,
    ) -> Result<bool> {
        let mut matched = false;
        let mut bytes = 0;
        for right in rights.iter().flatten() {
            if !inner.holds_now(&self.filter, right)? {
                continue;
            }
            let mut both = left.clone();
            both.extend(right.iter().cloned());
            if !self.evaluator.holds(&self.on, self.on_waits, &both).await? {
                continue;
            }
            if matches!(self.kind, JoinKind::Semi | JoinKind::Anti) {
                return Ok(true);
            }
            matched = true;
            bytes += row_bytes(&both);
            result.push(both);
            if bytes > PAGE_BYTES {
                held.take(std::mem::take(&mut bytes))?;
                self.evaluator.run.breathe().await?;
            }
        }
        Ok(matched)
    }

    /// Gives what a left row has without a pair, after all its right rows.
    fn end(&self, mut left: Row, matched: bool, right_width: usize, result: &mut Vec<Row>) {
        match self.kind {
            JoinKind::Left if !matched => {
                left.resize(left.len() + right_width, Datum::Null);
                result.push(left);
            }
            JoinKind::Semi if matched => result.push(left),
            JoinKind::Anti if !matched => result.push(left),
            _ => {}
        }
    }
}

impl Operator for LookupJoinOperator {
    fn next(&mut self) -> BoxFuture<'_, Result<Option<Vec<Row>>>> {
        Box::pin(self.next_rows())
    }
}

//! The operator: for each batch of left rows all the right rows are read in one wait (two, where
//! entries of a secondary index lead to rows).
//!
//! Where nothing but the bounds decides whether a row matches, a semi or anti join reads the first
//! right row of each left row, and a join below a LIMIT no more of them than the limit takes.
//!
//! Left rows whose right rows do not fit into a page stay, and are looked up with the next ones. A
//! left row that has more than a page by itself is joined with page after page.

use std::ops::Range;
use std::sync::Arc;

use braid_kv::{Key, Record, Span};
use braid_plan::{Join, Node};
use braid_rows::Columns;
use braid_types::{Error, Result, Row};
use futures_util::future::BoxFuture;

use crate::operator::column_source::{ColumnSource, RowTest};
use crate::operator::counts::ScanCounts;
use crate::operator::eval::Evaluator;
use crate::operator::join::lookup::by_columns::ByColumns;
use crate::operator::join::lookup::direct_keys::DirectKeys;
use crate::operator::join::lookup::found_rows::FoundRows;
use crate::operator::join::lookup::layout::Layout;
use crate::operator::join::lookup::left_side::LeftSide;
use crate::operator::join::lookup::limit_goal::LimitGoal;
use crate::operator::join::lookup::right_rows::{PAGE_BYTES, PAGE_ROWS, PageReader, RightSide};
use crate::operator::join::lookup::row_pairs::{LeftRow, RowPairs};
use crate::operator::postponed::Postponed;
use crate::operator::reservation::MemoryReservation;
use crate::operator::{BATCH_ROWS, BoxedOperator, Operator};

/// The fewest left rows that are looked up in one wait.
const LOOKUPS_MIN: usize = 16;
/// The left rows of the first wait where ranges are read, each of which may have many rows.
const RANGES_FIRST: usize = 128;
/// The right rows of the first page, before the size of a row is known, and the fewest of a page.
const PAGE_ROWS_FIRST: usize = 1_024;
const PAGE_ROWS_MIN: usize = 64;
/// Right rows that are used this often, in the mean, are decoded once instead.
const USES_MIN: usize = 2;

/// A join by lookups.
pub(crate) struct LookupJoinOperator {
    evaluator: Evaluator,
    layout: Arc<Layout>,
    left: LeftSide,
    right: RightSide,
    /// Rows have room for this many more columns.
    room: usize,
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
    /// Set once columns were asked for.
    by_columns: Option<Box<ByColumns>>,
}

/// What is looked up for some left rows.
#[derive(Default)]
struct Lookups {
    /// Whole primary keys, or spans.
    keys: Vec<Key>,
    spans: Vec<Span>,
    /// How many of them are apart from each other.
    apart: usize,
    /// The places of the keys or spans of each left row.
    of_left: Vec<Range<usize>>,
    /// The evaluator of the right side for each left row, where the operator's own will not do.
    inner: Vec<Evaluator>,
}

/// Left rows that were looked up, and what was found.
#[derive(Default)]
struct LookedUp {
    /// The place of the first of them in the left batch.
    first: usize,
    /// Those of them that have not been joined.
    open: Range<usize>,
    lookups: Lookups,
    found: FoundRows,
}

/// A left row with more right rows than one page.
struct Paged {
    /// Its place in the left batch.
    left: usize,
    inner: Option<Evaluator>,
    reader: PageReader,
    /// A page that was read and not joined yet.
    found: FoundRows,
    has_match: bool,
}

impl LookupJoinOperator {
    /// The join, unless its right side locks rows.
    pub(crate) fn new(
        join: &Join,
        mut left: BoxedOperator,
        evaluator: &Evaluator,
    ) -> Result<Option<Self>> {
        let Node::Scan(scan) = &join.right else { return Ok(None) };
        if scan.lock.is_some() || scan.access.limit.is_some() {
            return Ok(None);
        }
        let layout = Layout::of(join, scan)?;
        left.make_room(layout.width() - layout.left_width);
        Ok(Some(Self {
            evaluator: evaluator.clone(),
            left: LeftSide::new(left),
            right: RightSide {
                evaluator: evaluator.clone(),
                layout: layout.clone(),
                record: if scan.unrecorded { Record::Never } else { Record::Default },
            },
            room: 0,
            lookups: if layout.has_ranges { RANGES_FIRST } else { BATCH_ROWS },
            layout,
            goal: LimitGoal::new(join.limit_hint.clone()),
            row_bytes: 0,
            looked_up: LookedUp::default(),
            paged: None,
            held: MemoryReservation::new(&evaluator.run),
            result_held: MemoryReservation::new(&evaluator.run),
            counts: ScanCounts::new(&evaluator.run, scan),
            failed: Postponed::default(),
            by_columns: None,
        }))
    }

    /// Whether left rows were looked up that have not been joined.
    fn has_open(&self) -> bool {
        !self.looked_up.open.is_empty() || self.paged.is_some()
    }

    async fn next_rows(&mut self) -> Result<Option<Vec<Row>>> {
        loop {
            while self.has_open() || self.failed.is_waiting() {
                self.failed.check()?;
                let rows = match self.paged.take() {
                    Some(paged) => self.join_page(paged).await?,
                    None => self.join_some().await?,
                };
                if !rows.is_empty() {
                    self.goal.gave(rows.len());
                    return Ok(Some(rows));
                }
            }
            if !self.find_more().await? {
                return Ok(None);
            }
        }
    }

    /// Looks up more left rows; false if there are none.
    async fn find_more(&mut self) -> Result<bool> {
        let by_columns = self.by_columns.is_some();
        if self.left.next(1).is_empty() && !self.left.read(by_columns).await? {
            return Ok(false);
        }
        self.evaluator.run.check_interrupts().await?;
        self.look_up().await?;
        Ok(true)
    }

    /// Looks up the right rows of the next left rows. How many left rows depends on how much the
    /// last ones have found.
    async fn look_up(&mut self) -> Result<()> {
        let (lookups, matches) = self.goal.next(&self.evaluator).await;
        let left = self.left.next(self.lookups.min(lookups));
        let mut lookups = self.lookups_of(left.clone()).await?;
        self.left.go_on_at(left.end);
        self.held.clear();
        self.forget_page();
        let mut found;
        if self.layout.points {
            let keys = std::mem::take(&mut lookups.keys);
            lookups.apart = keys.len();
            found = self.right.by_keys(keys, &mut self.held).await?;
        } else {
            let mut reader = PageReader::new(&self.right, &lookups.spans, matches);
            lookups.apart = reader.spans;
            let page_rows = self.page_rows();
            found = reader.read(&self.right, page_rows, &mut self.held).await?;
            if !reader.is_done {
                return self.put_back(left, lookups, found, (reader, matches));
            }
        }
        self.note_read(&found, &lookups.of_left);
        self.decode_repeated(&mut found, &lookups)?;
        self.looked_up = LookedUp { first: left.start, open: left, lookups, found };
        Ok(())
    }

    /// The keys or spans of left rows.
    async fn lookups_of(&mut self, left: Range<usize>) -> Result<Lookups> {
        let layout = self.layout.clone();
        if let Some(direct) = &layout.direct {
            return Ok(self.direct_lookups(direct, left));
        }
        let mut lookups = Lookups::default();
        lookups.of_left.reserve(left.len());
        for place in left {
            let row = self.left.take(place);
            let waits = layout.outer_waits;
            let outer = self.evaluator.eval_all(&layout.outer, waits, &row).await?;
            self.left.put(place, row);
            let inner = Evaluator::new(self.evaluator.run.clone(), outer.into());
            let spans = layout.bounds.spans(&inner).await?;
            match layout.points {
                true => lookups.add_keys(spans),
                false => lookups.add_spans(spans),
            }
            lookups.inner.push(inner);
        }
        Ok(lookups)
    }

    /// The same where no expression has to be evaluated.
    fn direct_lookups(&self, direct: &DirectKeys, left: Range<usize>) -> Lookups {
        let mut lookups = Lookups::default();
        lookups.of_left.reserve(left.len());
        let (layout, params) = (&self.layout, &self.evaluator.run.params);
        for place in left {
            let column = |column: usize| self.left.value(place, column);
            match (direct.key(&layout.bounds, params, column), layout.points) {
                (None, _) => lookups.of_left.push(0..0),
                (Some(key), true) => lookups.add_key(key),
                (Some(key), false) => lookups.add_spans([Span::prefix(key)]),
            }
        }
        lookups
    }

    /// Keeps the first of the left rows: those of which the page has all right rows, or one row
    /// that is joined page by page. The others are looked up later.
    fn put_back(
        &mut self,
        left: Range<usize>,
        mut lookups: Lookups,
        mut found: FoundRows,
        (mut reader, matches): (PageReader, usize),
    ) -> Result<()> {
        let Lookups { spans, of_left, .. } = &lookups;
        let has_all =
            |range: &&Range<usize>| spans[(*range).clone()].iter().all(|s| found.has_all_of(s));
        let whole = of_left.iter().take_while(has_all).count();
        self.left.go_on_at(left.start + whole.max(1));
        if whole > 0 {
            let open = left.start..left.start + whole;
            lookups.of_left.truncate(whole);
            self.note_read(&found, &lookups.of_left);
            self.lookups = whole;
            self.decode_repeated(&mut found, &lookups)?;
            self.looked_up = LookedUp { first: left.start, open, lookups, found };
            return Ok(());
        }
        let own = lookups.of_left.first().cloned().unwrap_or_default();
        if left.len() > 1 {
            reader = PageReader::new(&self.right, &spans[own.clone()], matches);
            found = FoundRows::default();
        }
        self.note_read(&found, std::slice::from_ref(&own));
        self.lookups = 1;
        let inner = lookups.inner.into_iter().next();
        self.paged = Some(Paged { left: left.start, inner, reader, found, has_match: false });
        Ok(())
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
    fn note_read(&mut self, found: &FoundRows, of_left: &[Range<usize>]) {
        self.counts.begin(of_left.iter().map(Range::len).sum());
        self.note_page(found, of_left.len());
        let (rows, bytes) = (found.len(), self.held.bytes());
        if rows <= PAGE_ROWS / 2 && bytes <= PAGE_BYTES / 2 {
            self.lookups = (self.lookups * 2).min(BATCH_ROWS);
        } else if bytes > PAGE_BYTES {
            self.lookups = (self.lookups / 2).max(LOOKUPS_MIN);
        }
    }

    /// Counts the rows of a page.
    fn note_page(&mut self, found: &FoundRows, left_rows: usize) {
        self.counts.fetched(found.present());
        self.goal.looked_up(left_rows, found.len());
        if let Some(bytes) = self.held.bytes().checked_div(found.len()) {
            self.row_bytes = bytes.max(1);
        }
    }

    /// Decodes right rows that several left rows have found. By columns, each is decoded once
    /// anyway.
    fn decode_repeated(&mut self, found: &mut FoundRows, lookups: &Lookups) -> Result<()> {
        let number = lookups.of_left.iter().map(Range::len).sum::<usize>();
        let is_repeated = lookups.apart > 0 && number >= USES_MIN * lookups.apart;
        if !is_repeated || self.by_columns.is_some() || self.layout.right_width == 0 {
            return Ok(());
        }
        let bytes = found.decode(self.layout.decoder())?;
        self.held.take(bytes)
    }

    /// Joins left rows with what was looked up for them, until there is a batch.
    async fn join_some(&mut self) -> Result<Vec<Row>> {
        let LookedUp { first, open, lookups, found } = &mut self.looked_up;
        let (layout, evaluator) = (&*self.layout, &self.evaluator);
        let rows = open.len().min(BATCH_ROWS);
        let mut pairs = RowPairs::new(layout, evaluator, &mut self.result_held, rows);
        pairs.room = self.room;
        while pairs.rows.len() < BATCH_ROWS
            && pairs.bytes() < PAGE_BYTES
            && let Some(place) = open.next()
        {
            let inner = lookups.inner.get(place - *first).unwrap_or(evaluator);
            let mut left = LeftRow::new(self.left.take(place), false);
            for lookup in lookups.of_left[place - *first].clone() {
                let places = lookups.places(lookup, layout.points, found);
                if let Err(error) = pairs.add(&mut left, (&*found, places), inner).await {
                    self.failed.keep(error, !pairs.rows.is_empty())?;
                    return Ok(pairs.rows);
                }
                if left.has_match && layout.gives_left_only() {
                    break;
                }
            }
            pairs.end(left);
        }
        Ok(pairs.rows)
    }

    /// Joins a left row with its next page.
    async fn join_page(&mut self, mut paged: Paged) -> Result<Vec<Row>> {
        let found = self.next_page(&mut paged).await?;
        let (layout, evaluator) = (&*self.layout, &self.evaluator);
        let mut pairs = RowPairs::new(layout, evaluator, &mut self.result_held, found.len());
        pairs.room = self.room;
        let inner = paged.inner.as_ref().unwrap_or(evaluator);
        let mut left = LeftRow::new(self.left.row(paged.left).into_owned(), paged.has_match);
        let added = pairs.add(&mut left, (&found, 0..found.len()), inner).await;
        if let Err(error) = added {
            self.failed.keep(error, !pairs.rows.is_empty())?;
            return Ok(pairs.rows);
        }
        paged.has_match = left.has_match;
        if paged.reader.is_done || (left.has_match && layout.gives_left_only()) {
            pairs.end(left);
            return Ok(pairs.rows);
        }
        let rows = pairs.rows;
        self.paged = Some(paged);
        Ok(rows)
    }

    /// The page of a left row that is joined next.
    async fn next_page(&mut self, paged: &mut Paged) -> Result<FoundRows> {
        self.forget_page();
        let found = std::mem::take(&mut paged.found);
        if found.len() > 0 {
            return Ok(found);
        }
        self.held.clear();
        let page_rows = self.page_rows();
        let found = paged.reader.read(&self.right, page_rows, &mut self.held).await?;
        self.note_page(&found, 0);
        Ok(found)
    }

    fn forget_page(&mut self) {
        if let Some(by) = &mut self.by_columns {
            by.forget_page();
        }
    }

    async fn read_columns(
        &mut self,
        columns: &mut Columns,
        mut test: Option<&mut dyn RowTest>,
    ) -> Result<bool> {
        self.by_columns.get_or_insert_default();
        loop {
            while self.has_open() || self.failed.is_waiting() {
                self.failed.check()?;
                let test = test.as_mut().map(|test| &mut **test as &mut dyn RowTest);
                match self.paged.take() {
                    Some(paged) => self.page_columns(paged, columns, test).await?,
                    None => self.some_columns(columns, test)?,
                }
                if columns.rows > 0 {
                    self.goal.gave(columns.rows);
                    return Ok(true);
                }
                self.evaluator.run.check_interrupts().await?;
            }
            if !self.find_more().await? {
                return Ok(false);
            }
        }
    }

    /// Joins left rows by columns with what was looked up for them, until there is a batch.
    fn some_columns(
        &mut self,
        columns: &mut Columns,
        test: Option<&mut dyn RowTest>,
    ) -> Result<()> {
        let LookedUp { first, open, lookups, found } = &mut self.looked_up;
        let (layout, Some(by)) = (&*self.layout, &mut self.by_columns) else { return Ok(()) };
        by.decode(found, layout, &self.evaluator.context())?;
        by.clear();
        while by.len() < BATCH_ROWS
            && let Some(place) = open.next()
        {
            let mut has_match = false;
            for lookup in lookups.of_left[place - *first].clone() {
                let places = lookups.places(lookup, layout.points, found);
                has_match |= by.add(place, places, layout.kind);
                if has_match && layout.gives_left_only() {
                    break;
                }
            }
            by.end(place, has_match, layout.kind);
        }
        self.give_columns(columns, test)
    }

    /// Joins a left row by columns with its next page.
    async fn page_columns(
        &mut self,
        mut paged: Paged,
        columns: &mut Columns,
        test: Option<&mut dyn RowTest>,
    ) -> Result<()> {
        let found = self.next_page(&mut paged).await?;
        let (layout, Some(by)) = (&*self.layout, &mut self.by_columns) else { return Ok(()) };
        by.decode(&found, layout, &self.evaluator.context())?;
        by.clear();
        paged.has_match |= by.add(paged.left, 0..found.len(), layout.kind);
        if paged.reader.is_done || (paged.has_match && layout.gives_left_only()) {
            by.end(paged.left, paged.has_match, layout.kind);
        } else {
            self.paged = Some(paged);
        }
        self.give_columns(columns, test)
    }

    /// Gives the pairs that were found.
    fn give_columns(
        &mut self,
        columns: &mut Columns,
        test: Option<&mut dyn RowTest>,
    ) -> Result<()> {
        let (Some(left), Some(by)) = (self.left.columns(), &mut self.by_columns) else {
            return Err(Error::internal("a lookup join by columns whose left side has rows"));
        };
        let failed = by.give(left, columns, &self.layout, &self.evaluator.context(), test);
        failed.map_or(Ok(()), |error| self.failed.keep(error, columns.rows > 0))
    }
}

impl Lookups {
    /// Adds the key of the next left row. Left rows with equal keys often follow each other.
    fn add_key(&mut self, key: Key) {
        if self.keys.last() != Some(&key) {
            self.keys.push(key);
        }
        let end = self.keys.len();
        self.of_left.push(end - 1..end);
    }

    /// Adds the keys of the next left row.
    fn add_keys(&mut self, spans: Vec<Span>) {
        let from = self.keys.len();
        self.keys.extend(spans.into_iter().map(|span| span.start));
        self.of_left.push(from..self.keys.len());
    }

    /// Adds the spans of the next left row.
    fn add_spans(&mut self, spans: impl IntoIterator<Item = Span>) {
        let from = self.spans.len();
        self.spans.extend(spans);
        self.of_left.push(from..self.spans.len());
    }

    /// The places of what one of the lookups has found.
    fn places(&self, lookup: usize, points: bool, found: &FoundRows) -> Range<usize> {
        if points { lookup..lookup + 1 } else { found.places_in(&self.spans[lookup]) }
    }
}

impl Operator for LookupJoinOperator {
    fn next(&mut self) -> BoxFuture<'_, Result<Option<Vec<Row>>>> {
        Box::pin(self.next_rows())
    }

    fn make_room(&mut self, columns: usize) {
        self.room = columns;
        self.left.make_room(self.layout.width() - self.layout.left_width + columns);
    }

    fn columns(&mut self) -> Option<&mut dyn ColumnSource> {
        if self.layout.by_columns && self.left.has_columns() { Some(self) } else { None }
    }
}

impl ColumnSource for LookupJoinOperator {
    fn next_columns<'a>(
        &'a mut self,
        columns: &'a mut Columns,
        test: Option<&'a mut dyn RowTest>,
    ) -> BoxFuture<'a, Result<bool>> {
        Box::pin(self.read_columns(columns, test))
    }
}

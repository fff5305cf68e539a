//! The rows that an inverted index leads to.
//!
//! ```text
//!   term a   1 4 7 9 12 …        sorted primary keys of each term
//!   term b     4   9             the shortest list ends first: it has every row that counts
//!   a and b    4   9             and what was read of the others takes rows away
//! ```
//!
//! The lists of terms that a row must all have are read side by side until one ends. A row of it
//! that another list has passed without naming is no result. Rows behind the end of what was read
//! stay: the filter of the scan looks at every row again. So a frequent term beside a rare one
//! costs little.
//!
//! Rule: a row that satisfies the conditions is among the rows found. What is read is remembered
//! like any scan, so a transaction that gives another row such terms is a conflict.

use braid_codec::terms::{TermQuery, wanted};
use braid_kv::{Record, ScanRequest, Scanner, Span};
use braid_plan::{Bound, Expr, Scan, TermBound, TermCondition, TermSearch};
use braid_rows::IndexRows;
use braid_types::{Error, Result, SqlType};
use futures_util::future::BoxFuture;

use crate::operator::eval::Evaluator;
use crate::operator::reservation::MemoryReservation;
use crate::operator::scan::multi_scan::first_batches;
use crate::operator::scan::reader::index_of;

/// Lists of terms that are read side by side.
const LISTS_MAX: usize = 16;
/// As few rows are read at once, whatever other terms say.
const ROWS_FEW: usize = 64;
/// For each row that is left this many entries of other terms are read to rule it out.
const ENTRIES_PER_ROW: usize = 4;
/// Conditions that need several terms' lists for themselves are looked at from this many rows on.
const ROWS_MANY: usize = 1_000;
/// About the bytes of a primary key in a list, besides its own.
const KEY_BYTES: usize = 32;

/// An inverted index and what is looked for in it.
pub(super) struct InvertedIndex {
    pub index: IndexRows,
    search: TermSearch,
    /// The types of its keys.
    types: Vec<SqlType>,
}

impl InvertedIndex {
    /// The index that a scan reads, if it is inverted.
    pub(super) fn new(scan: &Scan) -> Result<Option<Self>> {
        let (table, index) = (&scan.table, index_of(scan)?);
        if !index.is_inverted() {
            return Ok(None);
        }
        let [Bound::Terms(search)] = &scan.access.bounds[..] else {
            return Err(Error::internal("the scan of an inverted index without terms"));
        };
        let ty = |key: &braid_catalog::IndexKey| {
            Ok(table.columns[table.place_of(key.column)?].ty.clone())
        };
        let types = index.keys.iter().map(ty).collect::<Result<_>>()?;
        let (index, search) = (IndexRows::new(table, index)?, TermSearch::clone(search));
        Ok(Some(Self { index, search, types }))
    }
}

/// What follows a term in its entries: the bytes of primary keys, sorted.
type Rows = Vec<Vec<u8>>;

/// The search for the rows of one scan.
pub(super) struct TermScan<'a> {
    inverted: &'a InvertedIndex,
    evaluator: &'a Evaluator,
    record: Record,
    held: MemoryReservation,
    /// How many entries were read.
    pub entries: usize,
}

impl<'a> TermScan<'a> {
    /// Nothing is read yet.
    pub(super) fn new(
        inverted: &'a InvertedIndex,
        evaluator: &'a Evaluator,
        record: Record,
    ) -> Self {
        let held = MemoryReservation::new(&evaluator.run);
        Self { inverted, evaluator, record, held, entries: 0 }
    }

    /// The rows that may satisfy the conditions, in the order of their primary keys. `None` if all
    /// rows have to be read, or if that costs less.
    pub(super) async fn find(&mut self) -> Result<Option<Rows>> {
        let query = self.query(&self.inverted.search.bound).await?;
        self.rows(query).await
    }

    /// What the conditions ask for, as the beginnings of entries.
    fn query<'s>(&'s self, bound: &'s TermBound) -> BoxFuture<'s, Result<TermQuery>> {
        Box::pin(async move {
            let (TermBound::All(parts) | TermBound::Any(parts)) = bound else {
                let TermBound::Operator(condition) = bound else { return Ok(TermQuery::Nothing) };
                return self.query_of(condition).await;
            };
            let mut queries = Vec::with_capacity(parts.len());
            for part in parts {
                queries.push(self.query(part).await?);
            }
            Ok(match bound {
                TermBound::Any(_) => TermQuery::any(queries),
                _ => TermQuery::all(queries),
            })
        })
    }

    async fn query_of(&self, condition: &TermCondition) -> Result<TermQuery> {
        let TermCondition { key, class, operator, value } = condition;
        let Some(ty) = self.inverted.types.get(*key) else { return Ok(TermQuery::Everything) };
        let value = match self.evaluator.eval(value, &[]).await {
            Ok(value) => value,
            // The filter finds the error, if a row leads to it.
            Err(_) if !Expr::waits(value) => return Ok(TermQuery::Everything),
            Err(error) => return Err(error),
        };
        let query = wanted(*class, *operator, &value, ty);
        Ok(placed(query, &|term| self.inverted.index.term_prefix(*key, term)))
    }

    fn rows(&mut self, query: TermQuery) -> BoxFuture<'_, Result<Option<Rows>>> {
        Box::pin(async move {
            match query {
                TermQuery::Everything => Ok(None),
                TermQuery::Nothing => Ok(Some(Vec::new())),
                TermQuery::Term(prefix) => self.rows_of_all(vec![prefix], Vec::new()).await,
                TermQuery::And(parts) => {
                    let (terms, others) = split(parts);
                    self.rows_of_all(terms, others).await
                }
                TermQuery::Or(parts) => {
                    let (terms, others) = split(parts);
                    self.rows_of_any(terms, others).await
                }
            }
        })
    }

    /// The rows that have all of these terms, and that the other queries allow.
    async fn rows_of_all(
        &mut self,
        terms: Vec<Vec<u8>>,
        others: Vec<TermQuery>,
    ) -> Result<Option<Rows>> {
        let mut found: Option<Rows> = None;
        if !terms.is_empty() {
            found = self.common_rows(terms).await?;
        }
        for other in others {
            if found.as_ref().is_some_and(|rows| rows.len() < ROWS_MANY) {
                break;
            }
            let Some(rows) = self.rows(other).await? else { continue };
            match &mut found {
                Some(found) => found.retain(|row| rows.binary_search(row).is_ok()),
                None => found = Some(rows),
            }
        }
        Ok(found)
    }

    /// The rows that have all of these terms, as far as it pays to find out.
    async fn common_rows(&mut self, terms: Vec<Vec<u8>>) -> Result<Option<Rows>> {
        let mut lists = self.open(terms.into_iter().take(LISTS_MAX));
        loop {
            if !self.read(&mut lists, |_| true).await? {
                return Ok(None);
            }
            let shortest = lists.iter().filter(|list| list.is_done).map(|list| list.rows.len());
            let Some(shortest) = shortest.min() else {
                let read = lists.iter().map(|list| list.rows.len()).min().unwrap_or(0);
                match read > self.inverted.search.rows_max {
                    true => return Ok(None),
                    false => continue,
                }
            };
            let is_base = |list: &List| list.is_done && list.rows.len() == shortest;
            let base = lists.iter().position(is_base).unwrap_or(0);
            let mut found = lists.swap_remove(base).rows;
            return self.rule_out(&mut found, lists).await.map(|()| Some(found));
        }
    }

    /// Takes away the rows that the lists do not have, as far as it pays to read these.
    async fn rule_out(&mut self, found: &mut Rows, mut lists: Vec<List>) -> Result<()> {
        loop {
            found.retain(|row| lists.iter().all(|list| list.may_have(row)));
            let (count, last) = (found.len(), found.last().cloned().unwrap_or_default());
            let pays = |list: &List| {
                !list.is_done
                    && list.rows.len() < count.saturating_mul(ENTRIES_PER_ROW)
                    && list.rows.last().is_none_or(|read| *read < last)
            };
            if count <= ROWS_FEW || !lists.iter().any(pays) {
                return Ok(());
            }
            if !self.read(&mut lists, pays).await? {
                return Ok(());
            }
        }
    }

    /// The rows that have one of these terms, or that one of the other queries allows.
    async fn rows_of_any(
        &mut self,
        terms: Vec<Vec<u8>>,
        others: Vec<TermQuery>,
    ) -> Result<Option<Rows>> {
        let mut found = Rows::new();
        let mut waiting = terms.into_iter().peekable();
        while waiting.peek().is_some() {
            let mut lists = self.open(waiting.by_ref().take(LISTS_MAX));
            while lists.iter().any(|list| !list.is_done) {
                let is_read = self.read(&mut lists, |_| true).await?;
                lists.iter_mut().for_each(|list| found.append(&mut list.rows));
                if !is_read || found.len() > self.inverted.search.rows_max {
                    return Ok(None);
                }
            }
        }
        for other in others {
            match self.rows(other).await? {
                Some(mut rows) => found.append(&mut rows),
                None => return Ok(None),
            }
        }
        found.sort_unstable();
        found.dedup();
        Ok((found.len() <= self.inverted.search.rows_max).then_some(found))
    }

    fn open(&self, terms: impl Iterator<Item = Vec<u8>>) -> Vec<List> {
        let cx = &self.evaluator.run.cx;
        let list = |prefix: Vec<u8>| {
            let bytes = prefix.len();
            let request = ScanRequest::new(Span::prefix(prefix)).record(self.record).keys_only();
            let scanner = Some(cx.txn.scanner(cx.seq, request));
            List { scanner, bytes, rows: Rows::new(), is_done: false }
        };
        terms.map(list).collect()
    }

    /// Reads the next entries of those lists that are wanted and not at their end, side by side.
    /// False if there is no memory for them.
    async fn read(&mut self, lists: &mut [List], wanted: impl Fn(&List) -> bool) -> Result<bool> {
        self.evaluator.run.check_interrupts().await?;
        let (mut places, mut scanners) = (Vec::new(), Vec::new());
        for (place, list) in lists.iter_mut().enumerate() {
            if !list.is_done && wanted(list) {
                places.push(place);
                scanners.extend(list.scanner.take());
            }
        }
        let read = first_batches(&self.evaluator.run, scanners).await?;
        for (place, (batch, scanner)) in places.into_iter().zip(read) {
            let Some(list) = lists.get_mut(place) else { continue };
            list.is_done = batch.as_ref().is_none_or(|batch| batch.resume.is_none());
            list.scanner = Some(scanner);
            let Some(batch) = batch else { continue };
            self.entries += batch.len();
            if !self.held.try_take(batch.bytes() + batch.len() * KEY_BYTES)? {
                return Ok(false);
            }
            let suffix = |(key, _): (&[u8], &[u8])| key.get(list.bytes..).map(<[u8]>::to_vec);
            list.rows.extend(batch.iter().filter_map(suffix));
        }
        Ok(true)
    }
}

/// The entries of a term, as far as they were read.
struct List {
    /// What reads on; not there while it reads.
    scanner: Option<Scanner>,
    /// The bytes of an entry before its primary key.
    bytes: usize,
    rows: Rows,
    is_done: bool,
}

impl List {
    /// Whether a row has the term, as far as that is known.
    fn may_have(&self, row: &Vec<u8>) -> bool {
        let is_behind = !self.is_done && self.rows.last().is_none_or(|last| last < row);
        is_behind || self.rows.binary_search(row).is_ok()
    }
}

/// Terms, and queries that are not terms.
fn split(parts: Vec<TermQuery>) -> (Vec<Vec<u8>>, Vec<TermQuery>) {
    let (mut terms, mut others) = (Vec::new(), Vec::new());
    for part in parts {
        match part {
            TermQuery::Term(term) => terms.push(term),
            other => others.push(other),
        }
    }
    (terms, others)
}

/// A query with each term replaced.
fn placed(query: TermQuery, place: &impl Fn(&[u8]) -> Vec<u8>) -> TermQuery {
    let each = |parts: Vec<TermQuery>| parts.into_iter().map(|part| placed(part, place)).collect();
    match query {
        TermQuery::Term(term) => TermQuery::Term(place(&term)),
        TermQuery::And(parts) => TermQuery::And(each(parts)),
        TermQuery::Or(parts) => TermQuery::Or(each(parts)),
        other => other,
    }
}

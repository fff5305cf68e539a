//! Exclusion constraints: no two rows for whose keys all operators hold.
//!
//! ```text
//!   EXCLUDE USING gist (room WITH =, during WITH &&)
//!       index  room, during, primary key      the keys with `=` come first
//!       check  all entries of the same room are compared with the row's own
//! ```
//!
//! A row's entry is checked when its statement or its transaction ends (`deferrable_keys`). The
//! check reads what begins with the same values of the keys with `=`. The commit proves this scan
//! at every isolation level, so that two transactions cannot both find a place free.
//!
//! ON CONFLICT DO NOTHING looks before it writes a row, and leaves out one that is excluded.
//!
//! A NULL excludes nothing. A row that a partial constraint leaves out has no entry.

use std::collections::HashSet;
use std::sync::Arc;

use braid_catalog::{Catalog, ExclusionOperator, Index, Table, index_key_names};
use braid_exec::{ExecContext, ExecutionState, from_kv};
use braid_kv::{Conflict, Key, Record, ScanRequest, Scanner, Span};
use braid_rows::{IndexRows, show};
use braid_types::range::{adjoins, is_left_of, overlaps};
use braid_types::scratch::Scratch;
use braid_types::{Datum, Error, Range, Result, Row, SqlState, work};

/// Whether all operators hold for the keys of two rows.
fn exclude(operators: &[ExclusionOperator], a: &[Datum], b: &[Datum]) -> Result<bool> {
    for (operator, (left, right)) in operators.iter().zip(a.iter().zip(b)) {
        let ranges = left.as_ranges().zip(right.as_ranges());
        let holds = match (operator, ranges) {
            _ if left.is_null() || right.is_null() => false,
            (ExclusionOperator::Equal, _) => left.compare(right).is_eq(),
            (ExclusionOperator::NotEqual, _) => left.compare(right).is_ne(),
            (ExclusionOperator::Overlaps, Some((left, right))) => overlaps(left, right)?,
            (ExclusionOperator::Adjoins, Some((left, right))) => adjoins(left, right),
            _ => return Err(Error::internal("an exclusion operator of ranges for other values")),
        };
        if !holds {
            return Ok(false);
        }
    }
    Ok(true)
}

/// A scan of the entries that begin with a key.
fn scan(cx: &ExecContext, table: &Table, index: &Index, prefix: &Key) -> Scanner {
    let request = ScanRequest::new(Span::prefix(prefix.clone())).keys_only();
    let request = request.record(Record::Always { tag: index.id });
    cx.txn.scanner(cx.seq.after(), request.shape(table.key_shape(index).as_ref()))
}

/// Finds two entries that exclude each other among those that come in the order of the index.
///
/// Where ranges must not overlap, entries come in the order of their lower bounds. Those that end
/// before the next one begins cannot overlap any later one, and are forgotten.
struct Search<'i> {
    operators: &'i [ExclusionOperator],
    /// The place of the range by which entries are sorted after the keys with `=`.
    range: Option<usize>,
    own: Vec<Row>,
    others: Vec<Row>,
    held: Scratch,
}

impl<'i> Search<'i> {
    fn new(rows: &'i IndexRows, index: &Index) -> Self {
        let operators = &rows.excluded_by;
        let first = operators.iter().position(|operator| *operator != ExclusionOperator::Equal);
        let is_sorted = |place: &usize| {
            operators.get(*place) == Some(&ExclusionOperator::Overlaps)
                && index.keys.get(*place).is_some_and(|key| !key.descending)
        };
        let (own, others, held) = (Vec::new(), Vec::new(), Scratch::default());
        Search { operators, range: first.filter(is_sorted), own, others, held }
    }

    /// Adds an entry; its keys and those of one before that it excludes, if one of the two is to
    /// be checked. The one to be checked is first.
    fn add(&mut self, values: Row, is_own: bool) -> Result<Option<(Row, Row)>> {
        if values.iter().any(Datum::is_null) {
            return Ok(None);
        }
        let range = self.range.filter(|place| matches!(values.get(*place), Some(Datum::Range(_))));
        if let Some(place) = range {
            let stays = |row: &Row| !is_left_of(ranges_at(row, place), ranges_at(&values, place));
            if ranges_at(&values, place).is_empty() {
                return Ok(None);
            }
            self.own.retain(stays);
            self.others.retain(stays);
        }
        let others = if is_own { self.others.as_slice() } else { &[] };
        for other in self.own.iter().chain(others) {
            work::tick()?;
            if exclude(self.operators, other, &values)? {
                let other = other.clone();
                return Ok(Some(if is_own { (values, other) } else { (other, values) }));
            }
        }
        if range.is_none() {
            self.held.add(values.iter().map(Datum::size_bytes).sum())?;
        }
        if is_own {
            self.own.push(values)
        } else {
            self.others.push(values)
        }
        Ok(None)
    }
}

/// The ranges of a key that is a range; an empty one has none.
fn ranges_at(row: &Row, place: usize) -> &[Range] {
    let ranges = row.get(place).and_then(Datum::as_ranges);
    debug_assert!(ranges.is_some(), "the key at place {place} is no range");
    ranges.unwrap_or_default()
}

/// 23P01 if one of these entries, which begin with a prefix, excludes another entry. Entries that
/// are not there any more exclude nothing.
pub(crate) async fn check_entries(
    run: &ExecutionState,
    (table, index): (&Arc<Table>, &Index),
    prefix: &Key,
    own: &HashSet<&Key>,
) -> Result<()> {
    let rows = IndexRows::new(table, index)?;
    let own: HashSet<&[u8]> = own.iter().map(|key| key.as_slice()).collect();
    let mut search = Search::new(&rows, index);
    let mut scanner = scan(&run.cx, table, index, prefix);
    while let Some(batch) = run.wait(scanner.next_batch()).await? {
        run.check_interrupts().await?;
        for (key, _) in batch.iter() {
            if let Some(found) = search.add(rows.key_values(key)?, own.contains(key))? {
                let message = format!(
                    "conflicting key value violates exclusion constraint \"{}\"",
                    index.name
                );
                return Err(violation(&run.cx, (table, index), message, &found, "existing key"));
            }
        }
    }
    Ok(())
}

/// Whether an entry that a row would get is excluded by another one.
pub(crate) async fn is_excluded(
    run: &ExecutionState,
    (table, index): (&Arc<Table>, &Index),
    entry: &Key,
) -> Result<bool> {
    let rows = IndexRows::new(table, index)?;
    let values = rows.key_values(entry)?;
    let mut scanner = scan(&run.cx, table, index, &rows.exclusion_prefix(entry)?);
    while let Some(batch) = run.wait(scanner.next_batch()).await? {
        run.check_interrupts().await?;
        for (key, _) in batch.iter() {
            work::tick()?;
            if exclude(&rows.excluded_by, &rows.key_values(key)?, &values)? {
                return Ok(true);
            }
        }
    }
    Ok(false)
}

/// 23P01 if any two rows of a table exclude each other, for a new constraint.
pub async fn check_all_entries(cx: &ExecContext, table: &Arc<Table>, index: &Index) -> Result<()> {
    let rows = IndexRows::new(table, index)?;
    // The rows so far with the same values of the keys with `=`.
    let mut group = (Key::new(), Search::new(&rows, index));
    let mut scanner = scan(cx, table, index, &table.key_prefix(index));
    while let Some(batch) = scanner.next_batch().await.map_err(from_kv)? {
        cx.check_interrupts().await?;
        for (key, _) in batch.iter() {
            let prefix = rows.exclusion_prefix(key)?;
            if prefix != group.0 {
                group = (prefix, Search::new(&rows, index));
            }
            if let Some((later, first)) = group.1.add(rows.key_values(key)?, true)? {
                let found = (first, later);
                let message = format!("could not create exclusion constraint \"{}\"", index.name);
                return Err(violation(cx, (table, index), message, &found, "key"));
            }
        }
    }
    Ok(())
}

/// 23P01 about the keys of two rows.
fn violation(
    cx: &ExecContext,
    (table, index): (&Table, &Index),
    message: String,
    (own, other): &(Row, Row),
    what: &str,
) -> Error {
    let written = index.as_written();
    let shown = |row: &Row| {
        let value = |part: &braid_catalog::IndexKey| {
            let place = index.keys.iter().position(|key| key.column == part.column);
            let value = place.and_then(|place| row.get(place)).unwrap_or(&Datum::Null);
            let ty = table.column(part.column).map(|column| &column.ty);
            ty.map_or_else(String::new, |ty| show(value, ty, cx.env.settings()))
        };
        written.keys.iter().map(value).collect::<Vec<_>>().join(", ")
    };
    let names = index_key_names(&cx.catalog, table, &written);
    let (own, other) = (shown(own), shown(other));
    let error = Error::new(SqlState::ExclusionViolation, message);
    // Policies may hide the other row.
    let error = match table.security.enabled {
        true => error,
        false => error
            .detail(format!("Key ({names})=({own}) conflicts with {what} ({names})=({other}).")),
    };
    error.table(&cx.catalog.schema_name(table.schema), &table.name).constraint(&index.name)
}

/// 40001 of an exclusion constraint that held when it was checked, if entries beside those that
/// were checked have changed before the commit; `None` if the conflict is of something else.
pub fn exclusion_changed(conflict: &Conflict, catalog: &Catalog) -> Option<Error> {
    let (table, index) = catalog.tables().iter().find_map(|table| {
        let mut indexes = table.indexes.iter();
        let is_meant = |index: &&Index| index.exclusion.is_some() && index.id == conflict.tag;
        Some((table, indexes.find(is_meant)?))
    })?;
    let message = format!(
        "could not serialize access due to concurrent changes beside rows of exclusion \
         constraint \"{}\"",
        index.name
    );
    let error = Error::new(SqlState::SerializationFailure, message)
        .hint("The transaction might succeed if retried.")
        .table(&catalog.schema_name(table.schema), &table.name);
    Some(error.constraint(&index.name))
}

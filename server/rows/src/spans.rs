//! From bounds on key columns to key spans.
//!
//! NULLs sort last in ascending and first in descending columns, and no comparison finds them:
//! an open end of a range stops where they begin.

use braid_catalog::{Index, IndexKey, Table};
use braid_codec::key;
use braid_kv::{Span, prefix_end};
use braid_types::{Datum, Error, Result, Row, SqlType};

use crate::errors::from_codec;
use crate::key_part::{KEY_BYTES, after_prefix, misplaced};

/// A key column as bounds need it.
#[derive(Clone)]
pub struct KeyColumn {
    /// Its type.
    pub ty: SqlType,
    /// Descending.
    pub descending: bool,
    /// What follows it in keys, where the index is interleaved.
    pub behind: Vec<u8>,
}

impl KeyColumn {
    /// The key columns of an index.
    pub fn all(table: &Table, index: &Index) -> Vec<KeyColumn> {
        let column = |(place, part): (usize, &IndexKey)| {
            let ty = table.column(part.column)?.ty.clone();
            let behind = table.bytes_after(index, place);
            Some(KeyColumn { ty, descending: part.descending, behind })
        };
        index.keys.iter().enumerate().filter_map(column).collect()
    }

    /// Appends a value.
    pub fn encode(&self, out: &mut Vec<u8>, value: &Datum) {
        key::encode(out, value, &self.ty, self.descending);
        out.extend_from_slice(&self.behind);
    }
}

/// Where the values of the first key columns end in a key of an index.
pub fn columns_end(key_bytes: &[u8], prefix_bytes: usize, columns: &[KeyColumn]) -> Result<usize> {
    let mut rest = after_prefix(key_bytes, prefix_bytes)?;
    for column in columns {
        key::skip(&mut rest, &column.ty, column.descending).map_err(from_codec)?;
        rest = rest.strip_prefix(&column.behind[..]).ok_or_else(misplaced)?;
    }
    Ok(key_bytes.len() - rest.len())
}

/// Appends the value of the index's key column at `place`; `None` if there is no such column.
pub fn push_column(
    out: &mut Vec<u8>,
    table: &Table,
    index: &Index,
    place: usize,
    value: &Datum,
) -> Option<()> {
    let part = index.keys.get(place)?;
    key::encode(out, value, &table.column(part.column)?.ty, part.descending);
    if index.interleaving.is_some() {
        out.extend_from_slice(&table.bytes_after(index, place));
    }
    Some(())
}

/// The most spans of one access.
const SPANS_MAX: usize = 1_000_000;

/// Prefixes one column longer, in key order; NULLs are left out unless `nulls` says otherwise.
pub fn extend(
    prefixes: &[Vec<u8>],
    column: &KeyColumn,
    values: Vec<Datum>,
    nulls: bool,
) -> Result<Vec<Vec<u8>>> {
    let ends = values
        .iter()
        .filter(|value| nulls || !value.is_null())
        .map(|value| {
            let mut out = Vec::with_capacity(12);
            column.encode(&mut out, value);
            out
        })
        .collect();
    product(prefixes, ends)
}

/// Prefixes longer by rows of values, in key order; rows with NULLs are left out.
pub fn extend_by_rows(
    prefixes: &[Vec<u8>],
    columns: &[KeyColumn],
    rows: &[Row],
) -> Result<Vec<Vec<u8>>> {
    let ends = rows
        .iter()
        .filter(|row| !row.iter().any(Datum::is_null))
        .map(|row| {
            let mut out = Vec::with_capacity(KEY_BYTES);
            for (value, column) in row.iter().zip(columns) {
                column.encode(&mut out, value);
            }
            out
        })
        .collect();
    product(prefixes, ends)
}

/// Every prefix with every end, in key order, each once.
fn product(prefixes: &[Vec<u8>], mut ends: Vec<Vec<u8>>) -> Result<Vec<Vec<u8>>> {
    ends.sort_unstable();
    ends.dedup();
    if prefixes.len().saturating_mul(ends.len()) > SPANS_MAX {
        return Err(Error::unsupported(format!("a condition on more than {SPANS_MAX} keys")));
    }
    Ok(prefixes
        .iter()
        .flat_map(|prefix| ends.iter().map(|end| [&prefix[..], &end[..]].concat()))
        .collect())
}

/// The keys of a row of the primary index, those of its families, without the rows below it.
pub fn row_span(row_key: Vec<u8>) -> Span {
    let end = [&row_key[..], &[key::INTERLEAVE_SENTINEL]].concat();
    Span::new(row_key, end)
}

/// An end of a range and whether it is inside.
pub type End = (Datum, bool);

/// The span of one column's range below a prefix.
pub fn range(prefix: &[u8], column: &KeyColumn, lower: Option<&End>, upper: Option<&End>) -> Span {
    let at = |value: &Datum| {
        let mut out = prefix.to_vec();
        key::encode(&mut out, value, &column.ty, column.descending);
        out
    };
    let behind = |bytes: Vec<u8>| prefix_end(&bytes);
    // In a descending column the upper end comes first.
    let (first, last) = if column.descending { (upper, lower) } else { (lower, upper) };
    let start = match first {
        Some((value, true)) => at(value),
        Some((value, false)) => behind(at(value)),
        None if column.descending => behind(at(&Datum::Null)),
        None => prefix.to_vec(),
    };
    let end = match last {
        Some((value, true)) => behind(at(value)),
        Some((value, false)) => at(value),
        None if column.descending => behind(prefix.to_vec()),
        None => at(&Datum::Null),
    };
    Span::new(start, end)
}

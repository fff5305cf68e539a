//! The spans of an access as far as its bounds are known before the run.

use braid_kv::Span;
use braid_plan::{Bound, Expr, Scan};
use braid_rows::{End, KeyColumn, extend, extend_by_rows, range, row_span};
use braid_types::{Datum, Row};

use crate::predict::values::{Known, Values};

/// The most keys of one access that are listed; more are the whole of what they start with.
const KEYS_MAX: usize = 20_000;

/// What an access may read.
pub(crate) struct AccessSpans {
    /// Its spans of the index.
    pub spans: Vec<Span>,
    /// The values of the index's key columns, if every one of them is given by single values.
    pub points: Option<Vec<Row>>,
}

/// The values that a bound allows.
enum Given {
    Values(Vec<Datum>),
    /// Of this column and those that follow.
    Rows(Vec<Row>),
    OfRows,
    Range(Option<End>, Option<End>),
    Unknown,
}

/// What bounds give below prefixes.
struct Below {
    spans: Found,
    /// The values of the columns, if single values give every one of them.
    points: Option<Vec<Row>>,
    /// How many columns are bound by values.
    columns: usize,
}

/// Prefixes of the keys that may be read, or spans of them.
enum Found {
    Prefixes(Vec<Vec<u8>>),
    Spans(Vec<Span>),
}

/// The spans of a scan, with the values handed in from outside.
pub(crate) fn access_spans(
    values: Values<'_>,
    scan: &Scan,
    outer: Option<&[Known]>,
) -> AccessSpans {
    let table = &scan.table;
    let Some(index) = table.index(scan.access.index) else {
        // The scan itself fails. Until then it counts as a reader of everything.
        debug_assert!(false, "table \"{}\" has no index {}", table.name, scan.access.index);
        let spans = table.all_indexes().map(|index| table.index_span(index)).collect();
        return AccessSpans { spans, points: None };
    };
    let prefixes = vec![table.key_prefix(index)];
    let columns = KeyColumn::all(table, index);
    let found = below(values, prefixes, &columns, &scan.access.bounds, outer);
    let points = found.points.filter(|_| found.columns == index.keys.len());
    let span = |prefix| match points.is_some() && index.has_below() {
        true => row_span(prefix),
        false => Span::prefix(prefix),
    };
    let spans = match found.spans {
        Found::Spans(spans) => spans,
        Found::Prefixes(prefixes) => prefixes.into_iter().map(span).collect(),
    };
    AccessSpans { spans, points }
}

/// What bounds of these columns give below prefixes.
fn below(
    values: Values<'_>,
    mut prefixes: Vec<Vec<u8>>,
    columns: &[KeyColumn],
    bounds: &[Bound],
    outer: Option<&[Known]>,
) -> Below {
    let mut points: Option<Vec<Row>> = Some(vec![Row::new()]);
    let mut bound_columns = 0;
    for (i, (bound, column)) in bounds.iter().zip(columns).enumerate() {
        if let Bound::Branches(branches) = bound {
            if prefixes.len().saturating_mul(branches.len()) > KEYS_MAX {
                break;
            }
            let of_branch = |branch: &Vec<Bound>| {
                let found = below(values, prefixes.clone(), &columns[i..], branch, outer);
                match found.spans {
                    Found::Spans(spans) => spans,
                    Found::Prefixes(longer) => longer.into_iter().map(Span::prefix).collect(),
                }
            };
            let spans = Found::Spans(branches.iter().flat_map(of_branch).collect());
            return Below { spans, points: None, columns: bound_columns };
        }
        let longer = match given(values, bound, outer) {
            Given::Unknown => break,
            Given::OfRows => {
                bound_columns += 1;
                continue;
            }
            Given::Range(lower, upper) => {
                let is_null = |end: &Option<End>| end.as_ref().is_some_and(|(v, _)| v.is_null());
                let spans = if is_null(&lower) || is_null(&upper) {
                    Vec::new()
                } else {
                    let range =
                        |prefix: &Vec<u8>| range(prefix, column, lower.as_ref(), upper.as_ref());
                    prefixes.iter().map(range).collect()
                };
                let spans = Found::Spans(spans);
                return Below { spans, points: None, columns: bound_columns };
            }
            Given::Rows(rows) => {
                if prefixes.len().saturating_mul(rows.len()) > KEYS_MAX {
                    break;
                }
                points = points.map(|known| product(&known, &rows));
                extend_by_rows(&prefixes, &columns[i..], &rows)
            }
            Given::Values(list) => {
                if prefixes.len().saturating_mul(list.len()) > KEYS_MAX {
                    break;
                }
                let rows: Vec<Row> = list.iter().map(|value| vec![value.clone()]).collect();
                points = points.map(|known| product(&known, &rows));
                extend(&prefixes, column, list, matches!(bound, Bound::Null))
            }
        };
        match longer {
            Ok(longer) => prefixes = longer,
            Err(_) => break,
        }
        bound_columns += 1;
    }
    Below { spans: Found::Prefixes(prefixes), points, columns: bound_columns }
}

fn product(rows: &[Row], ends: &[Row]) -> Vec<Row> {
    rows.iter().flat_map(|row| ends.iter().map(move |end| [&row[..], &end[..]].concat())).collect()
}

fn given(values: Values<'_>, bound: &Bound, outer: Option<&[Known]>) -> Given {
    let value = |e: &Expr| values.value(e, &[], outer);
    let list = |list: Vec<Datum>| {
        Given::Values(list.into_iter().filter(|value| !value.is_null()).collect())
    };
    match bound {
        Bound::Null => Given::Values(vec![Datum::Null]),
        Bound::In(exprs) => match exprs.iter().map(value).collect::<Option<Vec<_>>>() {
            Some(known) => list(known),
            None => Given::Unknown,
        },
        Bound::OfRows => Given::OfRows,
        // Branches are looked at one by one. Terms are scattered over the index.
        Bound::Branches(_) | Bound::Terms(_) => Given::Unknown,
        Bound::Rows(rows) => {
            let row = |row: &Vec<Expr>| row.iter().map(value).collect::<Option<Row>>();
            match rows.iter().map(row).collect::<Option<Vec<Row>>>() {
                Some(mut rows) => {
                    rows.retain(|row| !row.iter().any(Datum::is_null));
                    Given::Rows(rows)
                }
                None => Given::Unknown,
            }
        }
        Bound::Any(e) => match value(e) {
            Some(Datum::Array(array)) => list(array.items.clone()),
            Some(_) => list(Vec::new()),
            None => Given::Unknown,
        },
        Bound::Range { lower, upper } => {
            let end = |end: &Option<(Expr, bool)>| match end {
                None => Some(None),
                Some((e, inclusive)) => value(e).map(|value| Some((value, *inclusive))),
            };
            match (end(lower), end(upper)) {
                (Some(lower), Some(upper)) => Given::Range(lower, upper),
                _ => Given::Unknown,
            }
        }
    }
}

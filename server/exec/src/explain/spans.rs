//! The spans of a scan for a human: `/t/primary/42`, `[/t/primary/1 - /t/primary/10)`.
//!
//! They are made from the same bounds as the scan's own, but keep their ends as they were given:
//! the bytes behind a prefix are no key that anybody would recognise. Bounds that need a row (of
//! a lookup join or a correlated subquery) or that wait have no spans before the run.

use braid_catalog::CatalogKeyNames;
use braid_codec::key;
use braid_plan::eval::{EvalContext, eval};
use braid_plan::{Bound, Expr, Scan};
use braid_rows::{KeyColumn, extend_by_rows};
use braid_types::{Datum, Row};

use crate::operator::ExecutionState;

/// The most spans that are printed.
const SPANS_MAX: usize = 10;

/// Prints the spans of scans.
pub(crate) struct SpanPrinter<'a> {
    run: &'a ExecutionState,
    names: CatalogKeyNames,
}

/// An end of a range and whether it is inside.
type End = Option<(Datum, bool)>;

impl<'a> SpanPrinter<'a> {
    /// A printer with the names and parameters of a run.
    pub(crate) fn new(run: &'a ExecutionState) -> Self {
        Self { run, names: CatalogKeyNames(run.cx.catalog.clone()) }
    }

    /// The spans of a scan in key order; `None` if they are not known before it runs.
    pub(crate) fn spans(&self, scan: &Scan) -> Option<Vec<String>> {
        let table = &scan.table;
        let index = table.all_indexes().find(|index| index.number == scan.access.index)?;
        let mut keys = vec![table.key_prefix(index)];
        let columns = KeyColumn::all(table, index);
        for (i, (bound, column)) in scan.access.bounds.iter().zip(&columns).enumerate() {
            let values = match bound {
                Bound::Null => vec![Datum::Null],
                Bound::OfRows => continue,
                Bound::Rows(rows) => {
                    let row = |row: &Vec<Expr>| row.iter().map(|e| self.value(e)).collect();
                    let rows = rows.iter().map(row).collect::<Option<Vec<Row>>>()?;
                    keys = extend_by_rows(&keys, &columns[i..], &rows).ok()?;
                    continue;
                }
                Bound::In(list) => self.values(list)?,
                Bound::Any(array) => match self.value(array)? {
                    Datum::Array(array) => not_null(array.items.iter().cloned()),
                    _ => Vec::new(),
                },
                Bound::Range { lower, upper } => {
                    let ends = (self.end(lower.as_ref())?, self.end(upper.as_ref())?);
                    return Some(self.ranges(&keys, column, &ends));
                }
            };
            keys = extend(&keys, column, &values);
        }
        if scan.access.bounds.is_empty() {
            return Some(vec![format!("{} (all)", self.key(&keys[0]))]);
        }
        Some(shortened(keys.iter().map(|key| self.key(key))))
    }

    fn ranges(
        &self,
        prefixes: &[Vec<u8>],
        column: &KeyColumn,
        (lower, upper): &(End, End),
    ) -> Vec<String> {
        if [lower, upper].into_iter().flatten().any(|(value, _)| value.is_null()) {
            return vec!["none".to_owned()];
        }
        // In a descending column the upper end comes first.
        let descending = column.descending;
        let (first, last) = if descending { (upper, lower) } else { (lower, upper) };
        let at = |prefix: &[u8], value: &Datum| {
            let mut key = prefix.to_vec();
            key::encode(&mut key, value, &column.ty, descending);
            self.key(&key)
        };
        shortened(prefixes.iter().map(|prefix| {
            let start = match first {
                Some((value, true)) => format!("[{}", at(prefix, value)),
                Some((value, false)) => format!("({}", at(prefix, value)),
                // NULLs come first in a descending column.
                None if descending => format!("({}", at(prefix, &Datum::Null)),
                None => format!("[{}", self.key(prefix)),
            };
            let end = match last {
                Some((value, true)) => format!("{}]", at(prefix, value)),
                Some((value, false)) => format!("{})", at(prefix, value)),
                None if descending => format!("{}]", self.key(prefix)),
                None => format!("{})", at(prefix, &Datum::Null)),
            };
            format!("{start} - {end}")
        }))
    }

    fn key(&self, key: &[u8]) -> String {
        key::print(key, &self.names)
    }

    fn end(&self, end: Option<&(Expr, bool)>) -> Option<End> {
        let Some((e, inclusive)) = end else { return Some(None) };
        Some(Some((self.value(e)?, *inclusive)))
    }

    fn values(&self, list: &[Expr]) -> Option<Vec<Datum>> {
        let values = list.iter().map(|e| self.value(e)).collect::<Option<Vec<_>>>()?;
        Some(not_null(values.into_iter()))
    }

    /// The value of a bound, if it can be known now; one that fails will fail in the run.
    fn value(&self, e: &Expr) -> Option<Datum> {
        let needs_row = e.any(&mut |e| matches!(e, Expr::Outer(..) | Expr::Input(..)));
        if needs_row || e.waits() {
            return None;
        }
        let env = &*self.run.cx.env;
        eval(e, &[], &EvalContext { env, params: &self.run.params, outer: &[] }).ok()
    }
}

fn not_null(values: impl Iterator<Item = Datum>) -> Vec<Datum> {
    values.filter(|value| !value.is_null()).collect()
}

/// Keys one column longer, in order, each once.
fn extend(prefixes: &[Vec<u8>], column: &KeyColumn, values: &[Datum]) -> Vec<Vec<u8>> {
    let mut keys = Vec::with_capacity(prefixes.len() * values.len());
    for prefix in prefixes {
        for value in values {
            let mut key = prefix.clone();
            column.encode(&mut key, value);
            keys.push(key);
        }
    }
    keys.sort_unstable();
    keys.dedup();
    keys
}

/// The first spans, and how many there are if that is more.
fn shortened(spans: impl ExactSizeIterator<Item = String>) -> Vec<String> {
    let count = spans.len();
    if count == 0 {
        return vec!["none".to_owned()];
    }
    let mut list: Vec<String> = spans.take(SPANS_MAX).collect();
    if count > SPANS_MAX {
        list.push(format!("… ({count} in all)"));
    }
    list
}

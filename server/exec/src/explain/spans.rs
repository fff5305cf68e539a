//! The spans of a scan for a human: `/t/primary/42`, `[/t/primary/1 - /t/primary/10)`.
//!
//! They are made from the same bounds as the scan's own, but keep their ends as they were given:
//! the bytes behind a prefix are no key that anybody would recognise. Bounds that need a row (of
//! a lookup join or a correlated subquery) or that wait have no spans before the run.

use braid_catalog::CatalogKeyNames;
use braid_codec::key;
use braid_kv::Span;
use braid_plan::eval::{EvalContext, eval};
use braid_plan::{Bound, Expr, Scan};
use braid_rows::{KeyColumn, extend_by_rows, range};
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
        let keys = vec![table.key_prefix(index)];
        let columns = KeyColumn::all(table, index);
        if scan.access.bounds.is_empty() {
            return Some(vec![format!("{} (all)", self.key(&keys[0]))]);
        }
        let spans = self.below(keys, &columns, &scan.access.bounds)?;
        Some(shortened(spans.iter().map(ShownSpan::text)))
    }

    /// The spans of bounds of these columns below prefixes.
    fn below(
        &self,
        mut keys: Vec<Vec<u8>>,
        columns: &[KeyColumn],
        bounds: &[Bound],
    ) -> Option<Vec<ShownSpan>> {
        for (i, (bound, column)) in bounds.iter().zip(columns).enumerate() {
            let values = match bound {
                Bound::Null => vec![Datum::Null],
                Bound::Terms(_) => return None,
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
                Bound::Branches(branches) => {
                    let branch = |list: &Vec<Bound>| self.below(keys.clone(), &columns[i..], list);
                    let all = branches.iter().map(branch).collect::<Option<Vec<_>>>()?;
                    return Some(merged(all.into_iter().flatten().collect()));
                }
            };
            keys = extend(&keys, column, &values);
        }
        let point = |key: Vec<u8>| {
            let text = self.key(&key);
            let (start, end) = (format!("[{text}"), format!("{text}]"));
            ShownSpan { span: Span::prefix(key), start, end, point: Some(text) }
        };
        Some(keys.into_iter().map(point).collect())
    }

    fn ranges(
        &self,
        prefixes: &[Vec<u8>],
        column: &KeyColumn,
        (lower, upper): &(End, End),
    ) -> Vec<ShownSpan> {
        if [lower, upper].into_iter().flatten().any(|(value, _)| value.is_null()) {
            return Vec::new();
        }
        // In a descending column the upper end comes first.
        let descending = column.descending;
        let (first, last) = if descending { (upper, lower) } else { (lower, upper) };
        let at = |prefix: &[u8], value: &Datum| {
            let mut key = prefix.to_vec();
            key::encode(&mut key, value, &column.ty, descending);
            self.key(&key)
        };
        let shown = |prefix: &Vec<u8>| {
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
            let span = range(prefix, column, lower.as_ref(), upper.as_ref());
            ShownSpan { span, start, end, point: None }
        };
        prefixes.iter().map(shown).collect()
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

/// A span and how its ends are written.
struct ShownSpan {
    span: Span,
    start: String,
    end: String,
    /// The text of a key.
    point: Option<String>,
}

impl ShownSpan {
    fn text(&self) -> String {
        match &self.point {
            Some(text) => text.clone(),
            None => format!("{} - {}", self.start, self.end),
        }
    }
}

/// Spans in key order, without empty ones; those that overlap become one.
fn merged(mut spans: Vec<ShownSpan>) -> Vec<ShownSpan> {
    spans.retain(|shown| !shown.span.is_empty());
    spans.sort_by(|a, b| a.span.cmp(&b.span));
    let mut result: Vec<ShownSpan> = Vec::with_capacity(spans.len());
    for shown in spans {
        match result.last_mut() {
            Some(last) if shown.span.start < last.span.end => {
                if shown.span.end > last.span.end {
                    last.span.end = shown.span.end;
                    last.end = shown.end;
                    last.point = None;
                }
            }
            _ => result.push(shown),
        }
    }
    result
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

//! From the bounds of an access, which are expressions, to key spans.

use braid_kv::{Span, SpanSet};
use braid_plan::{Bound, Expr};
use braid_rows::{KeyColumn, extend, extend_by_rows, range};
use braid_types::{Datum, Error, Result};

use crate::operator::eval::Evaluator;

/// Bytes reserved for the columns of a key.
const KEY_BYTES: usize = 28;

/// The spans of an access, in key order, without overlaps.
pub(crate) async fn spans(
    prefix: &[u8],
    columns: &[KeyColumn],
    bounds: &[Bound],
    evaluator: &Evaluator,
) -> Result<Vec<Span>> {
    let mut first = Vec::with_capacity(prefix.len() + KEY_BYTES);
    first.extend_from_slice(prefix);
    spans_below(vec![first], columns, bounds, evaluator).await
}

/// The spans of bounds below prefixes, which are in key order.
async fn spans_below(
    mut prefixes: Vec<Vec<u8>>,
    columns: &[KeyColumn],
    bounds: &[Bound],
    evaluator: &Evaluator,
) -> Result<Vec<Span>> {
    for (i, (bound, column)) in bounds.iter().zip(columns).enumerate() {
        match bound {
            Bound::In(list) if list.len() == 1 => {
                let value = evaluator.eval(&list[0], &[]).await?;
                if value.is_null() {
                    return Ok(Vec::new());
                }
                for prefix in &mut prefixes {
                    column.encode(prefix, &value);
                }
            }
            Bound::Range { lower, upper } => {
                let mut ends = [None, None];
                for (end, given) in ends.iter_mut().zip([lower, upper]) {
                    if let Some((e, inclusive)) = given {
                        let value = evaluator.eval(e, &[]).await?;
                        if value.is_null() {
                            return Ok(Vec::new());
                        }
                        *end = Some((value, *inclusive));
                    }
                }
                let [lower, upper] = ends;
                return Ok(prefixes
                    .iter()
                    .map(|prefix| range(prefix, column, lower.as_ref(), upper.as_ref()))
                    .filter(|span| !span.is_empty())
                    .collect());
            }
            Bound::Null => {
                prefixes = extend(&prefixes, column, vec![Datum::Null], true)?;
            }
            Bound::In(list) => {
                let mut values = Vec::with_capacity(list.len());
                for e in list {
                    values.push(evaluator.eval(e, &[]).await?);
                }
                prefixes = extend(&prefixes, column, values, false)?;
            }
            Bound::Rows(rows) => {
                let mut values = Vec::with_capacity(rows.len());
                for row in rows {
                    values.push(evaluator.eval_all(row, row.iter().any(Expr::waits), &[]).await?);
                }
                prefixes = extend_by_rows(&prefixes, &columns[i..], &values)?;
            }
            Bound::OfRows => {}
            Bound::Terms(_) => return Err(Error::internal("terms as the span of an index")),
            Bound::Branches(branches) => {
                return Box::pin(of_branches(&prefixes, &columns[i..], branches, evaluator)).await;
            }
            Bound::Any(e) => {
                let values = match evaluator.eval(e, &[]).await? {
                    Datum::Array(array) => array.items.clone(),
                    _ => Vec::new(),
                };
                prefixes = extend(&prefixes, column, values, false)?;
            }
        }
    }
    Ok(prefixes.into_iter().map(Span::prefix).collect())
}

/// The union of the branches' spans below each prefix, sorted and merged, so that no key is in two
/// of them. A branch whose values fail to be computed has all keys of a prefix: the filter finds
/// the error, if a row leads to it.
async fn of_branches(
    prefixes: &[Vec<u8>],
    columns: &[KeyColumn],
    branches: &[Vec<Bound>],
    evaluator: &Evaluator,
) -> Result<Vec<Span>> {
    let mut all = Vec::with_capacity(prefixes.len() * branches.len());
    for branch in branches {
        match spans_below(prefixes.to_vec(), columns, branch, evaluator).await {
            Ok(spans) => all.extend(spans),
            Err(_) if branch.iter().any(Bound::can_fail) => {
                all.extend(prefixes.iter().cloned().map(Span::prefix));
                break;
            }
            Err(error) => return Err(error),
        }
    }
    let set: SpanSet = all.into_iter().collect();
    Ok(set.spans().to_vec())
}

//! Sorting in memory, in pieces: between them the statement can be stopped and others get their
//! turn. One call of `sort_by` over a million rows would take seconds.
//!
//! ```text
//! rows ──► runs of RUN_ROWS, each sorted ──► merged two by two ──► one run
//! ```

use std::cmp::Ordering;

use braid_types::Result;

use crate::operator::ExecutionState;

/// Rows that are sorted at once.
const RUN_ROWS: usize = 4096;

/// Sorts rows, stably.
pub(crate) async fn sort<T: Send>(
    run: &ExecutionState,
    mut rows: Vec<T>,
    compare: impl Fn(&T, &T) -> Ordering + Send + Sync,
) -> Result<Vec<T>> {
    if rows.len() <= RUN_ROWS {
        rows.sort_by(compare);
        return Ok(rows);
    }
    let mut runs = Vec::with_capacity(rows.len() / RUN_ROWS + 1);
    let mut rows = rows.into_iter();
    while rows.len() > 0 {
        run.breathe().await?;
        let mut part: Vec<T> = rows.by_ref().take(RUN_ROWS).collect();
        part.sort_by(&compare);
        runs.push(part);
    }
    drop(rows);
    while runs.len() > 1 {
        let mut merged = Vec::with_capacity(runs.len().div_ceil(2));
        let mut pairs = runs.into_iter();
        while let Some(left) = pairs.next() {
            merged.push(match pairs.next() {
                Some(right) => merge(run, left, right, &compare).await?,
                None => left,
            });
        }
        runs = merged;
    }
    Ok(runs.pop().unwrap_or_default())
}

/// Merges two sorted runs; of equals those of the left run come first.
async fn merge<T: Send>(
    run: &ExecutionState,
    mut left: Vec<T>,
    mut right: Vec<T>,
    compare: &(impl Fn(&T, &T) -> Ordering + Send + Sync),
) -> Result<Vec<T>> {
    let (Some(last), Some(first)) = (left.last(), right.first()) else {
        left.append(&mut right);
        return Ok(left);
    };
    if compare(last, first).is_le() {
        left.append(&mut right);
        return Ok(left);
    }
    let mut out = Vec::with_capacity(left.len() + right.len());
    let (mut left, mut right) = (left.into_iter(), right.into_iter());
    let (mut a, mut b) = (left.next(), right.next());
    loop {
        if out.len().is_multiple_of(RUN_ROWS) {
            run.breathe().await?;
        }
        (a, b) = match (a, b) {
            (Some(x), Some(y)) if compare(&x, &y).is_le() => {
                out.push(x);
                (left.next(), Some(y))
            }
            (x, Some(y)) => {
                out.push(y);
                if x.is_none() {
                    out.extend(right);
                    return Ok(out);
                }
                (x, right.next())
            }
            (x, None) => {
                out.extend(x);
                out.extend(left);
                return Ok(out);
            }
        };
    }
}

//! Sorting in memory, in pieces: between them the statement can be stopped and others get their
//! turn. One call of `sort_by` over a million rows would take seconds.
//!
//! ```text
//! rows ──► (prefix, place) of each ──► runs of RUN_ROWS, each sorted ──► merged two by two
//!                                                     rows in the order of the places ◄──┘
//! ```
//!
//! What moves are pairs of 16 bytes. Rows are looked at only where prefixes are equal.

use std::cmp::Ordering;

use braid_types::{Error, Result};

use crate::operator::ExecutionState;

/// Rows that are sorted at once.
const RUN_ROWS: usize = 4096;

/// The prefix of a row's first key, and the row's place.
type Place = (u64, usize);

/// Sorts rows, stably. `prefix`: a number that does not fall in the order of `compare`; if it is
/// missing for a row, only `compare` counts.
pub(crate) async fn sort<T: Send + Sync>(
    run: &ExecutionState,
    rows: Vec<T>,
    prefix: impl Fn(&T) -> Option<u64>,
    compare: impl Fn(&T, &T) -> Ordering + Send + Sync,
) -> Result<Vec<T>> {
    let prefixes: Option<Vec<u64>> = rows.iter().map(prefix).collect();
    let prefixes = prefixes.unwrap_or_else(|| vec![0; rows.len()]);
    let mut places: Vec<Place> = prefixes.into_iter().zip(0..).collect();
    let order = |a: &Place, b: &Place| {
        let order = a.0.cmp(&b.0);
        order.then_with(|| compare(&rows[a.1], &rows[b.1])).then(a.1.cmp(&b.1))
    };
    if places.len() <= RUN_ROWS {
        places.sort_unstable_by(order);
        return in_order(run, rows, places).await;
    }
    let mut runs = Vec::with_capacity(places.len() / RUN_ROWS + 1);
    for part in places.chunks_mut(RUN_ROWS) {
        run.check_interrupts().await?;
        part.sort_unstable_by(order);
        runs.push(part.to_vec());
    }
    drop(places);
    while runs.len() > 1 {
        let mut merged = Vec::with_capacity(runs.len().div_ceil(2));
        let mut pairs = runs.into_iter();
        while let Some(left) = pairs.next() {
            merged.push(match pairs.next() {
                Some(right) => merge(run, left, right, &order).await?,
                None => left,
            });
        }
        runs = merged;
    }
    in_order(run, rows, runs.pop().unwrap_or_default()).await
}

/// The rows in the order of these places.
async fn in_order<T: Send>(
    run: &ExecutionState,
    rows: Vec<T>,
    places: Vec<Place>,
) -> Result<Vec<T>> {
    let mut rows: Vec<Option<T>> = rows.into_iter().map(Some).collect();
    let mut sorted = Vec::with_capacity(rows.len());
    for part in places.chunks(RUN_ROWS) {
        run.check_interrupts().await?;
        for (_, place) in part {
            let row = rows.get_mut(*place).and_then(Option::take);
            sorted.push(row.ok_or_else(|| Error::broken("a sorted row is missing"))?);
        }
    }
    Ok(sorted)
}

/// Merges two sorted runs.
async fn merge(
    run: &ExecutionState,
    mut left: Vec<Place>,
    mut right: Vec<Place>,
    order: &(impl Fn(&Place, &Place) -> Ordering + Send + Sync),
) -> Result<Vec<Place>> {
    let (Some(last), Some(first)) = (left.last(), right.first()) else {
        left.append(&mut right);
        return Ok(left);
    };
    if order(last, first).is_le() {
        left.append(&mut right);
        return Ok(left);
    }
    let mut out = Vec::with_capacity(left.len() + right.len());
    let (mut left, mut right) = (left.into_iter(), right.into_iter());
    let (mut a, mut b) = (left.next(), right.next());
    loop {
        if out.len().is_multiple_of(RUN_ROWS) {
            run.check_interrupts().await?;
        }
        (a, b) = match (a, b) {
            (Some(x), Some(y)) if order(&x, &y).is_le() => {
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

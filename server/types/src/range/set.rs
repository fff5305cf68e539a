//! Sets of ranges, as slices: a range is a set of none or one, a multirange one of any number.
//!
//! Rule: every slice that comes in is normalized: no empty range, sorted, gaps between them.

use std::cmp::Ordering;
use std::ops::Bound;

use crate::datum::Range;
use crate::{Datum, Result, work};

use super::value::{Cut, lower_cut, upper_cut, value_of};

/// The cuts around all ranges of a set; `None` for an empty set.
fn outer(set: &[Range]) -> Option<(Cut<'_>, Cut<'_>)> {
    let (first, last) = (set.first()?.lower()?, set.last()?.upper()?);
    Some((lower_cut(first), upper_cut(last)))
}

/// The cuts around both sets, if neither is empty.
fn outers<'a>(a: &'a [Range], b: &'a [Range]) -> Option<[(Cut<'a>, Cut<'a>); 2]> {
    Some([outer(a)?, outer(b)?])
}

/// The smallest range that holds all ranges of a set.
pub fn hull(set: &[Range]) -> Range {
    let bounds = set.first().and_then(Range::lower).zip(set.last().and_then(Range::upper));
    bounds.map_or(Range::Empty, |(lower, upper)| Range::Between(lower.clone(), upper.clone()))
}

/// Whether the sets have a value in common.
pub fn overlaps(a: &[Range], b: &[Range]) -> Result<bool> {
    let (mut a, mut b) = (a, b);
    while let ([left, more_left @ ..], [right, more_right @ ..]) = (a, b) {
        work::tick()?;
        let Some(((a_low, a_high), (b_low, b_high))) = left.cuts().zip(right.cuts()) else { break };
        if a_low < b_high && b_low < a_high {
            return Ok(true);
        }
        if a_high <= b_low { a = more_left } else { b = more_right }
    }
    Ok(false)
}

/// Whether every value of the second set is in the first one.
pub fn contains(a: &[Range], b: &[Range]) -> Result<bool> {
    let mut rest = a;
    for wanted in b {
        let Some((low, high)) = wanted.cuts() else { continue };
        loop {
            work::tick()?;
            let Some((first, more)) = rest.split_first() else { return Ok(false) };
            let Some((first_low, first_high)) = first.cuts() else { return Ok(false) };
            if first_low <= low && high <= first_high {
                break;
            }
            rest = more;
        }
    }
    Ok(true)
}

/// Whether a value is in a set.
pub fn contains_value(set: &[Range], value: &Datum) -> bool {
    let (before, after) = (Cut::At(value, false), Cut::At(value, true));
    let place = |range: &Range| match range.cuts() {
        Some((low, _)) if after <= low => Ordering::Greater,
        Some((_, high)) if high <= before => Ordering::Less,
        _ => Ordering::Equal,
    };
    set.binary_search_by(place).is_ok()
}

/// Whether all values of the first set are below those of the second; false for empty sets.
pub fn is_left_of(a: &[Range], b: &[Range]) -> bool {
    outers(a, b).is_some_and(|[(_, a_high), (b_low, _)]| a_high <= b_low)
}

/// Whether the first set ends where the second one does, or before; false for empty sets.
pub fn ends_within(a: &[Range], b: &[Range]) -> bool {
    outers(a, b).is_some_and(|[(_, a_high), (_, b_high)]| a_high <= b_high)
}

/// Whether the first set begins where the second one does, or after; false for empty sets.
pub fn starts_within(a: &[Range], b: &[Range]) -> bool {
    outers(a, b).is_some_and(|[(a_low, _), (b_low, _)]| a_low >= b_low)
}

/// Whether one set ends just where the other begins; false for empty sets.
pub fn adjoins(a: &[Range], b: &[Range]) -> bool {
    outers(a, b)
        .is_some_and(|[(a_low, a_high), (b_low, b_high)]| a_high == b_low || b_high == a_low)
}

/// The smallest range that holds both. Of equal bounds it has those of the second range.
pub fn merged(a: Range, b: Range) -> Range {
    match (a, b) {
        (Range::Empty, other) | (other, Range::Empty) => other,
        (Range::Between(a_low, a_high), Range::Between(b_low, b_high)) => Range::Between(
            if lower_cut(&a_low) < lower_cut(&b_low) { a_low } else { b_low },
            if upper_cut(&a_high) > upper_cut(&b_high) { a_high } else { b_high },
        ),
    }
}

/// These ranges as a set: sorted, without empty ones, those that overlap or touch made into one.
pub fn normalized(mut ranges: Vec<Range>) -> Result<Vec<Range>> {
    ranges.retain(|range| !range.is_empty());
    work::spend(u32::try_from(ranges.len()).unwrap_or(u32::MAX))?;
    ranges.sort_by(Range::compare);
    let mut set: Vec<Range> = Vec::with_capacity(ranges.len());
    for range in ranges {
        work::tick()?;
        let is_apart = |last: &Range| {
            let ends = last.cuts().zip(range.cuts());
            ends.is_none_or(|((_, last_high), (low, _))| last_high < low)
        };
        let range = match set.pop() {
            Some(last) if is_apart(&last) => {
                set.push(last);
                range
            }
            Some(last) => merged(last, range),
            None => range,
        };
        set.push(range);
    }
    Ok(set)
}

/// What both sets have.
pub fn intersection(a: &[Range], b: &[Range]) -> Result<Vec<Range>> {
    let mut set = Vec::new();
    let (mut a, mut b) = (a, b);
    while let ([left, more_left @ ..], [right, more_right @ ..]) = (a, b) {
        work::tick()?;
        let (Range::Between(a_low, a_high), Range::Between(b_low, b_high)) = (left, right) else {
            break;
        };
        let low = if lower_cut(a_low) < lower_cut(b_low) { b_low } else { a_low };
        let is_left_first = upper_cut(a_high) <= upper_cut(b_high);
        let high = if is_left_first { a_high } else { b_high };
        if lower_cut(low) < upper_cut(high) {
            set.push(Range::Between(low.clone(), high.clone()));
        }
        if is_left_first { a = more_left } else { b = more_right }
    }
    Ok(set)
}

/// What the first set has and the second one has not.
pub fn difference(a: &[Range], b: &[Range]) -> Result<Vec<Range>> {
    let mut set = Vec::new();
    let mut holes = b;
    for range in a {
        let Range::Between(low, high) = range else { continue };
        let mut low = low.clone();
        loop {
            work::tick()?;
            let [Range::Between(hole_low, hole_high), more @ ..] = holes else {
                set.push(Range::Between(low, high.clone()));
                break;
            };
            if upper_cut(hole_high) <= lower_cut(&low) {
                holes = more;
                continue;
            }
            if upper_cut(high) <= lower_cut(hole_low) {
                set.push(Range::Between(low, high.clone()));
                break;
            }
            if lower_cut(&low) < lower_cut(hole_low)
                && let Some(end) = turned(hole_low)
            {
                set.push(Range::Between(low, end));
            }
            // A hole that ends here or later may reach into the next range.
            let start = turned(hole_high).filter(|_| upper_cut(hole_high) < upper_cut(high));
            let Some(start) = start else { break };
            low = start;
            holes = more;
        }
    }
    Ok(set)
}

/// The bound at the same place that looks to the other side; `None` for an infinite one.
fn turned(bound: &Bound<Datum>) -> Option<Bound<Datum>> {
    let value = value_of(bound)?.clone();
    Some(match bound {
        Bound::Included(_) => Bound::Excluded(value),
        _ => Bound::Included(value),
    })
}

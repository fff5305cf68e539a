//! Common values, histogram and correlation of a column, from a sample: as PostgreSQL makes them.

use std::cmp::Ordering;

use braid_catalog::ValueStatistics;
use braid_types::sql_type::length;
use braid_types::{Datum, SqlType};

/// What was counted of a column in all rows.
pub(super) struct Counted<'a> {
    /// The column's type.
    pub ty: &'a SqlType,
    /// Rows of the table.
    pub rows: u64,
    /// Those that have NULL.
    pub nulls: u64,
    /// Bytes of the values.
    pub bytes: u64,
    /// About how many different values there are.
    pub distinct: f64,
}

/// A run of equal values among the sorted ones.
struct Run {
    start: usize,
    count: usize,
}

/// The number of distinct values as statistics have it, and how the values are distributed.
/// `sample` has the column's sampled values in the order of the primary key, `None` for those that
/// were not kept. `target` is the most common values, and parts of the histogram, at most.
pub(super) fn of(
    counted: &Counted<'_>,
    sample: &[Option<&Datum>],
    is_whole: bool,
    target: usize,
) -> (f64, ValueStatistics) {
    let rows = (counted.rows as f64).max(1.0);
    let null_fraction = counted.nulls as f64 / rows;
    let values = (counted.rows - counted.nulls).max(1);
    // Types of a fixed length have it without values, too.
    let width = match u32::try_from(length(counted.ty)) {
        Ok(fixed) => fixed,
        Err(_) => u32::try_from(counted.bytes / values).unwrap_or(u32::MAX),
    };
    let mut known = ValueStatistics {
        ty: counted.ty.clone(),
        null_fraction,
        width,
        common: Vec::new(),
        histogram: Vec::new(),
        correlation: None,
    };
    let left_out = sample.iter().filter(|value| value.is_none()).count();
    let present = sample.iter().flatten().filter(|value| !value.is_null());
    let mut sorted: Vec<(usize, &Datum)> = present.copied().enumerate().collect();
    sorted.sort_by(|(_, a), (_, b)| a.compare_typed(b, counted.ty));
    let runs = runs(&sorted, counted.ty);
    let repeated = runs.iter().filter(|run| run.count > 1).count();
    let distinct = match left_out {
        0 if is_whole => runs.len() as f64,
        0 if repeated == 0 && !runs.is_empty() => values as f64,
        _ => counted.distinct.min(values as f64),
    };
    // Many distinct values are believed to grow with the table.
    let stored = if distinct > 0.1 * rows { -distinct / rows } else { distinct };
    if counted.nulls == counted.rows || sorted.is_empty() {
        return (if counted.nulls == counted.rows { 0.0 } else { stored }, known);
    }
    let is_complete = left_out == 0 && repeated == runs.len() && stored > 0.0;
    let common = common(&runs, sample.len(), target, |counts| {
        if is_complete && repeated <= target {
            return counts.len();
        }
        let table = Table { rows, distinct, null_fraction };
        worth_keeping(counts, &table, sample.len(), is_whole)
    });
    known.common = common
        .iter()
        .map(|run| (sorted[run.start].1.clone(), run.count as f64 / sample.len() as f64))
        .collect();
    known.histogram = histogram(&sorted, &runs, &common, target);
    known.correlation = correlation(&sorted);
    (stored, known)
}

fn runs(sorted: &[(usize, &Datum)], ty: &SqlType) -> Vec<Run> {
    let mut runs: Vec<Run> = Vec::new();
    for (place, (_, value)) in sorted.iter().enumerate() {
        match runs.last_mut() {
            Some(run) if sorted[run.start].1.compare_typed(value, ty) == Ordering::Equal => {
                run.count += 1;
            }
            _ => runs.push(Run { start: place, count: 1 }),
        }
    }
    runs
}

/// The most frequent runs. `keep` says how many of them are common values, given their sizes.
fn common(
    runs: &[Run],
    sampled: usize,
    target: usize,
    keep: impl Fn(&[usize]) -> usize,
) -> Vec<Run> {
    let mut repeated: Vec<&Run> = runs.iter().filter(|run| run.count > 1).collect();
    repeated.sort_by_key(|run| std::cmp::Reverse(run.count));
    repeated.truncate(target);
    let counts: Vec<usize> = repeated.iter().map(|run| run.count).collect();
    debug_assert!(counts.iter().sum::<usize>() <= sampled);
    repeated.truncate(keep(&counts));
    repeated.into_iter().map(|run| Run { start: run.start, count: run.count }).collect()
}

/// A column in the whole table.
struct Table {
    rows: f64,
    distinct: f64,
    null_fraction: f64,
}

/// How many of the most frequent values are common ones: those that are more frequent than the
/// average of the rest by more than two standard deviations of the sample
/// (`analyze_mcv_list` of PostgreSQL).
fn worth_keeping(counts: &[usize], table: &Table, sampled: usize, is_whole: bool) -> usize {
    if is_whole {
        return counts.len();
    }
    let (rows, sampled) = (table.rows, sampled as f64);
    let mut number = counts.len();
    let mut before: usize = counts.iter().take(number.saturating_sub(1)).sum();
    while number > 0 {
        let count = counts[number - 1] as f64;
        let rest = (1.0 - before as f64 / sampled - table.null_fraction).clamp(0.0, 1.0);
        let others = (table.distinct - (number - 1) as f64).max(1.0);
        let average = rest / others * sampled;
        let all = rows * count / sampled;
        let variance =
            sampled * all * (rows - all) * (rows - sampled) / (rows * rows * (rows - 1.0));
        if count > average + 2.0 * variance.max(0.0).sqrt() + 0.5 {
            break;
        }
        number -= 1;
        before -= number.checked_sub(1).map_or(0, |place| counts[place]);
    }
    number
}

/// Bounds of parts with equally many values, common ones left out.
fn histogram(
    sorted: &[(usize, &Datum)],
    runs: &[Run],
    common: &[Run],
    target: usize,
) -> Vec<Datum> {
    let bounds = (runs.len() - common.len()).min(target + 1);
    if bounds < 2 {
        return Vec::new();
    }
    let mut starts: Vec<(usize, usize)> = common.iter().map(|run| (run.start, run.count)).collect();
    starts.sort_unstable();
    let (mut rest, mut next) = (Vec::with_capacity(sorted.len()), 0);
    for (start, count) in starts {
        rest.extend_from_slice(&sorted[next..start]);
        next = start + count;
    }
    rest.extend_from_slice(&sorted[next..]);
    (0..bounds).map(|bound| rest[bound * (rest.len() - 1) / (bounds - 1)].1.clone()).collect()
}

/// The correlation between the order of the values and that of the primary key.
fn correlation(sorted: &[(usize, &Datum)]) -> Option<f64> {
    let number = sorted.len() as f64;
    if sorted.len() < 2 {
        return None;
    }
    let pairs = sorted.iter().enumerate();
    let products: f64 = pairs.map(|(place, (row, _))| place as f64 * *row as f64).sum();
    let sum = (number - 1.0) * number / 2.0;
    let squares = (number - 1.0) * number * (2.0 * number - 1.0) / 6.0;
    Some((number * products - sum * sum) / (number * squares - sum * sum))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn analyzed(values: &[i64], is_whole: bool, rows: u64) -> (f64, ValueStatistics) {
        let values: Vec<Datum> = values.iter().map(|value| Datum::Int(*value)).collect();
        let sample: Vec<Option<&Datum>> = values.iter().map(Some).collect();
        let mut different: Vec<i64> = values.iter().filter_map(Datum::as_int).collect();
        different.sort_unstable();
        different.dedup();
        let counted = Counted {
            ty: &SqlType::Int4,
            rows,
            nulls: 0,
            bytes: rows * 4,
            distinct: different.len() as f64,
        };
        of(&counted, &sample, is_whole, 100)
    }

    #[test]
    fn few_values_are_all_common() {
        let values: Vec<i64> = (0..1000).map(|n| if n % 10 == 0 { 2 } else { 1 }).collect();
        let (distinct, known) = analyzed(&values, true, 1000);
        assert_eq!(distinct, 2.0);
        assert_eq!(known.common, [(Datum::Int(1), 0.9), (Datum::Int(2), 0.1)]);
        assert!(known.histogram.is_empty());
        assert_eq!(known.width, 4);
    }

    #[test]
    fn unique_values_make_a_histogram() {
        let values: Vec<i64> = (0..1001).collect();
        let (distinct, known) = analyzed(&values, true, 1001);
        assert_eq!(distinct, -1.0);
        assert!(known.common.is_empty());
        assert_eq!(known.histogram.len(), 101);
        assert_eq!(known.histogram[50], Datum::Int(500));
        assert!((known.correlation.unwrap() - 1.0).abs() < 1e-9);
        let reversed: Vec<i64> = (0..1001).rev().collect();
        assert!((analyzed(&reversed, true, 1001).1.correlation.unwrap() + 1.0).abs() < 1e-9);
    }

    #[test]
    fn of_a_part_only_clearly_frequent_values_are_common() {
        // One value has a tenth of the rows; the others occur about three times in the sample.
        let values: Vec<i64> = (0..3000).map(|n| if n % 10 == 0 { -1 } else { n % 1000 }).collect();
        let (_, known) = analyzed(&values, false, 1_000_000);
        assert_eq!(known.common.len(), 1, "{:?}", known.common);
        assert_eq!(known.common[0].0, Datum::Int(-1));
    }
}

//! What is known of the values of one column, and which part of a table's rows a value has.

use std::cmp::Ordering;

use braid_catalog::{Catalog, Table, TableStatistics, ValueStatistics};
use braid_types::{Datum, SqlType};

use super::pattern;

/// Rows assumed of a table without statistics.
const ROWS_DEFAULT: f64 = 1000.0;
/// Bytes of a text that tell where it stands between two others.
const TEXT_BYTES: usize = 8;

/// A table's rows.
pub(crate) fn table_rows(table: &Table, catalog: &Catalog) -> f64 {
    rows_of(&catalog.statistics(table.id))
}

fn rows_of(statistics: &TableStatistics) -> f64 {
    match statistics.rows {
        0 => ROWS_DEFAULT,
        rows => rows as f64,
    }
}

/// How many distinct values a column has.
pub(crate) fn distinct(table: &Table, place: usize, catalog: &Catalog) -> f64 {
    Facts::of(table, place, catalog).distinct
}

/// Values of a column, in no order, between which its other values lie: those of the histogram and
/// the common ones. None if they are not known.
pub(crate) fn bounds(table: &Table, place: usize, catalog: &Catalog) -> Vec<Datum> {
    let facts = Facts::of(table, place, catalog);
    let Some(values) = facts.values() else { return Vec::new() };
    let common = values.common.iter().map(|(value, _)| value);
    values.histogram.iter().chain(common).cloned().collect()
}

/// What is known of a column's values.
pub(super) struct Facts {
    statistics: TableStatistics,
    /// Where the column is among those of the statistics.
    place: Option<usize>,
    /// The column's type now.
    ty: SqlType,
    /// How many distinct values there are, at least 1.
    pub distinct: f64,
    /// The number was counted, or follows from a unique index.
    pub is_counted: bool,
}

impl Facts {
    /// What is known of a table's column.
    pub(crate) fn of(table: &Table, place: usize, catalog: &Catalog) -> Facts {
        let column = &table.columns[place];
        let statistics = catalog.statistics(table.id);
        let rows = rows_of(&statistics);
        let unique = table.all_indexes().any(|index| {
            index.unique
                && index.predicate.is_none()
                && index.keys.len() == 1
                && index.keys[0].column == column.id
        });
        let counted = statistics.column_distinct(column.id);
        let place = statistics.columns.iter().position(|known| known.column == column.id);
        let mut facts = Facts {
            statistics,
            place,
            ty: column.ty.clone(),
            distinct: 1.0,
            is_counted: unique || counted.is_some(),
        };
        let number = match counted {
            _ if unique => rows * (1.0 - facts.null_fraction().unwrap_or(0.0)),
            Some(number) => number,
            None => (rows / 10.0).clamp(1.0, 200.0),
        };
        facts.distinct = number.max(1.0);
        facts
    }

    /// How the values are distributed, if that is known of the column's present type.
    fn values(&self) -> Option<&ValueStatistics> {
        let values = self.statistics.columns.get(self.place?)?.values.as_ref()?;
        (values.ty.bare() == self.ty.bare()).then_some(values)
    }

    /// Whether values differ in how frequent they are, as far as is known.
    pub(crate) fn is_uneven(&self) -> bool {
        let average = 1.0 / self.distinct;
        let is_frequent = |values: &ValueStatistics| {
            values.common.first().is_some_and(|(_, part)| *part > 3.0 * average)
        };
        self.values().is_some_and(is_frequent)
    }

    /// Whether ranges of values can be estimated.
    pub(crate) fn has_ranges(&self) -> bool {
        self.values()
            .is_some_and(|values| !values.histogram.is_empty() || !values.common.is_empty())
    }

    /// The part of the rows that have NULL.
    pub(crate) fn null_fraction(&self) -> Option<f64> {
        let values = self.statistics.columns.get(self.place?)?.values.as_ref()?;
        Some(values.null_fraction.clamp(0.0, 1.0))
    }

    /// The part of the rows that have a value, on average over the values.
    pub(crate) fn equal_average(&self) -> f64 {
        (1.0 - self.null_fraction().unwrap_or(0.0)) / self.distinct
    }

    /// The part of the rows that have this value.
    pub(crate) fn equal(&self, value: &Datum) -> f64 {
        let Some(values) = self.values() else { return self.equal_average() };
        let same = |known: &Datum| is_comparable(known, value) && self.order(known, value).is_eq();
        if let Some((_, part)) = values.common.iter().find(|(known, _)| same(known)) {
            return *part;
        }
        let common: f64 = values.common.iter().map(|(_, part)| part).sum();
        let rest = (1.0 - common - values.null_fraction).clamp(0.0, 1.0);
        let others = (self.distinct - values.common.len() as f64).max(1.0);
        // It is not more frequent than the least of the common ones.
        let least = values.common.last().map_or(1.0, |(_, part)| *part);
        (rest / others).min(least)
    }

    /// The part of the rows whose value is below this one, or equal if `is_inside`; `None` without
    /// a histogram and common values.
    pub(crate) fn below(&self, value: &Datum, is_inside: bool) -> Option<f64> {
        let values = self.values()?;
        let known = values.histogram.first().or(values.common.first().map(|(value, _)| value))?;
        if !is_comparable(known, value) {
            return None;
        }
        let is_below = |known: &Datum| match self.order(known, value) {
            Ordering::Less => true,
            Ordering::Equal => is_inside,
            Ordering::Greater => false,
        };
        let below = values.common.iter().filter(|(known, _)| is_below(known));
        let below: f64 = below.map(|(_, part)| part).sum();
        let common: f64 = values.common.iter().map(|(_, part)| part).sum();
        let rest = (1.0 - common - values.null_fraction).clamp(0.0, 1.0);
        Some((below + rest * self.histogram_part(values, value)).clamp(0.0, 1.0))
    }

    /// The part of the histogram's values below a value.
    fn histogram_part(&self, values: &ValueStatistics, value: &Datum) -> f64 {
        let bounds = &values.histogram;
        if bounds.len() < 2 {
            return 0.5;
        }
        let above = bounds.partition_point(|bound| self.order(bound, value).is_lt());
        match above {
            0 => 0.0,
            above if above == bounds.len() => 1.0,
            above => {
                let within = position(&bounds[above - 1], &bounds[above], value);
                ((above - 1) as f64 + within) / (bounds.len() - 1) as f64
            }
        }
    }

    /// The part of the rows that match a LIKE pattern; `None` without values to compare.
    pub(crate) fn like(&self, pattern: &str) -> Option<f64> {
        let values = self.values()?;
        let prefix = pattern::prefix(pattern);
        if prefix.is_whole {
            return Some(self.equal(&Datum::text(prefix.text.as_str())));
        }
        let matches = |value: &Datum| match value {
            Datum::Text(text) => pattern::matches(pattern, text),
            _ => false,
        };
        let matching = values.common.iter().filter(|(value, _)| matches(value));
        let found: f64 = matching.map(|(_, part)| part).sum();
        let common: f64 = values.common.iter().map(|(_, part)| part).sum();
        let rest = (1.0 - common - values.null_fraction).clamp(0.0, 1.0);
        let bounds = &values.histogram;
        if bounds.is_empty() && values.common.is_empty() {
            return None;
        }
        let of_prefix = match prefix.after() {
            _ if prefix.text.is_empty() => 1.0,
            Some(after) => {
                let lower = self.histogram_part(values, &Datum::text(prefix.text.as_str()));
                let upper = self.histogram_part(values, &Datum::text(after));
                (upper - lower).max(1.0 / self.distinct)
            }
            None => 1.0,
        };
        let guess = of_prefix * prefix.rest;
        // Many bounds are a sample of the values; few are believed in part.
        let part = match bounds.iter().filter(|bound| matches(bound)).count() {
            _ if bounds.len() < 10 => guess,
            count => {
                let sampled = count as f64 / bounds.len() as f64;
                let weight = (bounds.len() as f64 / 100.0).min(1.0);
                let sampled =
                    if count == 0 { guess.min(1.0 / bounds.len() as f64) } else { sampled };
                sampled * weight + guess * (1.0 - weight)
            }
        };
        Some((found + rest * part).clamp(0.0, 1.0))
    }

    /// The part of all pairs of two columns' rows that have equal values.
    pub(crate) fn matching(&self, other: &Facts) -> f64 {
        let present = |facts: &Facts| 1.0 - facts.null_fraction().unwrap_or(0.0);
        let average = present(self) * present(other) / self.distinct.max(other.distinct);
        let (Some(left), Some(right)) = (self.values(), other.values()) else { return average };
        if left.common.is_empty() || right.common.is_empty() {
            return average;
        }
        // Common values of both sides match by their frequencies, all others on average.
        let (mut both, mut in_left, mut in_right, mut found) = (0.0, 0.0, 0.0, 0.0);
        for (value, part) in &left.common {
            let same =
                |known: &Datum| is_comparable(known, value) && self.order(known, value).is_eq();
            if let Some((_, matched)) = right.common.iter().find(|(known, _)| same(known)) {
                both += part * matched;
                in_left += part;
                in_right += matched;
                found += 1.0;
            }
        }
        let rest_left = (present(self) - in_left).max(0.0);
        let rest_right = (present(other) - in_right).max(0.0);
        let others = (self.distinct.max(other.distinct) - found).max(1.0);
        (both + rest_left * rest_right / others).clamp(0.0, 1.0)
    }

    fn order(&self, a: &Datum, b: &Datum) -> Ordering {
        a.compare_typed(b, &self.ty)
    }
}

/// Whether two values have an order among each other.
fn is_comparable(a: &Datum, b: &Datum) -> bool {
    let class = |datum: &Datum| match datum {
        Datum::Int(_) | Datum::Float(_) | Datum::Numeric(_) => 1,
        Datum::Date(_) | Datum::Timestamp(_) | Datum::Timestamptz(_) => 2,
        _ => 0,
    };
    match (class(a), class(b)) {
        (0, 0) => std::mem::discriminant(a) == std::mem::discriminant(b) && !a.is_null(),
        (a, b) => a == b,
    }
}

/// Where a value is between two others, from 0 to 1.
fn position(low: &Datum, high: &Datum, value: &Datum) -> f64 {
    let numbers = match (low, high, value) {
        (Datum::Text(low), Datum::Text(high), Datum::Text(value)) => {
            of_bytes(low.as_bytes(), high.as_bytes(), value.as_bytes())
        }
        (Datum::Bytes(low), Datum::Bytes(high), Datum::Bytes(value)) => of_bytes(low, high, value),
        (Datum::Uuid(low), Datum::Uuid(high), Datum::Uuid(value)) => of_bytes(low, high, value),
        _ => (number(low), number(high), number(value)),
    };
    match numbers {
        (Some(low), Some(high), Some(value)) if high > low => {
            ((value - low) / (high - low)).clamp(0.0, 1.0)
        }
        _ => 0.5,
    }
}

fn number(value: &Datum) -> Option<f64> {
    let number = match value {
        Datum::Bool(value) => f64::from(u8::from(*value)),
        Datum::Int(value) | Datum::Time(value) => *value as f64,
        Datum::Timestamp(micros) | Datum::Timestamptz(micros) => *micros as f64,
        Datum::Date(days) => f64::from(*days) * 86_400e6,
        Datum::Float(value) => *value,
        Datum::Numeric(value) => value.to_f64(),
        Datum::Interval(value) => value.span_micros() as f64,
        Datum::Enum(label) => label.order as f64,
        _ => return None,
    };
    number.is_finite().then_some(number)
}

/// Three strings as numbers: their first bytes after what all have in common.
fn of_bytes(low: &[u8], high: &[u8], value: &[u8]) -> (Option<f64>, Option<f64>, Option<f64>) {
    let same = |(a, (b, c)): &(&u8, (&u8, &u8))| a == b && b == c;
    let shared = low.iter().zip(high.iter().zip(value)).take_while(same).count();
    let number = |bytes: &[u8]| {
        let digits = bytes[shared..].iter().chain(std::iter::repeat(&0)).take(TEXT_BYTES);
        Some(digits.fold(0.0, |number, byte| number * 256.0 + f64::from(*byte)))
    };
    (number(low), number(high), number(value))
}

#[cfg(test)]
mod tests {
    use braid_catalog::ColumnStatistics;

    use super::*;

    fn column(ty: SqlType, distinct: f64, values: ValueStatistics) -> Facts {
        let column = ColumnStatistics { column: 1, distinct, values: Some(values) };
        let columns = [column].into();
        let statistics = TableStatistics { rows: 10_000, columns, ..Default::default() };
        Facts { statistics, place: Some(0), ty, distinct, is_counted: true }
    }

    /// A tenth NULL, 40 % the value 7, 10 % the value 200, the rest even between 0 and 100.
    fn numbers() -> Facts {
        let values = ValueStatistics {
            ty: SqlType::Int4,
            null_fraction: 0.1,
            width: 4,
            common: vec![(Datum::Int(7), 0.4), (Datum::Int(200), 0.1)],
            histogram: (0..=10).map(|bound| Datum::Int(bound * 10)).collect(),
            correlation: None,
        };
        column(SqlType::Int4, 102.0, values)
    }

    fn texts() -> Facts {
        let bounds = ["apple", "banana", "cherry", "date", "elder", "fig"];
        let values = ValueStatistics {
            ty: SqlType::Text,
            null_fraction: 0.0,
            width: 5,
            common: vec![(Datum::text("banana split"), 0.5)],
            histogram: bounds.into_iter().map(Datum::text).collect(),
            correlation: None,
        };
        column(SqlType::Text, 101.0, values)
    }

    #[track_caller]
    fn near(found: f64, expected: f64) {
        assert!((found - expected).abs() < 1e-6, "{found} instead of {expected}");
    }

    #[test]
    fn common_values_have_their_frequency_and_others_share_the_rest() {
        let facts = numbers();
        near(facts.equal(&Datum::Int(7)), 0.4);
        near(facts.equal(&Datum::Int(55)), 0.4 / 100.0);
        near(facts.equal_average(), 0.9 / 102.0);
        assert!(facts.is_uneven());
    }

    #[test]
    fn ranges_add_common_values_to_parts_of_the_histogram() {
        let facts = numbers();
        let below = |value| facts.below(&Datum::Int(value), false).unwrap();
        near(below(50), 0.4 + 0.4 * 0.5);
        near(below(7), 0.4 * 0.07);
        near(facts.below(&Datum::Int(7), true).unwrap(), 0.4 + 0.4 * 0.07);
        near(below(-5), 0.0);
        near(below(1000), 0.9);
        near(facts.below(&Datum::Float(25.0), false).unwrap(), 0.4 + 0.4 * 0.25);
        assert!(facts.below(&Datum::text("a"), false).is_none());
    }

    #[test]
    fn patterns_are_compared_with_common_values_and_the_histogram() {
        let facts = texts();
        near(facts.like("banana split").unwrap(), 0.5);
        assert!(facts.like("banana%").unwrap() > 0.5);
        let cherries = facts.like("cherry%").unwrap();
        assert!(cherries > 0.0 && cherries < 0.2, "{cherries}");
        assert!(facts.like("x%").unwrap() < 0.01);
    }

    #[test]
    fn joins_match_common_values_by_frequency() {
        let (left, right) = (numbers(), numbers());
        let expected = 0.4 * 0.4 + 0.1 * 0.1 + 0.4 * 0.4 / 100.0;
        near(left.matching(&right), expected);
    }

    #[test]
    fn values_of_another_type_are_not_used() {
        let mut facts = numbers();
        facts.ty = SqlType::Text;
        assert!(facts.below(&Datum::Int(50), false).is_none());
        near(facts.equal(&Datum::text("7")), 0.9 / 102.0);
    }
}

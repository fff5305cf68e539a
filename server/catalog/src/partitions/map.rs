//! The bounds of a table's partitions, to find the partition of a key.

use std::cmp::Ordering;
use std::sync::Arc;

use braid_types::hashing::hash_of_key;
use braid_types::{Datum, Error, FormatSettings, Result, SqlType};

use super::bound::{PartitionBound, PartitionStrategy, RangeEnd};
use crate::{Catalog, Id, StoredDatum, Table};

/// The bound of a partition, with its values decoded.
#[derive(Clone, Debug)]
pub enum Bound {
    /// From a key up to another one, which is outside.
    Range(Vec<End>, Vec<End>),
    /// One of these values; NULL may be among them.
    List(Vec<Datum>),
    /// The remainder of the hash by a modulus.
    Hash {
        /// The modulus.
        modulus: u64,
        /// The remainder.
        remainder: u64,
    },
    /// Every other key.
    Default,
}

/// A part of the end of a range.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum End {
    /// Below every value.
    Min,
    /// A value.
    Value(Datum),
    /// Above every value.
    Max,
}

impl End {
    /// How it compares with a value.
    pub fn compare(&self, value: &Datum) -> Ordering {
        match self {
            End::Min => Ordering::Less,
            End::Value(own) => own.cmp(value),
            End::Max => Ordering::Greater,
        }
    }

    /// How it compares with another end.
    pub fn compare_end(&self, other: &End) -> Ordering {
        match (self, other) {
            (End::Min, End::Min) | (End::Max, End::Max) => Ordering::Equal,
            (End::Min, _) | (_, End::Max) => Ordering::Less,
            (End::Max, _) | (_, End::Min) => Ordering::Greater,
            (End::Value(own), End::Value(other)) => own.cmp(other),
        }
    }
}

impl Bound {
    /// A bound from a descriptor; `types` are those of the parent's keys.
    pub fn decode(bound: &PartitionBound, types: &[SqlType]) -> Result<Self> {
        Ok(match bound {
            PartitionBound::Default => Bound::Default,
            PartitionBound::Hash { modulus, remainder } => {
                Bound::Hash { modulus: u64::from(*modulus), remainder: u64::from(*remainder) }
            }
            PartitionBound::List(values) => {
                let ty = types.first().ok_or_else(|| Error::broken("a list without a key"))?;
                Bound::List(values.iter().map(|value| datum(value, ty)).collect::<Result<_>>()?)
            }
            PartitionBound::Range { from, to } => {
                Bound::Range(ends(from, types)?, ends(to, types)?)
            }
        })
    }

    /// Whether a key is inside of it, as far as the bound alone says.
    fn has(&self, key: &[Datum], types: &[SqlType]) -> bool {
        match self {
            Bound::Range(from, to) => {
                !key.iter().any(Datum::is_null)
                    && compare_key(from, key) != Ordering::Greater
                    && compare_key(to, key) == Ordering::Greater
            }
            Bound::List(values) => key.first().is_some_and(|key| values.contains(key)),
            Bound::Hash { modulus, remainder } => {
                hash_of_key(key, types) % (*modulus).max(1) == *remainder
            }
            Bound::Default => false,
        }
    }
}

/// How the end of a range compares with a key.
pub(super) fn compare_key(end: &[End], key: &[Datum]) -> Ordering {
    let parts = end.iter().zip(key).map(|(end, value)| end.compare(value));
    parts.into_iter().find(|order| *order != Ordering::Equal).unwrap_or(Ordering::Equal)
}

/// How two ends of ranges compare.
fn compare_ends(a: &[End], b: &[End]) -> Ordering {
    for (a, b) in a.iter().zip(b) {
        match a.compare_end(b) {
            // What follows MINVALUE or MAXVALUE does not count.
            Ordering::Equal if !matches!(a, End::Value(_)) => return Ordering::Equal,
            Ordering::Equal => {}
            order => return order,
        }
    }
    Ordering::Equal
}

fn ends(stored: &[RangeEnd], types: &[SqlType]) -> Result<Vec<End>> {
    let end = |(end, ty): (&RangeEnd, &SqlType)| {
        Ok(match end {
            RangeEnd::MinValue => End::Min,
            RangeEnd::MaxValue => End::Max,
            RangeEnd::Value(value) => End::Value(datum(value, ty)?),
        })
    };
    stored.iter().zip(types).map(end).collect()
}

/// A value of a bound.
fn datum(stored: &StoredDatum, ty: &SqlType) -> Result<Datum> {
    let Some(text) = &stored.0 else { return Ok(Datum::Null) };
    braid_types::text::parse(ty, text, &FormatSettings::default(), 0)
        .map_err(|error| Error::broken(format!("the bound of a partition is broken: {error}")))
}

/// The partitions of one table and their bounds.
#[derive(Clone, Debug)]
pub struct PartitionMap {
    /// The strategy.
    pub strategy: PartitionStrategy,
    /// The types of the keys.
    pub types: Vec<SqlType>,
    /// The partitions and their bounds: ranges by their lower ends, else as they were added.
    pub entries: Vec<(Id, Bound)>,
    /// The place of the default partition.
    pub default: Option<usize>,
}

impl PartitionMap {
    /// The partitions of a table; XX000 if it is not partitioned or a partition is missing.
    pub fn of(catalog: &Catalog, table: &Table) -> Result<Self> {
        let broken = || Error::broken(format!("\"{}\" has no such partition", table.name));
        let partitioning = table.partitioning.as_ref().ok_or_else(broken)?;
        let keys = partitioning.keys.iter();
        let types: Vec<SqlType> = keys.map(|key| key.ty(table)).collect::<Result<_>>()?;
        let mut entries = Vec::with_capacity(partitioning.partitions.len());
        for id in &partitioning.partitions {
            let child = catalog.table(*id).ok_or_else(broken)?;
            let part = child.partition_of.as_ref().ok_or_else(broken)?;
            entries.push((*id, Bound::decode(&part.bound, &types)?));
        }
        Ok(Self::new(partitioning.strategy, types, entries))
    }

    /// A map of these partitions.
    pub fn new(
        strategy: PartitionStrategy,
        types: Vec<SqlType>,
        mut entries: Vec<(Id, Bound)>,
    ) -> Self {
        // The default partition is the last one.
        entries.sort_by(|(_, a), (_, b)| match (a, b) {
            (Bound::Range(a, _), Bound::Range(b, _)) => compare_ends(a, b),
            (Bound::List(a), Bound::List(b)) => a.iter().min().cmp(&b.iter().min()),
            (
                Bound::Hash { modulus: m, remainder: r },
                Bound::Hash { modulus: n, remainder: s },
            ) => (m, r).cmp(&(n, s)),
            (Bound::Default, Bound::Default) => Ordering::Equal,
            (Bound::Default, _) => Ordering::Greater,
            (_, Bound::Default) => Ordering::Less,
            _ => Ordering::Equal,
        });
        let default = entries.iter().position(|(_, bound)| matches!(bound, Bound::Default));
        Self { strategy, types, entries, default }
    }

    /// The place of the partition that has a key.
    pub fn find(&self, key: &[Datum]) -> Option<usize> {
        let found = match self.strategy {
            PartitionStrategy::Range if key.iter().any(Datum::is_null) => None,
            PartitionStrategy::Range => {
                let begins = |(_, bound): &(Id, Bound)| match bound {
                    Bound::Range(from, _) => compare_key(from, key) != Ordering::Greater,
                    _ => false,
                };
                let after = self.entries.partition_point(begins);
                let last = after.checked_sub(1);
                last.filter(|place| self.entries[*place].1.has(key, &self.types))
            }
            _ => self.entries.iter().position(|(_, bound)| bound.has(key, &self.types)),
        };
        found.or(self.default)
    }

    /// The first partition whose keys a new bound has, too.
    pub fn overlapping(&self, new: &Bound) -> Option<Id> {
        let overlaps = |old: &Bound| match (old, new) {
            (Bound::Default, Bound::Default) => true,
            (Bound::Range(from, to), Bound::Range(new_from, new_to)) => {
                compare_ends(from, new_to) == Ordering::Less
                    && compare_ends(new_from, to) == Ordering::Less
            }
            (Bound::List(values), Bound::List(new)) => new.iter().any(|v| values.contains(v)),
            (
                Bound::Hash { modulus, remainder },
                Bound::Hash { modulus: new, remainder: new_remainder },
            ) => {
                let common = (*modulus).min(*new).max(1);
                remainder % common == new_remainder % common
            }
            _ => false,
        };
        self.entries.iter().find(|(_, bound)| overlaps(bound)).map(|(id, _)| *id)
    }

    /// Whether a range holds no key.
    pub fn is_empty_range(bound: &Bound) -> bool {
        match bound {
            Bound::Range(from, to) => compare_ends(from, to) != Ordering::Less,
            _ => false,
        }
    }
}

/// The tables that have the rows of a partitioned table, in the order of their bounds.
pub fn leaves(catalog: &Catalog, table: &Arc<Table>) -> Result<Vec<Arc<Table>>> {
    let mut found = with_partitions(catalog, table)?;
    found.retain(|table| table.partitioning.is_none());
    Ok(found)
}

/// A table and all partitions below it, each before its own, in the order of their bounds.
pub fn with_partitions(catalog: &Catalog, table: &Arc<Table>) -> Result<Vec<Arc<Table>>> {
    let mut found = Vec::new();
    collect(catalog, table, &mut found)?;
    Ok(found)
}

fn collect(catalog: &Catalog, table: &Arc<Table>, into: &mut Vec<Arc<Table>>) -> Result<()> {
    into.push(table.clone());
    if table.partitioning.is_none() {
        return Ok(());
    }
    for (id, _) in PartitionMap::of(catalog, table)?.entries {
        let child = catalog.table(id);
        let child = child.ok_or_else(|| Error::broken(format!("partition {id} is missing")))?;
        collect(catalog, child, into)?;
    }
    Ok(())
}

/// A partition's parent, its parent and so on; empty for any other table.
pub fn lineage(catalog: &Catalog, table: &Table) -> Vec<Arc<Table>> {
    let mut found: Vec<Arc<Table>> = Vec::new();
    let mut next = table.partition_of.as_ref().map(|part| part.parent);
    while let Some(parent) = next.and_then(|id| catalog.table(id)) {
        next = parent.partition_of.as_ref().map(|part| part.parent);
        found.push(parent.clone());
    }
    found
}

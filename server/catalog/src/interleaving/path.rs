//! Tables of one hierarchy, each below the one before it, as seen by a scan of their range.
//!
//! ```text
//!   hierarchy   p ── c ── g        path p, g
//!   range       p1  p1#c1  p1#c1#g1  p1#c1#g2  p2
//!               0          1         1         0      places in the path
//! ```
//!
//! Tables between two of a path may be left out; so may rows, since a child needs no parent where
//! it is merely placed. Every table adds columns to the key of the one above it.

use std::sync::Arc;

use braid_codec::key;
use braid_kv::{Key, KeyShape, Span};
use braid_types::SqlType;

use crate::{Id, Table};

/// Finds for each key of a range the table of a path that it belongs to.
#[derive(Debug)]
pub struct KeyPath {
    prefix_bytes: usize,
    columns: Vec<PathColumn>,
    /// For each table but the last: how many columns its key has.
    ends: Vec<usize>,
}

/// A key column of the last table.
#[derive(Debug)]
struct PathColumn {
    descending: bool,
    /// The bytes behind it: none, or the way down from an ancestor.
    behind: Vec<u8>,
    /// The place in the path of the ancestor whose key ends here.
    ancestor: Option<usize>,
}

impl KeyPath {
    /// The path of these tables, from the top; `None` if they are not one below the other.
    pub fn new(tables: &[&Table]) -> Option<KeyPath> {
        let (deepest, others) = tables.split_last()?;
        let interleaving = deepest.primary.interleaving.as_ref()?;
        let above = &interleaving.above;
        if above.iter().any(|ancestor| ancestor.columns == 0) {
            return None;
        }
        let places: Vec<Id> = above.iter().map(|ancestor| ancestor.table).collect();
        let mut found = others.iter().map(|table| places.iter().position(|id| *id == table.id));
        let ordered = found.clone().is_sorted() && found.all(|place| place.is_some());
        let index = &deepest.primary;
        let mut ends = 0;
        let mut columns: Vec<PathColumn> = (0..index.keys.len())
            .map(|at| PathColumn {
                descending: index.keys[at].descending,
                behind: deepest.bytes_after(index, at),
                ancestor: None,
            })
            .collect();
        let mut all_ends = vec![0; others.len()];
        for ancestor in above {
            ends += ancestor.columns;
            let place = others.iter().position(|table| table.id == ancestor.table);
            columns.get_mut(ends - 1)?.ancestor = place;
            if let Some(place) = place {
                all_ends[place] = ends;
            }
        }
        let adds = ends < columns.len();
        let prefix_bytes = deepest.key_prefix(index).len();
        (ordered && adds).then_some(KeyPath { prefix_bytes, columns, ends: all_ends })
    }

    /// The place in the path of the table that has this key, and how many of its bytes name the
    /// row; `None` if it is another table's.
    pub fn find(&self, key_bytes: &[u8]) -> Option<(usize, usize)> {
        self.walk(key_bytes, key_bytes.get(self.prefix_bytes..)?, 0)
    }

    /// The same of a key that begins with the `row_bytes` of a row of the table at `place`, which
    /// is not the last. Reads only what is behind them.
    pub fn find_below(
        &self,
        key_bytes: &[u8],
        place: usize,
        row_bytes: usize,
    ) -> Option<(usize, usize)> {
        let (end, rest) = (*self.ends.get(place)?, key_bytes.get(row_bytes..)?);
        match rest.strip_prefix(self.columns.get(end - 1)?.behind.as_slice()) {
            Some(below) => self.walk(key_bytes, below, end),
            None => own(place, key_bytes, rest),
        }
    }

    /// Reads on from a column.
    fn walk<'k>(
        &self,
        key_bytes: &'k [u8],
        mut rest: &'k [u8],
        from: usize,
    ) -> Option<(usize, usize)> {
        for column in &self.columns[from..] {
            key::skip(&mut rest, &SqlType::Unknown, column.descending).ok()?;
            if column.behind.is_empty() {
                continue;
            }
            match rest.strip_prefix(column.behind.as_slice()) {
                Some(below) => rest = below,
                None => return column.ancestor.and_then(|place| own(place, key_bytes, rest)),
            }
        }
        own(self.ends.len(), key_bytes, rest)
    }
}

/// A row's own key, unless it goes on below the row.
fn own(place: usize, key_bytes: &[u8], rest: &[u8]) -> Option<(usize, usize)> {
    let is_below = rest.first() == Some(&key::INTERLEAVE_SENTINEL);
    (!is_below).then_some((place, key_bytes.len() - rest.len()))
}

/// The keys of all tables of a path; `None` if their range has no others.
pub fn path_shape(tables: &[&Table]) -> Option<Arc<dyn KeyShape>> {
    let is_root = tables.first().is_some_and(|top| top.primary.interleaving.is_none());
    let below = |table: &Table, next: Option<&&Table>| match (&table.primary.below[..], next) {
        ([], None) => true,
        ([(id, number)], Some(next)) => *id == next.id && *number == next.primary.number,
        _ => false,
    };
    let mut pairs = tables.iter().zip(tables.iter().skip(1).map(Some).chain([None]));
    if is_root && pairs.all(|(table, next)| below(table, next)) {
        return None;
    }
    // The deepest has most keys.
    let kinds = tables.iter().rev().filter_map(|table| table.key_shape(&table.primary));
    let kinds: Vec<Arc<dyn KeyShape>> = kinds.collect();
    // No single table's name starts with this byte.
    let mut name = vec![u8::MAX];
    for kind in &kinds {
        name.push(kind.name().len() as u8);
        name.extend_from_slice(kind.name());
    }
    Some(Arc::new(PathShape { kinds, name }))
}

#[derive(Debug)]
struct PathShape {
    kinds: Vec<Arc<dyn KeyShape>>,
    name: Vec<u8>,
}

impl KeyShape for PathShape {
    fn gap(&self, key_bytes: &[u8]) -> Option<Span> {
        let mut all: Option<(Key, Key)> = None;
        for kind in &self.kinds {
            let gap = kind.gap(key_bytes)?;
            all = Some(match all {
                None => (gap.start, gap.end),
                Some((start, end)) => (start.max(gap.start), end.min(gap.end)),
            });
        }
        all.map(|(start, end)| Span::new(start, end))
    }

    fn has_all_of(&self, _: &Span) -> bool {
        false
    }

    fn name(&self) -> &[u8] {
        &self.name
    }
}

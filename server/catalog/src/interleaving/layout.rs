//! Where an index's entries lie: in a range of its own, or below the rows of other tables.
//!
//! ```text
//! own           /table/index/columns…
//! interleaved   /root/1/columns… # /middle/1/columns… # /table/index/columns…
//! ```
//!
//! The sentinel `#` sorts after every family, so that all rows below a row follow the row's own
//! pairs and comes before the next row. Tables and indexes that are not interleaved have no bytes
//! between their columns, and nothing here costs them anything.

use std::sync::Arc;

use braid_codec::key;
use braid_kv::{Key, KeyShape, Span, prefix_end};
use braid_types::SqlType;

use crate::{Ancestor, Id, Index, IndexNumber, Interleaving, Passing, Table};

impl Index {
    /// Whether its range has keys of other indexes as well.
    pub fn is_mixed(&self) -> bool {
        self.interleaving.is_some() || self.has_below()
    }

    /// Whether other keys may lie below its rows.
    pub fn has_below(&self) -> bool {
        !self.below.is_empty() || !self.passing.is_empty()
    }

    /// How many of its first key columns are those of the rows above it.
    pub fn columns_above(&self) -> usize {
        let above = self.interleaving.iter().flat_map(|interleaving| &interleaving.above);
        above.map(|ancestor| ancestor.columns).sum()
    }

    /// The table right above it.
    pub fn parent(&self) -> Option<Id> {
        let above = self.interleaving.as_ref()?.above.last()?;
        Some(above.table)
    }
}

impl Table {
    /// The first bytes of all keys of an index; in a mixed range others have them too.
    pub fn key_prefix(&self, index: &Index) -> Key {
        prefix_below(above(index), self.data_id, index.number)
    }

    /// The range that an index's keys lie in.
    pub fn index_span(&self, index: &Index) -> Span {
        Span::prefix(self.key_prefix(index))
    }

    /// The bytes behind the key column at `place`: none, or the way down to the next level.
    pub fn bytes_after(&self, index: &Index, place: usize) -> Vec<u8> {
        behind(above(index), self.data_id, index.number, place)
    }

    /// The keys that an index of it has below others' rows, as something that is to pass.
    pub fn passing_keys(&self, index: &Index, interleaving: &Interleaving) -> Passing {
        Passing {
            data_id: self.data_id,
            number: index.number,
            above: interleaving.above.clone(),
            descending: index.keys.iter().map(|part| part.descending).collect(),
        }
    }

    /// The table as it will be when its rows have been moved; `None` if they are not being moved.
    pub fn moved(&self) -> Option<Table> {
        let moving = self.moving.clone()?;
        let mut moved = self.clone();
        moved.moving = None;
        moved.primary.interleaving = moving.to;
        Some(moved)
    }

    /// Distinguishes the keys of an index from others in its range; `None` if there are no others.
    pub fn key_shape(&self, index: &Index) -> Option<Arc<dyn KeyShape>> {
        self.key_shape_among(index, None)
    }

    /// The same for a range whose gaps have about that number of other keys.
    pub fn key_shape_among(
        &self,
        index: &Index,
        gap_keys: Option<usize>,
    ) -> Option<Arc<dyn KeyShape>> {
        let make = || Arc::new(IndexShape::new(self, index, gap_keys)) as Arc<dyn KeyShape>;
        index.is_mixed().then(make)
    }
}

fn above(index: &Index) -> &[Ancestor] {
    index.interleaving.as_ref().map_or(&[], |interleaving| &interleaving.above)
}

fn prefix_below(above: &[Ancestor], data_id: Id, number: IndexNumber) -> Key {
    match above.first() {
        Some(root) => key::index_prefix(root.data_id, 1),
        None => key::index_prefix(data_id, number),
    }
}

fn behind(above: &[Ancestor], data_id: Id, number: IndexNumber, place: usize) -> Vec<u8> {
    let mut out = Vec::new();
    let mut columns = 0;
    for (level, ancestor) in above.iter().enumerate() {
        columns += ancestor.columns;
        if columns == place + 1 {
            match above.get(level + 1) {
                Some(next) => key::encode_interleave(&mut out, next.data_id, 1),
                None => key::encode_interleave(&mut out, data_id, number),
            }
        }
    }
    out
}

impl Passing {
    /// The range that its keys lie in, among others.
    pub fn span(&self) -> Span {
        Span::prefix(prefix_below(&self.above, self.data_id, self.number))
    }

    /// Distinguishes its keys, and all below them, from others.
    pub fn shape(&self) -> Arc<dyn KeyShape> {
        let column = |(place, descending): (usize, &bool)| {
            (*descending, behind(&self.above, self.data_id, self.number, place))
        };
        let prefix = prefix_below(&self.above, self.data_id, self.number);
        let columns = self.descending.iter().enumerate().map(column).collect();
        Arc::new(IndexShape::of(prefix, columns, false, None))
    }
}

/// The keys of one index in a mixed range.
#[derive(Debug)]
struct IndexShape {
    prefix: Key,
    /// For each key column: whether it descends, and the bytes behind it.
    columns: Vec<(bool, Vec<u8>)>,
    /// Whether other keys may lie below its rows.
    has_below: bool,
    name: Vec<u8>,
    gap_keys: Option<usize>,
}

impl IndexShape {
    fn new(table: &Table, index: &Index, gap_keys: Option<usize>) -> IndexShape {
        let column = |(place, part): (usize, &crate::IndexKey)| {
            (part.descending, table.bytes_after(index, place))
        };
        let columns = index.keys.iter().enumerate().map(column).collect();
        IndexShape::of(table.key_prefix(index), columns, index.has_below(), gap_keys)
    }

    fn of(
        prefix: Key,
        columns: Vec<(bool, Vec<u8>)>,
        has_below: bool,
        gap_keys: Option<usize>,
    ) -> IndexShape {
        // Everything that decides about a key, since a table may move below another one.
        let mut name = vec![u8::from(has_below), prefix.len() as u8];
        name.extend_from_slice(&prefix);
        for (descending, behind) in &columns {
            name.extend([u8::from(*descending), behind.len() as u8]);
            name.extend_from_slice(behind);
        }
        IndexShape { prefix, columns, has_below, name, gap_keys }
    }

    /// How many bytes of a key tell all levels above; `None` if it is too short for that.
    fn bytes_above(&self, key_bytes: &[u8]) -> Option<usize> {
        let mut rest = key_bytes.get(self.prefix.len()..)?;
        let last = self.columns.iter().rposition(|(_, behind)| !behind.is_empty());
        for (descending, behind) in &self.columns[..last.map_or(0, |last| last + 1)] {
            key::skip(&mut rest, &SqlType::Unknown, *descending).ok()?;
            rest = rest.strip_prefix(behind.as_slice())?;
        }
        Some(key_bytes.len() - rest.len())
    }
}

impl KeyShape for IndexShape {
    fn gap(&self, key_bytes: &[u8]) -> Option<Span> {
        let mut rest = key_bytes.get(self.prefix.len()..)?;
        for (descending, behind) in &self.columns {
            // What cannot be read is left to the reader, who says so.
            key::skip(&mut rest, &SqlType::Unknown, *descending).ok()?;
            if let Some(below) = rest.strip_prefix(behind.as_slice()) {
                rest = below;
                continue;
            }
            let row = &key_bytes[..key_bytes.len() - rest.len()];
            let wanted = [row, behind].concat();
            return Some(match rest < behind.as_slice() {
                true => Span::new(row, wanted),
                false => Span::new(prefix_end(&wanted), prefix_end(row)),
            });
        }
        if self.has_below && rest.first() == Some(&key::INTERLEAVE_SENTINEL) {
            let row = &key_bytes[..key_bytes.len() - rest.len()];
            return Some(Span::prefix([row, &[key::INTERLEAVE_SENTINEL]].concat()));
        }
        None
    }

    fn has_all_of(&self, span: &Span) -> bool {
        let Some(above) = self.bytes_above(&span.start) else { return false };
        !self.has_below && span.end <= prefix_end(&span.start[..above])
    }

    fn name(&self) -> &[u8] {
        &self.name
    }

    fn gap_keys(&self) -> Option<usize> {
        self.gap_keys
    }
}

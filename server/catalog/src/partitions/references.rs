//! Foreign keys that refer to partitioned tables, as the partitions see them.
//!
//! The parents of such a key lie in the leaves, each in a unique index of its own that is a part of
//! the index of the partitioned table. A unique key has all columns of the partition key, so the
//! values of a foreign key say which leaf can have their parent.

use std::sync::Arc;

use braid_types::{Datum, Error, Result, SqlType};

use super::bound::KeyPart;
use super::map::{PartitionMap, lineage};
use crate::{Catalog, ColumnId, ForeignKey, Id, Index, Table};

/// A foreign key that points at a table, or at a partitioned table of which it is a part.
#[derive(Clone, Debug)]
pub struct Reference {
    /// The table that has the foreign key.
    pub child: Arc<Table>,
    /// The foreign key, with the columns and the index of the table that is pointed at.
    pub key: ForeignKey,
    /// The table that it names: this one, or one above it.
    pub named: Id,
}

/// Where the parents of a foreign key to a partitioned table are.
#[derive(Clone, Debug)]
pub struct ReferenceRoutes {
    map: PartitionMap,
    /// For each part of the partition key its place in the foreign key.
    places: Vec<usize>,
    /// For each entry of the map what it leads to.
    targets: Vec<Target>,
}

#[derive(Clone, Debug)]
enum Target {
    Leaf(Arc<Table>, ForeignKey),
    Level(Box<ReferenceRoutes>),
}

impl ReferenceRoutes {
    /// The routes of a foreign key to this table; `None` if it is not partitioned.
    ///
    /// XX000 if a partition lacks what its parent has.
    pub fn of(catalog: &Catalog, parent: &Table, key: &ForeignKey) -> Result<Option<Self>> {
        let Some(partitioning) = &parent.partitioning else { return Ok(None) };
        let place = |part: &KeyPart| match part {
            KeyPart::Column(id) => key.parent_columns.iter().position(|column| column == id),
            KeyPart::Expr(..) => None,
        };
        let places = partitioning.keys.iter().map(|one| place(&one.part)).collect();
        let places: Option<Vec<usize>> = places;
        let places = places.ok_or_else(|| lacks(parent, "the whole partition key in a key"))?;
        let map = PartitionMap::of(catalog, parent)?;
        let mut targets = Vec::with_capacity(map.entries.len());
        for (id, _) in &map.entries {
            let part = catalog.table(*id).ok_or_else(|| lacks(parent, "a partition"))?;
            let own = key_of_part(parent, part, key)?;
            targets.push(match Self::of(catalog, part, &own)? {
                Some(routes) => Target::Level(Box::new(routes)),
                None => Target::Leaf(part.clone(), own),
            });
        }
        Ok(Some(Self { map, places, targets }))
    }

    /// The leaf that may have the parent of these values, and the foreign key as if it referred to
    /// the leaf. `None` if no partition takes them.
    pub fn find(&self, values: &[Datum]) -> Option<(&Arc<Table>, &ForeignKey)> {
        let parts = self.places.iter().zip(&self.map.types);
        let key: Option<Vec<Datum>> =
            parts.map(|(place, ty)| Some(as_stored(values.get(*place)?, ty))).collect();
        match self.targets.get(self.map.find(&key?)?)? {
            Target::Leaf(table, key) => Some((table, key)),
            Target::Level(routes) => routes.find(values),
        }
    }

    /// All leaves, each with the foreign key as if it referred to the leaf.
    pub fn leaves(&self) -> Vec<(&Arc<Table>, &ForeignKey)> {
        let of_target = self.targets.iter().map(|target| match target {
            Target::Leaf(table, key) => vec![(table, key)],
            Target::Level(routes) => routes.leaves(),
        });
        of_target.flatten().collect()
    }
}

/// A value as a column of this type has it: `char(n)` has n characters.
fn as_stored(value: &Datum, ty: &SqlType) -> Datum {
    let (SqlType::Char(length), Datum::Text(text)) = (ty, value) else { return value.clone() };
    let width = usize::try_from(*length).unwrap_or_default();
    Datum::Text(format!("{:<width$}", text.trim_end_matches(' ')).into())
}

/// The foreign keys that point at a table or at a table above it, the oldest first.
///
/// XX000 if a table that refers is missing.
pub fn references_to(catalog: &Catalog, table: &Arc<Table>) -> Result<Vec<Reference>> {
    if table.referenced_by.is_empty() && table.partition_of.is_none() {
        return Ok(Vec::new());
    }
    let above = lineage(catalog, table);
    let mut found = Vec::new();
    for (height, target) in std::iter::once(table).chain(&above).enumerate() {
        for id in &target.referenced_by {
            let child = if *id == table.id { Some(table) } else { catalog.table(*id) };
            let child = child.ok_or_else(|| lacks(target, "a table that refers to it"))?;
            for key in child.foreign_keys.iter().filter(|key| key.parent == target.id) {
                let mut key = key.clone();
                for part in (0..height).rev() {
                    let upper = &above[part];
                    let lower = part.checked_sub(1).map_or(table, |next| &above[next]);
                    key = key_of_part(upper, lower, &key)?;
                }
                found.push(Reference { child: child.clone(), key, named: target.id });
            }
        }
    }
    found.sort_by_key(|reference| reference.key.id);
    Ok(found)
}

/// Whether a foreign key of a partition is that of a table above it: it points at the same table
/// from columns of the same names. Their own names may differ, since ATTACH takes a key that is
/// there already.
pub fn is_copy_of(part: &Table, key: &ForeignKey, upper: &Table, other: &ForeignKey) -> bool {
    let name = |table: &Table, id: &ColumnId| table.column(*id).map(|column| column.name.clone());
    key.parent == other.parent
        && key.columns.len() == other.columns.len()
        && key.columns.iter().zip(&other.columns).all(|(a, b)| name(part, a) == name(upper, b))
}

/// The highest table above `child`, or itself, that has this foreign key: partitions get it from
/// there, and it is dropped there.
pub fn origin_of_key(catalog: &Catalog, child: &Arc<Table>, key: &ForeignKey) -> Arc<Table> {
    let has_it = |table: &&Arc<Table>| {
        table.foreign_keys.iter().any(|other| is_copy_of(child, key, table, other))
    };
    lineage(catalog, child).iter().take_while(has_it).last().unwrap_or(child).clone()
}

/// Whether every partition of a table, and each of theirs, has a part of an index.
/// `CREATE INDEX … ON ONLY` makes none.
pub fn is_in_every_partition(catalog: &Catalog, table: &Table, index: &Index) -> bool {
    let mut partitions = table.partitioning.iter().flat_map(|keys| &keys.partitions);
    partitions.all(|id| {
        let Some(part) = catalog.table(*id) else { return false };
        let own = part.all_indexes().find(|own| own.part_of == Some(index.id));
        own.is_some_and(|own| is_in_every_partition(catalog, part, own))
    })
}

/// Whether a foreign key points at a table or at a table above it.
pub fn is_referenced(catalog: &Catalog, table: &Table) -> bool {
    !table.referenced_by.is_empty()
        || lineage(catalog, table).iter().any(|upper| !upper.referenced_by.is_empty())
}

/// A foreign key to a partitioned table as if it referred to one of its partitions.
fn key_of_part(upper: &Table, part: &Table, key: &ForeignKey) -> Result<ForeignKey> {
    let own = |id: &ColumnId| {
        let name = &upper.columns[upper.place_of(*id)?].name;
        let column = part.visible_columns().find(|column| column.name == *name);
        column.map(|column| column.id).ok_or_else(|| lacks(part, "a column of its parent"))
    };
    let columns = key.parent_columns.iter().map(own).collect::<Result<Vec<ColumnId>>>()?;
    let index = upper.index(key.parent_index).ok_or_else(|| lacks(upper, "an index"))?;
    let is_part = |own: &&Index| own.part_of == Some(index.id);
    let own = part.all_indexes().find(is_part).ok_or_else(|| lacks(part, "its parent's key"))?;
    let parent_index = own.number;
    Ok(ForeignKey { parent: part.id, parent_columns: columns, parent_index, ..key.clone() })
}

fn lacks(table: &Table, what: &str) -> Error {
    Error::broken(format!("table \"{}\" lacks {what}", table.name))
}

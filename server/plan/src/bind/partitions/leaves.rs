//! The partitions of a table that have rows.

use std::sync::Arc;

use braid_catalog::{KeyPart, PartitionMap, Table};
use braid_types::{Error, Result};

use crate::bind::Binder;
use crate::tree::expr::Slot;
use crate::tree::node::{KeyedLevel, Node, ScannedPartition};

/// A partition with rows.
pub(crate) struct Leaf {
    /// The table.
    pub(crate) table: Arc<Table>,
    /// The partitioned tables above it, up to the one that the statement names.
    levels: Vec<LevelAbove>,
}

/// A partitioned table above another one.
#[derive(Clone)]
struct LevelAbove {
    table: Arc<Table>,
    map: Arc<PartitionMap>,
    place: usize,
}

/// The partitions of a table that have rows, in the order of their bounds. All count as used.
pub(crate) fn leaves_of(binder: &mut Binder<'_>, table: &Arc<Table>) -> Result<Vec<Leaf>> {
    let mut found = Vec::new();
    collect(binder, table, &[], &mut found)?;
    Ok(found)
}

fn collect(
    binder: &mut Binder<'_>,
    table: &Arc<Table>,
    above: &[LevelAbove],
    into: &mut Vec<Leaf>,
) -> Result<()> {
    binder.tables.insert(table.id);
    if table.partitioning.is_none() {
        into.push(Leaf { table: table.clone(), levels: above.to_vec() });
        return Ok(());
    }
    let map = Arc::new(PartitionMap::of(binder.context().catalog, table)?);
    for (place, (id, _)) in map.entries.iter().enumerate() {
        let child = child_of(binder, table, *id)?;
        let mut levels = above.to_vec();
        levels.push(LevelAbove { table: table.clone(), map: map.clone(), place });
        collect(binder, &child, &levels, into)?;
    }
    Ok(())
}

/// A partition of a table.
pub(crate) fn child_of(binder: &Binder<'_>, table: &Table, id: u32) -> Result<Arc<Table>> {
    let missing = || Error::broken(format!("a partition of \"{}\" is missing", table.name));
    binder.context().catalog.table(id).cloned().ok_or_else(missing)
}

impl Leaf {
    /// What a scan of it knows of the keys of its rows.
    pub(crate) fn scanned(&self) -> Arc<ScannedPartition> {
        let level = |above: &LevelAbove| {
            let keys = above.table.partitioning.iter().flat_map(|keys| &keys.keys);
            let places = keys.map_while(|key| match &key.part {
                KeyPart::Column(id) => place_in(&self.table, &above.table.column(*id)?.name),
                KeyPart::Expr(..) => None,
            });
            KeyedLevel { map: above.map.clone(), place: above.place, keys: places.collect() }
        };
        Arc::new(ScannedPartition { levels: self.levels.iter().map(level).collect() })
    }
}

/// The place of a column of that name; keys of indexes that are expressions have none.
pub(crate) fn place_in(table: &Table, name: &str) -> Option<usize> {
    table.column_by_name(name).filter(|place| !table.columns[*place].is_key_expr)
}

/// The slots of a table's columns in the row of another table, whose columns have these slots.
pub(crate) fn slots_by_name(
    binder: &mut Binder<'_>,
    upper: &Table,
    (table, slots): (&Table, &[Slot]),
) -> Vec<Slot> {
    let mut mapped = Vec::with_capacity(upper.columns.len());
    for column in &upper.columns {
        let place = place_in(table, &column.name);
        mapped.push(place.map_or_else(|| binder.slot(), |place| slots[place]));
    }
    mapped
}

/// The slots of a table's columns over a scan of its partitions. Keys of indexes are not among the
/// scanned rows.
pub(crate) fn appended_slots(binder: &mut Binder<'_>, table: &Table, scan: &Node) -> Vec<Slot> {
    let mut given = scan.slots().into_iter();
    let mut slot_of = |is_hidden: bool, binder: &mut Binder<'_>| {
        let given = if is_hidden { None } else { given.next() };
        given.unwrap_or_else(|| binder.slot())
    };
    table.columns.iter().map(|column| slot_of(column.is_key_expr, binder)).collect()
}

//! The place of tables and indexes among partitioned ones.

use std::collections::VecDeque;

use braid_builtins::PartitionTree;
use braid_catalog::{Catalog, Id};

/// A relation that may have partitions: a table, or an index of one.
#[derive(Clone)]
struct Member {
    oid: Id,
    parent: Option<Id>,
    /// The partitions; `None` for a relation that cannot have any.
    partitions: Option<Vec<Id>>,
}

/// The table or index of that number.
fn member(catalog: &Catalog, oid: Id) -> Option<Member> {
    if let Some(table) = catalog.table(oid) {
        let parent = table.partition_of.as_ref().map(|part| part.parent);
        let partitions = table.partitioning.as_ref().map(|keys| keys.partitions.clone());
        return Some(Member { oid, parent, partitions });
    }
    let (table, index) = catalog.index(oid)?;
    let partitions = table.partitioning.as_ref().map(|keys| {
        let tables = keys.partitions.iter().filter_map(|id| catalog.table(*id));
        let parts = tables.flat_map(|table| table.all_indexes());
        parts.filter(|part| part.part_of == Some(oid)).map(|part| part.id).collect()
    });
    Some(Member { oid, parent: index.part_of, partitions })
}

/// The place of a relation; `None` for one that is neither partitioned nor a partition.
pub(super) fn partition_tree(catalog: &Catalog, oid: Id) -> Option<PartitionTree> {
    let start = member(catalog, oid)?;
    if start.parent.is_none() && start.partitions.is_none() {
        return None;
    }
    let mut above = vec![oid];
    let mut next = start.parent;
    while let Some(upper) = next.and_then(|id| member(catalog, id)) {
        above.push(upper.oid);
        next = upper.parent;
    }
    let mut below = Vec::new();
    let mut waiting = VecDeque::from([(start, 0)]);
    while let Some((found, level)) = waiting.pop_front() {
        below.push((found.oid, found.parent, found.partitions.is_none(), level));
        let partitions = found.partitions.iter().flatten();
        let children = partitions.filter_map(|id| member(catalog, *id));
        waiting.extend(children.map(|child| (child, level + 1)));
    }
    Some(PartitionTree { above, below })
}

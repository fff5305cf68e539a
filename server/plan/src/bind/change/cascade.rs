//! Which tables foreign keys may write when rows of one are deleted or change.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;

use braid_catalog::partitions::{leaves, lineage, origin_of_key, references_to};
use braid_catalog::{ColumnId, ForeignKey, ForeignKeyAction, Id, Table, TriggerEvent};
use braid_types::Result;

use super::triggers::{bind_triggers, may_rewrite, updated_places};
use crate::bind::Binder;
use crate::bind::domain::check_column;
use crate::bind::partitions::changes::cascaded_rows;
use crate::bind::partitions::condition::row_checks;
use crate::bind::partitions::leaves::place_in;
use crate::bind::stored::{bind_generated, default_of, index_exprs};
use crate::collate::assign_collations_over;
use crate::layout;
use crate::tree::cascades::{CascadeEffect, CascadeMoves, CascadeStep, CascadeTable, Cascades};
use crate::tree::expr::{Expr, Slot};
use crate::tree::node::{Moves, Node, RowCheck};

/// What a statement may do to rows of a table.
#[derive(Clone, Default)]
pub(crate) struct Change {
    deletes: bool,
    /// Places of the columns that may change.
    updates: BTreeSet<usize>,
}

impl Change {
    /// Rows go.
    pub(crate) fn delete() -> Self {
        Self { deletes: true, updates: BTreeSet::new() }
    }

    /// Columns at these places change, and those that are computed from them; all of them if a
    /// trigger may change the row first.
    pub(crate) fn update(table: &Table, places: impl Iterator<Item = usize>) -> Self {
        let updates = match may_rewrite(table) {
            true => (0..table.columns.len()).collect(),
            false => updated_places(table, places),
        };
        Self { deletes: false, updates }
    }
}

impl Change {
    /// What either of two changes may do.
    pub(crate) fn or(mut self, other: Change) -> Self {
        self.deletes |= other.deletes;
        self.updates.extend(other.updates);
        self
    }
}

fn places(table: &Table, columns: &[ColumnId]) -> Result<Vec<usize>> {
    columns.iter().map(|id| table.place_of(*id)).collect()
}

/// The columns that ON DELETE SET NULL or SET DEFAULT sets.
fn set_places(child: &Table, key: &ForeignKey, deleting: bool) -> Result<Vec<usize>> {
    match deleting && !key.delete_columns.is_empty() {
        true => places(child, &key.delete_columns),
        false => places(child, &key.columns),
    }
}

/// What an action does to the child's rows; `None` if it changes nothing.
fn effect(child: &Table, key: &ForeignKey, deleting: bool) -> Result<Option<CascadeEffect>> {
    let action = if deleting { key.on_delete } else { key.on_update };
    Ok(match action {
        ForeignKeyAction::NoAction | ForeignKeyAction::Restrict => None,
        ForeignKeyAction::Cascade if deleting => Some(CascadeEffect::Delete),
        ForeignKeyAction::Cascade => Some(CascadeEffect::Update(places(child, &key.columns)?)),
        ForeignKeyAction::SetNull | ForeignKeyAction::SetDefault => {
            Some(CascadeEffect::Update(set_places(child, key, deleting)?))
        }
    })
}

/// What foreign keys may do when rows of a table change like this. All tables that are written
/// or looked at count as used.
pub(crate) fn bind_cascades(
    binder: &mut Binder<'_>,
    table: &Arc<Table>,
    change: Change,
) -> Result<Arc<Cascades>> {
    let mut steps: Vec<CascadeStep> = Vec::new();
    let mut waiting = VecDeque::from([(table.clone(), change)]);
    use_neighbours(binder, table)?;
    while let Some((parent, change)) = waiting.pop_front() {
        for (child, key) in cascade_children(binder, &parent)? {
            let referenced = places(&parent, &key.parent_columns)?;
            let updated = referenced.iter().any(|place| change.updates.contains(place));
            for deleting in [true, false] {
                let applies = if deleting { change.deletes } else { updated };
                let Some(effect) = effect(&child, &key, deleting)?.filter(|_| applies) else {
                    continue;
                };
                let known =
                    |step: &CascadeStep| step.foreign_key == key.id && step.effect == effect;
                if steps.iter().any(known) {
                    continue;
                }
                let change = match &effect {
                    CascadeEffect::Delete => Change::delete(),
                    CascadeEffect::Update(places) => Change::update(&child, places.iter().copied()),
                };
                let (foreign_key, name) = (key.id, key.name.clone());
                steps.push(CascadeStep { foreign_key, name, child: child.clone(), effect });
                use_neighbours(binder, &child)?;
                waiting.push_back((child.clone(), change));
            }
        }
    }
    let mut tables: Vec<Arc<CascadeTable>> = Vec::new();
    let mut inserts = Inserts::new();
    for step in &steps {
        if tables.iter().all(|entry| entry.table.id != step.child.id) {
            let of_child = steps.iter().filter(|other| other.child.id == step.child.id);
            tables.push(Arc::new(cascade_table(binder, &step.child, of_child, &mut inserts)?));
        }
    }
    Ok(Arc::new(Cascades { tables, steps }))
}

/// The foreign keys that point at a table, the oldest first.
fn cascade_children(
    binder: &Binder<'_>,
    parent: &Arc<Table>,
) -> Result<Vec<(Arc<Table>, ForeignKey)>> {
    let found = references_to(binder.context().catalog, parent)?;
    Ok(found.into_iter().map(|reference| (reference.child, reference.key)).collect())
}

/// A table is written: the tables at the other ends of its foreign keys must stay as they are.
fn use_neighbours(binder: &mut Binder<'_>, table: &Arc<Table>) -> Result<()> {
    let catalog = binder.context().catalog;
    let mut all: Vec<Id> = vec![table.id];
    for key in &table.foreign_keys {
        all.push(key.parent);
        // The rows of a partitioned table are those of its leaves.
        if let Some(parent) = catalog.table(key.parent).filter(|p| p.partitioning.is_some()) {
            all.extend(leaves(catalog, parent)?.iter().map(|leaf| leaf.id));
        }
    }
    // A foreign key to a table above may come with a change of that table alone.
    all.extend(lineage(catalog, table).iter().map(|upper| upper.id));
    all.extend(references_to(catalog, table)?.iter().map(|reference| reference.child.id));
    binder.tables.extend(all);
    Ok(())
}

/// What the rows of a table need that these steps may write.
fn cascade_table<'s>(
    binder: &mut Binder<'_>,
    table: &Arc<Table>,
    steps: impl Iterator<Item = &'s CascadeStep>,
    inserts: &mut Inserts,
) -> Result<CascadeTable> {
    let (mut events, mut assigned, mut updating) = (Vec::new(), Vec::new(), BTreeSet::new());
    for step in steps {
        match &step.effect {
            CascadeEffect::Delete => events.push(TriggerEvent::Delete),
            CascadeEffect::Update(places) => {
                events.push(TriggerEvent::Update);
                assigned.extend(places.iter().copied());
                updating.insert(step.foreign_key);
            }
        }
    }
    let updated = updated_places(table, assigned.into_iter());
    let slots: Vec<Slot> = table.columns.iter().map(|_| binder.slot()).collect();
    let mut generated = bind_generated(binder, table, &slots)?;
    let mut checks = row_checks(binder, table, &slots)?;
    let may_move = !updating.is_empty() && may_leave(table, &checks, (&slots, &updated));
    if may_move && !events.contains(&TriggerEvent::Delete) {
        // A row that leaves its partition is deleted there.
        events.push(TriggerEvent::Delete);
    }
    let triggers = bind_triggers(binder, table, &events, &updated)?;
    let mut index_exprs = index_exprs(binder, table, &slots)?;
    let mut defaults = Vec::new();
    for key in &table.foreign_keys {
        for place in places(table, &key.columns)? {
            let column = &table.columns[place];
            let value = Expr::Column(slots[place], column.ty.clone());
            // What an action writes becomes a value of the column's domain.
            if let checked @ Expr::Domain(_) = check_column(binder, value, column)? {
                generated.push((place, checked));
            }
        }
        for deleting in [true, false] {
            let action = if deleting { key.on_delete } else { key.on_update };
            if action != ForeignKeyAction::SetDefault {
                continue;
            }
            // A partition's rows get the defaults of the table that has the foreign key.
            let origin = origin_of_key(binder.context().catalog, table, key);
            for place in set_places(table, key, deleting)? {
                if defaults.iter().all(|(known, _)| *known != place) {
                    let own = &table.columns[place];
                    let mut upper = origin.visible_columns();
                    let column = upper.find(|upper| upper.name == own.name).unwrap_or(own);
                    defaults.push((place, default_of(binder, column)?));
                }
            }
        }
    }
    let exprs = generated.iter_mut().map(|(_, e)| e);
    let exprs = exprs.chain(checks.iter_mut().map(|(_, e)| e));
    let exprs = exprs.chain(index_exprs.iter_mut().map(|(_, e)| e));
    for e in exprs.chain(defaults.iter_mut().map(|(_, e)| e)) {
        assign_collations_over(binder, table, &[&slots], e)?;
        layout::layout_expr(e, &slots)?;
    }
    let moves = match may_move {
        true => moves_of(binder, table, &checks, (&updating, inserts))?,
        false => Vec::new(),
    };
    let table = table.clone();
    Ok(CascadeTable { table, generated, checks, index_exprs, defaults, triggers, moves })
}

/// The INSERTs of moved rows, by the partitioned table.
type Inserts = BTreeMap<Id, Arc<Node>>;

/// Whether a change of the columns at these places may take rows out of their partition.
fn may_leave(
    table: &Table,
    checks: &[(RowCheck, Expr)],
    (slots, updated): (&[Slot], &BTreeSet<usize>),
) -> bool {
    let mut read = Vec::new();
    for (_, bound) in checks.iter().filter(|(check, _)| *check == RowCheck::Partition) {
        crate::rules::walk::expr_slots(&mut bound.clone(), &mut read);
        if may_rewrite(table) {
            return true;
        }
    }
    updated.iter().any(|place| read.contains(&slots[*place]))
}

/// Where rows of a partition go that foreign keys take out of it: to the partitions of the table
/// that has the foreign key. `checks` are laid out.
fn moves_of(
    binder: &mut Binder<'_>,
    table: &Arc<Table>,
    checks: &[(RowCheck, Expr)],
    (updating, inserts): (&BTreeSet<Id>, &mut Inserts),
) -> Result<Vec<CascadeMoves>> {
    let bound = checks.iter().find(|(check, _)| *check == RowCheck::Partition);
    let Some((_, stays)) = bound else { return Ok(Vec::new()) };
    let mut moves: Vec<CascadeMoves> = Vec::new();
    for key in table.foreign_keys.iter().filter(|key| updating.contains(&key.id)) {
        let root = origin_of_key(binder.context().catalog, table, key);
        if root.id == table.id {
            continue;
        }
        if let Some(known) = moves.iter_mut().find(|known| known.moves.root == root.id) {
            known.foreign_keys.push(key.id);
            continue;
        }
        let insert = match inserts.get(&root.id) {
            Some(known) => known.clone(),
            None => Arc::new(cascaded_rows(binder, &root)?),
        };
        inserts.insert(root.id, insert.clone());
        let columns = root.columns.iter();
        let places = columns.map(|column| place_in(table, &column.name)).collect();
        let moved = Moves { root: root.id, stays: stays.clone(), places };
        moves.push(CascadeMoves { foreign_keys: vec![key.id], moves: moved, insert });
    }
    Ok(moves)
}

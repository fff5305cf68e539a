//! Whether a DELETE of interleaved rows may be range deletes: its rows, and all that they cascade
//! to, are then exactly the content of some spans of the primary key.
//!
//! ```text
//!   p1  p1#c1  p1#c1#g1  p1#c2  p2 …      DELETE FROM p WHERE id = 1
//!   [──────── one range delete ─────)
//! ```
//!
//! The schema is walked once, while planning; the rows are never looked at. It allows the range
//! delete when every table below cascades from its parent on exactly the interleaved columns, when
//! nothing else points at any of these tables, and when every index entry in the range belongs to
//! a row in the range. Indexes outside of the range are allowed: a scan of the range finds their
//! entries.
//!
//! Rows of a table in which nothing is interleaved may go in the same way
//! ([`Delete::plain_ranges`]); it pays only for many, which is found out when the DELETE runs.

use std::sync::Arc;

use braid_catalog::partitions::{is_referenced, references_to};
use braid_catalog::{
    Catalog, ForeignKey, ForeignKeyAction, Id, Index, IndexNumber, Table, Trigger, TriggerEvent,
    TriggerState,
};
use braid_sql::quote_ident;

use crate::tree::node::{Bound, Node, Scan};
use crate::tree::range::{RangeDelete, Refusal};
use crate::tree::row_change::Delete;

/// What the schema says about range deletes of a table's rows; `None` if nothing is interleaved
/// in it.
pub fn range_delete(
    catalog: &Catalog,
    table: &Arc<Table>,
) -> Option<Result<Arc<RangeDelete>, Refusal>> {
    if table.primary.below.is_empty() {
        return None;
    }
    Some(walk(catalog, table).map(Arc::new))
}

fn constraint(key: &ForeignKey, table: &Table) -> String {
    format!("{} on {}", quote_ident(&key.name), quote_ident(&table.name))
}

/// A table that moves, or below which one does, refuses.
fn refuse_moving(catalog: &Catalog, owner: &Arc<Table>) -> Result<(), Refusal> {
    // Keys rarely pass; only then all tables are looked through.
    let moving = match (&owner.moving, owner.primary.passing.is_empty()) {
        (Some(_), _) => Some(owner),
        (None, true) => None,
        (None, false) => catalog.interleaving().moving_below(owner.id),
    };
    match moving {
        Some(moving) => Err(Refusal::of("moving", quote_ident(&moving.name))),
        None => Ok(()),
    }
}

fn walk(catalog: &Catalog, table: &Arc<Table>) -> Result<RangeDelete, Refusal> {
    let all = catalog.interleaving().below(table);
    for owner in std::iter::once(table).chain(all.iter().map(|(table, _)| table)) {
        refuse_moving(catalog, owner)?;
    }
    for owner in std::iter::once(table).chain(all.iter().map(|(table, _)| table)) {
        // The key of an entry is not part of the row, so the row has to be looked at.
        let has_exprs = |index: &&Index| index.keys.iter().any(|key| owner.is_key_expr(key.column));
        if let Some(index) = owner.indexes.iter().find(has_exprs) {
            return Err(Refusal::of("index", quote_ident(&index.name)));
        }
    }
    let is_table = |(table, number): &&(Arc<Table>, IndexNumber)| *number == table.primary.number;
    let below: Vec<Arc<Table>> =
        all.iter().filter(is_table).map(|(table, _)| table.clone()).collect();
    let mut cascading: Vec<Id> = Vec::with_capacity(below.len());
    for child in &below {
        refuse_triggers(child)?;
        cascading.push(cascade(catalog, child)?.id);
    }
    for (owner, number) in all.iter().filter(|entry| !is_table(entry)) {
        let goes = owner.id == table.id || below.iter().any(|child| child.id == owner.id);
        let Some(index) = owner.index(*number) else {
            debug_assert!(false, "table \"{}\" has no index {number}", owner.name);
            return Err(Refusal::of("index", quote_ident(&owner.name)));
        };
        // An entry is in the range of its row only if both begin with the same columns.
        let count = table.primary.keys.len();
        let begins = |keys: &[braid_catalog::IndexKey]| {
            keys.iter().take(count).map(|part| part.column).collect::<Vec<_>>()
        };
        if !goes || begins(&index.keys) != begins(&owner.primary.keys) {
            return Err(Refusal::of("index", quote_ident(&index.name)));
        }
    }
    for parent in std::iter::once(table).chain(&below) {
        let Ok(references) = references_to(catalog, parent) else {
            debug_assert!(false, "a table that refers to \"{}\" is missing", parent.name);
            return Err(Refusal::of("foreign_key", quote_ident(&parent.name)));
        };
        let mut references = references.iter();
        if let Some(found) = references.find(|found| !cascading.contains(&found.key.id)) {
            return Err(Refusal::of("foreign_key", constraint(&found.key, &found.child)));
        }
    }
    let inside = |table: &Table, number: IndexNumber| {
        all.iter().any(|(owner, known)| owner.id == table.id && *known == number)
    };
    let outside = std::iter::once(table).chain(&below).map(|owner| {
        let numbers = owner.indexes.iter().map(|index| index.number);
        (owner.clone(), numbers.filter(|number| !inside(owner, *number)).collect::<Vec<_>>())
    });
    let outside = outside.filter(|(_, numbers)| !numbers.is_empty()).collect();
    Ok(RangeDelete { below, outside })
}

/// A table whose triggers fire for rows that are deleted refuses.
fn refuse_triggers(table: &Table) -> Result<(), Refusal> {
    let fires = |trigger: &&Trigger| {
        trigger.state != TriggerState::Disabled && trigger.is_for(TriggerEvent::Delete)
    };
    match table.triggers.iter().find(fires) {
        Some(trigger) => {
            let (name, table) = (quote_ident(&trigger.name), quote_ident(&table.name));
            Err(Refusal::of("trigger", format!("{name} on {table}")))
        }
        None => Ok(()),
    }
}

/// The foreign key by which a table's rows go with those of its parent.
fn cascade<'c>(catalog: &Catalog, child: &'c Table) -> Result<&'c ForeignKey, Refusal> {
    let name = quote_ident(&child.name);
    let Some(parent) = child.primary.parent().and_then(|parent| catalog.table(parent)) else {
        debug_assert!(false, "the parent of interleaved table \"{}\" is missing", child.name);
        return Err(Refusal::of("no_cascade", name));
    };
    let parent_keys = &parent.primary.keys;
    let columns = &child.primary.keys[..child.primary.columns_above()];
    let fits = |key: &&ForeignKey| {
        Some(key.parent) == child.primary.parent()
            && key.parent_index == 1
            && key.columns.len() == columns.len()
            && columns.iter().zip(parent_keys).all(|(part, parent_part)| {
                let mut pairs = key.columns.iter().zip(&key.parent_columns);
                pairs.any(|pair| pair == (&part.column, &parent_part.column))
            })
            && key.on_delete == ForeignKeyAction::Cascade
    };
    let Some(key) = child.foreign_keys.iter().find(fits) else {
        return Err(Refusal::of("no_cascade", name));
    };
    if key.deferrable {
        return Err(Refusal::of("deferrable", constraint(key, child)));
    }
    if !key.validated || key.unfinished {
        return Err(Refusal::of("not_validated", constraint(key, child)));
    }
    Ok(key)
}

impl Delete {
    /// The scan whose spans are the rows of the DELETE with all rows below them, and what
    /// the schema says; `None` if nothing is interleaved in the table.
    pub fn ranges(&self, enabled: bool) -> Option<Result<(&Scan, &Arc<RangeDelete>), Refusal>> {
        let range = match self.range.as_ref()? {
            Ok(range) => range,
            Err(refusal) => return Some(Err(refusal.clone())),
        };
        let refused = |word| Some(Err(Refusal { word, object: None }));
        if !enabled {
            return refused("off");
        }
        if !self.returning.is_empty() {
            return refused("returning");
        }
        match &self.input {
            Node::Scan(scan) if is_all_of_spans(scan, &self.table) => Some(Ok((scan, range))),
            _ => refused("condition"),
        }
    }
}

impl Delete {
    /// The same for a table in which nothing is interleaved: the scan, if its spans have exactly
    /// the rows of the DELETE. Whether they are many is not known here.
    pub fn plain_ranges(&self, catalog: &Catalog, enabled: bool) -> Option<(&Scan, RangeDelete)> {
        let table = &self.table;
        let primary = &table.primary;
        let is_plain = self.range.is_none()
            && primary.interleaving.is_none()
            && primary.passing.is_empty()
            && !is_referenced(catalog, table)
            && table.moving.is_none()
            && self.triggers.needing_rows(TriggerEvent::Delete).is_none()
            && !table.indexes.iter().any(|i| i.keys.iter().any(|k| table.is_key_expr(k.column)));
        let Node::Scan(scan) = &self.input else { return None };
        let bounds = &scan.access.bounds;
        let is_row = bounds.len() == primary.keys.len() && bounds.iter().all(Bound::is_of_values);
        if !enabled || !is_plain || is_row || !self.returning.is_empty() {
            return None;
        }
        let is_whole = bounds.is_empty();
        let apart = |index: &&Index| !is_whole || index.interleaving.is_some();
        let numbers: Vec<_> = table.indexes.iter().filter(apart).map(|i| i.number).collect();
        let outside = (!numbers.is_empty()).then(|| (table.clone(), numbers));
        let range = RangeDelete { below: Vec::new(), outside: outside.into_iter().collect() };
        is_all_of_spans(scan, table).then_some((scan, range))
    }
}

/// Whether a scan gives every row of its spans, and these hold no rows from above.
fn is_all_of_spans(scan: &Scan, table: &Table) -> bool {
    let above = table.primary.columns_above();
    let is_range = |bound: &Bound| !bound.is_of_values();
    scan.table.id == table.id
        && scan.access.index == table.primary.number
        && scan.access.limit.is_none()
        && scan.access.offset.is_none()
        && scan.filter.is_empty()
        && !scan.unrecorded
        && scan.access.bounds.len() >= above
        && !scan.access.bounds.iter().take(above).any(is_range)
}

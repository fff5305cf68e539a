//! What foreign keys read and write behind a change: checks of children, and cascades, level by
//! level.
//!
//! As far as the key that goes is known, so are the foreign key's columns of the children that
//! follow it, and what these are in turn referred to by. Where that ends, or where a cycle closes,
//! whole indexes are taken.

use std::sync::Arc;

use braid_catalog::partitions::references_to;
use braid_catalog::{ForeignKey, ForeignKeyAction, Table};
use braid_plan::Cascades;
use braid_rows::ForeignKeyValues;
use braid_types::Datum;

use crate::predict::collector::SpanCollector;
use crate::predict::keys::{child_span, entry_span, parent_span, places, with_generated};
use crate::predict::values::Known;

/// The most rows of one statement whose cascades are followed by their keys.
const ROWS_MAX: usize = 256;
/// The most steps of cascades that are followed by their keys.
const STEPS_MAX: usize = 4096;

/// What is known of the values of children that point at a parent with these values.
fn values_for_child(key: &ForeignKeyValues, values: &[Known]) -> Vec<Known> {
    let own = |(i, value): (usize, &Known)| key.value_for_child(i, value.as_ref()?);
    values.iter().enumerate().map(own).collect()
}

impl<'a> SpanCollector<'a> {
    /// The defaults that SET DEFAULT computes may depend on time or order.
    pub(crate) fn defaults(&mut self, cascades: &'a Cascades) {
        for (_, e) in cascades.tables.iter().flat_map(|table| &table.defaults) {
            self.expr(e);
        }
    }

    /// Children of rows that go, or change in these columns.
    pub(crate) fn children(
        &mut self,
        table: &Arc<Table>,
        rows: Option<&[Vec<Known>]>,
        changed: Option<&[usize]>,
    ) {
        let catalog = self.values.cx.catalog.clone();
        let deleting = changed.is_none();
        let references = self.intact(references_to(&catalog, table));
        for reference in references.into_iter().flatten() {
            let (child, foreign_key) = (&reference.child, &reference.key);
            let referenced = places(table, &foreign_key.parent_columns);
            if changed.is_some_and(|changed| !referenced.iter().any(|p| changed.contains(p))) {
                continue;
            }
            let both = ForeignKeyValues::new(child, table, foreign_key);
            let index = both.index(child, foreign_key);
            let unknown = [vec![None; table.columns.len()]];
            for row in rows.unwrap_or(&unknown) {
                let values: Vec<Known> = referenced.iter().map(|p| row[*p].clone()).collect();
                // Whether the key is still there, and who points at it.
                self.reads.extend(parent_span(table, foreign_key, &values));
                let values = values_for_child(&both, &values);
                self.reads.push(child_span(child, foreign_key, index, &values));
            }
            let action = if deleting { foreign_key.on_delete } else { foreign_key.on_update };
            if matches!(action, ForeignKeyAction::NoAction | ForeignKeyAction::Restrict) {
                continue;
            }
            let followed = rows.filter(|rows| rows.len() <= ROWS_MAX).unwrap_or(&unknown);
            for row in followed {
                let values: Vec<Known> = referenced.iter().map(|p| row[*p].clone()).collect();
                let values = values_for_child(&both, &values);
                self.cascade(child, foreign_key, deleting, action, values);
            }
        }
    }

    /// What an action does to the children of a key.
    fn cascade(
        &mut self,
        child: &Arc<Table>,
        foreign_key: &ForeignKey,
        deleting: bool,
        action: ForeignKeyAction,
        values: Vec<Known>,
    ) {
        let state = &mut self.cascades;
        state.steps += 1;
        let closes = state.path.contains(&foreign_key.id) || state.steps > STEPS_MAX;
        let is_known = !closes && values.iter().any(Option::is_some);
        let step = (foreign_key.id, deleting);
        if state.whole.contains(&step) {
            return;
        }
        if !is_known {
            state.whole.insert(step);
        }
        let own = places(child, &foreign_key.columns);
        let mut row: Vec<Known> = vec![None; child.columns.len()];
        if is_known {
            for (place, value) in own.iter().zip(values) {
                row[*place] = value;
            }
        }
        self.cascades.path.push(foreign_key.id);
        // The rows themselves are locked and read.
        let span = entry_span(child, &child.primary, &row);
        self.reads.push(span.clone());
        self.writes.push(span);
        if action == ForeignKeyAction::Cascade && deleting {
            for index in &child.indexes {
                self.writes.push(entry_span(child, index, &row));
            }
            self.children(child, Some(&[row]), None);
        } else {
            let set = match deleting && !foreign_key.delete_columns.is_empty() {
                true => places(child, &foreign_key.delete_columns),
                false => own,
            };
            let mut new: Vec<Known> = vec![None; child.columns.len()];
            if action == ForeignKeyAction::SetNull {
                set.iter().for_each(|place| new[*place] = Some(Datum::Null));
            }
            let changed = with_generated(child, set);
            self.replaced(child, &changed, true);
            let key = child.primary.keys.iter().filter_map(|part| child.column(part.column));
            let moves = key
                .into_iter()
                .any(|column| changed.iter().any(|place| child.columns[*place].id == column.id));
            self.parents_of(child, &new, (!moves).then_some(&changed[..]));
            self.children(child, Some(&[row]), Some(&changed));
        }
        self.cascades.path.pop();
    }
}

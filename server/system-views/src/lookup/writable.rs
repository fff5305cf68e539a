//! What may be changed in a relation: `pg_relation_is_updatable` and `pg_column_is_updatable`.

use std::sync::Arc;

use braid_builtins::Writable;
use braid_catalog::{Catalog, Relation, TriggerEvent, TriggerTiming, View, WritableView};

/// What may be changed in a relation; `None` for one that is not there, or has no rows of its own
/// to change. With `triggers` also what `INSTEAD OF` triggers carry out.
pub(super) fn writable(catalog: &Catalog, oid: u32, triggers: bool) -> Option<Writable> {
    match catalog.relation(oid)? {
        Relation::Table(table) if table.materialized.is_none() => Some(Writable::ALL),
        Relation::View(view) => Some(of_view(catalog, &view, triggers)),
        _ => None,
    }
}

fn of_view(catalog: &Catalog, view: &Arc<View>, triggers: bool) -> Writable {
    let by_trigger = |event| {
        let mut instead = view.triggers.iter();
        triggers && instead.any(|t| t.timing == TriggerTiming::InsteadOf && t.is_for(event))
    };
    let mut found = Writable {
        insert: by_trigger(TriggerEvent::Insert),
        update: by_trigger(TriggerEvent::Update),
        delete: by_trigger(TriggerEvent::Delete),
        columns: Vec::new(),
    };
    let columns = match WritableView::open(catalog, view, &braid_builtins::makes_other_rows) {
        Ok(simple) => {
            let has_column = simple.check_columns().is_ok();
            found.insert |= has_column;
            found.update |= has_column;
            found.delete = true;
            simple.written.iter().map(Option::is_some).collect()
        }
        Err(_) => vec![false; view.columns.len()],
    };
    let by_trigger = by_trigger(TriggerEvent::Update) && found.delete;
    let columns = (1..).zip(columns).filter(|(_, is_own)| *is_own || by_trigger);
    found.columns = columns.map(|(number, _)| number).collect();
    found
}

//! The values of expressions that wait for nothing.

use std::sync::Arc;

use braid_types::{Datum, Result};

use crate::interpret::state::Run;
use crate::plpgsql::Sql;
use crate::query::Signature;
use crate::simple::{Prepared, Simple};

/// Whether the catalog and the settings are those of the context.
pub(in crate::interpret) fn is_settled(run: &mut Run<'_>) -> bool {
    run.is_settled = run.is_settled || !run.cx.is_outdated();
    run.is_settled
}

/// The expression, if its value waits for nothing. An error of binding is left to the way that
/// waits. The context must be settled.
#[inline]
pub(super) fn simple<'r>(run: &'r mut Run<'_>, sql: &Sql) -> Option<&'r Arc<Simple>> {
    let changes = run.frame.type_changes;
    let is_ready = matches!(
        run.prepared.get(sql.number),
        Some(Some(prepared)) if prepared.type_changes == changes
    );
    if !is_ready {
        prepare(run, sql)?;
    }
    run.prepared.get(sql.number)?.as_ref()?.simple.as_ref()
}

#[cold]
fn prepare(run: &mut Run<'_>, sql: &Sql) -> Option<()> {
    let types = run.frame.types.as_slice();
    let simple = match sql.only {
        Some(slot) => Some(Arc::new(Simple::variable(slot, types[slot].clone()))),
        None => {
            let (numbered, variables) = (run.code.parameters, Some(&*sql.variables));
            let signature = Signature { types, numbered, variables };
            run.code.statement(sql).ok()?.simple(&run.cx, signature).ok()?
        }
    };
    if run.prepared.is_empty() {
        run.prepared.resize_with(run.code.body.pieces, || None);
    }
    let type_changes = run.frame.type_changes;
    *run.prepared.get_mut(sql.number)? = Some(Prepared { simple, type_changes });
    Some(())
}

/// The value of an expression at once; `None` if it waits.
pub(in crate::interpret) fn now(
    run: &mut Run<'_>,
    sql: &Sql,
) -> Option<(Arc<Simple>, Result<Datum>)> {
    let simple = simple(run, sql)?.clone();
    run.frame.show(&simple.reads);
    let value = simple.value(&run.cx, &run.frame.values);
    Some((simple, value))
}

//! Computed fields: `t.f` and `(t).f` as calls `f(t)` of functions of users that take the row.

use braid_sql::ast::{Ident, ObjectName};
use braid_types::{Error, Result};

use super::call::{call_of, check_call, check_clause, routines_named};
use super::choose::{Chosen, Written, choose};
use super::inline::{inline, place_of_inlined};
use crate::bind::Binder;
use crate::bind::refusals::NoStoredForm;
use crate::bind::scope::context::ExprCx;
use crate::tree::expr::Expr;

/// The name as that of a function.
fn function_of(name: &str) -> ObjectName {
    ObjectName::from(vec![Ident::with_quote('"', name)])
}

/// Whether a function of users may have that name, so that it is worth while to build the row.
pub(crate) fn may_compute_field(binder: &Binder<'_>, name: &str) -> bool {
    !binder.is_stored && !routines_named(binder, &function_of(name)).is_empty()
}

/// The call of the function that has the name of a field and takes the row as its one argument;
/// `None` if there is none. 0A000 where only what has a stored form may stand.
pub(crate) fn computed_field(
    binder: &mut Binder<'_>,
    row: &Expr,
    name: &str,
    cx: &ExprCx<'_, '_>,
) -> Result<Option<Expr>> {
    let mut found = routines_named(binder, &function_of(name));
    found.retain(|known| known.aggregate.is_none() && !known.is_procedure && !known.returns_set);
    let types = [row.ty()];
    let written = Written { types: &types, names: &[], is_variadic: false };
    let Chosen::One(chosen) = choose(&found, &written) else { return Ok(None) };
    if binder.notes.is_some() {
        let message = format!("row.{name} as a call of a function");
        return Err(Error::unsupported(message).caused_by(NoStoredForm));
    }
    let shown = format!("{name}({})", types[0].bare().display_name());
    check_call(binder, (chosen.routine, &shown), false)?;
    check_clause(binder, cx)?;
    let calls_routine = binder.calls_routine;
    let call = call_of(binder, &chosen, vec![row.clone()], &types)?;
    match place_of_inlined(cx.clause) {
        Some(place) => {
            binder.calls_routine = calls_routine;
            inline(binder, call, place).map(Some)
        }
        None => call.into_expr(binder).map(Some),
    }
}

//! Functions in SQL in what an index is made of: the body stands in the place of the call.
//!
//! Keys and conditions of indexes are computed for each row that is written, and no query can run
//! there. So the body has to be one expression over the parameters:
//!
//! ```text
//! CREATE FUNCTION is_open(state text) RETURNS bool IMMUTABLE RETURN state <> 'closed'
//! CREATE UNIQUE INDEX ON ticket (id) WHERE is_open(state)   ──►   WHERE state <> 'closed'
//! ```

use braid_catalog::{Language, ParameterMode, Routine, RoutineVolatility};
use braid_sql::ast::{Expr as Ast, Query, SelectItem, SetExpr, Statement};
use braid_types::{Error, Result, SqlType};

use super::call::FoundCall;
use crate::bind::Binder;
use crate::bind::expr::operators::coerce_argument;
use crate::bind::expr::scalar::bind_expr;
use crate::bind::scope::columns::{Scope, ScopeColumn, Scopes};
use crate::bind::scope::context::{ExprCx, IN_INDEX_FUNCTION};
use crate::bind::scope::places::without_places;
use crate::tree::expr::{Expr, Slot};

/// What calls of functions of users stand in, if they are replaced by the function's body.
pub(super) fn place_of_inlined(clause: &str) -> Option<&'static str> {
    match clause {
        "index expressions" => Some("an index expression"),
        "index predicates" => Some("an index predicate"),
        _ => None,
    }
}

/// The value of a function's only expression for the arguments of a call; 0A000 for a function
/// that has more than that.
pub(super) fn inline(binder: &mut Binder<'_>, call: FoundCall, place: &str) -> Result<Expr> {
    let refused = || Error::unsupported(format!("a function of a user in {place}"));
    let FoundCall { routine, args, ty } = call;
    if !is_plain(&routine) {
        let hint = "A function in SQL works there if it is IMMUTABLE, and its body one expression.";
        return Err(refused().hint(hint));
    }
    let parsed = braid_sql::parse(&routine.body).map_err(Error::without_position)?;
    let [statement] = parsed.as_slice() else { return Err(refused()) };
    let ast = match &statement.statement {
        Statement::Query(query) => only_expression(query).ok_or_else(refused)?,
        _ => return Err(refused()),
    };
    let slots: Vec<Slot> = args.iter().map(|_| binder.slot()).collect();
    let scope = parameters(&routine, &args, &slots);
    let types = args.iter().map(Expr::ty).collect();
    let bound = bind_body(binder, ast, &scope, types).and_then(|e| coerce_argument(binder, e, &ty));
    let name = &routine.name;
    let mut bound = bound.map_err(|error| error.context(format!("SQL function \"{name}\"")))?;
    put_arguments(&mut bound, &slots, &args);
    Ok(bound)
}

/// Whether a function's result depends on its arguments alone, however it is called.
fn is_plain(routine: &Routine) -> bool {
    routine.language == Language::Sql
        && routine.volatility == RoutineVolatility::Immutable
        && !routine.strict
        && !routine.security_definer
        && routine.settings.is_empty()
        && !routine.is_polymorphic()
        && routine.result_domain.is_none()
        && routine.parameters.iter().all(|parameter| parameter.mode == ParameterMode::In)
}

/// The expression of `SELECT expression` without anything else.
fn only_expression(query: &Query) -> Option<&Ast> {
    let SetExpr::Select(select) = &*query.body else { return None };
    let [item] = select.projection.as_slice() else { return None };
    let (SelectItem::UnnamedExpr(ast) | SelectItem::ExprWithAlias { expr: ast, .. }) = item else {
        return None;
    };
    (query.to_string() == format!("SELECT {item}")).then_some(ast)
}

/// The parameters as columns, so that names find them.
fn parameters(routine: &Routine, args: &[Expr], slots: &[Slot]) -> Scope {
    let columns = routine.inputs().zip(args).zip(slots).filter_map(|((parameter, arg), slot)| {
        Some(ScopeColumn {
            table: routine.name.clone(),
            schema: None,
            name: parameter.name.clone()?,
            slot: *slot,
            ty: arg.ty(),
            hidden: false,
            merged: false,
            is_row: false,
            origin: (0, 0),
            item: (0, 0),
        })
    });
    Scope { columns: columns.collect(), ..Scope::default() }
}

/// Binds the body, whose numbered parameters have these types.
fn bind_body(
    binder: &mut Binder<'_>,
    ast: &Ast,
    scope: &Scope,
    types: Vec<SqlType>,
) -> Result<Expr> {
    let notes = binder.notes.take();
    let variables = binder.cx.variables.take();
    let is_stored = std::mem::replace(&mut binder.is_stored, false);
    let params = std::mem::replace(&mut binder.params, types);
    let mut cx = ExprCx::plain(Scopes { scope, parent: None }, IN_INDEX_FUNCTION);
    let bound = without_places(binder, |this| bind_expr(this, ast, &mut cx));
    binder.params = params;
    binder.is_stored = is_stored;
    binder.cx.variables = variables;
    binder.notes = notes;
    bound
}

/// Puts the arguments in the place of the parameters.
fn put_arguments(e: &mut Expr, slots: &[Slot], args: &[Expr]) {
    let place = match e {
        Expr::Column(slot, _) => slots.iter().position(|known| known == slot),
        Expr::Param(place, _) => Some(*place),
        _ => return e.for_each_child_mut(&mut |child| put_arguments(child, slots, args)),
    };
    if let Some(arg) = place.and_then(|place| args.get(place)) {
        *e = arg.clone();
    }
}

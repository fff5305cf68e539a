//! The counts of LIMIT, OFFSET and FETCH. They may read columns of outer queries, but none of their
//! own query: there is no row to take it from.

use braid_sql::ast::{Expr as Ast, SetExpr};
use braid_types::cast::{CastContext, context};
use braid_types::{Datum, Error, Result, SqlState, SqlType};

use crate::bind::Binder;
use crate::bind::expr::operators::coerce;
use crate::bind::expr::scalar::bind_expr;
use crate::bind::from::items::bind_from;
use crate::bind::from::range_table::in_range;
use crate::bind::scope::columns::{Scope, Scopes};
use crate::bind::scope::context::ExprCx;
use crate::bind::scope::places::start_of;
use crate::rules::walk;
use crate::tree::expr::Expr;

/// A count of rows; `None` for ALL and NULL, which are no limit. `body` is the query that the
/// count belongs to.
pub(super) fn bind_count(
    binder: &mut Binder<'_>,
    ast: Option<&Ast>,
    clause: &'static str,
    (body, parent): (&SetExpr, Option<&Scopes<'_>>),
) -> Result<Option<Expr>> {
    let Some(ast) = ast else { return Ok(None) };
    if matches!(ast, Ast::Identifier(ident) if ident.value.eq_ignore_ascii_case("all")) {
        return Ok(None);
    }
    if !braid_sql::column_names(ast).is_empty() {
        refuse_own_columns(binder, ast, clause, (body, parent))?;
    }
    let scope = Scope::default();
    let scopes = Scopes { scope: &scope, parent };
    let e = bind_expr(binder, ast, &mut ExprCx::plain(scopes, clause))?;
    let e = coerce_to_count(binder, e, clause).map_err(|error| error.position(start_of(ast)))?;
    match e {
        Expr::Const(Datum::Null, _) => Ok(None),
        e => Ok(Some(e)),
    }
}

/// A number of rows as a bigint; 42804 for what is none.
pub(crate) fn coerce_to_count(binder: &mut Binder<'_>, e: Expr, clause: &str) -> Result<Expr> {
    let given = e.ty();
    if given != SqlType::Unknown
        && context(&given, &SqlType::Int8).is_none_or(|context| context == CastContext::Explicit)
    {
        let name = given.display_name();
        let message = format!("argument of {clause} must be type bigint, not type {name}");
        return Err(Error::new(SqlState::DatatypeMismatch, message));
    }
    coerce(binder, e, &SqlType::Int8, CastContext::Assignment)
}

/// 42P10 if a count reads a column of its own query. Binds FROM once more to know them.
fn refuse_own_columns(
    binder: &mut Binder<'_>,
    ast: &Ast,
    clause: &'static str,
    (body, parent): (&SetExpr, Option<&Scopes<'_>>),
) -> Result<()> {
    let SetExpr::Select(select) = body else { return Ok(()) };
    let notes = binder.notes.take();
    let locks = std::mem::take(&mut binder.from_locks);
    let since = binder.places.columns_bound();
    let bound = in_range(binder, |this| {
        let (_, scope) = bind_from(this, &select.from, parent)?;
        let scopes = Scopes { scope: &scope, parent };
        let e = bind_expr(this, ast, &mut ExprCx::plain(scopes, clause))?;
        Ok((e, scope))
    });
    binder.notes = notes;
    binder.from_locks = locks;
    let (mut e, scope) = bound?;
    let mut read = Vec::new();
    walk::expr_slots(&mut e, &mut read);
    let own = read.into_iter().filter(|slot| scope.columns.iter().any(|c| c.slot == *slot));
    let Some(place) = own.map(|slot| binder.places.column_place(slot, since)).min() else {
        return Ok(());
    };
    let message = format!("argument of {clause} must not contain variables");
    Err(Error::new(SqlState::InvalidColumnReference, message).position(place))
}

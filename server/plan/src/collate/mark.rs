//! The mark of `COLLATE` in bound expressions.

use braid_sql::ast::{Expr as Ast, ObjectName};
use braid_types::cast::CastContext;
use braid_types::{Datum, Error, Result, SqlState, SqlType};

use super::collation::collation_named;
use super::is_collatable;
use crate::bind::{Binder, ExprCx, bind_expr, coerce};
use crate::tree::expr::{CallExpr, Expr};

/// `COLLATE`, as a mark that is taken away when the whole statement is bound.
pub(crate) fn bind_collate(
    binder: &mut Binder<'_>,
    ast: &Ast,
    name: &ObjectName,
    cx: &mut ExprCx<'_, '_>,
) -> Result<Expr> {
    let value = bind_expr(binder, ast, cx)?;
    let value = match value.ty() {
        SqlType::Unknown => coerce(binder, value, &SqlType::Text, CastContext::Implicit)?,
        _ => value,
    };
    let ty = value.ty();
    if !is_collatable(&ty) {
        let message = format!("collations are not supported by type {}", ty.plain_name());
        return Err(Error::new(SqlState::DatatypeMismatch, message));
    }
    let collation = collation_named(binder.context().catalog, binder.context().path, name)?;
    if collation.icu.is_some() && *ty.innermost() == SqlType::Citext {
        return Err(Error::unsupported("a collation of ICU for citext"));
    }
    binder.has_collate = true;
    let types = vec![SqlType::Text, SqlType::Text];
    let function = braid_builtins::resolve_function("braid_collate", &types)?.function;
    let args = vec![value, Expr::Const(Datum::text(&*collation.stored), SqlType::Text)];
    Ok(Expr::Call(Box::new(CallExpr { function, args, types, spread: false, returns: ty })))
}

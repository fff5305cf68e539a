//! The mark of `COLLATE` in bound expressions.

use braid_sql::ast::ObjectName;
use braid_types::{Datum, Error, Result, SqlState, SqlType};

use super::collation::{collation_named, is_collatable};
use crate::bind::Binder;
use crate::tree::expr::{CallExpr, Expr};

/// A value with `COLLATE`, as a mark that is taken away when the whole statement is bound.
pub(crate) fn mark(value: Expr, binder: &mut Binder<'_>, name: &ObjectName) -> Result<Expr> {
    let value = match value {
        Expr::Const(datum, SqlType::Unknown) => Expr::Const(datum, SqlType::Text),
        Expr::Param(place, SqlType::Unknown) => {
            if let Some(ty) = binder.params.get_mut(place) {
                *ty = SqlType::Text;
            }
            Expr::Param(place, SqlType::Text)
        }
        value => value,
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

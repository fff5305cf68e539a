//! Array constructors, subscripts, and assignment to parts of columns.
//!
//! All subscripts that follow each other belong to one array: `a[1][2]` is one expression.

use braid_catalog::Column;
use braid_sql::ast::{AccessExpr, Expr as Ast, Subscript, TargetColumn};
use braid_sql::offset_of;
use braid_types::array::{DIMENSIONS_MAX, too_many_dimensions};
use braid_types::cast::{CastContext, NoCast};
use braid_types::{Datum, Error, Result, SqlState, SqlType};

use super::modified::{coerce_modified, json_element, json_key, no_json_slices};
use super::operators::{coerce, unify};
use super::scalar::{bind_expr, bind_exprs, call_function};
use crate::bind::Binder;
use crate::bind::refusals::WrongPart;
use crate::bind::scope::context::ExprCx;
use crate::bind::scope::places::start_of;
use crate::tree::expr::Expr;
use crate::tree::subscript::{Place, SubscriptExpr};

/// A part of a column that is assigned.
pub(crate) enum Part {
    /// An element or a slice of an array.
    Array(Vec<Place>),
    /// A value inside of a jsonb: its path, and whether the first step is a place in an array.
    Json(Vec<Expr>, bool),
}

impl Part {
    /// The type of the value, given that of the column.
    pub(crate) fn wanted(&self, column: &SqlType) -> SqlType {
        match (self, column) {
            (Part::Array(places), SqlType::Array(element)) => match places.first() {
                Some(Place::Element(_)) => (**element).clone(),
                _ => column.clone(),
            },
            _ => column.clone(),
        }
    }
}

/// `ARRAY[…]::type[]`, whose elements are cast one by one, so that it may be empty.
pub(crate) fn cast_operand(
    binder: &mut Binder<'_>,
    e: &Ast,
    to: &SqlType,
    cx: &mut ExprCx<'_, '_>,
) -> Result<Expr> {
    let (Ast::Array(array), SqlType::Array(element)) = (e, to) else {
        return bind_expr(binder, e, cx);
    };
    let mut items = Vec::with_capacity(array.elem.len());
    for item in &array.elem {
        items.push(cast_operand(binder, item, to, cx)?);
        if matches!(item, Ast::Array(_)) {
            binder.note_type(item, || to.clone());
        }
    }
    let has_arrays = items.iter().any(|item| matches!(item.ty(), SqlType::Array(_)));
    let wanted = if has_arrays { to } else { &**element };
    let items = items
        .into_iter()
        .map(|item| coerce(binder, item, wanted, CastContext::Explicit))
        .collect::<Result<Vec<_>>>()?;
    Ok(Expr::Array(items, wanted.clone()))
}

pub(crate) fn bind_array(
    binder: &mut Binder<'_>,
    items: &[Ast],
    cx: &mut ExprCx<'_, '_>,
) -> Result<Expr> {
    if items.is_empty() {
        return Err(Error::new(
            SqlState::IndeterminateDatatype,
            "cannot determine type of empty array",
        )
        .hint("Explicitly cast to the desired type, for example ARRAY[]::integer[]."));
    }
    let items = bind_exprs(binder, items, cx)?;
    let (items, element) = unify(binder, items, "ARRAY")?;
    Ok(Expr::Array(items, element))
}

/// `value[i][j]` or `value[l:u]`.
pub(crate) fn bind_subscripts(
    binder: &mut Binder<'_>,
    value: Expr,
    chain: &[AccessExpr],
    cx: &mut ExprCx<'_, '_>,
) -> Result<Expr> {
    let ty = value.ty();
    if ty == SqlType::Jsonb {
        let keys = json_keys(binder, chain, cx)?.0;
        return keys.into_iter().try_fold(value, |value, key| json_element(binder, value, key));
    }
    if ty == SqlType::Name {
        return name_letter(binder, value, chain, cx);
    }
    let Some(element) = ty.element().cloned() else { return Err(no_subscripts(&ty)) };
    let places = subscript_places(binder, chain, cx)?;
    let is_slice = matches!(places.first(), Some(Place::Slice(..)));
    // A slice of a vector is an array.
    let ty = if is_slice { element.array() } else { element };
    let part = SubscriptExpr { array: value, places, assigned: None, ty };
    Ok(Expr::Subscript(Box::new(part)))
}

/// A subscript of a name, whose elements are its bytes.
fn name_letter(
    binder: &mut Binder<'_>,
    value: Expr,
    chain: &[AccessExpr],
    cx: &mut ExprCx<'_, '_>,
) -> Result<Expr> {
    let mut places = subscript_places(binder, chain, cx)?;
    match (places.pop(), places.is_empty()) {
        (Some(Place::Element(index)), true) => {
            call_function(binder, "braid_name_letter", vec![value, index])
        }
        _ => Err(Error::new(
            SqlState::FeatureNotSupported,
            "slices of fixed-length arrays not implemented",
        )),
    }
}

/// The subscripts of an array: with one slice among them all are slices, from 1 where only one
/// bound is written.
fn subscript_places(
    binder: &mut Binder<'_>,
    chain: &[AccessExpr],
    cx: &mut ExprCx<'_, '_>,
) -> Result<Vec<Place>> {
    if chain.len() > DIMENSIONS_MAX {
        return Err(too_many_dimensions(chain.len()));
    }
    let is_slice =
        |access: &AccessExpr| matches!(access, AccessExpr::Subscript(Subscript::Slice { .. }));
    let has_slice = chain.iter().any(is_slice);
    let mut bound = |ast: &Ast| -> Result<Expr> {
        let e = bind_expr(binder, ast, cx)?;
        let coerced = coerce(binder, e, &SqlType::Int4, CastContext::Assignment);
        coerced.map_err(|error| {
            if !NoCast::is_cause_of(&error) {
                return error;
            }
            let message = "array subscript must have type integer";
            Error::new(SqlState::DatatypeMismatch, message).position(start_of(ast))
        })
    };
    let mut places = Vec::with_capacity(chain.len());
    for access in chain {
        places.push(match access {
            AccessExpr::Subscript(Subscript::Index { index }) => {
                let index = bound(index)?;
                if has_slice {
                    let one = Expr::Const(Datum::Int(1), SqlType::Int4);
                    Place::Slice(Some(one), Some(index))
                } else {
                    Place::Element(index)
                }
            }
            AccessExpr::Subscript(Subscript::Slice { lower_bound, upper_bound, .. }) => {
                let lower = lower_bound.as_ref().map(&mut bound).transpose()?;
                let upper = upper_bound.as_ref().map(&mut bound).transpose()?;
                Place::Slice(lower, upper)
            }
            AccessExpr::Dot(other) => {
                return Err(Error::unsupported(format!("field access .{other}")));
            }
        });
    }
    Ok(places)
}

/// The subscripts of a jsonb as texts, and whether the first one is a number.
fn json_keys(
    binder: &mut Binder<'_>,
    chain: &[AccessExpr],
    cx: &mut ExprCx<'_, '_>,
) -> Result<(Vec<Expr>, bool)> {
    let mut keys = Vec::with_capacity(chain.len());
    let mut begins_with_number = false;
    for access in chain {
        let index = match access {
            AccessExpr::Subscript(Subscript::Index { index }) => index,
            AccessExpr::Subscript(Subscript::Slice { lower_bound, upper_bound, .. }) => {
                let bound = upper_bound.as_ref().or(lower_bound.as_ref());
                return Err(no_json_slices().position(bound.map_or(0, start_of)));
            }
            AccessExpr::Dot(_) => return Err(no_json_slices()),
        };
        let place = start_of(index);
        let index = bind_expr(binder, index, cx)?;
        if keys.is_empty() {
            begins_with_number = matches!(index.ty(), SqlType::Int2 | SqlType::Int4);
        }
        keys.push(json_key(binder, index).map_err(|error| error.position(place))?);
    }
    Ok((keys, begins_with_number))
}

/// The part of a column that is assigned.
pub(crate) fn part_of(
    binder: &mut Binder<'_>,
    column: &Column,
    target: &TargetColumn,
    cx: &mut ExprCx<'_, '_>,
) -> Result<Part> {
    part_in(binder, column, &target.part, cx).map_err(|error| at_target(error, target))
}

fn part_in(
    binder: &mut Binder<'_>,
    column: &Column,
    chain: &[AccessExpr],
    cx: &mut ExprCx<'_, '_>,
) -> Result<Part> {
    if let Some(AccessExpr::Dot(field)) =
        chain.iter().find(|access| matches!(access, AccessExpr::Dot(_)))
    {
        let field = match field {
            Ast::Identifier(name) => braid_sql::fold(name),
            other => other.to_string(),
        };
        let message = format!(
            "cannot assign to field \"{field}\" of column \"{}\" because its type {} is not a \
             composite type",
            column.name,
            column.ty.bare().display_name()
        );
        return Err(Error::new(SqlState::DatatypeMismatch, message).caused_by(WrongPart));
    }
    match &column.ty {
        SqlType::Array(_) => subscript_places(binder, chain, cx).map(Part::Array),
        SqlType::Jsonb => {
            let (keys, begins_with_number) = json_keys(binder, chain, cx)?;
            Ok(Part::Json(keys, begins_with_number))
        }
        ty => Err(no_subscripts(ty)),
    }
}

/// A value cast for a part of a column; 42804 if it cannot be.
pub(crate) fn assign_to_part(
    binder: &mut Binder<'_>,
    value: Expr,
    column: &Column,
    part: &Part,
) -> Result<Expr> {
    let wanted = part.wanted(&column.ty);
    let from = value.ty();
    let coerced = coerce_modified(binder, value, &wanted, column.modifier, CastContext::Assignment);
    coerced.map_err(|error| {
        if !NoCast::is_cause_of(&error) {
            return error;
        }
        let message = format!(
            "subscripted assignment to \"{}\" requires type {} but expression is of type {}",
            column.name,
            wanted.bare().display_name(),
            from.bare().display_name()
        );
        Error::new(SqlState::DatatypeMismatch, message)
            .hint("You will need to rewrite or cast the expression.")
            .caused_by(WrongPart)
    })
}

/// The column after `value` was assigned to a part of it; `base` is the column before.
pub(crate) fn with_part(
    binder: &mut Binder<'_>,
    base: Expr,
    part: Part,
    value: Expr,
) -> Result<Expr> {
    match part {
        Part::Array(places) => {
            let ty = base.ty();
            let part = SubscriptExpr { array: base, places, assigned: Some(value), ty };
            Ok(Expr::Subscript(Box::new(part)))
        }
        Part::Json(keys, begins_with_number) => {
            let path = Expr::Array(keys, SqlType::Text);
            let args = vec![base, path, value, Expr::bool(begins_with_number)];
            call_function(binder, "braid_jsonb_assign", args)
        }
    }
}

/// Points at the column whose part is of another type.
pub(crate) fn at_target(error: Error, target: &TargetColumn) -> Error {
    match error.cause() {
        Some(WrongPart) => error.position(offset_of(target.name.span)),
        None => error,
    }
}

fn no_subscripts(ty: &SqlType) -> Error {
    let name = ty.display_name();
    let message = format!("cannot subscript type {name} because it does not support subscripting");
    Error::new(SqlState::DatatypeMismatch, message).caused_by(WrongPart)
}

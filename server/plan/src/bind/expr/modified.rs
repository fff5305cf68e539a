//! Casts to types of times with modifiers, and subscripts of jsonb.

use braid_sql::ast::{DataType, Interval};
use braid_types::cast::CastContext;
use braid_types::{Datum, Error, Result, SqlState, SqlType};

use super::common_type::common_type;
use super::data_type::{domain_of, interval_modifier, time_modifier_of};
use super::operators::{call_operator, coerce, unify};
use super::scalar::{bind_expr, call_function};
use crate::bind::Binder;
use crate::bind::domain::check_domain;
use crate::bind::refusals::WrongPart;
use crate::bind::scope::context::ExprCx;
use crate::tree::expr::Expr;

/// `INTERVAL '…'` with its fields.
pub(crate) fn bind_interval(
    binder: &mut Binder<'_>,
    interval: &Interval,
    cx: &mut ExprCx<'_, '_>,
) -> Result<Expr> {
    let value = bind_expr(binder, &interval.value, cx)?;
    let modifier = interval_modifier(interval)?;
    coerce_modified(binder, value, &SqlType::Interval, modifier, CastContext::Explicit)
}

/// The explicit cast to a type as it is written, with its modifiers.
pub(crate) fn cast_to(
    binder: &mut Binder<'_>,
    value: Expr,
    to: &SqlType,
    ty: &DataType,
) -> Result<Expr> {
    let domain = domain_of(ty, binder.cx.types())?;
    let modifier = domain.map_or_else(|| time_modifier_of(ty), |domain| domain.modifier);
    let value = coerce_modified(binder, value, to, modifier, CastContext::Explicit)?;
    match domain {
        Some(domain) => check_domain(binder, value, domain),
        None => Ok(value),
    }
}

/// Casts to a type with a modifier of times: rounded, and cut to the fields of an interval.
pub(crate) fn coerce_modified(
    binder: &mut Binder<'_>,
    value: Expr,
    to: &SqlType,
    modifier: Option<i32>,
    context: CastContext,
) -> Result<Expr> {
    let Some(typmod) = modifier else { return coerce(binder, value, to, context) };
    let number = Expr::Const(Datum::Int(i64::from(typmod)), SqlType::Int4);
    // The fields say what a number without a unit is.
    if let Expr::Const(Datum::Text(text), SqlType::Unknown) = &value
        && *to == SqlType::Interval
    {
        let style = binder.cx.env.settings().interval_style;
        let parsed = braid_types::text::parse_interval_typmod(text, style, typmod)?;
        return Ok(Expr::Const(parsed, SqlType::Interval));
    }
    let value = coerce(binder, value, to, context)?;
    call_function(binder, "braid_time_modifier", vec![value, number])
}

/// Several expressions with their common type. An error points at the first that does not fit, by
/// the places of the expressions.
pub(crate) fn unify_at(
    binder: &mut Binder<'_>,
    (exprs, places): (Vec<Expr>, &[u32]),
    what: &str,
) -> Result<(Vec<Expr>, SqlType)> {
    let types: Vec<SqlType> = exprs.iter().map(Expr::ty).collect();
    unify(binder, exprs, what).map_err(|error| {
        let differs = |end: &usize| common_type(&types[..*end], what).is_err();
        let wrong = (1..=types.len()).find(differs).and_then(|end| places.get(end - 1));
        error.position(wrong.copied().unwrap_or(0))
    })
}

/// An element of a jsonb by its key, or by its place in an array.
pub(crate) fn json_element(binder: &mut Binder<'_>, value: Expr, key: Expr) -> Result<Expr> {
    call_operator(binder, "#>", value, Expr::Array(vec![key], SqlType::Text))
}

/// A subscript of a jsonb as a text.
pub(crate) fn json_key(binder: &mut Binder<'_>, index: Expr) -> Result<Expr> {
    match index.ty() {
        SqlType::Int2 | SqlType::Int4 => {
            coerce(binder, index, &SqlType::Text, CastContext::Explicit)
        }
        ty if ty == SqlType::Unknown || ty.is_string() => {
            coerce(binder, index, &SqlType::Text, CastContext::Implicit)
        }
        ty => {
            let message = format!("subscript type {} is not supported", ty.plain_name());
            Err(Error::new(SqlState::DatatypeMismatch, message)
                .hint("jsonb subscript must be coercible to either integer or text."))
        }
    }
}

/// 42804 for `json[1:2]`.
pub(crate) fn no_json_slices() -> Error {
    let message = "jsonb subscript does not support slices";
    Error::new(SqlState::DatatypeMismatch, message).caused_by(WrongPart)
}

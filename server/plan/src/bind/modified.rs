//! Casts to types of times with modifiers, and subscripts of jsonb.

use braid_sql::ast::{DataType, Interval};
use braid_types::cast::CastContext;
use braid_types::{Datum, Error, Result, SqlState, SqlType};

use super::Binder;
use super::context::ExprCx;
use super::data_type::{interval_modifier, time_modifier_of};
use crate::expr::Expr;

impl Binder<'_> {
    /// `INTERVAL '…'` with its fields.
    pub(super) fn interval(
        &mut self,
        interval: &Interval,
        cx: &mut ExprCx<'_, '_>,
    ) -> Result<Expr> {
        let value = self.expr(&interval.value, cx)?;
        let modifier = interval_modifier(interval)?;
        self.coerce_modified(value, &SqlType::Interval, modifier, CastContext::Explicit)
    }

    /// The explicit cast to a type as it is written, with its modifiers.
    pub(super) fn cast_to(&mut self, value: Expr, to: &SqlType, ty: &DataType) -> Result<Expr> {
        self.coerce_modified(value, to, time_modifier_of(ty), CastContext::Explicit)
    }

    /// Casts to a type with a modifier of times: rounded, and cut to the fields of an interval.
    pub(super) fn coerce_modified(
        &mut self,
        value: Expr,
        to: &SqlType,
        modifier: Option<i32>,
        context: CastContext,
    ) -> Result<Expr> {
        let Some(typmod) = modifier else { return self.coerce(value, to, context) };
        let number = Expr::Const(Datum::Int(i64::from(typmod)), SqlType::Int4);
        // The fields say what a number without a unit is.
        if let Expr::Const(Datum::Text(text), SqlType::Unknown) = &value
            && *to == SqlType::Interval
        {
            let style = self.cx.env.settings().interval_style;
            let parsed = braid_types::text::parse_interval_typmod(text, style, typmod)?;
            return Ok(Expr::Const(parsed, SqlType::Interval));
        }
        let value = self.coerce(value, to, context)?;
        self.call("braid_time_modifier", vec![value, number])
    }

    /// An element of a jsonb by its key, or by its place in an array.
    pub(super) fn json_element(&mut self, value: Expr, key: Expr) -> Result<Expr> {
        self.binary("#>", value, Expr::Array(vec![key], SqlType::Text))
    }

    /// A subscript of a jsonb as a text.
    pub(super) fn json_key(&mut self, index: Expr) -> Result<Expr> {
        match index.ty() {
            SqlType::Int2 | SqlType::Int4 => {
                self.coerce(index, &SqlType::Text, CastContext::Explicit)
            }
            ty if ty == SqlType::Unknown || ty.is_string() => {
                self.coerce(index, &SqlType::Text, CastContext::Implicit)
            }
            ty => {
                let message = format!("subscript type {} is not supported", ty.plain_name());
                Err(Error::new(SqlState::DatatypeMismatch, message)
                    .hint("jsonb subscript must be coercible to either integer or text."))
            }
        }
    }
}

/// 42804 for `json[1:2]`.
pub(super) fn no_json_slices() -> Error {
    Error::new(SqlState::DatatypeMismatch, "jsonb subscript does not support slices")
}

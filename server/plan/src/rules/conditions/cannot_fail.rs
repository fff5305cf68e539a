//! Expressions that have a value on every row, so that they may be evaluated for rows that SQL
//! would not have looked at.

use braid_types::{Datum, SqlType};

use crate::tree::expr::Expr;

/// The most digits of a numeric value that is believed to be safe. `numeric` has 131,072 before
/// the decimal point, so sums of such values stay within it.
const DIGITS_MAX: usize = 10_000;

/// Whether evaluating an expression succeeds on every row.
pub fn cannot_fail(e: &Expr) -> bool {
    !e.any(&mut |e| match e {
        Expr::Const(..)
        | Expr::Column(..)
        | Expr::Input(..)
        | Expr::Outer(..)
        | Expr::Param(..)
        | Expr::Compare(..)
        | Expr::And(_)
        | Expr::Or(_)
        | Expr::Not(_)
        | Expr::IsNull(_)
        | Expr::IsBool(..)
        | Expr::IsDistinct(..)
        | Expr::InList(..)
        | Expr::InSet(..)
        | Expr::Case(_)
        | Expr::Coalesce(_)
        | Expr::Extreme(..) => false,
        Expr::Cast(cast) => !is_safe_cast(&cast.from, &cast.to),
        // Its digits were bounded, and so were those of its arguments.
        Expr::Call(_) => digits(e).is_none(),
        _ => true,
    })
}

/// Whether every value of a type is one of another type.
fn is_safe_cast(from: &SqlType, to: &SqlType) -> bool {
    match to {
        SqlType::Text => true,
        SqlType::Varchar(None) => matches!(from, SqlType::Varchar(_) | SqlType::Text),
        SqlType::Int8 => matches!(from, SqlType::Int2 | SqlType::Int4 | SqlType::Int8),
        SqlType::Int4 => matches!(from, SqlType::Int2 | SqlType::Int4),
        SqlType::Numeric(None) => {
            let is_integer = matches!(from, SqlType::Int2 | SqlType::Int4 | SqlType::Int8);
            is_integer || matches!(from, SqlType::Numeric(_))
        }
        _ => false,
    }
}

/// Whether an expression is numeric and has few digits, so that sums of it do not overflow.
pub(crate) fn has_few_digits(e: &Expr) -> bool {
    digits(e).is_some()
}

/// At most how many digits a numeric expression has, before and after the decimal point together.
/// A column without a precision may have any number.
fn digits(e: &Expr) -> Option<usize> {
    let number = match e {
        Expr::Const(Datum::Null, _) => 1,
        Expr::Const(Datum::Int(_), _) => 20,
        Expr::Const(Datum::Numeric(value), _) => value.to_string().len(),
        Expr::Column(_, SqlType::Numeric(Some((precision, scale)))) => {
            usize::from(*precision) + usize::from(scale.unsigned_abs())
        }
        Expr::Cast(cast) if matches!(cast.to, SqlType::Numeric(None)) => match cast.from {
            SqlType::Int2 | SqlType::Int4 | SqlType::Int8 => 20,
            SqlType::Numeric(_) => digits(&cast.expr)?,
            _ => return None,
        },
        Expr::Call(call) if matches!(call.returns, SqlType::Numeric(_)) => {
            let [a, b] = &call.args[..] else { return None };
            let (a, b) = (digits(a)?, digits(b)?);
            match call.function.name {
                "+" | "-" | "*" => a + b + 1,
                _ => return None,
            }
        }
        _ => return None,
    };
    (number <= DIGITS_MAX).then_some(number)
}

//! Literals: numbers take the smallest of int4, int8 and numeric; strings wait for their use.

use braid_sql::ast::{Value, ValueWithSpan};
use braid_types::{Datum, Error, Numeric, Result, SqlState, SqlType};

use crate::bind::Binder;
use crate::tree::expr::Expr;

/// More parameters than the protocol can name.
const PARAMETERS_MAX: usize = 65_535;

pub(crate) fn bind_value(binder: &mut Binder<'_>, value: &ValueWithSpan) -> Result<Expr> {
    Ok(match &value.value {
        Value::Number(text, _) => number(text)?,
        Value::Boolean(value) => Expr::bool(*value),
        Value::Null => Expr::null(SqlType::Unknown),
        Value::Placeholder(name) => bind_placeholder(binder, name)?,
        other => match string_of(other) {
            Some(text) => {
                binder.places.note_literal(text, value.span);
                Expr::Const(Datum::text(text), SqlType::Unknown)
            }
            None => return Err(Error::unsupported(format!("the literal {other}"))),
        },
    })
}

fn bind_placeholder(binder: &mut Binder<'_>, name: &str) -> Result<Expr> {
    let number = name.strip_prefix('$').and_then(|digits| digits.parse::<usize>().ok());
    let Some(number) = number.filter(|number| (1..=PARAMETERS_MAX).contains(number)) else {
        return Err(Error::new(
            SqlState::UndefinedParameter,
            format!("there is no parameter {name}"),
        ));
    };
    if binder.params.len() < number {
        binder.params.resize(number, SqlType::Unknown);
    }
    Ok(Expr::Param(number - 1, binder.params[number - 1].clone()))
}

/// The text of a string literal of any form.
pub fn string_of(value: &Value) -> Option<&str> {
    match value {
        Value::SingleQuotedString(text)
        | Value::EscapedStringLiteral(text)
        | Value::UnicodeStringLiteral(text)
        | Value::NationalStringLiteral(text) => Some(text),
        Value::DollarQuotedString(text) => Some(&text.value),
        _ => None,
    }
}

/// A number literal.
pub fn number(text: &str) -> Result<Expr> {
    if let Ok(value) = text.parse::<i64>() {
        let ty = if i32::try_from(value).is_ok() { SqlType::Int4 } else { SqlType::Int8 };
        return Ok(Expr::Const(Datum::Int(value), ty));
    }
    Ok(Expr::Const(Datum::Numeric(Numeric::parse(text)?), SqlType::Numeric(None)))
}

//! Literals: numbers take the smallest of int4, int8 and numeric; strings wait for their use.
//!
//! Also here: which of them mean something else at another time, or in another zone.

use braid_sql::ast::{Value, ValueWithSpan};
use braid_types::sql_type::range_subtype;
use braid_types::{Datum, Error, Numeric, Result, SqlState, SqlType, bits};

use crate::bind::Binder;
use crate::eval::is_distinct;
use crate::tree::expr::Expr;

/// More parameters than the protocol can name.
const PARAMETERS_MAX: usize = 65_535;

pub(crate) fn bind_value(binder: &mut Binder<'_>, value: &ValueWithSpan) -> Result<Expr> {
    Ok(match &value.value {
        Value::Number(text, _) => number(text)?,
        Value::Boolean(value) => Expr::bool(*value),
        Value::Null => Expr::null(SqlType::Unknown),
        Value::Placeholder(name) => bind_placeholder(binder, name)?,
        Value::SingleQuotedByteStringLiteral(digits) => {
            bit_string(digits).map_err(|error| binder.places.at(error, value.span))?
        }
        Value::HexStringLiteral(digits) => bit_string(&format!("x{digits}"))
            .map_err(|error| binder.places.at(error, value.span))?,
        other => match string_of(other) {
            Some(text) => {
                binder.places.note_literal(text, value.span);
                Expr::Const(Datum::text(text), SqlType::Unknown)
            }
            None => return Err(Error::unsupported(format!("the literal {other}"))),
        },
    })
}

/// A bit string, whose type has no length.
fn bit_string(text: &str) -> Result<Expr> {
    Ok(Expr::Const(Datum::text(bits::parse(text)?), SqlType::Bit(0)))
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
pub(crate) fn string_of(value: &Value) -> Option<&str> {
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
pub(crate) fn number(text: &str) -> Result<Expr> {
    if let Ok(value) = text.parse::<i64>() {
        let ty = if i32::try_from(value).is_ok() { SqlType::Int4 } else { SqlType::Int8 };
        return Ok(Expr::Const(Datum::Int(value), ty));
    }
    Ok(Expr::Const(Datum::Numeric(Numeric::parse(text)?), SqlType::Numeric(None)))
}

/// Microseconds of a day, an hour, a minute and a second, and of half a year.
const LATER_MICROS: [i64; 2] = [90_061_000_001, 15_811_200_000_000];

/// Whether a literal means something else at another time (`now`, `{tomorrow}`): it is read as
/// if it came later.
pub(super) fn depends_on_now(
    ty: &SqlType,
    read: impl Fn(&SqlType, i64) -> Result<Datum>,
) -> Result<bool> {
    if !has_moments(ty) {
        return Ok(false);
    }
    let ty = ty.bare();
    let now = read(&ty, 0)?;
    for later in LATER_MICROS {
        if read(&ty, later).map_or(true, |value| is_distinct(&now, &value)) {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Whether values of the type are, or hold, dates or times.
fn has_moments(ty: &SqlType) -> bool {
    match ty {
        SqlType::Date | SqlType::Time | SqlType::Timestamp | SqlType::Timestamptz => true,
        SqlType::Array(element) => has_moments(element),
        SqlType::Record(fields) => fields.iter().any(|(_, ty)| has_moments(ty)),
        ty => range_subtype(ty).is_some_and(has_moments),
    }
}

pub(super) fn depends_on_zone(ty: &SqlType, text: &str) -> bool {
    match ty {
        SqlType::Timestamptz => false_friend(&text.trim().to_ascii_lowercase()),
        ty => is_zoned_range(ty),
    }
}

/// A range of moments in the session's zone.
pub(super) fn is_zoned_range(ty: &SqlType) -> bool {
    range_subtype(ty) == Some(&SqlType::Timestamptz)
}

/// A timestamptz literal without a zone depends on the session's, which is part of no plan key;
/// `infinity` and literals with an explicit offset do not.
fn false_friend(word: &str) -> bool {
    let offset = word.ends_with('z')
        || word.rfind(['+', '-']).is_some_and(|at| at > word.find(':').unwrap_or(usize::MAX));
    !offset && !word.contains("infinity") && word != "epoch"
}

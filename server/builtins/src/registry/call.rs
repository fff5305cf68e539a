//! Short ways to an argument of a call, and to the common results and errors.
//!
//! Rule: an argument of the wrong kind is a bug of resolution; it gives XX000, never a panic.

use std::sync::Arc;

use braid_types::cast::{self, CastEnv};
use braid_types::{
    Array, Datum, Error, Interval, Json, Numeric, Result, SqlState, SqlType, text, work,
};

use crate::{Call, Environment, cast_reg};

fn wrong(call: &Call<'_>, index: usize, wanted: &str) -> Error {
    Error::internal(format!("argument {index} is not {wanted}: {:?}", call.args.get(index)))
}

impl<'a> Call<'a> {
    /// The argument itself; NULL beyond the last one.
    pub(crate) fn datum(&self, index: usize) -> &'a Datum {
        self.args.get(index).unwrap_or(&Datum::Null)
    }

    pub(crate) fn ty(&self, index: usize) -> &'a SqlType {
        self.types.get(index).unwrap_or(&SqlType::Unknown)
    }

    pub(crate) fn is_null(&self, index: usize) -> bool {
        self.datum(index).is_null()
    }

    pub(crate) fn int(&self, index: usize) -> Result<i64> {
        self.datum(index).as_int().ok_or_else(|| wrong(self, index, "an integer"))
    }

    /// An `int4`; saturates what an `int4` cannot hold.
    pub(crate) fn int4(&self, index: usize) -> Result<i32> {
        let value = self.int(index)?;
        Ok(value.clamp(i64::from(i32::MIN), i64::from(i32::MAX)) as i32)
    }

    /// An object's number; 0, which no object has, for what cannot be one.
    pub(crate) fn oid(&self, index: usize) -> Result<u32> {
        Ok(u32::try_from(self.int(index)?).unwrap_or(0))
    }

    pub(crate) fn float(&self, index: usize) -> Result<f64> {
        match self.datum(index) {
            Datum::Float(value) => Ok(*value),
            Datum::Int(value) => Ok(*value as f64),
            _ => Err(wrong(self, index, "a float")),
        }
    }

    pub(crate) fn bool(&self, index: usize) -> Result<bool> {
        self.datum(index).as_bool().ok_or_else(|| wrong(self, index, "a boolean"))
    }

    pub(crate) fn text(&self, index: usize) -> Result<&'a str> {
        self.datum(index).as_str().ok_or_else(|| wrong(self, index, "text"))
    }

    pub(crate) fn bytes(&self, index: usize) -> Result<&'a [u8]> {
        self.datum(index).as_bytes().ok_or_else(|| wrong(self, index, "bytea"))
    }

    pub(crate) fn numeric(&self, index: usize) -> Result<&'a Numeric> {
        self.datum(index).as_numeric().ok_or_else(|| wrong(self, index, "numeric"))
    }

    pub(crate) fn interval(&self, index: usize) -> Result<Interval> {
        self.datum(index).as_interval().ok_or_else(|| wrong(self, index, "an interval"))
    }

    pub(crate) fn json(&self, index: usize) -> Result<&'a Json> {
        self.datum(index).as_json().ok_or_else(|| wrong(self, index, "json"))
    }

    /// The same, for a function that reads its parts. 22P02 or 22P05 for an escape that means no
    /// character.
    pub(crate) fn checked_json(&self, index: usize) -> Result<&'a Json> {
        let value = self.json(index)?;
        value.check_escapes()?;
        Ok(value)
    }

    pub(crate) fn array(&self, index: usize) -> Result<&'a Array> {
        self.datum(index).as_array().ok_or_else(|| wrong(self, index, "an array"))
    }

    /// The strings of a `text[]`.
    pub(crate) fn texts(&self, index: usize) -> Result<Vec<Option<&'a str>>> {
        Ok(self.array(index)?.items.iter().map(Datum::as_str).collect())
    }

    /// An argument as its type's output function prints it.
    pub(crate) fn display(&self, index: usize) -> String {
        display(self.ty(index), self.datum(index), self.env)
    }

    /// Any argument cast to another type, as written with `::`.
    pub(crate) fn cast(&self, index: usize, to: &SqlType) -> Result<Datum> {
        cast_any(self.datum(index), self.ty(index), to, self.env)
    }
}

/// A datum as its type's output function prints it.
pub fn display(ty: &SqlType, datum: &Datum, env: &dyn Environment) -> String {
    match with_names(ty, datum, env) {
        Some((ty, datum)) => text::to_string(&ty, &datum, env.settings()),
        None => text::to_string(ty, datum, env.settings()),
    }
}

/// A value in which the numbers of objects are names; `None` if it has none of these.
fn with_names(ty: &SqlType, datum: &Datum, env: &dyn Environment) -> Option<(SqlType, Datum)> {
    match (ty, datum) {
        (ty, datum) if ty.is_reg() => {
            Some((SqlType::Text, cast_reg(datum, ty, &SqlType::Text, env).ok()?))
        }
        (SqlType::Array(element), Datum::Array(array)) if element.is_reg() => {
            let items = array.items.iter().map(|item| match with_names(element, item, env) {
                Some((_, named)) => named,
                None => item.clone(),
            });
            let named = array.with_items(SqlType::Text, items.collect());
            Some((SqlType::Text.array(), named.into()))
        }
        (SqlType::Record(fields), Datum::Record(items)) => {
            let mut named = fields.clone();
            let mut items = items.to_vec();
            let mut is_changed = false;
            for ((_, ty), item) in named.iter_mut().zip(&mut items) {
                if let Some((shown, text)) = with_names(ty, item, env) {
                    (*ty, *item, is_changed) = (shown, text, true);
                }
            }
            is_changed.then(|| (SqlType::Record(named), Datum::Record(items.into())))
        }
        _ => None,
    }
}

/// An explicit cast, `reg*` types included.
pub(crate) fn cast_any(
    datum: &Datum,
    from: &SqlType,
    to: &SqlType,
    env: &dyn Environment,
) -> Result<Datum> {
    if from.is_reg() || to.is_reg() {
        return cast_reg(datum, from, to, env);
    }
    let cast_env = CastEnv { settings: env.settings(), now_micros: env.transaction_micros() };
    cast::cast(datum, from, to, true, &cast_env)
}

/// A text result; 53200 if the statement's memory does not suffice for it.
pub(crate) fn text(value: impl Into<Arc<str>>) -> Result<Datum> {
    let value = value.into();
    may_return(value.len())?;
    Ok(Datum::Text(value))
}

/// An `int4` or `int8` result from a length.
pub(crate) fn count(value: usize) -> Result<Datum> {
    Ok(Datum::Int(value as i64))
}

/// 22003 for an integer type.
pub(crate) fn out_of_range(ty: &str) -> Error {
    Error::new(SqlState::NumericValueOutOfRange, format!("{ty} out of range"))
}

/// 22023 with this message.
pub(crate) fn invalid(message: impl Into<String>) -> Error {
    Error::new(SqlState::InvalidParameterValue, message)
}

/// The largest result in bytes, as in PostgreSQL.
const RESULT_BYTES_MAX: usize = 0x3fff_ffff;
/// Results up to this size are not worth a look at the statement's memory.
const SMALL_RESULT_BYTES: usize = 64 << 10;

/// Fails before a result of that many bytes is made, or kept: 54000 if no value may be so large,
/// 53200 if the statement's memory does not suffice.
pub(crate) fn may_return(bytes: usize) -> Result<()> {
    if bytes > RESULT_BYTES_MAX {
        return Err(Error::new(SqlState::ProgramLimitExceeded, "requested length too large"));
    }
    if bytes > SMALL_RESULT_BYTES { work::afford(bytes) } else { Ok(()) }
}

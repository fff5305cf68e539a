//! The start of a sort key as a number, so that most comparisons read no row.
//!
//! Rows are on the heap, and a comparison that follows pointers to two of them waits for memory
//! twice. PostgreSQL calls such numbers abbreviated keys.
//!
//! Rule: of two keys of one type the one that sorts first has no larger prefix. Equal prefixes say
//! nothing.

use braid_types::{Datum, Numeric, SqlType};

/// Decimal places of a `numeric` that are in its prefix.
const PLACES: u32 = 2;
/// The bit that turns the order of signed numbers into that of unsigned ones.
const SIGN: u64 = 1 << 63;

/// How the values of a type are numbered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Numbering {
    Integer,
    Float,
    Numeric,
    Text,
    /// `char(n)`: blanks at the end do not count.
    Blanks,
    Bytes,
    Uuid,
    Date,
    Moment,
    /// Values of the type have no prefix.
    Unknown,
}

impl Numbering {
    /// The numbering of a type.
    pub(crate) fn of(ty: &SqlType) -> Self {
        match ty.bare() {
            SqlType::Int2 | SqlType::Int4 | SqlType::Int8 | SqlType::Oid => Self::Integer,
            SqlType::Float4 | SqlType::Float8 => Self::Float,
            SqlType::Numeric(..) => Self::Numeric,
            SqlType::Text | SqlType::Varchar(_) | SqlType::Name => Self::Text,
            SqlType::Char(_) => Self::Blanks,
            SqlType::Bytes => Self::Bytes,
            SqlType::Uuid => Self::Uuid,
            SqlType::Date => Self::Date,
            SqlType::Timestamp | SqlType::Timestamptz | SqlType::Time => Self::Moment,
            _ => Self::Unknown,
        }
    }

    /// The prefix of a value that is not NULL; `None` for one of another type, or if that would
    /// cost too much.
    pub(crate) fn prefix(self, value: &Datum) -> Option<u64> {
        Some(match (self, value) {
            (Self::Unknown, _) => 0,
            (Self::Integer, Datum::Int(value))
            | (
                Self::Moment,
                Datum::Timestamp(value) | Datum::Timestamptz(value) | Datum::Time(value),
            ) => of_integer(*value),
            (Self::Date, Datum::Date(days)) => of_integer(i64::from(*days)),
            (Self::Float, Datum::Float(value)) => of_float(*value),
            (Self::Numeric, Datum::Numeric(value)) => of_numeric(value)?,
            (Self::Text, Datum::Text(value)) => of_bytes(value.as_bytes()),
            (Self::Blanks, Datum::Text(value)) => of_bytes(value.trim_end_matches(' ').as_bytes()),
            (Self::Bytes, Datum::Bytes(value)) => of_bytes(value),
            (Self::Uuid, Datum::Uuid(value)) => of_bytes(value),
            _ => return None,
        })
    }
}

fn of_integer(value: i64) -> u64 {
    value.cast_unsigned() ^ SIGN
}

/// NaN is above everything, and both zeros are one number.
fn of_float(value: f64) -> u64 {
    if value.is_nan() {
        return u64::MAX;
    }
    let bits = (value + 0.0).to_bits();
    if bits & SIGN == 0 { bits | SIGN } else { !bits }
}

/// The number with two decimal places, rounded down, within the range of 64 bits.
fn of_numeric(value: &Numeric) -> Option<u64> {
    let (coefficient, scale) = match value {
        Numeric::Small(coefficient, scale) => (coefficient.get(), u32::from(*scale)),
        Numeric::NaN | Numeric::Infinity => return Some(u64::MAX),
        Numeric::NegInfinity => return Some(0),
        Numeric::Finite(_) => return None,
    };
    let scaled = match scale.checked_sub(PLACES) {
        None => coefficient.saturating_mul(10_i128.pow(PLACES - scale)),
        Some(surplus) => match 10_i128.checked_pow(surplus) {
            Some(divisor) => coefficient.div_euclid(divisor),
            // Nothing but the sign is left.
            None => coefficient.signum().min(0),
        },
    };
    let bounded = scaled.clamp(i128::from(i64::MIN), i128::from(i64::MAX));
    i64::try_from(bounded).ok().map(of_integer)
}

/// The first eight bytes. Shorter ones end with zeros.
fn of_bytes(bytes: &[u8]) -> u64 {
    let mut first = [0; 8];
    for (to, from) in first.iter_mut().zip(bytes) {
        *to = *from;
    }
    u64::from_be_bytes(first)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn numeric(text: &str) -> Datum {
        Datum::Numeric(Numeric::parse(text).expect("a number"))
    }

    /// Each list in ascending order.
    fn sorted_values() -> Vec<(SqlType, Vec<Datum>)> {
        let floats = [f64::NEG_INFINITY, -1e300, -1.5, -1e-300, -0.0, 0.0, 1e-300, 2.0, 1e300];
        let floats = floats.into_iter().chain([f64::INFINITY, f64::NAN]).map(Datum::Float);
        let numbers = [
            "-Infinity",
            "-1e30",
            "-99999999999999999999",
            "-1.001",
            "-1.00",
            "-0.005",
            "-1e-60",
            "0",
            "1e-60",
            "0.009",
            "0.01",
            "0.010",
            "0.29",
            "1",
            "1.0000000000000000000001",
            "12.3",
            "99999999999999999999",
            "1e30",
            "Infinity",
            "NaN",
        ];
        let texts = ["", "\0", "a", "a\0", "a ", "aaaaaaaa", "aaaaaaaab", "b", "ä", "\u{10ffff}"];
        let integers = [i64::MIN, -2, -1, 0, 1, 255, i64::MAX];
        vec![
            (SqlType::Int8, integers.map(Datum::Int).to_vec()),
            (SqlType::Float8, floats.collect()),
            (SqlType::Numeric(None), numbers.map(numeric).to_vec()),
            (SqlType::Text, texts.map(Datum::text).to_vec()),
            (SqlType::Char(9), ["", "a", "a  ", "a b", "b"].map(Datum::text).to_vec()),
            (SqlType::Bytes, [&[][..], &[0], &[0, 0], &[255]].map(Datum::bytes).to_vec()),
            (SqlType::Date, [i32::MIN, -1, 0, i32::MAX].map(Datum::Date).to_vec()),
            (SqlType::Timestamptz, integers.map(Datum::Timestamptz).to_vec()),
        ]
    }

    #[test]
    fn prefixes_do_not_fall() {
        for (ty, values) in sorted_values() {
            let numbering = Numbering::of(&ty);
            let prefixes: Vec<u64> =
                values.iter().map(|value| numbering.prefix(value).unwrap_or_default()).collect();
            assert!(prefixes.is_sorted(), "{ty:?}: {prefixes:?}");
            assert!(prefixes.first() < prefixes.last(), "{ty:?}: nothing is told apart");
            for pair in values.windows(2) {
                assert!(pair[0].compare_typed(&pair[1], &ty).is_le(), "{pair:?}");
            }
        }
    }

    #[test]
    fn a_value_of_another_type_has_no_prefix() {
        assert_eq!(Numbering::of(&SqlType::Int4).prefix(&Datum::Float(1.0)), None);
        assert_eq!(Numbering::of(&SqlType::Jsonb).prefix(&Datum::Float(1.0)), Some(0));
    }
}

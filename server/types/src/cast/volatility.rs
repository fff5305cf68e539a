//! Which casts depend on the session: on its time zone, its formats or the catalog.
//!
//! As in PostgreSQL 15 (`pg_cast` and the input and output functions in `pg_type`). A cast between
//! a string and another type counts as the other type's input or output.

use crate::SqlType;

/// Whether a cast gives the same result in every session, at any time.
pub fn is_immutable(from: &SqlType, to: &SqlType) -> bool {
    let (from, to) = (from.bare(), to.bare());
    let is_text = |ty: &SqlType| ty.is_string() || matches!(ty, SqlType::Citext | SqlType::Unknown);
    if from == to {
        return true;
    }
    if let (SqlType::Array(from), SqlType::Array(to)) = (&from, &to) {
        return is_immutable(from, to);
    }
    match (is_text(&from), is_text(&to)) {
        (true, true) => true,
        (true, false) => reads_alike(&to),
        (false, true) => prints_alike(&from),
        (false, false) => !depends_on_zone(&from, &to) && !is_money_of_number(&from, &to),
    }
}

/// Whether a type's input is the same in every session.
fn reads_alike(ty: &SqlType) -> bool {
    !matches!(ty, SqlType::Time | SqlType::Timetz) && prints_alike(ty)
}

/// Whether a type's output is the same in every session.
pub fn prints_alike(ty: &SqlType) -> bool {
    let is_stable = ty.is_reg()
        || ty.is_array()
        || ty.is_enum()
        || matches!(
            ty,
            SqlType::Date
                | SqlType::Timestamp
                | SqlType::Timestamptz
                | SqlType::Interval
                | SqlType::Money
                | SqlType::Range(_)
                | SqlType::Multirange(_)
                | SqlType::Record(_)
                | SqlType::Regconfig
                | SqlType::Regdictionary
        );
    !is_stable || ty.is_vector()
}

/// Whether a cast asks for the session's time zone: one of the two has an instant or an offset.
fn depends_on_zone(from: &SqlType, to: &SqlType) -> bool {
    let is_local = |ty: &SqlType| matches!(ty, SqlType::Date | SqlType::Time | SqlType::Timestamp);
    match (from, to) {
        (SqlType::Timestamptz, SqlType::Timetz) => true,
        (SqlType::Timestamptz, to) => is_local(to),
        (from, SqlType::Timestamptz) => is_local(from),
        (SqlType::Time, SqlType::Timetz) => true,
        _ => false,
    }
}

/// The number of digits of `money` is a setting in PostgreSQL.
fn is_money_of_number(from: &SqlType, to: &SqlType) -> bool {
    *from == SqlType::Money || *to == SqlType::Money
}

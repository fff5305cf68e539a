//! `*=` and its relatives: rows compared by the bytes that PostgreSQL stores, not by the operators
//! of their types. `1.0` and `1.00` differ there.
//!
//! The order of bytes is PostgreSQL's where a value is a number of up to eight bytes, a text, or
//! has a fixed length. Of other types only equality is known here; their order is 0A000.

use std::cmp::Ordering;

use braid_types::{Datum, Error, Result, SqlState, SqlType, binary};

use crate::Call;
use crate::registry::tables::Registry;

/// The bytes of a value, in an order that bytes of other values can be compared with.
fn image(ty: &SqlType, datum: &Datum) -> Vec<u8> {
    let mut bytes = Vec::new();
    match datum {
        // Numbers are compared without a sign.
        Datum::Int(value) if !ty.is_enum() => bytes.extend_from_slice(&value.to_be_bytes()),
        _ => binary::encode(ty, datum, &mut bytes),
    }
    if let SqlType::Geometry(shape) = ty
        && shape.is_fixed()
    {
        // In memory the last byte of a number is the first one.
        bytes.chunks_mut(8).for_each(<[u8]>::reverse);
    }
    bytes
}

/// Whether the order of images is that of PostgreSQL.
fn is_ordered(ty: &SqlType) -> bool {
    match ty {
        SqlType::Geometry(shape) => shape.is_fixed(),
        SqlType::Bool
        | SqlType::Int2
        | SqlType::Int4
        | SqlType::Int8
        | SqlType::Float8
        | SqlType::Money
        | SqlType::Date
        | SqlType::Bytes
        | SqlType::Uuid => true,
        ty => ty.is_string() && *ty != SqlType::Name || ty.is_oid(),
    }
}

fn compare(call: &Call<'_>, needs_order: bool) -> Result<Ordering> {
    let (Datum::Record(a), Datum::Record(b)) = (call.datum(0), call.datum(1)) else {
        return Err(Error::internal("a row holds something else"));
    };
    let (SqlType::Record(left), SqlType::Record(right)) = (call.ty(0), call.ty(1)) else {
        return Err(Error::internal("a row of no row type"));
    };
    let unlike = |message: String| Err(Error::new(SqlState::DatatypeMismatch, message));
    for (place, ((x, (_, from)), (y, (_, to)))) in
        a.iter().zip(left).zip(b.iter().zip(right)).enumerate()
    {
        if !from.same_base(to) {
            let (from, to) = (from.plain_name(), to.plain_name());
            return unlike(format!(
                "cannot compare dissimilar column types {from} and {to} at record column {}",
                place + 1
            ));
        }
        let order = match (x, y) {
            (Datum::Null, Datum::Null) => Ordering::Equal,
            (Datum::Null, _) => Ordering::Greater,
            (_, Datum::Null) => Ordering::Less,
            _ => image(from, x).cmp(&image(to, y)),
        };
        if order.is_ne() {
            if needs_order && !is_ordered(from) && !x.is_null() && !y.is_null() {
                let name = from.plain_name();
                return Err(Error::unsupported(format_args!("the order of images of {name}")));
            }
            return Ok(order);
        }
    }
    match a.len() == b.len() {
        true => Ok(Ordering::Equal),
        false => unlike("cannot compare record types with different numbers of columns".to_owned()),
    }
}

pub(crate) fn register(registry: &mut Registry) {
    registry.add("*=(record, record) -> bool", |c| Ok(Datum::Bool(compare(c, false)?.is_eq())));
    registry.add("*<>(record, record) -> bool", |c| Ok(Datum::Bool(compare(c, false)?.is_ne())));
    registry.add("*<(record, record) -> bool", |c| Ok(Datum::Bool(compare(c, true)?.is_lt())));
    registry.add("*<=(record, record) -> bool", |c| Ok(Datum::Bool(compare(c, true)?.is_le())));
    registry.add("*>(record, record) -> bool", |c| Ok(Datum::Bool(compare(c, true)?.is_gt())));
    registry.add("*>=(record, record) -> bool", |c| Ok(Datum::Bool(compare(c, true)?.is_ge())));
}

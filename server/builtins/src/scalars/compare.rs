//! Comparison operators of every type.
//!
//! Dates and timestamps compare with each other as PostgreSQL compares them; where a zone matters
//! (`date` against `timestamptz`) the local value is read in the session's zone first.

use std::cmp::Ordering;

use braid_types::{Datum, Error, Result, SqlState, SqlType};

use crate::registry::call::cast_any;
use crate::registry::tables::Registry;
use crate::scalars::classes::check_class;
use crate::{Arg, Call, Eval, Function, Returns, Volatility};

fn plain(call: &Call<'_>) -> Ordering {
    call.datum(0).compare(call.datum(1))
}

fn typed(call: &Call<'_>) -> Ordering {
    call.datum(0).compare_typed(call.datum(1), call.ty(0))
}

fn equal_arrays(call: &Call<'_>) -> Result<Ordering> {
    check_class(call.ty(0), false)?;
    Ok(typed(call))
}

fn ordered_arrays(call: &Call<'_>) -> Result<Ordering> {
    check_class(call.ty(0), true)?;
    Ok(typed(call))
}

fn equal_rows(call: &Call<'_>) -> Result<Ordering> {
    rows(call, false)
}

fn ordered_rows(call: &Call<'_>) -> Result<Ordering> {
    rows(call, true)
}

/// Rows, of which one at least has a type with a name, compare column by column. 42804 for columns
/// of other types, or another number of them.
fn rows(call: &Call<'_>, ordering: bool) -> Result<Ordering> {
    let (SqlType::Record(left), SqlType::Record(right)) = (call.ty(0), call.ty(1)) else {
        return Ok(typed(call));
    };
    let (Datum::Record(a), Datum::Record(b)) = (call.datum(0), call.datum(1)) else {
        return Ok(typed(call));
    };
    let has_name = left.name().is_some() || right.name().is_some();
    if !has_name || left.is_empty() || right.is_empty() {
        return Ok(typed(call));
    }
    let unlike = |message: String| Err(Error::new(SqlState::DatatypeMismatch, message));
    for (place, ((x, (_, left)), (y, (_, right)))) in
        a.iter().zip(left).zip(b.iter().zip(right)).enumerate()
    {
        let is_known = *left != SqlType::Unknown && *right != SqlType::Unknown;
        if is_known && !left.same_base(right) {
            let (left, right) = (left.plain_name(), right.plain_name());
            return unlike(format!(
                "cannot compare dissimilar column types {left} and {right} at record column {}",
                place + 1
            ));
        }
        if !x.is_null() && !y.is_null() {
            check_class(left, ordering)?;
        }
        match x.compare_typed(y, left) {
            Ordering::Equal => {}
            order => return Ok(order),
        }
    }
    match a.len() == b.len() {
        true => Ok(Ordering::Equal),
        false => unlike("cannot compare record types with different numbers of columns".to_owned()),
    }
}

fn zoned(call: &Call<'_>) -> Result<Ordering> {
    let to = SqlType::Timestamptz;
    let left = cast_any(call.datum(0), call.ty(0), &to, call.env)?;
    let right = cast_any(call.datum(1), call.ty(1), &to, call.env)?;
    Ok(left.compare(&right))
}

macro_rules! operators {
    ($order:path, $wrap:expr) => {
        [
            (
                "=",
                (|c| Ok(Datum::Bool($wrap($order(c))?.is_eq()))) as fn(&Call<'_>) -> Result<Datum>,
            ),
            ("<>", |c| Ok(Datum::Bool($wrap($order(c))?.is_ne()))),
            ("<", |c| Ok(Datum::Bool($wrap($order(c))?.is_lt()))),
            ("<=", |c| Ok(Datum::Bool($wrap($order(c))?.is_le()))),
            (">", |c| Ok(Datum::Bool($wrap($order(c))?.is_gt()))),
            (">=", |c| Ok(Datum::Bool($wrap($order(c))?.is_ge()))),
        ]
    };
}

fn add(
    registry: &mut Registry,
    name: &'static str,
    args: [Arg; 2],
    eval: fn(&Call<'_>) -> Result<Datum>,
    volatility: Volatility,
) {
    registry.functions.entry(name).or_default().push(Function {
        name,
        args: args.to_vec(),
        variadic: false,
        returns: Returns::Is(SqlType::Bool),
        strict: true,
        volatility,
        eval: Eval::Pure(eval),
    });
}

pub(crate) fn register(registry: &mut Registry) {
    use SqlType::*;
    let direct = operators!(plain, Ok::<_, Error>);
    let pairs = [
        (Bool, Bool),
        (Int2, Int2),
        (Int2, Int4),
        (Int2, Int8),
        (Int4, Int2),
        (Int4, Int4),
        (Int4, Int8),
        (Int8, Int2),
        (Int8, Int4),
        (Int8, Int8),
        (Float4, Float4),
        (Float4, Float8),
        (Float8, Float4),
        (Float8, Float8),
        (Numeric(None), Numeric(None)),
        (Text, Text),
        (Text, Name),
        (Name, Text),
        (Name, Name),
        (InternalChar, InternalChar),
        (Bytes, Bytes),
        (Uuid, Uuid),
        (Date, Date),
        (Date, Timestamp),
        (Timestamp, Date),
        (Time, Time),
        (Timestamp, Timestamp),
        (Timestamptz, Timestamptz),
        (Interval, Interval),
        (Jsonb, Jsonb),
        (Oid, Oid),
        (OidVector, OidVector),
        (Tid, Tid),
        (Timetz, Timetz),
        (Inet, Inet),
        (Macaddr, Macaddr),
        (Macaddr8, Macaddr8),
        (Xid8, Xid8),
        (PgLsn, PgLsn),
        (Money, Money),
    ];
    for (left, right) in pairs {
        for (name, eval) in direct {
            let args = [Arg::Is(left.clone()), Arg::Is(right.clone())];
            add(registry, name, args, eval, Volatility::Immutable);
        }
    }
    register_unordered(registry);
    let by_type = operators!(typed, Ok::<_, Error>);
    for arg in [Arg::Enum, Arg::Is(Char(0)), Arg::Range, Arg::Multirange] {
        for (name, eval) in by_type {
            add(registry, name, [arg.clone(), arg.clone()], eval, Volatility::Immutable);
        }
    }
    register_composite(registry);
    let in_zone = operators!(zoned, std::convert::identity);
    for local in [Date, Timestamp] {
        for (name, eval) in in_zone {
            let (left, right) = (Arg::Is(local.clone()), Arg::Is(Timestamptz));
            add(registry, name, [left.clone(), right.clone()], eval, Volatility::Stable);
            add(registry, name, [right, left], eval, Volatility::Stable);
        }
    }
}

/// Arrays and rows, whose elements and columns must have the operator.
fn register_composite(registry: &mut Registry) {
    let row = Arg::Is(SqlType::Record(Vec::new().into()));
    let equal = [
        (Arg::Array, operators!(equal_arrays, std::convert::identity)),
        (row.clone(), operators!(equal_rows, std::convert::identity)),
    ];
    let ordered = [
        (Arg::Array, operators!(ordered_arrays, std::convert::identity)),
        (row, operators!(ordered_rows, std::convert::identity)),
    ];
    for (is_equality, list) in [(true, equal), (false, ordered)] {
        for (arg, operators) in list {
            let fitting = |name: &str| matches!(name, "=" | "<>") == is_equality;
            for (name, eval) in operators.into_iter().filter(|(name, _)| fitting(name)) {
                add(registry, name, [arg.clone(), arg.clone()], eval, Volatility::Immutable);
            }
        }
    }
}

/// The types of text search.
pub(crate) fn register_search(registry: &mut Registry) {
    for ty in [SqlType::TsVector, SqlType::TsQuery] {
        register_alike(registry, &ty);
    }
}

/// The operators of two values of one type, which the order of datums knows.
pub(crate) fn register_alike(registry: &mut Registry, ty: &SqlType) {
    for (name, eval) in operators!(plain, Ok::<_, Error>) {
        let args = [Arg::Is(ty.clone()), Arg::Is(ty.clone())];
        add(registry, name, args, eval, Volatility::Immutable);
    }
}

/// Types whose values are equal or not, and have no order.
fn register_unordered(registry: &mut Registry) {
    use SqlType::*;
    let direct = operators!(plain, Ok::<_, Error>);
    for (left, right) in [(Xid, Xid), (Xid, Int4), (Cid, Cid), (Aclitem, Aclitem)] {
        let names: &[&str] = if left == Xid { &["=", "<>"] } else { &["="] };
        for (name, eval) in direct.iter().filter(|(name, _)| names.contains(name)) {
            let args = [Arg::Is(left.clone()), Arg::Is(right.clone())];
            add(registry, name, args, *eval, Volatility::Immutable);
        }
    }
}

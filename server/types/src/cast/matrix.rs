//! Which casts there are, as `pg_cast` lists them.

use super::CastContext::{self, Assignment, Explicit, Implicit};
use crate::SqlType;
use crate::geometry::Shape;

/// The weakest context in which `from` casts to `to`; `None` if it never does.
/// Modifiers (`varchar(n)`, `numeric(p,s)`) do not matter here.
pub fn context(from: &SqlType, to: &SqlType) -> Option<CastContext> {
    let both_rows = matches!((from, to), (SqlType::Record(a), SqlType::Record(b))
        if a.is_same(b) || a.name().is_none() || b.name().is_none());
    if both_rows || from.same_base(to) {
        return match (from, to) {
            (SqlType::Record(a), SqlType::Record(b)) if !a.is_empty() && !b.is_empty() => {
                if a.len() != b.len() {
                    return None;
                }
                let fields = a.iter().zip(b).map(|((_, a), (_, b))| context(a, b));
                fields.collect::<Option<Vec<_>>>()?.into_iter().max()
            }
            _ => Some(Implicit),
        };
    }
    if *from == SqlType::Unknown {
        return Some(Implicit);
    }
    if *to == SqlType::Unknown {
        return Some(Explicit);
    }
    // Nothing but text becomes a vector.
    if let (Some(a), SqlType::Array(b)) = (from.element(), to) {
        return context(a, b);
    }
    listed(from, to).or_else(|| by_text(from, to))
}

/// Every type writes and reads itself as text.
fn by_text(from: &SqlType, to: &SqlType) -> Option<CastContext> {
    if matches!(from, SqlType::Any(_))
        || matches!(to, SqlType::Void | SqlType::Any(_))
        || matches!(to, SqlType::Record(row) if row.is_any_row())
    {
        return None;
    }
    if to.is_string() || *to == SqlType::Citext {
        Some(Assignment)
    } else if from.is_string() || *from == SqlType::Citext {
        Some(Explicit)
    } else {
        None
    }
}

fn numeric_rank(ty: &SqlType) -> Option<u8> {
    Some(match ty {
        SqlType::Int2 => 0,
        SqlType::Int4 => 1,
        SqlType::Int8 => 2,
        SqlType::Numeric(_) => 3,
        SqlType::Float4 => 4,
        SqlType::Float8 => 5,
        _ => return None,
    })
}

fn listed(from: &SqlType, to: &SqlType) -> Option<CastContext> {
    use SqlType::*;
    if let (Some(a), Some(b)) = (numeric_rank(from), numeric_rank(to)) {
        return Some(if a < b { Implicit } else { Assignment });
    }
    match (from, to) {
        (Int4, Bool) | (Bool, Int4) | (Int4, InternalChar) | (InternalChar, Int4) => Some(Explicit),
        (Int2 | Int4 | Int8, oid) if oid.is_oid() => Some(Implicit),
        (oid, Int4 | Int8) if oid.is_oid() => Some(Assignment),
        (Oid, reg) | (reg, Oid) if reg.is_oid() => Some(Implicit),
        (Regproc, Regprocedure) | (Regprocedure, Regproc) => Some(Implicit),
        (Regoper, Regoperator) | (Regoperator, Regoper) => Some(Implicit),
        (Xid8, Xid) => Some(Explicit),
        (Cidr, Inet) | (Macaddr, Macaddr8) | (Macaddr8, Macaddr) | (Time, Timetz) => Some(Implicit),
        (Inet, Cidr) | (Timestamptz, Timetz) | (Timetz, Time) => Some(Assignment),
        (Text | Varchar(_), Regclass) => Some(Implicit),
        (Text | Varchar(_) | Char(_), Text | Varchar(_) | Char(_) | Name) => Some(Implicit),
        (Name | InternalChar, Text) => Some(Implicit),
        (Text | Varchar(_) | Char(_), InternalChar) => Some(Assignment),
        (Name | InternalChar | Bool, Text | Varchar(_) | Char(_)) => Some(Assignment),
        (Date, Timestamp | Timestamptz) | (Timestamp, Timestamptz) | (Time, Interval) => {
            Some(Implicit)
        }
        (Timestamptz, Timestamp | Date | Time) | (Timestamp, Date | Time) | (Interval, Time) => {
            Some(Assignment)
        }
        (Bit(_), Varbit(_)) | (Varbit(_), Bit(_)) => Some(Implicit),
        (Int4 | Int8, Bit(_)) | (Bit(_), Int4 | Int8) => Some(Explicit),
        (Citext, Text | Varchar(_)) => Some(Implicit),
        (Hstore, Json | Jsonb) => Some(Explicit),
        (Array(element), Hstore) if **element == Text => Some(Explicit),
        (Money, Numeric(_)) | (Numeric(_) | Int4 | Int8, Money) => Some(Assignment),
        (Geometry(from), Geometry(to)) => figures(*from, *to),
        (Json, Jsonb) | (Jsonb, Json) => Some(Assignment),
        (Jsonb, Bool) => Some(Explicit),
        (Range(from), Multirange(to)) if from == to => Some(Explicit),
        (Jsonb, number) if numeric_rank(number).is_some() => Some(Explicit),
        _ => None,
    }
}

fn figures(from: Shape, to: Shape) -> Option<CastContext> {
    use Shape::*;
    match (from, to) {
        (Point, Corners) | (Path, Polygon) | (Corners, Polygon) | (Polygon, Path) => {
            Some(Assignment)
        }
        (Segment | Corners | Polygon | Circle, Point)
        | (Corners, Segment | Circle)
        | (Polygon, Corners | Circle)
        | (Circle, Corners | Polygon) => Some(Explicit),
        _ => None,
    }
}

//! The type that several expressions share: in UNION, CASE, ARRAY, VALUES, IN and comparisons.

use braid_types::cast::{CastContext, context};
use braid_types::sql_type::category;
use braid_types::{Error, Result, SqlState, SqlType, ignores_blanks};

/// The type that several expressions can share (UNION, CASE, ARRAY, IN, …), PostgreSQL's
/// rules; `what` names the construct for 42804.
pub(crate) fn common_type(types: &[SqlType], what: &str) -> Result<SqlType> {
    let mut common: Option<SqlType> = None;
    for ty in types.iter().filter(|ty| **ty != SqlType::Unknown) {
        common = Some(match common {
            None => ty.clone(),
            Some(current) if current == *ty => current,
            Some(current) if current.bare() == ty.bare() => current.bare(),
            Some(current) if let Some(record) = common_record(&current, ty) => record,
            Some(current) => {
                if category(&current) != category(ty) {
                    return Err(Error::new(
                        SqlState::DatatypeMismatch,
                        format!(
                            "{what} types {} and {} cannot be matched",
                            current.display_name(),
                            ty.display_name()
                        ),
                    ));
                }
                let forward = context(&current, ty) == Some(CastContext::Implicit);
                let backward = context(ty, &current) == Some(CastContext::Implicit);
                if forward && !backward {
                    ty.bare()
                } else if backward {
                    // Of types that become each other the first stays.
                    current.bare()
                } else {
                    return Err(Error::new(
                        SqlState::CannotCoerce,
                        format!(
                            "{what} could not convert type {} to {}",
                            ty.display_name(),
                            current.display_name()
                        ),
                    ));
                }
            }
        });
    }
    // A literal has no modifier, so the result has none either.
    let common = common.unwrap_or(SqlType::Text);
    Ok(if types.contains(&SqlType::Unknown) { common.bare() } else { common })
}

/// The common type of two anonymous records, which have the same number of fields. Fields of
/// different types become text: they can only be shown.
pub(crate) fn common_record(a: &SqlType, b: &SqlType) -> Option<SqlType> {
    let (SqlType::Record(a), SqlType::Record(b)) = (a, b) else { return None };
    let are_unlike = a.name().is_some() && b.name().is_some() && !a.is_same(b);
    if are_unlike || a.len() != b.len() {
        return None;
    }
    let fields = a.iter().zip(b).map(|((name, x), (_, y))| {
        let ty = match (x, y) {
            (x, y) if x == y => x.clone(),
            (x, y) if x.bare() == y.bare() => x.bare(),
            (x, y) => common_record(x, y).unwrap_or(SqlType::Text),
        };
        (name.clone(), ty)
    });
    Some(SqlType::Record(fields.collect()))
}

/// Types whose values compare without a cast.
pub(super) fn comparison_class(ty: &SqlType) -> Option<SqlType> {
    Some(match ty {
        SqlType::Int2 | SqlType::Int4 | SqlType::Int8 => SqlType::Int8,
        SqlType::Oid
        | SqlType::Regclass
        | SqlType::Regtype
        | SqlType::Regproc
        | SqlType::Regprocedure
        | SqlType::Regoper
        | SqlType::Regoperator
        | SqlType::Regcollation
        | SqlType::Regnamespace
        | SqlType::Regrole
        | SqlType::Regconfig
        | SqlType::Regdictionary => SqlType::Oid,
        SqlType::Text | SqlType::Varchar(_) | SqlType::Name => SqlType::Text,
        SqlType::Float4 | SqlType::Float8 => SqlType::Float8,
        SqlType::Numeric(_) => SqlType::Numeric(None),
        SqlType::Bool
        | SqlType::Bytes
        | SqlType::Uuid
        | SqlType::Date
        | SqlType::Time
        | SqlType::Timestamp
        | SqlType::Timestamptz
        | SqlType::Interval
        | SqlType::Jsonb
        | SqlType::Int2Vector
        | SqlType::OidVector
        | SqlType::Xid8
        | SqlType::Money
        | SqlType::PgLsn
        | SqlType::Tid
        | SqlType::Timetz
        | SqlType::Inet
        | SqlType::Macaddr
        | SqlType::Macaddr8
        | SqlType::TsVector
        | SqlType::TsQuery
        | SqlType::InternalChar
        | SqlType::Citext
        | SqlType::Hstore
        | SqlType::Range(_)
        | SqlType::Multirange(_)
        | SqlType::Enum(_) => ty.clone(),
        SqlType::Cidr => SqlType::Inet,
        SqlType::Bit(_) | SqlType::Varbit(_) => SqlType::Varbit(None),
        SqlType::Record(row)
            if row.name().is_some()
                && !ignores_blanks(ty)
                && row.iter().all(|(_, ty)| comparison_class(ty).is_some()) =>
        {
            ty.clone()
        }
        SqlType::Array(element) => SqlType::Array(Box::new(comparison_class(element)?)),
        _ => return None,
    })
}

/// The type of the left operand of `left = right`, which decides that of NULLIF.
pub(crate) fn compared_as(left: &SqlType, right: &SqlType) -> SqlType {
    use SqlType as T;
    let is_exact = |ty: &T| matches!(ty, T::Int2 | T::Int4 | T::Int8 | T::Numeric(_));
    let is_moment = |ty: &T| matches!(ty, T::Date | T::Timestamp | T::Timestamptz);
    match (left.bare(), right.bare()) {
        (T::Unknown, T::Unknown) => T::Text,
        (T::Unknown, T::Varchar(_)) => T::Text,
        (T::Unknown, known) => known,
        (T::Varchar(_), T::Char(_)) => T::Char(0),
        (T::Varchar(_), _) | (T::Char(_), T::Text) => T::Text,
        (a, b) if a == b || b == T::Unknown => a,
        (a, b) if comparison_class(&a).is_some_and(|a| Some(a) == comparison_class(&b)) => a,
        (T::Float4, exact) if is_exact(&exact) => T::Float4,
        (exact, T::Float4) if is_exact(&exact) => T::Float8,
        (a, b) if is_moment(&a) && is_moment(&b) => a,
        (a, b) => common_type(&[a.clone(), b], "=").map_or(a, |common| common.bare()),
    }
}

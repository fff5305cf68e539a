//! The types that operators want of their operands, so that casts can be written where PostgreSQL
//! writes them.

use braid_types::{Result, SqlType};

use crate::bind::common_type;
use crate::tree::expr::CompareOp;

fn is_int(ty: &SqlType) -> bool {
    matches!(ty, SqlType::Int2 | SqlType::Int4 | SqlType::Int8)
}

fn is_exact(ty: &SqlType) -> bool {
    is_int(ty) || matches!(ty, SqlType::Numeric(_))
}

fn is_float(ty: &SqlType) -> bool {
    matches!(ty, SqlType::Float4 | SqlType::Float8)
}

fn is_moment(ty: &SqlType) -> bool {
    matches!(ty, SqlType::Date | SqlType::Timestamp | SqlType::Timestamptz)
}

/// The type that comparisons of a type are made in.
fn compared(ty: &SqlType) -> SqlType {
    match ty.bare() {
        SqlType::Varchar(_) => SqlType::Text,
        SqlType::Array(element) => SqlType::Array(Box::new(compared(&element))),
        ty => ty,
    }
}

/// The types of both operands after implicit casts.
pub(crate) fn operand_types(
    op: &str,
    left: &SqlType,
    right: &SqlType,
) -> Result<(SqlType, SqlType)> {
    let (left, right) = (left.bare(), right.bare());
    let own = (left.clone(), right.clone());
    // PostgreSQL has no operators of real and exact numbers.
    match (&left, &right) {
        (SqlType::Float4, exact) if is_exact(exact) => return Ok((left, SqlType::Float8)),
        (exact, SqlType::Float4) if is_exact(exact) => return Ok((SqlType::Float8, right)),
        _ => {}
    }
    if (is_int(&left) && is_int(&right)) || (is_float(&left) && is_float(&right)) {
        return Ok(own);
    }
    if CompareOp::from_symbol(op).is_some() {
        return compared_types(op, &left, &right);
    }
    let resolved = braid_builtins::resolve_operator(op, Some(&left), &right)?;
    let [a, b] = resolved.arg_types.as_slice() else { return Ok(own) };
    let wanted = |own: &SqlType, wanted: &SqlType| match wanted {
        SqlType::Unknown => own.clone(),
        wanted if is_int(own) && is_int(wanted) => own.clone(),
        wanted => wanted.bare(),
    };
    Ok((wanted(&left, a), wanted(&right, b)))
}

fn compared_types(op: &str, left: &SqlType, right: &SqlType) -> Result<(SqlType, SqlType)> {
    use SqlType as T;
    Ok(match (left, right) {
        (T::Unknown, T::Unknown) => (T::Text, T::Text),
        (T::Unknown, known) | (known, T::Unknown) => (compared(known), compared(known)),
        (T::Char(_), T::Varchar(_)) | (T::Varchar(_), T::Char(_)) => (T::Char(0), T::Char(0)),
        (T::Char(_), T::Text) | (T::Text, T::Char(_)) => (T::Text, T::Text),
        (T::Name, T::Text | T::Varchar(_)) => (T::Name, T::Text),
        (T::Text | T::Varchar(_), T::Name) => (T::Text, T::Name),
        (a, b) if a == b => (compared(a), compared(b)),
        (T::Text | T::Varchar(_), T::Text | T::Varchar(_)) => (T::Text, T::Text),
        (a, b) if is_moment(a) && is_moment(b) => (a.clone(), b.clone()),
        (a, b) => match common_type(&[a.clone(), b.clone()], "=") {
            Ok(common) => (common.bare(), common.bare()),
            Err(_) => {
                let resolved = braid_builtins::resolve_operator(op, Some(a), b)?;
                match resolved.arg_types.as_slice() {
                    [x, y] => (x.clone(), y.clone()),
                    _ => (a.clone(), b.clone()),
                }
            }
        },
    })
}

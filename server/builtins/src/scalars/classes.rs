//! Which types have operators of equality and order.

use braid_types::{Error, Result, SqlState, SqlType};

/// 42883 for a type without the operator, which PostgreSQL finds when it compares values.
pub(crate) fn check_class(ty: &SqlType, ordering: bool) -> Result<()> {
    let Some(lacking) = lacking(ty, ordering) else { return Ok(()) };
    let what = if ordering { "a comparison function" } else { "an equality operator" };
    let message = format!("could not identify {what} for type {}", lacking.plain_name());
    Err(Error::new(SqlState::UndefinedFunction, message))
}

/// The type without the operator: that of the elements, or of a field of an anonymous row.
fn lacking(ty: &SqlType, ordering: bool) -> Option<&SqlType> {
    let inner = ty.innermost();
    match inner {
        SqlType::Json | SqlType::Jsonpath | SqlType::Geometry(_) => Some(inner),
        SqlType::Snapshot(_) => Some(inner),
        SqlType::Xid | SqlType::Cid | SqlType::Aclitem if ordering => Some(inner),
        SqlType::Record(row) => {
            let field = row.iter().find_map(|(_, field)| lacking(field, ordering))?;
            Some(if row.name().is_some() { inner } else { field })
        }
        _ => None,
    }
}

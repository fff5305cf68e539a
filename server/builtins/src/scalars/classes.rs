//! Which types have operators of equality and order.

use braid_types::{Error, Result, SqlState, SqlType};

/// 42883 for a type without the operator, which PostgreSQL finds when it compares values.
pub(crate) fn check_class(ty: &SqlType, ordering: bool) -> Result<()> {
    let lacks = match ty.innermost() {
        SqlType::Json | SqlType::Jsonpath | SqlType::Geometry(_) => true,
        SqlType::Xid | SqlType::Cid | SqlType::Aclitem => ordering,
        _ => false,
    };
    if !lacks {
        return Ok(());
    }
    let what = if ordering { "a comparison function" } else { "an equality operator" };
    let name = ty.innermost().plain_name();
    let message = format!("could not identify {what} for type {name}");
    Err(Error::new(SqlState::UndefinedFunction, message))
}

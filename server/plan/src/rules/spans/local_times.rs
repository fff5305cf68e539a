//! Bounds from comparisons of local times with instants, and of dates with times.
//!
//! The session's time zone decides which instant a local time is. Where clocks were changed, the
//! order of local times is not that of their instants, so bounds are a little too wide there, and
//! the condition itself stays.
//!
//! ```text
//!   at > now()        at: Range (braid_first_local(now()) ..)
//!   day <= now()      day: Range (.. braid_last_local(now())::date)
//! ```

use braid_types::SqlType;

use crate::tree::expr::{CallExpr, CastExpr, Expr};

/// The first and the last value of a column that can be equal to what it is compared with.
pub(crate) struct Equals {
    pub first: Expr,
    pub last: Expr,
}

/// The values of a column of a type that can be equal to a time.
pub(crate) fn equals(column: &SqlType, value: &Expr) -> Option<Equals> {
    let local = match (column, value.ty()) {
        (SqlType::Timestamp | SqlType::Date, SqlType::Timestamptz) => Equals {
            first: local("braid_first_local", value)?,
            last: local("braid_last_local", value)?,
        },
        (SqlType::Date, SqlType::Timestamp) => Equals { first: value.clone(), last: value.clone() },
        _ => return None,
    };
    if *column == SqlType::Timestamp {
        return Some(local);
    }
    Some(Equals { first: day(local.first), last: day(local.last) })
}

fn local(name: &str, value: &Expr) -> Option<Expr> {
    let types = vec![SqlType::Timestamptz];
    let function = braid_builtins::resolve_function(name, &types).ok()?.function;
    let (args, returns) = (vec![value.clone()], SqlType::Timestamp);
    Some(Expr::Call(Box::new(CallExpr { function, args, types, spread: false, returns })))
}

/// The day that a time belongs to.
fn day(expr: Expr) -> Expr {
    let (from, to) = (SqlType::Timestamp, SqlType::Date);
    Expr::Cast(Box::new(CastExpr { expr, from, to, explicit: false }))
}

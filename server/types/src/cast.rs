//! Casts between types, with PostgreSQL's contexts.

use crate::{Datum, FormatSettings, Result, SqlType};

/// Where a cast may happen without being written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum CastContext {
    /// Anywhere (int4 to int8).
    Implicit,
    /// When storing into a column (int8 to int4).
    Assignment,
    /// Only when written (text to int4).
    Explicit,
}

/// The weakest context in which `from` casts to `to`; `None` if it never does.
/// Modifiers (`varchar(n)`, `numeric(p,s)`) do not matter here.
pub fn context(_from: &SqlType, _to: &SqlType) -> Option<CastContext> {
    todo!()
}

/// What a cast needs to know of the session.
pub struct CastEnv<'a> {
    /// Formats and time zone.
    pub settings: &'a FormatSettings,
    /// The transaction's timestamp: microseconds since 2000-01-01 UTC.
    pub now_micros: i64,
}

/// Casts a datum, applying `to`'s modifiers: an explicit cast truncates strings, an assignment
/// fails with 22001. NULL stays NULL. The `reg*` types are looked up by `builtins`, not here.
pub fn cast(_datum: &Datum, _from: &SqlType, _to: &SqlType, _explicit: bool, _env: &CastEnv<'_>) -> Result<Datum> {
    todo!()
}

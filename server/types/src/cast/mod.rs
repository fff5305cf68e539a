//! Casts between types, with PostgreSQL's contexts.
//!
//! Here: which casts exist and where they may happen unwritten (`matrix`), and what they do
//! (`apply`, `numbers`, `times`), and whether they depend on the session (`volatility`). Not here:
//! names for the `reg*` types (`builtins` looks them up).
//!
//! Rules: NULL stays NULL; the target's modifiers are applied, an explicit cast truncating
//! strings where an assignment fails.

mod apply;
mod matrix;
mod missing;
mod numbers;
mod times;
mod volatility;

use crate::FormatSettings;

pub use apply::cast;
pub use matrix::context;
pub use missing::NoCast;
pub use volatility::{is_immutable, prints_alike};

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

/// What a cast needs to know of the session.
pub struct CastEnv<'a> {
    /// Formats and time zone.
    pub settings: &'a FormatSettings,
    /// The transaction's timestamp: microseconds since 2000-01-01 UTC.
    pub now_micros: i64,
}

//! Casts between types, with PostgreSQL's contexts.
//!
//! Here: which casts exist and where they may happen unwritten (`matrix`), and what they do
//! (`apply`, `numbers`, `times`), and whether they depend on the session (`volatility`). Not here:
//! names for the `reg*` types (`builtins` looks them up).
//!
//! Rules: NULL stays NULL; the target's modifiers are applied, an explicit cast truncating
//! strings where an assignment fails.

mod apply;
mod contexts;
mod matrix;
mod missing;
mod numbers;
mod times;
mod volatility;

pub use apply::cast;
pub use contexts::{CastContext, CastEnv};
pub use matrix::context;
pub use missing::NoCast;
pub use volatility::{is_immutable, prints_alike};

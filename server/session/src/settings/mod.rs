//! The variables of `SET` and `SHOW`: which there are, what they accept, and what they are now.
//!
//! ```text
//! defaults ◄── start-up options ◄── SET (undone by ROLLBACK) ◄── SET LOCAL (until the end)
//! ```
//!
//! Rules: a value is stored in its canonical text; what the hot path needs of it is parsed once
//! and kept in [`Active`]; a failed transaction leaves the values as they were before it.

mod accepted;
mod active;
mod categories;
mod described;
mod formats;
mod isolation;
mod setting;
mod table;
mod units;
mod values;

pub use active::Active;
pub(crate) use categories::category;
pub(crate) use described::described;
pub(crate) use formats::real_text;
pub(crate) use isolation::{isolation_of, isolation_text};
pub use setting::{Access, Kind, Setting};
pub use table::{find, is_identity, settings};
pub(crate) use units::in_unit;
pub use values::{Settings, SettingsMark, check_value};
pub(crate) use values::{active_with, denied};

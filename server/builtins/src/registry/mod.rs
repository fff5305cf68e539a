//! The registry of functions, and overload resolution.

pub(crate) mod call;
pub(crate) mod families;
pub(crate) mod function;
pub(crate) mod polymorphic;
pub(crate) mod resolve;
pub(crate) mod tables;
pub(crate) mod traits;

//! Scalar expressions, the calls and subqueries in them, and the types that they get.

pub(crate) mod aggregate;
pub(crate) mod arguments;
pub(crate) mod common_type;
pub(crate) mod data_type;
pub(crate) mod function;
pub(crate) mod literal;
pub(crate) mod modified;
pub(crate) mod operators;
pub(crate) mod scalar;
pub(crate) mod subquery;
pub(crate) mod subscript;
pub(crate) mod window;

//! Forms of FROM's items that sqlparser lacks: `t *`, `ONLY (t)`, and functions with a syntax of
//! their own.

mod forms;
pub(crate) mod only;

pub(crate) use forms::{Forms, may_be_star, may_begin};

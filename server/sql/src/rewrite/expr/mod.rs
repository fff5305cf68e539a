//! Forms of expressions that sqlparser lacks.

pub(crate) mod normal_forms;
pub(crate) mod typed_literals;

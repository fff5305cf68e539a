//! Parts of a table's descriptor that several statements change: columns, keys, expressions.

pub(crate) mod columns;
pub(crate) mod constraint_names;
pub(crate) mod constraints;
pub(crate) mod descriptor;
pub(crate) mod expr_text;
pub(crate) mod exprs;
pub(crate) mod foreign_keys;
pub(crate) mod interleave;
pub(crate) mod key_classes;
pub(crate) mod key_spec;
pub(crate) mod moving;
pub(crate) mod rowid;

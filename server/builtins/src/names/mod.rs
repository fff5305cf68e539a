//! Functions, types and relations by name, as the `reg*` types and `pg_proc` have them.

pub(crate) mod input_functions;
pub(crate) mod parameters;
pub(crate) mod procedures;
pub(crate) mod pseudo_types;
pub(crate) mod reg;
pub(crate) mod reg_signatures;
pub(crate) mod type_names;

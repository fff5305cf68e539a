//! `information_schema`: the views of the SQL standard.

pub(crate) mod columns;
pub(crate) mod constraints;
pub(crate) mod domains;
pub(crate) mod privileges;
pub(crate) mod roles;
pub(crate) mod routines;
pub(crate) mod sql_features;
pub(crate) mod tables;
pub(crate) mod triggers;
pub(crate) mod user_types;

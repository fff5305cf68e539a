//! Names of the collations that are always there.
//!
//! What is here: the collations of `pg_catalog`. What is not: their orders (`builtins` makes sort
//! keys), the collations of users (`catalog`).

mod built_in;

pub use built_in::{BYTE_COLLATIONS, built_in_name, built_in_oid, icu_locale, icu_locales};

//! Functions and operators on `json` and `jsonb`.
//!
//! The value itself, its order and its edits are `braid_types::Json`; here are the SQL names, and
//! how any SQL value becomes JSON.

mod build;
mod convert;
mod operators;
mod path;
mod records;
mod rows;

pub(crate) use convert::{to_json_text, to_jsonb, to_key};

use crate::registry::tables::Registry;

pub(crate) fn register(registry: &mut Registry) {
    build::register(registry);
    operators::register(registry);
    path::register(registry);
    records::register(registry);
    rows::register(registry);
}

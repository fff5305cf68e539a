//! The types a column, parameter or expression can have, with PostgreSQL's names and numbers.
//!
//! Here: the enum (`variants`), its names (`names`) and what `pg_type` shows of it (`facts`).
//! Not here: how values of a type read, print, compare or convert.
//!
//! Rule: `from_oid(ty.oid())` with `ty.typmod()` is `ty` again for every type that has an oid of
//! its own (records keep their fields elsewhere).

mod any_type;
mod facts;
mod names;
mod row_name;
mod scalars;
mod variants;

pub use any_type::AnyType;
pub use facts::{all, array_oid, category, is_preferred, length, storage};
pub use row_name::{RowAttribute, RowName, relation_of_row_type, row_array_type_oid, row_type_oid};
pub use variants::{
    Field, RowType, SqlType, range_kind, range_subtype, refresh_types, row_name, user_types,
};

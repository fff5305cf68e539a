//! The items of FROM, their joins, and the columns that they offer.

pub(crate) mod aliases;
pub(crate) mod items;
pub(crate) mod presence;
pub(crate) mod privileges;
pub(crate) mod range_table;
pub(crate) mod sample;
pub(crate) mod security;
pub(crate) mod stored_table;
pub(crate) mod system_columns;
pub(crate) mod table_function;
pub(crate) mod using;

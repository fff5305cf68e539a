//! Orders that indexes have: sorts that go, and first rows that are read without the others.

pub(crate) mod extremes;
mod first_of_each;
pub(crate) mod first_rows;
mod index_order;
pub(crate) mod joined;
pub(crate) mod scans;
pub(crate) mod use_order;

//! Orders that indexes have: sorts that go, and first rows that are read without the others.

pub mod extremes;
mod first_of_each;
pub mod first_rows;
mod index_order;
pub mod joined;
pub mod scans;
pub mod use_order;

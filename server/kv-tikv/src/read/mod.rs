//! Reads at one timestamp: snapshots, lookups of keys, scans.
//!
//! `TikvSnapshot` and `TikvCursor` are the contract's types: they take and return contract keys.

mod context;
mod cursor;
mod lookup;
mod snapshot;

pub(crate) use context::ReadContext;
pub(crate) use cursor::TikvCursor;
pub(crate) use lookup::multi_get;
pub(crate) use snapshot::TikvSnapshot;

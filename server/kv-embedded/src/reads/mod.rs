//! Reads: published views, scans of them, and what long scans leave in memory.
//!
//! - `view`: the store as it was after one commit
//! - `snapshot`: a view as the contract's snapshot
//! - `cursor`: an open scan of a view
//! - `point_reads`: many keys at once
//! - `range_cache`: batches of long scans, for the next scan
//! - `key_samples`: a quick search in one of these batches
//! - `repeats`: which lookups come again
//! - `live_views`: which views are still alive

mod cursor;
mod key_samples;
mod live_views;
mod point_reads;
mod range_cache;
mod repeats;
mod snapshot;
mod view;

pub(crate) use cursor::ViewCursor;
pub(crate) use live_views::LiveViews;
pub(crate) use range_cache::RangeCache;
pub(crate) use snapshot::{ViewSnapshot, view_of};
pub(crate) use view::View;

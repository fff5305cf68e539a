//! The catalogs of this process: versions that sessions share, and drafts of transactions.

mod catalog_cache;
mod changes;
mod draft;
mod known_statistics;
mod shared_map;
mod statistics;

pub use catalog_cache::{CatalogCache, PendingChange, Standing};
pub(crate) use changes::Change;
pub use draft::Draft;
pub(crate) use shared_map::SharedMap;
pub use statistics::{AnalyzeRuns, AnalyzedBy, Changes, Statistics};

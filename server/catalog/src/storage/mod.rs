//! The catalog's own pairs in the store.

mod backfill;
mod bootstrap;
mod dropped;
pub(crate) mod stored;
pub(crate) mod system_keys;

pub use backfill::Backfill;
pub(crate) use backfill::begun_or_ended;
pub use bootstrap::bootstrap;
pub use dropped::{Dropped, dropped_ranges};
pub use stored::{Descriptor, FORMAT_VERSION};
pub use system_keys::{descriptor_key, table_span, version_key};

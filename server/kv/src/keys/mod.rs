//! Keys, spans of keys, sets and maps of spans and keys, and batches of scanned entries.

mod batch;
mod entry_filter;
mod key_map;
mod key_shape;
mod span;
mod span_map;

pub use batch::{BatchBuilder, ScanBatch};
pub use entry_filter::{EntryFilter, Matching};
pub use key_map::{Inserted, KeyMap};
pub use key_shape::KeyShape;
pub(crate) use key_shape::ShapedCursor;
pub use span::{Key, Span, SpanSet, Value, key_after, prefix_end};
pub use span_map::SpanMap;

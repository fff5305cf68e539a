//! A new index is filled while others write.
//!
//! `build_index` is the protocol; `bulk_fill` and batches fill the index; `builder` makes entries.

pub(crate) mod build_index;
mod builder;
mod bulk_fill;

//! Functions on text and bytea, one family a file.

mod basic;
mod bytes;
mod citext;
mod digest;
mod format;
mod like;
mod pgcrypto;
mod quote;
mod regexp;
mod split;
mod trigrams;
mod unicode;

pub(crate) use basic::bounds;
pub(crate) use quote::{split_identifier, split_object_name};
pub(crate) use regexp::{matches, split_pieces};
pub(crate) use split::split_text;

use crate::registry::tables::Registry;

pub(crate) fn register(registry: &mut Registry) {
    basic::register(registry);
    bytes::register(registry);
    citext::register(registry);
    digest::register(registry);
    pgcrypto::register(registry);
    format::register(registry);
    like::register(registry);
    quote::register(registry);
    regexp::register(registry);
    split::register(registry);
    trigrams::register(registry);
    unicode::register(registry);
}

//! Encodings of keys and values: order, round trips, input that is damaged.

mod enums;
mod fuzz_bytes;
mod keys;
mod prefix_ends;
mod support;
mod values;

//! What the messages of a client mean: simple queries, the extended protocol, COPY, cursors.

pub(crate) mod between;
pub(crate) mod copy;
pub(crate) mod cursors;
pub(crate) mod extended;
pub(crate) mod function_call;
pub(crate) mod simple;
pub(crate) mod sync;
pub(crate) mod text;

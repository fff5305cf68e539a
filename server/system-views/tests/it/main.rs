//! Every system view over a catalog in an embedded store.

#[path = "../../../catalog/tests/it/support.rs"]
mod support;
mod views;

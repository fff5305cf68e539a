//! The tests that every store has to pass, on the embedded one.

#![allow(clippy::unwrap_used)]

#[path = "../../../kv/tests/contract/mod.rs"]
pub(crate) mod contract;

use braid_kv::{Database, DatabaseOptions};
use braid_kv_embedded::{EmbeddedOptions, EmbeddedStore};
use std::sync::Arc;

async fn database() -> (Database, tempfile::TempDir) {
    let dir = tempfile::tempdir().unwrap();
    let store = EmbeddedStore::open(dir.path(), EmbeddedOptions::default()).unwrap();
    (Database::new(Arc::new(store), DatabaseOptions::default()), dir)
}

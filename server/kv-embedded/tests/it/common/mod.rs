//! Helpers of the tests in this folder.
#![allow(dead_code, unused_imports, clippy::unwrap_used)]

#[path = "../../../../kv/tests/contract/helpers.rs"]
mod helpers;

use braid_kv::{Database, DatabaseOptions};
use braid_kv_embedded::{EmbeddedOptions, EmbeddedStore};
pub use helpers::*;
use std::{path::Path, sync::Arc};

pub fn open(path: &Path) -> Database {
    open_with(path, EmbeddedOptions::default())
}

pub fn open_with(path: &Path, options: EmbeddedOptions) -> Database {
    let store = EmbeddedStore::open(path, options).unwrap();
    Database::new(Arc::new(store), DatabaseOptions::default())
}

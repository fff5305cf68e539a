//! Helpers of the tests in this folder.
#![allow(dead_code, unused_imports, clippy::unwrap_used)]

pub(crate) use crate::shared::contract::helpers::*;
use braid_kv::{Database, DatabaseOptions};
use braid_kv_embedded::{EmbeddedOptions, EmbeddedStore};
use std::{path::Path, sync::Arc};

pub(crate) fn open(path: &Path) -> Database {
    open_with(path, EmbeddedOptions::default())
}

pub(crate) fn open_with(path: &Path, options: EmbeddedOptions) -> Database {
    let store = EmbeddedStore::open(path, options).unwrap();
    Database::new(Arc::new(store), DatabaseOptions::default())
}

//! What the rows of a virtual table are computed from.

use std::collections::HashMap;
use std::sync::Arc;

use braid_builtins::{Environment, Lookup};
use braid_catalog::{Catalog, CatalogNames, Id, LargeObject, SearchPath};
use braid_types::{Result, Row};

use crate::runtime::RuntimeInfo;

/// Computes the rows of a virtual table, in no order that could be relied on.
pub(crate) type RowsOf = fn(&VirtualContext<'_>) -> Result<Vec<Row>>;

/// What the rows are computed from.
pub struct VirtualContext<'a> {
    /// The catalog as the statement sees it.
    pub catalog: &'a Arc<Catalog>,
    /// The session's search path and database.
    pub path: &'a SearchPath,
    /// Names and definitions.
    pub lookup: &'a dyn Lookup,
    /// The session.
    pub env: &'a dyn Environment,
    /// The running server.
    pub runtime: &'a dyn RuntimeInfo,
    /// The last values of the sequences that were used and that the user may see, if the view
    /// [shows them](braid_catalog::VirtualTable::shows_last_values).
    pub last_values: &'a HashMap<Id, i64>,
    /// The large objects, if the view
    /// [shows them](braid_catalog::VirtualTable::shows_large_objects).
    pub large_objects: &'a [LargeObject],
}

impl VirtualContext<'_> {
    /// Names as the session has to write them.
    pub(crate) fn names(&self) -> CatalogNames<'_> {
        CatalogNames { catalog: self.catalog, path: Some(self.path) }
    }
}

//! The session's temporary objects: their descriptors and their rows.
//!
//! ```text
//!   statement ─ catalog_at ─▶ shared catalog ─ over ─▶ with this session's objects laid over it
//!   commit    ─ ON COMMIT ─ store's commit ─▶ the draft's temporary objects are the session's now
//! ```
//!
//! Rules: what has not been committed is in the transaction's draft and buffer only, so that
//! ROLLBACK drops it with these; nothing of it is stored, so that it ends with the session.

use std::sync::Arc;

use braid_catalog::{
    Catalog, CatalogCache, Draft, Sequence, Table, TemporaryObjects, temporary_span,
};
use braid_ddl as ddl;
use braid_kv::LocalKeyspace;

/// The temporary objects of a session as its last commit has left them.
pub(crate) struct Temporary {
    objects: TemporaryObjects,
    /// Rows of temporary tables.
    pub keys: Arc<LocalKeyspace>,
    /// A shared catalog, and the same with the objects laid over it. Laying them takes time for
    /// each object, so that it is not done again at each commit.
    laid: Option<(Arc<Catalog>, Arc<Catalog>)>,
}

impl Temporary {
    pub(crate) fn new() -> Temporary {
        let keys = LocalKeyspace::new(temporary_span(), 0);
        Temporary { objects: TemporaryObjects::default(), keys, laid: None }
    }

    /// Whether the session works with the shared catalog itself.
    pub(crate) fn is_empty(&self) -> bool {
        self.objects.is_empty()
    }

    /// Its sequences.
    pub(crate) fn sequences(&self) -> &[Arc<Sequence>] {
        self.objects.sequences()
    }

    /// The temporary objects of a transaction that has committed are the session's.
    pub(crate) fn keep(&mut self, draft: Option<&Draft>, catalog: &CatalogCache) {
        let Some(draft) = draft.filter(|draft| draft.has_temporary()) else { return };
        let objects = draft.catalog().temporary_objects();
        let before = std::mem::replace(&mut self.objects, objects);
        self.laid = self.laid_by(draft);
        // Both lists are in the order of ids.
        let now = self.objects.tables();
        let is_gone = |old: &&Arc<Table>| now.binary_search_by_key(&old.id, |new| new.id).is_err();
        let gone = before.tables().iter().filter(is_gone);
        gone.for_each(|table| catalog.statistics().forget(table.id));
    }

    /// The catalog of a draft over temporary objects alone is what its commit would lay again.
    fn laid_by(&mut self, draft: &Draft) -> Option<(Arc<Catalog>, Arc<Catalog>)> {
        let below = match self.laid.take() {
            _ if draft.is_locked() => return None,
            Some((below, laid)) if Arc::ptr_eq(&laid, draft.base()) => below,
            _ if draft.base().temporary_schema().is_none() => draft.base().clone(),
            _ => return None,
        };
        Some((below, draft.catalog().clone()))
    }

    /// The session ends, and its temporary objects with it.
    pub(crate) fn forget(&mut self, catalog: &CatalogCache) {
        for table in self.objects.tables() {
            catalog.statistics().forget(table.id);
        }
    }

    /// Whether a commit changes the session's temporary tables.
    pub(crate) fn has_on_commit(&self) -> bool {
        ddl::has_on_commit(self.objects.tables())
    }

    /// The catalog with the session's objects laid over it.
    pub(crate) fn over(&mut self, base: Arc<Catalog>) -> Arc<Catalog> {
        if self.objects.is_empty() {
            return base;
        }
        match &self.laid {
            Some((below, laid)) if Arc::ptr_eq(below, &base) => laid.clone(),
            _ => {
                let laid = base.with_temporary(&self.objects);
                self.laid = Some((base, laid.clone()));
                laid
            }
        }
    }
}

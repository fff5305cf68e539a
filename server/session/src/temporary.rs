//! The session's temporary objects: their descriptors, their rows, and what a commit does to them.
//!
//! ```text
//!   statement ─ catalog_at ─▶ shared catalog ─ over ─▶ with this session's objects laid over it
//!   commit    ─ ON COMMIT ─ store's commit ─▶ the draft's temporary objects are the session's now
//! ```
//!
//! Rules: what has not been committed is in the transaction's draft and buffer only, so that
//! ROLLBACK drops it with these; nothing of it is stored, so that it ends with the session.

use std::sync::Arc;

use braid_catalog::{Catalog, TemporaryObjects, temporary_span};
use braid_exec::ddl::{self, DdlContext};
use braid_exec::from_kv;
use braid_kv::LocalKeyspace;
use braid_types::Result;

use crate::session::Session;
use crate::transaction::Open;

/// The temporary objects of a session as its last commit has left them.
pub(crate) struct Temporary {
    objects: TemporaryObjects,
    /// Rows of temporary tables.
    pub keys: Arc<LocalKeyspace>,
    /// A shared catalog, and the same with the objects laid over it.
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

impl Session {
    /// The catalog as a statement of the transaction sees it, made of the shared one.
    pub(crate) fn over_shared(&mut self, base: Arc<Catalog>) -> Arc<Catalog> {
        match self.open.as_mut().and_then(|open| open.draft.as_mut()) {
            Some(draft) => {
                draft.rebase(&base);
                draft.catalog().clone()
            }
            None => self.temporary.over(base),
        }
    }

    /// The same for a transaction that is not, or no longer, the session's open one.
    pub(crate) async fn catalog_of(&mut self, open: &mut Open) -> Result<Arc<Catalog>> {
        if let Some(draft) = &open.draft
            && draft.is_locked()
        {
            return Ok(draft.catalog().clone());
        }
        let seq = open.txn.next_statement();
        let base = self.server.catalog.at(&open.txn, seq).await.map_err(from_kv)?;
        Ok(match &mut open.draft {
            Some(draft) => {
                draft.rebase(&base);
                draft.catalog().clone()
            }
            None => self.temporary.over(base),
        })
    }

    /// Carries out ON COMMIT of temporary tables in a transaction that is about to commit.
    pub(crate) async fn end_temporary(&mut self, open: &mut Open) -> Result<()> {
        let concerned = match &open.draft {
            Some(draft) => ddl::has_on_commit(draft.catalog().temporary_objects().tables()),
            None => ddl::has_on_commit(self.temporary.objects.tables()),
        };
        if !concerned {
            return Ok(());
        }
        self.change_temporary(open, |cx: &mut DdlContext<'_>| cx.end_temporary()).await
    }

    /// DISCARD TEMP.
    pub(crate) async fn discard_temporary(&mut self) -> Result<()> {
        self.ensure_open();
        let Some(mut open) = self.open.take() else { return Ok(()) };
        open.statements += 1;
        let result = self
            .change_temporary(&mut open, |cx: &mut DdlContext<'_>| cx.discard_temporary())
            .await;
        self.open = Some(open);
        result
    }

    async fn change_temporary(
        &mut self,
        open: &mut Open,
        change: impl FnOnce(&mut DdlContext<'_>) -> Result<()>,
    ) -> Result<()> {
        let catalog = self.catalog_of(open).await?;
        let env = self.environment(&catalog);
        let seq = open.txn.next_statement();
        let exec = self.context_in(open.txn.clone(), seq, catalog, env);
        let mut cx = DdlContext {
            exec: &exec,
            text: "",
            param_types: &[],
            params: &Arc::default(),
            cache: &self.server.catalog,
            draft: &mut open.draft,
            implicit: false,
            notices: &mut Vec::new(),
            scattered: Vec::new(),
        };
        change(&mut cx)
    }

    /// The temporary objects of a transaction that has committed are the session's.
    pub(crate) fn keep_temporary(&mut self, open: &Open) {
        let Some(draft) = &open.draft else { return };
        if !draft.has_temporary() {
            return;
        }
        let objects = draft.catalog().temporary_objects();
        let before = std::mem::replace(&mut self.temporary.objects, objects);
        self.temporary.laid = None;
        let now = self.temporary.objects.tables();
        let gone = before.tables().iter().filter(|old| now.iter().all(|new| new.id != old.id));
        gone.for_each(|table| self.server.catalog.statistics().forget(table.id));
    }

    /// Forgets values of temporary sequences that are gone or were rolled back.
    pub(crate) fn retain_temporary_sequences(&self) {
        self.shared.sequences.lock().retain_temporary(self.temporary.objects.sequences());
    }

    /// The session ends, and its temporary objects with it.
    pub(crate) fn forget_temporary(&mut self) {
        for table in self.temporary.objects.tables() {
            self.server.catalog.statistics().forget(table.id);
        }
    }
}

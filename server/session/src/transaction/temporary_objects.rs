//! What commits and DISCARD do to temporary tables.

use std::sync::Arc;

use braid_ddl as ddl;
use braid_ddl::DdlContext;
use braid_types::Result;

use crate::session::Session;
use crate::statement::context::{context_in, statement_environment};
use crate::transaction::open::{catalog_of, ensure_open};
use crate::transaction::state::Open;

/// Carries out ON COMMIT of temporary tables in a transaction that is about to commit.
pub(crate) async fn end_temporary(session: &mut Session, open: &mut Open) -> Result<()> {
    let concerned = match &open.draft {
        Some(draft) => ddl::has_on_commit(draft.catalog().temporary_objects().tables()),
        None => session.temporary.has_on_commit(),
    };
    if !concerned {
        return Ok(());
    }
    change_temporary(session, open, ddl::end_temporary).await
}

/// DISCARD TEMP.
pub(crate) async fn discard_temporary(session: &mut Session) -> Result<()> {
    ensure_open(session);
    let Some(mut open) = session.open.take() else { return Ok(()) };
    open.statements += 1;
    let result = change_temporary(session, &mut open, ddl::discard_temporary).await;
    session.open = Some(open);
    result
}

async fn change_temporary(
    session: &mut Session,
    open: &mut Open,
    change: impl FnOnce(&mut DdlContext<'_>) -> Result<()>,
) -> Result<()> {
    let catalog = catalog_of(session, open).await?;
    let env = statement_environment(session, &catalog);
    let seq = open.txn.next_statement();
    let exec = context_in(session, open.txn.clone(), seq, catalog, env);
    let mut cx = DdlContext {
        exec: &exec,
        text: "",
        param_types: &[],
        params: &Arc::default(),
        cache: &session.engine.catalog,
        draft: &mut open.draft,
        implicit: false,
        notices: &mut Vec::new(),
        scattered: Vec::new(),
    };
    change(&mut cx)
}

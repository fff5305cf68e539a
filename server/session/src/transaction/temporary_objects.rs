//! What commits and DISCARD do to temporary tables.

use std::sync::Arc;

use braid_ddl as ddl;
use braid_ddl::DdlContext;
use braid_types::{Error, Result};

use crate::session::Session;
use crate::statement::context::{context_in, statement_environment};
use crate::transaction::open::{catalog_of, ensure_open};
use crate::transaction::state::Open;

/// Carries out ON COMMIT of temporary tables in a transaction that is about to commit.
pub(crate) async fn end_temporary(session: &mut Session, open: &Open) -> Result<()> {
    let concerned = match open.draft.get() {
        Some(draft) => ddl::has_on_commit(draft.catalog().temporary_objects().tables()),
        None => session.temporary.has_on_commit(),
    };
    if !concerned {
        return Ok(());
    }
    Box::pin(change_temporary(session, open, ddl::end_temporary)).await
}

/// DISCARD TEMP.
pub(crate) async fn discard_temporary(session: &mut Session) -> Result<()> {
    ensure_open(session);
    let Some(mut open) = session.open.take() else { return Ok(()) };
    open.statements += 1;
    let result = change_temporary(session, &open, ddl::discard_temporary).await;
    session.open = Some(open);
    result
}

async fn change_temporary(
    session: &mut Session,
    open: &Open,
    change: impl FnOnce(&mut DdlContext<'_>) -> Result<()>,
) -> Result<()> {
    let catalog = catalog_of(session, open).await?;
    let env = statement_environment(session, &catalog);
    let seq = open.txn.next_statement();
    let exec = context_in(session, open, seq, catalog, env);
    let Some(mut lent) = open.draft.lend() else {
        return Err(Error::internal("a definition is running while its transaction ends"));
    };
    let mut cx = DdlContext {
        exec: &exec,
        text: "",
        param_types: &[],
        params: &Arc::default(),
        variables: None,
        cache: &session.engine.catalog,
        draft: &mut lent.draft,
        implicit: false,
        notices: &mut Vec::new(),
        scattered: Vec::new(),
    };
    let result = change(&mut cx);
    lent.give_back();
    result
}

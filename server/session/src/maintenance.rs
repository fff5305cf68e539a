//! What the server's jobs do in a session of their own.

use std::sync::Arc;

use braid_catalog::Table;
use braid_ddl::{self as ddl, DdlContext};
use braid_types::{Result, Row};

use crate::session::Session;
use crate::statement::context::{exec_context, statement_environment};
use crate::transaction::open::{catalog_at, ensure_open};

/// What does not fit together in a table's data, a row for each finding.
pub async fn check_table(session: &mut Session, table: &Arc<Table>) -> Result<Vec<Row>> {
    let seq = ensure_open(session).txn.next_statement();
    let catalog = catalog_at(session, seq).await?;
    let env = statement_environment(session, &catalog);
    let cx = exec_context(session, seq, catalog, env);
    braid_dml::check_table(&cx, table).await
}

/// Finishes a schema change that another gateway has begun.
pub async fn finish_taken_over(session: &mut Session, taken: ddl::TakenOver) -> Result<()> {
    let seq = ensure_open(session).txn.next_statement();
    let catalog = catalog_at(session, seq).await?;
    let env = statement_environment(session, &catalog);
    let exec = exec_context(session, seq, catalog, env);
    let mut cx = DdlContext {
        exec: &exec,
        text: "",
        param_types: &[],
        params: &Arc::default(),
        cache: &session.engine.catalog,
        draft: &mut None,
        implicit: true,
        notices: &mut Vec::new(),
        scattered: Vec::new(),
    };
    ddl::go_on(&mut cx, taken).await
}

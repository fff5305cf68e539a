//! What the server's jobs do in a session of their own.

use std::sync::Arc;

use braid_catalog::{AnalyzedBy, Table};
use braid_ddl::{self as ddl, DdlContext};
use braid_types::{Result, Row};

use crate::clock::now_micros;
use crate::session::Session;
use crate::statement::context::{exec_context, statement_environment};
use crate::statement::deadline::StatementGuard;
use crate::transaction::open::{catalog_at, ensure_open};

/// What does not fit together in a table's data, a row for each finding.
pub async fn check_table(session: &mut Session, table: &Arc<Table>) -> Result<Vec<Row>> {
    let seq = ensure_open(session).txn.next_statement();
    let catalog = catalog_at(session, seq).await?;
    let env = statement_environment(session, &catalog);
    let cx = exec_context(session, seq, catalog, env);
    braid_dml::check_table(&cx, table).await
}

/// Reads a table and stores statistics of it, for the job that does so by itself.
pub async fn analyze_table(session: &mut Session, table: &Arc<Table>) -> Result<()> {
    let entry = session.shared.entry.clone();
    let schema = session.engine.catalog_now().await?.schema_name(table.schema);
    let query = format!("autovacuum: ANALYZE {schema}.{}", table.name);
    entry.begin_statement(&query.into(), now_micros());
    let _guard = StatementGuard { entry, timer: None };
    let job = async |cx: &mut DdlContext<'_>| ddl::analyze(cx, table, AnalyzedBy::Job).await;
    with_context(session, job).await
}

/// Finishes a schema change that another gateway has begun.
pub async fn finish_taken_over(session: &mut Session, taken: ddl::TakenOver) -> Result<()> {
    with_context(session, async |cx: &mut DdlContext<'_>| ddl::go_on(cx, taken).await).await
}

/// Does what needs the context of a DDL statement, outside of a transaction block.
async fn with_context(
    session: &mut Session,
    work: impl AsyncFnOnce(&mut DdlContext<'_>) -> Result<()>,
) -> Result<()> {
    let seq = ensure_open(session).txn.next_statement();
    let catalog = catalog_at(session, seq).await?;
    let env = statement_environment(session, &catalog);
    let exec = exec_context(session, seq, catalog, env);
    // Functions that it calls define nothing meanwhile.
    let _lent = exec.draft.lend();
    let mut cx = DdlContext {
        exec: &exec,
        text: "",
        param_types: &[],
        params: &Arc::default(),
        variables: None,
        cache: &session.engine.catalog,
        draft: &mut None,
        implicit: true,
        notices: &mut Vec::new(),
        scattered: Vec::new(),
    };
    work(&mut cx).await
}

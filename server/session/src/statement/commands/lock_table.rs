//! `LOCK TABLE` in a session: its transaction, and running it again.

use braid_sql::ast::LockTable;
use braid_types::Result;

use crate::retry::deadline::pause;
use crate::retry::reason::is_retryable;
use crate::retry::reruns::ATTEMPTS_MAX;
use crate::session::Session;
use crate::statement::context::{exec_context, statement_environment};
use crate::transaction::open::{catalog_at, ensure_open, require_block, restart_kv};

/// Locks tables until the transaction ends. As its first statement it sees, once it has the
/// locks, what those before it have committed, at every isolation level.
pub(crate) async fn run_lock_table(session: &mut Session, lock: &LockTable) -> Result<()> {
    require_block(session, "LOCK TABLE")?;
    let mut attempt = 0;
    loop {
        let open = ensure_open(session);
        open.statements += 1;
        let first = open.statements == 1;
        let result = try_to_lock(session, lock).await;
        attempt += 1;
        match result {
            Err(error) if is_retryable(&error) && first && attempt < ATTEMPTS_MAX => {
                pause(session, attempt).await?;
                session.shared.count_server_retry(&error);
                restart_kv(session).await;
            }
            result => return result,
        }
    }
}

async fn try_to_lock(session: &mut Session, lock: &LockTable) -> Result<()> {
    let seq = ensure_open(session).txn.next_statement();
    let catalog = catalog_at(session, seq).await?;
    let env = statement_environment(session, &catalog);
    let exec = exec_context(session, seq, catalog, env);
    tokio::select! {
        biased;
        result = braid_exec::lock_table(&exec, lock) => result,
        error = exec.cancel.stopped() => Err(error),
    }
}

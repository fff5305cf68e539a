//! `LOCK TABLE` in a session: its transaction, and running it again.

use braid_sql::ast::LockTable;
use braid_types::Result;

use crate::deadline::ATTEMPTS_MAX;
use crate::errors::is_retryable;
use crate::session::Session;

impl Session {
    /// Locks tables until the transaction ends. As its first statement it sees, once it has the
    /// locks, what those before it have committed, at every isolation level.
    pub(crate) async fn lock_table(&mut self, lock: &LockTable) -> Result<()> {
        self.require_block("LOCK TABLE")?;
        let mut attempt = 0;
        loop {
            let open = self.ensure_open();
            open.statements += 1;
            let first = open.statements == 1;
            let result = self.try_to_lock(lock).await;
            attempt += 1;
            match result {
                Err(error) if is_retryable(&error) && first && attempt < ATTEMPTS_MAX => {
                    self.pause(attempt).await?;
                    self.server.counters.server_retries.add(&error);
                    self.restart_kv().await;
                }
                result => return result,
            }
        }
    }

    async fn try_to_lock(&mut self, lock: &LockTable) -> Result<()> {
        let seq = self.ensure_open().txn.next_statement();
        let catalog = self.catalog_at(seq).await?;
        let env = self.environment(&catalog);
        let exec = self.exec_context(seq, catalog, env);
        tokio::select! {
            biased;
            result = braid_exec::lock_table(&exec, lock) => result,
            error = exec.cancel.stopped() => Err(error),
        }
    }
}

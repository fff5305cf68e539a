//! `LOCK TABLE` in a session: its transaction, and running it again.

use braid_sql::ast::LockTable;
use braid_types::{Error, Result};

use crate::retry::driver::{Repeat, run_until_done};
use crate::retry::limits::Limits;
use crate::retry::pause::note_rerun;
use crate::session::Session;
use crate::statement::context::{exec_context, statement_environment};
use crate::transaction::open::{catalog_at, ensure_open, require_block, restart_kv};

/// Locks tables until the transaction ends. As its first statement it sees, once it has the
/// locks, what those before it have committed, at every isolation level.
pub(crate) async fn run_lock_table(session: &mut Session, lock: &LockTable) -> Result<()> {
    require_block(session, "LOCK TABLE")?;
    run_until_done(&mut Locking { session, lock, is_first: false }).await
}

/// A LOCK TABLE that runs again with its transaction, if it is the first statement there.
struct Locking<'a> {
    session: &'a mut Session,
    lock: &'a LockTable,
    is_first: bool,
}

impl Repeat for Locking<'_> {
    type Output = ();
    const LIMITS: Limits = Limits::STEP;

    async fn attempt(&mut self) -> Result<()> {
        let open = ensure_open(self.session);
        open.statements += 1;
        self.is_first = open.statements == 1;
        try_to_lock(self.session, self.lock).await
    }

    fn may_repeat(&mut self, _: &Error) -> bool {
        self.is_first
    }

    async fn begin_again(&mut self, error: Error, attempt: u32) -> Result<()> {
        note_rerun(self.session, &error, attempt).await?;
        restart_kv(self.session).await;
        Ok(())
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

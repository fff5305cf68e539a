//! The session as a running body sees it.

use std::sync::Arc;

use braid_catalog::{Draft, Routine};
use braid_ddl::is_ddl;
use braid_exec::{ExecContext, NoticeLevel, RoutineCommand, SessionServices};
use braid_kv::SavepointId;
use braid_routines::plpgsql::TransactionEnd;
use braid_routines::{Host, Mark, not_its_transaction, run_inner_procedure};
use braid_sql::ast::Statement;
use braid_types::{Datum, Error, Result, SqlState};
use futures_util::future::BoxFuture;

use super::transactions::{end_transaction, lock_first, note_statement};
use crate::session::Session;
use crate::settings::SettingsMark;
use crate::statement::commands::settings::apply_set;
use crate::statement::commands::transaction_control::{set_modes, set_running_modes};
use crate::statement::context::{exec_context, statement_environment};
use crate::transaction::deferred_constraints::set_constraints;
use crate::transaction::open::{catalog_at, ensure_open};

/// A position in the session's transaction.
struct Position {
    kv: SavepointId,
    draft: Option<Draft>,
    settings: SettingsMark,
}

/// A body that runs in the session itself.
pub(super) struct SessionHost<'s> {
    session: &'s mut Session,
    marks: Vec<Position>,
    /// The procedure, which may have another user and other settings.
    routine: Option<Arc<Routine>>,
    /// It is a part of its caller's transaction, which it cannot end.
    is_atomic: bool,
    /// How many bodies run inside each other, this one included.
    depth: usize,
    /// When the statement of the client began: `statement_timestamp()`.
    began: i64,
}

impl<'s> SessionHost<'s> {
    /// The body of DO, of the procedure of CALL, or of another routine that is a part of its
    /// transaction (`is_atomic`).
    pub(super) fn new(
        session: &'s mut Session,
        routine: Option<Arc<Routine>>,
        is_atomic: bool,
    ) -> Self {
        let is_atomic = is_atomic || routine.as_ref().is_some_and(|own| has_surroundings(own));
        let began = session.shared.entry.activity.lock().query_start.unwrap_or_default();
        let began = ensure_open(session).micros.max(began);
        Self { session, marks: Vec::new(), routine, is_atomic, depth: 1, began }
    }

    /// The body of a procedure that this one calls.
    fn inner(&mut self, routine: &Arc<Routine>) -> SessionHost<'_> {
        SessionHost {
            marks: Vec::new(),
            routine: Some(routine.clone()),
            is_atomic: false,
            depth: self.depth + 1,
            began: self.began,
            session: &mut *self.session,
        }
    }

    /// 2D000 where the transaction cannot end.
    fn check_end(&self, end: TransactionEnd) -> Result<()> {
        if self.is_atomic {
            return Err(not_its_transaction());
        }
        if self.marks.is_empty() {
            return Ok(());
        }
        let word = if end.commits { "commit" } else { "roll back" };
        let message = format!("cannot {word} while a subtransaction is active");
        Err(Error::new(SqlState::InvalidTransactionTermination, message)
            .hint("COMMIT and ROLLBACK do not work in a block with EXCEPTION."))
    }

    async fn context(&mut self) -> Result<Arc<ExecContext>> {
        let seq = ensure_open(self.session).txn.next_statement();
        let catalog = catalog_at(self.session, seq).await?;
        let mut env = statement_environment(self.session, &catalog);
        env.statement_micros = self.began;
        let mut cx = exec_context(self.session, seq, catalog, env);
        cx.routine_depth = self.depth;
        let own = match &self.routine {
            Some(routine) => self.session.shared.surroundings_of(&cx, routine)?,
            None => None,
        };
        Ok(own.unwrap_or_else(|| Arc::new(cx)))
    }

    async fn run_command(&mut self, command: RoutineCommand<'_>) -> Result<()> {
        let (statement, text) = (command.statement, command.text);
        if is_ddl(statement) {
            lock_first(self.session).await?;
        }
        let cx = self.context().await?;
        if cx.services.command(&cx, command).await? {
            return Ok(());
        }
        let session = &mut *self.session;
        match statement {
            Statement::Set(set) => apply_set(session, set).await,
            Statement::SetConstraints { names, deferred } => {
                set_constraints(session, names.as_deref(), *deferred).await
            }
            Statement::SetTransaction(modes) => match ensure_open(session).statements {
                0 => set_modes(session, modes),
                _ => set_running_modes(session, modes),
            },
            _ => {
                let word = text.split_whitespace().next().unwrap_or_default().to_uppercase();
                Err(Error::unsupported(format!("{word} in a routine")))
            }
        }
    }
}

impl Host for SessionHost<'_> {
    fn next(&mut self) -> BoxFuture<'_, Result<Arc<ExecContext>>> {
        note_statement(self.session);
        Box::pin(self.context())
    }

    fn current(&mut self) -> BoxFuture<'_, Result<Arc<ExecContext>>> {
        Box::pin(self.context())
    }

    fn command<'a>(&'a mut self, command: RoutineCommand<'a>) -> BoxFuture<'a, Result<()>> {
        Box::pin(self.run_command(command))
    }

    fn savepoint(&mut self) -> Result<Mark> {
        let settings = self.session.shared.state.lock().settings.mark();
        let open = ensure_open(self.session);
        let position = Position { kv: open.txn.savepoint(), draft: open.draft.get(), settings };
        self.marks.push(position);
        Ok(self.marks.len() - 1)
    }

    fn rollback_to(&mut self, mark: Mark) -> Result<()> {
        let Some(position) = self.marks.get(mark) else {
            return Err(Error::internal("a savepoint of a block is missing"));
        };
        let open = ensure_open(self.session);
        open.txn.rollback_to(position.kv);
        open.draft.set(position.draft.clone());
        self.session.shared.state.lock().settings.rollback_to(&position.settings);
        Ok(())
    }

    fn release(&mut self, mark: Mark) {
        self.marks.truncate(mark);
    }

    fn notice(&mut self, level: NoticeLevel, fields: Error) {
        self.session.shared.notice(level, fields);
    }

    fn is_volatile(&self) -> bool {
        true
    }

    fn end_transaction(&mut self, end: TransactionEnd) -> BoxFuture<'_, Result<()>> {
        match self.check_end(end) {
            Ok(()) => Box::pin(end_transaction(self.session, end)),
            Err(error) => Box::pin(std::future::ready(Err(error))),
        }
    }

    fn call<'a>(
        &'a mut self,
        cx: &'a Arc<ExecContext>,
        routine: &'a Arc<Routine>,
        args: Vec<Datum>,
    ) -> BoxFuture<'a, Result<Datum>> {
        if self.is_atomic || !self.marks.is_empty() || has_surroundings(routine) {
            return cx.services.call_routine(cx, routine, args);
        }
        Box::pin(async move {
            let shared = self.session.shared.clone();
            let mut host = self.inner(routine);
            let depth = host.depth;
            run_inner_procedure(&shared.routines, routine, args, (&mut host, depth)).await
        })
    }
}

/// Whether a routine has another user or other settings than its caller.
fn has_surroundings(routine: &Routine) -> bool {
    routine.security_definer || !routine.settings.is_empty()
}

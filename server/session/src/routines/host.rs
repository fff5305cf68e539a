//! The session as a running body sees it.

use std::sync::Arc;

use braid_catalog::{Draft, Routine};
use braid_exec::{ExecContext, NoticeLevel, RoutineCommand, SessionServices};
use braid_kv::SavepointId;
use braid_routines::{Host, Mark};
use braid_sql::ast::Statement;
use braid_types::{Error, Result};
use futures_util::future::BoxFuture;

use crate::session::Session;
use crate::settings::SettingsMark;
use crate::statement::commands::settings::apply_set;
use crate::statement::commands::transaction_control::set_running_modes;
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
}

impl<'s> SessionHost<'s> {
    pub(super) fn new(session: &'s mut Session, routine: Option<Arc<Routine>>) -> Self {
        Self { session, marks: Vec::new(), routine }
    }

    async fn context(&mut self) -> Result<Arc<ExecContext>> {
        let seq = ensure_open(self.session).txn.next_statement();
        let catalog = catalog_at(self.session, seq).await?;
        let env = statement_environment(self.session, &catalog);
        let mut cx = exec_context(self.session, seq, catalog, env);
        cx.routine_depth = 1;
        let own = match &self.routine {
            Some(routine) => self.session.shared.surroundings_of(&cx, routine)?,
            None => None,
        };
        Ok(own.unwrap_or_else(|| Arc::new(cx)))
    }

    async fn run_command(&mut self, command: RoutineCommand<'_>) -> Result<()> {
        let (statement, text) = (command.statement, command.text);
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
            Statement::SetTransaction(modes) => set_running_modes(session, modes),
            _ => {
                let word = text.split_whitespace().next().unwrap_or_default().to_uppercase();
                Err(Error::unsupported(format!("{word} in a routine")))
            }
        }
    }
}

impl Host for SessionHost<'_> {
    fn next(&mut self) -> BoxFuture<'_, Result<Arc<ExecContext>>> {
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
}

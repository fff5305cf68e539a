//! DO and CALL as statements: running again after a conflict, and the arguments of CALL.

use std::sync::Arc;

use braid_catalog::Routine;
use braid_exec::ConstraintModes;
use braid_routines::{run_block, run_procedure};
use braid_sql::ast::{Expr, Statement};
use braid_types::{Datum, Error, Result, SqlState};

use super::host::SessionHost;
use crate::retry::driver::{Repeat, run_until_done};
use crate::retry::limits::Limits;
use crate::retry::pause::note_rerun;
use crate::session::Session;
use crate::settings::SettingsMark;
use crate::shared::Modes;
use crate::statement::context::{exec_context, statement_environment};
use crate::statement::prepared::Prepared;
use crate::transaction::machine::Block;
use crate::transaction::open::{catalog_at, ensure_open, restart_kv};

/// Runs DO or CALL; its tag, and the row of the OUT parameters, if there are any.
pub(crate) async fn run_routine(
    session: &mut Session,
    prepared: &Prepared,
    statement: &Statement,
    params: &Arc<Vec<Datum>>,
) -> Result<(&'static str, Datum)> {
    let settings = session.shared.state.lock().settings.mark();
    let modes = session.shared.modes();
    let constraints = session.block_state.constraints.clone();
    let before = Before { settings, modes, constraints };
    let mut body = Body { session, prepared, statement, params, is_first: false, before };
    let result = run_until_done(&mut body).await;
    result.map_err(|error| session.replay.explain(error))
}

/// A body that runs again with its transaction, if it is the first statement there.
struct Body<'a> {
    session: &'a mut Session,
    prepared: &'a Prepared,
    statement: &'a Statement,
    params: &'a Arc<Vec<Datum>>,
    is_first: bool,
    before: Before,
}

/// What a body may change in the session beside its transaction, as it was before.
struct Before {
    settings: SettingsMark,
    modes: Modes,
    constraints: Arc<ConstraintModes>,
}

impl Repeat for Body<'_> {
    type Output = (&'static str, Datum);
    const LIMITS: Limits = Limits::STEP;

    async fn attempt(&mut self) -> Result<Self::Output> {
        let open = ensure_open(self.session);
        open.statements += 1;
        self.is_first = open.statements == 1;
        // A block of the client, or a list of its statements, is one transaction.
        let is_atomic = self.session.block != Block::None || self.session.in_simple_list;
        match self.statement {
            Statement::Do(block) => {
                if let Some(language) = block.language.as_deref().filter(|l| *l != "plpgsql") {
                    return Err(no_inline(language));
                }
                let mut host = SessionHost::new(self.session, None, is_atomic);
                let ran = run_block(&block.body, &mut host).await;
                let start = braid_sql::quoted_start(&self.prepared.parsed.text, &block.body);
                ran.map_err(|error| match start {
                    Some(start) => error.moved(start),
                    None => error.without_position(),
                })?;
                Ok(("DO", Datum::Null))
            }
            Statement::Call(call) => {
                let (routine, args) =
                    arguments(self.session, self.prepared, &call.call, self.params).await?;
                let shared = self.session.shared.clone();
                let mut host = SessionHost::new(self.session, Some(routine.clone()), is_atomic);
                let row = run_procedure(&shared.routines, &routine, args, &mut host).await?;
                Ok(("CALL", row))
            }
            _ => Err(Error::internal("neither DO nor CALL")),
        }
    }

    fn may_repeat(&mut self, error: &Error) -> bool {
        self.is_first
            && !self.session.replay.has_ended_inside()
            && self.session.shared.advisory.may_run_again(None, error)
    }

    async fn begin_again(&mut self, error: Error, attempt: u32) -> Result<()> {
        let Body { session, before, .. } = self;
        session.shared.raised.lock().clear();
        session.shared.cursors.close_all();
        note_rerun(session, &error, attempt).await?;
        {
            let mut state = session.shared.state.lock();
            state.settings.restart(&before.settings);
            state.modes = before.modes;
        }
        session.block_state.constraints = before.constraints.clone();
        restart_kv(session).await;
        Ok(())
    }
}

/// 0A000 or 42704 for DO in another language.
fn no_inline(language: &str) -> Error {
    match language {
        "sql" | "internal" | "c" => {
            let message = format!("language \"{language}\" does not support inline code execution");
            Error::new(SqlState::FeatureNotSupported, message)
        }
        _ => {
            let message = format!("language \"{language}\" does not exist");
            Error::new(SqlState::UndefinedObject, message)
        }
    }
}

/// The procedure of a CALL, and its arguments.
async fn arguments(
    session: &mut Session,
    prepared: &Prepared,
    call: &Expr,
    params: &Arc<Vec<Datum>>,
) -> Result<(Arc<Routine>, Vec<Datum>)> {
    let seq = ensure_open(session).txn.next_statement();
    let catalog = catalog_at(session, seq).await?;
    let env = statement_environment(session, &catalog);
    let context = env.plan_context(&catalog, &prepared.parsed.text, &prepared.params);
    let (routine, plan) = braid_plan::plan_call(call, &context)?;
    let cx = Arc::new(exec_context(session, seq, catalog, env));
    let mut execution = braid_dml::start(Arc::new(plan), params.clone(), cx)?;
    let args = execution.next(1).await?.pop().unwrap_or_default();
    Ok((routine, args))
}

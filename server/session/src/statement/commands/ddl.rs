//! Definitions (`ddl`) in a session: the catalog's draft, notices, running again.

use std::sync::Arc;

use braid_exec::{NoticeLevel, RoutineCommand};
use braid_sql::ast::{CreateTable, Execute, Statement};
use braid_types::{Datum, Error, Result, SqlState};

use crate::client::{Formats, Severity};
use crate::retry::driver::{Repeat, run_until_done};
use crate::retry::limits::Limits;
use crate::retry::pause::note_rerun;
use crate::retry::reason::is_schema_changed;
use crate::routines::{carry_out, check_definition, lock_catalog, schema_changed};
use crate::session::Session;
use crate::statement::binding::bind_execute;
use crate::statement::context::{exec_context, statement_environment};
use crate::statement::prepared::Prepared;
use crate::transaction::machine::Block;
use crate::transaction::open::{catalog_at, ensure_open, restart_kv};

pub(crate) async fn run_ddl(
    session: &mut Session,
    prepared: &Prepared,
    statement: &Statement,
    params: &Arc<Vec<Datum>>,
) -> Result<String> {
    check_definition(&session.shared, statement)?;
    if let Statement::CreateTable(create) = statement
        && let Some(execute) = &create.as_execute
    {
        return create_as_execute(session, create, execute).await;
    }
    run_definition(session, prepared, statement, params).await
}

/// `CREATE TABLE AS EXECUTE`: the same with the query and the values of a prepared statement.
async fn create_as_execute(
    session: &mut Session,
    create: &CreateTable,
    execute: &Execute,
) -> Result<String> {
    let target = bind_execute(session, execute, Formats::default()).await?;
    let whole = match &target.prepared.given {
        None => target.prepared,
        Some(_) => Arc::new(target.prepared.without_skeleton(&session.engine.plans)?),
    };
    let Some(Statement::Query(query)) = whole.statement() else {
        return Err(Error::new(SqlState::WrongObjectType, "prepared statement is not a SELECT"));
    };
    let mut create = create.clone();
    create.as_query = Some(query.clone());
    create.as_execute = None;
    let is_empty = create.with_no_data;
    let statement = Statement::CreateTable(Box::new(create));
    let tag = run_definition(session, &whole, &statement, &target.params).await?;
    // PostgreSQL counts the rows here, unlike after a query that is written out.
    Ok(if is_empty { "SELECT 0".to_owned() } else { tag })
}

async fn run_definition(
    session: &mut Session,
    prepared: &Prepared,
    statement: &Statement,
    params: &Arc<Vec<Datum>>,
) -> Result<String> {
    let implicit = session.block == Block::None
        && !session.in_simple_list
        && session.open.as_ref().is_none_or(|open| open.statements == 0);
    let noted = session.notices.count();
    let (is_first, locks_first) = (false, false);
    let mut definition =
        Definition { session, prepared, statement, params, implicit, noted, is_first, locks_first };
    run_until_done(&mut definition).await
}

/// A definition that runs again with its transaction, if it is the first statement there.
struct Definition<'a> {
    session: &'a mut Session,
    prepared: &'a Prepared,
    statement: &'a Statement,
    params: &'a Arc<Vec<Datum>>,
    /// It is alone in its transaction.
    implicit: bool,
    /// Notices that came before it.
    noted: usize,
    is_first: bool,
    /// It locks the catalog before it looks at it: others have changed it in between before.
    locks_first: bool,
}

impl Repeat for Definition<'_> {
    type Output = String;
    const LIMITS: Limits = Limits::STEP;

    async fn attempt(&mut self) -> Result<String> {
        let open = ensure_open(self.session);
        open.statements += 1;
        self.is_first = open.statements == 1;
        if self.locks_first {
            let txn = open.txn.clone();
            lock_catalog(&txn).await?;
        }
        attempt_ddl(self.session, self.prepared, self.statement, self.params, self.implicit).await
    }

    fn may_repeat(&mut self, _: &Error) -> bool {
        self.is_first
    }

    async fn begin_again(&mut self, error: Error, attempt: u32) -> Result<()> {
        self.session.notices.truncate(self.noted);
        self.locks_first |= !self.implicit && is_schema_changed(&error);
        note_rerun(self.session, &error, attempt).await?;
        restart_kv(self.session).await;
        Ok(())
    }
}

/// Carries out a definition of the client once.
async fn attempt_ddl(
    session: &mut Session,
    prepared: &Prepared,
    statement: &Statement,
    params: &Arc<Vec<Datum>>,
    implicit: bool,
) -> Result<String> {
    let seq = ensure_open(session).txn.next_statement();
    let catalog = catalog_at(session, seq).await?;
    let env = statement_environment(session, &catalog);
    let exec = exec_context(session, seq, catalog, env);
    let (types, values) = (prepared.params.clone(), params.clone());
    let text = &prepared.parsed.text;
    let definition = RoutineCommand { statement, text, types, values, variables: None };
    let done = carry_out(&session.shared, &exec, &definition, implicit).await?;
    for (level, fields) in done.notices {
        let severity = match level {
            NoticeLevel::Warning => Severity::Warning,
            _ => Severity::Notice,
        };
        session.notices.add(severity, fields);
    }
    if done.is_stale && !implicit && done.result.is_ok() {
        return Err(schema_changed());
    }
    done.result
}

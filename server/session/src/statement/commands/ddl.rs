//! Definitions (`ddl`) in a session: the catalog's draft, notices, running again.

use std::sync::Arc;

use braid_catalog::{Draft, version_key};
use braid_ddl as ddl;
use braid_ddl::DdlContext;
use braid_exec::from_kv;
use braid_kv::{LockRequest, RetryReason};
use braid_sql::ast::{
    CreateTable, Execute, RoutineOption, Set, SetValue, SettingChange, Statement,
};
use braid_types::{Datum, Error, Result, SqlState, SqlType};

use crate::client::{Formats, Severity};
use crate::retry::driver::{Repeat, run_until_done};
use crate::retry::limits::Limits;
use crate::retry::pause::note_rerun;
use crate::retry::reason::is_schema_changed;
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
    if session.shared.modes().read_only {
        return Err(Error::new(
            SqlState::ReadOnlySqlTransaction,
            "cannot execute DDL in a read-only transaction",
        ));
    }
    check_stored_setting(session, statement)?;
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
            let request = LockRequest::keys(vec![version_key()]);
            txn.lock(txn.next_statement(), request).await.map_err(from_kv)?;
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

/// Whether the setting that a statement keeps for later sessions is one, and its value fits.
pub(crate) fn check_stored_setting(session: &Session, statement: &Statement) -> Result<()> {
    let sets: Vec<&Set> = match statement {
        Statement::AlterUser(alter) => alter.set.iter().collect(),
        Statement::AlterDatabase(alter) => match &alter.change {
            SettingChange::Set(set) => vec![set],
            SettingChange::Reset(_) | SettingChange::Options(_) => Vec::new(),
        },
        Statement::CreateRoutine(create) => sets_of(&create.options),
        Statement::AlterRoutine(alter) => sets_of(&alter.options),
        _ => Vec::new(),
    };
    let state = session.shared.state.lock();
    sets.into_iter().try_for_each(|set| match &set.value {
        SetValue::Values(values) => state.settings.check_stored(&set.name, values),
        SetValue::Default => Ok(()),
    })
}

/// The settings of a routine.
fn sets_of(options: &[RoutineOption]) -> Vec<&Set> {
    let mut sets = Vec::new();
    for option in options {
        if let RoutineOption::Set(set) = option {
            sets.push(set);
        }
    }
    sets
}

async fn attempt_ddl(
    session: &mut Session,
    prepared: &Prepared,
    statement: &Statement,
    params: &Arc<Vec<Datum>>,
    implicit: bool,
) -> Result<String> {
    let text = prepared.parsed.text.clone();
    let types = &prepared.params;
    attempt(session, Written { statement, text: &text, types, params }, implicit).await
}

/// A definition with its text and its parameters.
pub(crate) struct Written<'a> {
    pub statement: &'a Statement,
    pub text: &'a str,
    pub types: &'a [SqlType],
    pub params: &'a Arc<Vec<Datum>>,
}

/// Carries out a definition once.
pub(crate) async fn attempt(
    session: &mut Session,
    written: Written<'_>,
    implicit: bool,
) -> Result<String> {
    let seq = ensure_open(session).txn.next_statement();
    let catalog = catalog_at(session, seq).await?;
    let env = statement_environment(session, &catalog);
    let exec = exec_context(session, seq, catalog, env);
    let mut draft = session.open.as_mut().and_then(|open| open.draft.take());
    let mut notices = Vec::new();
    let result = {
        let mut cx = DdlContext {
            exec: &exec,
            text: written.text,
            param_types: written.types,
            params: written.params,
            cache: &session.engine.catalog,
            draft: &mut draft,
            implicit,
            notices: &mut notices,
            scattered: Vec::new(),
        };
        ddl::run(written.statement, &mut cx).await
    };
    if let Some(open) = &mut session.open {
        let is_newer = |draft: &Draft| {
            draft.is_locked()
                && open.catalog_version.is_some_and(|seen| seen != draft.base().version())
        };
        let is_stale = !implicit && open.statements <= 1 && draft.as_ref().is_some_and(is_newer);
        open.draft = draft;
        // What the transaction reads is older than the catalog that it has locked: its commit
        // would fail, when the client cannot be spared any more.
        if is_stale && result.is_ok() {
            let changed = braid_kv::Error::retry(RetryReason::SchemaChanged, Some(version_key()));
            return Err(from_kv(changed));
        }
    }
    let severity = |fields: &Error| match fields.state() {
        SqlState::Warning
        | SqlState::PrivilegeNotGranted
        | SqlState::PrivilegeNotRevoked
        | SqlState::InvalidGrantOperation => Severity::Warning,
        _ => Severity::Notice,
    };
    for fields in notices {
        session.notices.add(severity(&fields), fields);
    }
    result
}

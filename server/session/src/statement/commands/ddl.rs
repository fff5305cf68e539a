//! Definitions (`ddl`) in a session: the catalog's draft, notices, running again.

use std::sync::Arc;

use braid_ddl as ddl;
use braid_ddl::DdlContext;
use braid_sql::ast::{SetValue, SettingChange, Statement};
use braid_types::{Datum, Error, Result, SqlState};

use crate::client::Severity;
use crate::retry::deadline::pause;
use crate::retry::reason::is_retryable;
use crate::retry::reruns::ATTEMPTS_MAX;
use crate::session::Session;
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
    let implicit = session.block == Block::None
        && !session.in_simple_list
        && session.open.as_ref().is_none_or(|open| open.statements == 0);
    let noted = session.notices.count();
    let mut attempt = 0;
    loop {
        let open = ensure_open(session);
        open.statements += 1;
        let first = open.statements == 1;
        let result = attempt_ddl(session, prepared, statement, params, implicit).await;
        attempt += 1;
        match result {
            Err(error) if is_retryable(&error) && first && attempt < ATTEMPTS_MAX => {
                session.notices.truncate(noted);
                pause(session, attempt).await?;
                session.shared.count_server_retry(&error);
                restart_kv(session).await;
            }
            result => return result,
        }
    }
}

/// Whether the setting that a statement keeps for later sessions is one, and its value fits.
fn check_stored_setting(session: &Session, statement: &Statement) -> Result<()> {
    let set = match statement {
        Statement::AlterUser(alter) => alter.set.as_ref(),
        Statement::AlterDatabase(alter) => match &alter.change {
            SettingChange::Set(set) => Some(set),
            SettingChange::Reset(_) => None,
        },
        _ => None,
    };
    let Some(set) = set else { return Ok(()) };
    let state = session.shared.state.lock();
    match &set.value {
        SetValue::Values(values) => state.settings.check_stored(&set.name, values),
        SetValue::Default => Ok(()),
    }
}

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
    let mut draft = session.open.as_mut().and_then(|open| open.draft.take());
    let mut notices = Vec::new();
    let result = {
        let mut cx = DdlContext {
            exec: &exec,
            text: &prepared.parsed.text,
            param_types: &prepared.params,
            params,
            cache: &session.engine.catalog,
            draft: &mut draft,
            implicit,
            notices: &mut notices,
            scattered: Vec::new(),
        };
        ddl::run(statement, &mut cx).await
    };
    if let Some(open) = &mut session.open {
        open.draft = draft;
    }
    let severity = |fields: &Error| match fields.state() {
        SqlState::Warning => Severity::Warning,
        _ => Severity::Notice,
    };
    for fields in notices {
        session.notices.add(severity(&fields), fields);
    }
    result
}

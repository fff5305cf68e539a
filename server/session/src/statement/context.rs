//! What a running statement may use: its clock, the session's settings, memory.

use std::sync::{Arc, OnceLock};

use braid_catalog::Catalog;
use braid_exec::{ExecContext, Memory, NewKeys, SessionServices, SessionSettings};
use braid_kv::Seq;
use braid_system_views::CatalogLookup;

use crate::client::{Client, Severity};
use crate::clock::now_micros;
use crate::session::Session;
use crate::statement::environment::StatementEnvironment;
use crate::transaction::open::ensure_open;
use crate::transaction::state::Open;

/// Sends the collected notices to the client.
pub(crate) fn send_notices(session: &mut Session, client: &mut dyn Client) {
    let raised = std::mem::take(&mut *session.shared.raised.lock());
    session.notices.extend(raised);
    for fields in session.shared.advisory.take_warnings() {
        session.notices.add(Severity::Warning, fields);
    }
    if session.notices.count() > 0 {
        let least = session.active().notices;
        session.notices.send(least, client);
    }
}

/// What functions and the planner see.
pub(crate) fn statement_environment(
    session: &mut Session,
    catalog: &Arc<Catalog>,
) -> StatementEnvironment {
    let now = now_micros();
    let transaction_micros = session.open.as_ref().map_or(now, |open| open.micros);
    let shared = session.shared.clone();
    let derived = session.derived();
    StatementEnvironment {
        shared,
        active: derived.active.clone(),
        transaction_micros,
        statement_micros: now,
        user: derived.user.clone(),
        session_user: derived.session_user.clone(),
        lookup: Arc::new(CatalogLookup::new(catalog.clone(), derived.path.clone())),
    }
}

/// What an execution may use.
pub(crate) fn exec_context(
    session: &mut Session,
    seq: Seq,
    catalog: Arc<Catalog>,
    env: StatementEnvironment,
) -> ExecContext {
    ensure_open(session);
    let open = session.open.as_ref().expect("was opened above");
    context_in(session, open, seq, catalog, env)
}

/// An empty account for a statement of this session.
pub(crate) fn statement_memory(session: &Session, limit_bytes: u64) -> Arc<Memory> {
    let stop = session.shared.entry.cancel.clone();
    Arc::new(Memory::new(limit_bytes, session.engine.memory.clone(), stop))
}

/// The same in a transaction that is open, be it the session's no longer.
pub(crate) fn context_in(
    session: &Session,
    open: &Open,
    seq: Seq,
    catalog: Arc<Catalog>,
    env: StatementEnvironment,
) -> ExecContext {
    let active = env.active.clone();
    open.txn.locks().set_timeout(active.lock_timeout);
    session.shared.temp.set_limit(active.temp_file_bytes_max);
    let path = env.lookup.path.clone();
    ExecContext {
        txn: open.txn.clone(),
        seq,
        catalog,
        draft: open.draft.clone(),
        plan: OnceLock::new(),
        around: None,
        catalog_since: open.catalog_since.clone(),
        path,
        env: Arc::new(env),
        settings: Some(SessionSettings {
            changes: session.shared.settings_changes(),
            has_own_user: false,
        }),
        sequences: session.engine.sequences.clone(),
        runtime: session.shared.clone(),
        services: session.shared.clone(),
        memory: statement_memory(session, active.memory_limit_bytes),
        temp: session.shared.temp.clone(),
        cancel: session.shared.entry.cancel.clone(),
        implicit_locks: active.implicit_locks,
        range_delete: active.range_delete,
        parallelism: active.parallelism,
        new_keys: NewKeys::Now,
        constraints: session.block_state.constraints.clone(),
        routine_depth: 0,
        trigger_depth: 0,
    }
}

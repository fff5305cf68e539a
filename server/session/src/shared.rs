//! The part of a session that its running statements reach: settings, sequences, other sessions.
//!
//! Rule: its lock is held for moments only, never across a wait.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::AtomicU32;

use braid_catalog::{Catalog, Id, Routine, SequenceValues};
use braid_cluster::Token;
use braid_exec::{AdvisoryLocks, ExecContext, RoutineCursors, TempSpace};
use braid_routines::RoutineCache;
use braid_sql::ast::IsolationLevel;
use braid_system_views::{CursorInfo, PreparedInfo};
use braid_types::{Error, Result, SqlState};
use parking_lot::Mutex;

use crate::client::Notice;
use crate::engine::Engine;
use crate::entry::{SessionEntry, SessionView};
use crate::notify::Inbox;
use crate::routines::surroundings;
use crate::settings::{Active, Settings, active_with, isolation_text};
use crate::transaction::exported_snapshots::Exports;

/// The modes of the current transaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Modes {
    pub isolation: IsolationLevel,
    pub read_only: bool,
    pub deferrable: bool,
}

/// The modes that a transaction has unless it says otherwise.
pub(crate) fn default_modes(active: &Active) -> Modes {
    Modes {
        isolation: active.default_isolation,
        read_only: active.default_read_only,
        deferrable: active.default_deferrable,
    }
}

/// What changes while the session lives.
pub(crate) struct State {
    pub settings: Settings,
    pub modes: Modes,
    /// The prepared statements that have a name, by it.
    pub prepared: BTreeMap<String, PreparedInfo>,
    /// The open cursors by their names.
    pub cursors: BTreeMap<String, CursorInfo>,
    pub round_trips: u64,
}

/// A session as its statements see it.
pub(crate) struct Shared {
    pub engine: Arc<Engine>,
    pub entry: Arc<SessionEntry>,
    /// The database.
    pub database: Id,
    /// The role that logged in.
    pub role: Id,
    /// Whether the user who logged in is a superuser.
    pub superuser: bool,
    pub state: Mutex<State>,
    pub sequences: Mutex<SequenceValues>,
    pub advisory: AdvisoryLocks,
    /// Retry errors that running again has cured or is to cure.
    pub retries: AtomicU32,
    /// Messages of routines for the client.
    pub raised: Mutex<Vec<Notice>>,
    /// The cursors that its routines have opened.
    pub cursors: RoutineCursors,
    /// Its compiled routines.
    pub routines: RoutineCache,
    /// Notifications for the client.
    pub inbox: Arc<Inbox>,
    /// Disk space for rows that memory has no room for.
    pub temp: Arc<TempSpace>,
    /// The snapshots that its transaction has exported.
    pub exports: Mutex<Exports>,
}

fn on_off(on: bool) -> String {
    if on { "on" } else { "off" }.to_owned()
}

impl Shared {
    /// What a routine may use, if that is not what its caller may use.
    pub(crate) fn surroundings_of(
        &self,
        cx: &ExecContext,
        routine: &Routine,
    ) -> Result<Option<Arc<ExecContext>>> {
        surroundings(cx, routine, |others| active_with(&self.state.lock().settings, others))
    }

    /// The modes of the current transaction.
    pub(crate) fn modes(&self) -> Modes {
        self.state.lock().modes
    }

    /// The next transaction has the session's default modes.
    pub(crate) fn reset_modes(&self) {
        let mut state = self.state.lock();
        state.modes = default_modes(state.settings.active());
    }

    /// The value of a setting, those of the transaction and the server included.
    pub(crate) fn setting(&self, name: &str) -> Option<String> {
        let state = self.state.lock();
        let limits = &self.engine.limits;
        Some(match name.to_ascii_lowercase().as_str() {
            "transaction_isolation" => isolation_text(state.modes.isolation).to_owned(),
            "transaction_read_only" => on_off(state.modes.read_only),
            "transaction_deferrable" => on_off(state.modes.deferrable),
            "last_transaction_round_trips" => state.round_trips.to_string(),
            "max_connections" => limits.connections_max.to_string(),
            "max_prepared_transactions" => self.engine.prepared.max().to_string(),
            "max_message_bytes" => limits.message_bytes_max.to_string(),
            "ssl" => on_off(limits.tls),
            "port" => self.entry.local.map_or_else(String::new, |local| local.port().to_string()),
            "listen_addresses" => {
                self.entry.local.map_or_else(String::new, |local| local.ip().to_string())
            }
            "autovacuum" => on_off(!limits.analyze_interval.is_zero()),
            "autovacuum_naptime" => format!("{}s", limits.analyze_interval.as_secs().max(1)),
            lower => return state.settings.get(lower),
        })
    }

    /// The current user: the role set, else the user of the session.
    pub(crate) fn current_user(&self) -> String {
        let state = self.state.lock();
        match state.settings.get("role") {
            Some(role) if role != "none" && !role.is_empty() => role,
            _ => state.settings.get("session_authorization").unwrap_or_default(),
        }
    }

    /// Takes a role or the user of the session, or goes back to that of the session's start.
    /// 42501 unless the session's user may.
    pub(crate) fn set_identity(
        &self,
        catalog: &Catalog,
        name: &str,
        wanted: Option<&str>,
        local: bool,
    ) -> Result<()> {
        let denied = |what: String| Err(Error::new(SqlState::InsufficientPrivilege, what));
        let mut state = self.state.lock();
        if let Some(wanted) = wanted.filter(|wanted| name != "role" || *wanted != "none") {
            let role = catalog.names().role(wanted).ok_or_else(|| {
                let message = format!("role \"{wanted}\" does not exist");
                Error::new(SqlState::InvalidParameterValue, message)
            })?;
            if name == "role" {
                let from = state.settings.get("session_authorization").unwrap_or_default();
                let from = catalog.names().role(&from);
                if !from.is_some_and(|user| catalog.privileges().is_member(user.id, role.id)) {
                    return denied(format!("permission denied to set role \"{wanted}\""));
                }
            } else if !self.superuser && *wanted != *self.entry.user {
                return denied("permission denied to set session authorization".to_owned());
            }
        }
        if name == "session_authorization" {
            state.settings.set_identity("role", None, local);
        }
        state.settings.set_identity(name, wanted.map(str::to_owned), local);
        let get = |name| state.settings.get(name).unwrap_or_default();
        let user = match get("role") {
            role if role == "none" => get("session_authorization"),
            role => role,
        };
        let superuser = catalog.names().role(&user).is_some_and(|role| role.superuser);
        state.settings.note_superuser(superuser, local);
        Ok(())
    }

    /// Whether this session may end that one to drop its database.
    pub(crate) fn may_end(&self, entry: &SessionEntry) -> bool {
        self.state.lock().settings.is_superuser() || entry.user == self.entry.user
    }
}

impl SessionView for Shared {
    fn role_with_token(&self, token: Token) -> Option<Id> {
        let has_it = self.state.lock().settings.commit_token() == Some(token);
        has_it.then_some(self.role)
    }

    fn advisory(&self) -> &AdvisoryLocks {
        &self.advisory
    }
}

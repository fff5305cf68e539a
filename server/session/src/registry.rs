//! The sessions of one process, by their numbers.
//!
//! Rule: a session is in the registry from its opening to its end.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicI32, Ordering};

use braid_codec::key::AdvisoryKey;
use braid_kv::{LockInfo, TxnId};
use braid_system_views::LockEntry;
use braid_types::{Error, SqlState};
use parking_lot::Mutex;

use crate::entry::{SessionEnded, SessionEntry};

/// The sessions of one process.
pub struct SessionRegistry {
    sessions: Mutex<HashMap<i32, Arc<SessionEntry>>>,
    next_pid: AtomicI32,
}

impl SessionRegistry {
    pub(crate) fn new(first_pid: i32) -> SessionRegistry {
        SessionRegistry { sessions: Mutex::default(), next_pid: AtomicI32::new(first_pid) }
    }

    /// A number for a new session.
    pub(crate) fn next_pid(&self) -> i32 {
        self.next_pid.fetch_add(1, Ordering::Relaxed)
    }

    pub(crate) fn add(&self, entry: &Arc<SessionEntry>) {
        self.sessions.lock().insert(entry.pid, entry.clone());
    }

    pub(crate) fn remove(&self, pid: i32) {
        self.sessions.lock().remove(&pid);
    }

    /// Locks with the sessions that hold them or wait for them.
    pub(crate) fn with_holders(&self, locks: impl Iterator<Item = LockInfo>) -> Vec<LockEntry> {
        let entries = self.entries();
        let pid_of = |number: u64| {
            let holds =
                |entry: &&Arc<SessionEntry>| entry.activity.lock().transaction == Some(number);
            entries.iter().find(holds).map(|entry| entry.pid)
        };
        let views: Vec<_> =
            entries.iter().filter_map(|entry| Some((entry.pid, entry.view()?))).collect();
        let mut shown = Vec::new();
        for info in locks {
            let Some(key) = AdvisoryKey::decode(&info.span.start) else {
                shown.push(LockEntry { pid: pid_of(info.txn.0), info });
                continue;
            };
            let of_session = views.iter().find(|(_, view)| view.advisory().session() == info.txn);
            let Some((pid, view)) = of_session else { continue };
            // The store knows the strongest mode only.
            let modes = if info.granted { view.advisory().modes(key) } else { vec![info.strength] };
            shown.extend(modes.into_iter().map(|strength| {
                let info = LockInfo { strength, ..info.clone() };
                LockEntry { pid: Some(*pid), info }
            }));
        }
        shown
    }

    /// How many sessions there are.
    pub fn count(&self) -> usize {
        self.sessions.lock().len()
    }

    /// How many sessions a user has.
    pub fn count_of_user(&self, user: &str) -> usize {
        self.sessions.lock().values().filter(|entry| entry.user == user).count()
    }

    /// How many sessions a database has.
    pub fn count_of_database(&self, database: &str) -> usize {
        self.sessions.lock().values().filter(|entry| entry.database == database).count()
    }

    /// All sessions, by their numbers.
    pub(crate) fn entries(&self) -> Vec<Arc<SessionEntry>> {
        let mut entries: Vec<_> = self.sessions.lock().values().cloned().collect();
        entries.sort_by_key(|entry| entry.pid);
        entries
    }

    /// The session with this number.
    pub(crate) fn entry(&self, pid: i32) -> Option<Arc<SessionEntry>> {
        self.sessions.lock().get(&pid).cloned()
    }

    /// Cancels what a session runs, if the secret fits; nobody is told whether it did.
    pub fn cancel(&self, pid: i32, secret: i32) {
        if let Some(entry) = self.entry(pid)
            && entry.secret == secret
        {
            entry.cancel_running();
        }
    }

    /// Ends the session that keeps its advisory locks under this number and has lost them; false if
    /// it ends already, or there is none.
    pub fn end_loser_of_locks(&self, number: TxnId) -> bool {
        let is_loser = |entry: &Arc<SessionEntry>| {
            entry.view().is_some_and(|view| view.advisory().session() == number)
        };
        let Some(entry) = self.entries().into_iter().find(is_loser) else { return false };
        if entry.is_ending() {
            return false;
        }
        let message = "terminating connection because its advisory locks were lost";
        let error = Error::new(SqlState::AdminShutdown, message)
            .detail("The server could not renew its lease in time, so others may hold the locks.")
            .hint("Connect again and run the work under the locks again.");
        entry.end_with(error.clone());
        entry.cancel.stop(error.caused_by(SessionEnded));
        true
    }

    /// Asks every session to end as soon as its statement is done.
    pub fn ask_all_to_end(&self) {
        for entry in self.entries() {
            entry.ask_to_end();
        }
    }

    /// Ends every session and its statement.
    pub fn terminate_all(&self) {
        for entry in self.entries() {
            entry.terminate();
        }
    }
}

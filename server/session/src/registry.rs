//! The sessions of one process, by their numbers.
//!
//! Rule: a session is in the registry from its opening to its end.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicI32, Ordering};

use parking_lot::Mutex;

use crate::entry::SessionEntry;

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

    /// How many sessions there are.
    pub fn count(&self) -> usize {
        self.sessions.lock().len()
    }

    /// How many sessions a user has.
    pub fn count_of_user(&self, user: &str) -> usize {
        self.sessions.lock().values().filter(|entry| entry.user == user).count()
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

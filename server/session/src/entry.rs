//! A session as others see it: to cancel it, end it, list it.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock, Weak};

use braid_catalog::Id;
use braid_cluster::Token;
use braid_exec::{AdvisoryLocks, Cancel};
use braid_system_views::SessionInfo;
use braid_types::work::Statement;
use braid_types::{Error, Result, SqlState};
use parking_lot::Mutex;
use tokio::sync::Notify;

use crate::clock::now_micros;
use crate::options::SessionOptions;

/// What a session does now.
#[derive(Clone, Debug, Default)]
pub(crate) struct Activity {
    pub state: &'static str,
    pub query: Arc<str>,
    pub query_start: Option<i64>,
    pub state_change: Option<i64>,
    pub transaction_start: Option<i64>,
    pub transaction: Option<u64>,
    pub application_name: String,
}

/// What other sessions ask of a session while it lives.
pub(crate) trait SessionView: Send + Sync {
    /// The role that logged in, if the session's transaction has this commit token now.
    fn role_with_token(&self, token: Token) -> Option<Id>;

    /// Its advisory locks.
    fn advisory(&self) -> &AdvisoryLocks;
}

/// The statements that run beside a session.
pub(crate) trait QueuedStatements: Send + Sync {
    /// Stops what runs, with this error, and drops what has not started. False if nothing was
    /// left to stop.
    fn stop(&self, error: &Error) -> bool;
}

/// A session's place in the registry.
pub(crate) struct SessionEntry {
    pub pid: i32,
    pub secret: i32,
    pub user: String,
    pub database: String,
    pub peer: Option<std::net::SocketAddr>,
    pub local: Option<std::net::SocketAddr>,
    pub backend: &'static str,
    pub started: i64,
    pub cancel: Arc<Cancel>,
    pub activity: Mutex<Activity>,
    view: OnceLock<Weak<dyn SessionView>>,
    /// Statements that run beside the session.
    queue: Arc<dyn QueuedStatements>,
    running: AtomicBool,
    ending: AtomicBool,
    /// What the client is told at the end, unless an administrator has ended the session.
    end_reason: Mutex<Option<Error>>,
    end: Notify,
}

/// The cause of an error that ends the session: somebody has asked for it.
#[derive(Clone, Copy, Debug, thiserror::Error)]
#[error("the session was asked to end")]
pub struct SessionEnded;

/// 57P01: the session has to end.
pub(crate) fn ended() -> Error {
    let message = "terminating connection due to administrator command";
    Error::new(SqlState::AdminShutdown, message).caused_by(SessionEnded)
}

impl SessionEntry {
    pub(crate) fn new(
        pid: i32,
        secret: i32,
        options: &SessionOptions,
        queue: Arc<dyn QueuedStatements>,
    ) -> SessionEntry {
        SessionEntry {
            pid,
            secret,
            user: options.user.clone(),
            database: options.database.clone(),
            peer: options.peer,
            local: options.local,
            backend: options.backend,
            started: now_micros(),
            cancel: Arc::default(),
            activity: Mutex::new(Activity { state: "idle", ..Activity::default() }),
            view: OnceLock::new(),
            queue,
            running: AtomicBool::new(false),
            ending: AtomicBool::new(false),
            end_reason: Mutex::default(),
            end: Notify::new(),
        }
    }

    /// Lets other sessions ask this one.
    pub(crate) fn attach(&self, view: Weak<dyn SessionView>) {
        // A session is made once.
        self.view.set(view).ok();
    }

    /// The session as others see it, while it lives.
    pub(crate) fn view(&self) -> Option<Arc<dyn SessionView>> {
        self.view.get()?.upgrade()
    }

    /// The role that logged in, if the session's transaction has this commit token now.
    pub(crate) fn role_with_token(&self, token: Token) -> Option<Id> {
        self.view()?.role_with_token(token)
    }

    /// A statement begins: from now on it can be cancelled. How long its transaction has waited
    /// for it, in microseconds, if one was open.
    pub(crate) fn begin_statement(&self, query: &Arc<str>, now: i64) -> Option<i64> {
        self.cancel.reset();
        self.running.store(true, Ordering::Release);
        let mut activity = self.activity.lock();
        let was_open = activity.state.starts_with("idle in transaction");
        let since = activity.state_change.filter(|_| was_open);
        activity.state = "active";
        // Others run the same text: its reference count is passed between cores at each change.
        if !Arc::ptr_eq(&activity.query, query) {
            activity.query = query.clone();
        }
        activity.query_start = Some(now);
        activity.state_change = Some(now);
        since.map(|since| now - since)
    }

    /// The statement goes on, in its commit: it can be cancelled again.
    pub(crate) fn resume_statement(&self) {
        self.cancel.reset();
        self.running.store(true, Ordering::Release);
    }

    /// No statement runs any more.
    pub(crate) fn end_statement(&self) {
        self.running.store(false, Ordering::Release);
    }

    pub(crate) fn is_running(&self) -> bool {
        self.running.load(Ordering::Acquire)
    }

    /// Stops the running statement and those queued, if there are any.
    pub(crate) fn cancel_running(&self) -> bool {
        let message = "canceling statement due to user request";
        let error = Error::new(SqlState::QueryCanceled, message);
        let queued = self.queue.stop(&error);
        let running = self.running.load(Ordering::Acquire);
        if running {
            self.cancel.stop(error);
        }
        running || queued
    }

    /// Ends the session once its statement is done.
    pub(crate) fn ask_to_end(&self) {
        self.ending.store(true, Ordering::Release);
        self.end.notify_one();
    }

    /// Ends the session with this error once its statement is done.
    pub(crate) fn end_with(&self, error: Error) {
        self.end_reason.lock().get_or_insert(error);
        self.ask_to_end();
    }

    /// What the client is told at the end.
    pub(crate) fn end_error(&self) -> Error {
        self.end_reason.lock().clone().unwrap_or_else(ended)
    }

    /// Ends the session and its statement.
    pub(crate) fn terminate(&self) {
        self.ask_to_end();
        self.cancel.stop(ended());
    }

    pub(crate) fn is_ending(&self) -> bool {
        self.ending.load(Ordering::Acquire)
    }

    /// Waits until the session is asked to end.
    pub(crate) async fn end_signal(&self) {
        self.end.notified().await;
    }

    pub(crate) fn info(&self) -> SessionInfo {
        let activity = self.activity.lock().clone();
        SessionInfo {
            pid: self.pid,
            user: self.user.clone(),
            database: self.database.clone(),
            application_name: activity.application_name,
            client_addr: self.peer.map(|peer| peer.ip().to_string()),
            client_port: self.peer.map(|peer| i32::from(peer.port())),
            backend_start: self.started,
            transaction_start: activity.transaction_start,
            query_start: activity.query_start,
            state_change: activity.state_change,
            state: activity.state.to_owned(),
            query: activity.query.to_string(),
            transaction: activity.transaction,
            backend: self.backend.to_owned(),
        }
    }
}

/// Between statements nothing stops: a switch may still be set that the next statement resets.
impl Statement for SessionEntry {
    fn check(&self) -> Result<()> {
        if self.is_running() { self.cancel.check() } else { Ok(()) }
    }

    fn take(&self, bytes: usize) -> Result<()> {
        self.cancel.take(bytes)
    }

    fn give(&self, bytes: usize) {
        self.cancel.give(bytes);
    }
}

//! Notices of a session that wait until its client can be told.

use braid_types::{Error, SqlState};

use crate::client::{Client, Notice, Severity};
use crate::shared::Shared;

/// Notices that wait for the end of their statement.
#[derive(Default)]
pub(crate) struct Notices(Vec<Notice>);

impl Notices {
    /// Keeps a notice until the client can be told.
    pub(crate) fn add(&mut self, severity: Severity, fields: Error) {
        self.0.push(Notice { severity, fields });
    }

    /// Keeps a warning with a SQLSTATE.
    pub(crate) fn warn(&mut self, state: SqlState, message: &str) {
        self.add(Severity::Warning, Error::new(state, message));
    }

    /// Keeps messages of routines.
    pub(crate) fn extend(&mut self, notices: Vec<Notice>) {
        self.0.extend(notices);
    }

    /// How many wait.
    pub(crate) fn count(&self) -> usize {
        self.0.len()
    }

    /// Forgets those beyond the first `count`: the statement that gave them runs again.
    pub(crate) fn truncate(&mut self, count: usize) {
        self.0.truncate(count);
    }

    /// Sends the notices of at least this severity to the client, and forgets all.
    pub(crate) fn send(&mut self, least: Option<Severity>, client: &mut dyn Client) {
        for notice in self.0.drain(..) {
            let is_loud = least.is_some_and(|least| notice.severity >= least);
            if is_loud || notice.severity == Severity::Info {
                client.notice(&notice);
            }
        }
    }
}

/// Sends the messages of functions to the client, before the rows that they are part of.
pub(crate) fn send_warnings(shared: &Shared, least: Option<Severity>, client: &mut dyn Client) {
    for notice in std::mem::take(&mut *shared.raised.lock()) {
        if notice.severity == Severity::Info || least.is_some_and(|l| notice.severity >= l) {
            client.notice(&notice);
        }
    }
    for fields in shared.advisory.take_warnings() {
        if least.is_some_and(|least| Severity::Warning >= least) {
            client.notice(&Notice { severity: Severity::Warning, fields });
        }
    }
}

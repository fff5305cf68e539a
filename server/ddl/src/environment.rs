//! The session's environment with the transaction's own catalog.

use braid_builtins::{Environment, Lookup};
use braid_system_views::CatalogLookup;
use braid_types::FormatSettings;

/// The session with the transaction's own catalog: a table created before is found.
pub(crate) struct DraftEnvironment<'a> {
    session: &'a dyn Environment,
    lookup: CatalogLookup,
}

impl<'a> DraftEnvironment<'a> {
    pub(crate) fn new(session: &'a dyn Environment, lookup: CatalogLookup) -> Self {
        DraftEnvironment { session, lookup }
    }
}

impl Environment for DraftEnvironment<'_> {
    fn settings(&self) -> &FormatSettings {
        self.session.settings()
    }
    fn transaction_micros(&self) -> i64 {
        self.session.transaction_micros()
    }
    fn statement_micros(&self) -> i64 {
        self.session.statement_micros()
    }
    fn current_user(&self) -> &str {
        self.session.current_user()
    }
    fn session_user(&self) -> &str {
        self.session.session_user()
    }
    fn database(&self) -> &str {
        self.session.database()
    }
    fn search_path(&self, implicit: bool) -> Vec<String> {
        self.session.search_path(implicit)
    }
    fn setting(&self, name: &str) -> Option<String> {
        self.session.setting(name)
    }
    fn backend_pid(&self) -> i32 {
        self.session.backend_pid()
    }
    fn client_addr(&self) -> Option<String> {
        self.session.client_addr()
    }
    fn lookup(&self) -> &dyn Lookup {
        &self.lookup
    }
}

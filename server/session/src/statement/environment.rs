//! The session as functions and the planner see it during one statement.

use std::net::SocketAddr;
use std::sync::Arc;

use braid_builtins::{Environment, Lookup};
use braid_catalog::Catalog;
use braid_plan::PlanContext;
use braid_system_views::CatalogLookup;
use braid_types::{FormatSettings, SqlType};

use crate::settings::Active;
use crate::shared::Shared;

/// One statement's view of its session.
pub(crate) struct StatementEnvironment {
    pub shared: Arc<Shared>,
    pub active: Arc<Active>,
    pub transaction_micros: i64,
    pub statement_micros: i64,
    pub user: Arc<str>,
    pub session_user: Arc<str>,
    pub lookup: Arc<CatalogLookup>,
}

impl StatementEnvironment {
    /// What the planner sees: names are looked up in `catalog`, positions count in `text`, and
    /// parameters have `param_types` as far as they are known.
    pub(crate) fn plan_context<'a>(
        &'a self,
        catalog: &'a Arc<Catalog>,
        text: &'a str,
        param_types: &'a [SqlType],
    ) -> PlanContext<'a> {
        let path = &self.lookup.path;
        PlanContext { catalog, path, env: self, text, param_types, variables: None }
    }
}

impl Environment for StatementEnvironment {
    fn settings(&self) -> &FormatSettings {
        &self.active.format
    }

    fn transaction_micros(&self) -> i64 {
        self.transaction_micros
    }

    fn statement_micros(&self) -> i64 {
        self.statement_micros
    }

    fn current_user(&self) -> &str {
        &self.user
    }

    fn session_user(&self) -> &str {
        &self.session_user
    }

    fn database(&self) -> &str {
        &self.lookup.path.database_name
    }

    fn search_path(&self, implicit: bool) -> Vec<String> {
        self.lookup.schemas(implicit)
    }

    fn setting(&self, name: &str) -> Option<String> {
        self.shared.setting(name)
    }

    fn backend_pid(&self) -> i32 {
        self.shared.entry.pid
    }

    fn client_addr(&self) -> Option<String> {
        self.shared.entry.peer.map(|peer| peer.ip().to_string())
    }

    fn client_port(&self) -> Option<u16> {
        self.shared.entry.peer.map(|peer| peer.port())
    }

    fn server_addr(&self) -> Option<SocketAddr> {
        self.shared.entry.local
    }

    fn listening_channels(&self) -> Vec<String> {
        self.shared.inbox.channels()
    }

    fn notification_queue_usage(&self) -> f64 {
        let (bytes, bytes_max) = self.shared.engine.hub.fullest();
        bytes as f64 / bytes_max.max(1) as f64
    }

    fn lookup(&self) -> &dyn Lookup {
        &*self.lookup
    }
}

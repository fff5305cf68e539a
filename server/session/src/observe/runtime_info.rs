//! The running server as the system views show it to a session: sessions, locks, settings.

use std::collections::HashMap;
use std::sync::Arc;

use braid_catalog::Id;
use braid_cluster::{GatewayInfo, PreparedInfo as PreparedTransactionInfo};
use braid_kv::TxnId;
use braid_system_views::{
    CursorInfo, DatabaseCounts, LockEntry, MetricEntry, PreparedInfo, RelationCounts, RuntimeInfo,
    SessionInfo, SettingInfo, StatementsInfo,
};
use braid_types::{Error, Result, SqlState};

use crate::entry::SessionEntry;
use crate::options::ANALYZER;
use crate::settings::{described, settings};
use crate::shared::Shared;

impl RuntimeInfo for Shared {
    fn sessions(&self) -> Vec<SessionInfo> {
        self.engine.sessions.entries().iter().map(|entry| entry.info()).collect()
    }

    fn terminate_session(&self, pid: i32) -> Result<bool> {
        let Some(entry) = self.engine.sessions.entry(pid) else { return Ok(false) };
        if !self.may_end(&entry) {
            let message = "must be a member of the role whose process is being terminated or \
                           member of pg_signal_backend";
            return Err(Error::new(SqlState::InsufficientPrivilege, message));
        }
        entry.terminate();
        Ok(true)
    }

    fn end_analyzers(&self, database: &str) {
        let entries = self.engine.sessions.entries();
        let is_one =
            |entry: &&Arc<SessionEntry>| entry.backend == ANALYZER && entry.database == database;
        entries.iter().filter(is_one).for_each(|entry| entry.terminate());
    }

    fn locks(&self) -> Vec<LockEntry> {
        let kv = &self.engine.kv;
        let of_sessions = kv.session_locks().map_or_else(Vec::new, |locks| locks.shown());
        self.engine.sessions.with_holders(kv.store().locks().into_iter().chain(of_sessions))
    }

    fn awaited_locks(&self) -> Vec<LockEntry> {
        let kv = &self.engine.kv;
        let of_sessions = kv.session_locks().map_or_else(Vec::new, |locks| locks.shown());
        let of_sessions = of_sessions.into_iter().filter(|lock| !lock.granted);
        self.engine.sessions.with_holders(kv.store().awaited_locks().into_iter().chain(of_sessions))
    }

    fn metrics(&self) -> Vec<MetricEntry> {
        self.engine.metrics()
    }

    fn settings(&self) -> Vec<SettingInfo> {
        settings()
            .iter()
            .map(|setting| {
                let value = self.setting(setting.name).unwrap_or_default();
                let reset = self.state.lock().settings.reset_value(setting);
                described(setting, &value, &reset)
            })
            .collect()
    }

    fn prepared_statements(&self) -> Vec<PreparedInfo> {
        self.state.lock().prepared.values().cloned().collect()
    }

    fn prepared_transactions(&self) -> Vec<(TxnId, PreparedTransactionInfo)> {
        self.engine.prepared.list()
    }

    fn cursors(&self) -> Vec<CursorInfo> {
        self.state.lock().cursors.values().cloned().collect()
    }

    fn gateways(&self) -> Vec<GatewayInfo> {
        self.engine.gateways.list()
    }

    fn relation_counts(&self) -> HashMap<Id, RelationCounts> {
        self.engine.statistics.activity.relations(self.database)
    }

    fn database_counts(&self) -> HashMap<Id, DatabaseCounts> {
        self.engine.statistics.activity.databases()
    }

    fn statements(&self) -> StatementsInfo {
        self.engine.statistics.statements.all()
    }
}

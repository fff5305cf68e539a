//! A session's part of its group: its queue, its numbers, and what can run again.

use std::sync::Arc;

use braid_catalog::Catalog;
use braid_kv::NewKey;
use braid_sql::ast::Statement;
use braid_types::{Datum, Error, SqlState};
use tokio::task::JoinHandle;

use crate::entry::QueuedStatements;
use crate::groups::task::Job;
use crate::groups::timeline::{Recorder, Timeline};
use crate::statement::kinds::completes_block;
use crate::statement::prepared::Prepared;

/// Statements that are remembered, at most.
pub(super) const STEPS_MAX: usize = 1000;
/// Bytes of their texts and parameters, at most.
pub(super) const STEPS_BYTES_MAX: usize = 1 << 20;
/// The queue of a session's parallel statements.
pub(super) type Queue = super::queue::Queue<Job>;
/// A look at new keys that goes on beside a statement.
pub(super) type NewKeyCheck = JoinHandle<braid_kv::Result<Vec<NewKey>>>;

/// A statement that was acknowledged.
pub(super) struct Step {
    pub number: u32,
    pub prepared: Arc<Prepared>,
    pub params: Arc<Vec<Datum>>,
}

/// Everything that the transaction has done, as long as that is only acknowledgements.
#[derive(Default)]
pub(super) struct Steps {
    pub list: Vec<Step>,
    pub bytes: usize,
    /// Something else was done, or there is too much.
    pub is_blocked: bool,
}

impl Steps {
    pub(super) fn push(
        &mut self,
        number: u32,
        prepared: &Arc<Prepared>,
        params: &Arc<Vec<Datum>>,
        bytes: usize,
    ) {
        self.bytes += bytes;
        if self.list.len() >= STEPS_MAX || self.bytes > STEPS_BYTES_MAX {
            self.block();
        }
        if !self.is_blocked {
            let (prepared, params) = (prepared.clone(), params.clone());
            self.list.push(Step { number, prepared, params });
        }
    }

    /// Another statement comes by, whose answer the client sees.
    pub(super) fn pass(&mut self, statement: &Statement) {
        let is_end = completes_block(statement)
            || matches!(statement, Statement::Rollback { to_savepoint: None, .. });
        let is_setting = matches!(
            statement,
            Statement::Set(_) | Statement::SetTransaction(_) | Statement::Show(_)
        );
        if !(is_end || is_setting && self.list.is_empty()) {
            self.block();
        }
    }

    /// What was queued was dropped.
    pub(super) fn drop_group(&mut self) {
        self.block();
    }

    pub(super) fn block(&mut self) {
        self.is_blocked = true;
        self.list = Vec::new();
    }
}

/// A session's part of its group.
pub(crate) struct GroupState {
    pub(super) queue: Arc<Queue>,
    /// The number of the last statement of the transaction.
    pub(super) number: u32,
    /// Something was queued since the last barrier.
    pub(super) is_engaged: bool,
    pub(super) steps: Steps,
    pub(super) check: Option<NewKeyCheck>,
    /// Knows the constraints of new keys.
    pub(super) catalog: Option<Arc<Catalog>>,
    pub(super) timeline: Timeline,
}

impl GroupState {
    pub(crate) fn new() -> GroupState {
        GroupState {
            queue: Arc::default(),
            number: 0,
            is_engaged: false,
            steps: Steps::default(),
            check: None,
            catalog: None,
            timeline: Timeline::default(),
        }
    }

    /// The queued statements, for cancel requests.
    pub(crate) fn queued(&self) -> Arc<dyn QueuedStatements> {
        self.queue.clone()
    }

    /// BEGIN: statements are numbered from 1.
    pub(super) fn begin(&mut self, record_timeline: bool) {
        self.number = 0;
        self.steps = Steps::default();
        if record_timeline {
            self.timeline.begin();
        }
    }

    /// Stops what runs and drops what is queued; nothing of it is reported, not even a retry
    /// error: what the client was told before stays binding.
    pub(super) async fn stop(&mut self) {
        if let Some(check) = self.check.take() {
            check.abort();
        }
        if !self.is_engaged {
            return;
        }
        self.is_engaged = false;
        let queue = self.queue.clone();
        let mut changes = queue.changes();
        let message = "canceling statement because its transaction ends";
        queue.stop(&Error::new(SqlState::QueryCanceled, message));
        while queue.unfinished() > 0 {
            if changes.changed().await.is_err() {
                break;
            }
        }
        queue.clear();
        self.steps.drop_group();
    }

    /// Records that a statement waits for everything that was queued before it.
    pub(super) fn note_barrier(&self, recorder: &Recorder) {
        let unfinished = self.queue.with_ledger(|ledger| ledger.unfinished());
        if !unfinished.is_empty() {
            recorder.waits(unfinished, "barrier".to_owned());
        }
    }

    /// The session is gone: nothing of it runs on.
    pub(super) fn abort(&self) {
        self.queue.abort();
    }

    /// The transaction has ended.
    pub(super) fn end(&mut self) {
        self.number = 0;
        self.steps = Steps::default();
        self.catalog = None;
        self.queue.clear();
        self.timeline.end();
    }
}

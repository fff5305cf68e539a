//! The parallel statements of a session, for the rest of it.

use std::collections::VecDeque;
use std::sync::Arc;

use braid_catalog::Catalog;
use braid_sql::ast::Statement;
use braid_types::{Error, Result, Row};

use crate::client::Client;
use crate::groups::interface::ParallelStatements;
use crate::groups::timeline::Recorder;
use crate::groups::{again, barrier, enqueue, new_keys};
use crate::session::Session;
use crate::statement::portal::{Ended, Portal};

impl ParallelStatements for Session {
    fn begin_group(&mut self, record_timeline: bool) {
        self.group.begin(record_timeline);
        if self.open.as_ref().is_some_and(|open| open.statements > 0) {
            // What the implicit transaction has done before is not among the group's statements.
            self.group.steps.block();
        }
    }

    fn number_statement(&mut self, text: &str, is_recorded: bool) -> Option<Recorder> {
        self.group.number += 1;
        let trace = self.observer.trace();
        is_recorded.then(|| self.group.timeline.arrived(self.group.number, text, trace))
    }

    async fn enqueue(
        &mut self,
        portal: &mut Portal,
        client: &mut dyn Client,
        recorder: Option<Recorder>,
    ) -> Result<Option<Ended>> {
        enqueue::enqueue(self, portal, client, recorder).await
    }

    fn note_answered(&mut self, statement: &Statement) {
        self.group.steps.pass(statement);
    }

    async fn pass_barrier(
        &mut self,
        statement: &Statement,
        recorder: Option<&Recorder>,
    ) -> Result<()> {
        if let Some(recorder) = recorder {
            self.group.note_barrier(recorder);
        }
        barrier::pass_barrier(self, statement).await
    }

    async fn settle_new_keys(&mut self) -> Result<()> {
        new_keys::settle_new_keys(self).await
    }

    async fn error_after_group(&mut self, error: Error) -> Error {
        barrier::error_after_group(self, error).await
    }

    fn commit_error(&mut self, error: braid_kv::Error, catalog: Option<&Arc<Catalog>>) -> Error {
        new_keys::commit_error(self, error, catalog)
    }

    fn can_rerun_group(&self, error: &Error) -> bool {
        again::can_run_again(self, error)
    }

    async fn rerun_group(&mut self, error: Error) -> Result<()> {
        again::run_again(self, error).await
    }

    async fn stop_group(&mut self) {
        self.group.stop().await;
    }

    fn end_group(&mut self) {
        self.group.end();
    }

    fn abort_group(&self) {
        self.group.abort();
    }

    fn timeline_rows(&self) -> VecDeque<Row> {
        self.group.timeline.rows()
    }
}

//! What the rest of a session asks of its parallel statements: everything else here is private.

use std::collections::VecDeque;
use std::sync::Arc;

use braid_catalog::Catalog;
use braid_sql::ast::Statement;
use braid_types::{Error, Result, Row};

use crate::client::Client;
use crate::groups::timeline::Recorder;
use crate::statement::portal::{Ended, Portal};

/// The parallel statements of a session.
pub(crate) trait ParallelStatements {
    /// BEGIN: statements are numbered from 1.
    fn begin_group(&mut self, record_timeline: bool);

    /// Counts a statement of the transaction, and records it if that is asked for.
    fn number_statement(&mut self, text: &str, is_recorded: bool) -> Option<Recorder>;

    /// Plans a statement with RETURNING NOTHING, acknowledges it and queues it.
    fn enqueue(
        &mut self,
        portal: &mut Portal,
        client: &mut dyn Client,
        recorder: Option<Recorder>,
    ) -> impl Future<Output = Result<Option<Ended>>> + Send;

    /// Notes a statement of the block whose answer the client sees.
    fn note_answered(&mut self, statement: &Statement);

    /// Before a statement that is not queued: everything queued has finished. The error is that of
    /// the earliest failure.
    fn pass_barrier(
        &mut self,
        statement: &Statement,
        recorder: Option<&Recorder>,
    ) -> impl Future<Output = Result<()>> + Send;

    /// Waits for the look at new keys that a barrier began. Call it before anything leaves.
    fn settle_new_keys(&mut self) -> impl Future<Output = Result<()>> + Send;

    /// The error to report: errors of statements that were queued before go first.
    fn error_after_group(&mut self, error: Error) -> impl Future<Output = Error> + Send;

    /// The error of a commit: an existing key belongs to the statement that wrote it. `catalog`
    /// names its constraint, unless a group does.
    fn commit_error(&mut self, error: braid_kv::Error, catalog: Option<&Arc<Catalog>>) -> Error;

    /// Whether the client knows of nothing but acknowledgements, so that the transaction may run
    /// again after this error.
    fn can_rerun_group(&self, error: &Error) -> bool;

    /// Begins the transaction again and runs its statements in order.
    fn rerun_group(&mut self, error: Error) -> impl Future<Output = Result<()>> + Send;

    /// Stops what runs and drops what is queued. Nothing of it is reported.
    fn stop_group(&mut self) -> impl Future<Output = ()> + Send;

    /// The transaction has ended.
    fn end_group(&mut self);

    /// The session is gone: nothing of it runs on.
    fn abort_group(&self);

    /// The rows of SHOW TRANSACTION TIMELINE.
    fn timeline_rows(&self) -> VecDeque<Row>;
}

//! Waiting for a group, its error, dropping it.
//!
//! Keys that must not exist are looked at when everything queued has run. Before a query or a
//! change that look goes on beside the statement's own work, and its answer is there before
//! anything leaves; COMMIT, and the release of the restart savepoint, leave the look to the commit
//! itself.

use std::sync::Arc;
use std::task::Poll;

use braid_catalog::Catalog;
use braid_exec::from_kv;
use braid_kv::NewKey;
use braid_sql::ast::Statement;
use braid_types::{Error, Result, SqlState};
use tokio::task::JoinHandle;

use super::report::{Failure, barrier_error};
use crate::errors::is_retryable;
use crate::prepared::is_planned;
use crate::session::Session;

/// A look at new keys that goes on beside a statement.
pub(super) type NewKeyCheck = JoinHandle<braid_kv::Result<Vec<NewKey>>>;

impl Session {
    /// Before a statement that is no part of the group: everything queued has finished.
    pub(super) async fn pass_barrier(&mut self, statement: &Statement) -> Result<()> {
        if !self.group.is_engaged {
            return Ok(());
        }
        match statement {
            Statement::Rollback { .. } => {
                self.stop_group().await;
                Ok(())
            }
            Statement::Commit { .. } => {
                let result = self.resolve(false).await;
                if result.is_err() {
                    self.rollback_open().await;
                    self.end_block();
                }
                result
            }
            // It commits; what fails here fails as any statement does.
            Statement::Release(name) if self.would_commit(name) => self.resolve(false).await,
            statement if is_planned(statement) => {
                self.resolve(false).await?;
                self.begin_check().await;
                Ok(())
            }
            _ => self.resolve(true).await,
        }
    }

    /// Waits for the group and reports what has failed. Without a failure, new keys are looked
    /// at only if that is asked for.
    pub(super) async fn resolve(&mut self, look_at_keys: bool) -> Result<()> {
        self.drain().await;
        self.group.is_engaged = false;
        let has_failed = self.group.queue.with_ledger(|ledger| ledger.has_failed());
        if !has_failed && !look_at_keys {
            return Ok(());
        }
        let result = self.collect().await;
        match result {
            Err(error) if is_retryable(&error) && self.can_run_again(&error) => {
                self.run_again(error).await?;
                if look_at_keys { self.collect().await } else { Ok(()) }
            }
            result => result,
        }
    }

    /// Waits until nothing queued is left; a cancel request or a timeout stops what runs.
    async fn drain(&mut self) {
        let queue = self.group.queue.clone();
        let cancel = self.shared.entry.cancel.clone();
        let mut changes = queue.changes();
        let mut is_stopped = false;
        while queue.unfinished() > 0 {
            tokio::select! {
                biased;
                _ = changes.changed() => {}
                error = cancel.stopped(), if !is_stopped => {
                    is_stopped = true;
                    queue.stop(&error);
                }
            }
        }
    }

    /// The error of everything that has failed, existing keys included. Forgets the group.
    async fn collect(&mut self) -> Result<()> {
        let queue = self.group.queue.clone();
        let mut failures = queue.with_ledger(|ledger| ledger.take_failures());
        // After a retry error nothing that was read counts.
        let is_void = failures.iter().any(|failure| is_retryable(&failure.error));
        let txn = self.open.as_ref().map(|open| open.txn.clone());
        let mut result = Ok(());
        if let Some(txn) = txn.filter(|_| !is_void) {
            match txn.check_new_keys().await {
                Ok(existing) => self.add_existing(existing, &mut failures),
                Err(error) if failures.is_empty() => result = Err(from_kv(error)),
                Err(_) => {}
            }
            // A statement that read during the refresh of another may have failed for what never
            // was there at the same time.
            if !failures.is_empty()
                && let Err(error) = txn.prove_reads().await
            {
                queue.clear();
                return Err(from_kv(error));
            }
        }
        queue.clear();
        barrier_error(&failures).map_or(result, Err)
    }

    /// Adds statements whose new keys exist to those that have failed. Looked at in time, such a
    /// key would have been found before a foreign key's parent, and before a key that the same
    /// statement wrote next.
    fn add_existing(&mut self, existing: Vec<NewKey>, failures: &mut Vec<Failure>) {
        let mut found: Vec<Failure> = Vec::new();
        for new in existing {
            let failure = self.duplicate(new);
            if found.iter().all(|other| other.number != failure.number) {
                found.push(failure);
            }
        }
        for failure in found {
            let later = [SqlState::ForeignKeyViolation, SqlState::UniqueViolation];
            match failures.iter_mut().find(|other| other.number == failure.number) {
                Some(other) if later.contains(&other.error.state()) => *other = failure,
                Some(_) => {}
                None => failures.push(failure),
            }
        }
        failures.sort_by_key(|failure| failure.number);
    }

    fn duplicate(&mut self, new: NewKey) -> Failure {
        let error = braid_kv::Error::Duplicate { key: new.key.to_vec(), seq: new.seq };
        let catalog = self.group.catalog.clone();
        let error = self.named(error, catalog.as_ref());
        self.failure(new.seq.number(), error)
    }

    fn failure(&self, seq: u32, error: Error) -> Failure {
        self.group.queue.with_ledger(|ledger| ledger.failure_of(seq, error))
    }

    /// The error of a commit: an existing key belongs to the statement that wrote it. `catalog`
    /// tells its constraint, unless a group does.
    pub(crate) fn commit_error(
        &mut self,
        error: braid_kv::Error,
        catalog: Option<&Arc<Catalog>>,
    ) -> Error {
        let seq = match &error {
            braid_kv::Error::Duplicate { seq, .. } => seq.number(),
            _ => return from_kv(error),
        };
        let catalog = catalog.cloned().or_else(|| self.group.catalog.clone());
        let error = self.named(error, catalog.as_ref());
        let failure = self.failure(seq, error);
        barrier_error(std::slice::from_ref(&failure)).unwrap_or(failure.error)
    }

    /// Begins the look at new keys. What the statement that follows writes is not part of it.
    async fn begin_check(&mut self) {
        let Some(txn) = self.open.as_ref().map(|open| open.txn.clone()) else { return };
        let mut look = Box::pin(async move { txn.check_new_keys().await });
        let ready = std::future::poll_fn(|cx| Poll::Ready(look.as_mut().poll(cx))).await;
        self.group.check = match ready {
            Poll::Ready(Ok(existing)) if existing.is_empty() => {
                self.group.queue.clear();
                None
            }
            Poll::Ready(found) => Some(tokio::spawn(std::future::ready(found))),
            Poll::Pending => Some(tokio::spawn(look)),
        };
    }

    /// Waits for the look that [`Session::begin_check`] began; call it before anything leaves.
    pub(crate) async fn settle_new_keys(&mut self) -> Result<()> {
        let Some(check) = self.group.check.take() else { return Ok(()) };
        let found = check.await.map_err(|error| Error::internal(error.to_string()))?;
        let mut failures = Vec::new();
        self.add_existing(found.map_err(from_kv)?, &mut failures);
        self.group.queue.clear();
        barrier_error(&failures).map_or(Ok(()), Err)
    }

    /// An error that comes at once is reported behind those of statements before it.
    pub(crate) async fn behind_group(&mut self, error: Error) -> Error {
        if !self.group.is_engaged {
            return error;
        }
        self.drain().await;
        self.group.is_engaged = false;
        self.collect().await.err().unwrap_or(error)
    }

    /// A message has failed; the error that the client is to be told.
    pub async fn fail_with_queued(&mut self, error: Error) -> Error {
        let error = self.behind_group(error).await;
        self.fail(&error).await;
        error
    }

    /// Stops what runs and drops what is queued; nothing of it is reported, not even a retry
    /// error: what the client was told before stays binding.
    pub(crate) async fn stop_group(&mut self) {
        if let Some(check) = self.group.check.take() {
            check.abort();
        }
        if !self.group.is_engaged {
            return;
        }
        self.group.is_engaged = false;
        let queue = self.group.queue.clone();
        let mut changes = queue.changes();
        let message = "canceling statement because its transaction ends";
        queue.stop(&Error::new(SqlState::QueryCanceled, message));
        while queue.unfinished() > 0 {
            if changes.changed().await.is_err() {
                break;
            }
        }
        queue.clear();
        self.group.steps.drop_group();
    }
}

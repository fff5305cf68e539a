//! What was executed since the last Sync, so that it can be run again.
//!
//! ```text
//!   Parse Bind Execute … Sync                     one implicit transaction; its commit may fail
//!   BEGIN  SELECT  UPDATE  COMMIT  Sync           UPDATE or COMMIT may fail
//!   └──────── run again, then UPDATE or COMMIT ┘
//! ```
//!
//! If a transaction that began since the last Sync meets a retry error, and nothing has left, its
//! executions run again and their output takes the place of the old one, between the replies to
//! the other messages.
//!
//! Rules: each attempt begins in a transaction of its own, with the settings and portals that the
//! first one found; what has committed is never run again; a block that began before the last Sync
//! is its client's to begin anew; after a failure the block is as its client believes it to be.

use std::sync::Arc;

use braid_sql::ast::Statement;
use braid_types::{Datum, Error, Result};

use crate::client::{Client, Formats};
use crate::deadline::Reruns;
use crate::errors::is_retryable;
use crate::portal::{Portal, Run};
use crate::prepared::{Prepared, is_repeatable};
use crate::run::Ended;
use crate::session::Session;
use crate::transaction::Block;

/// One Execute that ran to its end.
#[derive(Clone)]
pub(crate) struct Step {
    pub prepared: Arc<Prepared>,
    pub params: Arc<Vec<Datum>>,
    pub formats: Formats,
    /// Where its output begins and ends, as positions of the connection.
    pub output: std::ops::Range<u64>,
}

/// The executions since the last Sync, or since the last transaction that ended after it.
#[derive(Default)]
pub(crate) struct Replay {
    pub steps: Vec<Step>,
    /// Something happened that cannot be done again.
    pub blocked: bool,
    /// The steps begin a block.
    begins: bool,
}

/// More executions than this are not remembered.
const STEPS_MAX: usize = 1000;

impl Step {
    /// Whether it only says what the transaction is to be like, before anything is done in it.
    fn is_frame(&self) -> bool {
        self.prepared.statement().is_some_and(|statement| !is_repeatable(statement))
    }
}

impl Replay {
    pub(crate) fn clear(&mut self) {
        *self = Replay::default();
    }

    fn push(&mut self, step: Step) {
        if self.steps.len() < STEPS_MAX {
            self.begins |= matches!(step.prepared.statement(), Some(Statement::Begin(_)));
            self.steps.push(step);
        } else {
            self.blocked = true;
        }
    }

    /// The steps, if they can be run again.
    pub(crate) fn take(&mut self) -> Option<Vec<Step>> {
        let steps = std::mem::take(&mut self.steps);
        self.begins = false;
        (!self.blocked && !steps.is_empty()).then_some(steps)
    }

    /// The text of the last step.
    pub(crate) fn last_text(&self) -> Option<Arc<str>> {
        self.steps.last().map(|step| step.prepared.whole_text().clone())
    }

    /// Whether a step can be done again behind those that there are.
    fn takes(&self, statement: Option<&Statement>, block: Block) -> bool {
        let Some(statement) = statement else { return true };
        let is_begin = matches!(statement, Statement::Begin(_));
        match block {
            Block::None if is_begin => true,
            Block::None => is_repeatable(statement),
            Block::Active if !self.begins || is_begin => false,
            Block::Active if is_repeatable(statement) => true,
            Block::Active => {
                // A savepoint in the middle could not be rolled back to after a failure.
                let is_start = self.steps.iter().all(Step::is_frame);
                is_start
                    && matches!(
                        statement,
                        Statement::Set(_) | Statement::SetTransaction(_) | Statement::Savepoint(_)
                    )
            }
            Block::Failed | Block::Released => false,
        }
    }
}

impl Session {
    /// Remembers what a portal has done, which ran when the block was like this.
    pub(crate) fn remember_step(
        &mut self,
        portal: &Portal,
        is_whole: bool,
        block: Block,
        start: u64,
        client: &dyn Client,
    ) {
        let statement = portal.prepared.statement();
        let is_end = matches!(
            statement,
            Some(Statement::Commit { .. } | Statement::Rollback { to_savepoint: None, .. })
        );
        if is_end || (self.block == Block::None && self.open.is_none()) {
            self.replay.clear();
        } else if is_whole && self.replay.takes(statement, block) {
            self.replay.push(Step {
                prepared: portal.prepared.clone(),
                params: portal.params.clone(),
                formats: portal.formats.clone(),
                output: start..client.position(),
            });
        } else {
            self.replay.blocked = true;
        }
    }

    /// Whether nothing of the remembered steps has left, and they are all there is.
    fn can_replay(&self, block: Block, client: &dyn Client) -> bool {
        let Some(first) = self.replay.steps.first() else { return false };
        !self.replay.blocked
            && first.output.start >= client.sent()
            && (self.replay.begins || block == Block::None)
    }

    /// Runs everything since the last Sync again, this portal last; the error if that cannot be.
    /// The block was like this before the portal ran.
    pub(crate) async fn execute_again(
        &mut self,
        portal: &mut Portal,
        rows_max: u32,
        block: Block,
        mut error: Error,
        client: &mut dyn Client,
    ) -> Result<(Ended, u64)> {
        let mut frame = None;
        let mut reruns = Reruns::new();
        while self.can_replay(block, client)
            && self.shared.advisory.may_run_again(None, &error)
            && let Some(attempt) = reruns.next()
        {
            let Some(steps) = self.replay.take() else { break };
            let settings = steps.iter().take_while(|step| step.is_frame());
            frame = Some(settings.cloned().collect::<Vec<Step>>());
            self.server.counters.server_retries.add(&error);
            if let Err(stopped) = self.pause(attempt).await {
                error = stopped;
                break;
            }
            let result = match self.replay_steps(steps, client).await {
                Ok(true) => {
                    portal.run = Run::New;
                    let start = client.position();
                    let rows_max = u64::from(rows_max);
                    let ended = self.run_portal(portal, rows_max, client, false).await;
                    if ended.is_err() && !client.rewind(start) {
                        self.replay.blocked = true;
                    }
                    ended.map(|ended| (ended, start))
                }
                Ok(false) => Err(error.clone()),
                Err(error) => Err(error),
            };
            match result {
                Err(again) if is_retryable(&again) => error = again,
                Err(refused) => {
                    error = refused;
                    break;
                }
                done => return done,
            }
        }
        if let Some(frame) = frame.filter(|_| block == Block::Active) {
            let commits = matches!(portal.prepared.statement(), Some(Statement::Commit { .. }));
            self.fail_replayed(&frame, commits, client).await;
        }
        Err(error)
    }

    /// Leaves a block that could not be run again as its client believes it to be: ended by
    /// COMMIT, else as it was before its first statement, about to fail.
    async fn fail_replayed(&mut self, frame: &[Step], commits: bool, client: &mut dyn Client) {
        self.rollback_open().await;
        self.end_block();
        if commits {
            return;
        }
        let start = client.position();
        for step in frame {
            let (params, formats) = (step.params.clone(), step.formats.clone());
            let mut portal = Portal::new(step.prepared.clone(), params, formats);
            if self.run_portal(&mut portal, 0, client, false).await.is_err() {
                break;
            }
        }
        client.rewind(start);
        self.block = Block::Active;
    }

    /// Drops what an attempt has left, so that the next one finds what the first one found.
    async fn begin_afresh(&mut self) {
        // Portals that were bound and have not begun belong to no transaction yet.
        let mut bound = std::mem::take(&mut self.portals);
        bound.retain(|_, portal| matches!(portal.run, Run::New) || portal.is_held());
        self.take_back_open().await;
        self.end_block();
        self.portals = bound;
        self.notices.clear();
    }

    /// Runs the steps again in a fresh transaction, their output in the place of the old; false
    /// if some has left. After an error steps and output are as before, and nothing is open.
    pub(crate) async fn replay_steps(
        &mut self,
        steps: Vec<Step>,
        client: &mut dyn Client,
    ) -> Result<bool> {
        let Some(first) = steps.first().map(|step| step.output.start) else { return Ok(false) };
        let Some(old) = client.take_after(first) else { return Ok(false) };
        let last_tag = self.tag_position;
        self.begin_afresh().await;
        let result = self.replay_over(&steps, &old, client).await;
        if result.is_err() {
            self.begin_afresh().await;
            self.tag_position = last_tag;
            self.replay.steps = steps;
            if client.rewind(first) {
                client.put_back(&old);
            } else {
                self.replay.blocked = true;
            }
        }
        result.map(|()| true)
    }

    async fn replay_over(
        &mut self,
        steps: &[Step],
        old: &[u8],
        client: &mut dyn Client,
    ) -> Result<()> {
        let Some(first) = steps.first().map(|step| step.output.start) else { return Ok(()) };
        let piece = |from: u64, to: u64| {
            let at = |position: u64| {
                usize::try_from(position - first).unwrap_or(usize::MAX).min(old.len())
            };
            &old[at(from)..at(to)]
        };
        let mut done = first;
        for step in steps {
            client.put_back(piece(done, step.output.start));
            let start = client.position();
            let (params, formats) = (step.params.clone(), step.formats.clone());
            let mut portal = Portal::new(step.prepared.clone(), params, formats);
            self.run_portal(&mut portal, 0, client, false).await?;
            done = step.output.end;
            self.replay.push(Step { output: start..client.position(), ..step.clone() });
        }
        client.put_back(piece(done, first + old.len() as u64));
        Ok(())
    }
}

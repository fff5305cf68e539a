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
//! can be run again only by its client; after a failure the block is as its client believes.

use braid_sql::ast::Statement;
use braid_types::{Error, Result};

use crate::client::{Client, Mark, OutputSegment};
use crate::retry::driver::{Repeat, rerun};
use crate::retry::limits::Limits;
use crate::retry::pause::note_rerun;
use crate::retry::steps::Step;
use crate::session::Session;
use crate::statement::kinds::completes_block;
use crate::statement::portal::{Ended, Portal, Run, Wanted};
use crate::statement::runner::run_portal;
use crate::transaction::commit_attempt::{end_block, rollback_open, take_back_open};
use crate::transaction::machine::{Block, Event};

/// Remembers what a portal has done, which ran when the block was like this.
pub(crate) fn remember_step(
    session: &mut Session,
    portal: &Portal,
    is_whole: bool,
    block: Block,
    start: Mark,
    client: &dyn Client,
) {
    let statement = portal.prepared.statement();
    let is_end = statement.is_some_and(|statement| {
        completes_block(statement)
            || matches!(statement, Statement::Rollback { to_savepoint: None, .. })
    });
    if is_end || (session.block == Block::None && session.open.is_none()) {
        session.replay.clear();
    } else if is_whole && session.replay.takes(statement, block) {
        session.replay.push(Step {
            prepared: portal.prepared.clone(),
            params: portal.params.clone(),
            formats: portal.formats.clone(),
            output: start..client.mark(),
        });
    } else {
        session.replay.blocked = true;
        session.replay.ends_with_tag = is_whole;
    }
}

/// Whether nothing of the remembered steps has left, and they are all there is.
fn can_replay(session: &Session, block: Block, client: &dyn Client) -> bool {
    let Some(first) = session.replay.steps.first() else { return false };
    !session.replay.blocked
        && client.is_held(first.output.start)
        && (session.replay.begins || block == Block::None)
}

/// Runs everything since the last Sync again, this portal last; the error if that cannot be.
/// The block was like this before the portal ran.
pub(crate) async fn execute_again(
    session: &mut Session,
    portal: &mut Portal,
    rows_max: u32,
    block: Block,
    error: Error,
    client: &mut dyn Client,
) -> Result<(Ended, Mark)> {
    let wanted = Wanted { rows_max: u64::from(rows_max), describe: false };
    let (steps, frame) = (Vec::new(), None);
    let mut execute = Execute { session, portal, wanted, block, steps, frame, error: None, client };
    let result = rerun(&mut execute, error).await;
    let Execute { session, portal, frame, client, .. } = execute;
    if let Some(frame) = frame.filter(|_| result.is_err() && block == Block::Active) {
        let commits = portal.prepared.statement().is_some_and(completes_block);
        fail_replayed(session, &frame, commits, client).await;
    }
    result
}

/// What was executed since the last Sync, and the portal that has failed.
struct Execute<'a> {
    session: &'a mut Session,
    portal: &'a mut Portal,
    wanted: Wanted,
    /// The block before the portal ran.
    block: Block,
    /// What the next attempt runs.
    steps: Vec<Step>,
    /// The steps that open the block, once something has run again.
    frame: Option<Vec<Step>>,
    /// The error of the attempt before it.
    error: Option<Error>,
    client: &'a mut dyn Client,
}

impl Repeat for Execute<'_> {
    type Output = (Ended, Mark);
    const LIMITS: Limits = Limits::TRANSACTION;

    async fn attempt(&mut self) -> Result<(Ended, Mark)> {
        let steps = std::mem::take(&mut self.steps);
        if !replay_steps(self.session, steps, self.client).await? {
            // Some of the output has left, and nothing is remembered any more.
            let lost = || Error::internal("an execution runs again without an error");
            return Err(self.error.take().unwrap_or_else(lost));
        }
        self.portal.run = Run::New;
        let start = self.client.mark();
        let ended = run_portal(self.session, self.portal, self.wanted, self.client).await;
        if ended.is_err() && !self.client.rewind(start) {
            self.session.replay.blocked = true;
        }
        ended.map(|ended| (ended, start))
    }

    fn may_repeat(&mut self, error: &Error) -> bool {
        can_replay(self.session, self.block, self.client)
            && self.session.shared.advisory.may_run_again(None, error)
    }

    async fn begin_again(&mut self, error: Error, attempt: u32) -> Result<()> {
        let Some(steps) = self.session.replay.take() else { return Err(error) };
        let frame = steps.iter().take_while(|step| step.is_frame());
        self.frame = Some(frame.cloned().collect());
        self.steps = steps;
        let noted = note_rerun(self.session, &error, attempt).await;
        self.error = Some(error);
        noted
    }
}

/// Leaves a block that could not be run again as its client believes it to be: ended by
/// COMMIT, else as it was before its first statement, about to fail.
async fn fail_replayed(
    session: &mut Session,
    frame: &[Step],
    commits: bool,
    client: &mut dyn Client,
) {
    rollback_open(session).await;
    end_block(session);
    if commits {
        return;
    }
    let start = client.mark();
    for step in frame {
        let (params, formats) = (step.params.clone(), step.formats.clone());
        let mut portal = Portal::new(step.prepared.clone(), params, formats);
        if run_portal(session, &mut portal, Wanted::ALL, client).await.is_err() {
            break;
        }
    }
    client.rewind(start);
    session.block.follow(Event::Restore);
}

/// Drops what an attempt has left, so that the next one finds what the first one found.
async fn begin_afresh(session: &mut Session) {
    // Portals that were bound and have not begun belong to no transaction yet.
    let mut bound = std::mem::take(&mut session.portals);
    bound.retain(|_, portal| matches!(portal.run, Run::New) || portal.is_held());
    take_back_open(session).await;
    end_block(session);
    session.portals = bound;
    session.notices.truncate(0);
}

/// Runs the steps again in a fresh transaction, their output in the place of the old; false
/// if some has left. After an error steps and output are as before, and nothing is open.
pub(crate) async fn replay_steps(
    session: &mut Session,
    steps: Vec<Step>,
    client: &mut dyn Client,
) -> Result<bool> {
    let Some(first) = steps.first().map(|step| step.output.start) else { return Ok(false) };
    let Some(old) = client.detach(first) else { return Ok(false) };
    let last_tag = session.tag_mark;
    begin_afresh(session).await;
    let result = replay_over(session, &steps, &old, client).await;
    if result.is_err() {
        begin_afresh(session).await;
        session.tag_mark = last_tag;
        session.replay.steps = steps;
        if client.rewind(first) {
            client.attach(old.messages());
        } else {
            session.replay.blocked = true;
        }
    }
    result.map(|()| true)
}

async fn replay_over(
    session: &mut Session,
    steps: &[Step],
    old: &OutputSegment,
    client: &mut dyn Client,
) -> Result<()> {
    let Some(first) = steps.first().map(|step| step.output.start) else { return Ok(()) };
    let mut done = first;
    for step in steps {
        client.attach(old.between(done, step.output.start));
        let start = client.mark();
        let (params, formats) = (step.params.clone(), step.formats.clone());
        let mut portal = Portal::new(step.prepared.clone(), params, formats);
        run_portal(session, &mut portal, Wanted::ALL, client).await?;
        done = step.output.end;
        session.replay.push(Step { output: start..client.mark(), ..step.clone() });
    }
    client.attach(old.between(done, old.end()));
    Ok(())
}

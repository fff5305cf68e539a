//! The commit of a batch of the extended protocol, and of its rerun.

use braid_types::{Error, Result};

use crate::client::Client;
use crate::retry::driver::{Repeat, rerun};
use crate::retry::limits::Limits;
use crate::retry::pause::note_rerun;
use crate::retry::replay::replay_steps;
use crate::retry::steps::Step;
use crate::session::Session;
use crate::statement::deadline::guard_commit;
use crate::transaction::commit::commit_open;

/// Commits what was executed since the last Sync, and runs it again on a conflict. The commit,
/// with the checks and triggers that were deferred to it, can be cancelled and has a time limit.
pub(crate) async fn finish_batch(session: &mut Session, client: &mut dyn Client) -> Result<()> {
    let guard = guard_commit(session);
    let result = commit_batch(session, client).await;
    drop(guard);
    result
}

async fn commit_batch(session: &mut Session, client: &mut dyn Client) -> Result<()> {
    if session.replay.steps.is_empty() || session.open.is_none() {
        let result = commit_open(session).await;
        // Its client takes the first reply to a COPY for its end.
        if result.is_err() && session.replay.ends_with_tag {
            client.rewind(session.tag_mark);
        }
        return result;
    }
    // The tags stay in the buffer: a failed commit takes the last one back.
    let Err(error) = commit_open(session).await else { return Ok(()) };
    match Box::pin(commit_batch_again(session, error, client)).await {
        Err(error) => {
            client.rewind(session.tag_mark);
            Err(error)
        }
        done => done,
    }
}

/// Runs what was executed since the last Sync again until it commits; the error if it does
/// not. What was in the buffer is there again then.
async fn commit_batch_again(
    session: &mut Session,
    error: Error,
    client: &mut dyn Client,
) -> Result<()> {
    let mut batch = Batch { session, steps: Vec::new(), error: None, client };
    rerun(&mut batch, error).await
}

/// What was executed since the last Sync, and its commit.
struct Batch<'a> {
    session: &'a mut Session,
    /// What the next attempt runs.
    steps: Vec<Step>,
    /// The error of the attempt before it.
    error: Option<Error>,
    client: &'a mut dyn Client,
}

impl Repeat for Batch<'_> {
    type Output = ();
    const LIMITS: Limits = Limits::TRANSACTION;

    async fn attempt(&mut self) -> Result<()> {
        let steps = std::mem::take(&mut self.steps);
        if !replay_steps(self.session, steps, self.client).await? {
            // Some of the output has left, and nothing is remembered any more.
            let lost = || Error::internal("a batch runs again without an error");
            return Err(self.error.take().unwrap_or_else(lost));
        }
        commit_open(self.session).await
    }

    fn may_repeat(&mut self, error: &Error) -> bool {
        self.session.shared.advisory.may_run_again(None, error)
    }

    async fn begin_again(&mut self, error: Error, attempt: u32) -> Result<()> {
        let Some(steps) = self.session.replay.take() else { return Err(error) };
        self.steps = steps;
        let noted = note_rerun(self.session, &error, attempt).await;
        self.error = Some(error);
        noted
    }
}

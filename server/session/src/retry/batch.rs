//! The commit of a batch of the extended protocol, and of its rerun.

use braid_types::{Error, Result};

use crate::client::Client;
use crate::retry::commit::commit_open;
use crate::retry::deadline::pause;
use crate::retry::reason::is_retryable;
use crate::retry::replay::replay_steps;
use crate::retry::reruns::Reruns;
use crate::session::Session;
use crate::statement::context::guard_statement;

/// Commits what was executed since the last Sync, and runs it again on a conflict.
pub(crate) async fn finish_batch(session: &mut Session, client: &mut dyn Client) -> Result<()> {
    if session.replay.steps.is_empty() || session.open.is_none() {
        let result = commit_open(session).await;
        // Its client takes the first reply to a COPY for its end.
        if result.is_err() && session.replay.ends_with_tag {
            client.rewind(session.tag_position);
        }
        return result;
    }
    // The tags stay in the buffer: a failed commit takes the last one back.
    let Err(error) = commit_open(session).await else { return Ok(()) };
    match Box::pin(commit_batch_again(session, error, client)).await {
        Err(error) => {
            client.rewind(session.tag_position);
            Err(error)
        }
        done => done,
    }
}

/// Runs what was executed since the last Sync again until it commits; the error if it does
/// not. What was in the buffer is there again then.
async fn commit_batch_again(
    session: &mut Session,
    mut error: Error,
    client: &mut dyn Client,
) -> Result<()> {
    let Some(text) = session.replay.last_text() else { return Err(error) };
    let guard = guard_statement(session, &text);
    let mut reruns = Reruns::new();
    while is_retryable(&error)
        && session.shared.advisory.may_run_again(None, &error)
        && let Some(attempt) = reruns.next()
        && let Some(steps) = session.replay.take()
    {
        session.shared.count_server_retry(&error);
        pause(session, attempt).await?;
        match replay_steps(session, steps, client).await {
            Ok(false) => break,
            Ok(true) => match commit_open(session).await {
                Ok(()) => return Ok(()),
                Err(again) => error = again,
            },
            Err(again) => error = again,
        }
    }
    drop(guard);
    Err(error)
}

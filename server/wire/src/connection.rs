//! The message loop of one connection.
//!
//! ```text
//! Query ───────────► session.simple ──► results ── ReadyForQuery ── flush
//! Parse, Bind, … ──► session.*      ──► replies, kept in the buffer
//! Sync ────────────► session.sync   ──► (commit) ── ReadyForQuery ── flush
//! nothing, between two transactions ──► notifications ── flush
//! an error in the extended protocol: ErrorResponse ── flush, then all up to Sync is skipped
//! ```
//!
//! Not here: what a message means to the data (`session`).

use std::pin::{Pin, pin};
use std::time::Duration;

use braid_session::{
    Client, ConnectionLost, Session, SessionEnded, SessionTerminator, call_function,
    locks_given_back,
};
use braid_types::{Error, Result, SqlState};

use crate::backend;
use crate::channel::{Channel, Frame};
use crate::frontend::{Frontend, protocol};
use crate::socket::Watch;

/// How a connection goes on after a message.
enum Next {
    Go,
    End,
}

/// Serves a session until one side ends it. The error returned is to be sent as FATAL.
pub(crate) async fn serve(channel: &mut Channel, session: &mut Session) -> Result<()> {
    let mut skipping = false;
    // Inside a batch of the extended protocol nothing leaves that its client has not asked for.
    let mut in_batch = false;
    let (mut watch, terminator) = (channel.watch(), session.terminator());
    loop {
        let frame = match next_frame(channel, session, in_batch).await {
            Ok(Some(frame)) => frame,
            Ok(None) => return Ok(()),
            Err(error) if error.cause::<ConnectionLost>().is_some() => return Ok(()),
            Err(error) => return Err(error),
        };
        in_batch = match frame.kind {
            b'Q' | b'S' => false,
            b'P' | b'B' | b'D' | b'E' | b'C' | b'H' => true,
            _ => in_batch,
        };
        if skipping && !matches!(frame.kind, b'S' | b'X') {
            continue;
        }
        let handled = pin!(handle(channel, session, &frame, &mut skipping));
        match unless_gone(&mut watch, &terminator, handled).await {
            Ok(Next::Go) => {}
            Ok(Next::End) => return Ok(()),
            Err(error) if error.cause::<ConnectionLost>().is_some() => return Ok(()),
            Err(error) => return Err(error),
        }
    }
}

/// Carries a message out. When the client vanishes meanwhile, the statement is stopped and the
/// session ends, so that its locks and its places in queues are free again.
async fn unless_gone(
    watch: &mut Watch,
    terminator: &SessionTerminator,
    mut work: Pin<&mut impl Future<Output = Result<Next>>>,
) -> Result<Next> {
    tokio::select! {
        biased;
        result = &mut work => return result,
        () = watch.gone() => terminator.end(),
    }
    // A commit under way is not cut short.
    work.await
}

/// Waits for a whole message; `None` if the client has left.
async fn next_frame(
    channel: &mut Channel,
    session: &Session,
    in_batch: bool,
) -> Result<Option<Frame>> {
    loop {
        if let Some(frame) = channel.frame()? {
            return Ok(Some(frame));
        }
        session.check_end()?;
        channel.shrink();
        if !in_batch && !notify(channel, session).await? {
            return Ok(None);
        }
        let idle = session.idle_limit();
        tokio::select! {
            biased;
            filled = channel.fill() => match filled {
                Ok(true) => {}
                // A reset is as much an end as a close.
                Ok(false) | Err(_) => return Ok(None),
            },
            () = session.end_signal() => {}
            () = session.notified(), if !in_batch => {}
            () = sleep(idle.as_ref().map(|limit| limit.after)) => {
                if let Some(limit) = idle {
                    return Err(limit.error);
                }
            }
        }
    }
}

async fn sleep(after: Option<Duration>) {
    match after {
        Some(after) => tokio::time::sleep(after).await,
        None => std::future::pending().await,
    }
}

async fn handle(
    channel: &mut Channel,
    session: &mut Session,
    frame: &Frame,
    skipping: &mut bool,
) -> Result<Next> {
    channel.set_encoding(session.client_encoding());
    let body = channel.to_utf8(frame);
    let message = body.as_ref().map_err(Error::clone);
    let message = match message.and_then(|body| Frontend::parse(frame.kind, body)) {
        Ok(message) => message,
        Err(error) if frame.kind == b'Q' => {
            session.fail(&error).await;
            report(channel, &error)?;
            return ready(channel, session).await;
        }
        Err(error) => {
            session.fail(&error).await;
            return refuse(channel, &error, skipping).await;
        }
    };
    match message {
        Frontend::Query(sql) => {
            if let Err(error) = Box::pin(session.simple(sql, channel)).await {
                report(channel, &error)?;
            }
            ready(channel, session).await
        }
        Frontend::Sync => {
            *skipping = false;
            if let Err(error) = session.sync(channel).await {
                report(channel, &error)?;
            }
            ready(channel, session).await
        }
        Frontend::Flush => {
            if let Err(error) = session.flush(channel).await {
                session.fail(&error).await;
                return refuse(channel, &error, skipping).await;
            }
            Ok(sent(channel).await)
        }
        Frontend::Terminate => Ok(Next::End),
        // PostgreSQL ignores what is left of a failed COPY.
        Frontend::CopyData | Frontend::CopyDone | Frontend::CopyFail(_) => Ok(Next::Go),
        Frontend::Password(_) => Err(protocol("invalid frontend message type 112")),
        Frontend::FunctionCall(call) => {
            match Box::pin(call_function(session, &call, channel)).await {
                Ok(value) => backend::function_result(channel.out(), value.as_deref()),
                Err(error) => report(channel, &error)?,
            }
            ready(channel, session).await
        }
        extended => {
            if let Err(error) = run_extended(channel, session, extended).await {
                let error = session.fail_with_queued(error).await;
                return refuse(channel, &error, skipping).await;
            }
            Ok(Next::Go)
        }
    }
}

async fn run_extended(
    channel: &mut Channel,
    session: &mut Session,
    message: Frontend<'_>,
) -> Result<()> {
    match message {
        Frontend::Parse { name, sql, types } => {
            Box::pin(session.parse(name, sql, &types, channel)).await?;
            backend::bare(channel.out(), b'1');
        }
        Frontend::Bind(bind) => {
            session
                .bind(
                    bind.portal,
                    bind.statement,
                    &bind.param_formats,
                    &bind.params,
                    &bind.result_formats,
                )
                .await?;
            backend::bare(channel.out(), b'2');
        }
        Frontend::Describe(target) => session.describe(target, channel)?,
        Frontend::Execute { portal, rows_max } => {
            Box::pin(session.execute(portal, rows_max, channel)).await?;
        }
        Frontend::Close(target) => {
            session.close_object(target);
            backend::bare(channel.out(), b'3');
        }
        _ => {}
    }
    Ok(())
}

/// An error in the extended protocol. It leaves at once, with the results before it: a client may
/// wait for it before it sends Sync.
async fn refuse(channel: &mut Channel, error: &Error, skipping: &mut bool) -> Result<Next> {
    report(channel, error)?;
    *skipping = true;
    Ok(sent(channel).await)
}

/// Writes an error; an end of the session (57P01) or of the connection goes on as an error.
fn report(channel: &mut Channel, error: &Error) -> Result<()> {
    if error.cause::<SessionEnded>().is_some() || error.cause::<ConnectionLost>().is_some() {
        return Err(error.clone());
    }
    if error.state() == SqlState::InternalError {
        tracing::error!(%error, "internal error");
    }
    channel.write(|out| backend::error(out, "ERROR", error));
    Ok(())
}

/// Sends the notifications that wait, if the session is between two transactions; false if the
/// client is gone.
async fn notify(channel: &mut Channel, session: &Session) -> Result<bool> {
    while session.send_notifications(channel) {
        tokio::select! {
            biased;
            sent = channel.send() => {
                if sent.is_err() {
                    return Ok(false);
                }
            }
            // A client that does not read must not keep its session beyond the end.
            () = session.end_signal() => session.check_end()?,
        }
    }
    Ok(true)
}

async fn ready(channel: &mut Channel, session: &mut Session) -> Result<Next> {
    locks_given_back(session).await;
    session.report_settings(channel);
    if !notify(channel, session).await? {
        return Ok(Next::End);
    }
    backend::ready_for_query(channel.out(), session.status().as_byte());
    Ok(sent(channel).await)
}

async fn sent(channel: &mut Channel) -> Next {
    if channel.send().await.is_ok() { Next::Go } else { Next::End }
}

//! `SAVEPOINT`, `RELEASE` and `ROLLBACK TO`, also for the savepoint of a client's retry loop.
//!
//! ```text
//! BEGIN ─► SAVEPOINT cockroach_restart ─► work ─► RELEASE ─► COMMIT, which has nothing left to do
//!                      ▲                   │ 40001   │ 40001
//!                      └──── ROLLBACK TO ──┴─────────┘
//! ```
//!
//! Rules: ROLLBACK TO an ordinary savepoint takes writes, settings, READ ONLY and the catalog's
//! draft back; what was read and reported stays binding, and locks stay. The restart savepoint is
//! the first statement of its transaction. Rolling back to it makes a new attempt, with a new
//! snapshot, that holds the locks of the one before, so that it keeps its place in their queues.
//! Only a victim of a deadlock gives its locks up. Releasing it commits.

use std::sync::atomic::Ordering;

use braid_types::{Error, Result, SqlState};

use crate::retry::reason::is_retryable;
use crate::session::Session;
use crate::statement::cursor_rows::forget_cursors;
use crate::transaction::commit::commit_keeping_locks;
use crate::transaction::machine::Event;
use crate::transaction::savepoints::{drop_open, find_savepoint};
use crate::transaction::state::{RESTART, Savepoint};

/// `SAVEPOINT`
pub(crate) fn set_savepoint(session: &mut Session, name: String) -> Result<()> {
    session.block.on(Event::Savepoint).map_err(|refusal| refusal.of("SAVEPOINT"))?;
    if name == RESTART && is_restart_savepoint_again(session)? {
        return Ok(());
    }
    let settings = session.shared.state.lock().settings.mark();
    let open = session.open.as_ref();
    session.block_state.savepoints.push(Savepoint {
        name,
        kv: open.filter(|open| open.statements > 0).map(|open| open.txn.savepoint()),
        draft: open.and_then(|open| open.draft.get()),
        settings,
        constraints: session.block_state.constraints.clone(),
        read_only: session.shared.modes().read_only,
    });
    session.shared.advisory.savepoint(session.block_state.savepoints.len());
    Ok(())
}

/// Checks that the restart savepoint may be set here: before every other savepoint and every
/// statement. True if it is set already and nothing has happened since.
fn is_restart_savepoint_again(session: &Session) -> Result<bool> {
    let refused = |why: &str| {
        let message = format!("SAVEPOINT \"{RESTART}\" {why}");
        Err(Error::new(SqlState::SyntaxError, message))
    };
    let begun = session.open.as_ref().is_some_and(|open| open.statements > 0);
    match session.block_state.savepoints.as_slice() {
        [only] if only.name == RESTART && !begun => Ok(true),
        [] if begun => refused("needs to be the first statement in a transaction"),
        [] => Ok(false),
        _ => refused("cannot be nested"),
    }
}

/// `RELEASE`
pub(crate) async fn release_savepoint(session: &mut Session, name: &str) -> Result<()> {
    session.block.on(Event::Savepoint).map_err(|refusal| refusal.of("RELEASE SAVEPOINT"))?;
    let place = find_savepoint(session, name)?;
    if name == RESTART {
        return release_restart(session).await;
    }
    // READ ONLY ends with the savepoint in which it was set, as in PostgreSQL.
    let read_only = session.block_state.savepoints[place].read_only;
    session.shared.state.lock().modes.read_only = read_only;
    session.block_state.savepoints.truncate(place);
    let cursors = session.portals.values_mut().filter_map(|portal| portal.cursor.as_mut());
    cursors.for_each(|cursor| cursor.savepoints = cursor.savepoints.min(place));
    session.shared.advisory.release_savepoints(place);
    Ok(())
}

/// Commits. After a retry error the savepoint is still there to roll back to.
async fn release_restart(session: &mut Session) -> Result<()> {
    let result = commit_keeping_locks(session).await;
    match &result {
        Ok(()) => {
            session.block_state.savepoints.clear();
            session.block.follow(Event::CommittedByRelease);
        }
        Err(error) if is_retryable(error) => session.block_state.savepoints.truncate(1),
        Err(_) => session.block_state.savepoints.clear(),
    }
    result
}

/// `ROLLBACK TO SAVEPOINT`. What the client was told about absent keys was looked at by the
/// statement or the barrier that told it, and stays in the read set.
pub(crate) async fn rollback_to(session: &mut Session, name: &str) -> Result<()> {
    let rollback = session.block.on(Event::RollbackTo);
    let rollback = rollback.map_err(|refusal| refusal.of("ROLLBACK TO SAVEPOINT"))?;
    let place = find_savepoint(session, name)?;
    session.block_state.savepoints.truncate(place + 1);
    session.shared.advisory.roll_back_from(place + 1);
    session.shared.advisory.savepoint(place + 1);
    let (kv, draft, settings) = {
        let savepoint = &session.block_state.savepoints[place];
        (savepoint.kv, savepoint.draft.clone(), savepoint.settings.clone())
    };
    let read_only = session.block_state.savepoints[place].read_only;
    session.block_state.constraints = session.block_state.savepoints[place].constraints.clone();
    // Cursors from before the savepoint go on where they are. Without its transaction, or after a
    // retry error, there is nothing that they could read.
    let goes_on =
        kv.is_some() && name != RESTART && session.open.as_ref().is_some_and(|open| !open.doomed);
    session.portals.retain(|_, portal| {
        let is_older = portal.cursor.as_ref().is_some_and(|cursor| cursor.savepoints <= place);
        portal.is_held() || (goes_on && is_older)
    });
    forget_cursors(session);
    match kv {
        _ if name == RESTART => restart_transaction(session).await,
        // Nothing was done before it, so a fresh transaction is the same, and can commit.
        None => {
            let doomed = session.open.as_ref().is_some_and(|open| open.doomed);
            undo_all(session, doomed).await;
        }
        Some(savepoint) => {
            if let Some(open) = &mut session.open {
                open.txn.rollback_to(savepoint);
                open.draft.set(draft);
            }
        }
    }
    let mut state = session.shared.state.lock();
    match name {
        RESTART => state.settings.restart(&settings),
        _ => state.settings.rollback_to(&settings),
    }
    state.modes.read_only = read_only;
    drop(state);
    session.block.enter(rollback);
    Ok(())
}

/// A new attempt of the transaction, with the locks of the one before.
async fn restart_transaction(session: &mut Session) {
    session.engine.counters.restart_rollbacks.fetch_add(1, Ordering::Relaxed);
    session.block_state.restarts += 1;
    let Some(open) = &mut session.open else { return };
    if open.deadlocked || open.txn.restarts().transaction().is_err() {
        drop_open(session).await;
        return;
    }
    open.start = open.txn.savepoint();
    open.draft.set(None);
    open.statements = 0;
    open.doomed = false;
    open.unchecked = None;
}

/// Goes back to the very start of the block. What was read and told stays binding, unless a
/// retry error has made the transaction worthless anyway.
async fn undo_all(session: &mut Session, doomed: bool) {
    if doomed {
        drop_open(session).await;
        return;
    }
    if let Some(open) = &mut session.open {
        open.txn.rollback_to(open.start);
        open.draft.set(None);
    }
}

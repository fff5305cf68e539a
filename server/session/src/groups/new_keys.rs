//! Keys that must not exist: looked at beside a statement, and the errors of those that do exist.
//!
//! The look goes on beside the statement's own work. Its answer is there before anything leaves.
//! COMMIT, and the release of the restart savepoint, leave the look to the commit itself.

use std::sync::Arc;
use std::task::Poll;

use braid_catalog::Catalog;
use braid_exec::from_kv;
use braid_kv::{Error as Kv, NewKey};
use braid_rows::{Violation, duplicate_key};
use braid_types::{Error, Result};

use crate::groups::report::{Failure, barrier_error};
use crate::session::Session;

/// Adds statements whose new keys exist to those that have failed. Looked at in time, such a
/// key would have been found before a foreign key's parent, and before a key that the same
/// statement wrote next.
pub(super) fn add_existing(
    session: &mut Session,
    existing: Vec<NewKey>,
    failures: &mut Vec<Failure>,
) {
    let mut found: Vec<Failure> = Vec::new();
    for new in existing {
        let failure = duplicate_failure(session, new);
        if found.iter().all(|other| other.number != failure.number) {
            found.push(failure);
        }
    }
    for failure in found {
        match failures.iter_mut().find(|other| other.number == failure.number) {
            Some(other) if is_found_later(&other.error) => *other = failure,
            Some(_) => {}
            None => failures.push(failure),
        }
    }
    failures.sort_by_key(|failure| failure.number);
}

/// Whether a statement meets this error only after it has looked at its new keys.
fn is_found_later(error: &Error) -> bool {
    error.cause::<Violation>().is_some()
        || matches!(error.cause(), Some(Kv::Duplicate { .. } | Kv::CheckChanged(_)))
}

fn duplicate_failure(session: &mut Session, new: NewKey) -> Failure {
    let error = braid_kv::Error::Duplicate { key: new.key.to_vec(), seq: new.seq };
    let catalog = session.group.catalog.clone();
    let error = named_error(session, error, catalog.as_ref());
    failure_of(session, new.seq.number(), error)
}

fn failure_of(session: &Session, seq: u32, error: Error) -> Failure {
    session.group.queue.with_ledger(|ledger| ledger.failure_of(seq, error))
}

/// The error of a commit: an existing key belongs to the statement that wrote it. `catalog`
/// knows its constraint, unless a group does.
pub(super) fn commit_error(
    session: &mut Session,
    error: braid_kv::Error,
    catalog: Option<&Arc<Catalog>>,
) -> Error {
    let seq = match &error {
        braid_kv::Error::Duplicate { seq, .. } => seq.number(),
        _ => return from_kv(error),
    };
    let catalog = catalog.cloned().or_else(|| session.group.catalog.clone());
    let error = named_error(session, error, catalog.as_ref());
    let failure = failure_of(session, seq, error);
    barrier_error(std::slice::from_ref(&failure)).unwrap_or(failure.error)
}

/// Begins the look at new keys. What the statement that follows writes is not part of it.
pub(super) async fn begin_new_key_check(session: &mut Session) {
    let Some(txn) = session.open.as_ref().map(|open| open.txn.clone()) else { return };
    let mut look = Box::pin(async move { txn.writes().check_new_keys().await });
    let ready = std::future::poll_fn(|cx| Poll::Ready(look.as_mut().poll(cx))).await;
    session.group.check = match ready {
        Poll::Ready(Ok(existing)) if existing.is_empty() => {
            session.group.queue.clear();
            None
        }
        Poll::Ready(found) => Some(tokio::spawn(std::future::ready(found))),
        Poll::Pending => Some(tokio::spawn(look)),
    };
}

/// Waits for the look that [`begin_check`] began; call it before anything leaves.
pub(super) async fn settle_new_keys(session: &mut Session) -> Result<()> {
    let Some(check) = session.group.check.take() else { return Ok(()) };
    let found = check.await.map_err(|error| Error::internal(error.to_string()))?;
    let mut failures = Vec::new();
    add_existing(session, found.map_err(from_kv)?, &mut failures);
    session.group.queue.clear();
    barrier_error(&failures).map_or(Ok(()), Err)
}

/// The error of a commit or of a check: a duplicate gets the name of its constraint.
fn named_error(session: &mut Session, error: Kv, catalog: Option<&Arc<Catalog>>) -> Error {
    match (&error, catalog) {
        (Kv::Duplicate { key, .. }, Some(catalog)) => {
            duplicate_key(key, catalog, &session.active().format)
        }
        _ => from_kv(error),
    }
}

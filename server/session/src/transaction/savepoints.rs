//! Finding savepoints, and giving up a transaction's locks.

use braid_sql::ast::Ident;
use braid_types::{Error, Result, SqlState};

use crate::session::Session;
use crate::transaction::machine::Block;
use crate::transaction::state::RESTART;

pub(crate) fn find_savepoint(session: &Session, name: &str) -> Result<usize> {
    session.block_state.savepoints.iter().rposition(|s| s.name == name).ok_or_else(|| {
        Error::new(
            SqlState::InvalidSavepointSpecification,
            format!("savepoint \"{name}\" does not exist"),
        )
    })
}

/// Whether the release of this savepoint commits.
pub(crate) fn release_commits(session: &Session, name: &Ident) -> bool {
    let is_restart = braid_sql::fold(name) == RESTART;
    is_restart && session.block == Block::Active && find_savepoint(session, RESTART).is_ok()
}

/// The victim of a deadlock gives its locks back at once if it can only begin again: the
/// others must not wait for its client.
pub(crate) async fn give_way(session: &mut Session) {
    let only_restart = matches!(&*session.block_state.savepoints, [only] if only.name == RESTART);
    if only_restart && session.open.as_ref().is_some_and(|open| open.deadlocked) {
        drop_open(session).await;
    }
}

pub(crate) async fn drop_open(session: &mut Session) {
    if let Some(open) = session.open.take() {
        open.txn.rollback().await;
    }
}

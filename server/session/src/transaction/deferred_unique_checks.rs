//! An INSERT on its own is one round trip: the commit, which follows at once, checks that its new
//! keys are free. No read comes before it.
//!
//! ```text
//!   INSERT ──▶ tag in the buffer ──▶ Sync: commit ──▶ tag leaves, or 23505 in its place
//!                       └──▶ anything else: the check first
//! ```
//!
//! Rules: the tag does not leave before the check; whatever comes between the INSERT and the
//! commit (a further statement, a Flush) makes the check first, and finds its error where the
//! INSERT's answer would have been.

use braid_exec::{ExecContext, NewKeys, from_kv};
use braid_plan::{PlannedStatement, StatementKind};
use braid_rows::duplicate_key;
use braid_types::Result;

use crate::client::Client;
use crate::session::Session;
use crate::transaction::machine::Block;
use crate::transaction::open::ensure_open;

/// Lets an INSERT that may be a whole transaction put its check off to the commit.
pub(crate) fn defer_unique_check(
    session: &mut Session,
    plan: &PlannedStatement,
    cx: &mut ExecContext,
) {
    let is_alone = session.block == Block::None && !session.in_simple_list;
    let is_plain = plan.kind == StatementKind::Insert
        && plan.columns.is_empty()
        && plan.explain.is_none()
        && !plan.returning_nothing
        && !plan.fires_triggers;
    if is_alone && is_plain {
        cx.new_keys = NewKeys::AtCommit;
        ensure_open(session).unchecked = Some(cx.catalog.clone());
    }
}

/// Makes the checks that were deferred, before anything else happens: 23505 takes the place
/// of the tag that is still in the buffer.
pub(crate) async fn settle_unique_check(
    session: &mut Session,
    client: &mut dyn Client,
) -> Result<()> {
    let Some(open) = session.open.as_mut() else { return Ok(()) };
    if session.block != Block::None {
        return Ok(());
    }
    let Some(catalog) = open.unchecked.take() else { return Ok(()) };
    let txn = open.txn.clone();
    let existing = txn.writes().check_new_keys().await.map_err(from_kv)?;
    match existing.first() {
        None => Ok(()),
        Some(new) => {
            client.rewind(session.tag_mark);
            Err(duplicate_key(&new.key, &catalog, &session.active().format))
        }
    }
}

//! An INSERT on its own is one round trip: whether its new keys are free is found out by the
//! commit, which follows at once, and not by a read before it.
//!
//! ```text
//!   INSERT ──▶ tag in the buffer ──▶ Sync: commit ──▶ tag leaves, or 23505 in its place
//!                       └──▶ anything else: the check first
//! ```
//!
//! Rules: the tag does not leave before the check; whatever comes between the INSERT and the
//! commit (a further statement, a Flush) makes the check first, and finds its error where the
//! INSERT's answer would have been.

use std::sync::Arc;

use braid_catalog::Catalog;
use braid_exec::{ExecContext, NewKeys, duplicate_key, from_kv};
use braid_kv::Error as Kv;
use braid_plan::{PlannedStatement, StatementKind};
use braid_types::{Error, Result};

use crate::client::Client;
use crate::session::Session;
use crate::transaction::Block;

impl Session {
    /// Lets an INSERT that may be a whole transaction put its check off to the commit.
    pub(crate) fn put_off_check(&mut self, plan: &PlannedStatement, cx: &mut ExecContext) {
        let is_alone = self.block == Block::None && !self.in_simple_list;
        let is_plain = plan.kind == StatementKind::Insert
            && plan.columns.is_empty()
            && plan.explain.is_none()
            && !plan.returning_nothing;
        if is_alone && is_plain {
            cx.new_keys = NewKeys::AtCommit;
            self.ensure_open().unchecked = Some(cx.catalog.clone());
        }
    }

    /// Makes the checks that were put off, before anything else happens: 23505 takes the place
    /// of the tag that is still in the buffer.
    pub async fn settle(&mut self, client: &mut dyn Client) -> Result<()> {
        let Some(open) = self.open.as_mut() else { return Ok(()) };
        if self.block != Block::None {
            return Ok(());
        }
        let Some(catalog) = open.unchecked.take() else { return Ok(()) };
        let txn = open.txn.clone();
        let existing = txn.check_new_keys().await.map_err(from_kv)?;
        match existing.first() {
            None => Ok(()),
            Some(new) => {
                client.rewind(self.tag_position);
                Err(duplicate_key(&new.key, &catalog, &self.active().format))
            }
        }
    }

    /// The error of a commit or of a check: a duplicate gets the name of its constraint.
    pub(crate) fn named(&mut self, error: Kv, catalog: Option<&Arc<Catalog>>) -> Error {
        match (&error, catalog) {
            (Kv::Duplicate { key, .. }, Some(catalog)) => {
                duplicate_key(key, catalog, &self.active().format)
            }
            _ => from_kv(error),
        }
    }
}

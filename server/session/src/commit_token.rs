//! `SET LOCAL commit_token`, `braid_commit_status`, and the removal of old records.
//!
//! ```text
//! BEGIN; SET LOCAL commit_token = T; …; COMMIT ── the connection breaks
//! another session: SELECT braid_commit_status(T) ── pending, committed, aborted or unknown
//! ```
//!
//! While a session's transaction has the token, the answer is "pending". Its client may be gone:
//! the session ends once that is seen, and the answer is settled from then on. What is stored, and
//! why it cannot be wrong, is in the catalog.

use std::sync::{Arc, Weak};
use std::time::Duration;

use braid_catalog::{
    Asker, CommitStatus, Token, is_expired, record_commit, remove_expired, settle,
};
use braid_exec::from_kv;
use braid_kv::{Transaction, TxnOptions};
use braid_types::{Datum, Error, FormatSettings, Result, SqlState, SqlType, text};

use crate::clock::now_micros;
use crate::server::Server;
use crate::shared::Shared;

/// How often this gateway asks whether it is the one that looks for old records.
const DUTY_GIVEN: Duration = Duration::from_secs(10);
/// How often old records are looked for.
const SWEEP_EVERY: Duration = Duration::from_secs(60 * 60);

impl Shared {
    fn asker(&self) -> Asker {
        Asker { role: self.role, superuser: self.superuser }
    }

    /// Makes the transaction's commit leave a record. One that may not write has nothing to lose:
    /// its record goes ahead of it.
    pub(crate) async fn record_token(&self, txn: &Transaction, token: Token) -> Result<()> {
        let now = now_micros();
        if is_expired(token, now) {
            let message = format!("commit token \"{}\" is too old", printed(token));
            return Err(Error::new(SqlState::InvalidParameterValue, message));
        }
        if !txn.is_read_only() {
            return record_commit(txn, token, self.role, now).map_err(from_kv);
        }
        let own = self.server.kv.begin(TxnOptions::default());
        record_commit(&own, token, self.role, now).map_err(from_kv)?;
        match own.commit_or_error().await {
            Err(braid_kv::Error::Duplicate { .. }) => Err(self.token_used(token).await),
            result => result.map(drop).map_err(from_kv),
        }
    }

    /// The error of a commit whose token has a record already.
    pub(crate) async fn token_used(&self, token: Token) -> Error {
        let anyone = Asker { superuser: true, ..self.asker() };
        let shown = printed(token);
        match settle(&self.server.kv, token, anyone, now_micros()).await {
            Ok(CommitStatus::Aborted) => Error::new(
                SqlState::TransactionRollback,
                format!("the transaction with commit token \"{shown}\" was declared aborted"),
            )
            .detail("braid_commit_status has answered \"aborted\" for it, which is final.")
            .hint("Run the transaction again with a new commit token."),
            Ok(_) => Error::new(
                SqlState::InvalidParameterValue,
                format!("commit token \"{shown}\" was used before"),
            )
            .hint("Give each transaction a new uuid."),
            Err(error) => from_kv(error),
        }
    }

    /// `braid_commit_status`
    pub(crate) async fn commit_status(&self, args: &[Datum]) -> Result<Datum> {
        let Some(Datum::Uuid(token)) = args.first() else {
            return Err(Error::internal("braid_commit_status takes a uuid"));
        };
        let owner = self.server.entries().iter().find_map(|entry| entry.role_with_token(*token));
        let word = match owner {
            Some(role) if role == self.role || self.superuser => "pending",
            Some(_) => "unknown",
            None => {
                let settled = settle(&self.server.kv, *token, self.asker(), now_micros()).await;
                match settled.map_err(from_kv)? {
                    CommitStatus::Committed => "committed",
                    CommitStatus::Aborted => "aborted",
                    CommitStatus::Unknown => "unknown",
                }
            }
        };
        Ok(Datum::text(word))
    }
}

fn printed(token: Token) -> String {
    text::to_string(&SqlType::Uuid, &Datum::Uuid(token), &FormatSettings::default())
}

/// Removes old records now and then, as long as the server lives.
pub(crate) async fn sweep(server: Weak<Server>) {
    let mut ticks = tokio::time::interval(SWEEP_EVERY);
    loop {
        ticks.tick().await;
        loop {
            let Some(server): Option<Arc<Server>> = server.upgrade() else { return };
            if server.gateways.owns("commit_tokens") {
                match remove_expired(&server.kv, now_micros()).await {
                    Ok(removed) => tracing::debug!(removed, "old commit tokens"),
                    Err(error) => tracing::warn!(%error, "old commit tokens could not be removed"),
                }
                break;
            }
            drop(server);
            tokio::time::sleep(DUTY_GIVEN).await;
        }
    }
}

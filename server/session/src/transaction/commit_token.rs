//! `SET LOCAL commit_token` and `braid_commit_status`.
//!
//! ```text
//! BEGIN; SET LOCAL commit_token = T; …; COMMIT ── the connection breaks
//! another session: SELECT braid_commit_status(T) ── pending, committed, aborted or unknown
//! ```
//!
//! While a session's transaction has the token, the answer is "pending". Its client may be gone:
//! the session ends once that is seen, and the answer is settled from then on. What is stored, and
//! why it cannot be wrong, is in the catalog.

use braid_cluster::{Asker, CommitStatus, Token, is_expired, record_commit, settle};
use braid_exec::from_kv;
use braid_kv::{Transaction, TxnOptions};
use braid_types::{Datum, Error, FormatSettings, Result, SqlState, SqlType, text};

use crate::clock::now_micros;
use crate::shared::Shared;

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
        let own = self.engine.kv.begin(TxnOptions::default());
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
        match settle(&self.engine.kv, token, anyone, now_micros()).await {
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
        let owner =
            self.engine.sessions.entries().iter().find_map(|entry| entry.role_with_token(*token));
        let word = match owner {
            Some(role) if role == self.role || self.superuser => "pending",
            Some(_) => "unknown",
            None => {
                let settled = settle(&self.engine.kv, *token, self.asker(), now_micros()).await;
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

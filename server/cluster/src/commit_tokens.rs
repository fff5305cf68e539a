//! Commit tokens: what became of a transaction whose client did not hear it.
//!
//! ```text
//! COMMIT ──────────────── puts committed under the token, which must not exist ──┐ whichever
//! braid_commit_status ─── puts aborted under the token, which must not exist ────┘ comes first
//! ```
//!
//! The record of a commit is part of the transaction itself, so it is there exactly if the
//! transaction is. Both sides put a key that must not exist, so only one of them can succeed, and
//! an answer once given stays true.
//!
//! Records are removed after [`TOKEN_RETENTION`]. A token that contains its time (a uuid of version
//! 7) is from then on answered with "unknown", and cannot commit. The age of other tokens is not
//! known. A client must ask for those within the retention. Later it may hear "aborted" although
//! the transaction has committed.

use std::time::Duration;

use braid_kv::{
    Database as Kv, Error as KvError, Result as KvResult, ScanRequest, Seq, Transaction,
    TxnOptions, Value,
};
use serde::{Deserialize, Serialize};

use crate::system_keys::{Token, token_key, tokens_span};

/// How long the outcome of a transaction with a token is kept.
pub const TOKEN_RETENTION: Duration = Duration::from_secs(24 * 60 * 60);
/// 2000-01-01 in milliseconds since 1970, where a uuid counts from.
const EPOCH_MILLIS: i64 = 946_684_800_000;
/// How many records are removed in one transaction.
const REMOVE_MAX: usize = 1000;
/// How often a status is looked at again after somebody else has settled it.
const ATTEMPTS_MAX: usize = 10;

/// What became of a transaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum CommitStatus {
    /// It has committed.
    Committed,
    /// It has not, and never will.
    Aborted,
    /// Nobody knows any more, or the asker may not know.
    Unknown,
}

/// Who asks.
#[derive(Clone, Copy, Debug)]
pub struct Asker {
    /// The role that the client has proved to be.
    pub role: u32,
    /// Whether it is an administrator, who may see everybody's.
    pub superuser: bool,
}

/// What is stored under a token.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
struct Record {
    status: CommitStatus,
    role: u32,
    /// Microseconds since 2000-01-01.
    micros: i64,
}

impl Asker {
    fn may_see(self, record: &Record) -> bool {
        self.superuser || self.role == record.role
    }
}

/// When a token was made, in microseconds since 2000-01-01, if it contains its time.
fn token_micros(token: Token) -> Option<i64> {
    if token[6] >> 4 != 7 {
        return None;
    }
    let millis = token[..6].iter().fold(0i64, |millis, byte| millis << 8 | i64::from(*byte));
    Some((millis - EPOCH_MILLIS).saturating_mul(1000))
}

fn has_passed(micros: i64, now: i64) -> bool {
    let retention = i64::try_from(TOKEN_RETENTION.as_micros()).unwrap_or(i64::MAX);
    micros.saturating_add(retention) < now
}

/// Whether a record of this token may have been removed by now; false if its age is not known.
pub fn is_expired(token: Token, now: i64) -> bool {
    token_micros(token).is_some_and(|micros| has_passed(micros, now))
}

fn corrupt(error: &serde_json::Error) -> KvError {
    KvError::Corrupt(format!("commit token: {error}").into())
}

fn put(txn: &Transaction, seq: Seq, token: Token, record: Record) -> KvResult<()> {
    let json = serde_json::to_vec(&record).map_err(|error| corrupt(&error))?;
    txn.put_new(seq, token_key(token), Value::from(json))
}

/// Makes the commit of `txn` leave a record under the token. The commit is
/// [`KvError::Duplicate`] at [`token_key`] if the token was used before, or settled as aborted.
pub fn record_commit(txn: &Transaction, token: Token, role: u32, now: i64) -> KvResult<()> {
    let record = Record { status: CommitStatus::Committed, role, micros: now };
    put(txn, txn.next_statement(), token, record)
}

/// What became of the transaction with this token. If nothing has, it is settled as aborted:
/// durably, before this answers.
pub async fn settle(kv: &Kv, token: Token, asker: Asker, now: i64) -> KvResult<CommitStatus> {
    for _ in 0..ATTEMPTS_MAX {
        match read(kv, token).await? {
            Some(record) if asker.may_see(&record) => return Ok(record.status),
            Some(_) => return Ok(CommitStatus::Unknown),
            None if is_expired(token, now) => return Ok(CommitStatus::Unknown),
            None => {}
        }
        let txn = kv.begin(TxnOptions::default());
        let record = Record { status: CommitStatus::Aborted, role: asker.role, micros: now };
        put(&txn, txn.next_statement(), token, record)?;
        match txn.commit_or_error().await {
            Ok(_) => return Ok(CommitStatus::Aborted),
            // The transaction has committed after all, or another asker was faster.
            Err(KvError::Duplicate { .. }) => {}
            Err(KvError::Unknown) => return Ok(CommitStatus::Unknown),
            Err(error) if error.is_retryable() => {}
            Err(error) => return Err(error),
        }
    }
    Ok(CommitStatus::Unknown)
}

async fn read(kv: &Kv, token: Token) -> KvResult<Option<Record>> {
    let txn = kv.begin(TxnOptions { read_only: true, ..TxnOptions::default() });
    let value = txn.get(txn.next_statement(), &token_key(token)).await;
    txn.rollback().await;
    let parse = |value: Value| serde_json::from_slice(&value).map_err(|error| corrupt(&error));
    value?.map(parse).transpose()
}

/// Removes the records whose time is over; how many. A record outlives its token's own time as
/// well, so that an asker who finds none of a token that is young enough knows that there was none.
///
/// It looks at every record; with a million of them that takes a second or two an hour.
pub async fn remove_expired(kv: &Kv, now: i64) -> KvResult<usize> {
    let reader = kv.begin(TxnOptions { read_only: true, ..TxnOptions::default() });
    let mut scanner = reader.scanner(reader.next_statement(), ScanRequest::new(tokens_span()));
    let mut removed = 0;
    while let Some(batch) = scanner.next_batch().await? {
        let mut keys = Vec::new();
        for (key, value) in batch.iter() {
            let record: Record = serde_json::from_slice(value).map_err(|error| corrupt(&error))?;
            let Some(token) = key.last_chunk::<16>().copied() else {
                return Err(KvError::Corrupt("commit token: a key without a token".into()));
            };
            if has_passed(record.micros.max(token_micros(token).unwrap_or(i64::MIN)), now) {
                keys.push(key.to_vec());
            }
        }
        for keys in keys.chunks(REMOVE_MAX) {
            let txn = kv.begin(TxnOptions::default());
            let seq = txn.next_statement();
            for key in keys {
                txn.delete(seq, key)?;
            }
            txn.commit_or_error().await?;
            removed += keys.len();
        }
    }
    reader.rollback().await;
    Ok(removed)
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: i64 = 800_000_000_000_000;

    fn at(millis_ago: i64) -> Token {
        let millis = NOW / 1000 + EPOCH_MILLIS - millis_ago;
        let mut token = [0x7f; 16];
        token[..6].copy_from_slice(&millis.to_be_bytes()[2..]);
        token
    }

    #[test]
    fn a_token_of_version_7_tells_its_time() {
        assert_eq!(token_micros(at(0)), Some(NOW));
        assert!(!is_expired(at(23 * 3_600_000), NOW));
        assert!(is_expired(at(25 * 3_600_000), NOW));
        let mut other = at(25 * 3_600_000);
        other[6] = 0x4f;
        assert!(!is_expired(other, NOW));
    }

    #[test]
    fn the_key_ends_with_the_token() {
        assert!(token_key(at(0)).ends_with(&at(0)));
    }
}

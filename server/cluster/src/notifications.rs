//! Notifications over a store that several gateways share: rows in the order of commits.
//!
//! ```text
//! a commit    locks /8/2 ─ reads the newest number n ─ puts /8/1/n+1 ─ commits, which unlocks
//! a gateway   reads what comes after the last number that it knows, as long as it has listeners
//! a duty      removes rows that are older than NOTIFICATION_RETENTION, never the newest one
//! ```
//!
//! Rules that must always hold:
//! - the lock is held from before the number is read until the commit, so numbers have no holes
//!   and their order is the order of commits;
//! - a row is part of its transaction, so it is there exactly if the transaction is;
//! - nobody reads the rows in a transaction that is proved at its commit: they are no data.
//!
//! The price: transactions that notify commit one after the other. PostgreSQL does the same.

use std::sync::Arc;
use std::time::Duration;

use braid_kv::{
    Database as Kv, Error as KvError, LockRequest, Record, Result as KvResult, ScanBatch,
    ScanRequest, Transaction, TxnOptions,
};
use serde::{Deserialize, Serialize};

use crate::records::to_json;
use crate::system_keys::{
    notification_key, notification_lock_key, notification_number, notifications_after,
};

/// How long a notification is kept for other gateways. One that has not read for so long has lost
/// some, and ends the sessions that listen.
pub const NOTIFICATION_RETENTION: Duration = Duration::from_secs(5 * 60);
/// Rows that are read or removed at once.
const ROWS_MAX: usize = 1000;
/// Bytes that are read at once.
const READ_BYTES_MAX: usize = 4 << 20;

/// What a transaction sends to the listeners of its database, or a part of it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct NotificationRow {
    /// Who listens in another database does not receive it.
    pub database: u32,
    /// The session that sends it.
    pub pid: i32,
    /// When it was sent, in microseconds since 2000-01-01.
    pub micros: i64,
    /// Channels and payloads.
    pub sent: Vec<(String, String)>,
}

fn parse(value: &[u8]) -> KvResult<NotificationRow> {
    let corrupt = |error| KvError::Corrupt(format!("notification: {error}").into());
    serde_json::from_slice(value).map_err(corrupt)
}

fn number_of(key: &[u8]) -> KvResult<u64> {
    notification_number(key)
        .ok_or_else(|| KvError::Corrupt("a notification's key has no number".into()))
}

/// Makes the commit of `txn` leave these rows. The number before the first of them. Nothing else
/// of the transaction must follow but its commit: the lock stops others that notify.
pub async fn append_notifications(
    txn: &Arc<Transaction>,
    rows: &[NotificationRow],
) -> KvResult<u64> {
    let seq = txn.next_statement();
    txn.lock(seq, LockRequest::keys(vec![notification_lock_key()]).passing(false)).await?;
    // Read apart: the transaction's own snapshot is older than the lock.
    let last = newest_notification(txn.database()).await?;
    for (number, row) in (last + 1..).zip(rows) {
        txn.put(seq, notification_key(number), to_json(row)?)?;
    }
    Ok(last)
}

/// The first entries of a scan.
async fn first_batch(kv: &Kv, request: ScanRequest) -> KvResult<ScanBatch> {
    let txn = kv.begin(TxnOptions { read_only: true, ..TxnOptions::default() });
    let mut scanner = txn.scanner(txn.next_statement(), request.record(Record::Never));
    let result = loop {
        match scanner.next_batch().await {
            // The entries may lie behind the border of a region.
            Ok(Some(batch)) if batch.is_empty() => {}
            Ok(batch) => break Ok(batch.unwrap_or_default()),
            Err(error) => break Err(error),
        }
    };
    drop(scanner);
    txn.rollback().await;
    result
}

/// The newest number; 0 if there was never any.
pub async fn newest_notification(kv: &Kv) -> KvResult<u64> {
    let request = ScanRequest::new(notifications_after(0)).reverse(true).limit_rows(1);
    let batch = first_batch(kv, request).await?;
    if batch.is_empty() { Ok(0) } else { number_of(batch.key(0)) }
}

/// Rows after this number, in order, not all of them if there are many.
pub async fn notification_rows(kv: &Kv, after: u64) -> KvResult<Vec<(u64, NotificationRow)>> {
    let mut request = ScanRequest::new(notifications_after(after)).limit_rows(ROWS_MAX);
    request.limit_bytes = READ_BYTES_MAX;
    let batch = first_batch(kv, request).await?;
    batch.iter().map(|(key, value)| Ok((number_of(key)?, parse(value)?))).collect()
}

/// Removes rows whose time is over; how many. The newest one stays, since the next number is
/// counted from it.
pub async fn remove_old_notifications(kv: &Kv, now: i64) -> KvResult<usize> {
    let retention = i64::try_from(NOTIFICATION_RETENTION.as_micros()).unwrap_or(i64::MAX);
    let newest = newest_notification(kv).await?;
    let mut removed = 0;
    loop {
        let rows = notification_rows(kv, 0).await?;
        let is_old = |(number, row): &&(u64, NotificationRow)| {
            *number < newest && row.micros.saturating_add(retention) < now
        };
        let old = rows.iter().take_while(is_old).count();
        if old == 0 {
            return Ok(removed);
        }
        let txn = kv.begin(TxnOptions::default());
        let seq = txn.next_statement();
        for (number, _) in rows.iter().take(old) {
            txn.delete(seq, notification_key(*number))?;
        }
        txn.commit_or_error().await?;
        removed += old;
    }
}

impl NotificationRow {
    /// Cuts a long list into rows that a store takes.
    pub fn split(self, bytes_max: usize) -> Vec<NotificationRow> {
        let empty = NotificationRow { sent: Vec::new(), ..self.clone() };
        let mut rows = Vec::new();
        let (mut row, mut bytes) = (empty.clone(), 0);
        for (channel, payload) in self.sent {
            bytes += channel.len() + payload.len();
            if bytes > bytes_max && !row.sent.is_empty() {
                rows.push(std::mem::replace(&mut row, empty.clone()));
                bytes = channel.len() + payload.len();
            }
            row.sent.push((channel, payload));
        }
        rows.push(row);
        rows
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_contains_its_number() {
        for number in [0, 1, 255, 256, 1 << 40] {
            assert_eq!(number_of(&notification_key(number)).ok(), Some(number));
        }
    }

    #[test]
    fn a_long_list_is_cut_in_order() {
        let sent = (0..10).map(|i| ("c".to_owned(), i.to_string()));
        let row = NotificationRow { database: 1, pid: 2, micros: 3, sent: sent.collect() };
        let rows = row.clone().split(6);
        assert_eq!(rows.len(), 4);
        let all: Vec<_> = rows.into_iter().flat_map(|row| row.sent).collect();
        assert_eq!(all, row.sent);
        assert_eq!(row.clone().split(1).len(), 10);
        assert_eq!(NotificationRow { sent: Vec::new(), ..row }.split(1).len(), 1);
    }
}

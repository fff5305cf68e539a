//! Finds circles of waits in what the gateways have written into the store, and writes what this
//! gateway knows.
//!
//! TiKV finds circles of row locks. Others have at least one wait for an advisory lock in them, and
//! one of the sessions that wait so gives way. It reads the records of the advisory locks. Waits
//! for rows are in no record; each gateway publishes its own while somebody looks for circles.
//!
//! What is published may be half a second old. The holder that it names may be older by another
//! second: TiKV lets a request wait for so long before it names the holder. So a circle through
//! rows counts if it is found again a second later.

use std::sync::Arc;
use std::time::Duration;

use braid_kv::{
    CommitOutcome, DeadlockEdge, Key, Record, Result as KvResult, Seq, Span, Transaction, TxnId,
    TxnOptions, Value,
};
use tokio::time::Instant;

use super::record::{LockRecord, Owner};
use super::waits::{Awaited, Party, RowWait, RowWaits, Step, circle};
use crate::gateways::Gateways;
use crate::records::{parse, scan_all, to_json};
use crate::system_keys::{
    gateway_of_row_waits, lock_of_record_key, lock_records_span, row_waits_key, row_waits_span,
};

/// Waits that last longer are published, and looked at in the search for circles.
pub(super) const LONG_WAIT: Duration = Duration::from_secs(1);
/// How long a circle through rows has to last.
const CONFIRM_AFTER: Duration = Duration::from_secs(1);
/// Waits for rows that a gateway publishes, at most: the oldest ones.
const WAITS_MAX: usize = 1_000;

/// The search of one request.
#[derive(Default)]
pub(super) struct Search {
    suspected: Option<(Vec<Step>, Instant)>,
}

/// A circle of waits.
pub(super) struct Circle(Vec<Step>);

impl Search {
    /// A circle of waits through this session, if it is the one to give way.
    pub(super) async fn look(
        &mut self,
        gateways: &Gateways,
        victim: Owner,
    ) -> KvResult<Option<Circle>> {
        let Some(shared) = &gateways.shared else { return Ok(None) };
        let txn = shared.kv.begin(TxnOptions { read_only: true, ..TxnOptions::default() });
        let read = read_waits(&txn, txn.next_statement()).await;
        txn.rollback().await;
        let (mut locks, by_gateway) = read?;
        let mut others: Vec<u64> = locks.iter().flat_map(|(_, record)| record.gateways()).collect();
        others.extend(by_gateway.iter().map(|(gateway, _)| *gateway));
        others.sort_unstable();
        others.dedup();
        let gone = gateways.gone(&others).await?;
        locks = locks.into_iter().map(|(key, record)| (key, record.without(&gone))).collect();
        let mut rows = RowWaits::default();
        for (_, said) in by_gateway.into_iter().filter(|(gateway, _)| !gone.contains(gateway)) {
            rows.add(said);
        }
        let Some(steps) = circle(&locks, &rows, victim) else {
            self.suspected = None;
            return Ok(None);
        };
        let goes_through_rows = steps.iter().any(|step| matches!(step.awaited, Awaited::Row(_)));
        if goes_through_rows && !self.is_confirmed(&steps) {
            return Ok(None);
        }
        Ok(Some(Circle(steps)))
    }

    fn is_confirmed(&mut self, steps: &[Step]) -> bool {
        match &self.suspected {
            Some((suspected, since)) if suspected == steps => since.elapsed() >= CONFIRM_AFTER,
            _ => {
                self.suspected = Some((steps.to_vec(), Instant::now()));
                false
            }
        }
    }
}

impl Circle {
    /// The circle in the words of the contract. `number_of` gives a session of this gateway the
    /// number of its transaction.
    pub(super) fn edges(&self, number_of: impl Fn(Owner) -> TxnId) -> Arc<[DeadlockEdge]> {
        let number = |party: Party| match party {
            Party::Session(owner) => number_of(owner),
            Party::Transaction(number) => TxnId(number),
        };
        let edge = |step: &Step| {
            let (key, strength) = match &step.awaited {
                Awaited::Advisory(lock, strength) => (lock.clone(), *strength),
                Awaited::Row(key) => (key.clone(), braid_kv::LockStrength::Exclusive),
            };
            DeadlockEdge { waiter: number(step.waiter), holder: number(step.holder), key, strength }
        };
        self.0.iter().map(edge).collect()
    }
}

type Waits = (Vec<(Key, LockRecord)>, Vec<(u64, RowWaits)>);

/// All advisory locks with their records, and what each gateway says of rows.
async fn read_waits(txn: &Arc<Transaction>, seq: Seq) -> KvResult<Waits> {
    let (mut locks, mut by_gateway) = (Vec::new(), Vec::new());
    for (key, value) in read(txn, seq, lock_records_span()).await? {
        locks.push((lock_of_record_key(&key).unwrap_or_default(), parse(&value)?));
    }
    for (key, value) in read(txn, seq, row_waits_span()).await? {
        if let Some(gateway) = gateway_of_row_waits(&key) {
            by_gateway.push((gateway, parse(&value)?));
        }
    }
    Ok((locks, by_gateway))
}

async fn read(txn: &Arc<Transaction>, seq: Seq, span: Span) -> KvResult<Vec<(Vec<u8>, Value)>> {
    scan_all(txn, seq, span, Record::Never).await
}

/// Keeps the record of this gateway's waits for rows.
#[derive(Default)]
pub(super) struct Publisher {
    /// What the record says; `None` while that is not known.
    published: Option<RowWaits>,
}

impl Publisher {
    /// Brings the record up to date. `sessions` have advisory locks or wait for one.
    pub(super) async fn publish(
        &mut self,
        gateways: &Gateways,
        sessions: &[(Owner, TxnId)],
        waits_here: bool,
    ) -> KvResult<()> {
        let Some(shared) = &gateways.shared else { return Ok(()) };
        let mut waits = shared.kv.store().shared_waits();
        waits.retain(|wait| wait.waited >= LONG_WAIT);
        let is_involved = waits_here || !waits.is_empty();
        let is_asked = is_involved && (waits_here || self.is_anybody_looking(gateways).await?);
        let mut current = RowWaits::default();
        if is_asked {
            waits.sort_by_key(|wait| std::cmp::Reverse(wait.waited));
            waits.truncate(WAITS_MAX);
            waits.sort_by(|a, b| (a.waiter, &a.key).cmp(&(b.waiter, &b.key)));
            current.waits.extend(waits.into_iter().map(|wait| RowWait {
                waiter: wait.waiter.0,
                holder: wait.holder.0,
                key: wait.key,
            }));
            let number = |(owner, txn): &(Owner, TxnId)| {
                Some((*owner, shared.kv.store().shared_number(*txn)?.0))
            };
            current.transactions = sessions.iter().filter_map(number).collect();
        }
        if self.published.as_ref() == Some(&current) {
            return Ok(());
        }
        let _saying = gateways.saying.lock().await;
        let Some(lease) = gateways.lease() else { return Ok(()) };
        self.published = None;
        let txn = shared.kv.begin(TxnOptions::default());
        let (seq, key) = (txn.next_statement(), row_waits_key(gateways.id()));
        match current.is_empty() {
            true => txn.delete(seq, key)?,
            false => txn.put(seq, key, to_json(&current)?)?,
        }
        txn.commit_terms().set_fence(lease);
        if let CommitOutcome::Committed(_) = txn.commit().await? {
            self.published = Some(current);
        }
        Ok(())
    }

    /// Whether a session of any gateway has waited long for an advisory lock.
    async fn is_anybody_looking(&self, gateways: &Gateways) -> KvResult<bool> {
        let Some(shared) = &gateways.shared else { return Ok(false) };
        let txn = shared.kv.begin(TxnOptions { read_only: true, ..TxnOptions::default() });
        let pairs = read(&txn, txn.next_statement(), lock_records_span()).await;
        txn.rollback().await;
        for (_, value) in pairs? {
            if !parse::<LockRecord>(&value)?.waiters.is_empty() {
                return Ok(true);
            }
        }
        Ok(false)
    }
}

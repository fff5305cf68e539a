//! Prepared transactions: those of `PREPARE TRANSACTION`, which wait for their second step.
//!
//! ```text
//! reserve ─▶ Reservation ─ prepare ─▶ prepared ─ claim ─▶ Claim ─ end ─▶ gone
//!    dropped: gone                     ▲  └────────── dropped ──┘
//!                                      └── load, after a restart
//! ```
//!
//! Rules: an identifier belongs to one transaction of all databases, from its reservation until
//! its end; one session at a time ends a transaction; an embedded store has one process, so that
//! this list in memory is all there is.

use std::collections::BTreeMap;
use std::sync::Arc;

use braid_kv::{
    Database as Kv, Error, Preparation, PreparedTransaction, Result as KvResult, TxnId,
};
use parking_lot::Mutex;
use serde::{Deserialize, Serialize};

use crate::records::{parse, to_json};
use crate::system_keys::{prepared_key, prepared_span};

/// What is known of a prepared transaction.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PreparedInfo {
    /// Its identifier, which its client chose.
    pub gid: String,
    /// Its database.
    pub database: u32,
    /// The role that prepared it.
    pub role: u32,
    /// When that was: microseconds since 2000-01-01.
    pub micros: i64,
}

/// Why an identifier is not given out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReserveRefusal {
    /// Another transaction has it.
    InUse,
    /// There are as many prepared transactions as may be.
    TooMany,
}

/// Why a transaction cannot be ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ClaimRefusal {
    /// There is none with this identifier.
    Unknown,
    /// Another session prepares or ends it.
    Busy,
}

struct Entry {
    info: PreparedInfo,
    /// The number of the transaction; none while it is being prepared.
    id: Option<TxnId>,
    /// None while a session prepares or ends it.
    transaction: Option<PreparedTransaction>,
}

/// The prepared transactions of a server.
pub struct PreparedTransactions {
    kv: Kv,
    max: usize,
    entries: Mutex<BTreeMap<String, Entry>>,
}

/// An identifier for a transaction that is about to be prepared. It is given back when dropped.
pub struct Reservation {
    all: Arc<PreparedTransactions>,
    info: PreparedInfo,
    is_done: bool,
}

/// A prepared transaction in the hands of the session that ends it. It stays prepared if this is
/// dropped before.
pub struct Claim {
    all: Arc<PreparedTransactions>,
    info: PreparedInfo,
    transaction: Option<PreparedTransaction>,
}

impl PreparedTransactions {
    /// The transactions that were prepared before the last stop, with their locks. At most `max`
    /// may be prepared at a time; those of before count, but none of them is turned away.
    ///
    /// To be called before anything else changes rows or definitions.
    pub async fn load(kv: &Kv, max: usize) -> KvResult<Arc<PreparedTransactions>> {
        let mut entries = BTreeMap::new();
        if kv.store().can_prepare() {
            for (about, transaction) in kv.restore_prepared(prepared_span()).await? {
                let info: PreparedInfo = parse(&about)?;
                tracing::info!(gid = info.gid, "a prepared transaction waits for its end");
                let id = Some(transaction.id());
                let entry = Entry { info: info.clone(), id, transaction: Some(transaction) };
                entries.insert(info.gid, entry);
            }
        }
        let entries = Mutex::new(entries);
        Ok(Arc::new(PreparedTransactions { kv: kv.clone(), max, entries }))
    }

    /// How many transactions may be prepared at a time: `max_prepared_transactions`. 0 if the
    /// store cannot prepare any.
    pub fn max(&self) -> usize {
        if self.kv.store().can_prepare() { self.max } else { 0 }
    }

    /// Those that wait for their end, by identifier, each with its number.
    pub fn list(&self) -> Vec<(TxnId, PreparedInfo)> {
        let entries = self.entries.lock();
        entries.values().filter_map(|entry| Some((entry.id?, entry.info.clone()))).collect()
    }

    /// Takes the identifier for a transaction that is about to be prepared.
    pub fn reserve(
        self: &Arc<Self>,
        info: PreparedInfo,
    ) -> std::result::Result<Reservation, ReserveRefusal> {
        let mut entries = self.entries.lock();
        if entries.contains_key(&info.gid) {
            return Err(ReserveRefusal::InUse);
        }
        if entries.len() >= self.max() {
            return Err(ReserveRefusal::TooMany);
        }
        let entry = Entry { info: info.clone(), id: None, transaction: None };
        entries.insert(info.gid.clone(), entry);
        Ok(Reservation { all: self.clone(), info, is_done: false })
    }

    /// What is known of the transaction with this identifier; none while it is being prepared.
    pub fn info(&self, gid: &str) -> Option<PreparedInfo> {
        let entries = self.entries.lock();
        entries.get(gid).filter(|entry| entry.id.is_some()).map(|entry| entry.info.clone())
    }

    /// Takes the transaction with this identifier, to end it.
    pub fn claim(self: &Arc<Self>, gid: &str) -> std::result::Result<Claim, ClaimRefusal> {
        let mut entries = self.entries.lock();
        let entry = entries.get_mut(gid).ok_or(ClaimRefusal::Unknown)?;
        let transaction = entry.transaction.take().ok_or(ClaimRefusal::Busy)?;
        let info = entry.info.clone();
        Ok(Claim { all: self.clone(), info, transaction: Some(transaction) })
    }
}

impl Reservation {
    /// Prepares the transaction under this identifier. It has to run to its end.
    pub async fn prepare(mut self, preparation: Preparation) -> KvResult<()> {
        let about = to_json(&self.info)?;
        let transaction = preparation.prepare(prepared_key(&self.info.gid), about).await?;
        self.is_done = true;
        if let Some(entry) = self.all.entries.lock().get_mut(&self.info.gid) {
            entry.id = Some(transaction.id());
            entry.transaction = Some(transaction);
        }
        Ok(())
    }
}

impl Drop for Reservation {
    fn drop(&mut self) {
        if !self.is_done {
            self.all.entries.lock().remove(&self.info.gid);
        }
    }
}

impl Claim {
    /// Commits the transaction, or rolls it back. It has to run to its end. After an error it is
    /// prepared as before.
    pub async fn end(mut self, commits: bool) -> KvResult<()> {
        let Some(transaction) = &self.transaction else { return Err(Error::Finished) };
        match commits {
            true => transaction.commit().await?,
            false => transaction.rollback().await?,
        }
        self.transaction = None;
        self.all.entries.lock().remove(&self.info.gid);
        Ok(())
    }
}

impl Drop for Claim {
    fn drop(&mut self) {
        let Some(transaction) = self.transaction.take() else { return };
        if let Some(entry) = self.all.entries.lock().get_mut(&self.info.gid) {
            entry.transaction = Some(transaction);
        }
    }
}

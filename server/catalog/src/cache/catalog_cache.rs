//! Descriptors in the store: how they are written, loaded, cached, and made on the first start.
//!
//! A cached catalog is right for a transaction if it has the version that stands at the
//! transaction's snapshot. Where no other process changes the store, that is known without a read:
//! the cache remembers at which point it read the newest version, and a change in progress
//! ([`PendingChange`]) makes it read again. With several gateways that is so in each fast period
//! of this one ([`Gateways`]); at other times every transaction reads the version.
//!
//! ```text
//!   snapshots   ……………S1…………………………S2…………………S3……▶
//!   DDL               [pending … commit]
//!   S1: cached        S2: reads the key    S3: cached again
//! ```

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use braid_cluster::records::{corrupt, scan_all, to_json};
use braid_cluster::{ChangeUnderWay, Epoch, Gateways, statistics_stamp_key};
use braid_kv::{
    CommitFence, Database as Kv, Key, Record, Result as KvResult, RetryReason, Seq, Timestamp,
    Transaction, TxnOptions, Value,
};
use parking_lot::Mutex;
use tokio::sync::Notify;

use super::changes::between;
use super::known_statistics::KnownStatistics;
use crate::edit::CatalogEdit;
use crate::storage::stored::{Meta, read_meta};
use crate::storage::system_keys::{
    descriptor_key, descriptors_span, statistics_key, statistics_span, version_key,
};
use crate::{Catalog, Changes, Id, Statistics, TableStatistics, fresh_counter, is_temporary};

/// How many versions the cache keeps for transactions with older snapshots.
const VERSIONS_MAX: usize = 4;
/// For how many snapshots it is kept which version stands there.
const LOOKED_UP_MAX: usize = 256;
/// How often storing statistics is tried while definitions of the table change.
const SAVE_ATTEMPTS_MAX: usize = 10;

/// The newest version.
struct Newest {
    catalog: Arc<Catalog>,
    /// From this point on it is known to stand,
    since: Timestamp,
    /// in this fast period, if there may be other gateways.
    epoch: Option<Arc<Epoch>>,
}

#[derive(Default)]
struct CacheState {
    versions: BTreeMap<u64, Arc<Catalog>>,
    newest: Option<Newest>,
    /// What stood at snapshots of transactions that had to look, if there may be other gateways:
    /// their next statements need not look again.
    looked_up: HashMap<Timestamp, Arc<Catalog>>,
    /// Changes whose outcome is not known.
    pending: usize,
    /// Changes ever announced.
    announced: u64,
}

impl CacheState {
    /// The changes announced so far, if none of them is on its way: what is read from now on
    /// stands for as long as this number does.
    fn settled(&self) -> Option<u64> {
        (self.pending == 0).then_some(self.announced)
    }

    /// Keeps what was the newest when the changes were `settled`, unless others came meanwhile:
    /// one that began and ended since has made it old. What was known in another fast period goes.
    fn remember(&mut self, settled: Option<u64>, newest: Newest) {
        let same = |known: &Newest| is_same(known.epoch.as_ref(), newest.epoch.as_ref());
        let is_known = self.newest.as_ref().is_some_and(same);
        if settled.is_some() && self.settled() == settled && !is_known {
            self.newest = Some(newest);
        }
    }
}

fn is_same(one: Option<&Arc<Epoch>>, other: Option<&Arc<Epoch>>) -> bool {
    match (one, other) {
        (None, None) => true,
        (Some(one), Some(other)) => Arc::ptr_eq(one, other),
        (None, Some(_)) | (Some(_), None) => false,
    }
}

/// The newest catalog, for a read that takes no snapshot: there is nothing to compare with.
pub struct Standing {
    cache: Arc<CatalogCache>,
    catalog: Arc<Catalog>,
    epoch: Arc<Epoch>,
    announced: u64,
}

impl Standing {
    /// The catalog.
    pub fn catalog(&self) -> &Arc<Catalog> {
        &self.catalog
    }

    /// Whether it was the newest up to now.
    pub fn stands(&self) -> bool {
        let epoch = self.cache.gateways.as_ref().and_then(|gateways| gateways.lasting_epoch());
        let settled = self.cache.state.lock().settled();
        is_same(epoch.as_ref(), Some(&self.epoch)) && settled == Some(self.announced)
    }
}

/// The catalogs of this process, shared by all sessions.
pub struct CatalogCache {
    state: Mutex<CacheState>,
    statistics: KnownStatistics,
    /// This process among others over the same store, if there may be others.
    gateways: Option<Arc<Gateways>>,
    left_over: Notify,
    backfilled: AtomicU64,
    descriptors_read: AtomicU64,
}

/// A change of the catalog on its way: keep it until the commit's outcome is known.
#[must_use = "drop it after the commit, not before"]
pub struct PendingChange {
    cache: Arc<CatalogCache>,
    leaves_keys: bool,
    /// Other gateways do without their cached catalogs until this is gone.
    under_way: Option<Arc<ChangeUnderWay>>,
}

impl PendingChange {
    /// What the commit of the change is bound to.
    pub(crate) fn fence(&self) -> Option<Arc<dyn CommitFence>> {
        self.under_way.clone().map(|under_way| under_way as Arc<dyn CommitFence>)
    }

    /// Says that the change leaves keys behind that are to be removed in the background.
    pub(crate) fn leaves_keys(mut self, leaves_keys: bool) -> PendingChange {
        self.leaves_keys = leaves_keys;
        self
    }
}

impl Drop for PendingChange {
    fn drop(&mut self) {
        let mut state = self.cache.state.lock();
        state.pending -= 1;
        state.newest = None;
        drop(state);
        if self.leaves_keys {
            self.cache.left_over.notify_one();
        }
    }
}

impl CatalogCache {
    /// An empty cache over a store that no other process changes.
    pub fn new() -> Arc<Self> {
        CatalogCache::over(None)
    }

    /// An empty cache of one of several gateways.
    pub fn of_gateway(gateways: &Arc<Gateways>) -> Arc<Self> {
        CatalogCache::over(Some(gateways.clone()).filter(|gateways| gateways.is_shared()))
    }

    fn over(gateways: Option<Arc<Gateways>>) -> Arc<Self> {
        Arc::new(CatalogCache {
            state: Mutex::default(),
            statistics: KnownStatistics::default(),
            gateways,
            left_over: Notify::new(),
            backfilled: AtomicU64::new(0),
            descriptors_read: AtomicU64::new(0),
        })
    }

    /// The number of this gateway, if there may be others.
    pub fn gateway(&self) -> Option<u64> {
        self.gateways.as_ref().map(|gateways| gateways.id())
    }

    /// The shared estimates of tables' sizes.
    pub fn statistics(&self) -> &Arc<Statistics> {
        self.statistics.shared()
    }

    /// Loads the stored statistics: at the start, and when another gateway has stored some. What
    /// was counted along since stays, unless something new is stored of the table.
    pub async fn load_statistics(&self, kv: &Kv) -> KvResult<()> {
        while !self.read_statistics(kv).await? {}
        Ok(())
    }

    /// The same once; false if this gateway has stored some meanwhile.
    async fn read_statistics(&self, kv: &Kv) -> KvResult<bool> {
        let before = self.statistics.values();
        let txn = kv.begin(TxnOptions { read_only: true, ..TxnOptions::default() });
        let seq = txn.next_statement();
        let stored = scan_all(&txn, seq, statistics_span(), Record::Never).await;
        txn.rollback().await;
        let mut all = true;
        for (_, value) in stored? {
            all &= self.statistics.use_read(&before, value)?;
        }
        Ok(all)
    }

    /// The catalog as the transaction's statement sees it. Not part of the read set: the tables
    /// that a statement uses are guarded by [`descriptor_key`].
    pub async fn at(&self, txn: &Arc<Transaction>, seq: Seq) -> KvResult<Arc<Catalog>> {
        let epoch = self.gateways.as_ref().and_then(|gateways| gateways.epoch());
        let is_trusted = self.gateways.is_none() || epoch.is_some();
        let snapshot = txn.snapshots().of_statement(seq).await?;
        if is_trusted && let Some(catalog) = self.newest_at(snapshot) {
            return Ok(catalog);
        }
        // Boxed, since every statement has room for what is awaited here, and few come so far.
        Box::pin(async move {
            let is_kept = self.gateways.is_some();
            if is_kept && let Some(catalog) = self.state.lock().looked_up.get(&snapshot) {
                return Ok(catalog.clone());
            }
            let settled = self.state.lock().settled();
            let value = txn.reads().get_recorded(seq, &version_key(), Record::Never).await?;
            let meta = read_meta(value)?;
            let version = meta.version;
            let catalog = self.of_version(txn, seq, meta).await?;
            if is_kept {
                let looked_up = &mut self.state.lock().looked_up;
                if looked_up.len() >= LOOKED_UP_MAX {
                    looked_up.clear();
                }
                looked_up.insert(snapshot, catalog.clone());
            }
            if is_trusted && settled.is_some() && self.read_newest(txn).await? == version {
                let newest = Newest { catalog: catalog.clone(), since: snapshot, epoch };
                self.state.lock().remember(settled, newest);
            }
            Ok(catalog)
        })
        .await
    }

    /// The newest catalog, if it is known without a read of the store and snapshots cost a wait.
    /// The caller has to check afterwards that it is still the newest.
    pub fn standing(self: &Arc<Self>) -> Option<Standing> {
        let epoch = self.gateways.as_ref()?.lasting_epoch()?;
        let (catalog, announced) = {
            let state = self.state.lock();
            let newest = state.newest.as_ref()?;
            let is_known = is_same(newest.epoch.as_ref(), Some(&epoch));
            (is_known.then(|| newest.catalog.clone())?, state.settled()?)
        };
        Some(Standing { cache: self.clone(), catalog, epoch, announced })
    }

    /// The newest catalog, if it is known to stand at that snapshot, which was taken before.
    fn newest_at(&self, snapshot: Timestamp) -> Option<Arc<Catalog>> {
        // Asked for after the snapshot was taken: a period that is not over now was not then.
        let epoch = self.gateways.as_ref().and_then(|gateways| gateways.epoch());
        let state = self.state.lock();
        let newest = state.newest.as_ref().filter(|_| state.pending == 0)?;
        let is_in_time = epoch.as_ref().is_none_or(|epoch| epoch.covers(snapshot));
        let stands = is_same(newest.epoch.as_ref(), epoch.as_ref()) && is_in_time;
        (stands && snapshot >= newest.since).then(|| newest.catalog.clone())
    }

    /// The newest version in the store: a snapshot may be older than the last change.
    async fn read_newest(&self, txn: &Arc<Transaction>) -> KvResult<u64> {
        let own = txn.database().begin(TxnOptions { read_only: true, ..TxnOptions::default() });
        let value =
            own.reads().get_recorded(own.next_statement(), &version_key(), Record::Never).await;
        own.rollback().await;
        Ok(read_meta(value?)?.version)
    }

    async fn of_version(
        &self,
        txn: &Arc<Transaction>,
        seq: Seq,
        meta: Meta,
    ) -> KvResult<Arc<Catalog>> {
        let version = meta.version;
        let known = {
            let state = self.state.lock();
            let known = state.versions.range(..=version).next_back();
            known.map(|(_, catalog)| catalog.clone())
        };
        let catalog = match known {
            Some(known) if known.version == version => return Ok(known),
            Some(known) => self.follow(txn, seq, meta, &known).await?,
            None => self.load(txn, seq, meta).await?,
        };
        let catalog = Arc::new(catalog);
        let mut state = self.state.lock();
        state.versions.insert(version, catalog.clone());
        while state.versions.len() > VERSIONS_MAX {
            state.versions.pop_first();
        }
        Ok(catalog)
    }

    async fn load(&self, txn: &Arc<Transaction>, seq: Seq, meta: Meta) -> KvResult<Catalog> {
        let mut catalog = Catalog::empty(meta.version, meta.next_id, self.statistics().clone());
        catalog.format = meta.format;
        catalog.changes = meta.changes.into();
        let pairs = scan_all(txn, seq, descriptors_span(), Record::Never).await?;
        self.descriptors_read.fetch_add(pairs.len() as u64, Ordering::Relaxed);
        let mut edit = CatalogEdit::new(&mut catalog);
        for (_, value) in pairs {
            edit.put(serde_json::from_slice(&value).map_err(corrupt)?);
        }
        edit.settle();
        Ok(catalog)
    }

    /// The catalog of a version, made of an older one that is known: only what has changed since is
    /// read, if that is known.
    async fn follow(
        &self,
        txn: &Arc<Transaction>,
        seq: Seq,
        meta: Meta,
        known: &Catalog,
    ) -> KvResult<Catalog> {
        let Some(ids) = between(&meta.changes, known.version, meta.version) else {
            return self.load(txn, seq, meta).await;
        };
        let keys: Vec<Key> = ids.iter().map(|id| descriptor_key(*id)).collect();
        let values = txn.reads().multi_get_recorded(seq, &keys, Record::Never).await?;
        self.descriptors_read.fetch_add(keys.len() as u64, Ordering::Relaxed);
        let mut catalog = Catalog::clone(known);
        (catalog.version, catalog.next_id) = (meta.version, meta.next_id);
        catalog.format = meta.format;
        catalog.changes = meta.changes.into();
        let mut edit = CatalogEdit::new(&mut catalog);
        for (id, value) in ids.into_iter().zip(values) {
            match value {
                Some(value) => edit.put(serde_json::from_slice(&value).map_err(corrupt)?),
                None => edit.remove(id),
            }
        }
        edit.settle();
        Ok(catalog)
    }

    /// How many descriptors this process has read from the store.
    pub fn descriptors_read(&self) -> u64 {
        self.descriptors_read.load(Ordering::Relaxed)
    }

    /// The catalog of the version that the transaction has locked: what the lock has shown may be
    /// newer than the transaction's snapshot.
    pub(super) async fn locked_version(
        &self,
        txn: &Arc<Transaction>,
        meta: Meta,
    ) -> KvResult<Arc<Catalog>> {
        if let Some(catalog) = self.state.lock().versions.get(&meta.version) {
            return Ok(catalog.clone());
        }
        let own = txn.database().begin(TxnOptions { read_only: true, ..TxnOptions::default() });
        let seq = own.next_statement();
        let value = own.reads().get_recorded(seq, &version_key(), Record::Never).await;
        let found = match value.and_then(read_meta) {
            Ok(found) if found.version == meta.version => self.of_version(&own, seq, found).await,
            // The lock was lost.
            Ok(_) => Err(braid_kv::Error::retry(RetryReason::SchemaChanged, Some(version_key()))),
            Err(error) => Err(error),
        };
        own.rollback().await;
        found
    }

    /// Counts rows that backfills of this process are done with.
    pub fn count_backfilled(&self, rows: usize) {
        self.backfilled.fetch_add(rows as u64, Ordering::Relaxed);
    }

    /// How many rows backfills of this process have been done with.
    pub fn backfilled(&self) -> u64 {
        self.backfilled.load(Ordering::Relaxed)
    }

    /// Waits until a change may have left keys behind.
    pub async fn left_over(&self) {
        self.left_over.notified().await;
    }

    /// Announces a change that is about to commit, and waits until no gateway works without
    /// looking for it.
    pub async fn announce(self: &Arc<Self>) -> KvResult<PendingChange> {
        {
            let mut state = self.state.lock();
            state.pending += 1;
            state.announced += 1;
        }
        let cache = self.clone();
        let mut pending = PendingChange { cache, leaves_keys: false, under_way: None };
        if let Some(gateways) = &self.gateways {
            pending.under_way = Some(gateways.change().await?);
        }
        Ok(pending)
    }

    /// Stores the estimates of a table and uses them from now on. `counted` are the changes that
    /// they contain. Of a table that does not exist, or not yet, nothing is stored. Estimates that
    /// contain more stay.
    pub async fn save_statistics(
        &self,
        kv: &Kv,
        table: Id,
        statistics: TableStatistics,
        counted: Changes,
    ) -> KvResult<()> {
        if self.statistics().contain_more(table, counted) {
            return Ok(());
        }
        let value = to_json(&(table, &statistics))?;
        let mut attempts = 0;
        let is_stored = loop {
            match self.store_statistics(kv, table, &value).await {
                Ok(is_stored) => break is_stored,
                Err(error) => {
                    attempts += 1;
                    // The table's definition has changed meanwhile.
                    if !error.is_retryable() || attempts >= SAVE_ATTEMPTS_MAX {
                        return Err(error);
                    }
                }
            }
        };
        match is_stored {
            true => self.statistics.use_stored(table, value, statistics, counted),
            false => self.statistics().replace(table, statistics, counted),
        }
        Ok(())
    }

    /// False if the table does not exist.
    async fn store_statistics(&self, kv: &Kv, table: Id, value: &Value) -> KvResult<bool> {
        let txn = kv.begin(TxnOptions::default());
        let seq = txn.next_statement();
        if txn.get(seq, &descriptor_key(table)).await?.is_none() {
            txn.rollback().await;
            return Ok(false);
        }
        txn.put(seq, statistics_key(table), value.clone())?;
        if self.gateways.is_some() {
            txn.put(seq, statistics_stamp_key(), to_json(&(fresh_counter() >> 11))?)?;
        }
        txn.commit_or_error().await?;
        Ok(true)
    }

    /// Forgets the estimates of tables that are not in `catalog` any more. Those of tables that it
    /// does not know yet stay.
    pub fn forget_dropped(&self, catalog: &Catalog) {
        let stays =
            |id: Id| is_temporary(id) || id >= catalog.next_id || catalog.table(id).is_some();
        self.statistics.retain(stays);
    }

    /// Forgets the estimates of a table. Other gateways keep theirs until the next ones come.
    pub async fn forget_statistics(&self, kv: &Kv, table: Id) -> KvResult<()> {
        let txn = kv.begin(TxnOptions::default());
        let seq = txn.next_statement();
        txn.delete(seq, statistics_key(table))?;
        txn.commit_or_error().await?;
        self.statistics.forget(table);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_reader_overtaken_by_a_whole_change_leaves_nothing() {
        let cache = CatalogCache::new();
        let catalog = Arc::new(Catalog::empty(1, crate::storage::stored::FIRST_ID, Arc::default()));
        let is_kept = |settled| {
            let mut state = cache.state.lock();
            let (since, catalog) = (Timestamp::default(), catalog.clone());
            state.remember(settled, Newest { catalog, since, epoch: None });
            state.newest.is_some()
        };
        let settled = || cache.state.lock().settled();
        let before = settled();
        let change = cache.announce().await.unwrap();
        assert!(!is_kept(before));
        assert!(!is_kept(settled()));
        drop(change);
        assert!(!is_kept(before), "read before the change, remembered after it");
        assert!(is_kept(settled()));
    }
}

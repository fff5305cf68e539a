//! Settings of the embedded store.

use std::{
    fmt,
    sync::{Arc, atomic::AtomicBool},
    time::Duration,
};

/// Called once with the reason when the store can no longer promise durability and stops. The
/// server logs it and ends itself; the next start recovers.
pub type FatalHook = Arc<dyn Fn(&str) + Send + Sync>;

/// How the embedded store is to run.
#[derive(Clone)]
pub struct EmbeddedOptions {
    /// Bytes of the cache for blocks read from disk.
    pub cache_bytes: u64,
    /// The most bytes of the range cache, which keeps what long scans have read; 0 is none.
    pub range_cache_bytes: usize,
    /// Scans that read fewer bytes than this leave nothing in the range cache.
    pub range_cache_scan_bytes_min: usize,
    /// How many deleted keys a span without others has to have so that a scan is interrupted to
    /// jump over it.
    pub empty_span_deletes_min: u64,
    /// The most bytes of the index of recent writes. Older transactions are checked by reading
    /// their read set again.
    pub recent_bytes_max: usize,
    /// The most locks held at once, by all transactions together.
    pub locks_max: usize,
    /// Commits are refused when less than this would be left on the disk, so that the store
    /// itself never meets a full one.
    pub disk_reserve_bytes: u64,
    /// The most bytes that one group of commits is filled up to.
    pub group_bytes_max: usize,
    /// The fewest writes of a commit that becomes tables at once instead of journal entries; or
    /// 256 bytes for each of these writes.
    pub ingest_writes_min: usize,
    /// Sync every commit. Switched off, commits are acknowledged while they are still in this
    /// process's memory; for tests that have to see the loss.
    pub sync: bool,
    /// Prove reads unchanged at commit. Switched off, nothing is serializable; for tests that
    /// have to see the anomaly.
    pub validate: bool,
    /// Fault injection: while this is true every sync fails.
    pub fail_syncs: Option<Arc<AtomicBool>>,
    /// Fault injection: delay added to every sync.
    pub sync_delay: Option<Duration>,
    /// Called when the store stops after a failure.
    pub on_fatal: Option<FatalHook>,
}

impl Default for EmbeddedOptions {
    fn default() -> EmbeddedOptions {
        EmbeddedOptions {
            cache_bytes: 128 << 20,
            range_cache_bytes: 256 << 20,
            range_cache_scan_bytes_min: 64 << 10,
            empty_span_deletes_min: 16,
            recent_bytes_max: 16 << 20,
            locks_max: 2_000_000,
            disk_reserve_bytes: 96 << 20,
            group_bytes_max: 8 << 20,
            ingest_writes_min: 64 << 10,
            sync: true,
            validate: true,
            fail_syncs: None,
            sync_delay: None,
            on_fatal: None,
        }
    }
}

impl fmt::Debug for EmbeddedOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("EmbeddedOptions")
            .field("cache_bytes", &self.cache_bytes)
            .field("range_cache_bytes", &self.range_cache_bytes)
            .field("recent_bytes_max", &self.recent_bytes_max)
            .field("locks_max", &self.locks_max)
            .field("sync", &self.sync)
            .field("validate", &self.validate)
            .finish_non_exhaustive()
    }
}

//! Large commits: their writes become finished tables of fjall at once.
//!
//! ```text
//!   small   journal ─ memtable ─ sync            a flush writes the tables later
//!   large   sync ─ flush ─ tables ─ fjall's list of tables, synced
//! ```
//!
//! A batch of a million keys is a copy of them in memory, a second one in the journal, and a third
//! one in the memtable, where each key is searched for its place. The writes of a commit are
//! sorted. So a large one needs none of that.
//!
//! # What must always hold
//!
//! - Only a commit that is alone in its group comes here: nobody else writes meanwhile. So the
//!   sequence number that fjall gives to all pairs at the end of an ingestion is the newest one.
//! - What is in the memtable is synced in the journal before it is flushed: no commit is in a table
//!   before it is in the journal.
//! - The list of tables changes as a whole and is synced. So a commit is there or not, whenever the
//!   process ends.
//! - The journal knows nothing of the writes; a commit record follows them.
//! - Before deletions of single keys become tables, a marker pair is put and flushed
//!   ([`MARKER`]). Nothing older than the marker is ever replayed, see below.
//! - Range deletes are in the journal. A record of them comes before the tables, so that the next
//!   start can tell whether they hold ([`crate::ingestion`]).
//!
//! # Why deletions need a marker
//!
//! At a start, fjall replays what is newer than every pair in its tables. A compaction into the
//! last level drops a deletion together with the pair below it. Without a marker, nothing newer
//! than the journal's put of that pair may be left in a table then:
//!
//! ```text
//!   sequence numbers   1          2             3
//!   journal            put a      marker
//!   tables             put a ◀─── marker        delete a     a compaction drops 1 and 3
//!   replayed           what is newer than 2: not the put of a
//! ```
//!
//! A compaction keeps the newest put of each key with its number, and nobody deletes the marker.
//! So a table with the marker's number or a newer one is there for ever.

use super::{group::Committer, queue::Job};
use crate::{
    files::{encode_value, storage_error},
    ingestion::{INGESTION, Ingestion, MARKER},
    tombstones::TombstoneIndex,
};
use braid_kv::{CommitRequest, Error, Result};
use fjall::{OwnedWriteBatch, PersistMode};
use std::{
    sync::{Arc, atomic::Ordering::Relaxed},
    time::Instant,
};

/// As many tables that no compaction has merged yet are enough: fjall slows writers of the journal
/// down then, and large commits go that way, too.
const FRESH_TABLES_MAX: usize = 20;
/// Bytes for each of [`crate::EmbeddedOptions::ingest_writes_min`] that make a commit large.
const BYTES_FOR_WRITE: usize = 256;

impl Committer {
    /// Whether the writes of this group are to become tables.
    pub(super) fn ingests(&self, jobs: &[Job]) -> bool {
        let [job] = jobs else { return false };
        let (writes, writes_min) = (&job.request.writes, self.shared.options.ingest_writes_min);
        let is_large = writes.len() >= writes_min || job.bytes / BYTES_FOR_WRITE >= writes_min;
        is_large
            && !writes.is_empty()
            && (job.request.deleted_spans.is_empty() || put_key(&job.request).is_some())
            && self.shared.files.data.l0_table_count() < FRESH_TABLES_MAX
    }

    /// Writes an accepted commit. Afterwards it is durable, and new snapshots show it.
    pub(super) fn ingest(
        &mut self,
        request: &mut CommitRequest,
        tombstones: &mut Option<TombstoneIndex>,
    ) -> Result<()> {
        let start = Instant::now();
        let files = self.shared.files.clone();
        let mut before = files.db.batch();
        self.reserve_number(&mut before);
        let deletes = self.range_deletes(request);
        if let (false, Some(key)) = (deletes.is_empty(), put_key(request)) {
            let key = key.to_vec();
            let record = Ingestion { number: self.number, key, tombstones: deletes.clone() };
            before.insert(&files.meta, INGESTION, record.encode());
        }
        if request.writes.iter().any(|(_, value)| value.is_none()) {
            let mut stored = Vec::new();
            encode_value(&mut stored, self.number, &[]);
            before.insert(&files.data, MARKER, stored);
        }
        before.durability(Some(PersistMode::Buffer)).commit().map_err(storage_error)?;
        self.shared.watches.note(&request.deleted_spans, &request.writes);
        self.write_tables(request)?;
        let nanos = u64::try_from(start.elapsed().as_nanos()).unwrap_or(u64::MAX);
        self.shared.counters.ingested.fetch_add(1, Relaxed);
        self.shared.counters.syncs.fetch_add(1, Relaxed);
        self.shared.counters.sync_nanos.observe(nanos);
        // The account of the last durable commit goes on in any case.
        let mut after = OwnedWriteBatch::with_capacity(files.db.clone(), deletes.len() + 2);
        if !deletes.is_empty() {
            after.remove(&files.meta, INGESTION);
            let all = tombstones.get_or_insert_with(|| self.tombstones.as_ref().clone());
            for tombstone in deletes {
                files.put_tombstone(&mut after, &tombstone);
                all.insert(Arc::new(tombstone));
            }
        }
        self.write_group(after, 0)
    }

    /// Writes tables and enters them into fjall's list.
    fn write_tables(&self, request: &mut CommitRequest) -> Result<()> {
        let (files, options) = (&self.shared.files, &self.shared.options);
        files.db.persist(PersistMode::SyncData).map_err(storage_error)?;
        // fjall counts what it flushes itself, but not what the end of an ingestion flushes.
        files.flush_data()?;
        let mut ingestion = files.data.start_ingestion().map_err(storage_error)?;
        let mut stored = Vec::new();
        for (key, value) in &mut request.writes {
            match value.take() {
                Some(value) => {
                    encode_value(&mut stored, self.number, &value);
                    ingestion.write(key.as_ref(), stored.as_slice())
                }
                None => ingestion.write_tombstone(key.as_ref()),
            }
            .map_err(storage_error)?;
        }
        if options.fail_syncs.as_ref().is_some_and(|fails| fails.load(Relaxed)) {
            return Err(Error::Storage("the sync has failed (injected)".into()));
        }
        if let Some(delay) = options.sync_delay {
            std::thread::sleep(delay);
        }
        ingestion.finish().map_err(storage_error)
    }
}

/// A key that the commit puts.
fn put_key(request: &CommitRequest) -> Option<&[u8]> {
    request.writes.iter().find(|(_, value)| value.is_some()).map(|(key, _)| key.as_ref())
}

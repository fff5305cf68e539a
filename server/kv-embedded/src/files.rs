//! fjall's keyspaces, and how bytes lie in them.
//!
//! ```text
//!   data     user key                    →  commit number (8 bytes), value
//!            0xff "deletes"              →  the last commit that began to delete keys by tables
//!   ranges   commit number, index        →  length of start (4 bytes), start, end
//!   meta     "numbers"                   →  first commit number that is not reserved
//!            "commit"                    →  the last commit, and the one of the batch before it
//!            "ingestion"                 →  range deletes of a commit whose writes become tables
//! ```
//!
//! One value a key: older ones live on inside fjall for as long as a snapshot shows them. Commit
//! numbers are reserved in blocks, so that they go on above the durable maximum after a crash.

use crate::{
    account::{self, Account, COMMIT, Commit, Inspected},
    folder::{Folder, OpenError},
    ingestion::{INGESTION, Ingestion},
    options::EmbeddedOptions,
    tombstones::{Tombstone, decode_tombstone, tombstone_key, tombstone_value},
};
use braid_kv::Error;
use fjall::{
    CompressionType, Database, Keyspace, KeyspaceCreateOptions, PersistMode,
    config::{CompressionPolicy, HashRatioPolicy, PinningPolicy},
};
use std::{
    panic::{AssertUnwindSafe, catch_unwind},
    sync::{Arc, atomic::AtomicU64},
    time::Duration,
};

/// How many commit numbers are reserved at once.
pub(crate) const NUMBERS_RESERVED: u64 = 1 << 24;

/// Threads of fjall. One of them does nothing but flush: while all others compact, it takes each
/// request for a compaction out of their queue and puts it back, which keeps a core busy. With two
/// others that is rare, because a second compaction at the same time is.
const WORKERS: usize = 3;
/// How often somebody who waits for a flush looks at it.
const FLUSH_LOOK_EVERY: Duration = Duration::from_millis(1);
const NUMBERS: &[u8] = b"numbers";
/// Length of the commit number in front of a value.
pub(crate) const NUMBER_BYTES: usize = 8;

/// The open keyspaces, and the folder that they lie in.
pub(crate) struct Files {
    pub(crate) db: Database,
    pub(crate) data: Keyspace,
    pub(crate) ranges: Keyspace,
    pub(crate) meta: Keyspace,
    pub(crate) folder: Folder,
    /// Microseconds that batches of scans took since the last compaction, as far as that was long
    /// for so few rows: because of what was deleted or overwritten.
    pub(crate) slow_micros: AtomicU64,
}

impl Files {
    /// Flushes what is in memory of the data.
    pub(crate) fn flush_data(&self) -> Result<(), Error> {
        self.flush_data_unless(|| false).map(drop)
    }

    /// The same; false if it `gives_up` before the flush is done. An error as soon as fjall has
    /// stopped: its own wait would never end then. fjall's number of outstanding flushes leaves out
    /// the one that has begun.
    pub(crate) fn flush_data_unless(&self, gives_up: impl Fn() -> bool) -> Result<bool, Error> {
        self.data.rotate_memtable().map_err(storage_error)?;
        while self.data.sealed_memtable_count() > 0 {
            if gives_up() {
                return Ok(false);
            }
            self.db.persist(PersistMode::Buffer).map_err(storage_error)?;
            std::thread::sleep(FLUSH_LOOK_EVERY);
        }
        Ok(true)
    }

    /// Opens or creates the keyspaces. fjall checks its own files here.
    pub(crate) fn open(folder: Folder, options: &EmbeddedOptions) -> Result<Files, OpenError> {
        let inspected = if folder.is_new() { None } else { Some(account::inspect(&folder)?) };
        let opened = catch_unwind(AssertUnwindSafe(|| open_keyspaces(&folder, options)));
        let (db, data, ranges, meta) = match opened {
            Ok(Ok(open)) => open,
            Ok(Err(fjall::Error::Locked)) => {
                return Err(OpenError::Locked { path: folder.path().to_owned() });
            }
            Ok(Err(fjall::Error::Io(source))) => {
                return Err(OpenError::Io { path: folder.path().to_owned(), source });
            }
            Ok(Err(error)) => return Err(folder.corrupt(format!("{error:?}"))),
            Err(_) => return Err(folder.corrupt("its files cannot be read back")),
        };
        let slow_micros = AtomicU64::new(0);
        let files = Files { db, data, ranges, meta, folder, slow_micros };
        match inspected {
            Some(inspected) => files.check(&inspected)?,
            None => {
                let account = Account { commit: 0, journal: 0, is_clean: false };
                account::write(&files.folder, account).map_err(|source| OpenError::Io {
                    path: files.folder.path().to_owned(),
                    source,
                })?;
                files.create().map_err(|e| files.folder.corrupt(format!("{e:?}")))?;
                files.folder.mark_ready()?;
            }
        }
        Ok(files)
    }

    /// Refuses a store that has lost its last commits.
    fn check(&self, inspected: &Inspected) -> Result<(), OpenError> {
        // A store without its first record is not asked for its last one.
        self.next_number()?;
        let last = self.last_commit()?;
        inspected.check(&self.folder, last)?;
        inspected.resume(&self.folder, last)?;
        self.end_ingestion()
    }

    /// Ends a commit that the end of the process has interrupted: its range deletes are there if
    /// its writes are.
    fn end_ingestion(&self) -> Result<(), OpenError> {
        let corrupt = |error: fjall::Error| self.folder.corrupt(error.to_string());
        let Some(stored) = self.meta.get(INGESTION).map_err(corrupt)? else { return Ok(()) };
        let ingestion = Ingestion::decode(&stored)
            .ok_or_else(|| self.folder.corrupt("the record of an ingestion is malformed"))?;
        let found = self.data.get(&ingestion.key).map_err(corrupt)?;
        let is_there =
            found.is_some_and(|value| decode_value(&value).is_ok_and(|v| v.0 == ingestion.number));
        let mut batch = self.db.batch();
        batch.remove(&self.meta, INGESTION);
        for tombstone in ingestion.tombstones.iter().filter(|_| is_there) {
            self.put_tombstone(&mut batch, tombstone);
        }
        batch.commit().and_then(|()| self.db.persist(PersistMode::SyncAll)).map_err(corrupt)
    }

    /// The last commit; none in a store that a version without commit records has written.
    pub(crate) fn last_commit(&self) -> Result<Option<Commit>, OpenError> {
        let stored = self.meta.get(COMMIT).map_err(|e| self.folder.corrupt(e.to_string()))?;
        let Some(bytes) = stored else { return Ok(None) };
        match account::decode_commit(&bytes) {
            None => Err(self.folder.corrupt("the commit record is malformed")),
            commit => Ok(commit),
        }
    }

    /// Writes what every database has, so that its absence later is a sign of damage: fjall takes
    /// a journal with a broken start for one that was never written.
    fn create(&self) -> fjall::Result<()> {
        self.meta.insert(NUMBERS, 1u64.to_be_bytes())?;
        self.db.persist(PersistMode::SyncAll)
    }

    /// The first commit number that was never used.
    pub(crate) fn next_number(&self) -> Result<u64, OpenError> {
        let stored = self.meta.get(NUMBERS).map_err(|e| self.folder.corrupt(e.to_string()))?;
        match stored {
            None => Err(self.folder.corrupt("the reserved commit number is missing")),
            Some(bytes) => <[u8; 8]>::try_from(&*bytes)
                .map(u64::from_be_bytes)
                .map_err(|_| self.folder.corrupt("the reserved commit number is malformed")),
        }
    }

    /// The range tombstones that are still needed.
    pub(crate) fn tombstones(&self) -> Result<Vec<Arc<Tombstone>>, OpenError> {
        let mut all = Vec::new();
        for entry in self.ranges.iter() {
            let (key, value) =
                entry.into_inner().map_err(|e| self.folder.corrupt(e.to_string()))?;
            let tombstone = decode_tombstone(&key, &value)
                .ok_or_else(|| self.folder.corrupt("a range tombstone is malformed"))?;
            all.push(Arc::new(tombstone));
        }
        Ok(all)
    }

    /// Writes a range tombstone as part of a batch.
    pub(crate) fn put_tombstone(&self, batch: &mut fjall::OwnedWriteBatch, tombstone: &Tombstone) {
        batch.insert(&self.ranges, tombstone_key(tombstone), tombstone_value(tombstone));
    }

    /// Reads every entry of every keyspace; how many there are.
    pub(crate) fn read_all(&self) -> Result<u64, Error> {
        let mut entries = 0;
        for keyspace in [&self.data, &self.ranges, &self.meta] {
            for entry in keyspace.iter() {
                entry.into_inner().map_err(storage_error)?;
                entries += 1;
            }
        }
        Ok(entries)
    }

    /// Records as part of a batch which commit is its last.
    pub(crate) fn record_commit(&self, batch: &mut fjall::OwnedWriteBatch, commit: Commit) {
        batch.insert(&self.meta, COMMIT, account::encode_commit(commit).as_slice());
    }

    /// Reserves commit numbers up to `end` as part of a batch.
    pub(crate) fn reserve_numbers(&self, batch: &mut fjall::OwnedWriteBatch, end: u64) {
        batch.insert(&self.meta, NUMBERS, end.to_be_bytes().as_slice());
    }
}

type Open = (Database, Keyspace, Keyspace, Keyspace);

fn open_keyspaces(folder: &Folder, options: &EmbeddedOptions) -> fjall::Result<Open> {
    let db = Database::builder(folder.store())
        .cache_size(options.cache_bytes)
        .journal_compression(CompressionType::None)
        .worker_threads(WORKERS)
        .open()?;
    let data = db.keyspace("data", || {
        KeyspaceCreateOptions::default()
            .data_block_hash_ratio_policy(HashRatioPolicy::all(0.75))
            .filter_block_pinning_policy(PinningPolicy::all(true))
            .index_block_pinning_policy(PinningPolicy::all(true))
            .data_block_compression_policy(CompressionPolicy::new([
                CompressionType::None,
                CompressionType::None,
                CompressionType::None,
                CompressionType::None,
                CompressionType::Lz4,
            ]))
    })?;
    let small = || KeyspaceCreateOptions::default().max_memtable_size(4 << 20);
    let ranges = db.keyspace("ranges", small)?;
    let meta = db.keyspace("meta", small)?;
    Ok((db, data, ranges, meta))
}

/// Makes `stored` a value as it is stored.
pub(crate) fn encode_value(stored: &mut Vec<u8>, number: u64, value: &[u8]) {
    stored.clear();
    stored.extend_from_slice(&number.to_le_bytes());
    stored.extend_from_slice(value);
}

/// The commit number of a stored value, and the value.
#[inline]
pub(crate) fn decode_value(stored: &[u8]) -> Result<(u64, &[u8]), Error> {
    match stored.split_first_chunk::<NUMBER_BYTES>() {
        Some((number, value)) => Ok((u64::from_le_bytes(*number), value)),
        None => Err(Error::Corrupt("a stored value is too short".into())),
    }
}

/// An error of fjall in our words.
pub(crate) fn storage_error(error: fjall::Error) -> Error {
    match error {
        fjall::Error::Io(e) if e.kind() == std::io::ErrorKind::StorageFull => {
            Error::DiskFull(e.to_string().into())
        }
        fjall::Error::Storage(e) => Error::Storage(format!("{e:?}").into()),
        other => Error::Storage(format!("{other:?}").into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use braid_kv::Span;
    use std::path::Path;

    /// The process ends after the record: the range deletes hold if the writes are there.
    #[test]
    fn the_next_start_ends_a_commit_by_its_record() {
        let open = |path: &Path| {
            let folder = Folder::take(path).expect("the folder is free");
            Files::open(folder, &EmbeddedOptions::default()).expect("is opened")
        };
        for (number, is_there) in [(5, true), (6, false)] {
            let dir = tempfile::tempdir().expect("a folder");
            let files = open(dir.path());
            let mut batch = files.db.batch();
            let mut stored = Vec::new();
            encode_value(&mut stored, 5, b"put");
            batch.insert(&files.data, "key", stored.as_slice());
            let tombstones = vec![Tombstone { number, index: 0, span: Span::new("a", "b") }];
            let record = Ingestion { number, key: b"key".to_vec(), tombstones: tombstones.clone() };
            batch.insert(&files.meta, INGESTION, record.encode());
            batch.commit().expect("is written");
            files.db.persist(PersistMode::SyncAll).expect("is synced");
            drop(files);
            for _ in 0..2 {
                let files = open(dir.path());
                let found = files.tombstones().expect("are read");
                let found: Vec<Tombstone> = found.iter().map(|t| t.as_ref().clone()).collect();
                assert_eq!(found == tombstones, is_there);
                assert_eq!(found.is_empty(), !is_there);
                assert!(files.meta.get(INGESTION).expect("is read").is_none());
            }
        }
    }
}

//! One bulk load, from its first pair to the view that shows it.

use super::{sorter::Sorter, watch::Watch};
use crate::{
    committer::{Chore, Pause},
    files::{NUMBER_BYTES, decode_value, storage_error},
    key_head::shared_bytes,
    shared::Shared,
};
use braid_kv::{BulkLoad, Error, Key, Loaded, Result, Span, Value};
use fjall::PersistMode;
use std::{
    collections::BTreeMap,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering::Relaxed},
        mpsc,
    },
};

/// Pairs that are written between two looks at the switch that stops a load.
const LOOK_EVERY: u64 = 1_024;
/// The tables of a load are written once, and compaction may write them again.
const ROOM_FACTOR: u64 = 2;

struct Load {
    shared: Arc<Shared>,
    watch: Arc<Watch>,
    sorter: Sorter,
}

/// Begins a load: from here on commits in the span are noted.
pub(crate) async fn begin(shared: &Arc<Shared>, span: Span) -> Result<Option<Box<dyn BulkLoad>>> {
    shared.check_running()?;
    let prefix = shared_bytes(&span.start, &span.end);
    let watch = Arc::new(Watch::new(span));
    let sorter = Sorter::new(shared.files.folder.temporary(), prefix);
    // Made first, so that the watch ends however this ends.
    let load = Load { shared: shared.clone(), watch: watch.clone(), sorter };
    let begun = shared.queue.push_chore(Chore::Watch(watch)).await;
    shared.check_running()?;
    Ok(begun.is_ok().then(|| Box::new(load) as Box<dyn BulkLoad>))
}

impl Drop for Load {
    fn drop(&mut self) {
        self.shared.watches.end(&self.watch);
    }
}

impl BulkLoad for Load {
    fn add(&mut self, key: &[u8], value: &[u8]) {
        debug_assert!(self.watch.span.contains(key), "a pair outside of the load's span");
        self.sorter.add(key, value);
    }

    fn memory_bytes(&self) -> usize {
        self.sorter.memory_bytes()
    }

    fn spill(&mut self) -> Result<()> {
        self.check_room()?;
        self.sorter.spill()
    }

    fn finish(
        mut self: Box<Self>,
        stop: &AtomicBool,
        gate: &mut dyn FnMut() -> bool,
    ) -> Result<Loaded> {
        self.check_room()?;
        // Before anything is written: a table that is cut short stays until the next start.
        if let Some(twice) = self.find_twice(stop)? {
            return Ok(twice);
        }
        let files = self.shared.files.clone();
        let mut ingestion = files.data.start_ingestion().map_err(storage_error)?;
        let number = self.watch.number().to_le_bytes();
        let mut stored = Vec::new();
        let mut written = 0;
        self.sorter.walk(&mut |key, value| {
            stored.clear();
            stored.extend_from_slice(&number);
            stored.extend_from_slice(value);
            ingestion.write(key, stored.as_slice()).map_err(storage_error)?;
            written += 1;
            Ok(written % LOOK_EVERY != 0 || !stop.load(Relaxed))
        })?;
        if stop.load(Relaxed) {
            return Ok(Loaded::Stopped);
        }
        // What is in memory now need not be flushed while the committer waits.
        files.flush_data()?;
        if !gate() || stop.load(Relaxed) {
            return Ok(Loaded::Stopped);
        }
        // The span is locked: nothing is added any more.
        let Some(seen) = self.watch.seen() else { return Ok(Loaded::Overtaken) };
        let (ready, is_ready) = mpsc::sync_channel(1);
        let (done, is_done) = mpsc::channel();
        let pause = Pause { span: self.watch.span.clone(), ready, done: is_done };
        let published = self.shared.queue.push_chore(Chore::Load(pause));
        if is_ready.recv().is_err() {
            self.shared.check_running()?;
            return Ok(Loaded::Stopped);
        }
        let ended = ingestion.finish().map_err(storage_error);
        let restored = ended.and_then(|()| self.restore(seen));
        let _ = done.send(restored.is_ok());
        let _ = published.blocking_recv();
        self.shared.check_running()?;
        restored.map(Loaded::Visible)
    }
}

impl Load {
    fn check_room(&self) -> Result<()> {
        let needed = self.sorter.bytes + self.sorter.count * NUMBER_BYTES as u64;
        let folder = &self.shared.files.folder;
        let reserve = self.shared.options.disk_reserve_bytes;
        let lacking = folder.lacks_room(reserve, needed.saturating_mul(ROOM_FACTOR));
        lacking.map_or(Ok(()), |why| Err(Error::DiskFull(why.into())))
    }

    /// Two pairs with the same key, if there are any.
    fn find_twice(&mut self, stop: &AtomicBool) -> Result<Option<Loaded>> {
        if self.sorter.has_twice() == Some(false) {
            return Ok(None);
        }
        let mut last: Option<(Key, Vec<u8>)> = None;
        let mut found = None;
        let mut looked = 0;
        self.sorter.walk(&mut |key, value| {
            looked += 1;
            if looked % LOOK_EVERY == 0 && stop.load(Relaxed) {
                found = Some(Loaded::Stopped);
                return Ok(false);
            }
            let (last_key, last_value) = last.get_or_insert_default();
            if looked > 1 && last_key == key {
                let values = [last_value.as_slice(), value].map(Value::copy_from_slice);
                found = Some(Loaded::Twice(key.to_vec(), values));
                return Ok(false);
            }
            last_key.clear();
            last_key.extend_from_slice(key);
            last_value.clear();
            last_value.extend_from_slice(value);
            Ok(true)
        })?;
        Ok(found)
    }

    /// Gives the keys that others have written what they had before the ingestion ended; each with
    /// its values.
    fn restore(&self, seen: BTreeMap<Key, Vec<Value>>) -> Result<Vec<(Key, Vec<Value>)>> {
        let files = &self.shared.files;
        let before = self.shared.current();
        let mut batch = files.db.batch();
        let mut overlapped = Vec::with_capacity(seen.len());
        for (key, mut values) in seen {
            let own = files.data.get(&key).map_err(storage_error)?;
            let theirs = before.0.stored(&key)?;
            if let Some(own) = own.filter(|own| theirs.as_ref() != Some(own)) {
                values.push(Value::copy_from_slice(decode_value(&own)?.1));
            }
            match theirs {
                Some(stored) => batch.insert(&files.data, key.as_slice(), stored),
                None => batch.remove(&files.data, key.as_slice()),
            }
            overlapped.push((key, values));
        }
        batch.durability(Some(PersistMode::Buffer)).commit().map_err(storage_error)?;
        Ok(overlapped)
    }
}

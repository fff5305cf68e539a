//! Removal of what nobody can see any more.

use super::key_table::{KeyTable, range};
use super::model::{Ts, WriteKind};

impl KeyTable {
    /// Removes every version that no reader at or above the safe point sees; how many.
    pub fn collect_garbage(&mut self, safe_point: Ts) -> usize {
        let mut removed = 0;
        self.keys.retain(|_, versions| {
            let mut is_covered = false;
            let mut gone = Vec::new();
            for (ts, write) in versions.writes.range(..=safe_point).rev() {
                let is_needed = !is_covered && write.kind == WriteKind::Put;
                is_covered |= matches!(write.kind, WriteKind::Put | WriteKind::Delete);
                if !is_needed {
                    gone.push(*ts);
                }
            }
            removed += gone.len();
            for ts in gone {
                versions.writes.remove(&ts);
            }
            versions.lock.is_some() || !versions.writes.is_empty()
        });
        removed
    }

    /// Removes everything in `[start, end)`, locks and all versions. An empty end is the end of
    /// all.
    pub fn destroy_range(&mut self, start: &[u8], end: &[u8]) {
        let gone: Vec<_> = range(&self.keys, start, end).map(|(key, _)| key.clone()).collect();
        for key in gone {
            self.keys.remove(&key);
        }
    }

    /// How many keys of `[start, end)` have anything at all.
    pub fn keys_in(&self, start: &[u8], end: &[u8]) -> usize {
        range(&self.keys, start, end).count()
    }

    /// How many keys and versions there are.
    pub fn size(&self) -> (usize, usize) {
        (self.keys.len(), self.keys.values().map(|versions| versions.writes.len()).sum())
    }
}

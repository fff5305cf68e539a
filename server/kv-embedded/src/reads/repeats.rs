//! Which lookups come again: only those are worth their place in the range cache.
//!
//! A table of fingerprints, one for each slot: a lookup leaves its own there, and comes again if it
//! finds it. So a lookup that comes once costs a hash and a word of memory, and leaves nothing in
//! the cache. The idea is the doorkeeper of TinyLFU (Einziger, Friedman and Manes: "TinyLFU: A
//! Highly Efficient Cache Admission Policy", 2017), with the newest fingerprint of each slot
//! instead of a Bloom filter that is emptied now and then.

use std::sync::atomic::{AtomicU32, Ordering::Relaxed};
use xxhash_rust::xxh3::xxh3_64;

/// Slots: 1 MiB.
const SLOTS: usize = 1 << 18;

/// The fingerprints of recent lookups.
pub(crate) struct Repeats {
    slots: Box<[AtomicU32]>,
}

impl Repeats {
    pub(crate) fn new() -> Repeats {
        Repeats { slots: (0..SLOTS).map(|_| AtomicU32::new(0)).collect() }
    }

    /// Notes a lookup that began at `key`; true if it is the second one of its place since the
    /// last time that this was true.
    pub(crate) fn note(&self, key: &[u8]) -> bool {
        let hash = xxh3_64(key);
        let slot = &self.slots[hash as usize % SLOTS];
        // Zero is the fingerprint of nothing.
        let fingerprint = (hash >> 32) as u32 | 1;
        let comes_again = slot.load(Relaxed) == fingerprint;
        slot.store(if comes_again { 0 } else { fingerprint }, Relaxed);
        comes_again
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_second_lookup_of_a_place_comes_again() {
        let repeats = Repeats::new();
        assert!(!repeats.note(b"a") && !repeats.note(b"b"));
        assert!(repeats.note(b"a") && repeats.note(b"b"));
        assert!(!repeats.note(b"a"));
        assert!(repeats.note(b"a"));
    }

    #[test]
    fn others_seldom_take_a_lookup_s_slot() {
        let repeats = Repeats::new();
        let keys: Vec<[u8; 4]> = (0..10_000_u32).map(u32::to_be_bytes).collect();
        assert_eq!(keys.iter().filter(|key| repeats.note(*key)).count(), 0);
        let again = keys.iter().filter(|key| repeats.note(*key)).count();
        assert!(again > 9_500, "{again}");
    }
}

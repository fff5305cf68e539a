//! Samples of the keys of a long batch, so that a search in it touches little memory.
//!
//! ```text
//!   keys      t1/0001  t1/0007  t1/0012  t1/0019  t1/0020  …     all begin with "t1/00"
//!   samples      01 ─────────────────────── 19 ─────────── …     every n-th, as one number each
//! ```
//!
//! A binary search over a batch of thousands of entries reads a key far from the last one at each
//! step, and nearly each is a cache miss. The samples of 4,096 entries are 2 KiB in one piece; a
//! search among them leaves a few neighbouring entries to be compared.

use crate::key_head::{head, shared_bytes};
use braid_kv::ScanBatch;

/// How many entries there are for one sample.
const ENTRIES: usize = 16;

/// Samples of the keys of one batch in key order.
pub(crate) struct KeySamples {
    /// How many bytes at the beginning of all keys are the same.
    prefix: usize,
    /// The bytes after that prefix of each sampled key, filled with zeroes at the end.
    samples: Box<[u64]>,
}

impl KeySamples {
    /// The samples of a batch.
    pub(crate) fn of(batch: &ScanBatch) -> KeySamples {
        let Some(last) = batch.len().checked_sub(1) else {
            return KeySamples { prefix: 0, samples: Box::default() };
        };
        let prefix = shared_bytes(batch.key(0), batch.key(last));
        let sampled = (0..batch.len()).step_by(ENTRIES);
        let samples = sampled.map(|at| head(batch.key(at), prefix)).collect();
        KeySamples { prefix, samples }
    }

    /// How much memory the samples take, in bytes.
    pub(crate) fn memory_bytes(&self) -> usize {
        size_of_val(&*self.samples)
    }

    /// Where the first entry at or after `key` is in the batch that was sampled.
    pub(crate) fn lower_bound(&self, batch: &ScanBatch, key: &[u8]) -> usize {
        if self.samples.is_empty() {
            return 0;
        }
        let prefix = &batch.key(0)[..self.prefix];
        if !key.starts_with(prefix) {
            return if key < prefix { 0 } else { batch.len() };
        }
        let wanted = head(key, self.prefix);
        // Keys with equal samples may be in any order to each other.
        let less = self.samples.partition_point(|sample| *sample < wanted);
        let not_more = less + self.samples[less..].partition_point(|sample| *sample == wanted);
        let low = less.checked_sub(1).map_or(0, |at| at * ENTRIES + 1);
        batch.lower_bound_in(low..(not_more * ENTRIES).min(batch.len()), key)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use braid_kv::BatchBuilder;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    /// Keys of few different bytes, so that prefixes are long and samples are often equal.
    fn keys() -> impl Strategy<Value = BTreeSet<Vec<u8>>> {
        let byte = prop::sample::select(vec![0, 1, 255]);
        let key = prop::collection::vec(byte, 0..12);
        (prop::collection::vec(any::<u8>(), 0..3), prop::collection::btree_set(key, 0..200))
            .prop_map(|(prefix, keys)| keys.iter().map(|key| [&prefix[..], key].concat()).collect())
    }

    proptest! {
        #[test]
        fn a_bound_by_samples_is_that_of_a_binary_search(keys in keys(), others in keys()) {
            let mut out = BatchBuilder::default();
            keys.iter().for_each(|key| out.push(key, &[]));
            let batch = out.finish(None);
            let samples = KeySamples::of(&batch);
            for key in keys.iter().chain(&others) {
                prop_assert_eq!(samples.lower_bound(&batch, key), batch.lower_bound(key));
            }
        }
    }
}

//! What the last schema changes have changed: stored beside the version, so that a cached catalog
//! is brought up to date by reading the descriptors that have changed and no others.
//!
//! ```text
//!   cached: version 7      stored: version 9, changes 8: {51}, 9: {51, 60}
//!   read descriptors 51 and 60, the rest of version 9 is that of version 7
//! ```
//!
//! Rule: the list is complete. A version that it lacks is loaded as a whole.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use crate::Id;

/// How many changes are kept. A gateway that looks every 200 ms rarely misses as many.
const CHANGES_MAX: usize = 32;
/// The most ids of all kept changes together. Each read of the version reads them as well.
const IDS_MAX: usize = 256;

/// A schema change.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Change {
    /// The version that it has made.
    version: u64,
    /// The descriptors that it has written or deleted.
    ids: Vec<Id>,
}

/// The changes before a version, followed by the one that makes it.
pub(crate) fn followed_by(before: &[Change], version: u64, ids: &BTreeSet<Id>) -> Vec<Change> {
    let mut all = before.to_vec();
    all.push(Change { version, ids: ids.iter().copied().collect() });
    let (mut kept, mut count) = (0, 0);
    for change in all.iter().rev().take(CHANGES_MAX) {
        count += change.ids.len();
        if count > IDS_MAX {
            break;
        }
        kept += 1;
    }
    all.split_off(all.len() - kept)
}

/// What has changed between two versions; `None` if that is not known any more.
pub(crate) fn between(changes: &[Change], from: u64, to: u64) -> Option<BTreeSet<Id>> {
    let inside = changes.iter().filter(|change| from < change.version && change.version <= to);
    let inside: Vec<&Change> = inside.collect();
    let is_complete = inside.len() as u64 == to.checked_sub(from)?;
    is_complete.then(|| inside.into_iter().flat_map(|change| &change.ids).copied().collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_that_is_not_complete_says_so() {
        let mut changes = Vec::new();
        for version in 1..=100u64 {
            let ids = BTreeSet::from([version as Id, 7]);
            changes = followed_by(&changes, version, &ids);
        }
        assert_eq!(changes.len(), CHANGES_MAX);
        assert_eq!(between(&changes, 98, 100), Some(BTreeSet::from([7, 99, 100])));
        assert_eq!(between(&changes, 100, 100), Some(BTreeSet::new()));
        assert_eq!(between(&changes, 50, 100), None, "the first ones are forgotten");
        assert_eq!(between(&changes, 99, 101), None, "the last one is not there yet");
    }

    #[test]
    fn a_large_change_is_not_listed() {
        let few = followed_by(&[], 1, &BTreeSet::from([1]));
        let many = followed_by(&few, 2, &(0..1_000).collect());
        assert_eq!(between(&many, 1, 2), None);
        let next = followed_by(&many, 3, &BTreeSet::from([5]));
        assert_eq!(between(&next, 2, 3), Some(BTreeSet::from([5])));
    }
}

//! What is known of regions: their bounds, their epoch, who leads them.
//!
//! It may be out of date at any time. A store that was asked wrongly says so, then the entry goes
//! and PD is asked again.

use super::{pd::Located, region_key};
use braid_kv::{Error, Key, Result};
use braid_tikv_proto::metapb::{Peer, RegionEpoch};
use parking_lot::Mutex;
use std::{
    collections::BTreeMap,
    ops::Bound::{Excluded, Included, Unbounded},
    sync::Arc,
};

/// One region. Its bounds are keys as stores take them; an empty end is no end.
#[derive(Debug)]
pub(crate) struct Region {
    pub id: u64,
    pub epoch: RegionEpoch,
    pub start: Key,
    pub end: Key,
    pub leader: Peer,
    peers: Vec<Peer>,
}

impl Region {
    /// A region as PD reports it. Without a leader any peer is tried: it knows the leader.
    pub(crate) fn new(located: Located) -> Result<Region> {
        let region = located.region;
        let bound = |bound: &[u8]| match bound.is_empty() {
            true => Ok(Vec::new()),
            false => region_key::decode(bound).ok_or_else(|| {
                Error::Storage("a bound of a region is not a key of transactions".into())
            }),
        };
        let (start, end) = (bound(&region.start_key)?, bound(&region.end_key)?);
        let leader = located.leader.filter(|p| p.id != 0).or_else(|| region.peers.first().copied());
        let leader = leader.ok_or_else(|| Error::Storage("a region has no peers".into()))?;
        let epoch = region.region_epoch.unwrap_or_default();
        Ok(Region { id: region.id, epoch, start, end, leader, peers: region.peers })
    }

    /// Whether the region contains the key.
    pub(crate) fn contains(&self, key: &[u8]) -> bool {
        self.start.as_slice() <= key && (self.end.is_empty() || key < self.end.as_slice())
    }

    /// Whether the keys just below `end` lie inside.
    pub(crate) fn ends_after(&self, end: &[u8]) -> bool {
        self.start.as_slice() < end && (self.end.is_empty() || end <= self.end.as_slice())
    }

    fn led_by(&self, leader: Peer) -> Region {
        let (start, end, peers) = (self.start.clone(), self.end.clone(), self.peers.clone());
        Region { id: self.id, epoch: self.epoch, start, end, leader, peers }
    }
}

/// The known regions, by their start.
#[derive(Default)]
pub(crate) struct RegionCache {
    by_start: Mutex<BTreeMap<Key, Arc<Region>>>,
}

impl RegionCache {
    /// The region of a key, if it is known.
    pub(super) fn find(&self, key: &[u8]) -> Option<Arc<Region>> {
        let by_start = self.by_start.lock();
        let (_, region) = by_start.range::<[u8], _>((Unbounded, Included(key))).next_back()?;
        region.contains(key).then(|| region.clone())
    }

    /// The region of the keys just below `end`, if it is known.
    pub(super) fn find_before(&self, end: &[u8]) -> Option<Arc<Region>> {
        let by_start = self.by_start.lock();
        let (_, region) = by_start.range::<[u8], _>((Unbounded, Excluded(end))).next_back()?;
        region.ends_after(end).then(|| region.clone())
    }

    /// Enters a region in place of everything that overlaps it.
    pub(super) fn enter(&self, region: Region) -> Arc<Region> {
        let region = Arc::new(region);
        let mut by_start = self.by_start.lock();
        by_start.retain(|_, other| {
            let before = !other.end.is_empty() && other.end <= region.start;
            let after = !region.end.is_empty() && region.end <= other.start;
            before || after
        });
        by_start.insert(region.start.clone(), region.clone());
        region
    }

    /// Drops what is known of a region, unless it was already learned again.
    pub(super) fn forget(&self, region: &Arc<Region>) {
        let mut by_start = self.by_start.lock();
        if by_start.get(&region.start).is_some_and(|known| Arc::ptr_eq(known, region)) {
            by_start.remove(&region.start);
        }
    }

    /// Another peer leads.
    pub(super) fn set_leader(&self, region: &Arc<Region>, leader: Peer) {
        let mut by_start = self.by_start.lock();
        if let Some(known) = by_start.get_mut(&region.start)
            && Arc::ptr_eq(known, region)
        {
            *known = Arc::new(region.led_by(leader));
        }
    }

    /// The next peer is tried, which may know the leader.
    pub(super) fn try_next_peer(&self, region: &Arc<Region>) {
        let at = region.peers.iter().position(|p| p.id == region.leader.id).unwrap_or(0);
        if let Some(next) = region.peers.get((at + 1) % region.peers.len().max(1)) {
            self.set_leader(region, *next);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn region(id: u64, start: &str, end: &str) -> Region {
        let leader = Peer { id: 1, store_id: 1, ..Peer::default() };
        let (start, end) = (start.into(), end.into());
        Region { id, epoch: RegionEpoch::default(), start, end, leader, peers: vec![leader] }
    }

    #[test]
    fn a_new_region_replaces_what_it_overlaps() {
        let cache = RegionCache::default();
        cache.enter(region(1, "", "m"));
        cache.enter(region(2, "m", ""));
        assert_eq!(cache.find(b"m").unwrap().id, 2);
        assert_eq!(cache.find_before(b"m").unwrap().id, 1);
        cache.enter(region(3, "f", "p"));
        assert!(cache.find(b"a").is_none() && cache.find(b"z").is_none());
        assert_eq!(cache.find(b"n").unwrap().id, 3);
        assert!(cache.find_before(b"f").is_none());
    }

    #[test]
    fn only_what_was_meant_is_forgotten() {
        let cache = RegionCache::default();
        let old = cache.enter(region(1, "", ""));
        cache.enter(region(1, "", ""));
        cache.forget(&old);
        assert!(cache.find(b"x").is_some());
    }
}

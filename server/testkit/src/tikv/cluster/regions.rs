//! Which store serves which keys: regions with epochs and leaders, splits and moves.
//!
//! Borders are kept as PD shows them (see [`super::keys`]); an empty one is the end of all keys.

use std::collections::{BTreeMap, VecDeque};
use std::ops::Bound;
use std::time::{Duration, Instant};

use super::region_key::{decode, encode};
use crate::tikv::engine::Ts;

/// The cluster's number.
pub(crate) const CLUSTER_ID: u64 = 7_411_021;

/// A store.
#[derive(Clone, Debug)]
pub(crate) struct Store {
    /// Its number.
    pub id: u64,
    /// Where it listens.
    pub address: String,
    /// Whether it answers.
    pub is_up: bool,
    /// The highest timestamp read at; later async commits are above it.
    pub max_ts: Ts,
}

/// A part of the keys.
#[derive(Clone, Debug)]
pub(crate) struct Region {
    /// Its number.
    pub id: u64,
    /// First key.
    pub start: Vec<u8>,
    /// Behind the last key.
    pub end: Vec<u8>,
    /// Grows when peers change.
    pub conf_ver: u64,
    /// Grows with splits.
    pub version: u64,
    /// Grows with elections.
    pub term: u64,
    /// Peer and store.
    pub peers: Vec<(u64, u64)>,
    /// The store that serves it; `None` during an election.
    pub leader: Option<u64>,
    /// Until then the new leader does not know how far others have read.
    pub unsynced_until: Option<Instant>,
}

/// What a request says about where it thinks to be.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Place {
    /// The store that it names; zero: none.
    pub store: u64,
    /// The region.
    pub region: u64,
    /// Its version.
    pub version: u64,
    /// The term; zero: any.
    pub term: u64,
}

/// Why a store does not serve a request.
#[derive(Clone, Debug)]
pub(crate) enum RegionError {
    /// Another one leads, or nobody does.
    NotLeader {
        /// Which region.
        region: u64,
        /// Peer and store of the leader.
        leader: Option<(u64, u64)>,
    },
    /// It has no such region.
    RegionNotFound(u64),
    /// The region was split: what is there now.
    EpochNotMatch(Vec<Region>),
    /// Another region has the key.
    KeyNotInRegion,
    /// Later.
    ServerIsBusy,
    /// There was an election since.
    StaleCommand,
    /// It is another store.
    StoreNotMatch {
        /// Named by the request.
        asked: u64,
        /// This one.
        actual: u64,
    },
    /// A new leader that does not know yet how far others have read.
    MaxTimestampNotSynced,
    /// It may have been done.
    Undetermined,
}

impl Region {
    /// Whether the key, as a border, is in it.
    pub(crate) fn has(&self, encoded: &[u8]) -> bool {
        *self.start <= *encoded && (self.end.is_empty() || *encoded < *self.end)
    }

    /// First key and the key after the last one, as in requests.
    pub(crate) fn keys(&self) -> (Vec<u8>, Vec<u8>) {
        // Every border comes from `encode`, except for the empty ends.
        (decode(&self.start).unwrap_or_default(), decode(&self.end).unwrap_or_default())
    }

    /// Peer and store of the leader.
    pub(crate) fn leader_peer(&self) -> Option<(u64, u64)> {
        self.peers.iter().copied().find(|(_, store)| Some(*store) == self.leader)
    }
}

/// Regions by their start.
#[derive(Clone, Debug, Default)]
pub(crate) struct Regions(BTreeMap<Vec<u8>, Region>);

impl Regions {
    /// All regions in key order.
    pub(crate) fn all(&self) -> impl DoubleEndedIterator<Item = &Region> {
        self.0.values()
    }

    /// The region of a border.
    pub(crate) fn of(&self, encoded: &[u8]) -> &Region {
        let until = (Bound::Unbounded, Bound::Included(encoded));
        let mut until = self.0.range::<[u8], _>(until);
        until.next_back().map(|(_, region)| region).expect("the first region starts at no key")
    }

    /// The region before that of a border.
    pub(crate) fn before(&self, encoded: &[u8]) -> Option<&Region> {
        let start = self.of(encoded).start.clone();
        self.0.range(..start).next_back().map(|(_, region)| region)
    }

    /// A region.
    pub(crate) fn get(&self, id: u64) -> Option<&Region> {
        self.0.values().find(|region| region.id == id)
    }
}

/// Stores and regions.
#[derive(Debug)]
pub(crate) struct Cluster {
    stores: BTreeMap<u64, Store>,
    regions: Regions,
    /// What PD has not heard of yet: the regions as they were, and until when it thinks so.
    unheard: VecDeque<(Instant, Regions)>,
    /// How long news take to PD.
    pub pd_lag: Duration,
    last_id: u64,
}

impl Cluster {
    /// One region on these stores; the first one leads.
    pub(crate) fn new(addresses: &[String]) -> Self {
        let mut cluster = Cluster {
            stores: BTreeMap::new(),
            regions: Regions::default(),
            unheard: VecDeque::new(),
            pd_lag: Duration::ZERO,
            last_id: 0,
        };
        for address in addresses {
            let id = cluster.new_id();
            let store = Store { id, address: address.clone(), is_up: true, max_ts: 0 };
            cluster.stores.insert(id, store);
        }
        let id = cluster.new_id();
        let stores: Vec<_> = cluster.stores.keys().copied().collect();
        let peers = stores.iter().map(|store| (cluster.new_id(), *store)).collect();
        let region = Region {
            id,
            start: Vec::new(),
            end: Vec::new(),
            conf_ver: 1,
            version: 1,
            term: 1,
            peers,
            leader: stores.first().copied(),
            unsynced_until: None,
        };
        cluster.regions.0.insert(Vec::new(), region);
        cluster
    }

    /// All stores.
    pub(crate) fn stores(&self) -> impl Iterator<Item = &Store> {
        self.stores.values()
    }

    /// A store.
    pub(crate) fn store(&mut self, id: u64) -> Option<&mut Store> {
        self.stores.get_mut(&id)
    }

    /// The regions as they are.
    pub(crate) fn regions(&self) -> &Regions {
        &self.regions
    }

    /// The regions as PD knows them.
    pub(crate) fn regions_of_pd(&mut self) -> &Regions {
        let now = Instant::now();
        while self.unheard.front().is_some_and(|(until, _)| *until <= now) {
            self.unheard.pop_front();
        }
        self.unheard.front().map_or(&self.regions, |(_, regions)| regions)
    }

    /// To be called before a change: PD hears of it later.
    fn remember(&mut self) {
        if !self.pd_lag.is_zero() {
            self.unheard.push_back((Instant::now() + self.pd_lag, self.regions.clone()));
        }
    }

    fn region_mut(&mut self, id: u64) -> Option<&mut Region> {
        self.regions.0.values_mut().find(|region| region.id == id)
    }

    /// Whether the store serves the request; the region, if so.
    pub(crate) fn check(
        &self,
        store: u64,
        place: Place,
        keys: &[&[u8]],
    ) -> Result<&Region, RegionError> {
        if place.store != 0 && place.store != store {
            return Err(RegionError::StoreNotMatch { asked: place.store, actual: store });
        }
        let region = self.regions.get(place.region);
        let region = region.ok_or(RegionError::RegionNotFound(place.region))?;
        if !region.peers.iter().any(|(_, at)| *at == store) {
            return Err(RegionError::RegionNotFound(place.region));
        }
        if region.leader != Some(store) {
            let leader = region.leader_peer();
            return Err(RegionError::NotLeader { region: region.id, leader });
        }
        // A real store allows for one election in between.
        if place.term != 0 && place.term + 1 < region.term {
            return Err(RegionError::StaleCommand);
        }
        if place.version != region.version {
            // It may have been split from this one: the right part keeps the number.
            let current = [Some(region), self.regions.before(&region.start)];
            return Err(RegionError::EpochNotMatch(
                current.into_iter().flatten().cloned().collect(),
            ));
        }
        match keys.iter().all(|key| region.has(&encode(key))) {
            true => Ok(region),
            false => Err(RegionError::KeyNotInRegion),
        }
    }

    /// Splits a region before that key. The right part keeps the number, as TiKV does it. The
    /// number of the left part; `None` if a border is there already.
    pub(crate) fn split(&mut self, key: &[u8]) -> Option<u64> {
        let at = encode(key);
        if self.regions.of(&at).start == at {
            return None;
        }
        self.remember();
        let right = self.regions.of(&at);
        let right_id = right.id;
        let mut left = right.clone();
        left.id = self.new_id();
        left.peers = left.peers.iter().map(|(_, store)| (self.new_id(), *store)).collect();
        left.version += 1;
        left.end = at.clone();
        let id = left.id;
        let mut right = self.regions.0.remove(&left.start)?;
        debug_assert_eq!(right.id, right_id);
        right.version += 1;
        right.start = at.clone();
        self.regions.0.insert(left.start.clone(), left);
        self.regions.0.insert(at, right);
        Some(id)
    }

    /// The region of a key takes in the one to its left, which must be on the same stores; false
    /// for the first region. Its leader does not know yet how far others have read on the left.
    pub(crate) fn merge(&mut self, key: &[u8], synced_at: Instant) -> bool {
        let at = encode(key);
        let Some(left) = self.regions.before(&at).cloned() else { return false };
        let start = self.regions.of(&at).start.clone();
        self.remember();
        let Some(mut whole) = self.regions.0.remove(&start) else { return false };
        self.regions.0.remove(&left.start);
        whole.version = whole.version.max(left.version) + 1;
        whole.start = left.start;
        whole.unsynced_until = Some(synced_at);
        self.regions.0.insert(whole.start.clone(), whole);
        true
    }

    /// Gives a region another leader: that store, or the next one that is up. The old one, if the
    /// leader has changed.
    pub(crate) fn move_leader(
        &mut self,
        region: u64,
        to: Option<u64>,
        synced_at: Instant,
    ) -> Option<Option<u64>> {
        let up: Vec<_> =
            self.stores.values().filter(|store| store.is_up).map(|store| store.id).collect();
        let old = self.regions.get(region)?.leader;
        let mut others = up.iter().copied().filter(|store| Some(*store) != old);
        let next = others.clone().find(|store| Some(*store) > old).or_else(|| others.next());
        let new = to.filter(|to| up.contains(to)).or(next)?;
        if old == Some(new) {
            return None;
        }
        self.remember();
        let region = self.region_mut(region)?;
        region.leader = Some(new);
        region.term += 1;
        region.unsynced_until = Some(synced_at);
        Some(old)
    }

    /// Takes the leader away until the next [`Cluster::move_leader`].
    pub(crate) fn depose(&mut self, region: u64) {
        self.remember();
        if let Some(region) = self.region_mut(region) {
            region.leader = None;
            region.term += 1;
        }
    }

    /// Whether the region's leader knows how far others have read. It learns it from the clock when
    /// its time has come.
    pub(crate) fn is_synced(
        &mut self,
        region: u64,
        now: Instant,
        clock: impl FnOnce() -> Ts,
    ) -> bool {
        let Some(region) = self.region_mut(region) else { return true };
        match region.unsynced_until {
            None => true,
            Some(until) if now < until => false,
            Some(_) => {
                region.unsynced_until = None;
                let leader = region.leader;
                if let Some(store) = leader.and_then(|leader| self.stores.get_mut(&leader)) {
                    store.max_ts = store.max_ts.max(clock());
                }
                true
            }
        }
    }

    fn new_id(&mut self) -> u64 {
        self.last_id += 1;
        self.last_id
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cluster() -> Cluster {
        Cluster::new(&["a:1".to_owned(), "b:1".to_owned(), "c:1".to_owned()])
    }

    fn place(cluster: &Cluster, key: &[u8]) -> (u64, Place) {
        let region = cluster.regions().of(&encode(key));
        let store = region.leader.expect("a leader");
        (store, Place { store, region: region.id, version: region.version, term: 0 })
    }

    #[test]
    fn a_split_changes_the_epoch_of_both_and_the_right_one_keeps_its_number() {
        let mut cluster = cluster();
        let (store, old) = place(&cluster, b"a");
        let left = cluster.split(b"m").expect("no border there");
        assert_eq!(cluster.split(b"m"), None);
        assert_eq!(cluster.regions().of(&encode(b"a")).id, left);
        assert_eq!(cluster.regions().of(&encode(b"m")).id, old.region);
        assert!(matches!(
            cluster.check(store, old, &[b"z"]),
            Err(RegionError::EpochNotMatch(regions)) if regions.len() == 2
        ));
        let (store, now) = place(&cluster, b"z");
        assert!(cluster.check(store, now, &[b"z"]).is_ok());
        assert!(matches!(
            cluster.check(store, now, &[b"z", b"a"]),
            Err(RegionError::KeyNotInRegion)
        ));
        let before = cluster.regions().before(&encode(b"z")).map(|region| region.id);
        assert_eq!(before, Some(left));
    }

    #[test]
    fn a_merge_changes_the_epoch_and_the_leader_has_to_sync() {
        let mut cluster = cluster();
        let now = Instant::now();
        assert!(!cluster.merge(b"a", now), "nothing is to the left");
        let left = cluster.split(b"m").expect("no border there");
        let (store, old) = place(&cluster, b"z");
        assert!(cluster.merge(b"z", now + Duration::from_secs(1)));
        assert!(cluster.regions().get(left).is_none());
        assert!(matches!(
            cluster.check(store, old, &[b"z"]),
            Err(RegionError::EpochNotMatch(regions)) if regions.len() == 1
        ));
        let (store, at) = place(&cluster, b"a");
        assert_eq!(at.region, old.region);
        assert!(cluster.check(store, at, &[b"a", b"z"]).is_ok());
        assert!(!cluster.is_synced(at.region, now, || 77));
    }

    #[test]
    fn only_the_leader_serves_and_a_new_one_has_to_sync() {
        let mut cluster = cluster();
        let (old, at) = place(&cluster, b"a");
        let now = Instant::now();
        let later = now + std::time::Duration::from_secs(1);
        assert_eq!(cluster.move_leader(at.region, None, later), Some(Some(old)));
        let refused = cluster.check(old, at, &[]);
        assert!(matches!(refused, Err(RegionError::NotLeader { leader: Some(_), .. })));
        let (new, at) = place(&cluster, b"a");
        assert_ne!(new, old);
        assert!(matches!(
            cluster.check(old, at, &[]),
            Err(RegionError::StoreNotMatch { asked, .. }) if asked == new
        ));
        assert!(!cluster.is_synced(at.region, now, || 77));
        assert!(cluster.is_synced(at.region, later, || 77));
        assert_eq!(cluster.store(new).expect("a store").max_ts, 77);
        cluster.depose(at.region);
        let refused = cluster.check(new, at, &[]);
        assert!(matches!(refused, Err(RegionError::NotLeader { leader: None, .. })));
    }

    #[test]
    fn pd_hears_of_changes_later() {
        let mut cluster = cluster();
        cluster.pd_lag = Duration::from_millis(50);
        cluster.split(b"m");
        assert_eq!(
            (cluster.regions().all().count(), cluster.regions_of_pd().all().count()),
            (2, 1)
        );
        std::thread::sleep(Duration::from_millis(60));
        assert_eq!(cluster.regions_of_pd().all().count(), 2);
    }
}

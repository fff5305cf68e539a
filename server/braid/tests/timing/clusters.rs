//! A cluster that a test may disturb: a real one if `TIKV_BIN` names its programs, else the
//! stand-in.

#![allow(dead_code, reason = "each test uses a part of it")]

use std::time::Duration;

use braid_testkit::random::Random;
use braid_testkit::tikv::admin::Admin;
use braid_testkit::tikv::{Config, Plan, RealCluster, TikvStandIn};

/// The default prefix of `--store`.
pub(crate) const PREFIX: &[u8] = b"braid/";

pub(crate) enum Cluster {
    Real(RealCluster),
    StandIn(TikvStandIn),
}

impl Cluster {
    /// A stand-in has a little latency, so that much is under way at any time, and lives by `plan`.
    pub(crate) fn start(plan: Plan, seed: u64) -> Cluster {
        if let Some(real) = RealCluster::from_env() {
            return Cluster::Real(real);
        }
        let mut config = Config { plan, seed, ..Config::default() };
        config.delays.latency = Duration::from_millis(2);
        Cluster::StandIn(TikvStandIn::start(config))
    }

    pub(crate) fn name(&self) -> &'static str {
        match self {
            Cluster::Real(_) => "a real cluster",
            Cluster::StandIn(_) => "the stand-in (TIKV_BIN names no programs)",
        }
    }

    pub(crate) fn url(&self) -> String {
        match self {
            Cluster::Real(real) => real.store_url(),
            Cluster::StandIn(stand_in) => stand_in.store_url(),
        }
    }

    pub(crate) fn admin(&self) -> Admin {
        match self {
            Cluster::Real(real) => real.admin(),
            Cluster::StandIn(stand_in) => Admin::connect(&stand_in.pd_addresses()[0]),
        }
    }

    pub(crate) fn store_count(&self) -> usize {
        match self {
            Cluster::Real(real) => real.store_count(),
            Cluster::StandIn(stand_in) => stand_in.stores().len(),
        }
    }

    pub(crate) fn kill_store(&mut self, number: usize) {
        match self {
            Cluster::Real(real) => real.kill_store(number),
            Cluster::StandIn(stand_in) => stand_in.stop_store(stand_in.stores()[number]),
        }
    }

    pub(crate) fn start_store(&mut self, number: usize) {
        match self {
            Cluster::Real(real) => real.start_store(number),
            Cluster::StandIn(stand_in) => stand_in.start_store(stand_in.stores()[number]),
        }
    }

    /// False if there was nothing to move.
    pub(crate) fn move_leader(&self, random: &mut Random) -> bool {
        match self {
            Cluster::Real(real) => real.move_leader(PREFIX, random),
            Cluster::StandIn(stand_in) => {
                let regions = self.admin().regions(PREFIX);
                stand_in.move_leader(&random.pick(&regions).start);
                true
            }
        }
    }

    /// False if no region has two keys.
    pub(crate) fn split(&self, random: &mut Random) -> bool {
        self.admin().split_somewhere(PREFIX, random)
    }
}

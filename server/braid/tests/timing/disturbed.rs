//! Histories of two and three gateways on a cluster whose stores are killed and started again,
//! whose leaders move and forget locks, and whose regions split and merge, while the gateways are
//! killed and stopped too: checked for strict serializability as in `histories.rs`, whose workers
//! these are.
//!
//! The cluster is a real one if `TIKV_BIN` names a folder with `pd-server` and `tikv-server`, else
//! the stand-in. `BRAID_TEST_SIZE` says how long, `BRAID_TEST_SEED` repeats choices, not timing.

#![allow(clippy::print_stdout, reason = "a test says what it did and what it left out")]

#[path = "../it/transactions/histories/pipeline.rs"]
mod pipeline;
#[allow(dead_code, reason = "another test kills a gateway alone")]
#[path = "../it/transactions/histories/run.rs"]
mod run;
#[path = "../it/transactions/histories/worker.rs"]
mod worker;

use std::fmt;
use std::time::{Duration, Instant};

use braid_testkit::history::{Kind, check};
use braid_testkit::random::{Random, seed};
use braid_testkit::server::Config;
use braid_testkit::size::Size;
use braid_testkit::tikv;

use crate::clusters::Cluster;
use run::{Plan, Shared, record_beside};

/// What was done to the cluster.
#[derive(Default)]
struct Done {
    kills: usize,
    moves: usize,
    splits: usize,
}

impl fmt::Display for Done {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Done { kills, moves, splits } = self;
        write!(f, "{kills} kills of stores, {moves} moves of leaders, {splits} splits")
    }
}

/// How long the cluster is left alone, at least.
fn pause(cluster: &Cluster) -> Duration {
    match cluster {
        Cluster::Real(_) => Duration::from_millis(1_500),
        Cluster::StandIn(_) => Duration::from_millis(150),
    }
}

/// Disturbs the cluster until the workers are done; at the end every store is up.
fn disturb(cluster: &mut Cluster, shared: &Shared, random: &mut Random) -> Done {
    let mut done = Done::default();
    let pause = pause(cluster);
    let mut dead: Option<(usize, Instant)> = None;
    while !shared.is_done() {
        std::thread::sleep(pause + pause.mul_f64(random.below(100) as f64 / 100.0));
        match dead {
            // One store at a time: two of three have to agree.
            Some((store, since)) if since.elapsed() > pause * 3 => {
                cluster.start_store(store);
                dead = None;
            }
            Some(_) => {}
            None if random.one_in(3) => {
                let store = random.below(cluster.store_count() as u64) as usize;
                cluster.kill_store(store);
                dead = Some((store, Instant::now()));
                done.kills += 1;
                continue;
            }
            None => {}
        }
        match random.below(2) {
            0 => done.moves += usize::from(cluster.move_leader(random)),
            _ => done.splits += usize::from(cluster.split(random)),
        }
    }
    if let Some((store, _)) = dead {
        cluster.start_store(store);
    }
    done
}

fn plan(seed: u64, transactions: usize, kills: usize) -> Plan {
    Plan { transactions, workers: 8, kills, seed, gateways: 2, stores_fail: true }
}

#[test]
fn a_disturbed_cluster_has_a_strictly_serializable_history() {
    check_disturbed(2);
}

#[test]
fn a_disturbed_cluster_with_three_gateways_has_one_too() {
    check_disturbed(3);
}

fn check_disturbed(gateways: usize) {
    let (transactions, kills) = Size::from_env().pick((400, 2), (1_000, 3), (40_000, 20));
    let seed = seed();
    let mut cluster = Cluster::start(tikv::Plan::forgetful(), seed);
    println!("{}, seed {seed}: rerun with BRAID_TEST_SEED={seed}", cluster.name());
    let config = Config::new().store(cluster.url());
    let mut done = Done::default();
    let since = Instant::now();
    let plan = Plan { gateways, ..plan(seed, transactions, kills) };
    let history = record_beside(config, plan, |shared| {
        done = disturb(&mut cluster, shared, &mut Random::new(seed));
    });
    let report = check(&history);
    let seconds = since.elapsed().as_secs();
    println!("{seconds} s, {} transactions, {kills} kills: {report}", history.transactions.len());
    println!("{done}");
    assert!(report.is_clean(), "seed {seed}: {report}");
    assert!(report.committed * 5 > transactions, "too few committed to prove much");
    assert!(done.kills > 0 && done.moves > 0 && done.splits > 0, "{done}");
}

#[test]
fn without_validation_the_check_fails() {
    let seed = seed();
    let cluster = Cluster::start(tikv::Plan::default(), seed);
    println!("{}, seed {seed}", cluster.name());
    for round in 0..5 {
        let config = Config::new().unsafe_switch("NO_VALIDATION");
        let config = config.store(format!("{}?prefix=round-{round}/", cluster.url()));
        let plan = Plan { stores_fail: false, ..plan(seed + round, 1_000, 0) };
        let report = check(&record_beside(config, plan, |_| {}));
        if report.has(Kind::WriteSkew) || report.has(Kind::ReadSkew) {
            println!("seed {}: {}", seed + round, report.anomalies[0]);
            return;
        }
    }
    panic!("seed {seed}: without validation nothing was found, so the check proves nothing");
}

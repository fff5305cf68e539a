//! Random transactions of many connections, with kill -9 in between, checked for strict
//! serializability by [`braid_testkit::history`].
//!
//! Lists and registers are read by key, by range and by a secondary index, appended to and written
//! in several ways, locked at times, skipped when locked at times; transactions end in COMMIT or
//! ROLLBACK, with statements that fail and savepoints on the way; some are implicit: several
//! statements sent before one Sync. On one server another connection computes all the time.
//! `BRAID_TEST_SIZE` says how many;
//! `BRAID_TEST_SEED` repeats a run's choices (not its timing). `BRAID_HISTORY_FOLDER` names a
//! folder into which the history is written as JSON lines, the form that other checkers read.
//!
//! That the check can fail, the second test shows: without validation of reads it finds cycles.

#![allow(clippy::print_stdout, reason = "a test says what it did and what it left out")]

mod pipeline;
mod run;
mod worker;

use braid_testkit::history::{History, Kind, check};
use braid_testkit::random::seed;
use braid_testkit::server::Config;
use braid_testkit::size::Size;
use braid_testkit::tikv::{self, TikvStandIn};

use run::{Plan, compute_beside, record, record_beside};

#[test]
fn every_history_is_strictly_serializable() {
    let (transactions, workers, kills) =
        Size::from_env().pick((400, 8, 1), (3_000, 16, 3), (60_000, 32, 15));
    let seed = seed();
    println!("seed {seed}: rerun with BRAID_TEST_SEED={seed}");
    let plan = Plan { transactions, workers, kills, seed, gateways: 1, stores_fail: false };
    let config = Config::new().env("BRAID_ANALYZE_INTERVAL", "1s");
    let history = record_beside(config, plan, compute_beside);
    write(&history);
    let report = check(&history);
    println!("{} transactions, {kills} kills: {report}", history.transactions.len());
    assert!(report.is_clean(), "seed {seed}: {report}");
    assert!(report.committed * 4 > transactions, "too few committed to prove much");
    assert!(report.edges > transactions, "too few met each other to prove much");
}

#[test]
fn histories_of_two_gateways_are_strictly_serializable() {
    let (transactions, workers, kills) =
        Size::from_env().pick((500, 8, 2), (1_500, 16, 3), (20_000, 32, 10));
    let seed = seed();
    println!("seed {seed}: rerun with BRAID_TEST_SEED={seed}");
    let stand_in = TikvStandIn::start(tikv::Config { seed, ..tikv::Config::default() });
    let plan = Plan { transactions, workers, kills, seed, gateways: 2, stores_fail: false };
    let config = Config::new().env("BRAID_ANALYZE_INTERVAL", "1s").store(stand_in.store_url());
    let history = record(config, plan);
    let report = check(&history);
    println!("{} transactions, {kills} kills: {report}", history.transactions.len());
    assert!(report.is_clean(), "seed {seed}: {report}");
    assert!(report.committed * 4 > transactions, "too few committed to prove much");
    assert!(report.edges > transactions, "too few met each other to prove much");
}

#[test]
fn without_validation_the_check_fails() {
    let seed = seed();
    for round in 0..5 {
        let config = Config::new().unsafe_switch("NO_VALIDATION").unsafe_switch("NO_SYNC");
        let seed = seed + round;
        let plan = Plan {
            transactions: 1_000,
            workers: 8,
            kills: 0,
            seed,
            gateways: 1,
            stores_fail: false,
        };
        let report = check(&record(config, plan));
        if report.has(Kind::WriteSkew) || report.has(Kind::ReadSkew) {
            println!("seed {seed}: {}", report.anomalies[0]);
            return;
        }
    }
    panic!("seed {seed}: without validation nothing was found, so the check proves nothing");
}

fn write(history: &History) {
    let Some(folder) = std::env::var_os("BRAID_HISTORY_FOLDER") else { return };
    for (name, lists) in [("lists.jsonl", true), ("registers.jsonl", false)] {
        let path = std::path::Path::new(&folder).join(name);
        std::fs::write(&path, history.to_jsonl(lists)).expect("the history is written");
        println!("wrote {}", path.display());
    }
}

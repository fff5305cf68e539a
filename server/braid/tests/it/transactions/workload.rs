//! Random workloads of savepoints, locks, retries and failing statements, each statement's answer
//! compared with a model in memory.
//!
//! A seed is a short story of one to three sessions on rows of their own. The sessions take turns,
//! one statement at a time; who meets a lock gets 55P03 after a short `lock_timeout`, so nothing
//! hangs and nothing depends on timing. `BRAID_TEST_SIZE` says how many seeds; `BRAID_TEST_SEED=n`
//! runs seed n alone, the same each time.
//!
//! The model ([`model`]) is strict serializability itself: what a transaction was told must be what
//! it would be told alone on one of the committed states since it began, and at COMMIT, if it
//! writes, on the newest. A retry error is allowed only if somebody else has committed meanwhile, a
//! lock error only if somebody else may have a lock.

#![allow(clippy::print_stdout, reason = "a test says what it did and what it left out")]

mod model;
mod session;
mod statement;
mod story;

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use braid_testkit::random::seed_from_env;
use braid_testkit::server::{Config, Server};
use braid_testkit::size::Size;

use story::{Counts, Stage};

const THREADS: u64 = 4;

#[test]
fn every_answer_is_one_of_a_serial_order() {
    let server = Server::start(Config::new().without_sync());
    let counts = tell(&server, seeds());
    println!("{counts:?}");
    if seed_from_env().is_none() {
        assert!(counts.committed > counts.seeds, "{counts:?}");
        for some in [counts.retried, counts.locked_out, counts.failed, counts.rolled_back_to] {
            assert!(some > 0, "something never happened: {counts:?}");
        }
    }
}

/// Without validation of reads some seed finds a transaction that fits no order.
#[test]
fn without_validation_a_seed_fails() {
    let config = Config::new().unsafe_switch("NO_VALIDATION").unsafe_switch("NO_SYNC");
    let server = Server::start(config);
    let told = std::panic::catch_unwind(|| tell(&server, (1, 400)));
    assert!(told.is_err(), "400 seeds without validation passed: the check proves nothing");
}

/// The first seed and the one behind the last.
fn seeds() -> (u64, u64) {
    match seed_from_env() {
        Some(seed) => (seed, seed + 1),
        None => (1, 1 + Size::from_env().pick(100, 600, 10_000)),
    }
}

fn tell(server: &Server, (first, end): (u64, u64)) -> Counts {
    let url = server.sql_url();
    let stage = Stage::new(url);
    stage.make_table();
    let next = Arc::new(AtomicU64::new(first));
    let counts = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..THREADS.min(end - first))
            .map(|_| {
                let next = Arc::clone(&next);
                scope.spawn(move || {
                    let mut stage = Stage::new(url);
                    loop {
                        let seed = next.fetch_add(1, Ordering::Relaxed);
                        if seed >= end {
                            return stage.counts;
                        }
                        stage.tell(seed);
                    }
                })
            })
            .collect();
        threads.into_iter().map(|thread| thread.join()).collect::<Vec<_>>()
    });
    let mut all = Counts::default();
    for counts in counts {
        all.add(&counts.expect("a seed failed: see above"));
    }
    all
}

//! kill -9 at random moments under a write load: what was acknowledged is there after a restart,
//! and no transaction is half there.
//!
//! Each worker moves money between accounts and writes two ledger rows a move, in one transaction,
//! so that a half transaction shows as a ledger row without its twin or as a balance that the
//! ledger does not explain. The rounds go on with the same folder. `BRAID_TEST_SIZE` says how many;
//! `BRAID_TEST_SEED` repeats a run's choices (not its timing).
//!
//! A killed process keeps what the system already has, so this proves that nothing acknowledged
//! waits in the server's memory; it cannot prove that the disk obeys a sync. That the check can
//! fail at all, the second test shows: with syncing off the store keeps commits in memory.

#![allow(clippy::print_stdout, reason = "a test says what it did and what it left out")]

mod check;
mod load;

use std::time::Duration;

use braid_testkit::random::{Random, seed};
use braid_testkit::server::{Config, Server};
use braid_testkit::size::Size;
use braid_testkit::target::connect;

use check::check;
use load::{Load, set_up};

const WORKERS: i32 = 8;

#[test]
fn nothing_acknowledged_is_lost_by_a_kill() {
    let rounds = Size::from_env().pick(3, 6, 50);
    let mut run = Run::start(Config::new());
    for round in 1..=rounds {
        let acknowledged = run.load_and_kill();
        if run.random.below(4) == 0 {
            let after = Duration::from_millis(run.random.below(60));
            run.server.restart_and_kill(after);
        }
        run.server.restart();
        if let Err(lost) = run.check() {
            panic!("round {round}, seed {}: {lost}\n{}", run.seed, run.server.output());
        }
        println!("round {round} of {rounds}: {acknowledged} acknowledged, all there");
    }
    assert!(run.load.acknowledged() > 0, "the load never got anything done");
}

#[test]
fn the_check_fails_without_syncing() {
    if braid_testkit::store::is_tikv() {
        println!("skipped: the stores of TiKV sync, not the server");
        return;
    }
    let mut run = Run::start(Config::new().unsafe_switch("NO_SYNC"));
    for _ in 0..10 {
        run.load_and_kill();
        run.server.restart();
        if run.check().is_err() {
            return;
        }
    }
    panic!(
        "seed {}: ten kills without syncing lost nothing, so the check proves nothing",
        run.seed
    );
}

struct Run {
    runtime: tokio::runtime::Runtime,
    server: Server,
    load: Load,
    random: Random,
    seed: u64,
}

impl Run {
    fn start(config: Config) -> Self {
        let runtime = tokio::runtime::Runtime::new().expect("a runtime");
        let server = Server::start(config);
        let seed = seed();
        println!("seed {seed}: rerun with BRAID_TEST_SEED={seed}");
        runtime.block_on(async { set_up(&connect(server.sql_url(), None).await).await });
        let load = Load::new(WORKERS, seed);
        Run { runtime, server, load, random: Random::new(seed), seed }
    }

    /// Lets the workers write for a while, kills the server, and says how much was acknowledged.
    fn load_and_kill(&mut self) -> usize {
        let before = self.load.acknowledged();
        let url = self.server.sql_url().to_owned();
        let moment = Duration::from_millis(200 + self.random.below(1_300));
        self.runtime.block_on(async {
            let running = self.load.start(&url);
            tokio::time::sleep(moment).await;
            self.server.kill();
            self.load.finish(running).await;
        });
        self.load.acknowledged() - before
    }

    fn check(&mut self) -> Result<(), String> {
        let url = self.server.sql_url().to_owned();
        self.runtime.block_on(async { check(&connect(&url, None).await, &mut self.load).await })
    }
}

//! What locks cost: memory of a million held locks, CPU of one that nobody contends for.
//!
//! ```text
//! cargo run --release -p braid-kv-embedded --example lock_costs
//! ```
//!
//! Prints figures and judges nothing: absolute times mean little on a shared machine.

#![allow(clippy::print_stdout, clippy::expect_used, reason = "an example that prints figures")]

use std::time::Instant;

use braid_kv::{Database, DatabaseOptions, LockRequest, LockTarget, TxnOptions};
use braid_kv_embedded::{EmbeddedOptions, EmbeddedStore};

const LOCKS: usize = 1_000_000;
const BATCH: usize = 1_000;

fn key(i: usize) -> Vec<u8> {
    // As long as the key of a row with an integer primary key.
    format!("tbl_1_{i:010}_0").into_bytes()
}

/// Resident bytes of this process.
fn resident() -> usize {
    let statm = std::fs::read_to_string("/proc/self/statm").unwrap_or_default();
    let pages = statm.split(' ').nth(1).and_then(|pages| pages.parse::<usize>().ok());
    pages.unwrap_or(0) * 4096
}

/// CPU seconds of this process so far.
fn cpu() -> f64 {
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
    let fields: Vec<&str> = stat.rsplit(") ").next().unwrap_or("").split(' ').collect();
    let ticks = |i: usize| fields.get(i).and_then(|t| t.parse::<f64>().ok()).unwrap_or(0.0);
    (ticks(11) + ticks(12)) / 100.0
}

#[tokio::main(flavor = "current_thread")]
async fn main() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let store = EmbeddedStore::open(folder.path(), EmbeddedOptions::default()).expect("a store");
    let database = Database::new(std::sync::Arc::new(store), DatabaseOptions::default());
    for (what, batch) in [("in batches of 1000", BATCH), ("one a request", 1)] {
        let txn = database.begin(TxnOptions::default());
        let seq = txn.next_statement();
        let (bytes, spent, started) = (resident(), cpu(), Instant::now());
        for from in (0..LOCKS).step_by(batch) {
            let keys = (from..from + batch).map(key).collect();
            let mut request = LockRequest::keys(Vec::new());
            request.values = false;
            request.target = LockTarget::Keys(keys);
            txn.lock(seq, request).await.expect("nobody else locks");
        }
        let micros = (cpu() - spent) * 1e6 / LOCKS as f64;
        let mib = (resident().saturating_sub(bytes)) as f64 / (1 << 20) as f64;
        let seconds = started.elapsed().as_secs_f64();
        println!(
            "{LOCKS} locks held, {what}: {mib:.0} MiB more, {micros:.2} us of CPU each \
             ({seconds:.2} s)"
        );
        let spent = cpu();
        txn.rollback().await;
        println!("  released: {:.2} us of CPU each", (cpu() - spent) * 1e6 / LOCKS as f64);
    }
    database.store().close().await.expect("the store closes");
}

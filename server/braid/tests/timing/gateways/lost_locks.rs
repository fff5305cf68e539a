//! Two gateways over stores that forget pessimistic locks, lose answers, split and merge regions
//! and move leaders, while each gateway is stopped in turn for longer than its locks live.
//!
//! - A counter that clients read FOR UPDATE, add to and write back has every acknowledged
//!   increment.
//! - Money moves between accounts: every sum that a committed transaction has seen is the same.
//! - Two rows are always written together: a transaction that locks both sees the same number in
//!   both, also if it writes nothing.

#![allow(clippy::print_stdout, reason = "a test says what it did")]

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use braid_testkit::random::Random;
use braid_testkit::size::Size;
use braid_testkit::target::first_column;
use braid_testkit::tikv::{Fault, Plan, Rpc, Rule};
use tokio_postgres::error::SqlState;
use tokio_postgres::{Client, Error, SimpleQueryMessage};

use crate::several_gateways::{Cluster, LEASE, assert_sound, run};

const ACCOUNTS: u64 = 6;
const TABLES: &str = "
    CREATE TABLE counter (id int8 PRIMARY KEY, n int8);
    CREATE TABLE pair (id int8 PRIMARY KEY, n int8);
    CREATE TABLE account (id int8 PRIMARY KEY, n int8, touched int8);
    CREATE INDEX account_touched ON account (touched);
    INSERT INTO counter VALUES (1, 0);
    INSERT INTO pair VALUES (1, 0), (2, 0);
    INSERT INTO account SELECT i, 100, 0 FROM generate_series(1, 6) AS i";

/// What all workers have done.
#[derive(Default)]
struct Seen {
    stop: AtomicBool,
    added: AtomicU64,
    unknown: AtomicU64,
    rows_read: AtomicU64,
    lost: AtomicU64,
}

impl Seen {
    /// True if it was committed; anything but a conflict, an unknown outcome or a store that does
    /// not answer is a fault.
    fn is_done(&self, what: &str, result: &Result<(), Error>) -> bool {
        let Err(error) = result else { return true };
        let Some(error) = error.as_db_error() else { panic!("{what}: {error:?}") };
        match error.code() {
            &SqlState::T_R_SERIALIZATION_FAILURE => {
                let is_lost = error.detail() == Some("lock_lost");
                self.lost.fetch_add(u64::from(is_lost), Ordering::Relaxed);
            }
            &SqlState::T_R_STATEMENT_COMPLETION_UNKNOWN => {
                self.unknown.fetch_add(1, Ordering::Relaxed);
            }
            code if code == &SqlState::T_R_DEADLOCK_DETECTED => {}
            code if code.code() == "58000" => {}
            code => panic!("{what}: {code:?} {error:?}"),
        }
        false
    }
}

/// The numbers of the first column.
async fn numbers(client: &Client, sql: &str) -> Result<Vec<i64>, Error> {
    let messages = client.simple_query(sql).await?;
    let number = |message: &SimpleQueryMessage| match message {
        SimpleQueryMessage::Row(row) => row.get(0)?.parse().ok(),
        _ => None,
    };
    Ok(messages.iter().filter_map(number).collect())
}

async fn add_one(client: &Client, level: &str, number: u64) -> Result<(), Error> {
    client.batch_execute(&format!("BEGIN ISOLATION LEVEL {level}")).await?;
    let n = numbers(client, "SELECT n FROM counter WHERE id = 1 FOR UPDATE").await?[0];
    let sum = numbers(client, "SELECT sum(n) FROM account").await?[0];
    if level == "SERIALIZABLE" {
        assert_eq!(sum, 100 * ACCOUNTS as i64);
    }
    let n = n + 1;
    let note =
        format!("UPDATE account SET touched = {number} WHERE id = {}", number % ACCOUNTS + 1);
    client.batch_execute(&format!("UPDATE counter SET n = {n} WHERE id = 1; {note}")).await?;
    client.batch_execute("COMMIT").await
}

async fn move_money(client: &Client, from: u64, to: u64) -> Result<(), Error> {
    client.batch_execute("BEGIN").await?;
    let sql = format!("SELECT n FROM account WHERE id IN ({from}, {to}) ORDER BY id FOR UPDATE");
    let found = numbers(client, &sql).await?;
    let (mut a, mut b) = (found[0], found[1]);
    if from < to {
        (a, b) = (a - 1, b + 1)
    } else {
        (a, b) = (a + 1, b - 1)
    }
    let (low, high) = (from.min(to), from.max(to));
    let sql = format!(
        "UPDATE account SET n = {a} WHERE id = {low}; UPDATE account SET n = {b} WHERE id = {high}"
    );
    client.batch_execute(&sql).await?;
    client.batch_execute("COMMIT").await
}

/// Both rows of the pair, locked and not written.
async fn read_pair(client: &Client, strength: &str, level: &str) -> Result<Vec<i64>, Error> {
    let sql = format!("SELECT n FROM pair WHERE id <= 2 FOR {strength}");
    client.batch_execute(&format!("BEGIN ISOLATION LEVEL {level}")).await?;
    let found = numbers(client, &sql).await?;
    client.batch_execute("COMMIT").await?;
    Ok(found)
}

async fn work(client: Client, number: u64, seen: Arc<Seen>) {
    let mut random = Random::new(number);
    let levels = ["SERIALIZABLE", "READ COMMITTED", "REPEATABLE READ"];
    while !seen.stop.load(Ordering::Acquire) {
        let level = *random.pick(&levels);
        let (what, result) = match number % 4 {
            0 => ("add", add_one(&client, level, number).await),
            1 => {
                let (from, to) = (random.below(ACCOUNTS) + 1, random.below(ACCOUNTS) + 1);
                if from == to {
                    continue;
                }
                ("move", move_money(&client, from, to).await)
            }
            2 => {
                let sql = "UPDATE pair SET n = n + 1 WHERE id <= 2";
                ("pair", client.batch_execute(sql).await)
            }
            _ => {
                let strength = *random.pick(&["UPDATE", "SHARE", "KEY SHARE"]);
                let result = read_pair(&client, strength, level).await.map(|found| {
                    assert_eq!(found[0], found[1], "{strength} {level}: two moments in one");
                    seen.rows_read.fetch_add(1, Ordering::Relaxed);
                });
                ("read", result)
            }
        };
        let is_done = seen.is_done(what, &result);
        seen.added.fetch_add(u64::from(is_done && what == "add"), Ordering::Relaxed);
        if !is_done {
            // Ends a block that has failed.
            let _ = client.batch_execute("ROLLBACK").await;
        }
    }
}

#[test]
fn gateways_that_stop_over_stores_that_forget_locks_lose_nothing() {
    run(async {
        let cluster = Cluster::start(2);
        let ddl = cluster.connect(0).await;
        ddl.batch_execute(TABLES).await.expect("the tables");
        if let Some(stand_in) = &cluster.stand_in {
            stand_in.set_plan(Plan::forgetful());
            for (rpc, n) in [(Rpc::Prewrite, 17), (Rpc::Commit, 19), (Rpc::PessimisticLock, 23)] {
                stand_in.add(Rule::next(rpc, Fault::LoseAnswer).every(n));
            }
        }
        let seen = Arc::new(Seen::default());
        let mut workers = Vec::new();
        for number in 0..8 {
            let client = cluster.connect(usize::from(number >= 4)).await;
            workers.push(tokio::spawn(work(client, number, seen.clone())));
        }
        for round in 0..Size::from_env().pick(1, 3, 40) {
            tokio::time::sleep(Duration::from_secs(1)).await;
            let stopped = &cluster.servers[1 - round % 2];
            stopped.pause();
            tokio::time::sleep(LEASE + Duration::from_millis(1_500)).await;
            stopped.resume();
            let sql = format!("CREATE INDEX IF NOT EXISTS account_{round} ON account (n)");
            while !seen.is_done(&sql, &ddl.batch_execute(&sql).await) {}
        }
        seen.stop.store(true, Ordering::Release);
        for worker in workers {
            worker.await.expect("no worker fails");
        }
        if let Some(stand_in) = &cluster.stand_in {
            stand_in.set_plan(Plan::default());
            stand_in.clear_rules();
        }
        let (added, unknown) =
            (seen.added.load(Ordering::Relaxed), seen.unknown.load(Ordering::Relaxed));
        let reads = seen.rows_read.load(Ordering::Relaxed);
        let lost = seen.lost.load(Ordering::Relaxed);
        println!("{added} increments, {reads} reads, {unknown} unknown, {lost} lost locks noticed");
        let n: u64 =
            first_column(&ddl, "SELECT n FROM counter").await[0].parse().expect("a number");
        assert!(added <= n && n <= added + unknown, "{added} <= {n} <= {added} + {unknown}");
        let sum = first_column(&ddl, "SELECT sum(n) FROM account").await;
        assert_eq!(sum, ["600"]);
        for table in ["counter", "pair", "account"] {
            assert_sound(&ddl, table).await;
        }
        assert!(added > 0 && reads > 0, "nothing got through: this proves nothing");
    });
}

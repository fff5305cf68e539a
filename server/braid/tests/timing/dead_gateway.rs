//! A gateway is killed in the middle of commits. What it leaves stays no longer than its locks
//! live: another gateway reads and writes every row within that time, and no lock is left.
//!
//! The cluster is a real one if `TIKV_BIN` names a folder with `pd-server` and `tikv-server`, else
//! the stand-in.

#![allow(clippy::print_stdout, reason = "a test says what it did and what it left out")]

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use braid_testkit::random::{Random, seed};
use braid_testkit::server::{Config, Server};
use braid_testkit::size::Size;
use braid_testkit::target::{connect, first_column, try_connect};
use braid_testkit::tikv::Plan;
use tokio_postgres::Client;

use crate::clusters::{Cluster, PREFIX};

const ACCOUNTS: u64 = 40;
const WORKERS: u64 = 16;
/// `TikvOptions::lock_ttl`, the default.
const LOCK_TTL: Duration = Duration::from_secs(5);
/// For what a busy machine does beside.
const SLACK: Duration = Duration::from_secs(8);

const TABLES: &str = "
    CREATE TABLE account (id int PRIMARY KEY, balance int NOT NULL, visits int NOT NULL);
    CREATE TABLE ledger (worker int, seq int, leg int, account int NOT NULL, amount int NOT NULL,
                         PRIMARY KEY (worker, seq, leg));
    CREATE INDEX ledger_account ON ledger (account);
    INSERT INTO account SELECT id, 1000, 0 FROM generate_series(0, 39) AS g(id)";

/// Moves money until the connection breaks; counts what was acknowledged.
async fn work(url: String, round: u64, worker: u64, acknowledged: Arc<AtomicU64>) {
    let Ok(client) = try_connect(&url, None).await else { return };
    let mut random = Random::new(round * 1_000 + worker);
    let worker = round * 1_000 + worker;
    for seq in 0.. {
        let (from, to) = (random.below(ACCOUNTS), random.below(ACCOUNTS));
        // Some lock what they read, some lock rows that they do not write, some lock nothing.
        let locks = ["", " FOR UPDATE", ""][(seq % 3) as usize];
        let sql = format!(
            "BEGIN; SELECT balance FROM account WHERE id IN ({from}, {to}, 7) {locks};
             UPDATE account SET balance = balance - 1 WHERE id = {from};
             UPDATE account SET balance = balance + 1 WHERE id = {to};
             INSERT INTO ledger VALUES ({worker}, {seq}, 0, {from}, -1),
                                       ({worker}, {seq}, 1, {to}, 1);
             COMMIT"
        );
        match client.simple_query(&sql).await {
            Ok(_) => drop(acknowledged.fetch_add(1, Ordering::Relaxed)),
            Err(error) if error.code().is_none() => return,
            Err(_) => drop(client.simple_query("ROLLBACK").await),
        }
    }
}

/// The longest that one statement of each kind took.
#[derive(Debug, Default)]
struct Longest {
    read: Duration,
    write: Duration,
}

async fn timed(client: &Client, sql: &str, longest: &mut Duration) {
    let since = Instant::now();
    client.simple_query(sql).await.unwrap_or_else(|error| panic!("{sql}: {error:?}"));
    *longest = (*longest).max(since.elapsed());
}

/// Reads every row in several ways, and writes every account.
async fn touch_everything(client: &Client) -> Longest {
    let mut longest = Longest::default();
    let all = "SELECT count(*) FROM account; SELECT sum(amount) FROM ledger";
    timed(client, all, &mut longest.read).await;
    for id in 0..ACCOUNTS {
        let read = format!("SELECT balance FROM account WHERE id = {id}");
        timed(client, &read, &mut longest.read).await;
        // By the index, whose entries may be locked too.
        let read = format!("SELECT count(*) FROM ledger WHERE account = {id}");
        timed(client, &read, &mut longest.read).await;
    }
    for id in 0..ACCOUNTS {
        let write = format!("UPDATE account SET visits = visits + 1 WHERE id = {id}");
        timed(client, &write, &mut longest.write).await;
    }
    longest
}

/// What must hold after transfers: all the money, the first and the second halves of transfers, and
/// accounts whose balance is not what the ledger says.
pub(crate) const SUMS: &str = "SELECT sum(balance) FROM account
    UNION ALL SELECT count(*) FROM ledger WHERE leg = 0
    UNION ALL SELECT count(*) FROM ledger WHERE leg = 1
    UNION ALL SELECT count(*) FROM account AS a WHERE balance - 1000 <>
        (SELECT coalesce(sum(amount), 0) FROM ledger AS l WHERE l.account = a.id)";

async fn check(client: &Client, acknowledged: u64) {
    let found = first_column(client, SUMS).await;
    let number = |at: usize| found[at].parse::<u64>().expect("a number");
    assert_eq!(number(0), ACCOUNTS * 1_000, "money");
    assert_eq!((number(1), number(3)), (number(2), 0), "half a transaction");
    assert!(number(1) >= acknowledged, "{} of {acknowledged} acknowledged are there", number(1));
}

#[test]
fn what_a_dead_gateway_leaves_stops_nobody_for_longer_than_its_locks_live() {
    let rounds = Size::from_env().pick(2, 3, 30);
    let cluster = Cluster::start(Plan::default(), seed());
    println!("{}", cluster.name());
    let (url, admin) = (cluster.url(), cluster.admin());
    let runtime = tokio::runtime::Runtime::new().expect("a runtime");
    let living = Server::start(Config::new().store(&url));
    let client = runtime.block_on(connect(living.sql_url(), None));
    runtime.block_on(client.batch_execute(TABLES)).expect("the tables");
    cluster.split(&mut Random::new(1));
    let acknowledged = Arc::new(AtomicU64::new(0));
    let mut left = 0;
    for round in 0..rounds {
        let mut dying = Server::start(Config::new().store(&url));
        let workers: Vec<_> = (0..WORKERS)
            .map(|number| {
                let (url, told) = (dying.sql_url().to_owned(), Arc::clone(&acknowledged));
                runtime.spawn(work(url, round, number, told))
            })
            .collect();
        std::thread::sleep(Duration::from_millis(2_000 + 137 * round));
        dying.kill();
        let since = Instant::now();
        let locks = admin.locks(PREFIX).len();
        left += locks;
        let longest = runtime.block_on(touch_everything(&client));
        for stalled in [longest.read, longest.write] {
            assert!(stalled < LOCK_TTL + SLACK, "round {round}: a statement took {stalled:?}");
        }
        // Those that nobody has met yet end with their time too, once somebody meets them.
        while !admin.locks(PREFIX).is_empty() {
            let waited = since.elapsed();
            let still = admin.locks(PREFIX);
            assert!(waited < LOCK_TTL + SLACK * 2, "round {round}, {waited:?}: {still:?}");
            runtime.block_on(touch_everything(&client));
        }
        let clean = since.elapsed();
        for worker in workers {
            runtime.block_on(worker).expect("a worker");
        }
        runtime.block_on(check(&client, acknowledged.load(Ordering::Relaxed)));
        println!("round {round}: {locks} locks left, {longest:?}, none after {clean:?}");
    }
    let acknowledged = acknowledged.load(Ordering::Relaxed);
    println!("{acknowledged} acknowledged, {left} locks left by {rounds} kills");
    assert!(left > 0 && acknowledged > 0, "no kill met a commit: this proves nothing");
}

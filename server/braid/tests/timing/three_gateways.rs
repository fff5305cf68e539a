//! Bank transfers by the clients of three gateways over one store, while one gateway at a time is
//! stopped for longer than its lease and its locks live, or killed and started again.
//!
//! Each transfer writes its two legs into a ledger. So a lost update shows: the balance of an
//! account differs from the sum of its legs. Each also touches an index on a column that changes.

#![allow(clippy::print_stdout, reason = "a test says what it did")]

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use braid_testkit::random::{Random, seed};
use braid_testkit::size::Size;
use braid_testkit::target::{first_column, try_connect};
use tokio_postgres::error::SqlState;
use tokio_postgres::{Client, Error};

use crate::dead_gateway::SUMS;
use crate::several_gateways::{Cluster, LEASE, assert_sound, run};

const GATEWAYS: usize = 3;
const ACCOUNTS: u64 = 30;
const WORKERS: usize = 12;
/// A worker whose gateway is away tries again after this time.
const AWAY: Duration = Duration::from_millis(50);

const TABLES: &str = "
    CREATE TABLE account (id int PRIMARY KEY, balance int NOT NULL, owner text UNIQUE);
    CREATE INDEX account_balance ON account (balance);
    CREATE TABLE ledger (worker int, seq int, leg int,
                         account int NOT NULL REFERENCES account, amount int NOT NULL,
                         PRIMARY KEY (worker, seq, leg));
    CREATE INDEX ledger_account ON ledger (account) INCLUDE (amount);
    INSERT INTO account SELECT id, 1000, 'owner ' || id FROM generate_series(0, 29) AS g(id)";

/// What the workers share.
struct Shared {
    stop: AtomicBool,
    urls: Mutex<Vec<String>>,
    acknowledged: AtomicU64,
    /// Transfers whose outcome the client does not know.
    unknown: AtomicU64,
    retries: AtomicU64,
    seed: u64,
}

/// The text of a transfer: locks first, locks what it does not write, or locks nothing.
fn transfer(random: &mut Random, worker: usize, seq: u64) -> String {
    let (from, to) = (random.below(ACCOUNTS), random.below(ACCOUNTS));
    let level = *random.pick(&["SERIALIZABLE", "REPEATABLE READ", "READ COMMITTED"]);
    let locks = *random.pick(&["", " FOR UPDATE", " FOR SHARE"]);
    let amount = random.below(20) + 1;
    format!(
        "BEGIN ISOLATION LEVEL {level};
         SELECT balance FROM account WHERE id IN ({from}, {to}, 7){locks};
         UPDATE account SET balance = balance - {amount} WHERE id = {from};
         UPDATE account SET balance = balance + {amount} WHERE id = {to};
         INSERT INTO ledger VALUES ({worker}, {seq}, 0, {from}, -{amount}),
                                   ({worker}, {seq}, 1, {to}, {amount});
         COMMIT"
    )
}

async fn work(shared: Arc<Shared>, worker: usize) {
    let mut random = Random::new(shared.seed.wrapping_add(worker as u64));
    let mut client: Option<Client> = None;
    for seq in 0.. {
        if shared.stop.load(Ordering::Acquire) {
            return;
        }
        let connected = match client.take().filter(|client| !client.is_closed()) {
            Some(client) => client,
            None => {
                let url = shared.urls.lock().expect("no panic")[worker % GATEWAYS].clone();
                let Ok(client) = try_connect(&url, None).await else {
                    tokio::time::sleep(AWAY).await;
                    continue;
                };
                client
            }
        };
        let sql = transfer(&mut random, worker, seq);
        let result = connected.batch_execute(&sql).await;
        count(&shared, &result);
        if result.is_err() {
            let _ = connected.batch_execute("ROLLBACK").await;
        }
        client = Some(connected);
    }
}

fn count(shared: &Shared, result: &Result<(), Error>) {
    let counter = match result {
        Ok(()) => &shared.acknowledged,
        Err(error) => match error.code() {
            Some(&SqlState::T_R_SERIALIZATION_FAILURE | &SqlState::T_R_DEADLOCK_DETECTED) => {
                &shared.retries
            }
            Some(&SqlState::T_R_STATEMENT_COMPLETION_UNKNOWN | &SqlState::ADMIN_SHUTDOWN)
            | None => &shared.unknown,
            Some(code) if code.code() == "58000" => &shared.retries,
            Some(code) => panic!("{code:?} {error:?}"),
        },
    };
    counter.fetch_add(1, Ordering::Relaxed);
}

/// Stops or kills one gateway.
async fn disturb(cluster: &mut Cluster, shared: &Shared, round: usize) {
    let gateway = round / 2 % GATEWAYS;
    match round % 2 {
        0 => {
            cluster.servers[gateway].pause();
            tokio::time::sleep(LEASE + Duration::from_millis(700)).await;
            cluster.servers[gateway].resume();
        }
        _ => {
            let killed = (gateway + 1) % GATEWAYS;
            cluster.servers[killed].restart();
            shared.urls.lock().expect("no panic")[killed] =
                cluster.servers[killed].sql_url().to_owned();
        }
    }
}

async fn check(client: &Client, shared: &Shared) {
    let found = first_column(client, SUMS).await;
    let number = |at: usize| found[at].parse::<u64>().expect("a number");
    assert_eq!(number(0), ACCOUNTS * 1_000, "money");
    assert_eq!(number(1), number(2), "half a transfer");
    assert_eq!(number(3), 0, "an update is lost");
    let acknowledged = shared.acknowledged.load(Ordering::Relaxed);
    let most = acknowledged + shared.unknown.load(Ordering::Relaxed);
    assert!(acknowledged <= number(1), "{acknowledged} acknowledged, {} there", number(1));
    assert!(number(1) <= most, "{} transfers are there, of {most} at most", number(1));
    for table in ["account", "ledger"] {
        assert_sound(client, table).await;
    }
}

#[test]
fn transfers_by_three_gateways_keep_the_sum_while_gateways_stop_and_die() {
    run(async {
        let mut cluster = Cluster::start(GATEWAYS);
        let watcher = cluster.connect(0).await;
        watcher.batch_execute(TABLES).await.expect("the tables");
        drop(watcher);
        let urls = cluster.servers.iter().map(|server| server.sql_url().to_owned()).collect();
        let shared = Arc::new(Shared {
            stop: AtomicBool::new(false),
            urls: Mutex::new(urls),
            acknowledged: AtomicU64::new(0),
            unknown: AtomicU64::new(0),
            retries: AtomicU64::new(0),
            seed: seed(),
        });
        let workers: Vec<_> =
            (0..WORKERS).map(|worker| tokio::spawn(work(shared.clone(), worker))).collect();
        for round in 0..Size::from_env().pick(2, 8, 90) {
            tokio::time::sleep(Duration::from_millis(700)).await;
            disturb(&mut cluster, &shared, round).await;
        }
        tokio::time::sleep(Duration::from_millis(700)).await;
        shared.stop.store(true, Ordering::Release);
        for worker in workers {
            worker.await.expect("no worker fails");
        }
        let acknowledged = shared.acknowledged.load(Ordering::Relaxed);
        let (unknown, retries) =
            (shared.unknown.load(Ordering::Relaxed), shared.retries.load(Ordering::Relaxed));
        println!("{acknowledged} transfers, {unknown} unknown, {retries} conflicts");
        for gateway in 0..GATEWAYS {
            check(&cluster.connect(gateway).await, &shared).await;
        }
        assert!(acknowledged > 0, "nothing got through: this proves nothing");
    });
}

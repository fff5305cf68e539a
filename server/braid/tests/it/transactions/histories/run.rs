//! Starts the workers, kills the server below them, and collects what they saw.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicI64, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, LazyLock, Mutex, PoisonError};
use std::time::{Duration, Instant};

use braid_testkit::history::{History, Key, Op, Outcome, Transaction};
use braid_testkit::server::{Config, Server};
use braid_testkit::size::Size;
use braid_testkit::target::connect;
use tokio_postgres::{Client, NoTls, SimpleQueryMessage};

use super::worker;

/// A run that does not end by then hangs: 40,000 transactions on a real cluster may take an hour.
static PATIENCE: LazyLock<Duration> =
    LazyLock::new(|| Duration::from_secs(Size::from_env().pick(1_800, 1_800, 7_200)));

/// How much to do.
#[derive(Clone, Copy)]
pub(super) struct Plan {
    pub transactions: usize,
    pub workers: u64,
    pub kills: usize,
    pub seed: u64,
    /// Servers over one store, each with its part of the workers.
    pub gateways: usize,
    /// Whether statements may fail because their store does not answer. Then every second server is
    /// not killed but stopped for a while, up to four times as long as its locks live.
    pub stores_fail: bool,
}

/// What the workers have in common.
pub(super) struct Shared {
    pub plan: Plan,
    /// Where the servers are; none while one is down.
    urls: Mutex<Vec<Option<String>>>,
    start: Instant,
    next_value: AtomicI64,
    next_transaction: AtomicUsize,
    /// One that no time repeats: the clock, or one more than was given before.
    last_ns: AtomicU64,
}

impl Shared {
    /// Nanoseconds since the start; never the same twice, so that order is never a tie.
    pub(super) fn now_ns(&self) -> u64 {
        let now = self.start.elapsed().as_nanos() as u64;
        let last = self.last_ns.fetch_max(now, Ordering::SeqCst);
        if now > last { now } else { self.last_ns.fetch_add(1, Ordering::SeqCst) + 1 }
    }

    pub(super) fn next_value(&self) -> i64 {
        self.next_value.fetch_add(1, Ordering::Relaxed)
    }

    /// The number of the next transaction; none if there were enough.
    pub(super) fn next_transaction(&self) -> Option<usize> {
        let number = self.next_transaction.fetch_add(1, Ordering::Relaxed);
        (number < self.plan.transactions).then_some(number)
    }

    pub(super) fn is_done(&self) -> bool {
        self.start.elapsed() > *PATIENCE
            || self.next_transaction.load(Ordering::Relaxed) >= self.plan.transactions
    }

    /// The server of a worker.
    pub(super) fn url(&self, process: u32) -> Option<String> {
        let urls = self.urls.lock().unwrap_or_else(PoisonError::into_inner);
        urls[process as usize % urls.len()].clone()
    }

    fn set_url(&self, gateway: usize, url: Option<String>) {
        self.urls.lock().unwrap_or_else(PoisonError::into_inner)[gateway] = url;
    }
}

/// Runs the plan on servers of its own. The last transaction reads everything.
pub(super) fn record(config: Config, plan: Plan) -> History {
    record_beside(config, plan, |_| {})
}

/// The same, while something else goes on beside the workers, which ends when they are done.
pub(super) fn record_beside(
    config: Config,
    plan: Plan,
    beside: impl FnOnce(&Shared) + Send,
) -> History {
    let runtime = tokio::runtime::Runtime::new().expect("a runtime");
    let mut servers = vec![Server::start(config.clone())];
    runtime.block_on(async {
        connect(servers[0].sql_url(), None).await.batch_execute(TABLES).await.expect("the tables");
    });
    servers.extend((1..plan.gateways).map(|_| Server::start(config.clone())));
    let urls = servers.iter().map(|server| Some(server.sql_url().to_owned())).collect();
    let shared = Arc::new(Shared {
        plan,
        urls: Mutex::new(urls),
        start: Instant::now(),
        next_value: AtomicI64::new(1),
        next_transaction: AtomicUsize::new(0),
        last_ns: AtomicU64::new(0),
    });
    let workers: Vec<_> = (0..plan.workers)
        .map(|number| runtime.spawn(worker::work(Arc::clone(&shared), number as u32)))
        .collect();
    std::thread::scope(|scope| {
        scope.spawn(|| beside(&shared));
        kill_at_times(&mut servers, &shared);
    });
    let mut history = History::default();
    runtime.block_on(async {
        for worker in workers {
            let done = tokio::time::timeout(*PATIENCE, worker).await.expect("the workers end");
            history.transactions.extend(done.expect("a worker saw an error it should not see"));
        }
        let client = connect(servers[0].sql_url(), None).await;
        history.transactions.push(read_all(&client, &shared).await);
    });
    history
}

/// Computes on the first server until the workers are done, also in a statement that reads what
/// they write. Kills end its connection, and its statements end by their timeout.
pub(super) fn compute_beside(shared: &Shared) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    runtime.expect("a runtime").block_on(async {
        while !shared.is_done() {
            let Some(url) = shared.url(0) else {
                tokio::time::sleep(Duration::from_millis(5)).await;
                continue;
            };
            let Ok((client, connection)) = tokio_postgres::connect(&url, NoTls).await else {
                continue;
            };
            let connection = tokio::spawn(connection);
            for sql in COMPUTING.iter().cycle().take_while(|_| !connection.is_finished()) {
                // A timeout is what most of these statements end with.
                let _ = client.batch_execute(sql).await;
                if shared.is_done() {
                    return;
                }
            }
        }
    });
}

const COMPUTING: [&str; 3] = [
    "SET statement_timeout = '150ms'",
    "SELECT count(*) FROM generate_series(1, 30000000)",
    "SELECT count(*), max(a.vals || b.vals) FROM list AS a, list AS b, generate_series(1, 1000)",
];

const TABLES: &str = "
    CREATE TABLE list (key int PRIMARY KEY, bucket int NOT NULL, vals text NOT NULL);
    CREATE INDEX list_bucket ON list (bucket) STORING (vals);
    CREATE TABLE register (key int PRIMARY KEY, value bigint NOT NULL);
    CREATE INDEX register_value ON register (value)";

/// Kills the servers in turn, each time another part of the transactions was begun.
fn kill_at_times(servers: &mut [Server], shared: &Shared) {
    let plan = shared.plan;
    for kill in 1..=plan.kills {
        let moment = plan.transactions * kill / (plan.kills + 1);
        while shared.next_transaction.load(Ordering::Relaxed) < moment {
            assert!(shared.start.elapsed() < *PATIENCE, "the workers hang");
            std::thread::sleep(Duration::from_millis(5));
        }
        let gateway = kill % servers.len();
        if plan.stores_fail && kill % 2 == 0 {
            servers[gateway].pause();
            std::thread::sleep(Duration::from_secs(kill as u64 * 3 % 20));
            servers[gateway].resume();
            continue;
        }
        servers[gateway].kill();
        shared.set_url(gateway, None);
        servers[gateway].restart();
        shared.set_url(gateway, Some(servers[gateway].sql_url().to_owned()));
    }
}

async fn read_all(client: &Client, shared: &Shared) -> Transaction {
    let sent_ns = shared.now_ns();
    client.batch_execute("BEGIN").await.expect("begins");
    let lists = rows(client, "SELECT key, vals FROM list").await.expect("lists");
    let registers = rows(client, "SELECT key, value FROM register").await.expect("registers");
    client.batch_execute("COMMIT").await.expect("commits");
    let lists: BTreeMap<i64, Vec<i64>> = lists.into_iter().collect();
    let registers: BTreeMap<i64, Vec<i64>> = registers.into_iter().collect();
    let last = worker::first_key(shared.plan.transactions) + worker::WINDOW;
    let value = |found: &BTreeMap<i64, Vec<i64>>, key| found.get(&key).cloned().unwrap_or_default();
    let ops = (0..last).flat_map(|key| {
        let list = Op::Read(Key::List(key), value(&lists, key));
        [list, Op::Read(Key::Register(key), value(&registers, key))]
    });
    Transaction {
        process: u32::MAX,
        sent_ns,
        ops: ops.collect(),
        answered_ns: shared.now_ns(),
        outcome: Outcome::Committed,
    }
}

/// Rows of a key and the values behind it, which stand in a text with spaces between them.
pub(super) async fn rows(
    client: &Client,
    sql: &str,
) -> Result<Vec<(i64, Vec<i64>)>, tokio_postgres::Error> {
    let mut rows = Vec::new();
    for message in client.simple_query(sql).await? {
        let SimpleQueryMessage::Row(row) = message else { continue };
        let text = |at| row.get(at).expect("no column is NULL");
        let values = text(1).split_whitespace().map(|value| value.parse().expect("a number"));
        rows.push((text(0).parse().expect("a key"), values.collect()));
    }
    Ok(rows)
}

//! DROP, TRUNCATE and DROP INDEX over TiKV: beside writers they come through at the first try,
//! older transactions go on reading, and afterwards the range is destroyed without being read.
//!
//! Always on a stand-in of its own, whose counters and keys are looked at.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use braid_codec::key::table_prefix;
use braid_kv::prefix_end;
use braid_testkit::server::{Config, Server};
use braid_testkit::target::{column_text, connect, first_column};
use braid_testkit::tikv::{Config as Cluster, Rpc, TikvStandIn};
use tokio_postgres::Client;
use tokio_postgres::error::SqlState;

const ROWS: i64 = 10_000;
/// A gateway that was killed holds the safe point for a minute.
const PATIENCE: Duration = Duration::from_secs(180);
/// As long as versions live here.
const LIFE: Duration = Duration::from_secs(2);

fn run(test: impl Future<Output = ()>) {
    tokio::runtime::Runtime::new().expect("a runtime").block_on(test);
}

fn start(cluster: &TikvStandIn) -> Server {
    let url = format!("{}?gc_life_time={}s", cluster.store_url(), LIFE.as_secs());
    Server::start(Config::new().store(url))
}

async fn fill(client: &Client) {
    let sql = format!(
        "CREATE TABLE t (id INT8 PRIMARY KEY, grp INT8, note TEXT, INDEX t_grp (grp));
         INSERT INTO t SELECT i, i % 50, 'note ' || i FROM generate_series(1, {ROWS}) AS i"
    );
    client.batch_execute(&sql).await.expect("a filled table");
}

/// The keys of a table's data as the cluster has them.
#[derive(Clone)]
struct Range {
    start: Vec<u8>,
    end: Vec<u8>,
}

impl Range {
    async fn of(client: &Client, table: &str) -> Range {
        let sql = format!("SELECT data_id FROM braid_internal.tables WHERE table_name = '{table}'");
        let data_id: u32 = column_text(client, &sql).await.parse().expect("a number");
        let start = [b"braid/d".as_slice(), &table_prefix(data_id)].concat();
        Range { end: prefix_end(&start), start }
    }

    fn keys(&self, cluster: &TikvStandIn) -> usize {
        cluster.keys_in(&self.start, &self.end)
    }

    async fn wait_until_empty(&self, cluster: &TikvStandIn, server: &Server) {
        let deadline = Instant::now() + PATIENCE;
        while self.keys(cluster) > 0 {
            assert!(Instant::now() < deadline, "it was never destroyed\n{}", server.output());
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    }
}

#[test]
fn a_dropped_table_is_destroyed_without_being_read() {
    run(async {
        let cluster = TikvStandIn::start(Cluster::default());
        let server = start(&cluster);
        let client = connect(server.sql_url(), None).await;
        fill(&client).await;
        let range = Range::of(&client, "t").await;
        assert!(range.keys(&cluster) >= 2 * ROWS as usize);
        // Another database on the same cluster keeps its own.
        let url = format!("{}?prefix=other/", cluster.store_url());
        let other = Server::start(Config::new().store(url));
        let neighbour = connect(other.sql_url(), None).await;
        fill(&neighbour).await;
        let scanned_before = cluster.scanned();
        client.batch_execute("DROP TABLE t").await.expect("is dropped");
        assert!(range.keys(&cluster) > 0, "older snapshots may still see it");
        range.wait_until_empty(&cluster, &server).await;
        // What is scanned is the catalog, and by both servers what gateways and notes say.
        let scanned = cluster.scanned() - scanned_before;
        assert!(scanned < ROWS as u64 / 2, "{scanned} pairs");
        let stores = cluster.stores().len() as u64;
        assert_eq!(cluster.count(Rpc::DestroyRange), stores, "{}", server.output());
        assert_eq!(cluster.pd().reads_below_safe_point(), 0);
        assert_eq!(column_text(&neighbour, "SELECT count(*) FROM t").await, ROWS.to_string());
        assert!(first_column(&neighbour, "CHECK TABLE t").await.is_empty());
        client.batch_execute("CREATE TABLE t (id INT8 PRIMARY KEY)").await.expect("a new one");
        assert_eq!(column_text(&client, "SELECT count(*) FROM t").await, "0");
    });
}

/// The reader is at another gateway than the one that drops, and than the one that collects.
/// Switched off (PD is not told of open snapshots), it gets an error or no rows.
#[test]
fn a_transaction_from_before_reads_on_to_its_end() {
    run(async {
        let cluster = TikvStandIn::start(Cluster::default());
        let (server, second) = (start(&cluster), start(&cluster));
        let client = connect(server.sql_url(), None).await;
        fill(&client).await;
        let range = Range::of(&client, "t").await;
        let reader = connect(second.sql_url(), None).await;
        reader.batch_execute("BEGIN READ ONLY").await.expect("begins");
        assert_eq!(column_text(&reader, "SELECT count(*) FROM t").await, ROWS.to_string());
        client.batch_execute("DROP TABLE t").await.expect("is dropped");
        tokio::time::sleep(LIFE * 3).await;
        assert_eq!(column_text(&reader, "SELECT count(*) FROM t").await, ROWS.to_string());
        assert_eq!(column_text(&reader, "SELECT sum(grp) FROM t WHERE grp = 7").await, "1400");
        assert!(range.keys(&cluster) > 0);
        reader.batch_execute("COMMIT").await.expect("commits");
        range.wait_until_empty(&cluster, &server).await;
        assert_eq!(cluster.pd().reads_below_safe_point(), 0);
    });
}

#[test]
fn a_kill_between_drop_and_destruction_is_made_up_for() {
    run(async {
        let cluster = TikvStandIn::start(Cluster::default());
        let mut server = start(&cluster);
        let client = connect(server.sql_url(), None).await;
        fill(&client).await;
        let range = Range::of(&client, "t").await;
        client.batch_execute("DROP TABLE t").await.expect("is dropped");
        server.kill();
        tokio::time::sleep(LIFE * 2).await;
        assert!(range.keys(&cluster) > 0);
        server.restart();
        range.wait_until_empty(&cluster, &server).await;
        let client = connect(server.sql_url(), None).await;
        fill(&client).await;
        assert!(first_column(&client, "CHECK TABLE t").await.is_empty());
    });
}

/// Writes until told to stop; what a table change may do to it is to make it run again.
async fn write(client: Client, worker: i64, stop: Arc<AtomicBool>, done: Arc<AtomicUsize>) {
    let mut step = worker * 7919;
    while !stop.load(Ordering::Acquire) {
        step = (step * 48_271 + 11) % 2_147_483_647;
        let id = step % ROWS + 1;
        let sql = match step % 3 {
            0 => format!("DELETE FROM t WHERE id = {id}"),
            1 => format!("UPSERT INTO t VALUES ({id}, {}, 'w{worker}')", step % 50),
            _ => format!("UPDATE t SET grp = {} WHERE id = {id}", step % 50),
        };
        match client.batch_execute(&sql).await {
            Ok(()) => {
                done.fetch_add(1, Ordering::Relaxed);
            }
            Err(error) => {
                let known = [SqlState::T_R_SERIALIZATION_FAILURE, SqlState::UNDEFINED_TABLE];
                assert!(error.code().is_some_and(|code| known.contains(code)), "{sql}: {error:?}");
            }
        }
    }
}

/// Every change comes through at the first try, however much is written beside it.
#[test]
fn drops_beside_writers_come_through() {
    run(async {
        let cluster = TikvStandIn::start(Cluster::default());
        let server = start(&cluster);
        let client = connect(server.sql_url(), None).await;
        fill(&client).await;
        let (stop, done) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicUsize::new(0)));
        let mut writers = Vec::new();
        for worker in 1..=4 {
            let own = connect(server.sql_url(), None).await;
            writers.push(tokio::spawn(write(own, worker, stop.clone(), done.clone())));
        }
        let mut ranges = Vec::new();
        for _ in 0..3 {
            for sql in ["TRUNCATE t", "DROP INDEX t_grp", "CREATE INDEX t_grp ON t (grp)"] {
                tokio::time::sleep(Duration::from_millis(100)).await;
                if sql == "TRUNCATE t" {
                    ranges.push(Range::of(&client, "t").await);
                }
                let changed = client.batch_execute(sql).await;
                changed.unwrap_or_else(|error| panic!("{sql}: {error:?}\n{}", server.output()));
            }
        }
        assert!(done.load(Ordering::Relaxed) > 0, "no writer got through");
        ranges.push(Range::of(&client, "t").await);
        assert!(first_column(&client, "CHECK TABLE t").await.is_empty());
        client.batch_execute("DROP TABLE t").await.expect("is dropped");
        stop.store(true, Ordering::Release);
        for writer in writers {
            writer.await.expect("a writer without surprises");
        }
        for range in ranges {
            range.wait_until_empty(&cluster, &server).await;
        }
    });
}

/// What is dropped or emptied together with its parents and children goes, and nothing else does.
#[test]
fn interleaved_tables_are_emptied_and_dropped_as_a_whole() {
    run(async {
        let cluster = TikvStandIn::start(Cluster::default());
        let server = start(&cluster);
        let client = connect(server.sql_url(), None).await;
        let sql = "CREATE TABLE p (a INT8 PRIMARY KEY, n INT8, INDEX p_n (n));
             CREATE TABLE c (a INT8, b INT8, v INT8, PRIMARY KEY (a, b), INDEX c_v (v))
                 INTERLEAVE IN PARENT p (a) ON DELETE CASCADE;
             CREATE TABLE other (a INT8 PRIMARY KEY, n INT8);
             CREATE INDEX other_a ON other (a, n) INTERLEAVE IN PARENT p (a);
             INSERT INTO p SELECT i, i FROM generate_series(1, 200) AS i;
             INSERT INTO c SELECT a, b, a + b FROM p, generate_series(1, 5) AS b;
             INSERT INTO other SELECT i, i FROM generate_series(1, 200) AS i";
        client.batch_execute(sql).await.expect("filled tables");
        let counts = "SELECT (SELECT count(*) FROM p), (SELECT count(*) FROM c), \
                      (SELECT count(*) FROM other)";
        let counts = |client: Arc<Client>| async move {
            let row = client.query_one(counts, &[]).await.expect("counts");
            [0, 1, 2].map(|i| row.get::<_, i64>(i))
        };
        let client = Arc::new(client);
        client
            .batch_execute("BEGIN; INSERT INTO p VALUES (999, 1); TRUNCATE p CASCADE; COMMIT")
            .await
            .expect("is emptied");
        assert_eq!(counts(client.clone()).await, [0, 0, 200]);
        for table in ["p", "c", "other"] {
            let found = first_column(&client, &format!("CHECK TABLE {table}")).await;
            assert!(found.is_empty(), "{table}: {found:?}");
        }
        let refill = "INSERT INTO p SELECT i, i FROM generate_series(1, 100) AS i;
                      INSERT INTO c SELECT a, 1, a FROM p";
        client.batch_execute(refill).await.expect("filled again");
        client.batch_execute("DROP INDEX other_a; TRUNCATE p, c").await.expect("is emptied");
        assert_eq!(counts(client.clone()).await, [0, 0, 200]);
        client.batch_execute(refill).await.expect("filled again");
        assert_eq!(counts(client.clone()).await, [100, 100, 200]);
        let ranges = [Range::of(&client, "p").await, Range::of(&client, "c").await];
        let kept = Range::of(&client, "other").await;
        // What was emptied is destroyed meanwhile; what stands stays.
        tokio::time::sleep(LIFE * 3).await;
        assert_eq!(counts(client.clone()).await, [100, 100, 200]);
        client.batch_execute("DROP TABLE p CASCADE").await.expect("is dropped");
        for range in ranges {
            range.wait_until_empty(&cluster, &server).await;
        }
        assert!(kept.keys(&cluster) > 0);
        assert_eq!(column_text(&client, "SELECT count(*) FROM other").await, "200");
        assert!(first_column(&client, "CHECK TABLE other").await.is_empty());
    });
}

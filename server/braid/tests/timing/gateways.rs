//! Several gateways over one store (a stand-in, which `BRAID_TEST_PLAN` disturbs, or `TIKV_PD`):
//! what one does is right under what the others do at the same time, and when one of them is paused
//! or killed.

mod lost_locks;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use braid_testkit::server::Server;
use braid_testkit::target::first_column;
use braid_testkit::tikv::{Fault, Gate, Rpc, Rule};
use braid_types::{Datum, SqlType};
use tokio_postgres::Client;
use tokio_postgres::error::SqlState;
use tokio_postgres::types::{ToSql, Type};

use crate::several_gateways::{Cluster, LEASE, PATIENCE, assert_sound, insist, run};

/// What a client may meet while others change tables.
fn is_expected(error: &tokio_postgres::Error) -> bool {
    let expected = [
        SqlState::T_R_SERIALIZATION_FAILURE,
        SqlState::UNDEFINED_TABLE,
        SqlState::UNDEFINED_COLUMN,
    ];
    error.code().is_some_and(|code| expected.contains(code))
}

/// Writers that go on until told to stop.
#[derive(Default)]
struct Writers {
    stop: Arc<AtomicBool>,
    done: Arc<AtomicU64>,
    tasks: Vec<tokio::task::JoinHandle<()>>,
}

impl Writers {
    fn add(&mut self, client: Client, number: u64) {
        let (stop, done) = (self.stop.clone(), self.done.clone());
        self.tasks.push(tokio::spawn(async move {
            let mut step = number;
            while !stop.load(Ordering::Acquire) {
                step = (step * 48_271 + 11) % 2_147_483_647;
                let sql = statement(step, number);
                match client.batch_execute(&sql).await {
                    Ok(()) => {
                        done.fetch_add(1, Ordering::Relaxed);
                    }
                    Err(error) => assert!(is_expected(&error), "{sql}: {error:?}"),
                }
            }
        }));
    }

    /// Waits until that many more statements have succeeded.
    async fn go_on(&self, more: u64) {
        let (wanted, until) = (self.done.load(Ordering::Relaxed) + more, Instant::now() + PATIENCE);
        while self.done.load(Ordering::Relaxed) < wanted {
            assert!(Instant::now() < until, "the writers do not get on");
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    }

    async fn end(self) -> u64 {
        self.stop.store(true, Ordering::Release);
        for task in self.tasks {
            task.await.expect("no writer fails");
        }
        self.done.load(Ordering::Relaxed)
    }
}

const ROWS: u64 = 400;

fn statement(step: u64, number: u64) -> String {
    let (id, group) = (step % ROWS + 1, step % 17);
    match step % 5 {
        0 => format!("DELETE FROM items WHERE id IN ({id}, {})", id % ROWS + 1),
        1 => format!("UPDATE items SET grp = {group} WHERE id = {id}"),
        2 => format!("UPDATE items SET note = 'w{number} {step}', grp = grp + 1 WHERE id = {id}"),
        // Blind: nothing is read but what the lease or the proof of the schema stands for.
        _ => {
            let row = |id: u64| format!("({id}, {group}, 'n{step}')");
            let rows: Vec<String> = (id..id + 3).map(|id| row(id % ROWS + 1)).collect();
            format!("UPSERT INTO items (id, grp, note) VALUES {}", rows.join(", "))
        }
    }
}

async fn fill(client: &Client) {
    let sql = format!(
        "CREATE TABLE items (id INT8 PRIMARY KEY, grp INT8, note TEXT);
         INSERT INTO items SELECT i, i % 17, 'first' FROM generate_series(1, {ROWS}) AS i"
    );
    client.batch_execute(&sql).await.expect("a filled table");
}

#[test]
fn one_changes_tables_while_both_write() {
    run(async {
        let cluster = Cluster::start(2);
        let ddl = cluster.connect(0).await;
        fill(&ddl).await;
        let mut writers = Writers::default();
        for number in 0..2 {
            writers.add(cluster.connect(1).await, number + 1);
        }
        writers.add(cluster.connect(0).await, 7);
        for round in 0..6 {
            if round % 3 != 2 {
                // The others trust their catalogs when the index comes.
                wait_for_modes(&ddl, &["fast", "fast"]).await;
            }
            insist(&ddl, &format!("CREATE INDEX items_g{round} ON items (grp) STORING (note)"))
                .await;
            writers.go_on(10).await;
            insist(
                &ddl,
                &format!("ALTER TABLE items ADD COLUMN extra{round} INT8 DEFAULT {round}"),
            )
            .await;
            insist(&ddl, &format!("CREATE INDEX items_e{round} ON items (extra{round}, grp)"))
                .await;
            writers.go_on(10).await;
            insist(&ddl, &format!("CREATE TABLE more{round} (id INT8 PRIMARY KEY)")).await;
            insist(&ddl, &format!("DROP TABLE more{round}")).await;
        }
        let done = writers.end().await;
        for gateway in 0..2 {
            assert_sound(&cluster.connect(gateway).await, "items").await;
        }
        let by_index = first_column(&ddl, "SELECT count(*) FROM items WHERE grp >= -1").await;
        assert_eq!(by_index, first_column(&ddl, "SELECT count(*) FROM items").await);
        assert!(done > 100, "{done} statements only");
    });
}

#[test]
fn a_change_is_seen_at_once_by_the_other() {
    run(async {
        let cluster = Cluster::start(2);
        let (one, other) = (cluster.connect(0).await, cluster.connect(1).await);
        for round in 0..4 {
            // Now and then the others trust their catalogs when the change comes.
            if round % 2 == 1 {
                wait_for_modes(&one, &["fast", "fast"]).await;
            }
            let sql = format!("CREATE TABLE t{round} (a INT8)");
            one.batch_execute(&sql).await.expect("is made");
            let sql = format!("INSERT INTO t{round} VALUES (1)");
            other.batch_execute(&sql).await.expect("is there");
            let sql = format!("ALTER TABLE t{round} ADD COLUMN b INT8 NOT NULL DEFAULT 3");
            insist(&other, &sql).await;
            let sum = first_column(&one, &format!("SELECT a + b FROM t{round}")).await;
            assert_eq!(sum, ["4"]);
            insist(&one, &format!("DROP TABLE t{round}")).await;
            let error = other.batch_execute(&format!("SELECT * FROM t{round}")).await;
            assert_eq!(error.expect_err("is gone").code(), Some(&SqlState::UNDEFINED_TABLE));
        }
        one.batch_execute("CREATE USER someone").await.expect("is made");
        let roles = first_column(&other, "SELECT rolname FROM pg_roles WHERE rolname = 'someone'");
        assert_eq!(roles.await, ["someone"]);
    });
}

async fn wait_for_modes(client: &Client, modes: &[&str]) {
    let sql = "SELECT mode FROM braid_internal.gateways ORDER BY mode";
    let until = Instant::now() + PATIENCE;
    loop {
        let found = first_column(client, sql).await;
        if found == modes {
            return;
        }
        assert!(Instant::now() < until, "{found:?} instead of {modes:?}");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

/// The key of a row, of a table with an INT8 key, in the stand-in.
async fn row_key(client: &Client, table: &str, id: i64) -> Vec<u8> {
    let sql = format!("SELECT data_id FROM braid_internal.tables WHERE table_name = '{table}'");
    let data_id = first_column(client, &sql).await[0].parse().expect("a number");
    let mut key = braid_codec::key::index_prefix(data_id, 1);
    braid_codec::key::encode(&mut key, &Datum::Int(id), &SqlType::Int8, false);
    braid_codec::key::encode_family(&mut key, 0);
    [b"braid/d".as_slice(), &key].concat()
}

#[test]
fn a_change_waits_for_a_fast_commit_that_is_on_its_way() {
    run(async {
        let cluster = Cluster::start(2);
        let Some(stand_in) = &cluster.stand_in else { return };
        let (ddl, writer) = (cluster.connect(0).await, cluster.connect(1).await);
        fill(&ddl).await;
        let upsert = "UPSERT INTO items (id, grp, note) VALUES (5000, 3, 'late')";
        let gate = Gate::new();
        let fault = Fault::HoldRequest(gate.clone());
        let rule = Rule::next(Rpc::Prewrite, fault).key(&row_key(&ddl, "items", 5000).await);
        writer.batch_execute("SELECT * FROM items WHERE id = 1").await.expect("knows the table");
        wait_for_modes(&ddl, &["fast", "fast"]).await;
        stand_in.add(rule);
        let write = tokio::spawn(async move { writer.batch_execute(upsert).await });
        let until = Instant::now() + PATIENCE;
        while gate.arrived() == 0 {
            assert!(Instant::now() < until, "nothing is prewritten there");
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        let change = tokio::spawn(async move {
            insist(&ddl, "CREATE INDEX items_late ON items (grp)").await;
            ddl
        });
        // Shorter than a request is waited for.
        for _ in 0..80 {
            tokio::time::sleep(Duration::from_millis(50)).await;
            if change.is_finished() {
                break;
            }
        }
        assert!(!change.is_finished(), "the change has overtaken the commit");
        gate.open();
        write.await.expect("no panic").expect("is written");
        assert_sound(&change.await.expect("no panic"), "items").await;
    });
}

/// Whatever way the client takes, a row is looked up by its key without a word from PD.
#[test]
fn a_lookup_by_key_waits_for_no_timestamp() {
    run(async {
        let cluster = Cluster::start(2);
        let Some(stand_in) = &cluster.stand_in else { return };
        let client = cluster.connect(1).await;
        fill(&client).await;
        for isolation in ["serializable", "repeatable read", "read committed"] {
            wait_for_modes(&client, &["fast", "fast"]).await;
            client.batch_execute("SELECT * FROM items WHERE id = 7").await.expect("the table");
            let sql = format!("SET default_transaction_isolation = '{isolation}'");
            client.batch_execute(&sql).await.expect("a level");
            let by_key = "SELECT grp FROM items WHERE id = $1";
            let prepared = client.prepare(by_key).await.expect("a statement");
            client.query(&prepared, &[&1_i64]).await.expect("knows the region");
            let gate = Gate::new();
            let rule = Rule::next(Rpc::Tso, Fault::HoldRequest(gate.clone()));
            stand_in.add(rule.times(100));
            let reads = async {
                let one = client.query(&prepared, &[&2_i64]).await.expect("by a statement");
                let unnamed = [(&2_i64 as &(dyn ToSql + Sync), Type::INT8)];
                let two = client.query_typed(by_key, &unnamed).await.expect("unnamed");
                assert_eq!(one[0].get::<_, i64>(0), two[0].get::<_, i64>(0));
                let text = "SELECT grp FROM items WHERE id = 2";
                client.batch_execute(text).await.expect("as text");
            };
            let reads = tokio::time::timeout(LEASE / 4, reads).await;
            let count = client.query("SELECT count(*) FROM items", &[]);
            let count = tokio::time::timeout(LEASE / 20, count).await;
            gate.open();
            stand_in.clear_rules();
            reads.unwrap_or_else(|_| panic!("{isolation}: it waits for a timestamp"));
            assert!(count.is_err(), "the others do");
        }
    });
}

/// A change of the table does not wait for a lookup that is under way, which looks again.
#[test]
fn a_lookup_by_key_is_not_shown_by_an_old_schema() {
    run(async {
        let cluster = Cluster::start(2);
        let Some(stand_in) = &cluster.stand_in else { return };
        let ddl = cluster.connect(0).await;
        fill(&ddl).await;
        let key = row_key(&ddl, "items", 7).await;
        for (round, gateway) in [(0, 0), (1, 1)] {
            let reader = cluster.connect(gateway).await;
            wait_for_modes(&ddl, &["fast", "fast"]).await;
            reader.batch_execute("SELECT * FROM items WHERE id = 7").await.expect("the table");
            let gate = Gate::new();
            stand_in.add(Rule::next(Rpc::Get, Fault::HoldRequest(gate.clone())).key(&key));
            let read = tokio::spawn(async move {
                reader.simple_query("SELECT * FROM items WHERE id = 7").await
            });
            let until = Instant::now() + PATIENCE;
            while gate.arrived() == 0 {
                assert!(Instant::now() < until, "nothing is read there");
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
            insist(&ddl, &format!("ALTER TABLE items ADD COLUMN c{round} INT8 DEFAULT 5")).await;
            insist(&ddl, "UPDATE items SET grp = grp + 1 WHERE id = 7").await;
            gate.open();
            let rows = read.await.expect("no panic").expect("rows");
            let row = rows.iter().find_map(|message| match message {
                tokio_postgres::SimpleQueryMessage::Row(row) => Some(row),
                _ => None,
            });
            assert_eq!(row.expect("a row").try_get(&*format!("c{round}")).ok(), Some(Some("5")));
        }
    });
}

#[test]
fn a_paused_gateway_does_not_write_under_its_old_lease() {
    run(async {
        let cluster = Cluster::start(2);
        let ddl = cluster.connect(0).await;
        fill(&ddl).await;
        wait_for_modes(&ddl, &["fast", "fast"]).await;
        for round in 0..2 {
            let mut writers = Writers::default();
            for number in 0..3 {
                writers.add(cluster.connect(1).await, number + 1);
            }
            writers.go_on(20).await;
            cluster.servers[1].pause();
            let begun = Instant::now();
            insist(&ddl, &format!("CREATE INDEX items_p{round} ON items (grp)")).await;
            let took = begun.elapsed();
            assert!(took < LEASE * 4, "the change waited {took:?}");
            tokio::time::sleep(LEASE.saturating_sub(took) + Duration::from_millis(500)).await;
            cluster.servers[1].resume();
            writers.go_on(10).await;
            writers.end().await;
            assert_sound(&ddl, "items").await;
            assert_sound(&cluster.connect(1).await, "items").await;
        }
    });
}

#[test]
fn no_number_of_a_sequence_comes_twice() {
    run(async {
        let cluster = Cluster::start(2);
        let clients = [cluster.connect(0).await, cluster.connect(1).await];
        clients[0].batch_execute("CREATE SEQUENCE s").await.expect("is made");
        let mut tasks = Vec::new();
        for client in clients {
            tasks.push(tokio::spawn(async move {
                let mut all = Vec::new();
                for _ in 0..40 {
                    let sql = "SELECT nextval('s') FROM generate_series(1, 5)";
                    all.extend(first_column(&client, sql).await);
                }
                all
            }));
        }
        let mut all = Vec::new();
        for task in tasks {
            all.extend(task.await.expect("no panic"));
        }
        let count = all.len();
        all.sort_unstable();
        all.dedup();
        assert_eq!((count, all.len()), (400, 400));
    });
}

#[test]
fn gateways_are_listed_with_their_leases() {
    run(async {
        let mut cluster = Cluster::start(2);
        let client = cluster.connect(0).await;
        wait_for_modes(&client, &["fast", "fast"]).await;
        let address = |server: &Server| {
            let url = server.sql_url();
            let (_, rest) = url.split_once('@').expect("a user");
            rest.split('/').next().unwrap_or_default().to_owned()
        };
        let mut addresses: Vec<String> = cluster.servers.iter().map(address).collect();
        let own = addresses[0].clone();
        addresses.sort();
        let until = Instant::now() + PATIENCE;
        let sql = "SELECT address FROM braid_internal.gateways ORDER BY address COLLATE \"C\"";
        while first_column(&client, sql).await != addresses {
            assert!(Instant::now() < until, "{:?}", first_column(&client, sql).await);
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
        let sql = "SELECT address FROM braid_internal.gateways
                   WHERE is_self AND expires > started AND version <> ''";
        assert_eq!(first_column(&client, sql).await, [own]);
        // One that ends in order takes its record along, one that is killed leaves it.
        cluster.servers[1].terminate();
        wait_for_modes(&client, &["fast"]).await;
        cluster.servers[1].restart();
        wait_for_modes(&client, &["fast", "fast"]).await;
        cluster.servers[1].kill();
        wait_for_modes(&client, &["expired", "fast"]).await;
        client.batch_execute("CREATE TABLE alone (a INT8)").await.expect("nobody is waited for");
    });
}

#[test]
fn statistics_of_one_are_used_by_the_other() {
    run(async {
        let cluster = Cluster::start(2);
        let (one, other) = (cluster.connect(0).await, cluster.connect(1).await);
        fill(&one).await;
        one.batch_execute("ANALYZE items").await.expect("is analyzed");
        let sql = "SELECT estimated_rows FROM braid_internal.tables WHERE table_name = 'items'";
        let until = Instant::now() + PATIENCE;
        while first_column(&other, sql).await != [ROWS.to_string()] {
            assert!(Instant::now() < until, "{:?}", first_column(&other, sql).await);
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    });
}

//! Tables that have changed much are analyzed without being asked, and plans follow.

use std::time::{Duration, Instant};

use braid_testkit::server::{Config, Server};
use braid_testkit::target::{column_text, connect};
use braid_testkit::tikv::{self, TikvStandIn};
use tokio_postgres::Client;

/// An ANALYZE that takes longer to begin will not.
const PATIENCE: Duration = Duration::from_secs(60);

fn often() -> Config {
    Config::new().env("BRAID_ANALYZE_INTERVAL", "100ms")
}

fn run(test: impl Future<Output = ()>) {
    tokio::runtime::Runtime::new().expect("a runtime").block_on(test);
}

/// Waits until a query has this answer.
async fn wait(client: &Client, sql: &str, wanted: &str) {
    let deadline = Instant::now() + PATIENCE;
    loop {
        let answer = column_text(client, sql).await;
        if answer == wanted {
            return;
        }
        assert!(Instant::now() < deadline, "{sql} stays {answer}, not {wanted}");
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}

/// A column of the statistics that PostgreSQL shows of a table.
fn counted(column: &str, table: &str) -> String {
    format!("SELECT {column} FROM pg_stat_user_tables WHERE relname = '{table}'")
}

/// An index of a column with one value and one of a column with a value for each row: statistics
/// alone say which one is better.
const TABLE: &str = "
    CREATE TABLE t (id int PRIMARY KEY, even int, odd int);
    CREATE INDEX t_even ON t (even);
    CREATE INDEX t_odd ON t (odd);
    INSERT INTO t SELECT g, 1, g FROM generate_series(1, 3000) g";
const QUERY: &str = "EXPLAIN EXECUTE q";

#[test]
fn a_prepared_statement_has_a_new_plan_after_enough_changes() {
    run(async {
        let mut server = Server::start(often());
        let client = connect(server.sql_url(), None).await;
        client.batch_execute("CREATE TABLE small (a int)").await.expect("a table");
        client
            .batch_execute("INSERT INTO small SELECT generate_series(1, 49)")
            .await
            .expect("rows");
        let off = "CREATE TABLE off (a int) WITH (autovacuum_enabled = off)";
        client.batch_execute(off).await.expect("a table");
        client.batch_execute("INSERT INTO off SELECT generate_series(1, 999)").await.expect("rows");
        let early = "CREATE TABLE early (a int) WITH (autovacuum_analyze_threshold = 2)";
        client.batch_execute(early).await.expect("a table");
        client.batch_execute("INSERT INTO early VALUES (1), (2)").await.expect("rows");
        client.batch_execute(TABLE).await.expect("a table");
        let prepare = "PREPARE q AS SELECT id FROM t WHERE even = 1 AND odd = 7";
        client.batch_execute(prepare).await.expect("a statement");
        column_text(&client, QUERY).await;
        wait(&client, &counted("autoanalyze_count", "t"), "1").await;
        wait(&client, &counted("autoanalyze_count", "early"), "1").await;
        let plan = column_text(&client, QUERY).await;
        assert!(plan.contains("t_odd") && plan.contains("rows=1)"), "{plan}");
        let told = "last_autoanalyze IS NOT NULL AND last_analyze IS NULL";
        assert_eq!(column_text(&client, &counted(told, "t")).await, "t");
        assert_eq!(column_text(&client, &counted("n_mod_since_analyze", "t")).await, "0");
        // A tenth of the rows and 50 are needed the next time.
        client.batch_execute("UPDATE t SET odd = -odd WHERE id <= 340").await.expect("an update");
        tokio::time::sleep(Duration::from_millis(500)).await;
        assert_eq!(column_text(&client, &counted("n_mod_since_analyze", "t")).await, "340");
        client.batch_execute("DELETE FROM t WHERE id <= 20").await.expect("a delete");
        wait(&client, &counted("autoanalyze_count", "t"), "2").await;
        wait(&client, &counted("n_live_tup", "t"), "2980").await;
        for table in ["small", "off"] {
            assert_eq!(
                column_text(&client, &counted("autoanalyze_count", table)).await,
                "0",
                "{table}"
            );
        }
        // Nobody knows after a crash what had changed before: tables without statistics are
        // analyzed, others keep theirs.
        drop(client);
        server.kill();
        server.restart();
        let client = connect(server.sql_url(), None).await;
        wait(&client, &counted("autoanalyze_count", "small"), "1").await;
        assert_eq!(column_text(&client, &counted("autoanalyze_count", "t")).await, "0");
        wait(&client, &counted("n_live_tup", "t"), "2980").await;
        assert_eq!(column_text(&client, "SHOW autovacuum").await, "on");
    });
}

/// A run ends when its database is to be dropped. It takes longer than DROP DATABASE waits.
#[test]
fn a_database_is_dropped_while_a_table_of_it_is_analyzed() {
    run(async {
        let server = Server::start(often());
        let client = connect(server.sql_url(), None).await;
        client.batch_execute("CREATE DATABASE other").await.expect("a database");
        let inside = connect(server.sql_url(), Some("other")).await;
        let columns: Vec<String> = (0..50).map(|n| format!("g * {n} % 1000 AS c{n}")).collect();
        let rows = format!(
            "CREATE TABLE large AS SELECT {} FROM generate_series(1, 40000) g",
            columns.join(", ")
        );
        inside.batch_execute(&rows).await.expect("rows");
        drop(inside);
        let worker = "SELECT query FROM pg_stat_activity WHERE backend_type = 'autovacuum worker'";
        wait(&client, worker, "autovacuum: ANALYZE public.large").await;
        client.batch_execute("DROP DATABASE other").await.expect("the run makes way");
        assert_eq!(column_text(&client, worker).await, "");
    });
}

/// Switched off, nothing is analyzed; the number of rows is counted all the same.
#[test]
fn the_interval_0_switches_it_off() {
    run(async {
        let server = Server::start(Config::new().env("BRAID_ANALYZE_INTERVAL", "0s"));
        let client = connect(server.sql_url(), None).await;
        client.batch_execute(TABLE).await.expect("a table");
        tokio::time::sleep(Duration::from_millis(500)).await;
        assert_eq!(column_text(&client, &counted("autoanalyze_count", "t")).await, "0");
        assert_eq!(column_text(&client, &counted("n_live_tup", "t")).await, "3000");
        let plan = column_text(&client, "EXPLAIN SELECT * FROM t").await;
        assert!(plan.contains("rows=3000"), "{plan}");
        assert_eq!(column_text(&client, "SHOW autovacuum").await, "off");
    });
}

/// A transaction's own work counts after TRUNCATE and CREATE, and not before.
#[test]
fn emptied_tables_are_counted_from_there() {
    run(async {
        let server = Server::start(Config::new());
        let client = connect(server.sql_url(), None).await;
        client.batch_execute(TABLE).await.expect("a table");
        let refill = "BEGIN; DELETE FROM t WHERE id < 10; TRUNCATE t;
            INSERT INTO t SELECT g, 1, 1 FROM generate_series(1, 70) g; COMMIT";
        client.batch_execute(refill).await.expect("other rows");
        assert_eq!(column_text(&client, &counted("n_live_tup", "t")).await, "70");
        let made = "BEGIN; CREATE TABLE n (a int); INSERT INTO n VALUES (1), (2); COMMIT";
        client.batch_execute(made).await.expect("a table");
        assert_eq!(column_text(&client, &counted("n_live_tup", "n")).await, "2");
        client.batch_execute("CREATE TABLE copy AS SELECT * FROM t").await.expect("a table");
        assert_eq!(column_text(&client, &counted("n_mod_since_analyze", "copy")).await, "70");
        client.batch_execute("TRUNCATE t").await.expect("no rows");
        assert_eq!(column_text(&client, &counted("n_live_tup", "t")).await, "0");
    });
}

#[test]
fn gateways_share_the_work_and_the_result() {
    run(async {
        let cluster = TikvStandIn::start(tikv::Config::default());
        let start = || Server::start(often().store(cluster.store_url()));
        let (one_gateway, other_gateway) = (start(), start());
        let first = connect(one_gateway.sql_url(), None).await;
        let second = connect(other_gateway.sql_url(), None).await;
        let table = "CREATE TABLE t (id int PRIMARY KEY, a int) WITH (autovacuum_enabled = off)";
        first.batch_execute(table).await.expect("a table");
        for (client, from) in [(&first, 0), (&second, 40)] {
            let rows = format!("generate_series({}, {})", from + 1, from + 40);
            let insert = format!("INSERT INTO t SELECT g, 1 FROM {rows} g");
            client.batch_execute(&insert).await.expect("rows");
        }
        // Neither has changed 50 rows, but both together have.
        first.batch_execute("ALTER TABLE t RESET (autovacuum_enabled)").await.expect("it is on");
        for client in [&first, &second] {
            wait(client, "SELECT n_distinct FROM pg_stats WHERE attname = 'a'", "1").await;
            wait(client, &counted("n_mod_since_analyze", "t"), "0").await;
            wait(client, &counted("n_live_tup", "t"), "80").await;
        }
    });
}

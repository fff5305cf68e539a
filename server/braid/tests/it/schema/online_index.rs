//! CREATE INDEX on a filled table: beside writers, cancelled, and cut short by kill -9. Afterwards
//! the index has what the table has, or is gone.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use braid_testkit::server::{Config, Server};
use braid_testkit::size::Size;
use braid_testkit::store;
use braid_testkit::target::{connect, first_column};
use tokio_postgres::Client;
use tokio_postgres::error::SqlState;

const PATIENCE: Duration = Duration::from_secs(60);
const CREATE: &str = "CREATE INDEX IF NOT EXISTS items_group ON items (grp) STORING (note)";

/// The rows of the table. Over TiKV the small size has fewer: each batch is a round trip there.
fn rows() -> i64 {
    if store::is_tikv() { Size::from_env().pick(4_000, 20_000, 20_000) } else { 20_000 }
}

fn run(test: impl Future<Output = ()>) {
    tokio::runtime::Runtime::new().expect("a runtime").block_on(test);
}

async fn fill(client: &Client) {
    client
        .batch_execute(&format!(
            "CREATE TABLE items (id INT8 PRIMARY KEY, grp INT8 NOT NULL, note TEXT);
             INSERT INTO items SELECT i, i % 50, 'note ' || i FROM generate_series(1, {rows}) AS i",
            rows = rows()
        ))
        .await
        .expect("a filled table");
}

/// The state of the index; none if it is not in the catalog.
async fn state(client: &Client) -> Option<String> {
    let sql = "SELECT state FROM braid_internal.indexes WHERE index_name = 'items_group'";
    first_column(client, sql).await.pop()
}

async fn wait_for_building(client: &Client) {
    let deadline = Instant::now() + PATIENCE;
    while state(client).await.as_deref() != Some("building") {
        assert!(Instant::now() < deadline, "the building never began");
        tokio::time::sleep(Duration::from_millis(2)).await;
    }
}

/// Every group read by the index and by the table is the same.
async fn assert_agree(client: &Client) {
    let listed =
        first_column(client, "SELECT indexname FROM pg_indexes WHERE tablename = 'items'").await;
    assert!(listed.contains(&"items_group".to_owned()), "{listed:?}");
    assert_eq!(state(client).await.as_deref(), Some("public"));
    let plan =
        first_column(client, "EXPLAIN SELECT note FROM items WHERE grp = 7").await.join("\n");
    assert!(plan.contains("items_group"), "{plan}");
    for group in -1..52 {
        let row = "id || ':' || grp || ':' || coalesce(note, 'NULL')";
        let read = |condition: String| format!("SELECT {row} FROM items WHERE {condition}");
        let by_index = first_column(client, &read(format!("grp = {group} ORDER BY id"))).await;
        // An expression that no index has reads the table.
        let by_table = first_column(client, &read(format!("grp + 0 = {group} ORDER BY id"))).await;
        assert_eq!(by_index, by_table, "group {group}");
    }
    let total = first_column(client, "SELECT count(*) FROM items WHERE grp >= -1").await;
    assert_eq!(total, first_column(client, "SELECT count(*) FROM items").await);
}

#[test]
fn an_index_cut_short_by_a_kill_is_gone_after_the_next_start_or_finished() {
    run(async {
        let mut server = Server::start(Config::new());
        fill(&connect(server.sql_url(), None).await).await;
        // A round takes longer than a lease over TiKV.
        for _ in 0..if store::is_tikv() { 2 } else { 3 } {
            let builder = connect(server.sql_url(), None).await;
            let watcher = connect(server.sql_url(), None).await;
            let building = tokio::spawn(async move { builder.batch_execute(CREATE).await });
            wait_for_building(&watcher).await;
            server.kill();
            let outcome = building.await.expect("no panic");
            assert!(outcome.is_err(), "the index was done before the kill: use more rows");
            server.restart();
            let client = connect(server.sql_url(), None).await;
            // Over TiKV the next one may be another gateway: once the lease has ended it goes on.
            let deadline = Instant::now() + PATIENCE;
            while state(&client).await.as_deref() == Some("building") {
                assert!(Instant::now() < deadline, "the unfinished index stays");
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
            if store::is_tikv() {
                assert_agree(&client).await;
                client.batch_execute("DROP INDEX items_group").await.expect("is dropped");
            } else {
                let sql = "SELECT indexname FROM pg_indexes WHERE tablename = 'items'";
                assert_eq!(first_column(&client, sql).await, ["items_pkey"]);
                let output = server.output();
                let line = "removed what was cut short while it was being added \
                            name=\"items_group\"";
                assert!(output.contains(line), "{output}");
            }
            // Rows that change while there is no index must not show in the next one's entries.
            let changes = "UPDATE items SET grp = 50 - grp WHERE id % 7 = 0;
                           DELETE FROM items WHERE id % 41 = 0";
            client.batch_execute(changes).await.expect("changes");
        }
        let client = connect(server.sql_url(), None).await;
        client.batch_execute(CREATE).await.expect("is built");
        assert_agree(&client).await;
        server.restart();
        let client = connect(server.sql_url(), None).await;
        assert!(!server.output().contains("removed what was cut short"), "{}", server.output());
        assert_agree(&client).await;
    });
}

#[test]
fn a_cancelled_create_index_leaves_nothing() {
    run(async {
        let server = Server::start(Config::new());
        let client = connect(server.sql_url(), None).await;
        fill(&client).await;
        let watcher = connect(server.sql_url(), None).await;
        let token = client.cancel_token();
        let (outcome, ()) = tokio::join!(client.batch_execute(CREATE), async {
            wait_for_building(&watcher).await;
            token.cancel_query(tokio_postgres::NoTls).await.expect("a cancel request");
        });
        let error = outcome.expect_err("is cancelled");
        assert_eq!(error.code(), Some(&SqlState::QUERY_CANCELED));
        assert_eq!(state(&watcher).await, None);
        client.batch_execute(CREATE).await.expect("is built");
        assert_agree(&client).await;
    });
}

/// Writes at random-looking places until told to stop; how many statements got through.
async fn write(client: Client, worker: i64, stop: Arc<AtomicBool>, done: Arc<AtomicUsize>) {
    let mut step = worker * 7919;
    while !stop.load(Ordering::Acquire) {
        step = (step * 48_271 + 11) % 2_147_483_647;
        let (id, group) = (step % rows() + 1, step % 50);
        let sql = match step % 4 {
            0 => format!("DELETE FROM items WHERE id = {id}"),
            1 => format!("UPDATE items SET grp = {group} WHERE id = {id}"),
            2 => format!("UPDATE items SET note = 'w{worker} {step}' WHERE id = {id}"),
            _ => format!(
                "INSERT INTO items VALUES ({}, {group}, NULL) ON CONFLICT (id) DO UPDATE \
                 SET grp = excluded.grp, note = 'again'",
                if step % 3 == 0 { id } else { id + rows() }
            ),
        };
        match client.batch_execute(&sql).await {
            Ok(()) => {
                done.fetch_add(1, Ordering::Relaxed);
            }
            Err(error) => assert_eq!(
                error.code(),
                Some(&SqlState::T_R_SERIALIZATION_FAILURE),
                "{sql}: {error:?}"
            ),
        }
    }
}

/// Statements that read or write every row of a table.
const ALTERS: [&str; 9] = [
    "ALTER TABLE items ADD COLUMN r float8 DEFAULT random()",
    "ALTER TABLE items ADD COLUMN s serial",
    "ALTER TABLE items ALTER COLUMN grp TYPE int4",
    "ALTER TABLE items ADD COLUMN u uuid DEFAULT gen_random_uuid() UNIQUE",
    "ALTER TABLE items ADD CONSTRAINT grp_range CHECK (grp BETWEEN -1 AND 100)",
    "ALTER TABLE items ALTER COLUMN r SET NOT NULL",
    "ALTER TABLE items DROP CONSTRAINT items_pkey, ADD PRIMARY KEY (id)",
    "BEGIN; ALTER TABLE items ALTER COLUMN grp TYPE int8; COMMIT",
    "ALTER TABLE items DROP COLUMN r, ADD COLUMN r float8 DEFAULT random()",
];

#[test]
fn an_alter_table_that_reads_every_row_ends_beside_writers() {
    run(async {
        let server = Server::start(Config::new());
        let client = connect(server.sql_url(), None).await;
        fill(&client).await;
        client.batch_execute("DELETE FROM items WHERE id % 8 <> 0").await.expect("fewer rows");
        let (stop, done) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicUsize::new(0)));
        let mut writers = Vec::new();
        for worker in 1..=8 {
            let own = connect(server.sql_url(), None).await;
            writers.push(tokio::spawn(write(own, worker, stop.clone(), done.clone())));
        }
        for sql in ALTERS {
            // Over TiKV a definition in a block is only run again.
            if store::is_tikv() && sql.starts_with("BEGIN") {
                continue;
            }
            let before = done.load(Ordering::Relaxed);
            let altered = tokio::time::timeout(PATIENCE, client.batch_execute(sql)).await;
            altered.expect("ends beside writers").unwrap_or_else(|e| panic!("{sql}: {e:?}"));
            let deadline = Instant::now() + PATIENCE;
            while done.load(Ordering::Relaxed) == before {
                assert!(Instant::now() < deadline, "no writer goes on after {sql}");
                tokio::time::sleep(Duration::from_millis(2)).await;
            }
        }
        if !store::is_tikv() {
            waits_for_earlier_writers(&server, &client).await;
        }
        stop.store(true, Ordering::Release);
        for writer in writers {
            writer.await.expect("a writer without surprises");
        }
        let findings = first_column(&client, "CHECK TABLE items").await;
        assert_eq!(findings, Vec::<String>::new());
    });
}

/// It waits for who came before, but not for ever.
async fn waits_for_earlier_writers(server: &Server, client: &Client) {
    let holder = connect(server.sql_url(), None).await;
    for sql in
        ["INSERT INTO items VALUES (-1, 0)", "BEGIN", "UPDATE items SET grp = 1 WHERE id = -1"]
    {
        holder.batch_execute(sql).await.expect("holds a row");
    }
    client.batch_execute("SET lock_timeout = '200ms'").await.expect("is set");
    let error = client.batch_execute(ALTERS[2]).await.expect_err("waits for the row");
    assert_eq!(error.code(), Some(&SqlState::LOCK_NOT_AVAILABLE), "{error:?}");
    holder.batch_execute("ROLLBACK").await.expect("is rolled back");
}

#[test]
fn writers_beside_the_building_are_in_the_index() {
    run(async {
        let server = Server::start(Config::new());
        let client = connect(server.sql_url(), None).await;
        fill(&client).await;
        let (stop, done) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicUsize::new(0)));
        let mut writers = Vec::new();
        for worker in 1..=4 {
            let own = connect(server.sql_url(), None).await;
            writers.push(tokio::spawn(write(own, worker, stop.clone(), done.clone())));
        }
        for _ in 0..2 {
            let before = done.load(Ordering::Relaxed);
            client.batch_execute(CREATE).await.expect("is built beside writers");
            let during = done.load(Ordering::Relaxed) - before;
            assert!(during > 0, "no writer got through while the index was built");
            tokio::time::sleep(Duration::from_millis(50)).await;
            client.batch_execute("DROP INDEX items_group").await.expect("is dropped");
        }
        client.batch_execute(CREATE).await.expect("is built once more");
        tokio::time::sleep(Duration::from_millis(50)).await;
        stop.store(true, Ordering::Release);
        for writer in writers {
            writer.await.expect("a writer without surprises");
        }
        assert_agree(&client).await;
    });
}

#[test]
fn writers_beside_the_building_are_in_an_inverted_index() {
    run(async {
        let server = Server::start(Config::new());
        let client = connect(server.sql_url(), None).await;
        fill(&client).await;
        let (stop, done) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicUsize::new(0)));
        let mut writers = Vec::new();
        for worker in 1..=4 {
            let own = connect(server.sql_url(), None).await;
            writers.push(tokio::spawn(write(own, worker, stop.clone(), done.clone())));
        }
        let create = "CREATE INDEX items_words ON items USING gin (note gin_trgm_ops)";
        let before = done.load(Ordering::Relaxed);
        client.batch_execute(create).await.expect("is built beside writers");
        let during = done.load(Ordering::Relaxed) - before;
        assert!(during > 0, "no writer got through while the index was built");
        tokio::time::sleep(Duration::from_millis(50)).await;
        stop.store(true, Ordering::Release);
        for writer in writers {
            writer.await.expect("a writer without surprises");
        }
        let findings = first_column(&client, "CHECK TABLE items").await;
        assert_eq!(findings, Vec::<String>::new());
        for word in ["again", "note 77", "w3 1"] {
            let read = |column: &str| {
                format!("SELECT id FROM items WHERE {column} LIKE '%{word}%' ORDER BY id")
            };
            let plan = first_column(&client, &format!("EXPLAIN {}", read("note"))).await;
            assert!(plan.join("\n").contains("items_words"), "{plan:?}");
            let by_index = first_column(&client, &read("note")).await;
            // An expression that no index has reads the table.
            assert_eq!(by_index, first_column(&client, &read("(note || '')")).await, "{word}");
        }
    });
}

/// Gives a value of `u` from row to row: to one with another key, or to a second one for a moment.
/// Rows of different workers never share a value.
async fn hand_on(client: Client, worker: i64, stop: Arc<AtomicBool>, done: Arc<AtomicUsize>) {
    let mut step = worker;
    while !stop.load(Ordering::Acquire) {
        step += 1;
        let value = step % (rows() / 8) * 8 + worker;
        let (low, high) = (value, value + 2 * rows());
        let move_up = format!(
            "DELETE FROM items WHERE id = {low}; DELETE FROM items WHERE id = {high};
             INSERT INTO items VALUES ({high}, {value}, NULL)"
        );
        let sqls = match step % 3 {
            0 => vec![move_up],
            1 => vec![
                // Two rows have the value until the second statement, if the index lets them.
                format!("INSERT INTO items VALUES ({}, {value}, 'twin')", value + 4 * rows()),
                format!("DELETE FROM items WHERE id = {}", value + 4 * rows()),
            ],
            _ => vec![format!("UPDATE items SET note = 'w{worker}' WHERE grp = {value}")],
        };
        for sql in sqls {
            match client.batch_execute(&sql).await {
                Ok(()) => drop(done.fetch_add(1, Ordering::Relaxed)),
                Err(error) => {
                    let allowed = [SqlState::T_R_SERIALIZATION_FAILURE, SqlState::UNIQUE_VIOLATION];
                    assert!(allowed.contains(error.code().expect("a state")), "{sql}: {error:?}");
                }
            }
        }
    }
}

/// A unique index that is built while its values go from row to row has an entry for every row, and
/// no two rows have one value. If two have, the statement says so and leaves nothing.
#[test]
fn a_unique_index_is_right_whatever_its_values_do_meanwhile() {
    run(async {
        let server = Server::start(Config::new());
        let client = connect(server.sql_url(), None).await;
        fill(&client).await;
        client.batch_execute("UPDATE items SET grp = id").await.expect("unique values");
        let (stop, done) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicUsize::new(0)));
        let mut writers = Vec::new();
        for worker in 0..4 {
            let own = connect(server.sql_url(), None).await;
            writers.push(tokio::spawn(hand_on(own, worker, stop.clone(), done.clone())));
        }
        let mut built = 0;
        let deadline = Instant::now() + PATIENCE;
        while built < 3 && Instant::now() < deadline {
            match client.batch_execute("CREATE UNIQUE INDEX items_value ON items (grp)").await {
                Ok(()) => {
                    tokio::time::sleep(Duration::from_millis(50)).await;
                    let findings = first_column(&client, "CHECK TABLE items").await;
                    assert_eq!(findings, Vec::<String>::new());
                    client.batch_execute("DROP INDEX items_value").await.expect("is dropped");
                    built += 1;
                }
                Err(error) => {
                    assert_eq!(error.code(), Some(&SqlState::UNIQUE_VIOLATION), "{error:?}");
                    let left = "SELECT 1 FROM pg_indexes WHERE indexname = 'items_value'";
                    assert_eq!(first_column(&client, left).await, Vec::<String>::new());
                }
            }
        }
        stop.store(true, Ordering::Release);
        for writer in writers {
            writer.await.expect("a writer without surprises");
        }
    });
}

/// A bulk load waits for those who have locked a key of its index. Meanwhile a second row takes a
/// value, which its writer cannot see is taken, and goes again or stays.
#[test]
fn a_value_that_two_rows_had_while_its_index_was_built_is_settled() {
    // Over TiKV an index is filled in batches.
    if store::is_tikv() {
        return;
    }
    run(async {
        let server = Server::start(Config::new());
        let client = connect(server.sql_url(), None).await;
        let fill = "CREATE TABLE items (id INT8 PRIMARY KEY, grp INT8 NOT NULL, note TEXT);
                    INSERT INTO items SELECT i, i FROM generate_series(1, 100000) AS i";
        client.batch_execute(fill).await.expect("a filled table");
        for twin_stays in [false, true] {
            let [holder, writer, builder, watcher] = {
                let connect = || connect(server.sql_url(), None);
                [connect().await, connect().await, connect().await, connect().await]
            };
            let create = "CREATE UNIQUE INDEX items_group ON items (grp)";
            let building = tokio::spawn(async move { builder.batch_execute(create).await });
            wait_for_building(&watcher).await;
            let hold = "BEGIN ISOLATION LEVEL READ COMMITTED; INSERT INTO items VALUES (-1, -1)";
            holder.batch_execute(hold).await.expect("holds a key of the index");
            assert_eq!(state(&watcher).await.as_deref(), Some("building"), "use more rows");
            let twin = "INSERT INTO items VALUES (-500, 500)";
            // One transaction, so that no snapshot has both rows if the second one goes again.
            let twin = match twin_stays {
                true => twin.to_owned(),
                false => format!("{twin}; DELETE FROM items WHERE id = -500"),
            };
            writer.batch_execute(&twin).await.expect("the entry of row 500 is not there yet");
            assert_eq!(state(&watcher).await.as_deref(), Some("building"), "it waits");
            holder.batch_execute("ROLLBACK").await.expect("lets go");
            let built = building.await.expect("no panic");
            if twin_stays {
                let error = built.expect_err("two rows have the value 500");
                assert_eq!(error.code(), Some(&SqlState::UNIQUE_VIOLATION), "{error:?}");
                assert_eq!(state(&watcher).await, None);
                continue;
            }
            built.expect("is built");
            let by_index = first_column(&client, "SELECT id FROM items WHERE grp = 500").await;
            assert_eq!(by_index, ["500"]);
            let findings = first_column(&client, "CHECK TABLE items").await;
            assert_eq!(findings, Vec::<String>::new());
            client.batch_execute("DROP INDEX items_group").await.expect("is dropped");
        }
    });
}

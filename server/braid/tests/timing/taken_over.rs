//! What a gateway was at when it was killed or paused is finished by another one, from where it had
//! come.

use std::time::{Duration, Instant};

use braid_testkit::server::Config;
use braid_testkit::target::first_column;
use tokio_postgres::Client;

use crate::several_gateways::{Cluster, LEASE, PATIENCE, assert_sound, insist, run};

const UNFINISHED: &str = "SELECT state FROM braid_internal.indexes WHERE state <> 'public'";
const MANY_STATE: &str = "SELECT state FROM braid_internal.indexes WHERE index_name = 'many_grp'";

/// Begins an index at the second gateway; it is being built when this comes back.
async fn begin_index(
    cluster: &Cluster,
    client: &Client,
) -> tokio::task::JoinHandle<Result<(), tokio_postgres::Error>> {
    let sql = "CREATE TABLE many (id INT8 PRIMARY KEY, grp INT8);
               INSERT INTO many SELECT i, i % 50 FROM generate_series(1, 8000) AS i";
    client.batch_execute(sql).await.expect("a filled table");
    let builder = cluster.connect(1).await;
    let building =
        tokio::spawn(
            async move { builder.batch_execute("CREATE INDEX many_grp ON many (grp)").await },
        );
    let until = Instant::now() + PATIENCE;
    while first_column(client, MANY_STATE).await != ["building"] {
        assert!(Instant::now() < until, "the building never began");
        tokio::time::sleep(Duration::from_millis(2)).await;
    }
    building
}

async fn wait_until_built(client: &Client) {
    let begun = Instant::now();
    while first_column(client, MANY_STATE).await != ["public"] {
        assert!(begun.elapsed() < LEASE * 4, "the index stays unfinished");
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}

/// Waits until another one has finished what was begun by `sql`.
async fn wait_until_finished(client: &Client, killed: Instant, sql: &str) {
    while !first_column(client, UNFINISHED).await.is_empty() {
        assert!(killed.elapsed() < LEASE * 4, "{sql} stays unfinished");
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}

#[test]
fn what_a_killed_gateway_was_building_is_finished() {
    run(async {
        let mut cluster = Cluster::start(2);
        let client = cluster.connect(0).await;
        let building = begin_index(&cluster, &client).await;
        cluster.servers[1].kill();
        assert!(building.await.expect("no panic").is_err(), "was built: use more rows");
        // Writers go on meanwhile.
        insist(&client, "UPDATE many SET grp = 51 WHERE id = 17").await;
        wait_until_built(&client).await;
        assert_sound(&client, "many").await;
        let found = first_column(&client, "SELECT id FROM many WHERE grp = 51").await;
        assert_eq!(found, ["17"]);
    });
}

/// It comes back when another one has finished what it was building, and must not take that back.
#[test]
fn a_paused_builder_leaves_alone_what_another_has_finished() {
    run(async {
        let cluster = Cluster::start(2);
        let client = cluster.connect(0).await;
        let building = begin_index(&cluster, &client).await;
        cluster.servers[1].pause();
        wait_until_built(&client).await;
        cluster.servers[1].resume();
        assert!(building.await.expect("no panic").is_err(), "was built: use more rows");
        assert_eq!(first_column(&client, MANY_STATE).await, ["public"]);
        insist(&client, "UPDATE many SET grp = 51 WHERE id = 17").await;
        assert_sound(&client, "many").await;
    });
}

#[test]
fn what_a_killed_gateway_was_moving_is_finished() {
    run(async {
        let mut cluster = Cluster::start(2);
        let client = cluster.connect(0).await;
        let sql = "CREATE TABLE p (a INT8 PRIMARY KEY);
                   CREATE TABLE c (a INT8, b INT8, v INT8, PRIMARY KEY (a, b), INDEX c_a_v (a, v));
                   INSERT INTO p SELECT i FROM generate_series(1, 400) AS i;
                   INSERT INTO c SELECT a, b, 0 FROM p, generate_series(1, 20) AS b";
        client.batch_execute(sql).await.expect("filled tables");
        let moves = [
            ("c_pkey", "ALTER TABLE c INTERLEAVE IN PARENT p (a) ON DELETE CASCADE"),
            ("c_a_v", "ALTER INDEX c_a_v INTERLEAVE IN PARENT p (a)"),
        ];
        for (round, (index, sql)) in moves.into_iter().enumerate() {
            let mover = cluster.connect(1).await;
            let moving = tokio::spawn(async move { mover.batch_execute(sql).await });
            let until = Instant::now() + PATIENCE;
            while first_column(&client, UNFINISHED).await.is_empty() {
                assert!(Instant::now() < until, "{sql} never began");
            }
            cluster.servers[1].kill();
            let killed = Instant::now();
            assert!(moving.await.expect("no panic").is_err(), "was moved: use more rows");
            insist(&client, &format!("UPDATE c SET v = v + 1 WHERE a = 17 + {round}")).await;
            insist(&client, &format!("DELETE FROM c WHERE a = 71 + {round}")).await;
            wait_until_finished(&client, killed, sql).await;
            let parent =
                format!("SELECT parent FROM braid_internal.indexes WHERE index_name = '{index}'");
            assert_eq!(first_column(&client, &parent).await, ["p"], "{sql}");
            assert_sound(&client, "p").await;
            assert_sound(&client, "c").await;
            let sums = "SELECT count(*) || ' ' || sum(v) FROM c";
            let expected = format!("{} {}", 400 * 20 - 20 * (round + 1), 20 * (round + 1));
            assert_eq!(first_column(&client, sums).await, [expected], "{sql}");
            cluster.servers[1].restart();
        }
    });
}

/// How many rows the backfills of a client's gateway are done with.
async fn backfilled(client: &Client) -> i64 {
    let sql = "SELECT value::INT8 FROM braid_internal.metrics
               WHERE name = 'braid_backfill_rows_total'";
    first_column(client, sql).await[0].parse().expect("a number")
}

#[test]
fn a_backfill_goes_on_where_a_killed_gateway_has_come() {
    run(async {
        // Each batch waits, so that the kill meets one also on a fast machine.
        let config = Config::new().arg("--simulate-rtt").arg("20ms");
        let mut cluster = Cluster::start_with(2, &config);
        let client = cluster.connect(0).await;
        let sql = "CREATE TABLE p (a INT8 PRIMARY KEY);
                   CREATE TABLE c (a INT8, b INT8, v INT8, PRIMARY KEY (a, b));
                   INSERT INTO p SELECT i FROM generate_series(1, 1000) AS i;
                   INSERT INTO c SELECT a, b, a + b FROM p, generate_series(1, 20) AS b";
        client.batch_execute(sql).await.expect("filled tables");
        let backfills = [
            "CREATE INDEX c_v ON c (v)",
            "ALTER TABLE c INTERLEAVE IN PARENT p (a) ON DELETE CASCADE",
        ];
        for sql in backfills {
            let before = backfilled(&client).await;
            let (worker, watcher) = (cluster.connect(1).await, cluster.connect(1).await);
            let work = tokio::spawn(async move { worker.batch_execute(sql).await });
            let until = Instant::now() + PATIENCE;
            let mut seen = 0;
            while seen == 0 {
                assert!(Instant::now() < until, "{sql} never began");
                seen = backfilled(&watcher).await;
            }
            cluster.servers[1].kill();
            let killed = Instant::now();
            assert!(work.await.expect("no panic").is_err(), "was done: use more rows");
            insist(&client, "UPDATE c SET v = v + 1 WHERE a IN (1, 500, 999)").await;
            wait_until_finished(&client, killed, sql).await;
            let done = backfilled(&client).await - before;
            assert!(seen < 20_000 && done > 0, "{sql}: {seen} and {done}");
            assert!(seen + done <= 20_000, "{sql}: {seen} and {done}");
            assert_sound(&client, "p").await;
            assert_sound(&client, "c").await;
            cluster.servers[1].restart();
        }
    });
}

/// How often statements of a client's gateway have met a closed table.
async fn closed_retries(client: &Client) -> i64 {
    let sql = "SELECT coalesce(sum(value), 0)::INT8 FROM braid_internal.metrics
               WHERE name LIKE '%retries_total' AND labels::text LIKE '%table_closed%'";
    first_column(client, sql).await[0].parse().expect("a number")
}

#[test]
fn a_table_that_a_killed_gateway_has_closed_is_opened() {
    run(async {
        let mut cluster = Cluster::start(2);
        let client = cluster.connect(0).await;
        let sql = "CREATE TABLE many (id INT8 PRIMARY KEY, grp INT8);
                   INSERT INTO many SELECT i, 0 FROM generate_series(1, 20000) AS i";
        client.batch_execute(sql).await.expect("a filled table");
        let writer = cluster.connect(0).await;
        let writing = tokio::spawn(async move {
            for id in 1.. {
                let sql = format!("UPDATE many SET grp = grp + 1 WHERE id = {id} % 20000 + 1");
                insist(&writer, &sql).await;
            }
        });
        let altering = cluster.connect(1).await;
        let altering = tokio::spawn(async move {
            altering.batch_execute("ALTER TABLE many ADD COLUMN r FLOAT8 DEFAULT random()").await
        });
        let until = Instant::now() + PATIENCE;
        while closed_retries(&client).await == 0 {
            assert!(Instant::now() < until, "the table was never closed");
            tokio::time::sleep(Duration::from_millis(2)).await;
        }
        cluster.servers[1].kill();
        let killed = Instant::now();
        assert!(altering.await.expect("no panic").is_err(), "was altered: use more rows");
        let before: i64 =
            first_column(&client, "SELECT sum(grp) FROM many").await[0].parse().expect("a number");
        loop {
            let sum = first_column(&client, "SELECT sum(grp) FROM many").await;
            if sum[0].parse::<i64>().expect("a number") > before {
                break;
            }
            assert!(killed.elapsed() < LEASE * 4, "the table stays closed");
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
        writing.abort();
        assert!(client.batch_execute("SELECT r FROM many").await.is_err(), "half of it is there");
        assert_sound(&client, "many").await;
    });
}

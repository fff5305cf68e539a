//! Groups are complete if workers have no memory for all of them.
//!
//! A worker that has none hands over its groups and the rest of its rows. A build side that does
//! not fit makes one worker carry out the join alone.

use braid_testkit::server::{Config, Server};
use braid_testkit::size::Size;
use braid_testkit::target::{connect, sorted_rows};
use tokio_postgres::Client;

use super::tables::workers;

/// Limits in kB, from one that most queries exceed to one that few exceed.
const LIMITS: [u64; 6] = [32, 64, 110, 200, 400, 900];

/// Groups: few rows in many of them, rows of one group together or far apart, text states.
const QUERIES: &[&str] = &[
    "SELECT near, count(*), sum(v), max(id) FROM big GROUP BY near",
    "SELECT far, count(*), sum(v), max(id) FROM big GROUP BY far",
    "SELECT near, far % 3, count(*), min(s), max(s) FROM big GROUP BY near, far % 3",
    "SELECT far, count(*), min(s), max(s) FROM big WHERE s <> 'no' GROUP BY far",
    "SELECT s, far % 2, count(*) FROM big GROUP BY s, far % 2",
    "SELECT near + 1, avg(v / 4.0), stddev(v) FROM big GROUP BY near + 1",
    "SELECT part, count(*), sum(v) FROM pairs GROUP BY part",
    "SELECT part, far, count(*), sum(v) FROM pairs GROUP BY part, far",
    "SELECT count(*), sum(v), max(s) FROM big",
    // Build sides that do not fit, below and beside each other.
    "SELECT o.name, count(*), sum(b.v) FROM big b JOIN other o ON o.far = b.far GROUP BY o.name",
    "SELECT b.near, count(*), max(o.name) FROM big b LEFT JOIN other o ON o.far = b.far + 9
     GROUP BY b.near",
    "SELECT b.far, count(*), max(o.name), max(p.name) FROM big b JOIN other o ON o.far = b.far
     LEFT JOIN other p ON p.far = b.v GROUP BY b.far",
    // Few rows that look for others.
    "SELECT o.name, count(*), sum(p.v) FROM other o JOIN pairs p ON p.part = o.far
     WHERE o.id < 150 GROUP BY o.name",
    "SELECT p.id, o.far, count(*), sum(p.v) FROM other o JOIN pairs p ON p.part = o.far
     WHERE o.id < 200 GROUP BY p.id, o.far",
    "SELECT far, count(*) FROM big b WHERE EXISTS (SELECT FROM other o WHERE o.far = b.far
     AND o.id < b.id) GROUP BY far",
    "SELECT far, count(*) FROM big b WHERE NOT EXISTS (SELECT FROM other o WHERE o.far = b.far)
     GROUP BY far",
];

async fn rows(client: &Client, sql: &str) -> Result<Vec<String>, String> {
    match client.simple_query(sql).await {
        Ok(messages) => Ok(sorted_rows(&messages)),
        Err(error) => match error.as_db_error() {
            Some(error) => Err(error.code().code().to_owned()),
            None => panic!("{sql}: {error:?}"),
        },
    }
}

async fn server(count: u64) -> Server {
    let server = Server::start(Config::new().arg("--analyze-interval").arg("0s"));
    let client = connect(server.sql_url(), None).await;
    let values = "k / 20, k % 600, k % 100, 'text ' || k % 900";
    for sql in [
        "CREATE TABLE big (id int PRIMARY KEY, near int, far int, v int, s text)".to_owned(),
        "CREATE TABLE pairs (part int, far int, v int, s text, id int, PRIMARY KEY (part, id))"
            .to_owned(),
        format!("INSERT INTO big SELECT k, {values} FROM generate_series(1, {count}) k"),
        format!("INSERT INTO pairs SELECT {values}, k FROM generate_series(1, {count}) k"),
        "CREATE TABLE other (id int PRIMARY KEY, far int, name text)".to_owned(),
        "INSERT INTO other SELECT k, k % 550, 'a long name of ' || k % 300
         FROM generate_series(1, 1500) k"
            .to_owned(),
        "ANALYZE big; ANALYZE pairs; ANALYZE other".to_owned(),
    ] {
        client.batch_execute(&sql).await.unwrap_or_else(|error| panic!("{sql}: {error:?}"));
    }
    server
}

#[tokio::test(flavor = "multi_thread")]
async fn groups_are_complete_if_workers_have_no_memory_for_all_of_them() {
    let server = server(Size::from_env().pick(6_000, 40_000, 200_000)).await;
    let (mut compared, mut planned, mut different) = (0, 0, Vec::new());
    for sql in QUERIES {
        // A connection for each query, as a fault may end it.
        let client = connect(server.sql_url(), None).await;
        client.batch_execute(&workers(1)).await.expect("settings");
        let right = rows(&client, sql).await;
        assert!(right.is_ok(), "{sql}: {right:?}");
        for (number, limit) in (2..).zip(LIMITS) {
            let client = connect(server.sql_url(), None).await;
            let limit = format!("SET statement_memory_limit = '{limit}kB'");
            client.batch_execute(&workers(number)).await.expect("settings");
            let plan = rows(&client, &format!("EXPLAIN {sql}")).await.expect("a plan");
            planned += usize::from(plan.iter().any(|line| line.contains("Workers Planned")));
            client.batch_execute(&limit).await.expect("a setting");
            let found = rows(&client, sql).await;
            compared += usize::from(found.is_ok());
            if found != right && found != Err("53200".to_owned()) {
                let found = found.map(|rows| rows.len());
                different.push(format!("{number} workers, {limit}: {sql}\n{found:?}"));
            }
        }
    }
    assert!(different.is_empty(), "{} differ:\n{}", different.len(), different.join("\n"));
    let all = QUERIES.len() * LIMITS.len();
    assert!(compared * 4 > all * 3, "{compared} of {all} had enough memory");
    assert!(planned * 2 > all, "{planned} of {all} had workers");
}

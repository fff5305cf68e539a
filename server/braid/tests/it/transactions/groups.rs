//! Parallel statements: the outcome is that of the same statements one after the other.
//!
//! Random transactions over random tables run twice, on two equal sets of tables: with
//! `RETURNING NOTHING` on most statements, and without it. Answers, failed statements, errors and
//! the tables afterwards must be equal. `BRAID_TEST_SIZE` says how many; `BRAID_TEST_SEED` repeats
//! one set of tables with its transactions.

#![allow(clippy::print_stdout, reason = "a test says how to repeat it")]

use std::time::{Duration, Instant};

use braid_testkit::random::{Random, seed, seed_from_env};
use braid_testkit::server::{Config, Server};
use braid_testkit::size::Size;
use braid_testkit::store;
use braid_testkit::target::connect;
use tokio_postgres::error::SqlState;
use tokio_postgres::{Client, NoTls, SimpleQueryMessage};

mod run;
mod script;
mod triggers;

use run::{Mode, Run, contents};
use script::World;

/// Transactions of one seed.
const TRANSACTIONS: usize = 40;

fn block_on<T>(work: impl Future<Output = T>) -> T {
    tokio::runtime::Runtime::new().expect("a runtime").block_on(work)
}

async fn sure(client: &Client, sql: &str) -> Vec<SimpleQueryMessage> {
    client.simple_query(sql).await.unwrap_or_else(|error| panic!("{sql}: {error:?}"))
}

async fn value(client: &Client, sql: &str) -> String {
    let messages = sure(client, sql).await;
    let row = messages.iter().find_map(|message| match message {
        SimpleQueryMessage::Row(row) => row.get(0),
        _ => None,
    });
    row.unwrap_or_default().to_owned()
}

/// The first seed and how many there are: one, if it was asked for.
fn seeds(small: u64, medium: u64, full: u64) -> std::ops::Range<u64> {
    let count = match seed_from_env() {
        Some(_) => 1,
        None => Size::from_env().pick(small, medium, full),
    };
    let first = seed();
    println!("seeds {first} and {} after it", count - 1);
    first..first + count
}

/// One set of tables with its transactions, the second client's sent like this; how many
/// transactions met a retry error, or the difference.
async fn compare(
    serial: &Client,
    parallel: &Client,
    seed: u64,
    mode: Mode,
) -> Result<usize, String> {
    let (mut world, tables) = World::new(seed);
    for (client, schema) in [(serial, "serial"), (parallel, "parallel")] {
        sure(client, &format!("CREATE SCHEMA {schema}_{seed}")).await;
        sure(client, &format!("SET search_path = {schema}_{seed}")).await;
        for table in &tables {
            sure(client, table).await;
        }
    }
    let mut retries = 0;
    for number in 0..TRANSACTIONS {
        let script = world.script();
        let wanted = Run::new(serial, Mode::Serial).script(&script).await;
        let mut run = Run::new(parallel, mode);
        let found = run.script(&script).await;
        retries += run.retries;
        let (before, after) = (contents(serial).await, contents(parallel).await);
        if wanted != found || before != after {
            let tables = tables.join("\n");
            return Err(format!(
                "seed {seed}, transaction {number}: rerun with BRAID_TEST_SEED={seed}\n{tables}\n\
                 {}\nserial: {wanted:?}\n{before}\nparallel: {found:?}\n{after}",
                script.text(),
            ));
        }
    }
    for (client, schema) in [(serial, "serial"), (parallel, "parallel")] {
        sure(client, &format!("DROP SCHEMA {schema}_{seed} CASCADE")).await;
    }
    Ok(retries)
}

#[test]
fn the_outcome_is_that_of_serial_execution() {
    let seeds = seeds(2, 15, 500);
    let server = Server::start(Config::new());
    block_on(async {
        let (serial, parallel) =
            (connect(server.sql_url(), None).await, connect(server.sql_url(), None).await);
        for seed in seeds {
            if let Err(difference) = compare(&serial, &parallel, seed, Mode::Parallel).await {
                panic!("{difference}");
            }
        }
    });
}

/// Writes rows as they are, again and again: to others each is a newer version of a row that
/// says what it said before. No trigger hears of it.
async fn interfere(client: Client, seed: u64, mut stop: tokio::sync::watch::Receiver<bool>) {
    let mut random = Random::new(seed);
    sure(&client, &format!("SET search_path = parallel_{seed}")).await;
    sure(&client, "SET session_replication_role = replica").await;
    while !*stop.borrow_and_update() {
        let id = random.below(8);
        let sql = match random.below(4) {
            0 => format!("UPDATE parent SET n = n WHERE id = {id}"),
            1 => format!("UPDATE item SET k = k, u = u WHERE id = {id}"),
            2 => format!("UPDATE item SET p = p WHERE k < {id}"),
            _ => format!("UPDATE pair SET v = v WHERE x = {}", id / 2),
        };
        // Where the two meet, it may be this one that fails; and there may be no table any more.
        let begun = Instant::now();
        client.simple_query(&sql).await.ok();
        // Nobody starves behind this, on a busy machine neither: its statements are slower there.
        let slower = begun.elapsed() * random.below(8) as u32;
        tokio::time::sleep(slower + Duration::from_millis(random.below(8))).await;
    }
}

#[test]
fn conflicts_and_retries_change_nothing() {
    let seeds = seeds(2, 8, 250);
    let server = Server::start(Config::new());
    let mut retries = 0;
    block_on(async {
        let (serial, parallel) =
            (connect(server.sql_url(), None).await, connect(server.sql_url(), None).await);
        for seed in seeds {
            let mut random = Random::new(seed);
            let mode = if random.percent(50) { Mode::Parallel } else { Mode::Restarting };
            // Only restarts wear it out.
            let inject = if mode == Mode::Restarting { "on" } else { "off" };
            for (name, values) in [
                ("max_parallel_statements", ["1", "2", "64"]),
                ("max_parallel_statement_bytes", ["1kB", "2kB", "1MB"]),
                ("result_buffer_bytes", ["0", "64", "16384"]),
                ("implicit_select_for_update", ["off", "on", "on"]),
                ("inject_retry_errors_enabled", ["off", "off", inject]),
            ] {
                let value = values[random.below(3) as usize];
                sure(&parallel, &format!("SET {name} = '{value}'")).await;
            }
            let (stop, stopped) = tokio::sync::watch::channel(false);
            let others: Vec<_> =
                [connect(server.sql_url(), None).await, connect(server.sql_url(), None).await]
                    .into_iter()
                    .map(|client| tokio::spawn(interfere(client, seed, stopped.clone())))
                    .collect();
            let result = compare(&serial, &parallel, seed, mode).await;
            stop.send_replace(true);
            for other in others {
                other.await.expect("interferes to its end");
            }
            retries += result.unwrap_or_else(|difference| panic!("{difference}"));
        }
        let counters = "SELECT sum(value) FROM braid_internal.metrics WHERE name LIKE '%retries%'";
        let by_server = value(&serial, counters).await;
        println!("{retries} retries of the client; of the server: {by_server}");
        // Over TiKV the server's own are often enough.
        retries += usize::from(store::is_tikv() && by_server != "0");
    });
    assert!(retries > 0, "nothing has met a retry error");
}

#[test]
fn without_the_analysis_the_outcome_differs() {
    // Waits that are long enough for the next statement to arrive during them.
    let config = Config::new().unsafe_switch("NO_DEPENDENCIES");
    let server = Server::start(config.arg("--simulate-rtt").arg("5ms"));
    block_on(async {
        for seed in 0..50 {
            let (serial, parallel) =
                (connect(server.sql_url(), None).await, connect(server.sql_url(), None).await);
            if compare(&serial, &parallel, seed, Mode::Parallel).await.is_err() {
                println!("seed {seed} tells");
                return;
            }
        }
        panic!("50 seeds without the analysis show no difference, so the check proves nothing");
    });
}

#[test]
fn independent_statements_share_their_waits() {
    let server = Server::start(Config::new().arg("--simulate-rtt").arg("60ms"));
    block_on(async {
        let client = connect(server.sql_url(), None).await;
        sure(&client, "CREATE TABLE t (id int PRIMARY KEY, v int)").await;
        sure(&client, "INSERT INTO t SELECT g, 0 FROM generate_series(1, 9) g").await;
        let update =
            |id: i32, clause: &str| format!("UPDATE t SET v = v + 1 WHERE id = {id}{clause}");
        let mut trips = Vec::new();
        for clause in ["", " RETURNING NOTHING"] {
            sure(&client, "BEGIN").await;
            for id in 1..=5 {
                sure(&client, &update(id, clause)).await;
            }
            sure(&client, "COMMIT").await;
            let shown = value(&client, "SHOW last_transaction_round_trips").await;
            trips.push(shown.parse::<u32>().expect("a number"));
        }
        // Each has a wait of its own, or all of them have one together; then the commit.
        assert!(trips[0] >= 6, "{trips:?}");
        assert!(trips[1] <= 3, "{trips:?}");
        // Dependent ones wait for each other, but the second finds its row known.
        sure(&client, "BEGIN").await;
        sure(&client, &update(1, " RETURNING NOTHING")).await;
        sure(&client, &update(1, " RETURNING NOTHING")).await;
        sure(&client, "COMMIT").await;
        let shown = value(&client, "SHOW last_transaction_round_trips").await;
        assert!(["2", "3"].contains(&shown.as_str()), "{shown}");
        assert_eq!(value(&client, "SELECT v FROM t WHERE id = 1").await, "4");
    });
}

#[test]
fn transactions_in_opposite_orders_never_see_a_deadlock() {
    if store::is_tikv() {
        println!(
            "skipped: on TiKV the victim of a deadlock is who closes the circle, at every try"
        );
        return;
    }
    let server = Server::start(Config::new());
    let url = server.sql_url().to_owned();
    block_on(async {
        let root = connect(&url, None).await;
        sure(&root, "CREATE TABLE t (id int PRIMARY KEY, v int)").await;
        sure(&root, "INSERT INTO t SELECT g, 0 FROM generate_series(0, 3) g").await;
        let rounds = 25;
        let workers: Vec<_> = (0..4)
            .map(|worker| {
                let url = url.clone();
                tokio::spawn(async move {
                    let client = connect(&url, None).await;
                    for _ in 0..rounds {
                        sure(&client, "BEGIN").await;
                        for place in 0..4 {
                            let id = if worker % 2 == 0 { place } else { 3 - place };
                            let sql =
                                format!("UPDATE t SET v = v + 1 WHERE id = {id} RETURNING NOTHING");
                            sure(&client, &sql).await;
                        }
                        sure(&client, "COMMIT").await;
                    }
                })
            })
            .collect();
        for worker in workers {
            worker.await.expect("no transaction has failed");
        }
        let sum = value(&root, "SELECT sum(v) FROM t").await;
        assert_eq!(sum, (4 * rounds * 4).to_string());
    });
}

#[test]
fn a_failure_nobody_heard_of_does_not_unbind_what_was_read() {
    let server = Server::start(Config::new());
    block_on(async {
        let (one, other) =
            (connect(server.sql_url(), None).await, connect(server.sql_url(), None).await);
        sure(&one, "CREATE TABLE t (id int PRIMARY KEY, v int); INSERT INTO t VALUES (1, 0)").await;
        // Whether the statement has failed before it is dropped is a matter of time.
        for round in 0..50 {
            sure(&one, "BEGIN").await;
            sure(&one, "SAVEPOINT s").await;
            assert_eq!(value(&one, "SELECT v FROM t WHERE id = 1").await, round.to_string());
            sure(&other, "UPDATE t SET v = v + 1 WHERE id = 1").await;
            let upsert = "INSERT INTO t VALUES (1, 0) ON CONFLICT (id) DO UPDATE SET v = t.v";
            sure(&one, &format!("{upsert} RETURNING NOTHING")).await;
            tokio::time::sleep(Duration::from_millis(round % 5)).await;
            sure(&one, "ROLLBACK TO s").await;
            sure(&one, &format!("UPSERT INTO t VALUES ({}, 0)", round + 2)).await;
            let committed = one.batch_execute("COMMIT").await;
            let code = committed.expect_err("what was read has changed").code().cloned();
            assert_eq!(code, Some(SqlState::T_R_SERIALIZATION_FAILURE));
        }
    });
}

#[test]
fn a_full_queue_makes_the_next_statement_wait() {
    let server = Server::start(Config::new());
    block_on(async {
        let client = connect(server.sql_url(), None).await;
        sure(&client, "CREATE TABLE t (id int PRIMARY KEY, v text)").await;
        for setting in ["max_parallel_statements = 2", "max_parallel_statement_bytes = '1kB'"] {
            sure(&client, &format!("SET {setting}")).await;
            sure(&client, "TRUNCATE t").await;
            sure(&client, "BEGIN").await;
            for id in 0..40 {
                let text = "x".repeat(id * 50);
                sure(&client, &format!("INSERT INTO t VALUES ({id}, '{text}') RETURNING NOTHING"))
                    .await;
            }
            sure(&client, "COMMIT").await;
            assert_eq!(value(&client, "SELECT count(*) FROM t").await, "40");
            sure(&client, "RESET ALL").await;
        }
        // EXPLAIN ANALYZE of such a statement runs it, behind those that were queued.
        sure(&client, "BEGIN").await;
        sure(&client, "UPDATE t SET v = 'one' WHERE id = 1 RETURNING NOTHING").await;
        let both = "UPDATE t SET v = v || ' two' WHERE id = 1 RETURNING NOTHING";
        sure(&client, &format!("EXPLAIN (ANALYZE) {both}")).await;
        sure(&client, "COMMIT").await;
        assert_eq!(value(&client, "SELECT v FROM t WHERE id = 1").await, "one two");
    });
}

#[test]
fn queued_statements_end_with_cancel_timeout_and_connection() {
    let server = Server::start(Config::new());
    let url = server.sql_url().to_owned();
    block_on(async {
        let (holder, client) = (connect(&url, None).await, connect(&url, None).await);
        sure(&holder, "CREATE TABLE t (id int PRIMARY KEY, v int)").await;
        sure(&holder, "INSERT INTO t VALUES (1, 0), (2, 0)").await;
        sure(&holder, "BEGIN").await;
        sure(&holder, "UPDATE t SET v = 1 WHERE id = 1").await;
        let blocked = "UPDATE t SET v = 2 WHERE id = 1 RETURNING NOTHING";
        let code = |error: tokio_postgres::Error| error.code().expect("a code").code().to_owned();

        // A cancel request while the client waits at the barrier, and while it does not.
        for waits in [true, false] {
            sure(&client, "BEGIN").await;
            sure(&client, blocked).await;
            let token = client.cancel_token();
            let cancelling = async {
                tokio::time::sleep(Duration::from_millis(200)).await;
                token.cancel_query(NoTls).await.expect("is sent");
                tokio::time::sleep(Duration::from_millis(200)).await;
            };
            let result = if waits {
                tokio::join!(client.simple_query("SELECT 1"), cancelling).0
            } else {
                cancelling.await;
                client.simple_query("SELECT 1").await
            };
            assert_eq!(code(result.expect_err("was cancelled")), "57014");
            sure(&client, "ROLLBACK").await;
        }

        // The statement's own time counts from its start.
        sure(&client, "SET statement_timeout = '300ms'").await;
        sure(&client, "BEGIN").await;
        sure(&client, blocked).await;
        tokio::time::sleep(Duration::from_millis(600)).await;
        let error = client.simple_query("SELECT 1").await.expect_err("has timed out");
        assert_eq!(code(error), "57014");
        sure(&client, "ROLLBACK").await;
        sure(&client, "RESET statement_timeout").await;

        // A client that leaves gives back what its statements hold and wait for. Until it is
        // noticed the two wait for each other, and the store names its victim.
        let pid = value(&client, "SELECT pg_backend_pid()").await;
        sure(&client, "BEGIN").await;
        sure(&client, "UPDATE t SET v = 3 WHERE id = 2 RETURNING NOTHING").await;
        sure(&client, blocked).await;
        drop(client);
        let since = Instant::now();
        let session = format!("SELECT count(*) FROM braid_internal.sessions WHERE pid = {pid}");
        while store::is_tikv() && value(&holder, &session).await != "0" {
            assert!(since.elapsed() < Duration::from_secs(20), "the session stays");
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        sure(&holder, "UPDATE t SET v = 4 WHERE id = 2").await;
        assert!(since.elapsed() < Duration::from_secs(20));
        sure(&holder, "COMMIT").await;
        assert_eq!(value(&holder, "SELECT sum(v) FROM t").await, "5");

        // So does ROLLBACK, while one waits.
        let client = connect(&url, None).await;
        sure(&holder, "BEGIN").await;
        sure(&holder, "UPDATE t SET v = 1 WHERE id = 1").await;
        sure(&client, "BEGIN").await;
        sure(&client, blocked).await;
        sure(&client, "ROLLBACK").await;
        sure(&holder, "COMMIT").await;
    });
}

#[test]
fn the_timeline_shows_who_waited_for_whom() {
    let server = Server::start(Config::new());
    block_on(async {
        let client = connect(server.sql_url(), None).await;
        let holder = connect(server.sql_url(), None).await;
        sure(&client, "CREATE TABLE t (id int PRIMARY KEY, v int)").await;
        sure(&client, "INSERT INTO t VALUES (1, 0), (2, 0)").await;
        sure(&client, "SET record_timeline = on").await;
        // The first two wait for this lock, so that they still run when the others arrive.
        sure(&holder, "BEGIN").await;
        sure(&holder, "SELECT id FROM t FOR UPDATE").await;
        sure(&client, "BEGIN").await;
        sure(&client, "UPDATE t SET v = 1 WHERE id = 1 RETURNING NOTHING").await;
        sure(&client, "UPDATE t SET v = 1 WHERE id = 2 RETURNING NOTHING").await;
        sure(&client, "UPDATE t SET v = v + 1 WHERE id = 2 RETURNING NOTHING").await;
        let release = async {
            let arrived = "SELECT count(*) FROM pg_stat_activity WHERE query = 'SELECT 1'";
            while value(&holder, arrived).await == "0" {
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
            sure(&holder, "COMMIT").await
        };
        tokio::join!(sure(&client, "SELECT 1"), release);
        sure(&client, "COMMIT").await;
        let messages = sure(&client, "SHOW TRANSACTION TIMELINE").await;
        let mut rows = Vec::new();
        for message in &messages {
            if let SimpleQueryMessage::Row(row) = message {
                let names: Vec<&str> = row.columns().iter().map(|column| column.name()).collect();
                assert_eq!(
                    names,
                    [
                        "number",
                        "statement",
                        "queued_us",
                        "started_us",
                        "finished_us",
                        "waited_for",
                        "wait_reason",
                        "lock_wait_us",
                        "round_trips",
                        "trace_id"
                    ]
                );
                let micros = |name: &str| -> u64 {
                    row.get(name).expect("a time").parse().expect("a number")
                };
                assert!(micros("queued_us") <= micros("started_us"));
                assert!(micros("started_us") <= micros("finished_us"));
                let text = |name: &str| row.get(name).unwrap_or("NULL").to_owned();
                let waits = if micros("round_trips") > 0 { "waits" } else { "never waits" };
                let [number, waited_for, reason] =
                    ["number", "waited_for", "wait_reason"].map(text);
                rows.push([number, waited_for, reason, waits.to_owned()]);
            }
        }
        let shown: Vec<String> = rows.iter().map(|row| row.join(" | ")).collect();
        assert_eq!(
            shown,
            [
                "1 | {} | NULL | waits",
                "2 | {} | NULL | waits",
                "3 | {2} | writes /t/primary/2 | never waits",
                "4 | {1,2,3} | barrier | never waits",
                "5 | {} | NULL | waits",
            ]
        );
    });
}

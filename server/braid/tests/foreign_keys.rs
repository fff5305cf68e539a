//! Foreign keys at random: random tables with random foreign keys and actions, random statements,
//! savepoints and SET CONSTRAINTS, compared with PostgreSQL if `POSTGRES_URL` names one, and with a
//! model in memory otherwise. Every answer and the tables after every statement must be the same,
//! and `CHECK TABLE` must find nothing.
//!
//! `BRAID_TEST_SIZE` says how many sets of tables; `BRAID_TEST_SEED` repeats one.

#![allow(clippy::print_stdout, reason = "a test says how to repeat it")]

use braid_testkit::random::{Random, seed_from_env};
use braid_testkit::server::{Config, Server};
use braid_testkit::size::Size;
use tokio_postgres::{Client, NoTls, SimpleQueryMessage};

#[path = "foreign_keys/world.rs"]
mod world;

use world::{Op, World};

/// Transactions of one seed.
const TRANSACTIONS: usize = 40;

async fn connect(url: &str) -> Client {
    let (client, connection) = tokio_postgres::connect(url, NoTls).await.expect("connects");
    tokio::spawn(async move {
        connection.await.ok();
    });
    client
}

/// What a statement has answered: rows changed, or the state and constraint of its error.
type Answer = Result<u64, String>;

async fn answer(client: &Client, sql: &str) -> Answer {
    match client.simple_query(sql).await {
        Ok(messages) => {
            let changed = messages.iter().find_map(|message| match message {
                SimpleQueryMessage::CommandComplete(rows) => Some(*rows),
                _ => None,
            });
            Ok(changed.unwrap_or(0))
        }
        Err(error) => {
            let Some(error) = error.as_db_error() else { panic!("{sql}: {error:?}") };
            let code = error.code().code();
            assert!(!code.starts_with("XX"), "{sql}: {error:?}");
            // Other constraints are looked at in another order.
            if code.starts_with("23") && code != "23503" {
                return Err("another constraint".to_owned());
            }
            let detail = error.detail().unwrap_or_default();
            Err(format!("{code} {} {detail}", error.message()))
        }
    }
}

async fn sure(client: &Client, sql: &str) -> Vec<SimpleQueryMessage> {
    client.simple_query(sql).await.unwrap_or_else(|error| panic!("{sql}: {error:?}"))
}

async fn contents(client: &Client, world: &World) -> String {
    let mut text = String::new();
    for table in 0..world.tables.len() {
        let sql = format!("SELECT id, k, u, a, b, n FROM t{table} ORDER BY 1, 2, 3, 4, 5, 6");
        for message in sure(client, &sql).await {
            let SimpleQueryMessage::Row(row) = message else { continue };
            let cells: Vec<&str> = (0..row.len()).map(|i| row.get(i).unwrap_or("-")).collect();
            text.push_str(&format!("t{table} {}\n", cells.join(" ")));
        }
    }
    text
}

#[test]
fn random_foreign_keys() {
    let server = Server::start(Config::new().env("BRAID_UNSAFE_NO_SYNC", "1"));
    let seeds = match seed_from_env() {
        Some(seed) => seed..seed + 1,
        None => 1..1 + Size::from_env().pick(25, 400, 5_000),
    };
    let runtime = tokio::runtime::Runtime::new().expect("a runtime");
    runtime.block_on(async {
        let ours = connect(server.sql_url()).await;
        let Ok(postgres) = std::env::var("POSTGRES_URL") else {
            println!("skipped: POSTGRES_URL does not name a PostgreSQL to compare with");
            return;
        };
        let theirs = connect(&postgres).await;
        sure(&theirs, "SET enable_seqscan = off; SET enable_bitmapscan = off").await;
        sure(&theirs, "SET client_min_messages = error").await;
        for seed in seeds {
            compare(&ours, &theirs, seed).await;
        }
    });
}

async fn compare(ours: &Client, theirs: &Client, seed: u64) {
    let mut random = Random::new(seed);
    let world = World::new(&mut random);
    for (client, on_postgres) in [(ours, false), (theirs, true)] {
        sure(client, &format!("DROP SCHEMA IF EXISTS s{seed} CASCADE")).await;
        sure(client, &format!("CREATE SCHEMA s{seed}")).await;
        sure(client, &format!("SET search_path = s{seed}")).await;
        for sql in world.ddl(on_postgres) {
            sure(client, &sql).await;
        }
    }
    let mut log: Vec<String> = Vec::new();
    for _ in 0..TRANSACTIONS {
        let mut has_savepoint = false;
        let mut in_block = false;
        for op in world.transaction(&mut random) {
            let sql = world.sql(&op);
            let (found, wanted) = (answer(ours, &sql).await, answer(theirs, &sql).await);
            log.push(format!("{sql};\n    -- {wanted:?}"));
            // Which of several deferred checks comes first is not told.
            let state = |answer: &Answer| answer.clone().map_err(|text| text[..5].to_owned());
            let same = match op {
                Op::Commit | Op::SetConstraints(..) => state(&found) == state(&wanted),
                _ => found == wanted,
            };
            if !same {
                panic!(
                    "BRAID_TEST_SEED={seed}\n{};\n{}\nours:   {found:?}\ntheirs: {wanted:?}",
                    world.ddl(true).join(";\n"),
                    log.join("\n")
                );
            }
            match op {
                Op::Begin => in_block = true,
                Op::Savepoint => has_savepoint = true,
                Op::Commit | Op::Rollback => in_block = false,
                _ => {}
            }
            if found.is_err() && in_block {
                let undo = if has_savepoint { "ROLLBACK TO s" } else { "ROLLBACK" };
                sure(ours, undo).await;
                sure(theirs, undo).await;
                log.push(format!("{undo};"));
                if !has_savepoint {
                    break;
                }
            }
            let (found, wanted) = (contents(ours, &world).await, contents(theirs, &world).await);
            if found != wanted {
                panic!(
                    "BRAID_TEST_SEED={seed}\n{};\n{}\nours:\n{found}\ntheirs:\n{wanted}",
                    world.ddl(true).join(";\n"),
                    log.join("\n")
                );
            }
        }
    }
    for client in [ours, theirs] {
        sure(client, &format!("DROP SCHEMA s{seed} CASCADE")).await;
    }
}

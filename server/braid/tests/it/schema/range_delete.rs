//! Range deletes over interleaved tables.
//!
//! Random hierarchies, rows and DELETEs run twice, with `range_delete` on and off: every answer,
//! every error and every table must be the same, and `CHECK TABLE` must find nothing. Then many
//! connections insert below parents while others delete them: no child may be left over.
//!
//! `BRAID_TEST_SIZE` says how many hierarchies; `BRAID_TEST_SEED` repeats one.

#![allow(clippy::print_stdout, reason = "a test says how much it has done")]

use braid_testkit::random::{Random, seed, seed_from_env};
use braid_testkit::server::{Config, Server};
use braid_testkit::size::Size;
use braid_testkit::storm::storm;
use braid_testkit::target::connect;
use tokio_postgres::{Client, SimpleQueryMessage};

mod hierarchy;

use hierarchy::Hierarchy;

/// Transactions of one hierarchy.
const TRANSACTIONS: usize = 14;

/// Rows and tags, or state, message and detail of the error.
async fn answer(client: &Client, sql: &str) -> Result<String, String> {
    match client.simple_query(sql).await {
        Ok(messages) => {
            let mut lines: Vec<String> = messages
                .iter()
                .filter_map(|message| match message {
                    SimpleQueryMessage::Row(row) => {
                        let cells = (0..row.len()).map(|i| row.get(i).unwrap_or("-"));
                        Some(cells.collect::<Vec<_>>().join(" | "))
                    }
                    SimpleQueryMessage::CommandComplete(rows) => Some(format!("({rows})")),
                    _ => None,
                })
                .collect();
            lines.sort_unstable();
            Ok(lines.join("\n"))
        }
        Err(error) => {
            let Some(error) = error.as_db_error() else { panic!("{sql}: {error:?}") };
            let code = error.code().code();
            assert!(!code.starts_with("XX"), "{sql}: {error:?}");
            Err(format!("{code} {} {:?}", error.message(), error.detail()))
        }
    }
}

async fn sure(client: &Client, sql: &str) -> String {
    answer(client, sql).await.unwrap_or_else(|error| panic!("{sql}: {error:?}"))
}

/// The same on both sides; whether it was an error.
async fn both(sides: &[Client; 2], sql: &str, seed: u64) -> bool {
    let (mut fast, mut slow) = (answer(&sides[0], sql).await, answer(&sides[1], sql).await);
    // The failure of a statement without an answer is told by whichever statement comes once it is
    // known, a barrier at the latest.
    match (&fast, &slow) {
        (Err(_), Ok(_)) => slow = answer(&sides[1], "SELECT 1").await,
        (Ok(_), Err(_)) => fast = answer(&sides[0], "SELECT 1").await,
        _ => {}
    }
    // Which of several rows an error names is not promised.
    let short = |answer: &Result<String, String>| match answer {
        Err(error) => Err(error.split(" Some(").next().unwrap_or_default().to_owned()),
        Ok(text) => Ok(text.clone()),
    };
    assert_eq!(short(&fast), short(&slow), "seed {seed}: {sql}");
    fast.is_err()
}

struct Counts {
    deletes: usize,
    ranges: usize,
}

async fn one_hierarchy(sides: &[Client; 2], seed: u64, counts: &mut Counts) {
    let mut random = Random::new(seed);
    let mut hierarchy = Hierarchy::new(&mut random);
    for (side, schema) in sides.iter().zip(["fast", "slow"]) {
        sure(side, &format!("DROP SCHEMA IF EXISTS {schema} CASCADE")).await;
        sure(side, &format!("CREATE SCHEMA {schema}; SET search_path = {schema}")).await;
        for sql in hierarchy.create() {
            sure(side, &sql).await;
        }
    }
    sure(&sides[1], "SET range_delete = off").await;
    for _ in 0..40 {
        let sql = hierarchy.insert(&mut random);
        both(sides, &sql, seed).await;
    }
    for _ in 0..TRANSACTIONS {
        let in_block = random.below(2) == 0;
        let mut list = Vec::new();
        for _ in 0..1 + random.below(4) {
            list.push(match random.below(3) {
                0 | 1 => hierarchy.delete(&mut random),
                _ => hierarchy.insert(&mut random),
            });
        }
        if in_block {
            let undone = random.below(3);
            if undone < 2 {
                list.insert(random.below(list.len() as u64) as usize, "SAVEPOINT s".to_owned());
            }
            if undone == 0 {
                list.push("ROLLBACK TO s".to_owned());
                list.push(hierarchy.insert(&mut random));
            }
            list.insert(0, "BEGIN".to_owned());
            list.push("COMMIT".to_owned());
        }
        for sql in list {
            if sql.starts_with("DELETE") && !in_block {
                counts.deletes += 1;
                let plan = sure(&sides[0], &format!("EXPLAIN {sql}")).await;
                counts.ranges += usize::from(plan.contains("Range Delete: t"));
            }
            if both(sides, &sql, seed).await && in_block {
                both(sides, "ROLLBACK", seed).await;
                break;
            }
        }
        for table in hierarchy.names() {
            both(sides, &format!("SELECT * FROM {table}"), seed).await;
        }
    }
    for table in hierarchy.names() {
        for side in sides {
            let found = sure(side, &format!("CHECK TABLE {table}")).await;
            assert_eq!(found, "(0)", "seed {seed}: CHECK TABLE {table}");
        }
    }
}

#[test]
fn range_deletes_are_the_same_as_row_by_row() {
    let server = Server::start(Config::new().without_sync());
    let seeds = match seed_from_env() {
        Some(seed) => seed..seed + 1,
        None => 1..1 + Size::from_env().pick(8, 40, 1_500),
    };
    let runtime = tokio::runtime::Runtime::new().expect("a runtime");
    runtime.block_on(async {
        let sides = [connect(server.sql_url(), None).await, connect(server.sql_url(), None).await];
        let mut counts = Counts { deletes: 0, ranges: 0 };
        let alone = seeds.end - seeds.start == 1;
        for seed in seeds {
            one_hierarchy(&sides, seed, &mut counts).await;
        }
        println!("{} of {} deletes were range deletes", counts.ranges, counts.deletes);
        assert!(alone || counts.ranges * 5 > counts.deletes, "too few range deletes");
    });
}

const TABLES: &str = "
    CREATE TABLE p (a int PRIMARY KEY, n int DEFAULT 0);
    CREATE TABLE c (a int, b int, w int, PRIMARY KEY (a, b),
        INDEX near (a, w) INTERLEAVE IN PARENT p (a), INDEX far (w))
        INTERLEAVE IN PARENT p (a) ON DELETE CASCADE;
    CREATE TABLE g (a int, b int, d int, PRIMARY KEY (a, b, d)) INTERLEAVE IN PARENT c (a, b)
        ON DELETE CASCADE;
    CREATE TABLE s (a int, x int, PRIMARY KEY (a, x)) INTERLEAVE IN PARENT p (a) ON DELETE CASCADE";

fn statement(random: &mut Random) -> String {
    let (a, b, d) = (random.below(6), random.below(4), random.below(4));
    let nothing = random.pick(&["", " RETURNING NOTHING"]);
    match random.below(10) {
        0 => format!("INSERT INTO p VALUES ({a}) ON CONFLICT DO NOTHING"),
        1 => format!("INSERT INTO c VALUES ({a}, {b}, {d}){nothing}"),
        2 => format!("INSERT INTO g VALUES ({a}, {b}, {d}){nothing}"),
        3 => format!("INSERT INTO s VALUES ({a}, {d}){nothing}"),
        4 | 5 => format!("DELETE FROM p WHERE a = {a}{nothing}"),
        6 => format!("DELETE FROM p WHERE a BETWEEN {b} AND {a}{nothing}"),
        7 => format!("DELETE FROM c WHERE a = {a} AND b > {b}{nothing}"),
        8 => format!("UPDATE c SET w = {d} WHERE a = {a}"),
        _ => format!("UPDATE p SET n = n + 1 WHERE a = {a}"),
    }
}

#[test]
fn no_child_outlives_its_parent_in_any_order() {
    let server = Server::start(Config::new().without_sync());
    let runtime = tokio::runtime::Runtime::new().expect("a runtime");
    runtime.block_on(async {
        let client = connect(server.sql_url(), None).await;
        sure(&client, TABLES).await;
        let plan = sure(&client, "EXPLAIN DELETE FROM p WHERE a = 1").await;
        assert!(plan.contains("Range Delete: p, c, s, g"), "{plan}");
        let seed =
            storm(server.sql_url(), Size::from_env().pick(100, 200, 5_000), 4, statement).await;
        for table in ["p", "c", "g", "s"] {
            let found = sure(&client, &format!("CHECK TABLE {table}")).await;
            assert_eq!(found, "(0)", "seed {seed}: {table}");
        }
    });
}

/// `a` of every parent, and how many rows lie below all of them.
async fn alive(client: &Client) -> (String, String) {
    let parents = sure(client, "SELECT a FROM p").await;
    let below =
        "SELECT (SELECT count(*) FROM c), (SELECT count(*) FROM g), (SELECT count(*) FROM s)";
    (parents, sure(client, below).await)
}

#[test]
fn kills_during_the_removal_of_what_is_covered_change_nothing() {
    let mut server = Server::start(Config::new());
    let runtime = tokio::runtime::Runtime::new().expect("a runtime");
    let mut random = Random::new(seed());
    runtime.block_on(async {
        let client = connect(server.sql_url(), None).await;
        sure(&client, TABLES).await;
        drop(client);
        for round in 0..Size::from_env().pick(3, 6, 50) {
            let client = connect(server.sql_url(), None).await;
            sure(&client, "DELETE FROM p").await;
            for sql in [
                "INSERT INTO p SELECT i, 0 FROM generate_series(1, 60) i",
                "INSERT INTO c SELECT a, b, b FROM p, generate_series(1, 10) b",
                "INSERT INTO g SELECT a, b, d FROM c, generate_series(1, 3) d",
                "INSERT INTO s SELECT a, x FROM p, generate_series(1, 5) x",
            ] {
                sure(&client, sql).await;
            }
            let (a, b) = (random.below(60), random.below(60));
            for sql in [
                format!("DELETE FROM p WHERE a BETWEEN {a} AND {a} + 20"),
                format!("DELETE FROM p WHERE a = {b} RETURNING NOTHING"),
                // Some come again where the range was deleted.
                format!("INSERT INTO p VALUES ({a} + 1, 1) ON CONFLICT DO NOTHING"),
                format!("INSERT INTO s VALUES ({a} + 1, 77)"),
                format!("DELETE FROM c WHERE a = {b} + 1 AND b > 5"),
            ] {
                sure(&client, &sql).await;
            }
            let before = alive(&client).await;
            drop(client);
            server.kill();
            for _ in 0..random.below(3) {
                server.restart_and_kill(std::time::Duration::from_millis(random.below(40)));
            }
            server.restart();
            let client = connect(server.sql_url(), None).await;
            assert_eq!(alive(&client).await, before, "round {round}");
            for table in ["p", "c", "g", "s"] {
                let found = sure(&client, &format!("CHECK TABLE {table}")).await;
                assert_eq!(found, "(0)", "round {round}: {table}");
            }
        }
    });
}

//! Partial indexes change no answer: the same random statements and queries on two tables, one
//! with such indexes, give the same rows. Many values are NULL, so that predicates are too.

use std::collections::BTreeSet;

use braid_testkit::random::{Random, seed};
use braid_testkit::server::{Config, Server};
use braid_testkit::size::Size;
use braid_testkit::target::first_column;
use tokio_postgres::Client;

use super::twin_tables::TwinTables;

const INDEXES: [&str; 8] = [
    "CREATE INDEX i_open ON indexed (id) WHERE NOT done",
    "CREATE INDEX i_done ON indexed (a, id) WHERE done",
    "CREATE INDEX i_known ON indexed (a DESC) STORING (b) WHERE a IS NOT NULL",
    "CREATE INDEX i_high ON indexed (k, a) WHERE a > 3",
    "CREATE INDEX i_list ON indexed (b) WHERE k IN ('x', 'y') AND a >= 0",
    "CREATE INDEX i_either ON indexed (a) WHERE k = 'z' OR done",
    "CREATE INDEX i_lower ON indexed (lower(k)) WHERE b IS NULL",
    "CREATE INDEX i_not ON indexed (id DESC) WHERE NOT (a < 2 AND done) AND k <> 'y'",
];

fn number(random: &mut Random) -> String {
    match random.below(6) {
        0 => "NULL".to_owned(),
        _ => (random.below(8) as i64 - 1).to_string(),
    }
}

fn pick<'a>(random: &mut Random, of: &[&'a str]) -> &'a str {
    of[random.below(of.len() as u64) as usize]
}

/// One part of a condition.
fn part(random: &mut Random) -> String {
    let n = random.below(8) as i64 - 1;
    let op = pick(random, &["=", "<", "<=", ">", ">=", "<>"]);
    let word = pick(random, &["x", "y", "z", "X"]);
    match random.below(12) {
        0 | 1 => pick(
            random,
            &[
                "done",
                "NOT done",
                "done = false",
                "done <> false",
                "done IS FALSE",
                "done IS NOT TRUE",
            ],
        )
        .to_owned(),
        2 => format!("a {op} {n}"),
        3 => format!("{n} {op} a"),
        4 => format!("NOT (a {op} {n})"),
        5 => format!("k {op} '{word}'"),
        6 => format!("k IN ('x', '{word}')"),
        7 => format!("a IN ({n}, 4, 5)"),
        8 => format!("a BETWEEN {n} AND 6"),
        9 => format!(
            "{} IS {}NULL",
            pick(random, &["a", "b", "done", "k"]),
            pick(random, &["", "NOT "])
        ),
        10 => format!("lower(k) = '{word}'"),
        _ => format!("b {op} {n}"),
    }
}

fn condition(random: &mut Random) -> String {
    let mut text = part(random);
    for _ in 0..random.below(4) {
        let word = pick(random, &["AND", "AND", "AND", "OR"]);
        text = match random.below(3) {
            0 => format!("({text}) {word} {}", part(random)),
            1 => format!("{} {word} ({text})", part(random)),
            _ => format!("({text}) AND ({} OR {})", part(random), part(random)),
        };
    }
    text
}

/// A statement on the table `@`.
fn change(random: &mut Random) -> String {
    let id = random.below(60);
    let (a, b) = (number(random), number(random));
    let k = pick(random, &["NULL", "'x'", "'y'", "'z'", "'X'"]);
    let done = pick(random, &["true", "false", "NULL"]);
    let row = format!("({id}, {done}, {a}, {b}, {k})");
    match random.below(8) {
        0..3 => format!("INSERT INTO @ VALUES {row} ON CONFLICT DO NOTHING"),
        3 => format!("UPSERT INTO @ VALUES {row}"),
        4 => format!("UPDATE @ SET done = {done}, a = {a} WHERE {}", condition(random)),
        5 => format!("UPDATE @ SET k = {k}, b = a WHERE {}", condition(random)),
        6 => format!("UPDATE @ SET id = id + 60 WHERE id < 60 AND ({})", condition(random)),
        _ => format!("DELETE FROM @ WHERE id % 3 = 0 AND ({})", condition(random)),
    }
}

/// A query of the table `@` whose rows come in one order.
fn query(random: &mut Random, condition: &str) -> String {
    let row = "id || ':' || concat_ws(',', done, a, b, k)";
    match random.below(6) {
        0 => format!("SELECT id::text FROM @ WHERE {condition} ORDER BY id LIMIT 3"),
        1 => format!("SELECT {row} FROM @ WHERE {condition} ORDER BY a DESC, id LIMIT 4"),
        2 => format!(
            "SELECT {row} FROM @ WHERE {condition} ORDER BY id LIMIT 2 FOR UPDATE SKIP LOCKED"
        ),
        3 => format!(
            "SELECT w.n || ':' || count(t.id) FROM generate_series(-1, 7) w (n)
             LEFT JOIN @ t ON t.a = w.n AND ({condition}) GROUP BY w.n ORDER BY w.n"
        ),
        4 => format!("SELECT concat_ws(',', count(*), sum(a), count(k)) FROM @ WHERE {condition}"),
        _ => format!("SELECT {row} FROM @ WHERE {condition} ORDER BY id"),
    }
}

async fn index_of(client: &Client, query: &str) -> Option<&'static str> {
    let plan = first_column(client, &format!("EXPLAIN {query}")).await.join("\n");
    let names = INDEXES.iter().filter_map(|index| index.split(' ').nth(2));
    names.into_iter().find(|name| plan.contains(*name))
}

#[test]
fn random_queries_give_the_same_with_and_without_partial_indexes() {
    let seed = seed();
    println!("BRAID_TEST_SEED={seed}");
    let mut random = Random::new(seed);
    let server = Server::start(Config::new());
    tokio::runtime::Runtime::new().expect("a runtime").block_on(async {
        let columns = "id int PRIMARY KEY, done bool, a int, b int, k text";
        let twins = TwinTables::create(&server, columns).await;
        for index in INDEXES {
            twins.client.batch_execute(index).await.expect("an index");
        }
        let mut used = BTreeSet::new();
        for _ in 0..Size::from_env().pick(150, 600, 15_000) {
            twins.change(&change(&mut random)).await;
            let condition = condition(&mut random);
            let query = twins.query(&query(&mut random, &condition)).await;
            used.extend(index_of(&twins.client, &query).await);
        }
        twins.check().await;
        // Conditions are random: some indexes are rarely the best. Mostly 5 to 7 of them are used.
        assert!(used.len() > INDEXES.len() / 4, "{used:?}");
    });
}

//! Indexes on expressions change no answer: the same random statements and queries on two tables,
//! one with such indexes, give the same rows, and CHECK TABLE finds an entry for each row and a row
//! for each entry.

use braid_testkit::random::{Random, seed};
use braid_testkit::server::{Config, Server};
use braid_testkit::size::Size;
use braid_testkit::target::first_column;

use super::twin_tables::TwinTables;

/// The indexes of the second table: of one and several keys, descending, partial, with columns
/// beside them, and with an expression that fails on rows outside of the predicate.
const INDEXES: [&str; 5] = [
    "CREATE INDEX i_lower ON indexed (lower(s))",
    "CREATE INDEX i_sum ON indexed ((a + b) DESC, k) STORING (s)",
    "CREATE INDEX i_part ON indexed ((100 / a), lower(v)) WHERE a <> 0",
    "CREATE INDEX i_mixed ON indexed (k, (coalesce(b, -1)), upper(s) DESC)",
    "CREATE UNIQUE INDEX i_once ON indexed ((k * 2), lower(v), id)",
];

fn value(random: &mut Random) -> String {
    match random.below(6) {
        0 => "NULL".to_owned(),
        _ => (random.below(9) as i64 - 2).to_string(),
    }
}

fn word(random: &mut Random) -> &'static str {
    let words = ["NULL", "''", "'x'", "'X'", "'yY'", "'Yy'", "'Zebra'", "'zEBRA'"];
    words[random.below(words.len() as u64) as usize]
}

/// A condition, most of which an index can serve.
fn condition(random: &mut Random) -> String {
    let (number, text) = (value(random), word(random));
    match random.below(10) {
        0 => format!("lower(s) = lower({text})"),
        1 => format!("lower(s) IN ('x', {text})"),
        2 => format!("a + b = {number}"),
        3 => format!("a + b >= {number} AND a + b < 5"),
        4 => format!("k = {number} AND coalesce(b, -1) = 2"),
        5 => format!("k = {number} AND coalesce(b, -1) IN (-1, 0, 3) AND upper(s) > 'X'"),
        6 => format!("lower(s) > {text} AND k > 1"),
        7 => format!("k * 2 = 4 AND lower(v) = {text}"),
        8 => "lower(s) IS NULL".to_owned(),
        _ => format!("id % 7 = {}", random.below(7)),
    }
}

/// A statement on the table `@`.
fn change(random: &mut Random) -> String {
    let id = random.below(60);
    let (a, b, k) = (value(random), value(random), value(random));
    let (s, v) = (word(random), word(random));
    match random.below(8) {
        0 | 1 => format!("INSERT INTO @ VALUES ({id}, {a}, {b}, {k}, {s}, {v})"),
        2 => format!("UPSERT INTO @ VALUES ({id}, {a}, {b}, {k}, {s}, {v})"),
        3 => format!(
            "INSERT INTO @ AS o VALUES ({id}, {a}, {b}, {k}, {s}, {v})
             ON CONFLICT (id) DO UPDATE SET s = excluded.s, a = o.b, b = excluded.a"
        ),
        4 => format!("UPDATE @ SET a = {a}, s = {s} WHERE {}", condition(random)),
        5 => format!("UPDATE @ SET v = {v}, k = b WHERE {}", condition(random)),
        6 => format!("UPDATE @ SET id = id + 60 WHERE id < 60 AND {}", condition(random)),
        _ => format!("DELETE FROM @ WHERE id % 3 = 0 AND {}", condition(random)),
    }
}

#[test]
fn random_changes_and_queries_give_the_same_with_and_without_indexes() {
    let seed = seed();
    println!("BRAID_TEST_SEED={seed}");
    let mut random = Random::new(seed);
    let server = Server::start(Config::new());
    tokio::runtime::Runtime::new().expect("a runtime").block_on(async {
        let columns = "id int PRIMARY KEY, a int, b int, k int, s text, v varchar(10)";
        let twins = TwinTables::create(&server, columns).await;
        let client = &twins.client;
        let rounds = Size::from_env().pick(170, 500, 10_000);
        let mut indexes = INDEXES.iter();
        for round in 0..rounds {
            // Some indexes find rows, others are there before them. The last is made in round 160.
            if round % 40 == 0
                && let Some(index) = indexes.next()
            {
                client.batch_execute(index).await.expect("an index");
            }
            twins.change(&change(&mut random)).await;
            let condition = condition(&mut random);
            let row = "id || ':' || concat_ws(',', a, b, k, s, v)";
            twins.query(&format!("SELECT {row} FROM @ WHERE {condition} ORDER BY id")).await;
        }
        twins.check().await;
        let plan = "EXPLAIN SELECT id FROM indexed WHERE k * 2 = 4 AND lower(v) = 'x'";
        let plan = first_column(client, plan).await.join("\n");
        assert!(plan.contains("i_once"), "{plan}");
        client.batch_execute("ALTER TABLE indexed ALTER a TYPE bigint").await.expect("changed");
        client.batch_execute("ALTER TABLE indexed DROP COLUMN s").await.expect("changed");
        twins.check().await;
    });
}

//! Joins of parents with what is interleaved below them give what joins of ordinary tables give.
//!
//! The same random rows lie in two schemas, interleaved and not; random joins of two to four
//! tables (inner and left, over all levels or with levels left out, with conditions of all
//! kinds, LIMIT, the parent's order) run on both, also with uncommitted rows. Rows without parents,
//! NULLs, several families and descending keys are among them.
//!
//! `BRAID_TEST_SIZE` says how many seeds; `BRAID_TEST_SEED=n` runs seed n alone.

#![allow(clippy::print_stdout, reason = "a test says how much it has done")]

use braid_testkit::random::{Random, seed_from_env};
use braid_testkit::server::{Config, Server};
use braid_testkit::size::Size;
use braid_testkit::target::connect;
use tokio_postgres::{Client, SimpleQueryMessage};

/// Queries of one seed.
const QUERIES: usize = 60;

/// The tables from the top, the key columns of each, and its families. `s` is beside `t1`.
const TABLES: [(&str, &[&str], &str); 5] = [
    ("t0", &["a int", "k text"], ", FAMILY f (a, k), FAMILY g (v), FAMILY h (w)"),
    ("t1", &["a int", "k text", "n numeric"], ""),
    ("t2", &["a int", "k text", "n numeric", "m int"], ", FAMILY f (a, k, n, m), FAMILY g (v, w)"),
    ("t3", &["a int", "k text", "n numeric", "m int", "z date"], ""),
    ("s", &["a int", "k text", "x int"], ""),
];
const PARENTS: [&str; 5] = ["", "t0 (a, k)", "t1 (a, k, n)", "t2 (a, k, n, m)", "t0 (a, k)"];

fn keys(table: usize) -> Vec<&'static str> {
    TABLES[table].1.iter().map(|column| column.split(' ').next().unwrap_or_default()).collect()
}

fn create(table: usize, interleaved: bool) -> String {
    let (name, columns, families) = TABLES[table];
    let key: Vec<String> = keys(table)
        .iter()
        .map(|column| format!("{column}{}", if ["k", "m"].contains(column) { " DESC" } else { "" }))
        .collect();
    let interleave = match (interleaved, PARENTS[table]) {
        (true, parent) if !parent.is_empty() => format!(" INTERLEAVE IN PARENT {parent}"),
        _ => String::new(),
    };
    format!(
        "CREATE TABLE {name} ({}, v int, w text, PRIMARY KEY ({}){families}){interleave}",
        columns.join(", "),
        key.join(", "),
    )
}

fn insert(table: usize, random: &mut Random) -> String {
    let mut rows = Vec::new();
    for _ in 0..1 + random.below(8) {
        let mut values: Vec<String> = keys(table)
            .iter()
            .map(|column| match *column {
                "a" => random.below(5).to_string(),
                "k" => format!("'{}'", random.pick(&["", "a", "ab", "é"])),
                "n" => random.pick(&["0", "1.0", "1.50", "-2"]).to_string(),
                "z" => format!("date '2024-01-01' + {}", random.below(4)),
                _ => random.below(3).to_string(),
            })
            .collect();
        values.push(random.pick(&["NULL", "1", "2", "3"]).to_string());
        values.push(random.pick(&["NULL", "'x'", "'yy'"]).to_string());
        rows.push(format!("({})", values.join(", ")));
    }
    format!("INSERT INTO {} VALUES {} ON CONFLICT DO NOTHING", TABLES[table].0, rows.join(", "))
}

fn delete(random: &mut Random) -> String {
    let table = random.below(5) as usize;
    format!("DELETE FROM {} WHERE a = {} AND v = 2", TABLES[table].0, random.below(5))
}

/// A condition on one table.
fn own(name: &str, random: &mut Random) -> String {
    match random.below(8) {
        0 => format!("{name}.v > 1"),
        1 => format!("{name}.v IS NULL"),
        2 => format!("{name}.w = 'x'"),
        3 => format!("coalesce({name}.v, 0) < 3"),
        4 => format!("{name}.a = {}", random.below(5)),
        5 => format!("{name}.a BETWEEN 1 AND 3"),
        6 => format!("{name}.a IN (0, 3, 4)"),
        _ => format!("{name}.k >= 'a'"),
    }
}

struct Query {
    text: String,
    /// The parent's key comes first, and in its order.
    ordered: bool,
}

fn query(random: &mut Random) -> Query {
    let mut tables: Vec<usize> = (0..4).filter(|_| random.percent(70)).collect();
    if random.one_in(8) {
        tables = vec![0, 4];
    }
    if tables.len() < 2 {
        tables = vec![0, 1, 2];
    }
    let inner = random.one_in(2);
    let mut conditions: Vec<Vec<String>> = Vec::new();
    for (place, table) in tables.iter().enumerate().skip(1) {
        let (name, parent) = (TABLES[*table].0, tables[place - 1]);
        let mut on = Vec::new();
        for column in keys(parent) {
            // Mostly the parent's own column, else the same one further up; rarely none.
            let of: Vec<&usize> =
                tables[..place].iter().filter(|t| keys(**t).contains(&column)).collect();
            let of = if random.percent(80) { parent } else { **random.pick(&of) };
            if !random.one_in(40) {
                let sides = [format!("{name}.{column}"), format!("{}.{column}", TABLES[of].0)];
                let first = random.below(2) as usize;
                on.push(format!("{} = {}", sides[first], sides[1 - first]));
            }
        }
        if random.one_in(3) {
            on.push(own(name, random));
        }
        if random.one_in(4) {
            let above = TABLES[tables[random.below(place as u64) as usize]].0;
            on.push(format!("{above}.v {} {name}.v", random.pick(&["<", ">=", "<>"])));
        }
        if on.is_empty() {
            on.push("true".to_owned());
        }
        conditions.push(on);
    }
    let name = |table: usize| TABLES[table].0;
    let mut filters: Vec<String> = Vec::new();
    for table in &tables {
        if random.one_in(4) {
            filters.push(own(name(*table), random));
        }
    }
    let top = name(tables[0]);
    let mut from = top.to_owned();
    if inner && random.one_in(2) {
        let mut shuffled = tables.clone();
        shuffled.sort_by_cached_key(|_| random.below(100));
        from = shuffled.iter().map(|t| name(*t)).collect::<Vec<_>>().join(", ");
        filters.extend(conditions.concat());
    } else {
        for (table, on) in tables.iter().skip(1).zip(&conditions) {
            let kind = if !inner && random.percent(70) { "LEFT JOIN" } else { "JOIN" };
            from += &format!(" {kind} {} ON {}", name(*table), on.join(" AND "));
        }
    }
    let filter = match filters.is_empty() {
        true => String::new(),
        false => format!(" WHERE {}", filters.join(" AND ")),
    };
    let columns: Vec<String> = tables
        .iter()
        .flat_map(|t| keys(*t).into_iter().chain(["v", "w"]).map(|c| format!("{}.{c}", name(*t))))
        .filter(|_| random.percent(60))
        .collect();
    let columns = std::iter::once(format!("{top}.a, {top}.k")).chain(columns).collect::<Vec<_>>();
    let list = columns.join(", ");
    let (text, ordered) = match random.below(6) {
        0 => (format!("SELECT count(*), sum({top}.v) FROM {from}{filter}"), false),
        1 | 2 => {
            (format!("SELECT {list} FROM {from}{filter} ORDER BY {top}.a, {top}.k DESC"), true)
        }
        3 => {
            let places: Vec<String> = (1..=columns.len() + 1).map(|n| n.to_string()).collect();
            let order = places.join(", ");
            (format!("SELECT {list} FROM {from}{filter} ORDER BY {order} LIMIT 5"), false)
        }
        4 => (format!("SELECT {list} FROM {from}{filter} ORDER BY {top}.a DESC"), false),
        _ => (format!("SELECT {list} FROM {from}{filter}"), false),
    };
    Query { text, ordered }
}

async fn rows(client: &Client, sql: &str) -> Vec<Vec<String>> {
    let answer = client.simple_query(sql).await;
    let messages = answer.unwrap_or_else(|error| panic!("{sql}: {error:?}"));
    let row = |message: SimpleQueryMessage| match message {
        SimpleQueryMessage::Row(row) => {
            Some((0..row.len()).map(|i| row.get(i).unwrap_or("NULL").to_owned()).collect())
        }
        _ => None,
    };
    messages.into_iter().filter_map(row).collect()
}

/// How many queries there were, how many were one pass, and rows in all.
#[derive(Debug, Default)]
struct Counts {
    queries: usize,
    passes: usize,
    rows: usize,
}

async fn compare(sides: &[Client; 2], random: &mut Random, seed: u64, counts: &mut Counts) {
    let Query { text, ordered } = query(random);
    let mut found = [rows(&sides[0], &text).await, rows(&sides[1], &text).await];
    if ordered {
        let keys = |rows: &[Vec<String>]| {
            rows.iter().map(|row| row[..2].to_vec()).collect::<Vec<Vec<String>>>()
        };
        assert_eq!(keys(&found[0]), keys(&found[1]), "seed {seed}: order of {text}");
    }
    found.iter_mut().for_each(|rows| rows.sort_unstable());
    assert_eq!(found[0], found[1], "seed {seed}: {text}");
    let plan = rows(&sides[0], &format!("EXPLAIN {text}")).await.concat().join("\n");
    counts.queries += 1;
    counts.passes += usize::from(plan.contains("Interleaved"));
    counts.rows += found[0].len();
}

async fn one_seed(sides: &[Client; 2], seed: u64, counts: &mut Counts) {
    let mut random = Random::new(seed);
    for (side, schema) in sides.iter().zip(["mixed", "plain"]) {
        rows(side, &format!("DROP SCHEMA IF EXISTS {schema} CASCADE")).await;
        rows(side, &format!("CREATE SCHEMA {schema}; SET search_path = {schema}")).await;
        for table in 0..TABLES.len() {
            rows(side, &create(table, schema == "mixed")).await;
        }
    }
    let both = async |sql: &str| {
        for side in sides {
            rows(side, sql).await;
        }
    };
    for _ in 0..60 {
        let table = random.below(5) as usize;
        both(&insert(table, &mut random)).await;
    }
    for round in 0..QUERIES {
        if round % 20 == 10 {
            both("BEGIN").await;
            for table in 0..5 {
                both(&insert(table, &mut random)).await;
            }
            both(&delete(&mut random)).await;
        }
        compare(sides, &mut random, seed, counts).await;
        if round % 20 == 15 {
            both(if random.one_in(2) { "COMMIT" } else { "ROLLBACK" }).await;
        }
    }
}

#[test]
fn one_pass_gives_what_other_joins_give() {
    let server = Server::start(Config::new().without_sync());
    let seeds = match seed_from_env() {
        Some(seed) => seed..seed + 1,
        None => 1..1 + Size::from_env().pick(4, 40, 600),
    };
    let runtime = tokio::runtime::Runtime::new().expect("a runtime");
    runtime.block_on(async {
        let sides = [connect(server.sql_url(), None).await, connect(server.sql_url(), None).await];
        let mut counts = Counts::default();
        for seed in seeds {
            one_seed(&sides, seed, &mut counts).await;
        }
        println!("{counts:?}");
        assert!(counts.passes * 3 > counts.queries, "too few were one pass: {counts:?}");
    });
}

//! Joins by lookups give the rows that other joins give.
//!
//! Random joins of a small left side with a large right side (inner, left, EXISTS and IN and NOT)
//! are asked twice. As they are, most of them look an index of the right side up. With the right
//! side in a subquery with OFFSET 0 no index can be looked up. The right sides have NULLs and
//! duplicates in their keys, column families, entries of covering indexes, and rows that are
//! interleaved below others. Some left rows have more right rows than one page.
//!
//! Results are rows, or aggregates over them, which read the join by columns. Every query runs with
//! plenty of memory and with little, and some see uncommitted rows.
//!
//! `BRAID_TEST_SIZE` says how many queries; `BRAID_TEST_SEED=n` runs seed n alone.

use std::time::{Duration, Instant};

use braid_testkit::random::{Random, seed_from_env};
use braid_testkit::size::Size;
use braid_testkit::target::{Target, first_column, sorted_rows};
use tokio_postgres::Client;
use tokio_postgres::error::SqlState;

const TABLES: &str = "
    CREATE TABLE l (id int PRIMARY KEY, k int, big bigint, s int NOT NULL, w text, c int NOT NULL);
    INSERT INTO l SELECT g, nullif(g * 7 % 90, 5), nullif(g % 90, 7), g % 11,
        nullif('w' || g % 13, 'w4'), g % 6 FROM generate_series(1, 2000) g;
    CREATE INDEX ON l (s) INCLUDE (k, c);
    CREATE TABLE whole (id int PRIMARY KEY, k int, v int, w text, n numeric(8,2), d date);
    INSERT INTO whole SELECT g, nullif(g % 300, 11), nullif(g % 17, 3), nullif('w' || g % 19, 'w2'),
        nullif(g % 23, 9) / 4.0, date '2026-01-01' + nullif(g % 40, 8)
        FROM generate_series(1, 12000) g;
    CREATE INDEX ON whole (k);
    CREATE INDEX ON whole (v, k DESC) INCLUDE (w);
    CREATE INDEX ON whole (w, v);
    CREATE UNIQUE INDEX ON whole (d, id) INCLUDE (n);
    CREATE TABLE families (id int PRIMARY KEY, k int, v int, w text, n numeric(8,2), d date,
        FAMILY a (id, k), FAMILY b (v, w), FAMILY c (n, d));
    INSERT INTO families SELECT * FROM whole;
    CREATE INDEX ON families (k);
    CREATE TABLE above (k int PRIMARY KEY, name text);
    INSERT INTO above SELECT g, 'name ' || g FROM generate_series(0, 299) g WHERE g % 5 > 0;
    CREATE TABLE below (k int, id int, v int, w text, n numeric(8,2), d date,
        PRIMARY KEY (k, id)) INTERLEAVE IN PARENT above (k);
    INSERT INTO below SELECT k, id, v, w, n, d FROM whole WHERE k IS NOT NULL;
    CREATE TABLE skewed (id int PRIMARY KEY, k int, v int, w text, n numeric(8,2), d date);
    INSERT INTO skewed SELECT g, CASE WHEN g < 9500 THEN 1 ELSE g % 40 END, g % 17, 'w' || g % 19,
        g % 23, NULL FROM generate_series(1, 12000) g;
    CREATE INDEX ON skewed (k);
    ANALYZE";

/// The right sides. `below` has no index of `id` alone.
const RIGHTS: [&str; 5] = ["whole", "whole", "families", "below", "skewed"];
/// Memory of a statement with which pages are small.
const LITTLE_MEMORY: &str = "SET statement_memory_limit = '400kB'";

struct Query {
    /// `RIGHT` stands for the right side.
    text: String,
    right: &'static str,
}

impl Query {
    fn random(random: &mut Random) -> Self {
        let right = *random.pick(&RIGHTS);
        let on = Self::condition(right, random);
        let left = match random.below(4) {
            0 => "l".to_owned(),
            1 => format!("(SELECT * FROM l WHERE s = {}) AS l", random.below(11)),
            2 => "(SELECT DISTINCT k, big, s, w, c, id FROM l) AS l".to_owned(),
            _ => "l JOIN l AS m ON m.id = l.id".to_owned(),
        };
        // The left side stays small, so that lookups cost less than a hash join.
        let few = format!("l.id <= {}", *random.pick(&[1, 3, 20, 60]));
        let outer = *random.pick(&["JOIN", "JOIN", "LEFT JOIN"]);
        let filter = match random.below(6) {
            0 if outer == "JOIN" => format!(" AND r.v > {}", random.below(12)),
            1 if outer == "JOIN" => " AND r.w IS NOT NULL".to_owned(),
            2 => " AND r.v IS NULL".to_owned(),
            _ => String::new(),
        };
        let text = match random.below(9) {
            0 | 1 => format!(
                "SELECT l.id, l.w, r.id, r.v, r.w, r.n, r.d FROM {left} {outer} RIGHT AS r ON {on} \
                 WHERE {few}{filter}"
            ),
            2 => format!(
                "SELECT count(*), count(r.id), sum(r.v), sum(r.n), min(r.w), max(l.w) \
                 FROM {left} {outer} RIGHT AS r ON {on} WHERE {few}{filter}"
            ),
            3 | 4 => format!(
                "SELECT l.c, r.v, count(*), sum(r.id), sum(r.n), max(r.d), min(l.s) \
                 FROM {left} {outer} RIGHT AS r ON {on} WHERE {few}{filter} GROUP BY l.c, r.v"
            ),
            5 => format!(
                "SELECT count(*), sum(o.v) FROM {left} {outer} RIGHT AS r ON {on} \
                 JOIN whole AS o ON o.id = r.id WHERE {few}{filter}"
            ),
            6 => format!(
                "SELECT count(*) FROM (SELECT l.id FROM {left} {outer} RIGHT AS r ON {on} \
                 WHERE {few}{filter} LIMIT {}) AS some_rows",
                random.below(3_000)
            ),
            7 => format!(
                "SELECT count(*), sum(l.s) FROM {left} WHERE {few} AND {}EXISTS \
                 (SELECT FROM RIGHT AS r WHERE {on})",
                random.pick(&["", "NOT "])
            ),
            _ => format!(
                "SELECT l.id, l.c FROM {left} WHERE {few} AND {}EXISTS \
                 (SELECT FROM RIGHT AS r WHERE {on})",
                random.pick(&["", "NOT "])
            ),
        };
        Self { text, right }
    }

    fn condition(right: &str, random: &mut Random) -> String {
        let key = match (right, random.below(9)) {
            ("below", 0..5) => "r.k = l.k",
            ("below", 5) => "r.k = l.k AND r.id = l.id",
            ("below", 6) => "r.k = l.big",
            (_, 0 | 1) => "r.id = l.id",
            (_, 2) => "r.id = l.k",
            (_, 3) => "r.id = l.big",
            (_, 4) => "r.k = l.big",
            ("whole", 5) => "r.v = l.s AND r.k = l.k",
            ("whole", 6) => "r.d = date '2026-01-01' + l.s AND r.id > l.id * 10",
            ("whole", 7) => "r.w = l.w AND r.v = l.s",
            (_, 8) => "r.id BETWEEN l.id AND l.id + l.s",
            _ => "r.k = l.k",
        };
        let more = match random.below(9) {
            0 => " AND r.v > l.s",
            1 => " AND r.v <> l.c",
            2 => " AND r.w = l.w",
            3 => " AND r.v = 4",
            4 => " AND coalesce(r.v, 0) + l.s > 5",
            5 => " AND r.n < 3",
            _ => "",
        };
        format!("{key}{more}")
    }

    /// As it is.
    fn free(&self) -> String {
        self.text.replace("RIGHT", self.right)
    }

    /// With a right side that no index leads to.
    fn fixed(&self) -> String {
        self.text.replace("RIGHT", &format!("(SELECT * FROM {} OFFSET 0)", self.right))
    }
}

async fn rows(client: &Client, sql: &str) -> Result<Vec<String>, SqlState> {
    let messages = match client.simple_query(sql).await {
        Ok(messages) => messages,
        Err(error) => match error.code() {
            Some(code) if *code == SqlState::OUT_OF_MEMORY => return Err(code.clone()),
            _ => panic!("{sql}\n{error:?}"),
        },
    };
    Ok(sorted_rows(&messages))
}

async fn is_lookup(client: &Client, sql: &str) -> bool {
    let plan = first_column(client, &format!("EXPLAIN {sql}")).await;
    plan.iter().any(|line| line.trim_start_matches([' ', '-', '>']).starts_with("Lookup"))
}

#[tokio::test(flavor = "multi_thread")]
async fn lookups_give_the_rows_of_other_joins() {
    let target = Target::from_env();
    let database = target.create_database("lookup_joins").await;
    let client = database.connect().await;
    client.batch_execute(TABLES).await.expect("tables");
    let little = database.connect().await;
    little.batch_execute(LITTLE_MEMORY).await.expect("a setting");
    let seeds = match seed_from_env() {
        Some(seed) => seed..seed + 1,
        None => 1..1 + Size::from_env().pick(25, 120, 20_000),
    };
    let (mut lookups, mut found, mut with_little) = (0, 0, 0);
    let total = seeds.end - seeds.start;
    for seed in seeds {
        let query = Query::random(&mut Random::new(seed));
        let (free, fixed) = (query.free(), query.fixed());
        let changes = seed % 5 == 0;
        if changes {
            let changed = client.batch_execute(
                "BEGIN; UPDATE whole SET v = v + 1, w = 'w1' WHERE id % 7 = 0; \
                 DELETE FROM families WHERE id % 5 = 0; DELETE FROM below WHERE id % 3 = 0; \
                 INSERT INTO below VALUES (3, 20000, 1, 'w1', 1, NULL)",
            );
            changed.await.expect("changes");
        }
        let mine = rows(&client, &free).await.expect("enough memory");
        let right = rows(&client, &fixed).await.expect("enough memory");
        let shown = || format!("BRAID_TEST_SEED={seed}\n{free}");
        assert!(mine == right, "{}\n{} rows, {} rows", shown(), mine.len(), right.len());
        if changes {
            client.batch_execute("ROLLBACK").await.expect("rolls back");
        } else if let Ok(with) = rows(&little, &free).await {
            with_little += 1;
            assert!(mine == with, "{}\nwith little memory", shown());
        }
        found += usize::from(!mine.is_empty());
        lookups += u64::from(is_lookup(&client, &free).await);
    }
    if total > 1 {
        assert!(lookups * 5 > total * 2, "only {lookups} of {total} queries look anything up");
        assert!(found > 0 && with_little > total / 2, "{found} found, {with_little} with little");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_lookup_join_of_many_pairs_can_be_cancelled() {
    let target = Target::from_env();
    let client = target.create_database("lookup_joins").await.connect().await;
    client.batch_execute(TABLES).await.expect("tables");
    client
        .batch_execute(
            "CREATE TABLE same (id int PRIMARY KEY, k int);
             INSERT INTO same SELECT g, 1 FROM generate_series(1, 60) g; ANALYZE same;
             SET statement_timeout = '300ms'",
        )
        .await
        .expect("tables");
    for list in ["count(*), sum(r.v)", "l.id, r.w"] {
        // A chain of lookups, each of which finds thousands of rows.
        let sql = format!(
            "SELECT {list} FROM same l JOIN skewed r ON r.k = l.k JOIN skewed o ON o.k = r.k \
             WHERE l.id < 4"
        );
        let start = Instant::now();
        let error = client.simple_query(&sql).await.expect_err("takes longer than that");
        assert_eq!(error.code(), Some(&SqlState::QUERY_CANCELED), "{error:?}");
        assert!(start.elapsed() < Duration::from_secs(20), "{:?}", start.elapsed());
    }
}

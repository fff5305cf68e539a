//! The first rows of an order, and extremes, are the same by an index as without one.
//!
//! Random queries with ORDER BY and LIMIT, of one table or of joins, and with `min` and `max`, run
//! over a table with indexes and over one without. Each runs as text and prepared, at first without
//! statistics and then with them, and sees changes of its own transaction. `BRAID_TEST_SIZE` says
//! how many there are; `BRAID_TEST_SEED=n` runs seed n alone.

use braid_testkit::random::{Random, seed_from_env};
use braid_testkit::size::Size;
use braid_testkit::target::Target;
use tokio_postgres::{Client, SimpleQueryMessage};

const TABLES: &str = "
    CREATE TABLE plain (id int PRIMARY KEY, a int, b int NOT NULL, s text, t timestamp);
    INSERT INTO plain SELECT g, nullif(g % 41, 5), g * 7 % 30, nullif('s' || g % 17, 's4'),
        CASE WHEN g % 9 > 0 THEN timestamp '2026-01-01' + g * interval '1 hour' END
        FROM generate_series(1, 600) g;
    CREATE TABLE indexed (id int PRIMARY KEY, a int, b int NOT NULL, s text, t timestamp);
    INSERT INTO indexed SELECT * FROM plain;
    CREATE INDEX ON indexed (a);
    CREATE INDEX ON indexed (b, a DESC);
    CREATE INDEX ON indexed (s, t) INCLUDE (a);
    CREATE INDEX ON indexed (t DESC);
    CREATE UNIQUE INDEX ON indexed (t);
    CREATE INDEX ON indexed (t, b) WHERE b > 12;
    CREATE TABLE groups (b int PRIMARY KEY, name text);
    INSERT INTO groups SELECT g, 'group ' || g % 5 FROM generate_series(0, 24) g;
    CREATE TABLE names (name text PRIMARY KEY, n int);
    INSERT INTO names SELECT 'group ' || g, g FROM generate_series(0, 3) g";

struct Query<'r> {
    random: &'r mut Random,
}

impl Query<'_> {
    fn condition(&mut self) -> String {
        let number = self.random.below(45);
        match self.random.below(10) {
            0 => format!("x.a > {number}"),
            1 => format!("x.b = {}", number % 30),
            2 => "x.t IS NOT NULL".to_owned(),
            3 => format!("x.t < timestamp '2026-01-01' + {} * interval '1 hour'", number * 12),
            4 => format!("x.b > {}", number % 30),
            5 => format!("x.s LIKE 's{}%'", number % 3),
            6 => format!("x.s = 's{}'", number % 17),
            7 => format!("x.b IN ({}, {})", number % 30, number % 7),
            8 => format!("x.a = (SELECT max(a) - {} FROM names, groups, plain)", number % 9),
            _ => format!("x.id > {}", number * 10),
        }
    }

    fn conditions(&mut self) -> String {
        let count = self.random.below(3);
        let all: Vec<String> = (0..count).map(|_| self.condition()).collect();
        if all.is_empty() { String::new() } else { format!(" WHERE {}", all.join(" AND ")) }
    }

    /// An order that ends with the key, so that it is the only one.
    fn order(&mut self) -> String {
        let count = 1 + self.random.below(2);
        let mut keys: Vec<String> = Vec::new();
        for _ in 0..count {
            let column = *self.random.pick(&["a", "b", "s", "t"]);
            let direction = *self.random.pick(&["", "", " DESC", " DESC", " NULLS FIRST"]);
            keys.push(format!("x.{column}{direction}"));
        }
        keys.push((*self.random.pick(&["x.id", "x.id DESC"])).to_owned());
        keys.join(", ")
    }

    fn source(&mut self) -> &'static str {
        let sources: [&'static str; 7] = [
            "TABLE x",
            "TABLE x",
            "TABLE x JOIN groups g ON g.b = x.b",
            "groups g JOIN TABLE x ON g.b = x.b",
            "TABLE x LEFT JOIN groups g ON g.b = x.b AND g.name > 'group 1'",
            "TABLE x JOIN groups g ON g.b = x.b LEFT JOIN names n ON n.name = g.name",
            "names n JOIN groups g ON g.name = n.name JOIN TABLE x ON g.b = x.b",
        ];
        let source: &&'static str = self.random.pick(&sources);
        source
    }

    /// A query of a table that is named `TABLE`.
    fn text(&mut self) -> String {
        if self.random.below(4) == 0 {
            let list = *self.random.pick(&[
                "min(x.t)",
                "max(x.a)",
                "min(x.b), max(x.b)",
                "max(x.s), min(x.s), max(x.id)",
                "max(x.t), count(*)",
            ]);
            return format!("SELECT {list} FROM TABLE x{}", self.conditions());
        }
        let (source, conditions, order) = (self.source(), self.conditions(), self.order());
        let limit = *self.random.pick(&[1, 2, 5, 20, 300]);
        let offset = *self.random.pick(&[0, 0, 1, 7]);
        let lock = if self.random.below(5) == 0 { " FOR UPDATE OF x" } else { "" };
        format!(
            "SELECT x.id, x.a, x.t FROM {source}{conditions} ORDER BY {order} LIMIT {limit} OFFSET \
             {offset}{lock}"
        )
    }
}

async fn rows(client: &Client, sql: &str) -> Vec<String> {
    let messages =
        client.simple_query(sql).await.unwrap_or_else(|error| panic!("{sql}: {error:?}"));
    let row = |message: SimpleQueryMessage| match message {
        SimpleQueryMessage::Row(row) => {
            let values: Vec<&str> = (0..row.len()).map(|i| row.get(i).unwrap_or("NULL")).collect();
            Some(values.join(" | "))
        }
        _ => None,
    };
    messages.into_iter().filter_map(row).collect()
}

/// The rows of a prepared statement, as many as there are.
async fn count(client: &Client, sql: &str) -> usize {
    client.query(sql, &[]).await.unwrap_or_else(|error| panic!("{sql}: {error:?}")).len()
}

async fn check(client: &Client, seed: u64) {
    let mut random = Random::new(seed);
    let changes = random.below(4) == 0;
    let text = Query { random: &mut random }.text();
    client.batch_execute("BEGIN").await.expect("a transaction");
    if changes {
        let id = random.below(700);
        for table in ["plain", "indexed"] {
            let change = format!(
                "DELETE FROM {table} WHERE id = {id} + 3;
                 UPDATE {table} SET a = 100, t = t - interval '1 minute' WHERE id = {id};
                 INSERT INTO {table} VALUES ({id} + 1000, NULL, 3, 's1', '2020-01-01')"
            );
            client.batch_execute(&change).await.expect("changes");
        }
    }
    let wanted = rows(client, &text.replace("TABLE", "plain")).await;
    let found = text.replace("TABLE", "indexed");
    assert_eq!(wanted, rows(client, &found).await, "seed {seed}: {found}");
    assert_eq!(wanted.len(), count(client, &found).await, "seed {seed}, prepared: {found}");
    client.batch_execute("ROLLBACK").await.expect("the end of the transaction");
}

#[test]
fn first_rows_are_the_same_with_and_without_indexes() {
    let rounds = Size::from_env().pick(20, 150, 20_000);
    tokio::runtime::Runtime::new().expect("a runtime").block_on(async {
        for target in Target::all().filter(|target| !target.is_postgres()) {
            let database = target.create_database("first_rows").await;
            let client = database.connect().await;
            client.batch_execute(TABLES).await.expect("tables");
            let seeds = seed_from_env().map_or(0..rounds, |seed| seed..seed + 1);
            for seed in seeds {
                if seed == rounds / 2 {
                    let analyze = "ANALYZE plain; ANALYZE indexed; ANALYZE groups; ANALYZE names";
                    client.batch_execute(analyze).await.expect("statistics");
                }
                check(&client, seed).await;
            }
        }
    });
}

//! A condition gives the same rows by an index as without one.
//!
//! Random conditions of AND, OR, NOT, IN, ranges and NULLs over indexed columns run twice: as they
//! are, so that indexes may give spans, and over expressions that no index has. Each runs as text
//! and prepared, at first without statistics and then with them. `BRAID_TEST_SIZE` says how many
//! there are; `BRAID_TEST_SEED=n` runs seed n alone.

use std::error::Error;

use braid_testkit::random::{Random, seed_from_env};
use braid_testkit::size::Size;
use braid_testkit::target::Target;
use tokio_postgres::Client;
use tokio_postgres::types::ToSql;

const TABLES: &str = "
    CREATE TABLE plain (id int PRIMARY KEY, a int, b int, s text, d numeric(4,1));
    INSERT INTO plain SELECT g, nullif(g % 12, 5), nullif(g * 7 % 10, 3),
        nullif('s' || g % 7, 's4'), nullif(g % 9, 0) / 2.0 FROM generate_series(1, 300) g;
    CREATE TABLE indexed (id int PRIMARY KEY, a int, b int, s text, d numeric(4,1));
    INSERT INTO indexed SELECT * FROM plain;
    CREATE INDEX ON indexed (a, b DESC);
    CREATE INDEX ON indexed (b NULLS FIRST) INCLUDE (a);
    CREATE INDEX ON indexed (s, d, a);
    CREATE INDEX ON indexed (d) WHERE b > 4;
    CREATE TABLE keyed (id int, a int NOT NULL, b int NOT NULL, s text, d numeric(4,1),
        PRIMARY KEY (a, b, id));
    INSERT INTO keyed SELECT * FROM plain WHERE a IS NOT NULL AND b IS NOT NULL";

/// A condition, with the values that its parameters have.
struct Condition<'r> {
    random: &'r mut Random,
    parameters: Vec<i32>,
}

impl Condition<'_> {
    /// A number, `NULL` or a parameter.
    fn value(&mut self) -> String {
        let value = self.random.below(14) as i32 - 1;
        match self.random.below(8) {
            0 => "NULL".to_owned(),
            1 | 2 => {
                self.parameters.push(value);
                format!("${}::int", self.parameters.len())
            }
            _ => value.to_string(),
        }
    }

    fn values(&mut self) -> String {
        let count = 1 + self.random.below(4);
        (0..count).map(|_| self.value()).collect::<Vec<_>>().join(", ")
    }

    fn leaf(&mut self) -> String {
        let column = *self.random.pick(&["a", "b", "id"]);
        let operator = *self.random.pick(&["=", "<", "<=", ">", ">=", "<>"]);
        match self.random.below(9) {
            0 => format!("{column} IN ({})", self.values()),
            1 => format!("{column} BETWEEN {} AND {}", self.value(), self.value()),
            2 => format!("{column} IS NULL"),
            3 => format!(
                "(a, b) IN (({0}, {1}), ({2}, {1}))",
                self.value(),
                self.value(),
                self.value()
            ),
            4 => format!("s {operator} 's{}'", self.random.below(8)),
            5 => format!("d {operator} {}.5", self.random.below(5)),
            6 => format!("{column} = ANY (ARRAY[{}]::int[])", self.values()),
            _ => format!("{column} {operator} {}", self.value()),
        }
    }

    fn tree(&mut self, depth: u64) -> String {
        if depth == 0 {
            return self.leaf();
        }
        match self.random.below(7) {
            0 => format!("NOT ({})", self.tree(depth - 1)),
            1..=3 => format!("({} OR {})", self.tree(depth - 1), self.tree(depth - 1)),
            4 | 5 => format!("({} AND {})", self.tree(depth - 1), self.tree(depth - 1)),
            _ => self.leaf(),
        }
    }
}

/// The numbers of a statement's rows in their order.
async fn ids(client: &Client, sql: &str, parameters: &[i32]) -> Result<Vec<i32>, Box<dyn Error>> {
    let parameters: Vec<&(dyn ToSql + Sync)> =
        parameters.iter().map(|value| value as &(dyn ToSql + Sync)).collect();
    let rows = client.query(sql, &parameters).await?;
    Ok(rows.iter().map(|row| row.get(0)).collect())
}

/// The condition with its parameters written out.
fn written_out(condition: &str, parameters: &[i32]) -> String {
    let numbered = parameters.iter().enumerate().rev();
    numbered.fold(condition.to_owned(), |text, (place, value)| {
        text.replace(&format!("${}::int", place + 1), &format!("({value})"))
    })
}

/// Compares the rows of the condition of a seed.
async fn check(client: &Client, seed: u64) {
    let mut random = Random::new(seed);
    let mut condition = Condition { random: &mut random, parameters: Vec::new() };
    let depth = 1 + condition.random.below(4);
    let text = condition.tree(depth);
    let parameters = condition.parameters;
    let hidden = "(SELECT id + 0 AS id, a + 0 AS a, b + 0 AS b, s || '' AS s, d + 0 AS d FROM";
    for table in ["indexed", "keyed"] {
        for order in ["id", "a, b, id", "b DESC, a, id"] {
            let wanted =
                format!("SELECT id FROM {hidden} {table}) x WHERE {text} ORDER BY {order}");
            let found = format!("SELECT id FROM {table} WHERE {text} ORDER BY {order}");
            let literal = written_out(&found, &parameters);
            let wanted = ids(client, &wanted, &parameters).await.expect("rows");
            let prepared = ids(client, &found, &parameters).await.expect("rows");
            assert_eq!(wanted, prepared, "seed {seed}: {found} with {parameters:?}");
            let direct = ids(client, &literal, &[]).await.expect("rows");
            assert_eq!(wanted, direct, "seed {seed}: {literal}");
        }
    }
}

#[test]
fn an_index_gives_the_rows_that_a_condition_has_without_it() {
    let rounds = Size::from_env().pick(20, 120, 20_000);
    tokio::runtime::Runtime::new().expect("a runtime").block_on(async {
        for target in Target::all().filter(|target| !target.is_postgres()) {
            let database = target.create_database("conditions").await;
            let client = database.connect().await;
            client.batch_execute(TABLES).await.expect("tables");
            let seeds = seed_from_env().map_or(0..rounds, |seed| seed..seed + 1);
            for seed in seeds {
                if seed == rounds / 2 {
                    client
                        .batch_execute("ANALYZE indexed; ANALYZE keyed")
                        .await
                        .expect("statistics");
                }
                check(&client, seed).await;
            }
        }
    });
}

//! Joins give the same rows in whatever order they are made.
//!
//! Random joins of two to seven tables (inner, left, EXISTS and IN and NOT, nested to the right,
//! with equalities that follow from others, without any condition), some with correlated subqueries
//! of aggregates, are asked twice: as they are, so that the planner chooses an order, and as nested
//! subqueries with OFFSET 0, which keeps every join where it was written and runs every subquery
//! for each row. With `POSTGRES_URL` PostgreSQL answers them, too.
//!
//! `BRAID_TEST_SIZE` says how many queries; `BRAID_TEST_SEED=n` runs seed n alone.

use braid_testkit::random::{Random, seed_from_env};
use braid_testkit::size::Size;
use braid_testkit::target::{Target, sorted_rows};
use tokio_postgres::Client;

/// Tables and their numbers of rows. `fewn` has no statistics.
const TABLES: [(&str, u32); 6] =
    [("empty", 0), ("one", 1), ("few", 5), ("several", 40), ("many", 300), ("fewn", 6)];
/// The most tables in FROM.
const JOINED_MAX: u64 = 6;

async fn prepared(target: &Target) -> Client {
    let client = target.create_database("random_joins").await.connect().await;
    for (name, rows) in TABLES {
        let mut statements = vec![
            format!("CREATE TABLE {name} (id int PRIMARY KEY, x int, y bigint, z text, w int)"),
            format!(
                "INSERT INTO {name} SELECT k, nullif(k % 7, 3), nullif(k % 4, 1), \
                 nullif('z' || k % 3, 'z1'), nullif(k % 9, 2) FROM generate_series(1, {rows}) k"
            ),
            format!("CREATE INDEX ON {name} (x)"),
            format!("CREATE INDEX ON {name} (y, z)"),
        ];
        if name != "fewn" {
            statements.push(format!("ANALYZE {name}"));
        }
        for sql in statements {
            client.batch_execute(&sql).await.unwrap_or_else(|error| panic!("{sql}: {error:?}"));
        }
    }
    client.batch_execute("SET statement_timeout = '20s'").await.expect("a setting");
    client
}

/// A query as it is, and with every join where it was written.
struct Query {
    free: String,
    fixed: String,
}

struct Generator {
    random: Random,
    /// How many tables FROM has up to now.
    tables: u64,
    /// Rows of the join up to now, at most.
    size: u64,
}

impl Generator {
    fn table(&mut self) -> (&'static str, u64) {
        // No more than some thousand rows come together.
        let small: Vec<_> =
            TABLES.iter().filter(|(_, rows)| self.size * u64::from(*rows) < 3_000).collect();
        let (mut name, mut rows) = **self.random.pick(&small);
        if rows == 0 && !self.random.one_in(4) {
            (name, rows) = **self.random.pick(&small);
        }
        self.size *= u64::from(rows).max(1);
        (name, self.tables)
    }

    /// A table, or two of them joined; the places of its tables.
    fn item(&mut self, is_nested: bool) -> (Query, Vec<u64>) {
        let (table, place) = self.table();
        self.tables += 1;
        let columns =
            ["id", "x", "y", "z", "w"].map(|column| format!("{column} AS r{place}_{column}"));
        let item = Query {
            free: format!("{table} AS r{place}"),
            fixed: format!("(SELECT {} FROM {table}) AS r{place}", columns.join(", ")),
        };
        if is_nested || !self.random.one_in(5) {
            return (item, vec![place]);
        }
        let (other, more) = self.item(true);
        let joined = self.joined(item, &other, &[place], &more);
        let free = format!("({})", joined.free);
        (Query { free, ..joined }, [vec![place], more].concat())
    }

    fn joined(&mut self, left: Query, right: &Query, old: &[u64], new: &[u64]) -> Query {
        let kind = *self.random.pick(&["JOIN", "JOIN", "LEFT JOIN", "LEFT JOIN", "CROSS JOIN"]);
        let on = match kind {
            "CROSS JOIN" => String::new(),
            _ => format!(" ON {}", self.conditions(old, new)),
        };
        let free = format!("{} {kind} {}{on}", left.free, right.free);
        let Query { fixed, .. } = left;
        let join = format!("{fixed} {kind} {}{}", right.fixed, fixed_names(&on));
        Query { free, fixed: format!("(SELECT * FROM {join} OFFSET 0) AS j{}", self.tables) }
    }

    fn conditions(&mut self, old: &[u64], new: &[u64]) -> String {
        let number = if self.random.one_in(4) { 2 } else { 1 };
        let all: Vec<String> = (0..number).map(|_| self.condition(old, new)).collect();
        all.join(" AND ")
    }

    fn condition(&mut self, old: &[u64], new: &[u64]) -> String {
        let (a, b) = (*self.random.pick(old), *self.random.pick(new));
        match self.random.below(11) {
            0..3 => {
                let column = self.random.pick(&["id", "x", "y", "z"]);
                format!("r{a}.{column} = r{b}.{column}")
            }
            3 => format!("r{a}.x = r{b}.id"),
            4 => format!("r{a}.id = r{b}.y"),
            5 => format!("r{a}.x + r{b}.x = r{a}.id"),
            6 => format!("r{a}.x < r{b}.x"),
            7 => format!("coalesce(r{a}.z, 'z1') = coalesce(r{b}.z, 'z1')"),
            8 => format!("(r{a}.x = r{b}.x OR r{a}.y IS NULL)"),
            _ => format!("r{a}.w = r{b}.w"),
        }
    }

    fn query(mut self) -> Query {
        let (mut from, mut places) = self.item(false);
        for _ in 0..self.random.below(JOINED_MAX) {
            let (item, new) = self.item(false);
            from = self.joined(from, &item, &places, &new);
            places.extend(new);
        }
        let (mut free, mut fixed) = (Vec::new(), Vec::new());
        for _ in 0..self.random.below(2) {
            let condition = match self.random.below(4) {
                0 => self.condition(&places, &places),
                1 => format!("r{}.x = {}", self.random.pick(&places), self.random.below(5)),
                2 => format!("r{}.id IS NULL", self.random.pick(&places)),
                _ => format!("r{}.id < {}", self.random.pick(&places), 3 + self.random.below(20)),
            };
            fixed.push(fixed_names(&condition));
            free.push(condition);
        }
        for place in 90..90 + self.random.below(2) {
            let (table, _) = *self.random.pick(&TABLES);
            let on = self.conditions(&places, &[place]);
            let not = *self.random.pick(&["", "NOT "]);
            let kept = kept_inside(table, place, &on);
            if self.random.one_in(3) {
                let column = self.random.pick(&["id", "x"]);
                let value = format!("r{}.{column}", self.random.pick(&places));
                let listed = format!("SELECT {column} FROM {table} AS r{place} WHERE {on}");
                free.push(format!("{value} {not}IN ({listed})"));
                fixed
                    .push(format!("{} {not}IN (SELECT {column} FROM {kept})", fixed_names(&value)));
                continue;
            }
            free.push(format!("{not}EXISTS (SELECT FROM {table} AS r{place} WHERE {on})"));
            fixed.push(format!("{not}(SELECT count(*) FROM {kept}) > 0"));
        }
        for place in 93..93 + self.random.below(2) {
            let a = *self.random.pick(&places);
            let aggregated = self.aggregated(&places, place);
            let condition = match self.random.below(4) {
                0 => format!("r{a}.id < "),
                1 => format!("r{a}.x = "),
                2 => "0 = ".to_owned(),
                _ => "5 < 3 * ".to_owned(),
            };
            fixed.push(format!("{}{}", fixed_names(&condition), aggregated.fixed));
            free.push(format!("{condition}{}", aggregated.free));
        }
        let columns: Vec<String> = places.iter().map(|p| format!("r{p}.id, r{p}.z")).collect();
        let columns = columns.join(", ");
        let selected = match self.random.below(2) {
            0 => self.aggregated(&places, 99),
            _ => Query { free: "1".to_owned(), fixed: "1".to_owned() },
        };
        let filter = |list: &[String]| match list.is_empty() {
            true => String::new(),
            false => format!(" WHERE {}", list.join(" AND ")),
        };
        Query {
            free: format!(
                "SELECT {columns}, {} FROM {}{}",
                selected.free,
                from.free,
                filter(&free)
            ),
            fixed: format!(
                "SELECT {}, {} FROM {}{}",
                fixed_names(&columns),
                selected.fixed,
                from.fixed,
                filter(&fixed)
            ),
        }
    }

    /// A correlated subquery of an aggregate.
    fn aggregated(&mut self, places: &[u64], place: u64) -> Query {
        let (table, _) = *self.random.pick(&TABLES);
        let on = match self.random.below(2) {
            0 => self.conditions(places, &[place]),
            _ => format!("r{}.y = r{place}.y", self.random.pick(places)),
        };
        let value = self.random.pick(&[
            "count(*)",
            "count(x)",
            "sum(x)",
            "max(y) - min(x)",
            "coalesce(sum(y), 7)",
            "2 * avg(x)",
            "count(*) + sum(DISTINCT x)",
        ]);
        Query {
            free: format!("(SELECT {value} FROM {table} AS r{place} WHERE {on})"),
            fixed: format!("(SELECT {value} FROM {})", kept_inside(table, place, &on)),
        }
    }
}

/// The rows of a table in a subquery, as an item of FROM that is read for each row around it.
fn kept_inside(table: &str, place: u64, on: &str) -> String {
    let on = fixed_names(on).replace(&format!("r{place}_"), &format!("r{place}."));
    format!("(SELECT * FROM {table} AS r{place} WHERE {on} OFFSET 0) AS kept")
}

/// The names of columns as the nested subqueries have them.
fn fixed_names(text: &str) -> String {
    let columns = ["id", "x", "y", "z", "w"];
    columns.iter().fold(text.to_owned(), |text, column| {
        text.replace(&format!(".{column}"), &format!("_{column}"))
    })
}

async fn rows(client: &Client, sql: &str) -> Vec<String> {
    let messages = client.simple_query(sql).await;
    let messages = messages.unwrap_or_else(|error| panic!("{sql}\n{error:?}"));
    sorted_rows(&messages)
}

#[tokio::test(flavor = "multi_thread")]
async fn joins_give_the_same_rows_in_any_order() {
    let target = Target::from_env();
    let ours = prepared(&target).await;
    let postgres = Target::postgres();
    let theirs = match &postgres {
        Some(target) => Some(prepared(target).await),
        None => None,
    };
    let seeds = match seed_from_env() {
        Some(seed) => seed..seed + 1,
        None => 1..1 + Size::from_env().pick(150, 800, 100_000),
    };
    let mut found = 0;
    for seed in seeds {
        let query = Generator { random: Random::new(seed), tables: 0, size: 1 }.query();
        let mine = rows(&ours, &query.free).await;
        let fixed = rows(&ours, &query.fixed).await;
        found += usize::from(!mine.is_empty());
        let shown = || format!("BRAID_TEST_SEED={seed}\n{}\n{}", query.free, query.fixed);
        assert!(mine == fixed, "{}\n{mine:?}\n{fixed:?}", shown());
        if let Some(theirs) = &theirs {
            let right = rows(theirs, &query.free).await;
            assert!(mine == right, "{}\n{mine:?}\n{right:?}", shown());
        }
    }
    assert!(found > 0 || seed_from_env().is_some(), "no query had a row");
}

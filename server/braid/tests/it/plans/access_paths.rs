//! Unions of scans, merged spans, first entries of groups and partitions give the same rows as a
//! table without indexes.
//!
//! Random queries run over a table without indexes, one with indexes, and a partitioned one. Each
//! runs as text and prepared, at first without statistics and then with them, and sees changes of
//! its own transaction. In the end each way of reading must have been used. `BRAID_TEST_SIZE` says
//! how many there are; `BRAID_TEST_SEED=n` runs seed n alone.

use std::collections::BTreeSet;

use braid_testkit::random::{Random, seed_from_env};
use braid_testkit::size::Size;
use braid_testkit::target::Target;
use tokio_postgres::{Client, SimpleQueryMessage};

const TABLES: &str = "
    CREATE TABLE plain (id int, k int, h int NOT NULL, b int, s text, t timestamp NOT NULL,
        PRIMARY KEY (id, t));
    INSERT INTO plain SELECT g, nullif(g % 5, 4), g * 7 % 4, nullif(g * 13 % 397, 5),
        's' || g % 211, timestamp '2026-01-01' + g * interval '1 hour'
        FROM generate_series(1, 2000) g;
    CREATE TABLE indexed (id int, k int, h int NOT NULL, b int, s text, t timestamp NOT NULL,
        PRIMARY KEY (id, t));
    CREATE TABLE parted (id int, k int, h int NOT NULL, b int, s text, t timestamp NOT NULL,
        PRIMARY KEY (id, t)) PARTITION BY RANGE (t);
    CREATE TABLE parted_1 PARTITION OF parted FOR VALUES FROM ('2026-01-01') TO ('2026-02-01');
    CREATE TABLE parted_2 (t timestamp NOT NULL, s text, h int NOT NULL, k int, b int,
        id int NOT NULL, PRIMARY KEY (id, t));
    ALTER TABLE parted ATTACH PARTITION parted_2 FOR VALUES FROM ('2026-02-01') TO ('2026-02-20');
    CREATE TABLE parted_3 PARTITION OF parted DEFAULT;
    INSERT INTO indexed SELECT * FROM plain;
    INSERT INTO parted SELECT * FROM plain;
    CREATE INDEX ON indexed (k, b);
    CREATE INDEX ON indexed (h, t DESC);
    CREATE INDEX ON indexed (h, k, b) INCLUDE (s);
    CREATE INDEX ON indexed (b);
    CREATE INDEX ON indexed (s, b DESC);
    CREATE INDEX ON indexed (t) WHERE h = 2;
    CREATE INDEX ON parted (k, b);
    CREATE INDEX ON parted (h, t DESC);
    CREATE INDEX ON parted (b);
    CREATE INDEX ON parted (s);
    CREATE INDEX ON parted (t);
    CREATE TABLE small (n int PRIMARY KEY, s text, t timestamp);
    INSERT INTO small SELECT g, 's' || g * 3, timestamp '2026-01-01' + g * interval '31 hours'
        FROM generate_series(1, 11) g;
    INSERT INTO small VALUES (12, NULL, NULL)";

/// What EXPLAIN shows of each way of reading.
const WAYS: &[&str] = &[
    "  ->  Append",
    "Merge Append",
    "Merge Key",
    "First Of Each",
    "Nested Loop",
    "Partition Pruning",
    "Index Cond: ((x.t >= m.t) AND (x.t <",
    "Index Cond: ((x.b > m.n) AND (x.b <=",
];

struct Query<'r> {
    random: &'r mut Random,
}

impl Query<'_> {
    fn condition(&mut self) -> String {
        let number = self.random.below(400);
        match self.random.below(11) {
            0 => format!("x.b = {number}"),
            1 => format!("x.b IN ({number}, {}, 7)", number / 2),
            2 => format!("x.s = 's{}'", number % 220),
            3 => format!("x.k = {} AND x.b < {}", number % 6, number / 8),
            4 => format!("x.id = {number}"),
            5 => format!("x.h = 2 AND x.t < timestamp '2026-01-01' + interval '{number} hours'"),
            6 => format!("x.id BETWEEN {number} AND {}", number + 9),
            7 => "x.b IS NULL".to_owned(),
            8 => format!("x.b > {}", 390 + number % 9),
            9 => format!("x.k IN (1, {}, {})", number % 6, number % 4),
            _ => format!("x.b = (SELECT max(n) + {number} FROM small)"),
        }
    }

    fn any_of(&mut self) -> String {
        let count = 2 + self.random.below(2);
        let all: Vec<String> = (0..count).map(|_| format!("({})", self.condition())).collect();
        let beside = match self.random.below(3) {
            0 => format!(" AND {}", self.condition()),
            _ => String::new(),
        };
        format!("({}){beside}", all.join(" OR "))
    }

    fn filter(&mut self) -> String {
        match self.random.below(5) {
            0 => format!(" WHERE {}", self.condition()),
            1 => format!(" WHERE x.h = {}", self.random.below(4)),
            2 => format!(" WHERE x.b > {}", self.random.below(300)),
            _ => String::new(),
        }
    }

    fn list(&mut self) -> String {
        let count = 1 + self.random.below(4);
        let values: Vec<String> = (0..count).map(|_| self.random.below(6).to_string()).collect();
        match self.random.below(3) {
            0 => format!("= ANY (ARRAY[{}, NULL]::int[])", values.join(", ")),
            _ => format!("IN ({})", values.join(", ")),
        }
    }

    fn page(&mut self) -> String {
        let limit = *self.random.pick(&[1, 3, 10, 40]);
        let offset = *self.random.pick(&[0, 0, 0, 5, 60, 250]);
        format!("LIMIT {limit} OFFSET {offset}")
    }

    fn direction(&mut self) -> &'static str {
        self.random.pick::<&str>(&["", " DESC"])
    }

    /// The rows of a list of values, or those after a row, in an order.
    fn ordered(&mut self) -> String {
        let (page, direction) = (self.page(), self.direction());
        let lock = if self.random.below(6) == 0 { " FOR UPDATE" } else { "" };
        let (list, number) = (self.list(), self.random.below(400));
        let (condition, order) = match self.random.below(7) {
            0 => (format!("x.k {list}"), "b"),
            1 => (format!("x.h {list}"), "t"),
            2 => (format!("x.h {list} AND x.k IN (1, 3)"), "b"),
            3 => (format!("x.h = 1 AND x.k {list}"), "b"),
            4 => (format!("x.h {list} AND x.t > '2026-02-03'"), "t"),
            5 => (format!("(x.k, x.b) > ({}, {number})", number % 4), "k{}, x.b"),
            _ => (format!("x.b > {number}"), "t"),
        };
        let order = order.replace("{}", direction);
        format!(
            "SELECT x.id, x.b, x.s FROM TABLE x WHERE {condition} ORDER BY x.{order}{direction}, \
             x.id {page}{lock}"
        )
    }

    fn groups(&mut self) -> String {
        let filter = self.filter();
        match self.random.below(8) {
            0 => format!("SELECT DISTINCT x.k FROM TABLE x{filter} ORDER BY 1"),
            1 => format!("SELECT DISTINCT x.k, x.h FROM TABLE x{filter} ORDER BY 1, 2"),
            2 => format!("SELECT DISTINCT x.h + 1, x.h * 2 FROM TABLE x{filter} ORDER BY 1"),
            3 => format!("SELECT x.h FROM TABLE x{filter} GROUP BY x.h ORDER BY 1"),
            4 => format!("SELECT x.h, max(x.t) FROM TABLE x{filter} GROUP BY x.h ORDER BY 1"),
            5 => format!("SELECT x.k, min(x.b) FROM TABLE x{filter} GROUP BY x.k ORDER BY 1"),
            6 => {
                let list = *self.random.pick(&["max(x.b)", "min(x.b), max(x.t)", "min(x.t)"]);
                format!("SELECT x.h, {list} FROM TABLE x{filter} GROUP BY x.h ORDER BY 1")
            }
            _ => {
                let (first, second) = (self.direction(), self.direction());
                let value = *self.random.pick(&["h", "k"]);
                let order = if value == "h" { "t" } else { "b" };
                let page = self.page();
                format!(
                    "SELECT DISTINCT ON (x.{value}) x.* FROM TABLE x{filter} ORDER BY \
                     x.{value}{first}, x.{order}{second}, x.id {page}"
                )
            }
        }
    }

    fn joined(&mut self) -> String {
        let (kind, number) = (*self.random.pick(&["JOIN", "LEFT JOIN"]), self.random.below(14));
        let on = *self.random.pick(&[
            "x.s = m.s",
            "x.id = m.n * 31 AND x.t = m.t",
            "x.t = m.t",
            "x.b = m.n AND x.h = 1",
            "x.b = m.n OR x.id = m.n",
            "x.t >= m.t AND x.t < m.t + interval '2 days'",
            "x.h = m.n % 4 AND m.t <= x.t AND m.t + interval '5 days' >= x.t AND x.b <> 7",
            "x.b > m.n AND x.b <= m.n + 3",
            "x.b > m.n AND x.k = 2",
            "x.b BETWEEN m.n * 3 AND 20 AND x.h < m.n",
            "x.s > m.s AND x.s < m.s || '5' AND m.n % 2 = 1",
            "x.k = 1 AND x.b < m.n * 2 AND x.b >= m.n",
        ]);
        match self.random.below(4) {
            0 => format!(
                "SELECT m.n FROM small m WHERE m.n < {number} AND {}EXISTS (SELECT FROM TABLE x \
                 WHERE {on}) ORDER BY 1",
                self.random.pick::<&str>(&["", "NOT "])
            ),
            1 => {
                "SELECT m.n, y.id FROM small m, LATERAL (SELECT * FROM TABLE x WHERE x.h = m.n % 4 \
                  ORDER BY x.t DESC LIMIT 1) y ORDER BY 1"
                    .to_owned()
            }
            _ => format!(
                "SELECT m.n, x.id FROM small m {kind} TABLE x ON {on} WHERE m.n < {number} ORDER \
                 BY 1, 2"
            ),
        }
    }

    /// A query of a table that is named `TABLE`.
    fn text(&mut self) -> String {
        match self.random.below(10) {
            9 => {
                let condition = self.by_subquery();
                let lock = *self.random.pick(&["", " FOR UPDATE", " FOR UPDATE SKIP LOCKED"]);
                let page = self.page();
                format!("SELECT x.id FROM TABLE x WHERE {condition} ORDER BY 1 {page}{lock}")
            }
            0 | 1 => {
                let condition = self.any_of();
                let lock = if self.random.below(4) == 0 { " FOR UPDATE" } else { "" };
                format!("SELECT x.id FROM TABLE x WHERE {condition} ORDER BY 1{lock}")
            }
            2 | 3 => self.ordered(),
            4 | 5 => self.groups(),
            6 => self.joined(),
            7 => {
                let list = *self.random.pick(&["min(x.t)", "max(x.b)", "min(x.b), max(x.t)"]);
                format!("SELECT {list} FROM TABLE x{}", self.filter())
            }
            _ => {
                let condition = self.any_of();
                format!(
                    "SELECT count(*), sum(m.n) FROM TABLE x JOIN small m ON m.n = x.h + 1 \
                         WHERE {condition}"
                )
            }
        }
    }

    /// Values of a subquery, which lead to rows.
    fn by_subquery(&mut self) -> String {
        let number = self.random.below(14);
        let condition = *self.random.pick(&[
            "x.s IN (SELECT m.s FROM small m WHERE m.n < {})",
            "x.b IN (SELECT m.n FROM small m WHERE m.n < {}) AND x.h < 3",
            "EXISTS (SELECT FROM small m WHERE m.n = x.b AND m.n < {})",
            "x.b IN (SELECT m.n / 2 FROM small m) AND EXISTS (SELECT FROM small m WHERE m.s = x.s)",
            "x.t IN (SELECT m.t FROM small m) AND x.id IN (SELECT m.n * 31 FROM small m)",
            "x.b NOT IN (SELECT m.n FROM small m) AND x.b < {}",
        ]);
        condition.replace("{}", &number.to_string())
    }

    fn change(&mut self) -> String {
        let condition = match self.random.below(3) {
            0 => self.by_subquery(),
            _ => self.any_of(),
        };
        match self.random.below(3) {
            0 => format!("DELETE FROM TABLE x WHERE {condition}"),
            1 => format!("UPDATE TABLE x SET b = x.b + 1, s = 's7' WHERE {condition}"),
            _ => format!(
                "DELETE FROM TABLE WHERE id = {0}; INSERT INTO TABLE VALUES ({0}, NULL, 3, {0}, \
                 's3', '2026-02-20')",
                self.random.below(400)
            ),
        }
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
        SimpleQueryMessage::CommandComplete(count) => Some(count.to_string()),
        _ => None,
    };
    messages.into_iter().filter_map(row).collect()
}

async fn check(client: &Client, seed: u64, used: &mut BTreeSet<&'static str>) {
    let mut random = Random::new(seed);
    let mut query = Query { random: &mut random };
    client.batch_execute("BEGIN").await.expect("a transaction");
    if query.random.below(3) == 0 {
        let change = query.change();
        let wanted = rows(client, &change.replace("TABLE", "plain")).await;
        for table in ["indexed", "parted"] {
            let change = change.replace("TABLE", table);
            assert_eq!(wanted, rows(client, &change).await, "seed {seed}: {change}");
        }
    }
    let text = query.text();
    let wanted = rows(client, &text.replace("TABLE", "plain")).await;
    for table in ["indexed", "parted"] {
        let found = text.replace("TABLE", table);
        assert_eq!(wanted, rows(client, &found).await, "seed {seed}: {found}");
        let prepared = client.query(&found, &[]).await.expect("rows").len();
        assert_eq!(wanted.len(), prepared + 1, "seed {seed}, prepared: {found}");
        let plan = rows(client, &format!("EXPLAIN (COSTS OFF) {found}")).await;
        let shows = |way: &&&str| plan.iter().any(|line| line.contains(**way));
        used.extend(WAYS.iter().filter(shows));
    }
    client.batch_execute("ROLLBACK").await.expect("the end of the transaction");
}

#[test]
fn each_way_of_reading_gives_the_rows_of_a_table_without_indexes() {
    let size = Size::from_env();
    let rounds = size.pick(40, 200, 20_000);
    tokio::runtime::Runtime::new().expect("a runtime").block_on(async {
        for target in Target::all().filter(|target| !target.is_postgres()) {
            let database = target.create_database("access_paths").await;
            let client = database.connect().await;
            client.batch_execute(TABLES).await.expect("tables");
            let seeds = seed_from_env().map_or(0..rounds, |seed| seed..seed + 1);
            // The small size has too few queries for each way.
            let is_whole = seed_from_env().is_none() && size != Size::Small;
            let mut used = BTreeSet::new();
            for seed in seeds {
                if seed == rounds / 3 {
                    let analyze = "ANALYZE plain; ANALYZE indexed; ANALYZE parted; ANALYZE small";
                    client.batch_execute(analyze).await.expect("statistics");
                }
                check(&client, seed, &mut used).await;
            }
            let unused = WAYS.iter().filter(|way| !used.contains(**way));
            assert!(
                !is_whole || unused.clone().next().is_none(),
                "{:?}",
                unused.collect::<Vec<_>>()
            );
        }
    });
}

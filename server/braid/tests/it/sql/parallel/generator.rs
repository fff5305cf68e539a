//! Makes a random statement with aggregates over one of the tables.

use braid_testkit::random::Random;

use super::tables::{SHAPES, SMALL_NAMES, Shape};

/// Aggregates whose states can be merged, over columns of `t`.
const MERGED: &[&str] = &[
    "count(t.i)",
    "count(t.s)",
    "sum(t.i)",
    "sum(t.g)",
    "sum(t.n)",
    "sum(t.f)",
    "sum(t.i * t.g + 1)",
    "avg(t.i)",
    "avg(t.g)",
    "avg(t.n)",
    "avg(t.f)",
    "min(t.s)",
    "max(t.s)",
    "min(t.n)",
    "max(t.f)",
    "min(t.d)",
    "max(t.ts)",
    "min(t.c)",
    "max(t.c)",
    "max(t.id - t.g)",
    "min(length(t.s))",
    "bool_and(t.b)",
    "bool_or(t.b)",
    "every(t.i > -35)",
    "stddev(t.i)",
    "stddev_pop(t.n)",
    "variance(t.g)",
    "var_pop(t.n)",
    "round(var_pop(t.f)::numeric, 4)",
    "round(stddev_samp(t.f)::numeric, 4)",
    "round(corr(t.f, t.i)::numeric, 4)",
    "round(regr_slope(t.i, t.f)::numeric, 4)",
    "round(covar_pop(t.f, t.n)::numeric, 4)",
    "regr_count(t.f, t.i)",
    "bit_and(t.i)",
    "bit_or(t.g)",
    "bit_xor(t.i)",
    "sum(t.i) + count(*) * 2",
    "coalesce(max(t.i), 0) - min(t.g)",
    "sum(CASE WHEN t.b THEN t.n ELSE 0 END)",
];
/// Aggregates that one worker computes.
const ALONE: &[&str] = &[
    "count(DISTINCT t.g)",
    "sum(DISTINCT t.i)",
    "string_agg(t.s, ',' ORDER BY t.id)",
    "array_agg(t.g ORDER BY t.id DESC)",
    "percentile_disc(0.5) WITHIN GROUP (ORDER BY t.i)",
    "max(t.id + (SELECT count(*) FROM dim))",
];
const KEYS: &[&str] = &[
    "t.g",
    "t.g",
    "t.b",
    "t.c",
    "t.s",
    "t.d",
    "t.n",
    "t.f",
    "t.i % 7",
    "t.id / 500",
    "t.id % 10",
    "date_trunc('day', t.ts)",
    "extract(hour FROM t.ts)",
    "upper(t.s)",
    "CASE WHEN t.i > 20 THEN 'high' WHEN t.b THEN t.s END",
    "t.g IS NULL",
];
const CONDITIONS: &[&str] = &[
    "t.g <> 6",
    "t.g IN (1, 2, 8)",
    "t.g IS NOT NULL",
    "t.i > 5",
    "(t.i < -20 OR t.i IS NULL)",
    "t.n > 1.25",
    "t.f <= 3.5",
    "t.s LIKE 's1%'",
    "t.s > 's3'",
    "t.b",
    "t.b IS NOT TRUE",
    "t.d >= '2024-01-08'",
    "t.ts < '2024-01-02'",
    "t.c = 'c1'",
    "t.id % 3 = 1",
    "t.g + t.i > 0",
    "t.i > (SELECT avg(v) FROM small)",
];
/// Conditions that fail for some rows.
const FAILING: &[&str] = &["1 / (t.g - 3) >= 0", "10 / (t.id - 1500) > -100", "1 / (t.i + 40) < 9"];
const SUBQUERIES: &[&str] = &[
    "t.g IN (SELECT x.g FROM small x WHERE x.v > 1)",
    "t.i NOT IN (SELECT x.i FROM small x WHERE x.i IS NOT NULL)",
    "t.id IN (SELECT x.id FROM middle x WHERE x.i > 10)",
    "EXISTS (SELECT FROM small x WHERE x.i = t.i)",
    "EXISTS (SELECT FROM dim x WHERE x.g = t.g AND x.v < t.n)",
    "NOT EXISTS (SELECT FROM dim x WHERE x.g = t.g AND x.i > 2)",
    "NOT EXISTS (SELECT FROM middle x WHERE x.id = t.id)",
    "NOT EXISTS (SELECT FROM small x WHERE x.name = t.s AND x.i < t.i)",
];
/// Few rows that find rows of `t`. `?` is a number of rows.
const DRIVERS: &[&str] = &[
    "generate_series(?, ? + 120) AS o (x)",
    "middle AS o (x) JOIN small v ON v.id = o.x % 60",
    "(SELECT DISTINCT g AS x FROM middle WHERE id < 300) AS o",
    "(SELECT id AS x FROM middle ORDER BY v, id LIMIT 90) AS o",
    "(SELECT id AS x FROM small UNION ALL SELECT id * 7 FROM middle WHERE id < 100) AS o",
    "(SELECT i AS x, count(*) FROM middle GROUP BY i) AS o",
    "(SELECT id AS x FROM middle WHERE id < 150 FOR UPDATE) AS o",
    "(SELECT 6 / (id - 60) * 50 + id AS x FROM middle WHERE id < ?) AS o",
];
const HAVING: &[&str] = &[
    "count(*) > 20",
    "sum(t.i) IS NOT NULL",
    "min(t.id) < 200",
    "bool_or(t.b)",
    "avg(t.n) BETWEEN 1 AND 4",
    "count(*) FILTER (WHERE t.b) % 2 = 0",
];
/// The columns of a query whose rows go into `sink`.
const FOR_SINK: &str = "count(*) AS a0, sum(t.i) AS b, min(t.s) AS m";

/// What is run.
pub(super) struct Statement {
    /// Changes in the same transaction before it; nothing of it stays.
    pub before: Vec<String>,
    pub sql: String,
    /// Whether rows of `sink` are its result.
    pub fills_sink: bool,
    /// Whether an expression in it may fail. Then the order of evaluation decides about an error.
    pub may_fail: bool,
}

/// Makes one statement.
pub(super) struct Generator {
    random: Random,
    rows: u64,
    may_fail: bool,
}

/// FROM and WHERE of an aggregate over a table named `t`.
struct Source {
    from: String,
    conditions: Vec<String>,
    /// Other tables in FROM.
    joined: Vec<&'static str>,
    /// Columns by which the table may be divided.
    keys: &'static [&'static str],
}

impl Source {
    fn text(&self) -> String {
        match self.conditions.is_empty() {
            true => format!("FROM {}", self.from),
            false => format!("FROM {} WHERE {}", self.from, self.conditions.join(" AND ")),
        }
    }
}

impl Generator {
    pub(super) fn new(random: Random, rows: u64) -> Self {
        Self { random, rows, may_fail: false }
    }

    fn of(&mut self, list: &[&'static str]) -> &'static str {
        list[self.random.below(list.len() as u64) as usize]
    }

    fn shape(&mut self) -> &'static Shape {
        &SHAPES[self.random.below(SHAPES.len() as u64) as usize]
    }

    pub(super) fn statement(mut self) -> Statement {
        let shape = self.shape();
        let before = match self.random.one_in(7) {
            true => self.changes(shape),
            false => Vec::new(),
        };
        let form = self.random.below(18);
        let sql = match form {
            0..7 => self.plain(shape),
            7 | 8 => self.derived(shape),
            9 => self.scalar(shape),
            10 => self.correlated(shape),
            11 => self.with(shape),
            12 => self.union(shape),
            13 => self.sorted(shape),
            14 | 15 => self.driven(shape),
            _ => self.filled(shape),
        };
        Statement { before, sql, fills_sink: form >= 16, may_fail: self.may_fail }
    }

    /// Changes of a table that only this transaction sees.
    fn changes(&mut self, shape: &Shape) -> Vec<String> {
        let name = shape.name;
        let (from, rows) = (self.rows * 2, 20 + self.random.below(300));
        let mut all = vec![
            shape.insert(from, from + rows),
            format!("UPDATE {name} SET g = g + 1, s = 'new', n = NULL WHERE id % 7 = 3"),
            format!("DELETE FROM {name} WHERE id BETWEEN 300 AND 600"),
        ];
        let left_out = self.random.below(4) as usize;
        if left_out < all.len() {
            all.remove(left_out);
        }
        all
    }

    /// A condition on the key, with numbers in it.
    fn key_condition(&mut self, shape: &Shape) -> String {
        let (one, other) = (1 + self.random.below(self.rows), 1 + self.random.below(self.rows));
        let condition = self.of(shape.conditions);
        let condition = condition.replace('?', &one.min(other).to_string());
        condition.replace('!', &one.max(other).to_string())
    }

    fn source(&mut self, shape: &Shape) -> Source {
        let (from, keys) = (format!("{} t", shape.name), shape.keys);
        let mut source = Source { from, conditions: vec![], joined: vec![], keys };
        if self.random.percent(40) {
            self.join(&mut source, shape, "u");
            if self.random.one_in(3) {
                self.join(&mut source, shape, "w");
            }
        }
        if self.random.percent(30) {
            source.conditions.push(self.key_condition(shape));
        }
        for _ in 0..self.random.below(3) {
            source.conditions.push(self.of(CONDITIONS).to_owned());
        }
        if self.random.one_in(5) {
            source.conditions.push(self.of(SUBQUERIES).to_owned());
        }
        if self.random.one_in(12) {
            source.conditions.push(self.of(FAILING).to_owned());
            self.may_fail = true;
        }
        source
    }

    fn join(&mut self, source: &mut Source, shape: &Shape, name: &'static str) {
        let is_child = shape.name == "child" && self.random.one_in(2);
        let table = if is_child { "parent" } else { self.of(&SMALL_NAMES) };
        let mut on = match self.random.below(8) {
            _ if is_child => format!("{name}.a = t.a"),
            0..3 => format!("t.g = {name}.g"),
            3 => format!("t.i = {name}.i AND t.g = {name}.g"),
            4 => format!("t.id = {name}.id"),
            5 => format!("t.g + 1 = {name}.g"),
            6 => format!("t.s = {name}.name AND t.g < {name}.id"),
            _ => format!("t.id % 50 = {name}.id"),
        };
        if self.random.one_in(4) {
            let more = ["t.f < {}.v", "{}.v > 2", "t.b", "{}.i IS NOT NULL"];
            on.push_str(&format!(" AND {}", self.of(&more).replace("{}", name)));
        }
        if self.random.one_in(20) {
            on.push_str(&format!(" AND 5 / ({name}.g - 3) < 4"));
            self.may_fail = true;
        }
        let kind = match self.random.below(12) {
            0 => "RIGHT JOIN",
            1 => "FULL JOIN",
            2..5 => "LEFT JOIN",
            _ => "JOIN",
        };
        source.from = match self.random.one_in(4) {
            true if kind == "JOIN" => format!("{table} {name} JOIN {} ON {on}", source.from),
            _ => format!("{} {kind} {table} {name} ON {on}", source.from),
        };
        source.joined.push(name);
    }

    /// Group keys, named k0 and k1.
    fn keys(&mut self, source: &Source) -> Vec<String> {
        let number = *self.random.pick(&[0, 0, 1, 1, 1, 2]);
        (0..number)
            .map(|_| match &source.joined[..] {
                _ if self.random.one_in(5) => self.of(source.keys).to_owned(),
                [.., table] if self.random.one_in(3) => {
                    format!("{table}.{}", self.random.pick(&["g", "name", "i % 4"]))
                }
                _ => self.of(KEYS).to_owned(),
            })
            .collect()
    }

    fn calls(&mut self, joined: &[&str]) -> Vec<String> {
        let mut calls = vec!["count(*)".to_owned()];
        for _ in 0..1 + self.random.below(4) {
            let mut call = match joined {
                [.., table] if self.random.one_in(3) => {
                    let calls = ["sum({}.v)", "max({}.name)", "count({}.g)", "avg({}.i + t.i)"];
                    self.of(&calls).replace("{}", table)
                }
                _ if self.random.one_in(40) => self.of(ALONE).to_owned(),
                _ => self.of(MERGED).to_owned(),
            };
            let is_call = call.ends_with(')') && call.matches('(').count() == 1;
            if is_call && self.random.one_in(6) {
                let filter = match self.random.one_in(12) {
                    true => self.of(FAILING),
                    false => self.of(&CONDITIONS[..CONDITIONS.len() - 1]),
                };
                self.may_fail |= FAILING.contains(&filter);
                call.push_str(&format!(" FILTER (WHERE {filter})"));
            }
            calls.push(call);
        }
        if self.random.one_in(30) {
            calls.push("sum(6 / (t.i - 3))".to_owned());
            self.may_fail = true;
        }
        calls
    }

    /// An aggregate; its columns are named a0 (the number of rows), a1, … and k0, k1.
    fn aggregate(&mut self, source: &Source) -> String {
        let keys = self.keys(source);
        let calls = self.calls(&source.joined);
        self.select(source, &keys, &calls)
    }

    fn select(&mut self, source: &Source, keys: &[String], calls: &[String]) -> String {
        let calls = calls.iter().enumerate().map(|(n, call)| format!("{call} AS a{n}"));
        let named = keys.iter().enumerate().map(|(n, key)| format!("{key} AS k{n}"));
        let columns: Vec<String> = calls.chain(named).collect();
        let mut sql = format!("SELECT {} {}", columns.join(", "), source.text());
        if !keys.is_empty() {
            sql.push_str(&format!(" GROUP BY {}", keys.join(", ")));
        }
        if self.random.one_in(5) {
            sql.push_str(&format!(" HAVING {}", self.of(HAVING)));
        }
        sql
    }

    fn plain(&mut self, shape: &Shape) -> String {
        let source = self.source(shape);
        self.aggregate(&source)
    }

    fn derived(&mut self, shape: &Shape) -> String {
        let inner = self.plain(shape);
        let kind = self.of(&["JOIN", "LEFT JOIN", "RIGHT JOIN"]);
        match self.random.below(4) {
            0 => format!("SELECT count(*), sum(q.a0), max(q.a1::text) FROM ({inner}) q"),
            1 => format!("SELECT * FROM ({inner}) q WHERE q.a0 IN (SELECT id FROM middle)"),
            2 => {
                let other = self.shape();
                let source = self.source(other);
                let (on, source) = ("t.g = q.a0 % 10", source.from);
                format!("SELECT count(*), max(t.s) FROM ({inner}) q JOIN {source} ON {on}")
            }
            _ => format!("SELECT q.*, o.name FROM ({inner}) q {kind} dim o ON q.a0 % 10 = o.g"),
        }
    }

    /// Subqueries that are run once.
    fn scalar(&mut self, shape: &Shape) -> String {
        let source = self.source(shape);
        let call = self.calls(&source.joined).pop().unwrap_or_default();
        let other = self.shape();
        let more = self.source(other);
        format!(
            "SELECT o.g, o.name, (SELECT {call} {}) FROM dim o \
             WHERE o.id <= (SELECT count(*) {})",
            source.text(),
            more.text()
        )
    }

    /// A subquery that has a result for each row around it.
    fn correlated(&mut self, shape: &Shape) -> String {
        let mut source = self.source(shape);
        let on = ["t.g = o.g", "t.i < o.id AND t.id % 20 = o.g", "t.id > o.id * 200"];
        source.conditions.push(self.of(&on).to_owned());
        let call = self.of(MERGED);
        format!("SELECT o.g, (SELECT {call} {}) FROM dim o", source.text())
    }

    fn with(&mut self, shape: &Shape) -> String {
        let inner = self.plain(shape);
        let how = self.of(&["", "MATERIALIZED ", "NOT MATERIALIZED "]);
        let outer = self.of(&[
            "SELECT count(*), sum(a0), min(a1::text) FROM q",
            "SELECT x.*, y.a0 FROM q x JOIN q y ON x.a0 = y.a0 + 1",
            "SELECT * FROM q UNION ALL SELECT * FROM q WHERE a0 > 100",
        ]);
        format!("WITH q AS {how}({inner}) {outer}")
    }

    fn union(&mut self, shape: &Shape) -> String {
        let from = Source { from: String::new(), conditions: vec![], joined: vec![], keys: KEYS };
        let (keys, calls) = (self.keys(&from), self.calls(&[]));
        let mut all = Vec::new();
        for shape in [shape, self.shape()] {
            let source = self.source(shape);
            all.push(self.select(&source, &keys, &calls));
        }
        all.join(self.of(&[" UNION ALL ", " UNION ALL ", " UNION ", " EXCEPT "]))
    }

    /// The first rows of an order that leaves nothing open.
    fn sorted(&mut self, shape: &Shape) -> String {
        let source = self.source(shape);
        let (keys, calls) = (self.keys(&source), self.calls(&source.joined));
        let sql = self.select(&source, &keys, &calls);
        let columns: Vec<String> = (1..=keys.len() + calls.len()).map(|n| n.to_string()).collect();
        format!("{sql} ORDER BY {} LIMIT {}", columns.join(", "), 1 + self.random.below(9))
    }

    /// Few rows come first and find those of the table.
    fn driven(&mut self, shape: &Shape) -> String {
        let mut source = self.source(shape);
        let (driver, number) = (self.of(DRIVERS), 50 + self.random.below(self.rows / 2));
        self.may_fail |= driver.contains(" / ");
        let driver = driver.replace('?', &number.to_string());
        let (kind, lookup) = (self.of(&["JOIN", "JOIN", "LEFT JOIN"]), shape.lookup);
        source.from = format!("{driver} {kind} {} t ON {lookup} = o.x", shape.name);
        source.joined.clear();
        self.aggregate(&source)
    }

    fn filled(&mut self, shape: &Shape) -> String {
        let source = self.source(shape);
        let key = self.of(KEYS);
        let text = source.text();
        format!("INSERT INTO sink SELECT ({key})::text, {FOR_SINK} {text} GROUP BY {key}")
    }
}

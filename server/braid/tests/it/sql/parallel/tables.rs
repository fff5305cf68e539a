//! Tables of several shapes with the same columns, and small ones to join them with.
//!
//! All values come from a number `k` by formulas, so every server has the same rows. Sums of
//! `float8` are exact in any order, because the values are multiples of 1/4. Equal values have one
//! form: there is no 1.0 beside 1.00.

/// A table whose rows workers may share.
pub(super) struct Shape {
    pub name: &'static str,
    /// Key columns before the others, with their values.
    key: &'static [(&'static str, &'static str)],
    /// The primary key, and indexes inside the definition.
    primary: &'static str,
    /// What PostgreSQL does not have.
    families: &'static str,
    interleaved: &'static str,
    /// Statements after the rows are there.
    after: &'static [&'static str],
    /// Conditions on the key. `?` and `!` are numbers of rows, the first not above the second.
    pub conditions: &'static [&'static str],
    /// The column by which numbers find rows.
    pub lookup: &'static str,
    /// Columns of the key and of indexes, by which rows are grouped.
    pub keys: &'static [&'static str],
}

/// Columns of every shape beside its key, and their values.
const COLUMNS: [(&str, &str); 10] = [
    ("id int NOT NULL", "k"),
    ("g int8", "nullif(k * 7 % 13, 5)"),
    ("i int", "nullif(k * 31 % 97, 11) - 40"),
    ("n numeric(10,2)", "nullif(k % 53, 7) / 4.0 - 3"),
    ("f float8", "nullif(k % 41, 3) / 4.0 - 2"),
    ("s text", "nullif('s' || k * 5 % 17, 's4') || repeat('x', k % 2)"),
    ("b bool", "nullif(k % 3, 0) = 1"),
    ("d date", "'2024-01-01'::date + nullif(k % 29, 4)"),
    ("ts timestamp", "'2024-01-01'::timestamp + nullif(k % 37, 5) * '1 hour'::interval"),
    ("c char(3)", "nullif('c' || k % 5, 'c2')"),
];

const ID_CONDITIONS: &[&str] = &[
    "t.id < ?",
    "t.id >= ?",
    "t.id BETWEEN ? AND !",
    "(t.id < ? OR t.id > !)",
    "t.id IN (?, !, 17)",
];

/// A table with a plain key; the others are described by what they have instead.
const PLAIN: Shape = Shape {
    name: "plain",
    key: &[],
    primary: "PRIMARY KEY (id)",
    families: "",
    interleaved: "",
    after: &[],
    conditions: ID_CONDITIONS,
    lookup: "t.id",
    keys: &["t.id"],
};

pub(super) const SHAPES: [Shape; 9] = [
    PLAIN,
    Shape {
        name: "pairs",
        key: &[("x int", "k % 5"), ("y int", "k")],
        primary: "PRIMARY KEY (x, y)",
        conditions: &["t.x = 2", "t.x > 1", "t.x IN (0, 3)", "t.x <= 2 AND t.y < !", "t.y >= ?"],
        lookup: "t.x",
        keys: &["t.x", "t.x", "t.y"],
        ..PLAIN
    },
    Shape { name: "falling", primary: "PRIMARY KEY (id {DESC})", ..PLAIN },
    Shape {
        name: "named",
        key: &[("t text", "'n' || k * 17 % 1000 || '-' || k")],
        primary: "PRIMARY KEY (t)",
        conditions: &["t.t < 'n5'", "t.t >= 'n' || ?", "t.t BETWEEN 'n2' AND 'n7'", "t.id < ?"],
        keys: &["t.t"],
        ..PLAIN
    },
    Shape {
        name: "families",
        families: ", FAMILY one (id, g, s), FAMILY two (i, n, f), FAMILY three (b, d, ts, c)",
        ..PLAIN
    },
    Shape {
        name: "indexed",
        after: &[
            "CREATE INDEX indexed_i ON indexed (i) INCLUDE (g, n, f)",
            "CREATE INDEX indexed_d ON indexed (d)",
            "CREATE INDEX indexed_g ON indexed (g, s) INCLUDE (id)",
        ],
        conditions: &["t.i > 0", "t.d >= '2024-01-20'", "t.g = 4", "t.g > 2", "t.id < ?"],
        lookup: "t.i",
        keys: &["t.i", "t.d", "t.g"],
        ..PLAIN
    },
    Shape {
        name: "child",
        key: &[("a int", "k % 150"), ("y int", "k")],
        primary: "PRIMARY KEY (a, y)",
        interleaved: " INTERLEAVE IN PARENT parent (a)",
        conditions: &["t.a < 70", "t.a BETWEEN 20 AND 90", "t.a = 33", "t.id > ?", "t.y < ?"],
        lookup: "t.a",
        keys: &["t.a", "t.a", "t.y"],
        ..PLAIN
    },
    Shape {
        name: "decimals",
        key: &[("x numeric(12,2)", "(k - 1500) / 4.0"), ("z date", "'2020-01-01'::date + k % 9")],
        primary: "PRIMARY KEY (x, z {DESC})",
        families: ", FAMILY one (x, z, id, g), FAMILY two (i, n, f, s, b, d, ts, c)",
        conditions: &["t.x < 100", "t.x >= -50.5", "t.z = '2020-01-05'", "t.id > ?"],
        lookup: "t.x",
        keys: &["t.x", "t.z"],
        ..PLAIN
    },
    // Its statistics are old: rows have gone, and others are before and after all known values.
    Shape {
        name: "stale",
        key: &[("x int8", "k * 10")],
        primary: "PRIMARY KEY (x)",
        after: &[
            "ANALYZE stale",
            "DELETE FROM stale WHERE id % 3 = 0 OR id BETWEEN 500 AND 900",
            "UPDATE stale SET x = x - 100000 WHERE id % 5 = 0",
            "UPDATE stale SET x = x + 100000 WHERE id % 5 = 1",
            "UPDATE stale SET g = 77 WHERE id % 2 = 0",
        ],
        conditions: &["t.x < 0", "t.x > 3000", "t.x BETWEEN -90000 AND 10 * !", "t.id < ?"],
        lookup: "t.x",
        keys: &["t.x"],
        ..PLAIN
    },
];

/// Small tables: name, primary key, rows, `g`. All have the same columns.
const SMALL: [(&str, &str, u32, &str); 4] = [
    ("dim", "g", 10, "k - 1"),
    ("small", "id", 60, "nullif(k % 20, 3)"),
    ("middle", "id", 1_200, "nullif(k % 400, 3)"),
    ("unknown", "id", 25, "k % 15"),
];
/// The names of the small tables, and of the table that `child` is interleaved in.
pub(super) const SMALL_NAMES: [&str; 5] = ["dim", "small", "middle", "unknown", "parent"];

impl Shape {
    fn columns(&self) -> impl Iterator<Item = (&'static str, &'static str)> {
        self.key.iter().chain(&COLUMNS).copied()
    }

    fn create(&self, is_postgres: bool) -> String {
        let columns: Vec<&str> = self.columns().map(|(column, _)| column).collect();
        let (more, order) = match is_postgres {
            true => ([""; 2], ""),
            false => ([self.families, self.interleaved], "DESC"),
        };
        let primary = self.primary.replace("{DESC}", order);
        let columns = columns.join(", ");
        format!("CREATE TABLE {} ({columns}, {primary}{}){}", self.name, more[0], more[1])
    }

    /// Inserts the rows of these numbers.
    pub(super) fn insert(&self, from: u64, to: u64) -> String {
        let values: Vec<&str> = self.columns().map(|(_, value)| value).collect();
        let values = values.join(", ");
        format!("INSERT INTO {} SELECT {values} FROM generate_series({from}, {to}) k", self.name)
    }
}

/// Settings with which this number of workers shares whatever can be shared.
pub(super) fn workers(number: u64) -> String {
    format!("SET min_parallel_cost = 0; SET max_parallel_workers_per_query = {number}")
}

/// The statements that make all tables. A shape has this number of rows, a fifth more or less.
pub(super) fn statements(is_postgres: bool, rows: u64) -> Vec<String> {
    let columns = "i int, name text, v numeric(10,2)";
    let more = "nullif(k % 30, 4), nullif('s' || k % 19, 's2'), nullif(k % 23, 6) / 4.0";
    let mut all = vec![
        format!("CREATE TABLE parent (a int PRIMARY KEY, id int, g int8, {columns})"),
        format!("INSERT INTO parent SELECT k * 2, k, k % 11, {more} FROM generate_series(0, 90) k"),
        "CREATE TABLE sink (k text, a int8, b int8, m text)".to_owned(),
    ];
    for (name, key, rows, g) in SMALL {
        all.push(format!("CREATE TABLE {name} (id int, g int8, {columns}, PRIMARY KEY ({key}))"));
        all.push(format!(
            "INSERT INTO {name} SELECT k, {g}, {more} FROM generate_series(1, {rows}) k"
        ));
    }
    all.push("CREATE INDEX small_i ON small (i)".to_owned());
    for (number, shape) in (0..).zip(&SHAPES) {
        all.push(shape.create(is_postgres));
        all.push(shape.insert(1, rows * (8 + number % 5) / 10));
        all.extend(shape.after.iter().map(|&sql| sql.to_owned()));
    }
    let names = SHAPES.iter().map(|shape| shape.name).chain(SMALL_NAMES);
    let analyzed = names.filter(|name| !["unknown", "stale"].contains(name));
    all.extend(analyzed.map(|name| format!("ANALYZE {name}")));
    all
}

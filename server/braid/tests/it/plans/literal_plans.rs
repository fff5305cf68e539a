//! Statements that differ in their literals share a plan, and nobody can tell but by the counter.
//!
//! Random SELECTs, UPDATEs and DELETEs run on two servers, with `share_plans` on and off: every
//! answer is the same, errors with their places included, and so are the tables in the end.
//! `BRAID_TEST_SIZE` says how many seeds; `BRAID_TEST_SEED=n` runs seed n alone.

use braid_testkit::random::Random;

use super::side::Side;
use super::sides::{Sides, Step, seeds};

const TABLES: &str = "
    DROP VIEW IF EXISTS w;
    DROP TABLE IF EXISTS u, t;
    CREATE TABLE t (id int PRIMARY KEY, i2 int2, i8 int8, n numeric(6,2), m numeric, f4 float4,
        f8 float8, b bool, s text, v varchar(4), c char(3), o oid, day date, at timestamp,
        z timestamptz, span interval, x bytea, k uuid, CHECK (i2 <> 13));
    CREATE INDEX ON t (i8);
    CREATE INDEX ON t (s, n);
    CREATE UNIQUE INDEX ON t (v);
    CREATE INDEX ON t (i2) WHERE i2 = 7;
    CREATE TABLE u (a int REFERENCES t ON DELETE CASCADE, b int8, m numeric(8,3), name name,
        g int8 GENERATED ALWAYS AS (b * 2) STORED, PRIMARY KEY (a, b));
    CREATE VIEW w AS SELECT id, i8, n * 2 AS twice, s, upper(v) AS big FROM t WHERE i2 = 7;
    INSERT INTO t SELECT g, g % 9, g * 1000000000::int8, g / 7.0, g / 3.0, g / 4.0, g / 3.0,
        g % 2 = 0, 's' || g % 5, 'v' || g, 'c' || g % 3, g, '2024-01-01'::date + g,
        '2024-01-01'::timestamp + g * '1 hour'::interval, '2024-01-01Z'::timestamptz,
        g * '1 day'::interval, 'x', NULL FROM generate_series(1, 40) g;
    INSERT INTO u SELECT g % 20 + 1, g, g / 8.0, 'n' || g FROM generate_series(1, 60) g;
    DEALLOCATE ALL; RESET ALL";

struct Column {
    name: &'static str,
    literals: &'static [&'static str],
}

const fn column(name: &'static str, literals: &'static [&'static str]) -> Column {
    Column { name, literals }
}

const INTEGERS: &[&str] =
    &["1", "2", "3", "'4'", "5", "007", "-1", "2147483648", "-2147483648", "1.5", "'x'", "' 6 '"];
const NUMBERS: &[&str] =
    &["1", "0.29", "0.1429", "1.00", "-1.5", "'2.345'", "9999.995", "99999", "-0.0", "'nan'"];
const TEXTS: &[&str] = &["'s1'", "'v7'", "'it''s'", "''", "'abcd   '", "'abcde'", "12", "'c1'"];
const TIMES: &[&str] = &["'2024-01-05'", "'1/2/2024'", "'2024-01-02 03:00'", "'epoch'", "'x'", "5"];

const T: &[Column] = &[
    column("id", INTEGERS),
    column("id", &["1", "2", "3", "4", "5", "6", "7", "8", "39", "41"]),
    column("t.id", &["10", "11", "12"]),
    column("i2", &["7", "7", "1", "32767", "13", "'5'", "70000"]),
    column("i8", &["1000000000", "5000000000", "'7000000000'", "9223372036854775808"]),
    column("n", NUMBERS),
    column("m", NUMBERS),
    column("f4", &["0.25", "0.75", "1", "16777217", "'inf'", "0.1"]),
    column("f8", &["1", "0.3333333333333333", "9007199254740993", "'1e3'"]),
    column("b", &["true", "'t'", "'x'", "1"]),
    column("s", TEXTS),
    column("v", TEXTS),
    column("c", TEXTS),
    column("o", &["1", "'2'", "5000000000", "-1"]),
    column("day", TIMES),
    column("at", TIMES),
    column("z", TIMES),
    column("span", &["'1 day'", "'24:00'", "'P1M'", "1"]),
    column("x", &["'x'", "'\\x78'", "''"]),
    column("k", &["'00000000-0000-0000-0000-000000000001'", "'1'"]),
];

const U: &[Column] = &[
    column("a", &["1", "2", "3", "4", "77", "'5'"]),
    column("b", INTEGERS),
    column("m", NUMBERS),
    column("name", &["'n1'", "'n2'", "5"]),
    column("g", &["2", "4", "'6'"]),
];

const W: &[Column] =
    &[column("id", INTEGERS), column("twice", NUMBERS), column("s", TEXTS), column("big", TEXTS)];

/// What happens in between.
const OTHERS: &[&str] = &[
    "BEGIN",
    "BEGIN ISOLATION LEVEL READ COMMITTED",
    "COMMIT",
    "COMMIT",
    "ROLLBACK",
    "SET DateStyle = 'DMY'",
    "RESET ALL",
    "SET TimeZone = 'America/New_York'",
    "SET search_path = pg_catalog",
    "ALTER TABLE t ALTER i2 TYPE int8",
    "ALTER TABLE u ALTER m TYPE text",
    "ALTER TABLE u ADD more int DEFAULT 3",
    "ALTER TABLE u DROP more",
    "ANALYZE t",
    "SELECT name, statement, parameter_types FROM pg_prepared_statements ORDER BY name",
    "SELECT query FROM pg_stat_activity WHERE pid = pg_backend_pid()",
    "SELECT relname, relkind FROM pg_class WHERE relname = 't' AND relkind = 'r'",
    "SELECT typname FROM pg_type WHERE oid = 23",
    "SET TRANSACTION READ ONLY",
];

fn literal(random: &mut Random, column: &Column) -> String {
    match random.below(40) {
        0 => {
            random.pick(&["1 + 1", "NULL", "now() - now()", "E'x'", "1e2", "'a'::text"]).to_string()
        }
        1 => random.pick(&["'today'", "true", "''", "id", "nothing_such"]).to_string(),
        _ => random.pick(column.literals).to_string(),
    }
}

fn condition(random: &mut Random, columns: &'static [Column]) -> String {
    let column = random.pick(columns);
    let name = column.name;
    let one = literal(random, column);
    match random.below(14) {
        0..7 => format!("{name} = {one}"),
        7 => format!("{name} {} {one}", random.pick(&["<", ">=", "<>", "!=", "<=", ">"])),
        8 => format!("{name}={one}"),
        9 => format!("{name} BETWEEN {one} AND {}", literal(random, column)),
        10 => format!("{name} IS NOT NULL"),
        11 => random.pick(&["id = i2", "a = b", "n > 1 OR id = 2", "(id = 3)"]).to_string(),
        _ => {
            let count = random.below(7) + 1;
            let list: Vec<String> = (0..count).map(|_| literal(random, column)).collect();
            format!("{name} IN ({})", list.join(*random.pick(&[", ", ","])))
        }
    }
}

fn conditions(random: &mut Random, columns: &'static [Column]) -> String {
    let mut list = Vec::new();
    // Usually a key that exists, so that there is something to do.
    if random.one_in(2) {
        list.push(format!("{} = {}", columns[0].name, random.below(20) + 1));
    }
    while list.is_empty() || random.one_in(3) {
        list.push(condition(random, columns));
    }
    list.join(*random.pick(&[" AND ", " and ", " AND ", " OR "]))
}

fn select(random: &mut Random) -> String {
    let (table, columns) = match random.below(6) {
        0 => ("u", U),
        1 => ("w", W),
        2 => ("t JOIN u ON t.id = u.a", &T[2..4]),
        _ => ("t", T),
    };
    let what = random.pick(&["*", "count(*)", "1", "id", "*", "sum(id), max(i8)", "'x'", "id + 1"]);
    let tail = random.pick(&[
        "",
        "",
        "",
        " ORDER BY 1",
        " ORDER BY 1 DESC LIMIT 2",
        " FOR UPDATE",
        " FOR SHARE SKIP LOCKED",
        " LIMIT 0",
        " GROUP BY 1",
        ";",
        " ORDER BY nothing_such",
        " -- a comment",
    ]);
    format!("SELECT {what} FROM {table} WHERE {}{tail}", conditions(random, columns))
}

fn assignment(random: &mut Random, columns: &'static [Column]) -> String {
    let column = random.pick(columns);
    let name = column.name;
    let number = random.pick(&["1", "0.5", "-2", "99999999999", "'1'", "1.005"]);
    match random.below(8) {
        0 => format!("{name} = {name} + {number}"),
        1 => format!("{name} = {name} * {number}"),
        2 => format!("{name} = {name} - {number}"),
        3 => format!("{name} = {}", random.pick(&["NULL", "DEFAULT", "id", "i2 + i8"])),
        _ => format!("{name} = {}", literal(random, column)),
    }
}

const RETURNING: &[&str] =
    &["", "", "", " RETURNING *", " RETURNING NOTHING", " RETURNING 1", ";", " RETURNING 1 / 0"];

fn update(random: &mut Random) -> String {
    let (table, columns) = if random.one_in(4) { ("u", U) } else { ("t", T) };
    let list: Vec<String> =
        (0..=random.below(3)).map(|_| assignment(random, &columns[1..])).collect();
    let tail = random.pick(RETURNING);
    let place = if random.one_in(30) {
        String::new()
    } else {
        format!(" WHERE {}", conditions(random, columns))
    };
    format!("UPDATE {table} SET {}{place}{tail}", list.join(", "))
}

fn delete(random: &mut Random) -> String {
    let (table, columns) = if random.one_in(2) { ("u", U) } else { ("t", T) };
    format!("DELETE FROM {table} WHERE {}{}", conditions(random, columns), random.pick(RETURNING))
}

fn statement(random: &mut Random) -> String {
    match random.below(10) {
        0..5 => select(random),
        5..9 => update(random),
        _ => delete(random),
    }
}

/// Something at random; what it was, and the two answers.
fn step(sides: &mut Sides, number: u64, random: &mut Random) -> Step {
    match (random.below(12), sides.last.clone()) {
        (0, _) => {
            let sql = random.pick(OTHERS).to_string();
            let answers = sides.other(&sql);
            (sql, answers)
        }
        (1 | 2, _) => {
            let sql = statement(random);
            let name = format!("p{number}");
            let answers = sides.prepare(name, &sql, 0, &[Vec::new()]);
            (sql, answers)
        }
        (3, Some((name, _))) => {
            let answers = sides.both(|side| side.bind_again(&name, &[]));
            (format!("bind {name}"), answers)
        }
        (4, Some((name, _))) => {
            let sql = format!("{}EXECUTE {name}", random.pick(&["", "EXPLAIN (COSTS OFF) "]));
            let answers = sides.both(|side| side.query(&sql));
            (sql, answers)
        }
        _ => {
            let sql = statement(random);
            let answers = sides.both(|side| side.query(&sql));
            (sql, answers)
        }
    }
}

#[test]
fn answers_are_the_same_with_and_without_shared_plans() {
    let contents = ["SELECT * FROM t ORDER BY id", "SELECT * FROM u ORDER BY a, b"];
    Sides::start(TABLES).run(seeds(6, 15, 3_000), &contents, step);
}

#[test]
fn statements_that_differ_in_their_literals_share_one_plan() {
    let mut side = Side::start();
    side.query("CREATE TABLE t (id int PRIMARY KEY, n numeric(8,2), s text)");
    side.query("INSERT INTO t SELECT g, g, 's' || g FROM generate_series(1, 1000) g");
    let mut made = |of: &dyn Fn(u64) -> String| {
        side.query(&of(1));
        let before = side.plans_made();
        for number in 2..40 {
            let answer = side.query(&of(number));
            assert!(!answer.contains("ErrorResponse"), "{answer}");
            let answer = side.extended("", &of(number + 100), &[Vec::new()]);
            assert!(!answer.contains("ErrorResponse"), "{answer}");
        }
        side.plans_made() - before
    };
    assert_eq!(made(&|n| format!("SELECT * FROM t WHERE id = {n}")), 0);
    assert_eq!(made(&|n| format!("SELECT s FROM t WHERE id = {n} AND s = 's{n}' FOR UPDATE")), 0);
    assert_eq!(made(&|n| format!("UPDATE t SET n = n - {n}.50 WHERE id = {n}")), 0);
    assert_eq!(made(&|n| format!("UPDATE t SET n = {n}, s = 'x{n}' WHERE id = {n}")), 0);
    assert_eq!(made(&|n| format!("DELETE FROM t WHERE id IN ({n}, {}, 999)", n + 300)), 0);
    // Lists are filled up, so that a few plans do for all lengths.
    let list = |n: u64| {
        let list: Vec<String> = (n..=2 * n).map(|id| id.to_string()).collect();
        format!("DELETE FROM t WHERE id IN ({})", list.join(", "))
    };
    let lists = made(&list);
    assert!((10..=25).contains(&lists), "{lists} plans for 76 lengths of lists");
    // What is not plain has a plan of its own for each text.
    assert_eq!(made(&|n| format!("SELECT * FROM t WHERE id = {n} + 1")), 76);
    side.query("SET share_plans = off");
    assert_eq!(side_plans(&mut side), 10, "switched off, each has its own");
}

fn side_plans(side: &mut Side) -> u64 {
    side.query("SELECT s FROM t WHERE id = 0");
    let before = side.plans_made();
    for id in 1..=10 {
        side.query(&format!("SELECT s FROM t WHERE id = {id}"));
    }
    side.plans_made() - before
}

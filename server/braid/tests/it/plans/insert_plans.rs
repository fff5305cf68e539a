//! INSERTs of plain values share a plan, and nobody can tell but by the counter.
//!
//! Random INSERTs run on two servers, with `share_plans` on and off: every answer is the
//! same, errors with their places included, and so are the tables in the end. `BRAID_TEST_SIZE`
//! says how many seeds; `BRAID_TEST_SEED=n` runs seed n alone.

use braid_testkit::random::Random;

use super::side::Side;
use super::sides::{Sides, Step, seeds};

const TABLES: &str = "
    DROP TABLE IF EXISTS f, e, d;
    CREATE TABLE d (id int PRIMARY KEY, i2 int2, i8 int8, n numeric(6,2), m numeric, f4 float4,
        f8 float8, b bool, t text, v varchar(4), c char(3), o oid DEFAULT 7, x bytea, u uuid,
        CHECK (i2 <> 13));
    CREATE TABLE e (a int, b int DEFAULT 5, day date, at timestamp, z timestamptz, span interval,
        j jsonb, list int[], words text[], g int GENERATED ALWAYS AS (b * 2) STORED,
        s serial, PRIMARY KEY (a, b));
    CREATE UNIQUE INDEX e_u ON e (day);
    CREATE TABLE f (id bigint GENERATED ALWAYS AS IDENTITY, d int REFERENCES d, k \"char\",
        name name, cls regclass, PRIMARY KEY (id));
    DEALLOCATE ALL; RESET ALL";

struct Column {
    name: &'static str,
    /// What usually fits.
    values: &'static [&'static str],
}

const fn column(name: &'static str, values: &'static [&'static str]) -> Column {
    Column { name, values }
}

const KEYS: &[&str] = &["1", "2", "3", "4", "5", "6", "7", "8", "9", "10", "'11'", "-1"];
const NUMBERS: &[&str] = &["0", "1.5", "007", "-2.345", "'3'", "' 4 '", "9999.994", "5000000000"];
const TEXTS: &[&str] = &["'a'", "'it''s'", "''", "'abcd   '", "12", "1.50", "'é'", "00.7"];

const D: &[Column] = &[
    column("id", KEYS),
    column("i2", &["1", "'2'", "13", "-32768", "32768", "1.5"]),
    column("i8", &["9223372036854775807", "'5'", "9223372036854775808", "-9223372036854775808"]),
    column("n", NUMBERS),
    column("m", NUMBERS),
    column("f4", &["16777217", "0.1", "'inf'", "-0.0", "123456789012345678", "'1e50'"]),
    column("f8", &["9007199254740993", "0.1", "'nan'", "-0.0", "123456789012345678.9"]),
    column("b", &["true", "FALSE", "'t'", "'no'", "'x'"]),
    column("t", TEXTS),
    column("v", TEXTS),
    column("c", &["'ab'", "'abc '", "1", "''", "'abcd'"]),
    column("o", &["1", "'4294967295'", "5000000000", "DEFAULT"]),
    column("x", &["'abc'", "''", "'\\x01ff'", "'\\x0'"]),
    column("u", &["'00000000-0000-0000-0000-000000000001'", "NULL", "'nothing'"]),
];

const E: &[Column] = &[
    column("a", KEYS),
    column("b", &["1", "2", "3", "NULL", "DEFAULT"]),
    column("day", &["'2024-02-29'", "NULL", "'1/2/2024'", "'2023-02-29'", "'infinity'", "1"]),
    column("at", &["'2024-01-02 03:04:05.678'", "'epoch'", "'x'", "'2024-01-02'"]),
    column("z", &["'2024-01-02 03:04:05+02'", "'2024-07-02 12:00'", "'2024-01-02 Europe/Rome'"]),
    column("span", &["'1 day'", "'P1Y'", "'1:02'", "'1-2'", "7"]),
    column("j", &["'{\"b\": 1, \"a\": 2}'", "'5'", "'{'", "5"]),
    column("list", &["'{1,2}'", "'{}'", "'{1,NULL}'", "'{x}'", "ARRAY[1]"]),
    column("words", &["'{a,\"b c\"}'", "'{}'", "'{'"]),
    column("s", &["100", "101", "DEFAULT"]),
    column("g", &["DEFAULT", "DEFAULT", "1"]),
];

const F: &[Column] = &[
    column("d", &["NULL", "1", "3", "77", "NULL"]),
    column("k", &["'a'", "'xyz'", "1"]),
    column("name", &["'n'", "1", "'a name'"]),
    column("cls", &["'d'", "1", "'nothing'"]),
    column("id", &["DEFAULT", "DEFAULT", "1"]),
];

const TAILS: &[&str] = &[
    "",
    "",
    ";",
    " RETURNING *",
    " RETURNING NOTHING",
    " RETURNING 1 AS one",
    " RETURNING 1 / 0",
    " ON CONFLICT DO NOTHING",
    " ON CONFLICT DO NOTHING RETURNING *",
    " -- a comment",
    " RETURNING nothing_such",
];

/// Tails for the first table.
const UPDATES: &[&str] = &[
    " ON CONFLICT (id) DO UPDATE SET t = excluded.t",
    " ON CONFLICT (id) DO UPDATE SET i8 = d.i8 + 1 RETURNING id, i8",
    " ON CONFLICT (id) DO UPDATE SET t = 'again' WHERE d.b",
];

/// What happens between the INSERTs.
const OTHERS: &[&str] = &[
    "BEGIN",
    "COMMIT",
    "COMMIT",
    "ROLLBACK",
    "SET DateStyle = 'DMY'",
    "RESET ALL",
    "SET TimeZone = 'America/New_York'",
    "SET search_path = pg_catalog",
    "ALTER TABLE d ALTER i2 TYPE text",
    "ALTER TABLE d ALTER i2 TYPE int2 USING 1",
    "ALTER TABLE d ALTER v TYPE text",
    "ALTER TABLE e ADD more int DEFAULT 3",
    "ALTER TABLE e DROP more",
    "DELETE FROM d WHERE id > 5",
    "DELETE FROM e",
    "SELECT name, statement, parameter_types FROM pg_prepared_statements ORDER BY name",
    "SELECT query FROM pg_stat_activity WHERE pid = pg_backend_pid()",
    "SET TRANSACTION READ ONLY",
];

/// Something at random; what it was, and the two answers.
fn step(sides: &mut Sides, number: u64, random: &mut Random) -> Step {
    let name = format!("p{number}");
    match (random.below(10), sides.last.clone()) {
        (0, _) => {
            let sql = random.pick(OTHERS).to_string();
            let answers = sides.other(&sql);
            // A prepared literal is read when it is prepared, as PostgreSQL does; without
            // a shared plan it is read again after a change of the settings.
            if sql.contains("SET") {
                sides.last = None;
            }
            (sql, answers)
        }
        (1, _) => {
            let (sql, parameters) = of_parameters(random);
            let mut run = |_| (0..parameters).map(|_| value(random)).collect();
            let runs: Vec<Vec<String>> = (0..number % 3).map(&mut run).collect();
            let answers = sides.prepare(name, &sql, parameters, &runs);
            (sql, answers)
        }
        (2, _) => {
            let sql = insert(random);
            let answers = sides.prepare(name, &sql, 0, &[Vec::new()]);
            (sql, answers)
        }
        (3, Some((name, parameters))) => {
            let values: Vec<String> = (0..parameters).map(|_| value(random)).collect();
            let answers = sides.both(|side| side.bind_again(&name, &values));
            (format!("bind {name} {values:?}"), answers)
        }
        (4, Some((name, parameters))) => {
            let args: Vec<&str> = (0..parameters).map(|_| *random.pick(KEYS)).collect();
            let explain = random.pick(&["", "EXPLAIN ", "EXPLAIN (VERBOSE) "]);
            let sql = match parameters {
                0 => format!("{explain}EXECUTE {name}"),
                _ => format!("{explain}EXECUTE {name}({})", args.join(", ")),
            };
            let answers = sides.both(|side| side.query(&sql));
            (sql, answers)
        }
        _ => {
            let sql = insert(random);
            let answers = sides.both(|side| side.query(&sql));
            (sql, answers)
        }
    }
}

#[test]
fn answers_are_the_same_with_and_without_shared_plans() {
    let contents = [
        "SELECT * FROM d ORDER BY id",
        "SELECT * FROM e ORDER BY a, b",
        "SELECT * FROM f ORDER BY id",
    ];
    Sides::start(TABLES).run(seeds(8, 30, 3_000), &contents, step);
}

#[test]
fn inserts_that_differ_in_their_values_share_one_plan() {
    let mut side = Side::start();
    side.query("CREATE TABLE t (id int PRIMARY KEY, n numeric(8,2), t text, d date)");
    let row = |id: u64| match id % 3 {
        0 => format!("({id}, {id}.5, 'x{id}', '2024-01-02')"),
        1 => format!("({id}, NULL, 'it''s', NULL)"),
        _ => format!("({id}, {id}, {id}, '1999-12-31')"),
    };
    let before = side.plans_made();
    let mut id = 0;
    for rows in (1..=40).chain([500, 1]) {
        let rows: Vec<String> = (0..rows).map(|n| row(id + n)).collect();
        id += rows.len() as u64;
        let answer = side.query(&format!("INSERT INTO t VALUES {}", rows.join(", ")));
        assert!(answer.contains(&format!("INSERT 0 {}", rows.len())), "{answer}");
    }
    // The text of the question about the counter is planned once as well.
    let shared = side.plans_made() - before;
    assert!(shared <= 2, "{shared} plans for one skeleton");
    // The same by parameters, for any number of rows.
    for rows in 2..40 {
        let places: Vec<String> = (0..rows)
            .map(|n| format!("(${}, ${}, ${}, ${})", n * 4 + 1, n * 4 + 2, n * 4 + 3, n * 4 + 4))
            .collect();
        let values: Vec<String> = (0..rows)
            .flat_map(|n| [(id + n).to_string(), "1".into(), "x".into(), "2024-01-02".into()])
            .collect();
        id += rows;
        let sql = format!("INSERT INTO t VALUES {}", places.join(", "));
        let answer = side.extended("", &sql, &[values]);
        assert!(answer.contains(&format!("INSERT 0 {rows}")), "{answer}");
    }
    let shared = side.plans_made() - before;
    assert!(shared <= 2, "{shared} plans for one skeleton");
    let off = side.query("SET share_plans = off");
    assert!(!off.contains("ErrorResponse"), "{off}");
    let before = side.plans_made();
    for _ in 0..10 {
        side.query(&format!("INSERT INTO t VALUES {}", row(id)));
        id += 1;
    }
    assert_eq!(side.plans_made() - before, 10, "switched off, each has its own");
}

#[test]
fn as_many_parameters_as_a_message_can_count() {
    let mut side = Side::start();
    side.query("CREATE TABLE t (id int PRIMARY KEY)");
    let insert = |rows: usize| {
        let places: Vec<String> = (1..=rows).map(|n| format!("(${n})")).collect();
        format!("INSERT INTO t VALUES {}", places.join(", "))
    };
    let values: Vec<String> = (1..=65_535).map(|n: u32| n.to_string()).collect();
    let answer = side.extended("", &insert(65_535), std::slice::from_ref(&values));
    assert!(answer.contains("INSERT 0 65535"), "{}", &answer[answer.len() - 200..]);
    // One more cannot be counted by Bind.
    let answer = side.extended("", &insert(65_536), &[values]);
    assert!(answer.contains("ERROR 42P02 \"there is no parameter $65536\""), "{answer}");
    assert!(side.query("SELECT count(*) FROM t").contains("\"65535\""));
}

/// A value for a parameter, as text.
fn value(random: &mut Random) -> String {
    random.pick(&["1", "2", "3", "4", "2024-01-02", "x", "NULL", "true", "1.5"]).to_string()
}

fn table(random: &mut Random) -> (&'static str, &'static [Column]) {
    match random.below(5) {
        0..3 => ("d", D),
        3 => ("e", E),
        _ => ("f", F),
    }
}

/// Some columns of a table, the first more often than not; sometimes one twice or a wrong one.
fn columns(random: &mut Random, all: &'static [Column]) -> Vec<&'static Column> {
    let mut picked: Vec<&Column> = Vec::new();
    for (i, column) in all.iter().enumerate() {
        if if i == 0 { !random.one_in(20) } else { random.one_in(5) } {
            picked.push(column);
        }
    }
    if picked.is_empty() || random.one_in(60) {
        picked.push(&all[0]);
    }
    picked
}

fn names(columns: &[&Column], random: &mut Random) -> String {
    let mut names: Vec<&str> = columns.iter().map(|column| column.name).collect();
    if random.one_in(80) {
        names.push("nothing_such");
    }
    format!(" ({})", names.join(", "))
}

fn tail(random: &mut Random, table: &str) -> &'static str {
    let tails = if table == "d" && random.one_in(4) { UPDATES } else { TAILS };
    tails[random.below(tails.len() as u64) as usize]
}

/// One that mostly fits, or anything.
fn literal(random: &mut Random, column: &Column) -> String {
    match random.below(60) {
        0 => random.pick(&["1 + 1", "now() - now()", "'a'::text", "E'x'", "1e2", ".5"]).to_string(),
        1 => "true".to_owned(),
        2..=6 => "NULL".to_owned(),
        // The first values of each list are the ones that fit.
        7..52 => column.values[random.below(2) as usize % column.values.len()].to_owned(),
        _ => random.pick(column.values).to_string(),
    }
}

fn insert(random: &mut Random) -> String {
    let (table, all) = table(random);
    let columns = columns(random, all);
    let names = names(&columns, random);
    let rows: Vec<String> = (0..=random.below(4))
        .map(|_| {
            let mut values: Vec<String> = Vec::new();
            for (i, column) in columns.iter().enumerate() {
                values.push(match (i, table) {
                    (0, "d" | "e") if !random.one_in(12) => random.below(2_000).to_string(),
                    _ => literal(random, column),
                });
            }
            if random.one_in(60) {
                values.push("1".to_owned());
            }
            format!("({})", values.join(*random.pick(&[", ", ",", " ,\n "])))
        })
        .collect();
    let word = random.pick(&["INSERT", "INSERT", "insert", "UPSERT"]);
    let table = if random.one_in(40) { "nowhere" } else { table };
    let schema = if random.one_in(6) { "public." } else { "" };
    format!("{word} INTO {schema}{table}{names} VALUES {}{}", rows.join(", "), tail(random, table))
}

/// An INSERT of rows of parameters, and how many there are.
fn of_parameters(random: &mut Random) -> (String, usize) {
    let (table, all) = table(random);
    let columns = columns(random, all);
    let names = names(&columns, random);
    let mut count = 0;
    let rows: Vec<String> = (0..=random.below(3))
        .map(|_| {
            let places: Vec<String> = columns
                .iter()
                .map(|_| {
                    count += 1;
                    format!("${count}")
                })
                .collect();
            format!("({})", places.join(", "))
        })
        .collect();
    let sql =
        format!("INSERT INTO {table}{names} VALUES {}{}", rows.join(", "), tail(random, table));
    (sql, count)
}

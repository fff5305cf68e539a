//! What a statement reads and writes is within what was predicted, for random statements.
//!
//! A server with debug assertions compares the two after every statement that writes, and answers
//! XX000 where they differ; this test makes such statements over tables with every kind of index,
//! several families and foreign keys in both directions. `BRAID_TEST_SIZE` says how many seeds;
//! `BRAID_TEST_SEED=n` runs seed n alone, the same each time.

use braid_testkit::random::{Random, seed_from_env};
use braid_testkit::server::{Config, Server};
use braid_testkit::size::Size;

#[allow(dead_code, reason = "the wire scripts use the rest of it")]
use crate::protocol::connection::Connection;

const STATEMENTS: u64 = 40;

/// `%` stands for the seed, each `!` for actions of a foreign key.
const TABLES: &str = "
    CREATE TABLE p% (id int PRIMARY KEY, code text UNIQUE, n numeric, f int REFERENCES p% !,
        FAMILY a (id, code), FAMILY b (n), FAMILY c (f));
    CREATE TABLE c% (a int, b numeric, p int DEFAULT 1 REFERENCES p% !,
        code text REFERENCES p% (code) !,
        n int, g int GENERATED ALWAYS AS (n * 2) STORED, s text DEFAULT 'd', PRIMARY KEY (a, b));
    CREATE UNIQUE INDEX c%_u ON c% (n, a);
    CREATE INDEX c%_g ON c% (g DESC) STORING (s);
    CREATE INDEX c%_part ON c% (s) WHERE n > 3;
    CREATE INDEX c%_p ON c% (p);
    CREATE TABLE d% (v int, w text, c_a int, c_b numeric,
        FOREIGN KEY (c_a, c_b) REFERENCES c% (a, b) !);
    CREATE INDEX d%_v ON d% (v);
    CREATE TABLE e% (p int, i int, k int, PRIMARY KEY (p, i), FOREIGN KEY (p) REFERENCES p% !);
    CREATE TABLE g% (p int, i int, j int, x int, PRIMARY KEY (p, i, j),
        FOREIGN KEY (p, i) REFERENCES e% !);
    CREATE INDEX g%_x ON g% (x)";

/// What a foreign key does.
fn actions(random: &mut Random) -> String {
    let all =
        &["NO ACTION", "NO ACTION", "RESTRICT", "CASCADE", "CASCADE", "SET NULL", "SET DEFAULT"];
    let timing = random.pick(&["", "", "", "DEFERRABLE INITIALLY DEFERRED"]);
    let delete = random.pick(all).to_string();
    format!("ON DELETE {delete} ON UPDATE {} {timing}", random.pick(all))
}

#[test]
fn statements_stay_inside_their_predictions() {
    let server = Server::start(Config::new().without_sync());
    let mut connection = Connection::open(server.sql_url()).expect("connects");
    connection.start(server.sql_url()).expect("starts");
    let seeds = match seed_from_env() {
        Some(seed) => seed..seed + 1,
        None => 1..1 + Size::from_env().pick(8, 100, 2_000),
    };
    let (mut done, mut refused) = (0, 0);
    for seed in seeds {
        let mut random = Random::new(seed);
        let mut tables = TABLES.replace('%', &seed.to_string());
        while let Some(at) = tables.find('!') {
            tables.replace_range(at..=at, &actions(&mut random));
        }
        assert!(!run(&mut connection, &tables, seed), "the tables are made");
        let mut block = 0;
        for _ in 0..STATEMENTS {
            if block == 0 && random.one_in(8) {
                run(&mut connection, "BEGIN", seed);
                block = random.below(5) + 1;
            }
            let sql = statement(&mut random).replace('%', &seed.to_string());
            let failed = run(&mut connection, &sql, seed);
            if failed {
                refused += 1
            } else {
                done += 1
            }
            if block > 0 {
                block -= 1;
                if block == 0 || failed {
                    run(&mut connection, "COMMIT", seed);
                    block = 0;
                }
            }
        }
        run(&mut connection, "COMMIT", seed);
        let drop = "DROP TABLE g%, e%, d%, c%, p%".replace('%', &seed.to_string());
        run(&mut connection, &drop, seed);
    }
    assert!(done > refused / 2, "{done} statements ran, {refused} were refused");
}

/// Runs a statement; whether it was refused.
fn run(connection: &mut Connection, sql: &str, seed: u64) -> bool {
    connection.query(sql).expect("is sent");
    let answer = connection.until("ReadyForQuery").expect("an answer");
    assert!(!answer.contains("XX000"), "BRAID_TEST_SEED={seed}: {sql}\n{answer}");
    answer.contains("ErrorResponse")
}

fn int(random: &mut Random) -> String {
    match random.below(9) {
        0 => "NULL".to_owned(),
        n => n.to_string(),
    }
}

fn numeric(random: &mut Random) -> String {
    random.pick(&["1", "1.0", "2.5", "2.50", "3"]).to_string()
}

fn text(random: &mut Random) -> String {
    random.pick(&["'x'", "'y'", "'z'", "NULL", "'x' || 'y'", "DEFAULT"]).to_string()
}

fn list(random: &mut Random, one: impl Fn(&mut Random) -> String) -> String {
    let items: Vec<String> = (0..=random.below(3)).map(|_| one(random)).collect();
    items.join(", ")
}

fn statement(random: &mut Random) -> String {
    match random.below(10) {
        0..4 => insert(random),
        4..8 => update(random),
        _ => delete(random),
    }
}

fn insert(random: &mut Random) -> String {
    let word = if random.one_in(4) { "UPSERT" } else { "INSERT" };
    let parent = |random: &mut Random| {
        format!("({}, {}, {}, {})", int(random), text(random), numeric(random), int(random))
    };
    let child = |random: &mut Random| {
        let (a, b, p, n) = (int(random), numeric(random), int(random), int(random));
        format!("({a}, {b}, {p}, {}, {n}, {})", text(random), text(random))
    };
    let conflict = match random.below(5) {
        _ if word == "UPSERT" => "",
        0 => " ON CONFLICT DO NOTHING",
        1 => " ON CONFLICT (id) DO UPDATE SET f = excluded.f, code = excluded.code",
        2 => " ON CONFLICT (code) DO UPDATE SET n = p%.n + 1",
        _ => "",
    };
    let source = random.pick(&[
        "SELECT g, 'u' || g, g, g FROM generate_series(1, 3) g",
        "SELECT id + 10, code || 'q', n, f FROM p% WHERE id < 3",
        "SELECT * FROM unnest(ARRAY[5, 6], ARRAY['k', 'l'], ARRAY[1.5, 2], ARRAY[1, NULL])",
    ]);
    match random.below(6) {
        0 if random.one_in(2) => format!("{word} INTO p% {source}{conflict}"),
        0 => {
            let (p, i, j) = (int(random), int(random), int(random));
            let row = format!("({p}, {i}, {j})");
            match random.below(3) {
                0 => format!("{word} INTO g% VALUES ({p}, {i}, {j}, {p})"),
                _ => format!("{word} INTO e% VALUES {row}"),
            }
        }
        1 | 2 => format!("{word} INTO p% VALUES {}{conflict}", list(random, parent)),
        3 => format!("INSERT INTO d% VALUES ({}, {}, 1, 1.00)", int(random), text(random)),
        _ => {
            let conflict = random.pick(&[
                "",
                " ON CONFLICT DO NOTHING",
                " ON CONFLICT (a, b) DO UPDATE SET n = excluded.n",
                " ON CONFLICT (n, a) DO UPDATE SET p = excluded.p, s = 'w'",
            ]);
            let conflict = if word == "UPSERT" { "" } else { conflict };
            format!("{word} INTO c% (a, b, p, code, n, s) VALUES {}{conflict}", list(random, child))
        }
    }
}

/// A table and a condition on it.
fn which(random: &mut Random) -> (&'static str, String) {
    let parent = random.one_in(2);
    let (a, b) = (int(random), numeric(random));
    let condition = match (parent, random.below(10)) {
        (true, 0) => format!("id IN ({})", list(random, int)),
        (true, 1) => format!("id = ANY (ARRAY[{a}, 2]) AND f > 2"),
        (true, 2) => format!("code = {}", text(random).replace("DEFAULT", "'d'")),
        (true, 3) => format!("id > {a}"),
        (true, 4) => "id = (SELECT max(a) FROM c%)".to_owned(),
        (true, 5) => {
            format!("id = {a} OR code = {}", text(random).replace("DEFAULT", "'d'"))
        }
        (true, _) => format!("id = {a}"),
        (false, 0) => format!("a = {a}"),
        (false, 1) => format!("g = {a} * 2"),
        (false, 2) => format!("n = {a}"),
        (false, 3) => format!("p IN ({})", list(random, int)),
        (false, 4) => "EXISTS (SELECT 1 FROM p% WHERE p%.id = c%.p)".to_owned(),
        (false, 5) => format!("(b, a) IN (({b}, {a}), ({b}, 2), (2.5, {a}))"),
        (false, 6) => format!("(a = {a} AND b = {b}) OR g = {a} OR p = 2"),
        (false, 7) => format!("n = {a} OR a = {a}"),
        (false, _) => format!("a = {a} AND b = {b}"),
    };
    (if parent { "p%" } else { "c%" }, condition)
}

fn update(random: &mut Random) -> String {
    let (table, condition) = which(random);
    if random.one_in(8) {
        let (a, b) = (int(random), int(random));
        return format!(
            "UPDATE c% SET n = v.n FROM (VALUES ({a}, 1.0, 5), ({b}, 2.5, 6)) AS v (a, b, n) \
             WHERE c%.a = v.a AND c%.b = v.b"
        );
    }
    let set = match (table, random.below(6)) {
        ("p%", 0) => format!("id = {}", int(random)),
        ("p%", 1) => format!("code = {}", text(random)),
        ("p%", 2) => "id = id + 20".to_owned(),
        ("p%", 3) => "n = n * 2".to_owned(),
        ("p%", _) => format!("f = {}", int(random)),
        (_, 0) => format!("n = {}", int(random)),
        (_, 1) => format!("p = {}", int(random)),
        (_, 2) => format!("b = {}", numeric(random)),
        (_, 3) => format!("code = {}", text(random)),
        _ => format!("s = {}", text(random)),
    };
    format!("UPDATE {table} SET {set} WHERE {condition}")
}

fn delete(random: &mut Random) -> String {
    let (table, condition) = which(random);
    match random.below(6) {
        0 => "DELETE FROM d% USING c% WHERE d%.c_a = c%.a AND c%.n = 2".to_owned(),
        1 => {
            format!("WITH x AS (DELETE FROM d% RETURNING v) DELETE FROM {table} WHERE {condition}")
        }
        _ => format!("DELETE FROM {table} WHERE {condition}"),
    }
}

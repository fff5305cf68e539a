//! Random queries: subqueries in every place, joins, LATERAL, grouping sets, windows, set
//! operations, WITH and DML over tables with columns of many types and NULLs.
//!
//! Every query runs on PostgreSQL too, if `POSTGRES_URL` names one: rows and SQLSTATEs must be the
//! same. Without one no query may be a bug of ours (XX000). `BRAID_TEST_SIZE` says how many there
//! are; `BRAID_TEST_SEED` repeats the one query of a seed.
//!
//! Every query also runs with so little memory that operators go to disk, and must give the same.

#![allow(clippy::print_stdout, reason = "a test says what it did and what it left out")]

use braid_testkit::random::{Random, seed_from_env};
use braid_testkit::size::Size;
use braid_testkit::target::Target;
use tokio_postgres::{Client, SimpleQueryMessage};

mod expression;
mod query;

use self::query::Generator;

/// Queries that differ are shown up to this number.
const SHOWN_MAX: usize = 20;
/// Memory of a statement with which most operators go to disk.
const LITTLE_MEMORY: &str = "SET statement_memory_limit = '4kB'";

const TABLES: &[&str] = &[
    "CREATE TYPE mood AS ENUM ('sad', 'happy')",
    "ALTER TYPE mood ADD VALUE 'ok' BEFORE 'happy'",
    "CREATE TABLE t1 (id int PRIMARY KEY, i int, g int8, n numeric(8,2), f float8, s text, b bool, \
     d date, ts timestamp, j jsonb, a int[], u uuid, v interval, m mood, c char(3))",
    "CREATE TABLE t2 (id int PRIMARY KEY, i int, g int8, n numeric(8,2), f float8, s text, b bool, \
     d date, ts timestamp, j jsonb, a int[], u uuid, v interval, m mood, c bpchar)",
    "INSERT INTO t1 SELECT k, nullif(k % 4, 3), nullif(k % 5, 4), nullif(k % 3, 2) / 2.0, \
     nullif(k % 4, 1) / 4.0, nullif('s' || k % 3, 's2'), nullif(k % 3, 0) = 1, \
     '2024-01-01'::date + nullif(k % 4, 2), '2024-01-01'::timestamp + nullif(k % 3, 1) * \
     '1 hour'::interval, ('{\"k\":' || nullif(k % 3, 0) || '}')::jsonb, \
     string_to_array(nullif(k % 3 || ',' || k % 2, '1,1'), ',')::int[], \
     ('00000000-0000-0000-0000-00000000000' || nullif(k % 4, 0))::uuid, \
     nullif(k % 3, 0) * '1 day'::interval, \
     (enum_range(NULL::mood))[nullif(k % 4, 1)], nullif('c' || k % 4, 'c2') \
     FROM generate_series(1, 9) k",
    "INSERT INTO t2 SELECT k * 2, i, g + 1, n, f, s, NOT b, d + 1, ts, j, a, u, v, m, \
     c::text || repeat(' ', k::int % 3) FROM \
     (SELECT row_number() OVER (ORDER BY id DESC) AS k, * FROM t1 WHERE id < 7) x",
    "CREATE INDEX t1_i ON t1 (i)",
    "CREATE INDEX t1_m ON t1 (m)",
    "CREATE INDEX t2_s_g ON t2 (s, g DESC)",
    "CREATE UNIQUE INDEX t2_part ON t2 (id) WHERE i > 0",
    "CREATE VIEW v1 AS SELECT id, i, g, n, f, s, b, d, ts, j, a, u, v, m, c FROM t1 WHERE i > 0",
    "CREATE VIEW v2 AS SELECT x.id, y.i, x.g, x.n, x.f, y.s, x.b, x.d, y.ts, x.j, x.a, x.u, y.v, \
     y.m, y.c FROM t1 x LEFT JOIN t2 y ON x.id = y.id WHERE x.g IS NOT NULL",
];

/// The rows of a statement in a fixed order, or the SQLSTATE of its error.
type Answer = Result<Vec<String>, String>;

async fn answer(client: &Client, sql: &str) -> Answer {
    match client.simple_query(sql).await {
        Ok(messages) => {
            let mut rows: Vec<String> = Vec::new();
            for message in messages {
                let SimpleQueryMessage::Row(row) = message else { continue };
                let cells: Vec<&str> = (0..row.len()).map(|i| row.get(i).unwrap_or("∅")).collect();
                rows.push(cells.join("|"));
            }
            rows.sort_unstable();
            Ok(rows)
        }
        Err(error) => {
            let Some(error) = error.as_db_error() else { panic!("{sql}\n{error:?}") };
            let code = error.code().code().to_owned();
            assert!(!code.starts_with("XX"), "{sql}\n{error:?}");
            Err(code)
        }
    }
}

/// Answers without the zeros at the end of decimal fractions and the blanks at the end of texts.
///
/// 0.5 and 0.50 are equal: which of them a maximum or DISTINCT gives depends on the order of the
/// rows, which a query may leave open. So are texts of `bpchar` that differ in such blanks.
fn unscaled(answers: &[Answer]) -> Vec<Answer> {
    let row = |row: &String| {
        let mut short = String::with_capacity(row.len());
        let (mut is_fraction, mut zeros) = (false, 0);
        for c in row.chars().chain(std::iter::once(' ')) {
            match c {
                '0' if is_fraction => zeros += 1,
                '1'..='9' => {
                    short.extend(std::iter::repeat_n('0', std::mem::take(&mut zeros)));
                    short.push(c);
                }
                _ => {
                    zeros = 0;
                    if matches!(c, ' ' | '|' | '"' | ',' | ')') && !is_fraction {
                        short.truncate(short.trim_end_matches(' ').len());
                    }
                    if is_fraction && short.ends_with('.') {
                        short.pop();
                    }
                    is_fraction = c == '.' && short.ends_with(|d: char| d.is_ascii_digit());
                    short.push(c);
                }
            }
        }
        short
    };
    let sorted = |rows: &Vec<String>| {
        let mut rows: Vec<String> = rows.iter().map(row).collect();
        rows.sort_unstable();
        rows
    };
    answers.iter().map(|answer| answer.as_ref().map(sorted).map_err(Clone::clone)).collect()
}

/// Whether both refuse the statement before it runs, each for another of its mistakes.
fn both_refuse(mine: &[Answer], right: &[Answer]) -> bool {
    let refused = |answers: &[Answer]| matches!(answers, [Err(code)] if code.starts_with("42"));
    refused(mine) && refused(right)
}

/// Whether the answers of two runs are more different than the order of rows allows.
fn is_told_apart(one: &[Answer], other: &[Answer]) -> bool {
    let timeout = Err("57014".to_owned());
    let is_cut = one.contains(&timeout) || other.contains(&timeout);
    !is_cut && unscaled(one) != unscaled(other)
}

async fn prepared(target: &Target) -> Client {
    let database = target.create_database("random_queries").await;
    let client = database.connect().await;
    for sql in TABLES {
        client.batch_execute(sql).await.unwrap_or_else(|error| panic!("{sql}: {error:?}"));
    }
    client.batch_execute("SET statement_timeout = '2s'").await.expect("a setting");
    client
}

/// The answers to a statement and, if it changes a table, to a look at it; nothing stays.
async fn run(client: &Client, statement: &query::Statement) -> Vec<Answer> {
    let Some(table) = statement.changes else { return vec![answer(client, &statement.sql).await] };
    client.batch_execute("BEGIN").await.expect("begins");
    let mut answers = vec![answer(client, &statement.sql).await];
    if answers[0].is_ok() {
        answers.push(answer(client, &format!("SELECT * FROM {table}")).await);
    }
    client.batch_execute("ROLLBACK").await.expect("rolls back");
    answers
}

#[tokio::test(flavor = "multi_thread")]
async fn random_queries_give_what_postgres_gives() {
    let target = Target::from_env();
    let ours = prepared(&target).await;
    let postgres = Target::postgres();
    let theirs = match &postgres {
        Some(target) => Some(prepared(target).await),
        None => {
            println!("skipped: without POSTGRES_URL the queries are only run, not compared");
            None
        }
    };
    let on_disk = prepared(&target).await;
    on_disk.batch_execute(LITTLE_MEMORY).await.expect("a setting");
    let (mut too_little, mut compared) = (0, 0);
    let seeds = match seed_from_env() {
        Some(seed) => seed..seed + 1,
        None => 1..1 + Size::from_env().pick(150, 5_000, 200_000),
    };
    let mut different = Vec::new();
    let (mut rows, mut failed, mut other_scales, mut other_mistakes) = (0, 0, 0, 0);
    for seed in seeds {
        let statement = Generator::new(Random::new(seed)).statement();
        let mine = run(&ours, &statement).await;
        match &mine[0] {
            Ok(found) => rows += found.len(),
            Err(_) => failed += 1,
        }
        let from_disk = run(&on_disk, &statement).await;
        if from_disk.contains(&Err("53200".to_owned())) {
            too_little += 1;
        } else if is_told_apart(&mine, &from_disk) {
            different.push(seed);
            println!("BRAID_TEST_SEED={seed}\n  {}", statement.sql);
            println!("  in memory: {mine:?}\n  on disk:   {from_disk:?}");
        } else {
            compared += 1;
        }
        let Some(theirs) = &theirs else { continue };
        let right = run(theirs, &statement).await;
        let timeout = Err("57014".to_owned());
        if mine == right || mine.contains(&timeout) || right.contains(&timeout) {
            continue;
        }
        if unscaled(&mine) == unscaled(&right) {
            other_scales += 1;
            continue;
        }
        if both_refuse(&mine, &right) {
            other_mistakes += 1;
            continue;
        }
        different.push(seed);
        if different.len() <= SHOWN_MAX {
            println!("BRAID_TEST_SEED={seed}\n  {}", statement.sql);
            println!("  here:       {mine:?}\n  PostgreSQL: {right:?}");
        }
    }
    println!(
        "{rows} rows, {failed} errors; differ: {other_scales} scales, {other_mistakes} errors"
    );
    println!("with little memory: {compared} the same, {too_little} without enough");
    assert!(too_little <= compared / 2, "too many need more memory");
    assert!(other_scales * 1_000 <= rows, "too many differ in the scale of numbers");
    assert!(other_mistakes * 1_000 <= failed, "too many answer with another mistake");
    assert!(different.is_empty(), "{} queries differ: {different:?}", different.len());
}

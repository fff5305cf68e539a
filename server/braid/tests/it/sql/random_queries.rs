//! Random queries: subqueries in every place, joins, LATERAL, grouping sets, windows, set
//! operations, WITH and DML over tables with columns of many types and NULLs.
//!
//! Every query runs on PostgreSQL too, if `POSTGRES_URL` names one: rows and SQLSTATEs must be the
//! same. A second test does so for a role for which random policies hold.
//! Without PostgreSQL no query may be a bug of ours (XX000). `BRAID_TEST_SIZE` says how many there
//! are; `BRAID_TEST_SEED` repeats the one query of a seed.
//!
//! Every query also runs with so little memory that operators go to disk, and must give the same.

#![allow(clippy::print_stdout, reason = "a test says what it did and what it left out")]

use braid_testkit::random::{Random, seed_from_env};
use braid_testkit::size::Size;
use braid_testkit::target::{Target, sorted_rows};
use tokio_postgres::Client;

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
        Ok(messages) => Ok(sorted_rows(&messages)),
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
        // All rows, whatever policies hide.
        client.batch_execute("RESET ROLE").await.expect("a superuser");
        answers.push(answer(client, &format!("SELECT * FROM {table}")).await);
    }
    client.batch_execute("ROLLBACK").await.expect("rolls back");
    answers
}

/// Both sides, and what has been found out.
struct Comparison {
    /// The servers run as long as these live.
    _targets: (Target, Option<Target>),
    ours: Client,
    /// With so little memory that operators go to disk.
    on_disk: Client,
    theirs: Option<Client>,
    different: Vec<u64>,
    rows: usize,
    failed: usize,
    other_scales: usize,
    other_mistakes: usize,
    /// Statements that gave the same with little memory, and those that had not enough.
    compared: usize,
    too_little: usize,
}

impl Comparison {
    async fn new() -> Self {
        let targets = (Target::from_env(), Target::postgres());
        let ours = prepared(&targets.0).await;
        let theirs = match &targets.1 {
            Some(target) => Some(prepared(target).await),
            None => {
                println!("skipped: without POSTGRES_URL the queries are only run, not compared");
                None
            }
        };
        let on_disk = prepared(&targets.0).await;
        on_disk.batch_execute(LITTLE_MEMORY).await.expect("a setting");
        Self {
            _targets: targets,
            ours,
            on_disk,
            theirs,
            different: Vec::new(),
            rows: 0,
            failed: 0,
            other_scales: 0,
            other_mistakes: 0,
            compared: 0,
            too_little: 0,
        }
    }

    /// Runs statements that both sides have to accept.
    async fn both(&self, sql: &str) {
        let memory = self.on_disk.batch_execute("RESET statement_memory_limit").await;
        memory.expect("a setting");
        for client in [&self.ours, &self.on_disk].into_iter().chain(&self.theirs) {
            client.batch_execute(sql).await.unwrap_or_else(|error| panic!("{sql}: {error:?}"));
        }
        self.on_disk.batch_execute(LITTLE_MEMORY).await.expect("a setting");
    }

    /// Runs the statement of a seed; `context` is shown if the answers differ.
    async fn compare(&mut self, seed: u64, context: &str) {
        let statement = Generator::new(Random::new(seed)).statement();
        let mine = run(&self.ours, &statement).await;
        match &mine[0] {
            Ok(found) => self.rows += found.len(),
            Err(_) => self.failed += 1,
        }
        self.compare_on_disk(seed, &statement, &mine).await;
        let Some(theirs) = &self.theirs else { return };
        let right = run(theirs, &statement).await;
        let timeout = Err("57014".to_owned());
        if mine == right || mine.contains(&timeout) || right.contains(&timeout) {
            return;
        }
        if unscaled(&mine) == unscaled(&right) {
            self.other_scales += 1;
            return;
        }
        if both_refuse(&mine, &right) {
            self.other_mistakes += 1;
            return;
        }
        self.different.push(seed);
        if self.different.len() <= SHOWN_MAX {
            println!("BRAID_TEST_SEED={seed}{context}\n  {}", statement.sql);
            println!("  here:       {mine:?}\n  PostgreSQL: {right:?}");
        }
    }

    /// Runs the statement with little memory.
    async fn compare_on_disk(&mut self, seed: u64, statement: &query::Statement, mine: &[Answer]) {
        let from_disk = run(&self.on_disk, statement).await;
        if from_disk.contains(&Err("53200".to_owned())) {
            self.too_little += 1;
        } else if is_told_apart(mine, &from_disk) {
            self.different.push(seed);
            println!("BRAID_TEST_SEED={seed}\n  {}", statement.sql);
            println!("  in memory: {mine:?}\n  on disk:   {from_disk:?}");
        } else {
            self.compared += 1;
        }
    }

    fn finish(self) {
        let Self { different, rows, failed, other_scales, other_mistakes, .. } = self;
        println!(
            "with little memory: {} the same, {} without enough",
            self.compared, self.too_little
        );
        assert!(self.too_little <= self.compared / 2, "too many need more memory");
        println!(
            "{rows} rows, {failed} errors; differ: {other_scales} scales, {other_mistakes} errors"
        );
        assert!(other_scales * 1_000 <= rows, "too many differ in the scale of numbers");
        assert!(other_mistakes * 1_000 <= failed, "too many answer with another mistake");
        assert!(different.is_empty(), "{} queries differ: {different:?}", different.len());
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn random_queries_give_what_postgres_gives() {
    let mut comparison = Comparison::new().await;
    let seeds = match seed_from_env() {
        Some(seed) => seed..seed + 1,
        None => 1..1 + Size::from_env().pick(150, 1_200, 200_000),
    };
    for seed in seeds {
        comparison.compare(seed, "").await;
    }
    comparison.finish();
}

/// Conditions of policies. Those of `t1` may read `t2`.
const CONDITIONS: [(&str, &[&str]); 2] = [
    (
        "t1",
        &[
            "i > 0",
            "id % 2 = 0 OR s IS NULL",
            "id IN (SELECT id FROM t2)",
            "EXISTS (SELECT FROM t2 WHERE t2.i = t1.i)",
            "NOT EXISTS (SELECT FROM t2 WHERE t2.id = t1.id AND t2.b)",
            "g >= (SELECT min(g) FROM t2)",
            "id < (SELECT count(*) + 3 FROM t2 WHERE t2.i = t1.i)",
            "b",
            "is_odd(id)",
            "current_user = 'random_policies'",
        ],
    ),
    ("t2", &["g > 1", "s IS NOT NULL AND id > 2", "b", "f < 0.3", "is_odd(g::int)", "true"]),
];

/// Random policies for the role `random_policies`.
fn random_policies(random: &mut Random) -> String {
    let mut sql = String::from("RESET ROLE;\n");
    for (table, conditions) in CONDITIONS {
        for number in 0..4 {
            sql.push_str(&format!("DROP POLICY IF EXISTS p{number} ON {table};\n"));
        }
        for number in 0..random.below(5) {
            let kind = ["PERMISSIVE", "PERMISSIVE", "RESTRICTIVE"][random.below(3) as usize];
            let command = ["ALL", "ALL", "SELECT", "INSERT", "UPDATE", "DELETE"];
            let command = command[random.below(6) as usize];
            let mut condition = || conditions[random.below(conditions.len() as u64) as usize];
            let (using, check) = (condition(), condition());
            let using = match command {
                "INSERT" => String::new(),
                _ => format!(" USING ({using})"),
            };
            let check = match command {
                "SELECT" | "DELETE" => String::new(),
                _ => format!(" WITH CHECK ({check})"),
            };
            let policy = format!("p{number} ON {table} AS {kind} FOR {command}{using}{check}");
            sql.push_str(&format!("CREATE POLICY {policy};\n"));
        }
    }
    sql + "SET ROLE random_policies"
}

/// The statements of a role for which policies hold. Every few of them the policies change.
#[tokio::test(flavor = "multi_thread")]
async fn random_policies_give_what_postgres_gives() {
    const STATEMENTS: u64 = 25;
    let mut comparison = Comparison::new().await;
    comparison
        .both(
            "DO $$ BEGIN IF NOT EXISTS (SELECT FROM pg_roles WHERE rolname = 'random_policies') \
             THEN CREATE ROLE random_policies; END IF; END $$; \
             CREATE FUNCTION is_odd(int) RETURNS bool LANGUAGE sql STABLE AS 'SELECT $1 % 2 = 1'; \
             ALTER VIEW v1 SET (security_invoker = true); \
             GRANT ALL ON ALL TABLES IN SCHEMA public TO random_policies; \
             ALTER TABLE t1 ENABLE ROW LEVEL SECURITY; \
             ALTER TABLE t2 ENABLE ROW LEVEL SECURITY",
        )
        .await;
    let seeds = match seed_from_env() {
        Some(seed) => seed..seed + 1,
        None => 1..1 + Size::from_env().pick(100, 500, 100_000),
    };
    let mut policies = None;
    for seed in seeds {
        let block = seed / STATEMENTS;
        if policies.as_ref().is_none_or(|(known, _)| *known != block) {
            let sql = random_policies(&mut Random::new(block));
            comparison.both(&sql).await;
            policies = Some((block, sql));
        }
        let context = policies.as_ref().map_or("", |(_, sql)| sql.as_str()).to_owned();
        comparison.compare(seed, &format!("\n{context}")).await;
    }
    comparison.finish();
}

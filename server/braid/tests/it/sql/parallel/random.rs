//! Random aggregates give the same rows with one worker, with several and with little memory.
//!
//! Each statement runs with one worker, with three, and with two to eight that have little memory.
//! With `POSTGRES_URL` PostgreSQL answers it, too. Some run after uncommitted changes of their
//! table. Rows are compared in a fixed order, errors by SQLSTATE.
//!
//! `BRAID_TEST_SIZE` says how many statements there are. `BRAID_TEST_SEED=n` runs seed n alone.

#![allow(clippy::print_stdout, reason = "a test says how much it has compared")]

use braid_testkit::random::{Random, seed_from_env};
use braid_testkit::server::{Config, Server};
use braid_testkit::size::Size;
use braid_testkit::target::{Target, connect, sorted_rows};
use tokio_postgres::Client;

use super::generator::{Generator, Statement};
use super::tables;

/// Rows of a table, roughly.
fn rows() -> u64 {
    Size::from_env().pick(2_500, 3_500, 3_500)
}

/// Statements that differ are shown up to this number.
const SHOWN_MAX: usize = 20;
/// Every this many statements one has a random limit of memory.
const RANDOM_LIMIT_EVERY: u64 = 2;

/// The rows of a statement in a fixed order, or the SQLSTATE of its error.
type Answer = Result<Vec<String>, String>;

/// A connection with its settings.
struct Side {
    url: String,
    settings: String,
    client: Client,
}

impl Side {
    async fn new(url: &str, settings: &str) -> Self {
        let settings = format!("SET statement_timeout = '60s'; {settings}");
        let client = connected(url, &settings).await;
        Self { url: url.to_owned(), settings, client }
    }

    async fn set(&mut self, settings: String) {
        self.client.batch_execute(&settings).await.expect("settings");
        self.settings = settings;
    }

    async fn answer(&mut self, sql: &str) -> Answer {
        let answer = match self.client.simple_query(sql).await {
            Ok(messages) => Ok(sorted_rows(&messages)),
            Err(error) => match error.as_db_error() {
                Some(error) => Err(error.code().code().to_owned()),
                None => Err(format!("{error:?}")),
            },
        };
        if answer.as_ref().is_err_and(|code| is_fault(code)) {
            // A fault may end the connection.
            self.client = connected(&self.url, &self.settings).await;
        }
        answer
    }

    /// The answer to a statement, and the rows that it inserts. Its changes are rolled back.
    async fn run(&mut self, statement: &Statement) -> Answer {
        if statement.before.is_empty() && !statement.fills_sink {
            return self.answer(&statement.sql).await;
        }
        self.client.batch_execute("BEGIN").await.expect("begins");
        for sql in &statement.before {
            let done = self.client.batch_execute(sql).await;
            done.unwrap_or_else(|error| panic!("{sql}: {error:?}"));
        }
        let mut found = self.answer(&statement.sql).await;
        if found.is_ok() && statement.fills_sink {
            found = self.answer("TABLE sink").await;
        }
        self.client.batch_execute("ROLLBACK").await.expect("rolls back");
        found
    }
}

/// Whether an error is one that no statement may have.
fn is_fault(code: &str) -> bool {
    code.starts_with("XX") || code.len() != 5
}

async fn connected(url: &str, settings: &str) -> Client {
    let client = connect(url, None).await;
    client.batch_execute(settings).await.expect("settings");
    client
}

/// A server of our own that analyzes no table by itself: a seed always has the same plans.
async fn our_server() -> Server {
    let server = Server::start(Config::new().arg("--analyze-interval").arg("0s"));
    fill(&connect(server.sql_url(), None).await, false).await;
    server
}

/// PostgreSQL, if there is one.
async fn their_side() -> Option<Side> {
    let database = Target::postgres()?.create_database("random_workers").await;
    fill(&database.connect().await, true).await;
    Some(Side::new(&database.url(), "SET TIME ZONE 'UTC'").await)
}

async fn fill(client: &Client, is_postgres: bool) {
    for sql in tables::statements(is_postgres, rows()) {
        client.batch_execute(&sql).await.unwrap_or_else(|error| panic!("{sql}: {error:?}"));
    }
}

/// The sides, and what has been found out.
struct Comparison {
    server: Server,
    alone: Side,
    workers: Side,
    limited: Side,
    theirs: Option<Side>,
    different: Vec<u64>,
    statements: usize,
    parallel: usize,
    rows: usize,
    failed: usize,
    too_little: usize,
    other_order: usize,
}

impl Comparison {
    async fn new() -> Self {
        let (server, theirs) = (our_server().await, their_side().await);
        if theirs.is_none() {
            println!("without POSTGRES_URL only our own answers are compared");
        }
        let ours = server.sql_url().to_owned();
        let alone = Side::new(&ours, &tables::workers(1)).await;
        let three = Side::new(&ours, &tables::workers(3)).await;
        let limited = Side::new(&ours, "").await;
        Self {
            server,
            alone,
            workers: three,
            limited,
            theirs,
            different: Vec::new(),
            statements: 0,
            parallel: 0,
            rows: 0,
            failed: 0,
            too_little: 0,
            other_order: 0,
        }
    }

    /// Changes the settings of the side with little memory. Returns the statements that did it.
    async fn limit(&mut self, seed: u64) -> String {
        let mut random = Random::new(seed ^ 0xf00d);
        let (kilobytes, number) = match seed.is_multiple_of(RANDOM_LIMIT_EVERY) {
            // From 16 kB to 2 MB, smaller ones more often.
            true => ((16 << random.below(7)) + random.below(1_025), 2 + random.below(7)),
            false => (64, 3),
        };
        let settings =
            format!("{}; SET statement_memory_limit = '{kilobytes}kB'", tables::workers(number));
        self.limited.set(settings.clone()).await;
        settings
    }

    async fn compare(&mut self, seed: u64) {
        let statement = Generator::new(Random::new(seed), rows()).statement();
        self.statements += 1;
        let plan = self.workers.answer(&format!("EXPLAIN {}", statement.sql)).await;
        let plan = plan.unwrap_or_else(|code| panic!("{code}: EXPLAIN {}", statement.sql));
        self.parallel += usize::from(plan.iter().any(|line| line.contains("Workers Planned")));
        let right = self.alone.run(&statement).await;
        match &right {
            Ok(found) => self.rows += found.len(),
            Err(code) => {
                assert_ne!(code, "57014", "too slow: BRAID_TEST_SEED={seed} {}", statement.sql);
                self.failed += 1;
            }
        }
        let found = self.workers.run(&statement).await;
        self.check(seed, &statement, "three workers", (&right, &found));
        let limit = self.limit(seed).await;
        let found = self.limited.run(&statement).await;
        match found == Err("53200".to_owned()) {
            true => self.too_little += 1,
            false => self.check(seed, &statement, &limit, (&right, &found)),
        }
        let Some(theirs) = &mut self.theirs else { return };
        let postgres = theirs.run(&statement).await;
        if statement.may_fail && right.is_ok() != postgres.is_ok() {
            self.other_order += 1;
            return;
        }
        self.check(seed, &statement, "PostgreSQL", (&right, &postgres));
    }

    fn check(&mut self, seed: u64, statement: &Statement, name: &str, sides: (&Answer, &Answer)) {
        let (alone, other) = sides;
        let is_wrong = |answer: &Answer| answer.as_ref().is_err_and(|code| is_fault(code));
        if alone == other && !is_wrong(alone) {
            return;
        }
        self.different.push(seed);
        if self.different.len() > SHOWN_MAX {
            return;
        }
        println!("BRAID_TEST_SEED={seed}");
        for sql in statement.before.iter().chain([&statement.sql]) {
            println!("  {sql};");
        }
        let missing = |from: &Answer, of: &Answer| match (from, of) {
            (Ok(from), Ok(of)) => {
                let missing = from.iter().filter(|row| !of.contains(row)).take(5);
                format!("{} rows, of them only here: {:?}", from.len(), missing.collect::<Vec<_>>())
            }
            (Ok(rows), _) => format!("{} rows", rows.len()),
            (Err(code), _) => code.clone(),
        };
        println!("  one worker: {}\n  {name}: {}", missing(alone, other), missing(other, alone));
        if is_wrong(alone) || is_wrong(other) {
            let output = self.server.output();
            let lines: Vec<&str> = output.lines().collect();
            if let Some(at) = lines.iter().rposition(|line| line.contains("panicked at")) {
                println!("  {}", lines[at..(at + 2).min(lines.len())].join("\n  "));
            }
        }
    }

    fn finish(self) {
        println!(
            "{} statements, {} of them with workers; {} rows, {} errors; {} without enough memory; \
             {} fail only here or only in PostgreSQL",
            self.statements,
            self.parallel,
            self.rows,
            self.failed,
            self.too_little,
            self.other_order
        );
        let Self { different, .. } = self;
        assert!(different.is_empty(), "{} answers differ: {different:?}", different.len());
        if seed_from_env().is_some() {
            return;
        }
        assert!(self.parallel * 3 >= self.statements, "too few plans have workers");
        assert!(self.too_little * 2 <= self.statements, "too many need more memory");
        assert!(self.failed * 4 <= self.statements, "too many fail");
        assert!(self.failed > 0 && self.rows > self.statements, "too few rows or errors");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn random_aggregates_are_the_same_with_workers_and_with_little_memory() {
    let mut comparison = Comparison::new().await;
    let seeds = match seed_from_env() {
        Some(seed) => seed..seed + 1,
        None => 1..1 + Size::from_env().pick(70, 1_000, 30_000),
    };
    for seed in seeds {
        comparison.compare(seed).await;
    }
    comparison.finish();
}

//! Sends the records of a file through one connection.

use std::time::Duration;

use tokio_postgres::error::SqlState;
use tokio_postgres::{Client, SimpleQueryMessage};

use super::format::{difference, format, sorted};
use super::parse::{Record, RecordKind};

/// Longer than any record takes on a slow machine; a hang ends here.
const RECORD_TIMEOUT: Duration = Duration::from_secs(300);

/// A record that did not do what the file says.
#[derive(Clone, Debug)]
pub struct Failure {
    /// Where the record starts.
    pub line: usize,
    /// What it sent.
    pub sql: String,
    /// What was wrong.
    pub why: String,
}

/// What came of a file.
#[derive(Clone, Debug, Default)]
pub struct Report {
    /// Queries that returned what was expected.
    pub passed: usize,
    /// Queries that did not, and statements that should have failed but did not (or the reverse).
    pub failures: Vec<Failure>,
    /// How many of the failures are queries.
    pub failed_queries: usize,
    /// The line of the statement after which nothing was run.
    pub stopped: Option<usize>,
}

/// Runs the records in order until the end or until a `statement ok` fails.
pub async fn run_file(client: &Client, records: &[Record]) -> Report {
    let mut report = Report::default();
    for record in records {
        let outcome = tokio::time::timeout(RECORD_TIMEOUT, client.simple_query(&record.sql)).await;
        let why = match outcome {
            Err(_) => Some("no answer".to_owned()),
            Ok(outcome) => check(record, outcome),
        };
        let is_query = matches!(record.kind, RecordKind::Query { .. });
        let Some(why) = why else {
            report.passed += usize::from(is_query);
            continue;
        };
        report.failed_queries += usize::from(is_query);
        report.failures.push(Failure { line: record.line, sql: record.sql.clone(), why });
        if matches!(record.kind, RecordKind::StatementOk) || client.is_closed() {
            report.stopped = Some(record.line);
            break;
        }
    }
    report
}

/// Why the outcome is not the expected one; `None` if it is.
fn check(
    record: &Record,
    outcome: Result<Vec<SimpleQueryMessage>, tokio_postgres::Error>,
) -> Option<String> {
    let messages = match (&record.kind, outcome) {
        (RecordKind::StatementError, Err(error)) if error.as_db_error().is_some() => return None,
        (RecordKind::StatementOk, Err(error)) if is_kept_drop(record, &error) => return None,
        (_, Err(error)) => return Some(describe(&error)),
        (RecordKind::StatementOk, Ok(_)) => return None,
        (RecordKind::StatementError, Ok(_)) => return Some("no error".to_owned()),
        (RecordKind::Query { .. }, Ok(messages)) => messages,
    };
    let RecordKind::Query { types, sort, expected } = &record.kind else { return None };
    let kinds: Vec<char> = types.chars().collect();
    let mut rows = Vec::new();
    for message in &messages {
        let SimpleQueryMessage::Row(row) = message else { continue };
        if row.len() != kinds.len() {
            return Some(format!("{} columns instead of {}", row.len(), kinds.len()));
        }
        let values = kinds.iter().enumerate().map(|(at, kind)| format(row.get(at), *kind));
        rows.push(values.collect::<Vec<_>>());
    }
    difference(&sorted(rows, *sort), expected)
}

/// The corpus drops views before those that depend on them, which PostgreSQL refuses. What stays
/// does no harm: names are not used twice.
fn is_kept_drop(record: &Record, error: &tokio_postgres::Error) -> bool {
    let dependents = SqlState::DEPENDENT_OBJECTS_STILL_EXIST;
    record.sql.starts_with("DROP VIEW") && error.code() == Some(&dependents)
}

fn describe(error: &tokio_postgres::Error) -> String {
    match error.as_db_error() {
        Some(error) => format!("{} {}", error.code().code(), error.message()),
        None => error.to_string(),
    }
}

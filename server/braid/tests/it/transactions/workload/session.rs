//! A connection, and what its open transaction has been told.

use std::collections::BTreeSet;

use tokio_postgres::{Client, SimpleQueryMessage};

use super::model::Log;
use super::statement::{Answer, Row, Statement};

/// One of the sessions of a story.
pub(super) struct Session {
    pub client: Client,
    pub open: Option<Open>,
}

/// An open transaction.
#[derive(Debug, Default)]
pub(super) struct Open {
    /// The newest state when its first statement was sent.
    pub since: Option<usize>,
    pub log: Log,
    /// Whether it runs behind SAVEPOINT cockroach_restart.
    pub restartable: bool,
    /// Whether it was told to try again.
    pub doomed: bool,
    /// Rows that it has locked for sure, until its end, or until it fails with nowhere to go back
    /// to.
    pub held: BTreeSet<i64>,
    /// Whether it may have locks.
    pub may_lock: bool,
    /// Sessions whose open transactions have locked a row that this one has locked too: somebody's
    /// lock was lost. Only one of them may commit.
    pub rivals: BTreeSet<usize>,
    /// Whether a rival has committed.
    pub is_beaten: bool,
}

impl Open {
    /// The savepoints that are left to go back to, the restart savepoint aside, and where in the
    /// log they were made.
    pub(super) fn savepoints(&self) -> Vec<(char, usize)> {
        let mut left: Vec<(char, usize)> = Vec::new();
        for (at, (statement, answer)) in self.log.iter().enumerate() {
            let place = |name| left.iter().rposition(|(other, _)| *other == name);
            match statement {
                _ if matches!(answer, Answer::Error(_)) => {}
                Statement::Savepoint(name) => left.push((*name, at)),
                Statement::RollbackTo(name) => left.truncate(place(*name).map_or(0, |at| at + 1)),
                Statement::Release(name) => left.truncate(place(*name).unwrap_or(0)),
                _ => {}
            }
        }
        left
    }

    /// After a retry error, ROLLBACK TO a savepoint before all work restarts the transaction:
    /// nothing that was read counts, and the locks are gone. True if that was such a rollback.
    pub(super) fn begins_again(&mut self) -> bool {
        let Some((Statement::RollbackTo(name), Answer::Count(_))) = self.log.last() else {
            return false;
        };
        let left = self.savepoints();
        let Some((_, at)) = left.iter().rfind(|(other, _)| other == name) else { return false };
        if !self.doomed || !self.log[..*at].iter().all(|(statement, _)| statement.is_mark()) {
            return false;
        }
        self.log.truncate(at + 1);
        self.held.clear();
        (self.since, self.doomed, self.is_beaten) = (None, false, false);
        true
    }

    /// Whether it waits for ROLLBACK, or ROLLBACK TO.
    pub(super) fn failed(&self) -> bool {
        matches!(self.log.last(), Some((_, Answer::Error(_))))
    }
}

impl Session {
    pub(super) async fn send(&self, sql: &str) -> Answer {
        let messages = match self.client.simple_query(sql).await {
            Ok(messages) => messages,
            Err(error) => {
                let code = error.code().unwrap_or_else(|| panic!("{sql}: {error:?}"));
                return Answer::Error(code.code().to_owned());
            }
        };
        let mut rows = None;
        let mut count = 0;
        for message in messages {
            match message {
                SimpleQueryMessage::RowDescription(_) => rows = Some(Vec::new()),
                SimpleQueryMessage::Row(row) => {
                    let number = |at| row.get(at).map(|text| text.parse().expect("a number"));
                    let values = Row { v: number(1).expect("v is not NULL"), u: number(2) };
                    rows.get_or_insert_default().push((number(0).expect("an id"), values));
                }
                SimpleQueryMessage::CommandComplete(rows) => count = rows,
                _ => {}
            }
        }
        rows.map_or(Answer::Count(count), Answer::Rows)
    }
}

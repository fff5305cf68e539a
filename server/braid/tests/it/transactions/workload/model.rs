//! The committed states of a slot, and whether a transaction's answers fit one of them.
//!
//! ```text
//!   states      0 ──── 1 ──── 2 ──── 3        each COMMIT that may write adds one
//!   a transaction whose first statement came at 1 has been told things:
//!   they must fit 1, or 2, or 3 (the server may have moved its snapshot), as a whole;
//!   its COMMIT must fit 3, and what its statements do there is 4
//! ```

use super::statement::{Answer, Rows, Statement};

/// The committed states, oldest first.
#[derive(Debug, Default)]
pub(super) struct Model {
    states: Vec<Rows>,
}

/// What a transaction has asked and was told.
pub(super) type Log = Vec<(Statement, Answer)>;

impl Model {
    pub(super) fn new(first: Rows) -> Model {
        Model { states: vec![first] }
    }

    /// The number of the newest state.
    pub(super) fn newest(&self) -> usize {
        self.states.len() - 1
    }

    /// Whether the log fits some state since that one.
    pub(super) fn fits_any(&self, since: usize, log: &Log) -> bool {
        (since..self.states.len()).any(|number| self.replay(number, log).is_some())
    }

    /// Adds what the transaction did as the newest state; false if its log does not fit the one
    /// before.
    pub(super) fn commit(&mut self, log: &Log) -> bool {
        let newest = self.newest();
        match self.replay(newest, log) {
            Some(rows) => {
                // A row that was written with its old values is still a new version to its readers.
                if log.iter().any(|(statement, _)| statement.locks()) {
                    self.states.push(rows);
                }
                true
            }
            None => false,
        }
    }

    /// Whether the transaction's commit changes something, wherever its log fits.
    pub(super) fn changes(&self, since: usize, log: &Log) -> bool {
        (since..self.states.len())
            .filter_map(|number| Some((number, self.replay(number, log)?)))
            .any(|(number, rows)| rows != self.states[number])
    }

    /// The rows after the log, if every answer fits.
    fn replay(&self, number: usize, log: &Log) -> Option<Rows> {
        let mut rows = self.states[number].clone();
        let mut savepoints: Vec<(char, Rows)> = Vec::new();
        let mut failed = false;
        for (statement, answer) in log {
            let is_error = matches!(answer, Answer::Error(_));
            match statement {
                Statement::RollbackTo(name) => {
                    let place = savepoints.iter().rposition(|(other, _)| other == name);
                    if is_error != place.is_none() {
                        return None;
                    }
                    if let Some(place) = place {
                        savepoints.truncate(place + 1);
                        rows = savepoints[place].1.clone();
                        failed = false;
                        continue;
                    }
                }
                _ if failed => {
                    if *answer != Answer::Error("25P02".to_owned()) {
                        return None;
                    }
                }
                Statement::Savepoint(name) => savepoints.push((*name, rows.clone())),
                Statement::Release(name) => {
                    let place = savepoints.iter().rposition(|(other, _)| other == name);
                    if is_error != place.is_none() {
                        return None;
                    }
                    savepoints.truncate(place.unwrap_or(savepoints.len()));
                }
                _ if is_contention(answer) => {}
                _ => {
                    if !statement.fits(&mut rows, answer) {
                        return None;
                    }
                }
            }
            failed |= is_error;
        }
        Some(rows)
    }
}

/// Whether the answer says that somebody else was in the way.
pub(super) fn is_contention(answer: &Answer) -> bool {
    matches!(answer, Answer::Error(code) if code == "40001" || code == "55P03")
}

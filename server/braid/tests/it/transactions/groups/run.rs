//! Runs a script with or without the clause, and says what came of it.

use tokio_postgres::{Client, SimpleQueryMessage};

use super::script::{Block, CONTENTS, End, Script};

/// What one block has come to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Outcome {
    /// The answers of statements that were waited for, by their place.
    Done(Vec<(usize, String)>),
    /// The first failed statement's place, SQLSTATE and message.
    Failed(usize, String, String),
    /// Taken back whatever it was.
    Undone,
    /// A retry error: the whole transaction has to begin again.
    Again,
}

/// How a transaction is sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Mode {
    /// Without the clause. Nothing may conflict.
    Serial,
    /// With the clause.
    Parallel,
    /// With the clause, behind the restart savepoint.
    Restarting,
}

/// Attempts of one transaction, at most. On busy cores the other client wins hundreds of times.
const ATTEMPTS_MAX: usize = 1_000;

/// One run of a script.
pub(super) struct Run<'a> {
    client: &'a Client,
    mode: Mode,
    /// The number of the last statement sent, as the server counts.
    number: usize,
    /// The number before the block's first statement.
    first: usize,
    /// Attempts that ended with a retry error.
    pub retries: usize,
}

struct Failed {
    code: String,
    message: String,
    context: Option<String>,
}

impl<'a> Run<'a> {
    pub(super) fn new(client: &'a Client, mode: Mode) -> Self {
        Run { client, mode, number: 0, first: 0, retries: 0 }
    }

    async fn send(&mut self, sql: &str) -> Result<String, Failed> {
        self.number += 1;
        match self.client.simple_query(sql).await {
            Ok(messages) => Ok(print(&messages)),
            Err(error) => {
                let error = error.as_db_error().expect("an error of the server");
                Err(Failed {
                    code: error.code().code().to_owned(),
                    message: error.message().to_owned(),
                    context: error.where_().map(str::to_owned),
                })
            }
        }
    }

    async fn sure(&mut self, sql: &str) {
        if let Err(failed) = self.send(sql).await {
            panic!("{sql}: {} {}", failed.code, failed.message);
        }
    }

    /// Runs the script, again after every retry error; one outcome a block, as far as it came.
    pub(super) async fn script(&mut self, script: &Script) -> Vec<Outcome> {
        let restarts = self.mode == Mode::Restarting;
        self.begin(script, restarts).await;
        for _ in 0..ATTEMPTS_MAX {
            let outcomes = self.attempt(script).await;
            if outcomes.last() != Some(&Outcome::Again) {
                return outcomes;
            }
            assert_ne!(self.mode, Mode::Serial, "nothing conflicts with serial execution");
            self.retries += 1;
            let kept = restarts && {
                let back = "ROLLBACK TO SAVEPOINT cockroach_restart";
                self.send(back).await.is_ok()
            };
            if !kept {
                self.client.simple_query("ROLLBACK").await.ok();
                self.begin(script, restarts).await;
            }
        }
        panic!("{ATTEMPTS_MAX} attempts of\n{}", script.text());
    }

    async fn begin(&mut self, script: &Script, restarts: bool) {
        self.sure(script.begin).await;
        self.number = 0;
        if restarts {
            self.sure("SAVEPOINT cockroach_restart").await;
        }
    }

    async fn attempt(&mut self, script: &Script) -> Vec<Outcome> {
        let mut outcomes = Vec::new();
        for block in &script.blocks {
            if block.has_savepoint && self.send("SAVEPOINT sp").await.is_err() {
                outcomes.push(Outcome::Again);
                return outcomes;
            }
            let outcome = self.block(block, script.commits).await;
            if outcome == Outcome::Again {
                outcomes.push(outcome);
                return outcomes;
            }
            let has_failed = matches!(outcome, Outcome::Failed(..));
            let is_over = block.end == End::Nothing && has_failed && script.commits;
            outcomes.push(outcome);
            if block.end == End::Undo || (has_failed && block.has_savepoint) {
                self.sure("ROLLBACK TO sp").await;
            } else if is_over {
                self.client.simple_query("ROLLBACK").await.ok();
                return outcomes;
            } else if has_failed {
                break;
            }
            if block.end == End::Nothing && script.commits {
                if self.mode == Mode::Restarting {
                    self.sure("COMMIT").await;
                }
                return outcomes;
            }
        }
        self.sure("ROLLBACK").await;
        outcomes
    }

    async fn block(&mut self, block: &Block, commits: bool) -> Outcome {
        self.first = self.number;
        // Nobody asks what has failed in what is taken back.
        let is_dropped = block.end == End::Undo || (block.end == End::Nothing && !commits);
        let mut answers = Vec::new();
        for (place, step) in block.steps.iter().enumerate() {
            let is_queued = self.mode != Mode::Serial && step.is_queued;
            let clause = if is_queued { " RETURNING NOTHING" } else { "" };
            match self.send(&format!("{}{clause}", step.sql)).await {
                Ok(answer) if is_queued => assert_eq!(answer, "0"),
                Ok(_) if step.is_queued => {}
                Ok(answer) => answers.push((place, answer)),
                Err(failed) if failed.is_retry() => return Outcome::Again,
                Err(_) if is_dropped => return Outcome::Undone,
                Err(failed) => return self.failed(failed, place),
            }
        }
        let end = match block.end {
            End::Query => "SELECT count(*), sum(id), sum(k) FROM item",
            End::Release => "RELEASE sp",
            _ if is_dropped => return Outcome::Undone,
            End::Undo | End::Nothing if self.mode == Mode::Restarting => {
                "RELEASE cockroach_restart"
            }
            End::Undo | End::Nothing => "COMMIT",
        };
        match self.send(end).await {
            Err(failed) if failed.is_retry() => Outcome::Again,
            Ok(answer) => {
                answers.push((block.steps.len(), answer));
                Outcome::Done(answers)
            }
            Err(failed) => self.failed(failed, block.steps.len()),
        }
    }

    /// The first line of the context names the first failed statement.
    fn failed(&self, failed: Failed, place: usize) -> Outcome {
        let named = failed.context.as_deref().and_then(|context| {
            let rest = context.strip_prefix("statement ")?;
            let number: usize = rest.split(':').next()?.parse().ok()?;
            let place = number.checked_sub(self.first + 1);
            Some(place.unwrap_or_else(|| panic!("behind statement {}: {context}", self.first)))
        });
        Outcome::Failed(named.unwrap_or(place), failed.code, failed.message)
    }
}

impl Failed {
    fn is_retry(&self) -> bool {
        // Below SERIALIZABLE a check that has changed is told as what it checks.
        ["40001", "40P01"].contains(&self.code.as_str()) || self.message.ends_with("has changed")
    }
}

/// Everything in the tables.
pub(super) async fn contents(client: &Client) -> String {
    let mut all = String::new();
    for sql in CONTENTS {
        let messages = client.simple_query(sql).await.expect("the contents");
        all.push_str(&print(&messages));
        all.push('\n');
    }
    all
}

fn print(messages: &[SimpleQueryMessage]) -> String {
    let mut parts = Vec::new();
    for message in messages {
        match message {
            SimpleQueryMessage::Row(row) => {
                let values: Vec<&str> =
                    (0..row.len()).map(|at| row.get(at).unwrap_or("NULL")).collect();
                parts.push(values.join(" "));
            }
            SimpleQueryMessage::CommandComplete(count) => parts.push(count.to_string()),
            _ => {}
        }
    }
    parts.join("\n")
}

//! Workers that move money until their connection breaks, and remember what they were told.

use std::collections::BTreeSet;

use tokio::task::JoinHandle;
use tokio_postgres::Client;
use tokio_postgres::error::SqlState;

use braid_testkit::random::Random;
use braid_testkit::target::try_connect;

pub(super) const ACCOUNTS: i32 = 20;
pub(super) const OPENING_BALANCE: i64 = 1_000;

/// What a worker knows of its transactions, numbered one after the other.
#[derive(Default)]
pub(super) struct Knowledge {
    /// Acknowledged, or found after a restart: must stay.
    pub committed: BTreeSet<i32>,
    /// COMMIT was sent and not answered: either way is right, until it is looked up.
    pub unknown: Option<i32>,
    pub next: i32,
}

/// The workers between two rounds.
pub(super) struct Load {
    pub workers: Vec<Knowledge>,
    seed: u64,
    rounds: u64,
}

type Running = Vec<JoinHandle<Knowledge>>;

impl Load {
    pub(super) fn new(workers: i32, seed: u64) -> Self {
        Load { workers: (0..workers).map(|_| Knowledge::default()).collect(), seed, rounds: 0 }
    }

    pub(super) fn acknowledged(&self) -> usize {
        self.workers.iter().map(|worker| worker.committed.len()).sum()
    }

    /// Starts every worker on a connection of its own.
    pub(super) fn start(&mut self, url: &str) -> Running {
        self.rounds += 1;
        let workers = std::mem::take(&mut self.workers);
        let start = |(number, knowledge)| {
            let url = url.to_owned();
            let random = Random::new(self.seed + self.rounds * 1_000 + number as u64);
            tokio::spawn(async move { work(&url, number as i32, knowledge, random).await })
        };
        workers.into_iter().enumerate().map(start).collect()
    }

    /// Waits for the workers, whose connections are broken.
    pub(super) async fn finish(&mut self, running: Running) {
        for worker in running {
            self.workers.push(worker.await.expect("a worker saw an error it should not see"));
        }
    }
}

/// Makes the tables. The ledger has an index, whose entries must agree with it.
pub(super) async fn set_up(client: &Client) {
    let accounts: Vec<String> =
        (0..ACCOUNTS).map(|id| format!("({id}, {OPENING_BALANCE})")).collect();
    let sql = format!(
        "CREATE TABLE account (id int PRIMARY KEY, balance bigint NOT NULL);
         CREATE TABLE ledger (worker int, seq int, leg int, account int NOT NULL,
                              amount bigint NOT NULL, PRIMARY KEY (worker, seq, leg));
         CREATE INDEX ledger_account ON ledger (account);
         INSERT INTO account VALUES {}",
        accounts.join(", ")
    );
    client.batch_execute(&sql).await.expect("the tables");
}

async fn work(url: &str, number: i32, mut knowledge: Knowledge, mut random: Random) -> Knowledge {
    let Ok(client) = try_connect(url, None).await else { return knowledge };
    loop {
        let seq = knowledge.next;
        match transfer(&client, number, seq, &mut random).await {
            Outcome::Committed => {
                knowledge.committed.insert(seq);
                knowledge.next += 1;
            }
            Outcome::Again => {}
            Outcome::Broken { commit_sent } => {
                knowledge.unknown = commit_sent.then_some(seq);
                knowledge.next += 1;
                return knowledge;
            }
        }
    }
}

enum Outcome {
    Committed,
    Again,
    Broken { commit_sent: bool },
}

async fn transfer(client: &Client, worker: i32, seq: i32, random: &mut Random) -> Outcome {
    let from = random.below(ACCOUNTS as u64) as i32;
    let to = (from + 1 + random.below(ACCOUNTS as u64 - 1) as i32) % ACCOUNTS;
    let amount = 1 + random.below(10) as i64;
    let statements = [
        "BEGIN".to_owned(),
        format!("UPDATE account SET balance = balance - {amount} WHERE id = {from}"),
        format!("UPDATE account SET balance = balance + {amount} WHERE id = {to}"),
        format!(
            "INSERT INTO ledger VALUES ({worker}, {seq}, 0, {from}, {}),
                                       ({worker}, {seq}, 1, {to}, {amount})",
            -amount
        ),
    ];
    for statement in &statements {
        if let Err(error) = client.batch_execute(statement).await {
            return failed(client, &error, false).await;
        }
    }
    match client.batch_execute("COMMIT").await {
        Ok(()) => Outcome::Committed,
        Err(error) => failed(client, &error, true).await,
    }
}

async fn failed(client: &Client, error: &tokio_postgres::Error, commit_sent: bool) -> Outcome {
    match error.code() {
        None => Outcome::Broken { commit_sent },
        Some(code) if *code == SqlState::ADMIN_SHUTDOWN => Outcome::Broken { commit_sent },
        Some(code)
            if *code == SqlState::T_R_SERIALIZATION_FAILURE
                || *code == SqlState::T_R_DEADLOCK_DETECTED =>
        {
            match client.batch_execute("ROLLBACK").await {
                Ok(()) => Outcome::Again,
                Err(_) => Outcome::Broken { commit_sent: false },
            }
        }
        Some(_) => panic!("an error that a transfer should not see: {error:?}"),
    }
}

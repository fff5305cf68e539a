//! One connection that sends random transactions and writes down what it was told.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use braid_testkit::history::{Key, Op, Outcome, Transaction};
use braid_testkit::random::Random;
use braid_testkit::target::try_connect;
use tokio_postgres::error::SqlState;
use tokio_postgres::{Client, Error};

use super::pipeline::{Answer, Pipeline};
use super::run::{Shared, rows};

/// How many keys are in use at a time.
pub(super) const WINDOW: i64 = 10;
/// After that many transactions the window moves on by a key, so that lists stay short.
const TRANSACTIONS_A_KEY: usize = 24;

/// The first key in use when that transaction begins.
pub(super) fn first_key(transaction: usize) -> i64 {
    (transaction / TRANSACTIONS_A_KEY) as i64
}

/// Sends transactions until there were enough; connects again when the server was killed.
pub(super) async fn work(shared: Arc<Shared>, process: u32) -> Vec<Transaction> {
    let mut random = Random::new(shared.plan.seed.wrapping_mul(1_000) + u64::from(process));
    let mut done = Vec::new();
    while !shared.is_done() {
        let Some(url) = shared.url(process) else {
            tokio::time::sleep(Duration::from_millis(5)).await;
            continue;
        };
        let Ok(client) = try_connect(&url, None).await else {
            tokio::time::sleep(Duration::from_millis(5)).await;
            continue;
        };
        let Ok(mut pipeline) = Pipeline::connect(&url).await else { continue };
        while let Some(number) = shared.next_transaction() {
            let first = first_key(number);
            let mut sender = Sender {
                client: &client,
                pipeline: &mut pipeline,
                is_lost: false,
                shared: &shared,
                random: &mut random,
                first,
                ops: vec![],
            };
            let sent_ns = shared.now_ns();
            let end = sender.transaction().await;
            let (outcome, is_broken) = match end {
                Ok(outcome) => (outcome, sender.is_lost),
                Err(Failure { error, commit_sent }) => after(&sender, &error, commit_sent).await,
            };
            let ops = sender.ops;
            let answered_ns = shared.now_ns();
            done.push(Transaction { process, sent_ns, answered_ns, ops, outcome });
            if is_broken {
                break;
            }
        }
    }
    done
}

struct Failure {
    error: Error,
    /// Whether the server may have committed before the answer was lost.
    commit_sent: bool,
}

impl From<Error> for Failure {
    fn from(error: Error) -> Failure {
        Failure { error, commit_sent: false }
    }
}

/// How a transaction ended that met an error, and whether the connection is of no more use.
async fn after(sender: &Sender<'_>, error: &Error, commit_sent: bool) -> (Outcome, bool) {
    let lost = if commit_sent { Outcome::Unknown } else { Outcome::Failed };
    match error.code() {
        None => (lost, true),
        Some(code) if *code == SqlState::ADMIN_SHUTDOWN => (lost, true),
        Some(code) if code.code() == "40003" => (Outcome::Unknown, true),
        Some(code)
            if *code == SqlState::T_R_SERIALIZATION_FAILURE
                || *code == SqlState::T_R_DEADLOCK_DETECTED
                || *code == SqlState::LOCK_NOT_AVAILABLE
                || (*code == SqlState::IO_ERROR && sender.shared.plan.stores_fail) =>
        {
            (Outcome::Failed, sender.client.batch_execute("ROLLBACK").await.is_err())
        }
        Some(_) => {
            let ops = &sender.ops;
            panic!("an error that a transaction should not see: {error:?} after {ops:?}")
        }
    }
}

struct Sender<'a> {
    client: &'a Client,
    pipeline: &'a mut Pipeline,
    /// The pipeline's connection is of no more use.
    is_lost: bool,
    shared: &'a Shared,
    random: &'a mut Random,
    first: i64,
    ops: Vec<Op>,
}

type Sent<T = ()> = Result<T, Failure>;

impl Sender<'_> {
    async fn transaction(&mut self) -> Sent<Outcome> {
        match self.random.below(12) {
            0 | 1 => self.single().await,
            2 => self.read_only().await,
            3..6 => self.implicit().await,
            6..8 => self.crossing().await,
            _ => self.block().await,
        }
    }

    /// A statement of its own.
    async fn single(&mut self) -> Sent<Outcome> {
        let sent = match self.random.below(6) {
            0 => self.read_range(false).await,
            1 => self.update_returning().await,
            2 => self.read_list(false).await,
            3 => self.read_register(false).await,
            4 => self.lookups().await,
            _ => self.append(1, false).await,
        };
        sent.map_err(|failure| Failure { commit_sent: true, ..failure })?;
        Ok(Outcome::Committed)
    }

    /// Takes locks of few keys in any order, so that deadlocks come about, also with implicit
    /// transactions that run again; it does not wait for long, so that those get on then.
    async fn crossing(&mut self) -> Sent<Outcome> {
        self.send("BEGIN; SET LOCAL lock_timeout = '30ms'").await?;
        for _ in 0..3 {
            let key = self.hot_key();
            self.append_at(key, 1, false).await?;
        }
        let committed = self.send("COMMIT").await;
        committed.map_err(|failure| Failure { commit_sent: true, ..failure })?;
        Ok(Outcome::Committed)
    }

    /// One of a few keys.
    fn hot_key(&mut self) -> i64 {
        self.first + self.random.below(3) as i64
    }

    /// Statements without BEGIN before one Sync. All are sent before the first is answered, and
    /// the server runs them again as long as they cannot be committed.
    async fn implicit(&mut self) -> Sent<Outcome> {
        let mut texts = Vec::new();
        let mut reads: Vec<Vec<Key>> = Vec::new();
        // Where the reads of a statement belong among the writes.
        let mut places = Vec::new();
        for _ in 0..3 + self.random.below(4) {
            let (text, keys) = self.implicit_step();
            texts.push(text);
            reads.push(keys);
            places.push(self.ops.len());
        }
        let answer = self.pipeline.run(&texts).await;
        let results = match answer {
            Ok(Answer::Committed(results)) => results,
            Ok(Answer::Refused(code)) => return Ok(self.refused(&code)),
            Err(_) => {
                self.is_lost = true;
                return Ok(Outcome::Unknown);
            }
        };
        let writes = std::mem::take(&mut self.ops);
        let mut done = 0;
        for ((keys, found), place) in reads.iter().zip(results).zip(places) {
            self.ops.extend_from_slice(&writes[done..place]);
            done = place;
            self.saw(keys, found);
        }
        Ok(Outcome::Committed)
    }

    /// A statement, and the keys that its rows tell of. Its writes are noted. Few keys and pauses
    /// let many of these transactions meet, so that they run again more than once.
    fn implicit_step(&mut self) -> (String, Vec<Key>) {
        let key = self.hot_key();
        let value = self.shared.next_value();
        match self.random.below(7) {
            6 => ("SELECT 0, '' WHERE pg_sleep(0.004) IS NULL".to_owned(), vec![]),
            0 => {
                let to = key + self.random.below(4) as i64;
                let sql = format!("SELECT key, vals FROM list WHERE key BETWEEN {key} AND {to}");
                (sql, (key..=to).map(Key::List).collect())
            }
            1 => {
                let sql = format!("SELECT key, value FROM register WHERE key = {key}");
                (sql, vec![Key::Register(key)])
            }
            2 => {
                self.ops.push(Op::Write(Key::Register(key), value));
                (format!("UPSERT INTO register (key, value) VALUES ({key}, {value})"), vec![])
            }
            3 => {
                let sql = format!("SELECT key, vals FROM list WHERE key = {key} FOR UPDATE");
                (sql, vec![Key::List(key)])
            }
            _ => {
                self.ops.push(Op::Write(Key::List(key), value));
                let sql = format!(
                    "INSERT INTO list VALUES ({key}, {}, ' {value}') ON CONFLICT (key)
                     DO UPDATE SET vals = list.vals || excluded.vals",
                    key % 3
                );
                (sql, vec![])
            }
        }
    }

    fn refused(&mut self, code: &str) -> Outcome {
        match code {
            "40001" | "40P01" => Outcome::Failed,
            "58030" if self.shared.plan.stores_fail => Outcome::Failed,
            "40003" => {
                self.is_lost = true;
                Outcome::Unknown
            }
            _ => panic!("an error that a transaction should not see: {code} after {:?}", self.ops),
        }
    }

    /// Readers that say so are never told to try again.
    async fn read_only(&mut self) -> Sent<Outcome> {
        self.send("BEGIN READ ONLY").await?;
        for _ in 0..=self.random.below(4) {
            let sent = self.read(false).await;
            if let Err(Failure { error, .. }) = &sent
                && error.code() == Some(&SqlState::T_R_SERIALIZATION_FAILURE)
            {
                panic!("a READ ONLY transaction was told to try again: {error:?}");
            }
            sent?;
        }
        self.send("COMMIT").await?;
        Ok(Outcome::Committed)
    }

    async fn block(&mut self) -> Sent<Outcome> {
        self.send("BEGIN").await?;
        for _ in 0..=self.random.below(6) {
            if self.random.one_in(6) {
                self.savepoint().await?;
            } else {
                self.step().await?;
            }
        }
        if self.random.one_in(10) {
            self.send("ROLLBACK").await?;
            return Ok(Outcome::Failed);
        }
        let committed = self.send("COMMIT").await;
        committed.map_err(|failure| Failure { commit_sent: true, ..failure })?;
        Ok(Outcome::Committed)
    }

    /// Some steps behind a savepoint, at times a statement that fails, at times all undone.
    async fn savepoint(&mut self) -> Sent {
        self.send("SAVEPOINT s").await?;
        self.ops.push(Op::Savepoint);
        for _ in 0..=self.random.below(2) {
            self.step().await?;
        }
        let fails = self.random.one_in(3);
        if fails {
            let failed = self.client.batch_execute("SELECT 1 / 0").await;
            match failed {
                Err(error) if error.code() == Some(&SqlState::DIVISION_BY_ZERO) => {}
                Err(error) => return Err(error.into()),
                Ok(()) => panic!("a division by zero has a result"),
            }
        }
        if fails || self.random.one_in(2) {
            self.send("ROLLBACK TO s").await?;
            self.ops.push(Op::RollbackTo);
        } else {
            self.send("RELEASE s").await?;
        }
        Ok(())
    }

    async fn step(&mut self) -> Sent {
        match self.random.below(13) {
            0..5 => self.read(true).await,
            5 => self.skip_locked().await,
            6 => self.append(1, false).await,
            7 => self.append(3, false).await,
            8 => self.append(2, true).await,
            9 => self.update_returning().await,
            10 => self.write(false, "").await,
            11 => self.burst().await,
            _ => {
                self.read_register(true).await?;
                self.write(true, "").await
            }
        }
    }

    async fn read(&mut self, may_lock: bool) -> Sent {
        match self.random.below(4) {
            0 => self.read_range(false).await,
            1 => self.read_range(true).await,
            2 => self.read_register(may_lock).await,
            _ => self.read_list(may_lock).await,
        }
    }

    fn key(&mut self) -> i64 {
        self.first + self.random.below(WINDOW as u64) as i64
    }

    async fn send(&self, sql: &str) -> Sent {
        Ok(self.client.batch_execute(sql).await?)
    }

    async fn read_list(&mut self, may_lock: bool) -> Sent {
        let key = self.key();
        let clause = if may_lock && self.random.one_in(3) {
            *self.random.pick(&["FOR UPDATE", "FOR SHARE", "FOR NO KEY UPDATE"])
        } else {
            ""
        };
        let sql = format!("SELECT key, vals FROM list WHERE key = {key} {clause}");
        let found = rows(self.client, &sql).await?;
        self.saw(&[Key::List(key)], found);
        Ok(())
    }

    /// Two statements of one text, so of one transaction, though the first could be the only one.
    async fn lookups(&mut self) -> Sent {
        let (one, other) =
            (self.first, self.first + 1 + self.random.below(WINDOW as u64 - 1) as i64);
        let (one, other) = if self.random.one_in(2) { (one, other) } else { (other, one) };
        let select = |key| format!("SELECT key, vals FROM list WHERE key = {key}");
        let found = rows(self.client, &[select(one), select(other)].join("; ")).await?;
        self.saw(&[Key::List(one), Key::List(other)], found);
        Ok(())
    }

    /// Lists of a range, all or those of one bucket by its index; those that are missing count.
    async fn read_range(&mut self, by_bucket: bool) -> Sent {
        let from = self.key();
        let to = from + self.random.below(5) as i64;
        let order = if self.random.one_in(2) { "ASC" } else { "DESC" };
        let bucket = self.random.below(3) as i64;
        let range = format!("key BETWEEN {from} AND {to} ORDER BY key {order}");
        let (sql, keys): (_, Vec<Key>) = if by_bucket {
            let keys = (from..=to).filter(|key| key % 3 == bucket);
            let sql = format!("SELECT key, vals FROM list WHERE bucket = {bucket} AND {range}");
            (sql, keys.map(Key::List).collect())
        } else {
            let keys = (from..=to).map(Key::List).collect();
            (format!("SELECT key, vals FROM list WHERE {range}"), keys)
        };
        let found = rows(self.client, &sql).await?;
        self.saw(&keys, found);
        Ok(())
    }

    /// Rows that others have locked, and the gaps, are not read.
    async fn skip_locked(&mut self) -> Sent {
        let from = self.key();
        let sql = format!(
            "SELECT key, vals FROM list WHERE key BETWEEN {from} AND {} FOR UPDATE SKIP LOCKED",
            from + 2
        );
        let found = rows(self.client, &sql).await?;
        let keys: Vec<Key> = found.iter().map(|(key, _)| Key::List(*key)).collect();
        self.saw(&keys, found);
        Ok(())
    }

    fn saw(&mut self, keys: &[Key], found: Vec<(i64, Vec<i64>)>) {
        let mut found: BTreeMap<i64, Vec<i64>> = found.into_iter().collect();
        for key in keys {
            let (Key::List(number) | Key::Register(number)) = key;
            self.ops.push(Op::Read(*key, found.remove(number).unwrap_or_default()));
        }
        assert!(found.is_empty(), "rows that were not asked for: {found:?}");
    }

    /// Appends to some lists in one statement, whether or not they exist.
    async fn append(&mut self, lists: i64, returning_nothing: bool) -> Sent {
        let from = self.key();
        self.append_at(from, lists, returning_nothing).await
    }

    async fn append_at(&mut self, from: i64, lists: i64, returning_nothing: bool) -> Sent {
        let mut rows = Vec::new();
        for key in from..from + lists {
            let value = self.shared.next_value();
            rows.push(format!("({key}, {}, ' {value}')", key % 3));
            // Before the answer: without one the write may have been made.
            self.ops.push(Op::Write(Key::List(key), value));
        }
        let end = if returning_nothing { " RETURNING NOTHING" } else { "" };
        let sql = format!(
            "INSERT INTO list VALUES {} ON CONFLICT (key)
             DO UPDATE SET vals = list.vals || excluded.vals{end}",
            rows.join(", ")
        );
        self.send(&sql).await
    }

    /// Writes that are acknowledged before they are done, some of them of the same keys.
    async fn burst(&mut self) -> Sent {
        for _ in 0..2 + self.random.below(4) {
            match self.random.below(3) {
                0 => self.append(1, true).await?,
                1 => self.append(3, true).await?,
                _ => self.write(false, " RETURNING NOTHING").await?,
            }
        }
        Ok(())
    }

    /// Appends to a list that exists, and reads it.
    async fn update_returning(&mut self) -> Sent {
        let (key, value) = (self.key(), self.shared.next_value());
        let sql = format!(
            "UPDATE list SET vals = vals || ' {value}' WHERE key = {key} RETURNING key, vals"
        );
        self.ops.push(Op::Write(Key::List(key), value));
        let found = rows(self.client, &sql).await?;
        if found.is_empty() {
            self.ops.pop();
        }
        self.saw(&[Key::List(key)], found);
        Ok(())
    }

    async fn read_register(&mut self, may_lock: bool) -> Sent {
        let key = self.key();
        let clause = if may_lock && self.random.one_in(4) { "FOR UPDATE" } else { "" };
        let sql = format!("SELECT key, value FROM register WHERE key = {key} {clause}");
        let found = rows(self.client, &sql).await?;
        self.saw(&[Key::Register(key)], found);
        Ok(())
    }

    /// Writes the register that was read last, or any.
    async fn write(&mut self, last_read: bool, end: &str) -> Sent {
        let last = match self.ops.last() {
            Some(Op::Read(Key::Register(key), _)) if last_read => Some(*key),
            _ => None,
        };
        let key = last.unwrap_or_else(|| self.key());
        let value = self.shared.next_value();
        self.ops.push(Op::Write(Key::Register(key), value));
        let sql = format!("UPSERT INTO register (key, value) VALUES ({key}, {value}){end}");
        self.send(&sql).await
    }
}

//! What is recorded of a run.

use std::fmt;

/// Names a list or a register; the two are apart even under one number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Key {
    /// Values are appended to it.
    List(i64),
    /// A value is written over the one before.
    Register(i64),
}

/// A value; no two writes of a history have the same.
pub type Value = i64;

/// One step of a transaction, in the order in which they were sent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Op {
    /// The value was appended to the list, or written into the register.
    Write(Key, Value),
    /// What a key held: all of a list, the one value of a register; nothing if it did not exist.
    Read(Key, Vec<Value>),
    /// A savepoint, which replaces the one before.
    Savepoint,
    /// Back to the savepoint: writes since are undone, reads stay reads.
    RollbackTo,
}

/// How a transaction ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// The commit was acknowledged.
    Committed,
    /// It was rolled back, or an error says that nothing of it stays.
    Failed,
    /// Nobody knows: the connection broke while the commit was on its way.
    Unknown,
}

/// A transaction as its client saw it.
#[derive(Clone, Debug)]
pub struct Transaction {
    /// Who sent it.
    pub process: u32,
    /// When its first message was sent, in nanoseconds of one clock.
    pub sent_ns: u64,
    /// When its end was answered.
    pub answered_ns: u64,
    /// What it did.
    pub ops: Vec<Op>,
    /// How it ended.
    pub outcome: Outcome,
}

/// All transactions of a run, in any order.
#[derive(Clone, Debug, Default)]
pub struct History {
    /// The transactions; messages name them by their place.
    pub transactions: Vec<Transaction>,
}

impl fmt::Display for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Key::List(number) => write!(f, "list {number}"),
            Key::Register(number) => write!(f, "register {number}"),
        }
    }
}

impl fmt::Display for Op {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Op::Write(key @ Key::List(_), value) => write!(f, "append {value} to {key}"),
            Op::Write(key, value) => write!(f, "write {value} to {key}"),
            Op::Read(key, values) => {
                let values: Vec<String> = values.iter().map(Value::to_string).collect();
                write!(f, "read {key} = [{}]", values.join(" "))
            }
            Op::Savepoint => f.write_str("savepoint"),
            Op::RollbackTo => f.write_str("rollback to"),
        }
    }
}

impl fmt::Display for Transaction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ops: Vec<String> = self.ops.iter().map(Op::to_string).collect();
        let outcome = match self.outcome {
            Outcome::Committed => "committed",
            Outcome::Failed => "failed",
            Outcome::Unknown => "unknown",
        };
        let (sent, answered) = (self.sent_ns / 1_000, self.answered_ns / 1_000);
        write!(f, "process {}, {sent} to {answered} us, {outcome}: ", self.process)?;
        f.write_str(&ops.join("; "))
    }
}

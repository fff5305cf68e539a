//! The form in which other checkers read a history: Elle's JSON lines, one event a line.
//!
//! Lists and registers are two workloads there, so a file holds the one or the other. Writes that
//! were undone are left out, with the reads that saw them.

use std::collections::BTreeSet;

use super::record::{History, Key, Op, Outcome, Transaction, Value};

impl History {
    /// The steps on lists (else those on registers) as events of `invoke`, then `ok`, `fail` or
    /// `info`.
    pub fn to_jsonl(&self, lists: bool) -> String {
        let mut events: Vec<(u64, bool, String)> = Vec::new();
        for (number, transaction) in self.transactions.iter().enumerate() {
            let steps = steps(transaction, lists);
            if steps.is_empty() {
                continue;
            }
            let (kind, answered) = match transaction.outcome {
                Outcome::Committed => ("ok", transaction.answered_ns),
                Outcome::Failed => ("fail", transaction.answered_ns),
                Outcome::Unknown => ("info", transaction.answered_ns),
            };
            let asked: Vec<String> = steps.iter().map(|step| step.json(false)).collect();
            let told: Vec<String> = steps.iter().map(|step| step.json(kind == "ok")).collect();
            // A process of its own for each: one whose outcome is unknown may send no more.
            let line = |kind: &str, value: &[String]| {
                format!(
                    "{{\"type\":\"{kind}\",\"process\":{number},\"value\":[{}]}}",
                    value.join(",")
                )
            };
            events.push((transaction.sent_ns, true, line("invoke", &asked)));
            events.push((answered, false, line(kind, &told)));
        }
        // Of two at the same moment the one that was sent comes first: no order is claimed.
        events.sort_by_key(|(time, is_invoke, _)| (*time, !is_invoke));
        events.into_iter().map(|(_, _, line)| line + "\n").collect()
    }
}

enum Step {
    Write(Key, Value),
    Read(Key, Vec<Value>),
}

impl Step {
    fn json(&self, with_result: bool) -> String {
        match self {
            Step::Write(Key::List(key), value) => format!("[\"append\",{key},{value}]"),
            Step::Write(Key::Register(key), value) => format!("[\"w\",{key},{value}]"),
            Step::Read(Key::List(key) | Key::Register(key), _) if !with_result => {
                format!("[\"r\",{key},null]")
            }
            Step::Read(Key::List(key), values) => {
                let values: Vec<String> = values.iter().map(Value::to_string).collect();
                format!("[\"r\",{key},[{}]]", values.join(","))
            }
            Step::Read(Key::Register(key), values) => {
                let value = values.first().map_or("null".to_owned(), Value::to_string);
                format!("[\"r\",{key},{value}]")
            }
        }
    }
}

fn steps(transaction: &Transaction, lists: bool) -> Vec<Step> {
    let mut steps: Vec<Step> = Vec::new();
    let mut saved = 0;
    for op in &transaction.ops {
        match op {
            Op::Write(key, value) => steps.push(Step::Write(*key, *value)),
            Op::Read(key, values) => steps.push(Step::Read(*key, values.clone())),
            Op::Savepoint => saved = steps.len(),
            Op::RollbackTo => undo(&mut steps, saved),
        }
    }
    steps.retain(|step| {
        let (Step::Write(key, _) | Step::Read(key, _)) = step;
        matches!(key, Key::List(_)) == lists
    });
    steps
}

/// Takes out the writes from that place on, and the reads behind them of the same keys.
fn undo(steps: &mut Vec<Step>, from: usize) {
    let mut written: BTreeSet<Key> = BTreeSet::new();
    let mut at = 0;
    steps.retain(|step| {
        at += 1;
        match step {
            _ if at <= from => true,
            Step::Write(key, _) => {
                written.insert(*key);
                false
            }
            Step::Read(key, _) => !written.contains(key),
        }
    });
}

//! Works out who must stand before whom, and finds what needs no graph to be wrong.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use super::facts::Facts;
use super::graph::{Cause, Graph};
use super::record::{History, Key, Outcome, Value};
use super::report::{Anomaly, Kind, Report};
use crate::history::cycle;

/// Anomalies reported that need no graph; more are alike.
const PLAIN_MAX: usize = 20;

/// Checks a history for strict serializability; see the module's documentation.
pub fn check(history: &History) -> Report {
    let mut checker = Checker::new(history);
    checker.settle_unknown();
    checker.check_reads();
    for (key, readers) in checker.readers() {
        match key {
            Key::List(_) => checker.list(key, &readers),
            Key::Register(_) => checker.register(key, &readers),
        }
    }
    let edges = checker.graph.edges.iter().map(Vec::len).sum();
    checker.real_time();
    let mut anomalies = checker.anomalies;
    cycle::find(&checker.graph, history, &mut anomalies);
    let committed = checker.committed.iter().filter(|committed| **committed).count();
    Report { anomalies, committed, edges }
}

/// The role of a written value in its own transaction.
#[derive(Clone, Copy, PartialEq, Eq)]
enum ValueRole {
    /// The last value that the transaction wrote to the key.
    Last,
    /// The same transaction wrote the key again later.
    Intermediate,
    /// Rolled back to a savepoint.
    Undone,
}

struct Checker<'a> {
    history: &'a History,
    facts: Vec<Facts>,
    /// Who wrote a value, and its role.
    writers: HashMap<Value, (usize, ValueRole)>,
    committed: Vec<bool>,
    graph: Graph,
    anomalies: Vec<Anomaly>,
}

/// For each key the transactions that read or wrote it.
type Readers = BTreeMap<Key, BTreeSet<usize>>;

impl<'a> Checker<'a> {
    fn new(history: &'a History) -> Checker<'a> {
        let facts: Vec<Facts> = history.transactions.iter().map(Facts::of).collect();
        let committed = history.transactions.iter().map(|t| t.outcome == Outcome::Committed);
        let mut checker = Checker {
            history,
            facts,
            writers: HashMap::new(),
            committed: committed.collect(),
            graph: Graph::new(history.transactions.len()),
            anomalies: Vec::new(),
        };
        checker.collect_writers();
        checker
    }

    fn collect_writers(&mut self) {
        let mut doubles = Vec::new();
        for (number, facts) in self.facts.iter().enumerate() {
            let undone = facts.undone.iter().map(|value| (*value, ValueRole::Undone));
            let left = facts.writes.values().flat_map(|values| {
                let last = values.len() - 1;
                let role =
                    move |at| if at == last { ValueRole::Last } else { ValueRole::Intermediate };
                values.iter().enumerate().map(move |(at, value)| (*value, role(at)))
            });
            for (value, role) in undone.chain(left) {
                if let Some((other, _)) = self.writers.insert(value, (number, role)) {
                    doubles.push(format!("T{other} and T{number} both wrote {value}"));
                }
            }
        }
        for text in doubles {
            self.report(Kind::Duplicate, text);
        }
    }

    fn report(&mut self, kind: Kind, description: String) {
        if self.anomalies.len() < PLAIN_MAX {
            self.anomalies.push(Anomaly { kind, description });
        }
    }

    /// Transactions of unknown outcome whose values somebody has read did commit; and what they
    /// read themselves counts then.
    fn settle_unknown(&mut self) {
        let mut work: Vec<usize> = (0..self.facts.len()).filter(|n| self.committed[*n]).collect();
        while let Some(number) = work.pop() {
            for value in self.facts[number].reads.values().flatten() {
                let Some((writer, _)) = self.writers.get(value) else { continue };
                let is_unknown = self.history.transactions[*writer].outcome == Outcome::Unknown;
                if is_unknown && !self.committed[*writer] {
                    self.committed[*writer] = true;
                    work.push(*writer);
                }
            }
        }
    }

    /// Values that should not be there, in any order of transactions.
    fn check_reads(&mut self) {
        for number in 0..self.facts.len() {
            if !self.committed[number] {
                continue;
            }
            let facts = std::mem::take(&mut self.facts[number]);
            if let Some(text) = &facts.contradiction {
                self.report(Kind::Internal, format!("T{number}: {text}"));
            }
            for (key, values) in &facts.reads {
                self.check_values(number, *key, values);
            }
            self.facts[number] = facts;
        }
    }

    fn check_values(&mut self, reader: usize, key: Key, values: &[Value]) {
        let mut seen = BTreeSet::new();
        for value in values {
            if !seen.insert(value) {
                let text = format!("T{reader} read {value} twice in {key}: {values:?}");
                self.report(Kind::Duplicate, text);
            }
            let Some((writer, role)) = self.writers.get(value).copied() else {
                let text = format!("T{reader} read {value} in {key}, which nobody wrote");
                self.report(Kind::GarbageRead, text);
                continue;
            };
            if role == ValueRole::Undone || !self.committed[writer] {
                let text = format!("T{reader} read {value} in {key}, undone by T{writer}");
                self.report(Kind::AbortedRead, text);
            }
        }
        let Some((writer, ValueRole::Intermediate)) =
            values.last().and_then(|value| self.writers.get(value)).copied()
        else {
            return;
        };
        if writer != reader {
            let text = format!("T{reader} read {key} as {values:?}, in the midst of T{writer}");
            self.report(Kind::IntermediateRead, text);
        }
    }

    fn readers(&self) -> Readers {
        let mut readers = Readers::new();
        for (number, facts) in self.facts.iter().enumerate() {
            if self.committed[number] {
                for key in facts.reads.keys().chain(facts.writes.keys()) {
                    readers.entry(*key).or_default().insert(number);
                }
            }
        }
        readers
    }

    fn writer(&self, value: Value) -> Option<usize> {
        let (writer, _) = self.writers.get(&value)?;
        self.committed[*writer].then_some(*writer)
    }

    /// The longest reading is the order of the appends; what nobody read comes after it.
    fn list(&mut self, key: Key, members: &BTreeSet<usize>) {
        let reads: Vec<(usize, Vec<Value>)> = members
            .iter()
            .filter_map(|member| Some((*member, self.facts[*member].reads.get(&key)?.clone())))
            .collect();
        let empty = Vec::new();
        let order = reads.iter().map(|(_, read)| read).max_by_key(|read| read.len());
        let order = order.unwrap_or(&empty);
        for pair in order.windows(2) {
            if let (Some(first), Some(second)) = (self.writer(pair[0]), self.writer(pair[1])) {
                self.graph.add(first, second, Cause::WriteWrite(key, pair[1]));
            }
        }
        let seen: BTreeSet<Value> = order.iter().copied().collect();
        let unseen = self.unseen(key, members, &seen);
        if let Some(last) = order.last().and_then(|value| self.writer(*value)) {
            for (writer, value) in &unseen {
                self.graph.add(last, *writer, Cause::WriteWrite(key, *value));
            }
        }
        for (reader, read) in &reads {
            if !order.starts_with(read) {
                let text = format!("T{reader} read {key} as {read:?}, another as {order:?}");
                self.report(Kind::IncompatibleOrder, text);
                continue;
            }
            if let Some(last) = read.last()
                && let Some(writer) = self.writer(*last)
            {
                self.graph.add(writer, *reader, Cause::WriteRead(key, *last));
            }
            match order.get(read.len()) {
                Some(next) => {
                    if let Some(writer) = self.writer(*next) {
                        self.graph.add(*reader, writer, Cause::ReadWrite(key, *next));
                    }
                }
                None => {
                    for (writer, value) in &unseen {
                        self.graph.add(*reader, *writer, Cause::ReadWrite(key, *value));
                    }
                }
            }
        }
        self.lost(key, &unseen, &reads);
    }

    /// The first value of each transaction that no reading of the list has.
    fn unseen(
        &self,
        key: Key,
        members: &BTreeSet<usize>,
        seen: &BTreeSet<Value>,
    ) -> Vec<(usize, Value)> {
        let first = |member: &usize| {
            let written = self.facts[*member].writes.get(&key)?;
            written.iter().find(|value| !seen.contains(value)).map(|value| (*member, *value))
        };
        members.iter().filter_map(first).collect()
    }

    fn lost(&mut self, key: Key, unseen: &[(usize, Value)], reads: &[(usize, Vec<Value>)]) {
        for (writer, value) in unseen {
            let written = &self.history.transactions[*writer];
            let later = reads.iter().find(|(reader, _)| {
                written.outcome == Outcome::Committed
                    && self.history.transactions[*reader].sent_ns > written.answered_ns
            });
            if let Some((reader, read)) = later {
                let text = format!(
                    "T{writer} appended {value} to {key} and was acknowledged; T{reader}, sent \
                     later, read {read:?}"
                );
                self.report(Kind::LostWrite, text);
            }
        }
    }

    /// Which value follows which in a register is known where a transaction read the one and wrote
    /// the other, for the first state, and by real time.
    fn register(&mut self, key: Key, members: &BTreeSet<usize>) {
        let mut writes: Vec<(usize, Value)> = Vec::new();
        let mut followers: BTreeMap<Option<Value>, Vec<(usize, Value)>> = BTreeMap::new();
        for member in members {
            let facts = &self.facts[*member];
            let Some(last) = facts.writes.get(&key).and_then(|values| values.last()) else {
                continue;
            };
            writes.push((*member, *last));
            if let Some(read) = facts.reads.get(&key) {
                followers.entry(read.first().copied()).or_default().push((*member, *last));
            }
        }
        writes.sort_by_key(|(writer, _)| self.history.transactions[*writer].sent_ns);
        for (value, behind) in &followers {
            let Some(writer) = value.and_then(|value| self.writer(value)) else { continue };
            for (follower, written) in behind {
                self.graph.add(writer, *follower, Cause::WriteWrite(key, *written));
            }
        }
        for reader in members {
            let Some(read) = self.facts[*reader].reads.get(&key) else { continue };
            let read = read.first().copied();
            let writer = read.and_then(|value| self.writer(value));
            if let (Some(writer), Some(value)) = (writer, read) {
                self.graph.add(writer, *reader, Cause::WriteRead(key, value));
            }
            let later = match (read, writer) {
                (None, _) => self.next_in_time(&writes),
                (_, Some(writer)) => self.written_after(&writes, writer),
                _ => Vec::new(),
            };
            let known = followers.get(&read).into_iter().flatten().copied();
            for (follower, written) in later.into_iter().chain(known) {
                self.graph.add(*reader, follower, Cause::ReadWrite(key, written));
            }
        }
    }

    /// When the transaction was over for all the world; never, if its outcome was unknown.
    fn answered_ns(&self, number: usize) -> Option<u64> {
        let transaction = &self.history.transactions[number];
        (transaction.outcome == Outcome::Committed).then_some(transaction.answered_ns)
    }

    fn sent_ns(&self, number: usize) -> u64 {
        self.history.transactions[number].sent_ns
    }

    /// The first of the writes that were sent when that transaction had been answered.
    fn written_after(&self, writes: &[(usize, Value)], number: usize) -> Vec<(usize, Value)> {
        let Some(answered) = self.answered_ns(number) else { return Vec::new() };
        let start = writes.partition_point(|(writer, _)| self.sent_ns(*writer) <= answered);
        self.next_in_time(&writes[start..])
    }

    /// The writes, by the time they were sent, without those that were sent after another of them
    /// was answered: real time puts these after it anyway.
    fn next_in_time(&self, writes: &[(usize, Value)]) -> Vec<(usize, Value)> {
        let mut first_answer = u64::MAX;
        let mut found = Vec::new();
        for (writer, value) in writes {
            if self.sent_ns(*writer) > first_answer {
                break;
            }
            first_answer = first_answer.min(self.answered_ns(*writer).unwrap_or(u64::MAX));
            found.push((*writer, *value));
        }
        found
    }

    /// A chain of moments, one for each acknowledgement: the transaction stands before its moment,
    /// and each transaction after the last moment before it was sent.
    fn real_time(&mut self) {
        let mut ends: Vec<(u64, usize)> = (0..self.facts.len())
            .filter(|number| self.committed[*number])
            .filter_map(|number| Some((self.answered_ns(number)?, number)))
            .collect();
        ends.sort_unstable();
        let mut moments: Vec<(u64, usize)> = Vec::with_capacity(ends.len());
        for (time, number) in ends {
            let moment = self.graph.add_node();
            if let Some((_, before)) = moments.last() {
                self.graph.add(*before, moment, Cause::RealTime);
            }
            self.graph.add(number, moment, Cause::RealTime);
            moments.push((time, moment));
        }
        for (number, transaction) in self.history.transactions.iter().enumerate() {
            let before = moments.partition_point(|(time, _)| *time < transaction.sent_ns);
            if self.committed[number] && before > 0 {
                self.graph.add(moments[before - 1].1, number, Cause::RealTime);
            }
        }
    }
}

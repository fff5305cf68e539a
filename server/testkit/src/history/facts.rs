//! What a single transaction says about the outside: its first reading of each key, its own writes
//! taken off, and the writes that it left. Own writes and repeated readings are compared here.

use std::collections::BTreeMap;

use super::record::{Key, Op, Transaction, Value};

/// A transaction seen from outside.
#[derive(Clone, Debug, Default)]
pub(super) struct Facts {
    /// What each key held before the transaction's own writes.
    pub reads: BTreeMap<Key, Vec<Value>>,
    /// What it left in each key, in order.
    pub writes: BTreeMap<Key, Vec<Value>>,
    /// Written and undone by ROLLBACK TO.
    pub undone: Vec<Value>,
    /// The first reading that contradicts what came before it.
    pub contradiction: Option<String>,
}

impl Facts {
    pub(super) fn of(transaction: &Transaction) -> Facts {
        let mut facts = Facts::default();
        let mut saved = BTreeMap::new();
        for op in &transaction.ops {
            match op {
                Op::Write(key, value) => facts.writes.entry(*key).or_default().push(*value),
                Op::Read(key, values) => facts.read(*key, values),
                Op::Savepoint => saved = facts.writes.clone(),
                Op::RollbackTo => {
                    let undone = std::mem::replace(&mut facts.writes, saved.clone());
                    for (key, values) in undone {
                        let kept = saved.get(&key).map_or(0, Vec::len);
                        facts.undone.extend(&values[kept..]);
                    }
                }
            }
        }
        facts
    }

    fn read(&mut self, key: Key, values: &[Value]) {
        let own = self.writes.get(&key).map_or(&[][..], Vec::as_slice);
        let outside = match key {
            Key::List(_) => values.strip_suffix(own),
            Key::Register(_) => match own.last() {
                // Its own value says nothing of the one before.
                Some(last) if values == [*last] => return,
                Some(_) => None,
                None => Some(values),
            },
        };
        let Some(outside) = outside else {
            self.contradict(format!("{key} was read as {values:?} after own writes {own:?}"));
            return;
        };
        match self.reads.get(&key) {
            None => {
                self.reads.insert(key, outside.to_vec());
            }
            Some(before) if before == outside => {}
            Some(before) => {
                let text = format!("{key} was read as {before:?}, then as {outside:?}");
                self.contradict(text);
            }
        }
    }

    fn contradict(&mut self, text: String) {
        self.contradiction.get_or_insert(text);
    }
}

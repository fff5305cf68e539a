//! Many keys at once. Keys that lie close together in the store are read by walking from one to
//! the next: a step costs a tenth of a search. Rows that an index gives in the order of their
//! primary keys are such keys.
//!
//! ```text
//!   wanted     a     c  d        m           a search each, or
//!   store      a b   c  d  e f … m           a walk: a, b, c, d, e, f, …; then a search for m
//! ```

use super::view::View;
use crate::files::{decode_value, storage_error};
use braid_kv::{Key, Result, Value};
use fjall::Readable;

/// Fewer keys are searched for one by one: finding out whether they are close costs more than it
/// saves.
const KEYS_MIN: usize = 32;
/// Entries that a walk passes on its way to the next key before it gives up.
const STEPS: usize = 6;
/// A walk that has given fewer keys than this was not worth opening. Then the rest is searched for.
const WALK_MIN: usize = 16;

/// An iterator on its way through keys in ascending order.
struct Walk {
    entries: fjall::Iter,
    /// The entry that was read last.
    ahead: Option<(fjall::UserKey, fjall::UserValue)>,
    given: usize,
}

/// What a walk knows of a key.
enum Step {
    Found(Option<Value>),
    TooFar,
}

impl View {
    /// The values of keys, in their order.
    pub(crate) fn read_all(&self, keys: &[Key]) -> Result<Vec<Option<Value>>> {
        if keys.len() >= KEYS_MIN {
            if keys.is_sorted() {
                return self.read_sorted(keys.iter());
            }
            if keys.is_sorted_by(|a, b| a >= b) {
                let mut values = self.read_sorted(keys.iter().rev())?;
                values.reverse();
                return Ok(values);
            }
        }
        keys.iter().map(|key| self.read(key)).collect()
    }

    fn read_sorted<'k>(
        &self,
        keys: impl DoubleEndedIterator<Item = &'k Key> + ExactSizeIterator + Clone,
    ) -> Result<Vec<Option<Value>>> {
        let mut values = Vec::with_capacity(keys.len());
        let Some(last) = keys.clone().next_back() else { return Ok(values) };
        let mut walk: Option<Walk> = None;
        let mut is_worth_it = true;
        for key in keys {
            if is_worth_it {
                let open = walk.get_or_insert_with(|| self.walk(key, last));
                if let Step::Found(value) = open.step_to(self, key)? {
                    values.push(value);
                    continue;
                }
                is_worth_it = open.given >= WALK_MIN;
                walk = None;
            }
            values.push(self.read(key)?);
        }
        Ok(values)
    }

    fn walk(&self, first: &Key, last: &Key) -> Walk {
        let bounds = first.as_slice()..=last.as_slice();
        let entries = self.snapshot.range(&self.files.data, bounds);
        Walk { entries, ahead: None, given: 0 }
    }
}

impl Walk {
    /// Goes on to a key that is not before the one asked for last.
    fn step_to(&mut self, view: &View, key: &Key) -> Result<Step> {
        let mut steps = 0;
        while self.ahead.as_ref().is_none_or(|(ahead, _)| **ahead < **key) {
            if steps == STEPS {
                return Ok(Step::TooFar);
            }
            steps += 1;
            let Some(entry) = self.entries.next() else {
                // Nothing is left up to the last key.
                self.ahead = None;
                return Ok(Step::Found(None));
            };
            self.ahead = Some(entry.into_inner().map_err(storage_error)?);
        }
        self.given += 1;
        let Some((_, stored)) = self.ahead.as_ref().filter(|(ahead, _)| **ahead == **key) else {
            return Ok(Step::Found(None));
        };
        let (number, value) = decode_value(stored)?;
        let is_hidden = !view.tombstones.is_empty() && number < view.tombstones.number_over(key);
        Ok(Step::Found((!is_hidden).then(|| Value::copy_from_slice(value))))
    }
}

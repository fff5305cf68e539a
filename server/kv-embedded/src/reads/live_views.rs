//! Which snapshots somebody may still read: the commit numbers of all views that are alive.

use parking_lot::Mutex;
use std::collections::BTreeMap;

/// Commit numbers of living views, with how many views each has.
#[derive(Debug, Default)]
pub(crate) struct LiveViews {
    numbers: Mutex<BTreeMap<u64, usize>>,
}

impl LiveViews {
    /// Enters a view, before anybody can get it.
    pub(crate) fn add(&self, number: u64) {
        *self.numbers.lock().entry(number).or_default() += 1;
    }

    /// Takes a view out that nobody has any more.
    pub(crate) fn remove(&self, number: u64) {
        let mut numbers = self.numbers.lock();
        if let Some(count) = numbers.get_mut(&number) {
            *count -= 1;
            if *count == 0 {
                numbers.remove(&number);
            }
        }
    }

    /// The number of the oldest view.
    pub(crate) fn oldest(&self) -> Option<u64> {
        self.numbers.lock().first_key_value().map(|(number, _)| *number)
    }

    /// Whether a view has a number of at least `from` and below `to`.
    pub(crate) fn any_in(&self, from: u64, to: u64) -> bool {
        from < to && self.numbers.lock().range(from..to).next().is_some()
    }
}

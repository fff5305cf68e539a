//! Changes of rows that wait until all of them are known: in memory, or on disk once memory is used
//! up.

use braid_exec::{Evaluator, MemoryReservation, RowStore, StoreCursor, row_bytes};
use braid_types::{Result, Row};

/// Old and new rows, and for each the row of the input if RETURNING needs it.
pub(crate) type Lot = (Vec<(Row, Row)>, Vec<Row>);

/// Changes of rows of one table.
pub(crate) struct Changes {
    /// Columns of a row.
    width: usize,
    changes: Vec<(Row, Row)>,
    inputs: Vec<Row>,
    /// Those before whose memory is counted.
    counted: usize,
    held: MemoryReservation,
    /// The others: old row, new row and input in one.
    disk: RowStore,
    /// How many there are.
    pub(crate) total: usize,
}

impl Changes {
    /// No changes yet.
    pub(crate) fn new(evaluator: &Evaluator, width: usize) -> Self {
        Self {
            width,
            changes: Vec::new(),
            inputs: Vec::new(),
            counted: 0,
            held: MemoryReservation::new(&evaluator.run),
            disk: RowStore::new(&evaluator.run),
            total: 0,
        }
    }

    /// Adds a change.
    pub(crate) fn push(&mut self, old: Row, new: Row, input: Row) {
        self.changes.push((old, new));
        self.inputs.push(input);
        self.total += 1;
    }

    /// Takes the changes of the last rows out.
    pub(crate) fn take(&mut self) -> Lot {
        (std::mem::take(&mut self.changes), std::mem::take(&mut self.inputs))
    }

    /// Counts the memory of the changes that were added. If it is used up, all go to disk.
    pub(crate) fn count(&mut self) -> Result<()> {
        if self.counted == self.changes.len() {
            return Ok(());
        }
        let new = self.changes.iter().zip(&self.inputs).skip(self.counted);
        let bytes = |((old, new), input): (&(Row, Row), &Row)| {
            row_bytes(old) + row_bytes(new) + row_bytes(input)
        };
        let bytes = new.map(bytes).sum();
        self.counted = self.changes.len();
        if self.disk.is_empty() && self.held.try_take(bytes)? {
            return Ok(());
        }
        let (changes, inputs) = self.take();
        let row = |((old, new), input): ((Row, Row), Row)| [old, new, input].concat();
        self.disk.append_to_disk(changes.into_iter().zip(inputs).map(row).collect())?;
        self.counted = 0;
        self.held.clear();
        Ok(())
    }

    /// All changes, if they are in memory.
    pub(crate) fn in_memory(&mut self) -> Option<Lot> {
        self.disk.is_empty().then(|| self.take())
    }

    /// The next changes on disk; `None` at their end.
    pub(crate) fn read(&mut self, cursor: &mut StoreCursor) -> Result<Option<Lot>> {
        let (mut changes, mut inputs) = (Vec::new(), Vec::new());
        for mut old in self.disk.read(cursor)? {
            let mut new = old.split_off(self.width.min(old.len()));
            inputs.push(new.split_off(self.width.min(new.len())));
            changes.push((old, new));
        }
        Ok((!changes.is_empty()).then_some((changes, inputs)))
    }
}

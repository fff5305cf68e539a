//! The variables of a call.

use std::sync::Arc;

use braid_exec::Memory;
use braid_types::sql_type::RowType;
use braid_types::{Datum, Error, Result, SqlState, SqlType};

use crate::body::Code;
use crate::plpgsql::Slot;

/// Values that take less are not counted.
const COUNTED_BYTES_MIN: usize = 4096;

/// The variables of a call. Large values count for the statement's memory.
pub(super) struct Frame {
    pub(super) values: Vec<Datum>,
    pub(super) types: Vec<SqlType>,
    /// The names of variables that may not be NULL.
    not_null: Vec<Option<String>>,
    memory: Arc<Memory>,
    counted: usize,
}

impl Frame {
    pub(super) fn new(code: &Code, args: Vec<Datum>, memory: Arc<Memory>) -> Self {
        let types: Vec<SqlType> =
            code.types.iter().map(|ty| ty.clone().unwrap_or_else(unknown_row)).collect();
        let mut values = vec![Datum::Null; types.len()];
        for (slot, arg) in code.inputs.iter().zip(args) {
            values[*slot] = arg;
        }
        let not_null = vec![None; types.len()];
        Self { values, types, not_null, memory, counted: 0 }
    }

    /// Says that a variable may not be NULL.
    pub(super) fn refuse_null(&mut self, slot: Slot, name: &str) {
        self.not_null[slot] = Some(name.to_owned());
    }

    /// Gives a variable a value of its type. 22004 for NULL where there may be none.
    pub(super) fn set(&mut self, slot: Slot, value: Datum) -> Result<()> {
        if value.is_null()
            && let Some(name) = &self.not_null[slot]
        {
            let message =
                format!("null value cannot be assigned to variable \"{name}\" declared NOT NULL");
            return Err(Error::new(SqlState::NullValueNotAllowed, message));
        }
        let size = |value: &Datum| match value.size_bytes() {
            small if small < COUNTED_BYTES_MIN => 0,
            large => large,
        };
        let (before, after) = (size(&self.values[slot]), size(&value));
        if after > 0 {
            self.counted += after;
            self.memory.take(after)?;
        }
        let before = before.min(self.counted);
        self.memory.give(before);
        self.counted -= before;
        self.values[slot] = value;
        Ok(())
    }

    /// Gives an element of an array its value without a copy of the array. The value comes back if
    /// somebody else has the array as well, or if it has no such element.
    pub(super) fn set_element(
        &mut self,
        slot: Slot,
        subscript: i64,
        value: Datum,
    ) -> Result<Option<Datum>> {
        let Datum::Array(array) = &mut self.values[slot] else { return Ok(Some(value)) };
        let Some(array) = Arc::get_mut(array) else { return Ok(Some(value)) };
        let after = value.size_bytes();
        match array.set_item(subscript, value) {
            Err(value) => Ok(Some(value)),
            Ok(old) => {
                let grown = after.saturating_sub(old.size_bytes());
                self.counted += grown;
                self.memory.take(grown)?;
                Ok(None)
            }
        }
    }
}

/// The type of a record that has no columns yet.
pub(super) fn unknown_row() -> SqlType {
    SqlType::Record(RowType::unknown())
}

impl Drop for Frame {
    fn drop(&mut self) {
        self.memory.give(self.counted);
    }
}

//! The variables of a call.

use std::sync::Arc;

use braid_exec::Memory;
use braid_types::json::edit;
use braid_types::sql_type::RowType;
use braid_types::{Datum, Error, Json, Result, SqlState, SqlType};

use crate::body::Code;
use crate::plpgsql::Slot;

/// Values that take less are not counted.
const COUNTED_BYTES_MIN: usize = 4096;

/// Texts that take fewer bytes are copied when something is appended to them.
const GROWING_BYTES_MIN: usize = 1024;

/// Texts that take more bytes are not kept a second time.
const GROWING_BYTES_MAX: usize = 256 << 20;

/// The variables of a call. Large values count for the statement's memory.
pub(super) struct Frame {
    pub(super) values: Vec<Datum>,
    pub(super) types: Vec<SqlType>,
    /// How often the type of a variable has become another one.
    pub(super) type_changes: u64,
    /// The bytes that each value takes.
    sizes: Vec<usize>,
    /// The names of variables that may not be NULL.
    not_null: Vec<Option<String>>,
    /// Texts that grow at their ends.
    growing: Vec<GrowingText>,
    memory: Arc<Memory>,
    counted: usize,
}

/// A text with room at its end. The variable is NULL while this text is longer than its value was.
struct GrowingText {
    slot: Slot,
    text: String,
    is_ahead: bool,
    /// The bytes that are counted for it: the text and a copy of it.
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
        let sizes = vec![0; types.len()];
        let (type_changes, growing, counted) = (0, Vec::new(), 0);
        Self { values, types, type_changes, sizes, not_null, growing, memory, counted }
    }

    /// Says that a variable may not be NULL.
    pub(super) fn refuse_null(&mut self, slot: Slot, name: &str) {
        self.not_null[slot] = Some(name.to_owned());
    }

    /// Gives a variable a type.
    pub(super) fn set_type(&mut self, slot: Slot, ty: &SqlType) {
        if self.types[slot] != *ty {
            self.types[slot] = ty.clone();
            self.type_changes += 1;
        }
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
        self.count(slot, value.size_bytes())?;
        self.values[slot] = value;
        if !self.growing.is_empty() {
            self.forget_text(slot);
        }
        Ok(())
    }

    /// Counts the value of a variable, which takes that many bytes from now on.
    fn count(&mut self, slot: Slot, size: usize) -> Result<()> {
        let (before, after) = (counted(self.sizes[slot]), counted(size));
        self.sizes[slot] = size;
        if before == 0 && after == 0 {
            return Ok(());
        }
        self.counted += after;
        self.counted -= before;
        let result = self.memory.take(after);
        self.memory.give(before);
        result
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
                self.count(slot, self.sizes[slot] + grown).map(|()| None)
            }
        }
    }

    /// Gives a field of a record its value without a copy of the record. The value comes back if
    /// somebody else has the record as well.
    pub(super) fn set_field(
        &mut self,
        slot: Slot,
        place: usize,
        value: Datum,
    ) -> Result<Option<Datum>> {
        let Datum::Record(fields) = &mut self.values[slot] else { return Ok(Some(value)) };
        let field = Arc::get_mut(fields).and_then(|fields| fields.get_mut(place));
        let Some(field) = field else { return Ok(Some(value)) };
        let after = value.size_bytes();
        let old = std::mem::replace(field, value);
        let size = (self.sizes[slot] + after).saturating_sub(old.size_bytes());
        self.count(slot, size).map(|()| None)
    }

    /// Appends elements to an array of this element type, without a copy of it. They come back if
    /// somebody else has the array as well, or if it has another shape.
    pub(super) fn append_elements(
        &mut self,
        slot: Slot,
        element: &SqlType,
        items: Vec<Datum>,
    ) -> Result<Option<Vec<Datum>>> {
        let Datum::Array(array) = &mut self.values[slot] else { return Ok(Some(items)) };
        let Some(array) = Arc::get_mut(array).filter(|array| array.element == *element) else {
            return Ok(Some(items));
        };
        let grown: usize = items.iter().map(Datum::size_bytes).sum();
        match array.append(items) {
            Err(items) => Ok(Some(items)),
            Ok(()) => self.count(slot, self.sizes[slot] + grown).map(|()| None),
        }
    }

    /// Merges a JSON value into an object or an array, without a copy of it. False if somebody else
    /// has it as well, or for values of another kind.
    pub(super) fn append_json(&mut self, slot: Slot, other: &Json) -> Result<bool> {
        let Datum::Json(json) = &mut self.values[slot] else { return Ok(false) };
        let Some(json) = Arc::get_mut(json) else { return Ok(false) };
        if !edit::append(json, other) {
            return Ok(false);
        }
        self.count(slot, self.sizes[slot] + other.size_bytes()).map(|()| true)
    }

    /// Appends to a text. False for NULL, and for a text that is small or would be too large.
    pub(super) fn append_text(&mut self, slot: Slot, added: &str) -> Result<bool> {
        let known = self.growing.iter().position(|growing| growing.slot == slot);
        let growing = match known {
            Some(place) => &mut self.growing[place],
            None => {
                let Datum::Text(text) = &self.values[slot] else { return Ok(false) };
                if text.len() < GROWING_BYTES_MIN {
                    return Ok(false);
                }
                let bytes = text.len() * 2;
                self.memory.take(bytes)?;
                self.counted += bytes;
                let mut grown = String::with_capacity(text.len() + text.len() / 2);
                grown.push_str(text);
                let growing = GrowingText { slot, text: grown, is_ahead: false, counted: bytes };
                self.growing.push(growing);
                match self.growing.last_mut() {
                    Some(growing) => growing,
                    None => return Ok(false),
                }
            }
        };
        if growing.text.len() + added.len() > GROWING_BYTES_MAX {
            self.show(&[slot]);
            return Ok(false);
        }
        self.memory.take(added.len() * 2)?;
        self.counted += added.len() * 2;
        growing.counted += added.len() * 2;
        growing.text.push_str(added);
        growing.is_ahead = true;
        self.values[slot] = Datum::Null;
        self.count(slot, 0).map(|()| true)
    }

    /// Makes texts that have grown the values of these variables.
    pub(super) fn show(&mut self, slots: &[Slot]) {
        for growing in &mut self.growing {
            if growing.is_ahead && slots.contains(&growing.slot) {
                growing.show(&mut self.values);
            }
        }
    }

    /// Makes all texts that have grown the values of their variables.
    pub(super) fn show_all(&mut self) {
        for growing in &mut self.growing {
            if growing.is_ahead {
                growing.show(&mut self.values);
            }
        }
    }

    /// Forgets the text of a variable that has another value.
    fn forget_text(&mut self, slot: Slot) {
        let Some(place) = self.growing.iter().position(|growing| growing.slot == slot) else {
            return;
        };
        let counted = self.growing.swap_remove(place).counted;
        self.memory.give(counted);
        self.counted -= counted;
    }
}

impl GrowingText {
    fn show(&mut self, values: &mut [Datum]) {
        values[self.slot] = Datum::text(self.text.as_str());
        self.is_ahead = false;
    }
}

/// The bytes that count of a value of a size.
fn counted(size: usize) -> usize {
    if size < COUNTED_BYTES_MIN { 0 } else { size }
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

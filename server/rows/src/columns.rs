//! Rows by columns: what scans hand to operators that need no rows.
//!
//! A batch has one buffer for each column, used again for the next batch, so a row costs no
//! allocation: integers, dates and times lie side by side as 64 bits, floats too. Numerics of one
//! scale do so as well; other types are datums. Short texts that come again and again share one
//! allocation.

mod decimals;
mod decode;

pub use decimals::Decimals;

use std::borrow::Cow;
use std::sync::Arc;

use braid_codec::value::{cell_i64, cell_str, decode_cell, decode_members};
use braid_types::{Datum, Result, Row, SqlType};

use crate::errors::from_codec;
use crate::key_part::KeyPart;

/// The place of no row: [`Column::gather`] gives NULL for it.
pub const NO_ROW: u32 = u32::MAX;

/// A batch of rows, by columns.
#[derive(Default)]
pub struct Columns {
    /// How many rows there are.
    pub rows: usize,
    /// The columns.
    pub list: Vec<Column>,
}

/// What the 64 bits of a column mean.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IntKind {
    /// [`Datum::Int`]
    Int,
    /// [`Datum::Date`]
    Date,
    /// [`Datum::Time`]
    Time,
    /// [`Datum::Timestamp`]
    Timestamp,
    /// [`Datum::Timestamptz`]
    Timestamptz,
}

/// The values of a column; where it is NULL, any value.
pub enum Values {
    /// Integers, dates and times.
    Ints(IntKind, Vec<i64>),
    /// Floats of both sizes.
    Floats(Vec<f64>),
    /// Numerics, as long as all of them have one scale and fit.
    Decimals(Decimals),
    /// Everything else; NULL is a datum here.
    Data(Vec<Datum>),
}

/// One column of a batch.
pub struct Column {
    /// Its values.
    pub values: Values,
    ty: SqlType,
    /// The members that are wanted of the objects of a `jsonb`, if these are not all.
    members: Option<Arc<[Box<str>]>>,
    /// Where it is NULL, up to the last NULL; not used for [`Values::Data`].
    nulls: Vec<bool>,
    texts: Texts,
}

impl Columns {
    /// No rows, of columns of these types.
    pub fn new(types: impl Iterator<Item = SqlType>) -> Self {
        Self { rows: 0, list: types.map(Column::new).collect() }
    }

    /// No rows, of columns of the same types.
    pub fn without_rows(&self) -> Self {
        Self::new(self.list.iter().map(|column| column.ty.clone()))
    }

    /// Removes all rows and sets the number of the next ones.
    pub fn start(&mut self, rows: usize) {
        self.clear();
        self.rows = rows;
    }

    /// Removes all rows.
    pub fn clear(&mut self) {
        self.rows = 0;
        self.list.iter_mut().for_each(Column::clear);
    }

    /// Makes `row` row `i`; columns that were not filled are NULL in it.
    pub fn read_row(&self, i: usize, row: &mut Row) {
        row.clear();
        row.extend(self.list.iter().map(|column| column.datum(i)));
    }

    /// Keeps the rows that are marked.
    pub fn keep(&mut self, marks: &[bool]) {
        let rows = marks.iter().filter(|mark| **mark).count();
        if rows == self.rows {
            return;
        }
        self.rows = rows;
        if rows == 0 {
            return self.clear();
        }
        for column in &mut self.list {
            match &mut column.values {
                Values::Ints(_, values) => keep(values, marks),
                Values::Floats(values) => keep(values, marks),
                Values::Decimals(values) => keep(&mut values.coefficients, marks),
                Values::Data(values) => keep(values, marks),
            }
            keep(&mut column.nulls, marks);
        }
    }
}

fn keep<T>(values: &mut Vec<T>, marks: &[bool]) {
    let mut marks = marks.iter();
    values.retain(|_| marks.next() == Some(&true));
}

impl Column {
    fn new(ty: SqlType) -> Self {
        let ints = |kind| Values::Ints(kind, Vec::new());
        let values = match &ty {
            SqlType::Int2 | SqlType::Int4 | SqlType::Int8 | SqlType::Oid => ints(IntKind::Int),
            SqlType::Date => ints(IntKind::Date),
            SqlType::Time => ints(IntKind::Time),
            SqlType::Timestamp => ints(IntKind::Timestamp),
            SqlType::Timestamptz => ints(IntKind::Timestamptz),
            SqlType::Float4 | SqlType::Float8 => Values::Floats(Vec::new()),
            SqlType::Numeric(_) => Values::Decimals(Decimals::default()),
            _ => Values::Data(Vec::new()),
        };
        Self { values, ty, members: None, nulls: Vec::new(), texts: Texts::default() }
    }

    /// Decodes of objects these members alone.
    pub(crate) fn only_members(&mut self, names: Arc<[Box<str>]>) {
        self.members = Some(names);
    }

    fn clear(&mut self) {
        self.nulls.clear();
        match &mut self.values {
            Values::Ints(_, values) => values.clear(),
            Values::Floats(values) => values.clear(),
            Values::Decimals(values) => values.coefficients.clear(),
            Values::Data(values) => values.clear(),
        }
    }

    /// How many rows it has so far.
    pub(crate) fn len(&self) -> usize {
        match &self.values {
            Values::Ints(_, values) => values.len(),
            Values::Floats(values) => values.len(),
            Values::Decimals(values) => values.coefficients.len(),
            Values::Data(values) => values.len(),
        }
    }

    /// Whether it may be NULL in some row.
    pub fn has_nulls(&self) -> bool {
        !self.nulls.is_empty()
    }

    /// Whether it is NULL in row `i`.
    pub fn is_null(&self, i: usize) -> bool {
        match &self.values {
            Values::Data(values) => values[i].is_null(),
            _ => self.nulls.get(i) == Some(&true),
        }
    }

    /// Its value in row `i`.
    pub fn datum(&self, i: usize) -> Datum {
        if i >= self.len() || self.nulls.get(i) == Some(&true) {
            return Datum::Null;
        }
        match &self.values {
            Values::Ints(IntKind::Int, values) => Datum::Int(values[i]),
            // Only what fits was taken in.
            Values::Ints(IntKind::Date, values) => Datum::Date(values[i] as i32),
            Values::Ints(IntKind::Time, values) => Datum::Time(values[i]),
            Values::Ints(IntKind::Timestamp, values) => Datum::Timestamp(values[i]),
            Values::Ints(IntKind::Timestamptz, values) => Datum::Timestamptz(values[i]),
            Values::Floats(values) => Datum::Float(values[i]),
            Values::Decimals(values) => values.datum(i),
            Values::Data(values) => values[i].clone(),
        }
    }

    /// The same without a copy, where the column has datums.
    #[inline]
    pub fn value(&self, i: usize) -> Cow<'_, Datum> {
        match &self.values {
            Values::Data(values) => values.get(i).map_or(Cow::Owned(Datum::Null), Cow::Borrowed),
            _ => Cow::Owned(self.datum(i)),
        }
    }

    /// Its integer in row `i`; `None` if it is NULL there, or not a column of integers.
    #[inline]
    pub fn int(&self, i: usize) -> Option<i64> {
        match &self.values {
            Values::Ints(IntKind::Int, values) if self.nulls.get(i) != Some(&true) => {
                values.get(i).copied()
            }
            _ => None,
        }
    }

    /// Appends a stored cell.
    #[inline]
    pub fn push_cell(&mut self, cell: &[u8]) -> Result<()> {
        match (&mut self.values, &self.ty) {
            (Values::Ints(kind, values), _) => {
                let value = cell_i64(cell).map_err(from_codec)?;
                if *kind != IntKind::Date || i32::try_from(value).is_ok() {
                    values.push(value);
                    return Ok(());
                }
            }
            (Values::Decimals(values), _) => {
                let fits = values.push_cell(cell);
                if fits {
                    return Ok(());
                }
            }
            (Values::Data(values), SqlType::Text | SqlType::Varchar(_) | SqlType::Char(_)) => {
                values.push(Datum::Text(self.texts.find(cell)?));
                return Ok(());
            }
            _ => {}
        }
        self.push_decoded(cell)
    }

    /// The same for a cell that has no form of its own in the column.
    fn push_decoded(&mut self, cell: &[u8]) -> Result<()> {
        let datum = match &self.members {
            Some(names) => decode_members(cell, names),
            None => decode_cell(cell, &self.ty),
        };
        self.push(datum.map_err(from_codec)?);
        Ok(())
    }

    /// Appends the column at the front of a key.
    #[inline]
    pub(crate) fn push_key_part(&mut self, part: &KeyPart, rest: &mut &[u8]) -> Result<()> {
        match &mut self.values {
            Values::Ints(kind, values) if *kind != IntKind::Date => match part.decode_int(rest)? {
                Some(value) => values.push(value),
                None => self.push(Datum::Null),
            },
            _ => self.push(part.decode(rest)?),
        }
        Ok(())
    }

    /// Appends a datum of the column's type.
    pub fn push(&mut self, datum: Datum) {
        match (&mut self.values, datum) {
            (Values::Data(values), datum) => values.push(datum),
            (
                Values::Ints(_, values),
                Datum::Int(value)
                | Datum::Time(value)
                | Datum::Timestamp(value)
                | Datum::Timestamptz(value),
            ) => values.push(value),
            (Values::Ints(_, values), Datum::Date(value)) => values.push(i64::from(value)),
            (Values::Floats(values), Datum::Float(value)) => values.push(value),
            (Values::Decimals(values), Datum::Numeric(number)) => {
                if !values.push_number(&number) {
                    self.hold_data(Datum::Numeric(number));
                }
            }
            (Values::Ints(_, values), _) => {
                push_null(&mut self.nulls, values.len());
                values.push(0);
            }
            (Values::Floats(values), _) => {
                push_null(&mut self.nulls, values.len());
                values.push(0.0);
            }
            (Values::Decimals(values), _) => {
                push_null(&mut self.nulls, values.coefficients.len());
                values.coefficients.push(0);
            }
        }
    }

    /// Appends the values that another column of the same type has in these rows; NULL for a row
    /// that it does not have, such as [`NO_ROW`].
    pub fn gather(&mut self, from: &Column, rows: &[u32]) {
        if let (Values::Decimals(to), Values::Decimals(other)) = (&mut self.values, &from.values)
            && to.takes(other)
        {
            let nulls = (&mut self.nulls, from.nulls.as_slice());
            return gather(&mut to.coefficients, &other.coefficients, nulls, rows);
        }
        let nulls = (&mut self.nulls, from.nulls.as_slice());
        match (&mut self.values, &from.values) {
            (Values::Ints(_, to), Values::Ints(_, from)) => gather(to, from, nulls, rows),
            (Values::Floats(to), Values::Floats(from)) => gather(to, from, nulls, rows),
            (Values::Data(to), Values::Data(from)) => {
                let value = |row: &u32| from.get(*row as usize).cloned().unwrap_or(Datum::Null);
                to.extend(rows.iter().map(value));
            }
            _ => rows.iter().for_each(|row| self.push(from.datum(*row as usize))),
        }
    }

    /// Holds datums from now on, the first ones those that it has, and then this one.
    fn hold_data(&mut self, next: Datum) {
        let mut data: Vec<Datum> = (0..self.len()).map(|i| self.datum(i)).collect();
        data.push(next);
        self.values = Values::Data(data);
        self.nulls.clear();
    }
}

/// Appends the values of rows, and where they are NULL.
fn gather<T: Copy + Default>(
    to: &mut Vec<T>,
    from: &[T],
    (nulls, from_nulls): (&mut Vec<bool>, &[bool]),
    rows: &[u32],
) {
    to.reserve(rows.len());
    for row in rows {
        let i = *row as usize;
        match from.get(i) {
            Some(value) if from_nulls.get(i) != Some(&true) => to.push(*value),
            _ => {
                push_null(nulls, to.len());
                to.push(T::default());
            }
        }
    }
}

/// Marks the row behind `rows` others as NULL.
fn push_null(nulls: &mut Vec<bool>, rows: usize) {
    nulls.resize(rows, false);
    nulls.push(true);
}

/// The short texts seen last, by a hash of their bytes.
#[derive(Default)]
struct Texts {
    slots: Vec<Option<Arc<str>>>,
}

/// Longer texts are rarely the same.
const TEXT_BYTES_MAX: usize = 32;
const TEXT_SLOTS: usize = 256;

impl Texts {
    /// The text of a cell.
    fn find(&mut self, cell: &[u8]) -> Result<Arc<str>> {
        if cell.len() > TEXT_BYTES_MAX {
            return Ok(cell_str(cell).map_err(from_codec)?.into());
        }
        if self.slots.is_empty() {
            self.slots.resize(TEXT_SLOTS, None);
        }
        let mut hash = cell.len() as u64;
        for chunk in cell.chunks(8) {
            let mut word = [0; 8];
            word[..chunk.len()].copy_from_slice(chunk);
            hash = (hash ^ u64::from_le_bytes(word)).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        }
        let slot = &mut self.slots[(hash >> 56) as usize];
        if let Some(text) = slot
            && text.as_bytes() == cell
        {
            return Ok(text.clone());
        }
        let text: Arc<str> = cell_str(cell).map_err(from_codec)?.into();
        *slot = Some(text.clone());
        Ok(text)
    }
}

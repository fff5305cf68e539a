//! A row's directory: flags, bits and offsets in front of the cells.

use braid_types::{Datum, SqlType};

use super::cell::encode_cell;
use crate::{Error, Result};

const SPARSE: u8 = 0x01;
const HAS_ABSENT: u8 = 0x02;
const HAS_NULLS: u8 = 0x04;
/// The log2 of the bytes of an end, in two bits.
const END_WIDTH_SHIFT: u8 = 3;
/// `first` and `count` have two bytes each.
const WIDE: u8 = 0x20;
/// No columns: the value is this byte. (Some stores do not keep empty values.)
const EMPTY: u8 = 0x40;

/// One column of a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cell<'a> {
    /// SQL NULL.
    Null,
    /// The encoded datum, for [`super::decode_cell`] and its fast siblings.
    Bytes(&'a [u8]),
}

/// Appends a row. The columns are sorted by number, without duplicates.
pub fn encode_row(out: &mut Vec<u8>, columns: &[(u16, &Datum, &SqlType)]) {
    encode_columns(out, columns.len(), |place| columns[place]);
}

/// Appends a row of which each column is asked for by its place.
pub fn encode_columns<'c>(
    out: &mut Vec<u8>,
    count: usize,
    column: impl Fn(usize) -> (u16, &'c Datum, &'c SqlType),
) {
    let start = out.len();
    if encode_short(out, count, &column).is_none() {
        out.truncate(start);
        let columns: Vec<(u16, &Datum, &SqlType)> = (0..count).map(column).collect();
        encode_any(out, &columns);
    }
}

/// Appends a row without gaps, NULLs and long cells, as most rows are. It allocates nothing. `None`
/// for another row.
fn encode_short<'c>(
    out: &mut Vec<u8>,
    count: usize,
    column: impl Fn(usize) -> (u16, &'c Datum, &'c SqlType),
) -> Option<()> {
    let slots = u8::try_from(count).ok().filter(|slots| *slots > 0)?;
    let first = u8::try_from(column(0).0).ok()?;
    out.extend_from_slice(&[0, first, slots]);
    let ends = out.len();
    out.resize(ends + count - 1, 0);
    let cells = out.len();
    for place in 0..count {
        let (id, datum, ty) = column(place);
        if usize::from(id) != usize::from(first) + place || datum.is_null() {
            return None;
        }
        encode_cell(out, datum, ty);
        if place + 1 < count {
            out[ends + place] = u8::try_from(out.len() - cells).ok()?;
        }
    }
    Some(())
}

/// Appends any row.
fn encode_any(out: &mut Vec<u8>, columns: &[(u16, &Datum, &SqlType)]) {
    let (Some(first), Some(last)) = (columns.first(), columns.last()) else {
        return out.push(EMPTY);
    };
    debug_assert!(columns.is_sorted_by(|a, b| a.0 < b.0), "columns are sorted by number");
    let range = usize::from(last.0 - first.0) + 1;
    // A slot costs an end at least, a number in the list two bytes.
    let sparse = range > 3 * columns.len();
    let slots = if sparse { columns.len() } else { range };
    let slot_of = |place: usize| {
        if sparse { place } else { usize::from(columns[place].0 - first.0) }
    };

    let mut cells = Vec::with_capacity(64);
    let mut ends = vec![0u32; slots];
    let mut absent = vec![0xffu8; slots.div_ceil(8)];
    let mut nulls = vec![0u8; slots.div_ceil(8)];
    let mut next_slot = 0;
    for (place, (_, datum, ty)) in columns.iter().enumerate() {
        let slot = slot_of(place);
        ends[next_slot..slot].fill(cells.len() as u32);
        absent[slot / 8] &= !(1 << (slot % 8));
        if datum.is_null() {
            nulls[slot / 8] |= 1 << (slot % 8);
        } else {
            encode_cell(&mut cells, datum, ty);
        }
        ends[slot] = cells.len() as u32;
        next_slot = slot + 1;
    }

    let end_width = match ends[..slots - 1].last() {
        None | Some(0..=0xff) => 0,
        Some(0x100..=0xffff) => 1,
        Some(_) => 2u8,
    };
    let wide = slots > 0xff || (!sparse && first.0 > 0xff);
    let has_absent = !sparse && slots > columns.len();
    let has_nulls = nulls.iter().any(|&byte| byte != 0);
    let flag = |set: bool, bit: u8| if set { bit } else { 0 };
    out.push(
        flag(sparse, SPARSE)
            | flag(has_absent, HAS_ABSENT)
            | flag(has_nulls, HAS_NULLS)
            | flag(wide, WIDE)
            | end_width << END_WIDTH_SHIFT,
    );
    put_number(out, if sparse { 0 } else { usize::from(first.0) }, wide);
    put_number(out, slots, wide);
    if sparse {
        columns.iter().for_each(|column| out.extend_from_slice(&column.0.to_le_bytes()));
    }
    if has_absent {
        out.extend_from_slice(&absent);
    }
    if has_nulls {
        out.extend_from_slice(&nulls);
    }
    for end in &ends[..slots - 1] {
        out.extend_from_slice(&end.to_le_bytes()[..1 << end_width]);
    }
    out.extend_from_slice(&cells);
}

fn put_number(out: &mut Vec<u8>, number: usize, wide: bool) {
    out.extend_from_slice(&(number as u16).to_le_bytes()[..if wide { 2 } else { 1 }]);
}

/// Reads single columns of an encoded row.
#[derive(Clone, Copy, Debug)]
pub struct RowReader<'a> {
    first: u16,
    slots: usize,
    /// Sorted column numbers, two bytes each, if the row is sparse.
    numbers: Option<&'a [u8]>,
    /// Empty if no slot is absent.
    absent: &'a [u8],
    /// Empty if no slot is NULL.
    nulls: &'a [u8],
    ends: &'a [u8],
    end_width: usize,
    cells: &'a [u8],
}

impl<'a> RowReader<'a> {
    /// Reads the directory; corrupt if it does not fit the bytes.
    #[inline]
    pub fn new(bytes: &'a [u8]) -> Result<Self> {
        match bytes {
            // Dense, without NULLs, short: no flag is set.
            [0, first, slots @ 1..=u8::MAX, rest @ ..] if rest.len() >= usize::from(*slots) - 1 => {
                let slots = usize::from(*slots);
                let (ends, cells) = rest.split_at(slots - 1);
                if ends.last().is_some_and(|end| usize::from(*end) > cells.len()) {
                    return Err(Error::corrupt("row ends early"));
                }
                let (absent, nulls): (&[u8], &[u8]) = (&[], &[]);
                let (first, numbers, end_width) = (u16::from(*first), None, 1);
                Ok(RowReader { first, slots, numbers, absent, nulls, ends, end_width, cells })
            }
            _ => Self::read(bytes),
        }
    }

    fn read(bytes: &'a [u8]) -> Result<Self> {
        let mut rest = bytes;
        let flags = take(&mut rest, 1)?[0];
        if flags == EMPTY && rest.is_empty() {
            return Ok(RowReader {
                first: 0,
                slots: 0,
                numbers: None,
                absent: &[],
                nulls: &[],
                ends: &[],
                end_width: 1,
                cells: &[],
            });
        }
        let end_width = usize::from(flags >> END_WIDTH_SHIFT & 3);
        let known = SPARSE | HAS_ABSENT | HAS_NULLS | WIDE | 3 << END_WIDTH_SHIFT;
        if flags & !known != 0 || end_width > 2 {
            return Err(Error::corrupt("row flags"));
        }
        let number_len = if flags & WIDE != 0 { 2 } else { 1 };
        let first = number(take(&mut rest, number_len)?) as u16;
        let slots = number(take(&mut rest, number_len)?) as usize;
        if slots == 0 {
            return Err(Error::corrupt("row without columns"));
        }
        let numbers = if flags & SPARSE != 0 { Some(take(&mut rest, 2 * slots)?) } else { None };
        let mut ids = numbers.unwrap_or_default().chunks_exact(2).map(number);
        let mut last = ids.next();
        for id in ids {
            if last.replace(id) >= Some(id) {
                return Err(Error::corrupt("column numbers"));
            }
        }
        let bits = |set: u8| if flags & set != 0 { slots.div_ceil(8) } else { 0 };
        let absent = take(&mut rest, bits(HAS_ABSENT))?;
        let nulls = take(&mut rest, bits(HAS_NULLS))?;
        let end_width = 1 << end_width;
        let ends = take(&mut rest, (slots - 1) * end_width)?;
        let row = RowReader { first, slots, numbers, absent, nulls, ends, end_width, cells: rest };
        if slots > 1 && row.end(slots - 2) > rest.len() {
            return Err(Error::corrupt("row ends early"));
        }
        Ok(row)
    }

    /// The column with that number; `None` if the row was written without it.
    #[inline]
    pub fn column(&self, id: u16) -> Option<Cell<'a>> {
        let slot = match self.numbers {
            None => usize::from(id.checked_sub(self.first)?),
            Some(numbers) => find(numbers, id)?,
        };
        self.slot(slot)
    }

    /// Every column that is there, by number.
    pub fn columns(&self) -> impl Iterator<Item = (u16, Cell<'a>)> + '_ {
        (0..self.slots).filter_map(|slot| {
            let id = match self.numbers {
                None => self.first.checked_add(slot as u16)?,
                Some(numbers) => number(&numbers[2 * slot..2 * slot + 2]) as u16,
            };
            Some((id, self.slot(slot)?))
        })
    }

    #[inline]
    fn slot(&self, slot: usize) -> Option<Cell<'a>> {
        if slot >= self.slots || is_set(self.absent, slot) {
            return None;
        }
        if is_set(self.nulls, slot) {
            return Some(Cell::Null);
        }
        let start = if slot == 0 { 0 } else { self.end(slot - 1) };
        let end = if slot + 1 == self.slots { self.cells.len() } else { self.end(slot) };
        // Only corrupt ends are out of order; such a cell is empty, which no type but text accepts.
        Some(Cell::Bytes(self.cells.get(start..end).unwrap_or(&[])))
    }

    #[inline]
    fn end(&self, slot: usize) -> usize {
        if self.end_width == 1 {
            return usize::from(self.ends[slot]);
        }
        let start = slot * self.end_width;
        number(&self.ends[start..start + self.end_width]) as usize
    }
}

fn take<'a>(rest: &mut &'a [u8], count: usize) -> Result<&'a [u8]> {
    let (taken, left) = rest.split_at_checked(count).ok_or(Error::corrupt("row is too short"))?;
    *rest = left;
    Ok(taken)
}

fn number(bytes: &[u8]) -> u32 {
    bytes.iter().rev().fold(0, |value, &byte| value << 8 | u32::from(byte))
}

fn is_set(bits: &[u8], slot: usize) -> bool {
    bits.get(slot / 8).is_some_and(|byte| byte >> (slot % 8) & 1 == 1)
}

fn find(numbers: &[u8], id: u16) -> Option<usize> {
    let (mut low, mut high) = (0, numbers.len() / 2);
    while low < high {
        let middle = (low + high) / 2;
        let found = number(&numbers[2 * middle..2 * middle + 2]) as u16;
        match found.cmp(&id) {
            std::cmp::Ordering::Equal => return Some(middle),
            std::cmp::Ordering::Less => low = middle + 1,
            std::cmp::Ordering::Greater => high = middle,
        }
    }
    None
}

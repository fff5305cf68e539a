//! The bytes of a `tsquery`.
//!
//! ```text
//!   items: u32   size: u32   item …   weights and prefix of each value: u8 …
//!                            operator   0   4 - number   inverted distance: u16
//!                            value      1   inverted checksum: u32   text   0
//! ```
//!
//! An operator is before its operands, the right one first. PostgreSQL compares queries by the
//! number of items, by their size, then item by item in this order: operators before values, and
//! values by a checksum of their texts. It takes no notice of weights. Here they decide between
//! queries that are equal otherwise.

use crate::{Datum, Result, work};

use super::errors::corrupt;
use super::limits::{TEXT_BYTES_MAX, too_large};
use super::query::{Item, Operator, Query};

/// Bytes before the items of PostgreSQL's form.
const HEADER_BYTES: usize = 8;
/// Bytes of an item of PostgreSQL's form, besides its text.
const ITEM_BYTES: usize = 12;
/// Says that a value is a prefix, beside four bits of weights.
const PREFIX: u8 = 0x10;

/// The table of CRC-32.
const TABLE: [u32; 256] = {
    let mut table = [0u32; 256];
    let mut at = 0;
    while at < 256 {
        let mut value = at as u32;
        let mut bit = 0;
        while bit < 8 {
            value = if value & 1 == 1 { value >> 1 ^ 0xedb8_8320 } else { value >> 1 };
            bit += 1;
        }
        table[at] = value;
        at += 1;
    }
    table
};

/// PostgreSQL's older checksum, which shifts to the other side than CRC-32.
fn checksum(text: &str) -> u32 {
    let mut sum = !0u32;
    for byte in text.bytes() {
        let at = (sum >> 24) as u8 ^ byte;
        sum = TABLE[usize::from(at)] ^ sum << 8;
    }
    !sum
}

/// 1 for `!` to 4 for `<->`, as PostgreSQL numbers operators.
pub(super) fn number(operator: Operator) -> u8 {
    match operator {
        Operator::Not => 1,
        Operator::And => 2,
        Operator::Or => 3,
        Operator::Phrase(_) => 4,
    }
}

/// The operator of that number.
pub(super) fn numbered(number: u8, distance: u16) -> Option<Operator> {
    Some(match number {
        1 => Operator::Not,
        2 => Operator::And,
        3 => Operator::Or,
        4 => Operator::Phrase(distance),
        _ => return None,
    })
}

impl Query {
    /// The query as a datum; 54000 if it is too large.
    pub fn to_datum(&self) -> Result<Datum> {
        let mut size = HEADER_BYTES;
        let mut text_bytes = 0;
        for item in &self.items {
            size += ITEM_BYTES;
            if let Item::Value { text, .. } = item {
                text_bytes += text.len() + 1;
            }
        }
        if text_bytes > TEXT_BYTES_MAX {
            return Err(too_large("tsquery is too large".to_owned()));
        }
        size += text_bytes;
        work::afford(size)?;
        let mut out = Vec::with_capacity(size);
        out.extend_from_slice(&(self.items.len() as u32).to_be_bytes());
        out.extend_from_slice(&(size as u32).to_be_bytes());
        let mut marks = Vec::new();
        for item in self.items.iter().rev() {
            work::tick()?;
            match item {
                Item::Operator(operator) => {
                    let distance =
                        if let Operator::Phrase(distance) = operator { *distance } else { 0 };
                    out.extend_from_slice(&[0, 4 - number(*operator)]);
                    out.extend_from_slice(&(!distance).to_be_bytes());
                }
                Item::Value { text, weights, is_prefix } => {
                    out.push(1);
                    // As a number with a sign, inverted.
                    let sum = checksum(text) ^ 0x8000_0000;
                    out.extend_from_slice(&(!sum).to_be_bytes());
                    out.extend_from_slice(text.as_bytes());
                    out.push(0);
                    marks.push((weights & 0xf) | if *is_prefix { PREFIX } else { 0 });
                }
            }
        }
        out.extend_from_slice(&marks);
        Ok(Datum::bytes(out))
    }

    /// Reads the bytes of a datum.
    pub fn read(bytes: &[u8]) -> Result<Query> {
        Self::read_bytes(bytes).ok_or_else(|| corrupt("tsquery"))
    }

    fn read_bytes(bytes: &[u8]) -> Option<Query> {
        let (count, rest) = bytes.split_first_chunk::<4>()?;
        let (_, mut rest) = rest.split_first_chunk::<4>()?;
        let count = u32::from_be_bytes(*count) as usize;
        let mut items = Vec::with_capacity(count.min(rest.len()));
        for _ in 0..count {
            work::note(1);
            let (&kind, after) = rest.split_first()?;
            if kind == 0 {
                let (&number, after) = after.split_first()?;
                let (distance, after) = after.split_first_chunk::<2>()?;
                let operator = numbered(4u8.checked_sub(number)?, !u16::from_be_bytes(*distance))?;
                items.push(Item::Operator(operator));
                rest = after;
            } else {
                let (_, after) = after.split_first_chunk::<4>()?;
                let end = after.iter().position(|byte| *byte == 0)?;
                let text = std::str::from_utf8(&after[..end]).ok()?;
                items.push(Item::Value { text: text.into(), weights: 0, is_prefix: false });
                rest = &after[end + 1..];
            }
        }
        for item in &mut items {
            if let Item::Value { weights, is_prefix, .. } = item {
                let (&mark, after) = rest.split_first()?;
                (*weights, *is_prefix) = (mark & 0xf, mark & PREFIX != 0);
                rest = after;
            }
        }
        items.reverse();
        rest.is_empty().then_some(Query { items })
    }
}

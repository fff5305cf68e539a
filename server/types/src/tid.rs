//! `tid`: the place of a row, as the system column `ctid` shows it.
//!
//! Here: how a datum holds it, its text form, and the tid of a row's encoded primary key.
//! Not here: which key a row has (`plan` and `builtins` build the column `ctid`).
//!
//! A tid is six bytes in PostgreSQL: a block of 32 bits and an offset of 16. A row here has no
//! block, only its primary key, so a tid may be longer. Its last two bytes are the offset, all
//! before them the block.
//!
//! ```text
//!   key 5 of an integer column     00 00 00 00 00 05                 (0,5)
//!   any other key                  10 key bytes                      (a large number,offset)
//!   the same, key of 3 bytes       13 key bytes 00 00 00             the tag counts the padding
//! ```
//!
//! Rule: a tid of more than six bytes does not begin with a zero byte, so its text says all.

use bigdecimal::num_bigint::BigUint;

use crate::text::invalid_syntax;
use crate::{Datum, Result};

/// Bytes of PostgreSQL's tid, the shortest one here.
const PLAIN_BYTES: usize = 6;
/// The first byte of a tid that holds a key; padding is added to it.
const KEY_TAG: u8 = 0x10;
/// The longest text that is read as a block number.
const BLOCK_DIGITS_MAX: usize = 200_000;

/// The tid of a row whose primary key is one integer; `None` if it does not fit in six bytes.
pub fn of_integer(key: i64) -> Option<Datum> {
    let bytes = key.to_be_bytes();
    let fits = bytes[..2] == [0, 0];
    fits.then(|| Datum::bytes(&bytes[2..]))
}

/// The integer of [`of_integer`]; `None` for a longer tid.
pub fn integer_of(tid: &[u8]) -> Option<i64> {
    let plain: [u8; PLAIN_BYTES] = tid.try_into().ok()?;
    Some(plain.iter().fold(0, |value, byte| value << 8 | i64::from(*byte)))
}

/// The tid of a row by its encoded primary key.
pub fn of_key(key: &[u8]) -> Datum {
    let padding = PLAIN_BYTES.saturating_sub(key.len());
    let mut bytes = Vec::with_capacity(1 + key.len() + padding);
    bytes.push(KEY_TAG + padding as u8);
    bytes.extend_from_slice(key);
    bytes.resize(1 + key.len() + padding, 0);
    Datum::bytes(bytes)
}

/// The encoded primary key of [`of_key`]; `None` for a tid that holds none.
pub fn key_of(tid: &[u8]) -> Option<&[u8]> {
    let (tag, rest) = tid.split_first()?;
    let padding = usize::from(tag.checked_sub(KEY_TAG)?);
    let known = padding <= PLAIN_BYTES && rest.len() >= PLAIN_BYTES;
    known.then(|| &rest[..rest.len() - padding])
}

/// Parses `(block,offset)`. As in PostgreSQL, blanks may precede the numbers, and what stands
/// outside of the parentheses does not matter.
pub(crate) fn parse(text: &str) -> Result<Vec<u8>> {
    let invalid = || invalid_syntax("tid", text);
    let (_, inner) = text.split_once('(').ok_or_else(invalid)?;
    let (inner, _) = inner.split_once(')').ok_or_else(invalid)?;
    let (block, offset) = inner.split_once(',').ok_or_else(invalid)?;
    let offset: u16 = offset.trim_start().parse().map_err(|_| invalid())?;
    let block = block.trim_start();
    if block.is_empty() || block.len() > BLOCK_DIGITS_MAX {
        return Err(invalid());
    }
    let mut bytes = if block.starts_with('-') {
        let wrapped: i32 = block.parse().map_err(|_| invalid())?;
        wrapped.to_be_bytes().to_vec()
    } else {
        BigUint::parse_bytes(block.as_bytes(), 10).ok_or_else(invalid)?.to_bytes_be()
    };
    while bytes.len() < PLAIN_BYTES - 2 {
        bytes.insert(0, 0);
    }
    bytes.extend_from_slice(&offset.to_be_bytes());
    Ok(bytes)
}

/// Appends `(block,offset)`.
pub(crate) fn format(tid: &[u8], out: &mut Vec<u8>) {
    let (block, offset) = tid.split_at(tid.len().saturating_sub(2));
    let block = BigUint::from_bytes_be(block);
    let offset = offset.iter().fold(0u32, |value, byte| value << 8 | u32::from(*byte));
    out.extend_from_slice(format!("({block},{offset})").as_bytes());
}

//! The parts of a key around its columns: table, index, family, sentinel. The end of a prefix is
//! [`braid_kv::prefix_end`], the only function of its kind.

use super::parts::{put_uvarint, read_uvarint};
use super::reader::Reader;
use crate::{Error, Result};

/// Stands where a family number would, before the key of an interleaved child.
pub const INTERLEAVE_SENTINEL: u8 = 0xfe;

/// First byte of keys that belong to no table; above every table number.
pub(super) const SYSTEM: u8 = 0xfa;

/// The first bytes of every key of a table.
pub fn table_prefix(table: u32) -> Vec<u8> {
    let mut out = Vec::with_capacity(16);
    put_uvarint(&mut out, u64::from(table));
    out
}

/// The first bytes of every key of an index.
pub fn index_prefix(table: u32, index: u16) -> Vec<u8> {
    let mut out = table_prefix(table);
    put_uvarint(&mut out, u64::from(index));
    out
}

/// Reads table and index off the front of a key.
pub fn decode_prefix(input: &mut &[u8]) -> Result<(u32, u16)> {
    let mut reader = Reader::new(input, false);
    let table = u32::try_from(read_uvarint(&mut reader)?);
    let index = u16::try_from(read_uvarint(&mut reader)?);
    let table = table.map_err(|_| Error::corrupt("table number"))?;
    let index = index.map_err(|_| Error::corrupt("index number"))?;
    *input = reader.rest();
    Ok((table, index))
}

/// A key that belongs to no table: settings of the whole folder. Above all table keys.
pub fn system_key(name: &str) -> Vec<u8> {
    let mut out = Vec::with_capacity(name.len() + 1);
    out.push(SYSTEM);
    out.extend_from_slice(name.as_bytes());
    out
}

/// Appends the family number, the last part of a row's key. Family 0 takes no bytes.
pub fn encode_family(out: &mut Vec<u8>, family: u16) {
    if family > 0 {
        put_uvarint(out, u64::from(family));
    }
}

/// Appends the sentinel and the child's table and index, after the parent's columns.
pub fn encode_interleave(out: &mut Vec<u8>, table: u32, index: u16) {
    out.push(INTERLEAVE_SENTINEL);
    put_uvarint(out, u64::from(table));
    put_uvarint(out, u64::from(index));
}

//! Key columns: their place in the row and their bytes in a key.

use braid_catalog::{Index, IndexKey, Table};
use braid_codec::key;
use braid_types::{Datum, Error, Result, SqlType};

use crate::errors::from_codec;

/// Bytes reserved for the columns of a key.
pub(crate) const KEY_BYTES: usize = 28;

/// A key column: its place in the row.
#[derive(Clone)]
pub(crate) struct KeyPart {
    pub(crate) place: usize,
    pub(crate) ty: SqlType,
    pub(crate) descending: bool,
    /// What follows it in a key: nothing, or the way down to the next level of interleaving.
    pub(crate) behind: Box<[u8]>,
}

impl KeyPart {
    #[inline]
    pub(crate) fn encode(&self, out: &mut Vec<u8>, value: &Datum) {
        key::encode(out, value, &self.ty, self.descending);
        if !self.behind.is_empty() {
            out.extend_from_slice(&self.behind);
        }
    }

    #[inline]
    pub(crate) fn decode(&self, rest: &mut &[u8]) -> Result<Datum> {
        let datum = key::decode(rest, &self.ty, self.descending).map_err(from_codec)?;
        self.pass(rest)?;
        Ok(datum)
    }

    /// The same for a part of integers or times; `None` is NULL.
    #[inline]
    pub(crate) fn decode_int(&self, rest: &mut &[u8]) -> Result<Option<i64>> {
        let value = key::decode_int(rest, self.descending).map_err(from_codec)?;
        self.pass(rest)?;
        Ok(value)
    }

    #[inline]
    pub(crate) fn skip(&self, rest: &mut &[u8]) -> Result<()> {
        key::skip(rest, &self.ty, self.descending).map_err(from_codec)?;
        self.pass(rest)
    }

    #[inline]
    pub(crate) fn pass(&self, rest: &mut &[u8]) -> Result<()> {
        if !self.behind.is_empty() {
            *rest = rest.strip_prefix(&*self.behind).ok_or_else(misplaced)?;
        }
        Ok(())
    }
}

#[cold]
pub(crate) fn misplaced() -> Error {
    Error::internal("a key of another interleaved table")
}

/// What follows the prefix of an index in one of its keys.
#[inline]
pub(crate) fn after_prefix(key_bytes: &[u8], prefix_bytes: usize) -> Result<&[u8]> {
    key_bytes.get(prefix_bytes..).ok_or_else(|| too_short(key_bytes.len(), prefix_bytes))
}

#[cold]
fn too_short(key_bytes: usize, prefix_bytes: usize) -> Error {
    Error::broken(format!("a key of {key_bytes} bytes in an index whose prefix has {prefix_bytes}"))
}

/// The columns of an index's key; XX000 if the table has not all of them.
pub(crate) fn parts(table: &Table, index: &Index) -> Result<Vec<KeyPart>> {
    let part = |(at, part): (usize, &IndexKey)| {
        let place = table.place_of(part.column)?;
        let ty = table.columns[place].ty.clone();
        let behind = table.bytes_after(index, at).into_boxed_slice();
        Ok(KeyPart { place, ty, descending: part.descending, behind })
    };
    index.keys.iter().enumerate().map(part).collect()
}

pub(crate) fn encode_parts(out: &mut Vec<u8>, parts: &[KeyPart], row: &[Datum]) {
    for part in parts {
        part.encode(out, &row[part.place]);
    }
}

//! Primary pairs and index entries decoded by columns.

use braid_catalog::ColumnId;
use braid_codec::value::{Cell, RowReader};
use braid_types::{Datum, Result, SqlType};

use crate::columns::Columns;
use crate::errors::from_codec;
use crate::index::IndexDecoder;
use crate::key_part::{KeyPart, after_prefix};
use crate::row_decoder::RowDecoder;

/// The columns of a decoder: those of the key and those of the value.
type Sources = (Vec<(usize, usize)>, Vec<(ColumnId, SqlType, usize)>);

/// The columns at places that are wanted first, and the others.
fn split(
    from_key: &[(usize, usize)],
    from_value: &[(ColumnId, SqlType, usize)],
    first: impl Fn(usize) -> bool,
) -> (Sources, Sources) {
    let (key, other_key) = from_key.iter().copied().partition(|(_, out)| first(*out));
    let (value, other_value) = from_value.iter().cloned().partition(|(.., out)| first(*out));
    ((key, value), (other_key, other_value))
}

impl RowDecoder {
    /// Empty columns of the types that are decoded.
    pub fn columns(&self) -> Columns {
        let mut types: Vec<_> = self.template.iter().map(|_| None).collect();
        for (part, out) in &self.from_key {
            types[*out] = Some(&self.parts[*part].ty);
        }
        for (_, ty, out) in &self.from_value {
            types[*out] = Some(ty);
        }
        // Every column is in one of the two lists.
        let mut columns = Columns::new(types.into_iter().flatten().cloned());
        for (out, names) in &self.members {
            columns.list[*out].only_members(names.clone());
        }
        columns
    }

    /// Two decoders: of the columns at places that are wanted first, and of the others.
    pub fn split(&self, first: impl Fn(usize) -> bool) -> (RowDecoder, RowDecoder) {
        let part = |(from_key, from_value)| RowDecoder {
            prefix_bytes: self.prefix_bytes,
            parts: self.parts.clone(),
            from_key,
            from_value,
            template: self.template.clone(),
            members: self.members.clone(),
        };
        let (wanted, others) = split(&self.from_key, &self.from_value, first);
        (part(wanted), part(others))
    }

    /// Fills the columns that it decodes with those of pairs; the table has one family.
    pub fn read_columns<'e>(
        &self,
        entries: impl Iterator<Item = (&'e [u8], &'e [u8])> + Clone,
        columns: &mut Columns,
    ) -> Result<()> {
        if !self.from_key.is_empty() {
            for (key, _) in entries.clone() {
                let rest = after_prefix(key, self.prefix_bytes)?;
                push_parts((&self.parts, self.parts.len()), &self.from_key, rest, columns)?;
            }
        }
        match self.from_value.as_slice() {
            [] => {}
            // The usual case of an aggregate, without the inner loop.
            [(id, _, out)] => {
                let (column, missing) = (&mut columns.list[*out], &self.template[*out]);
                for (_, value) in entries {
                    match RowReader::new(value).map_err(from_codec)?.column(*id) {
                        Some(Cell::Bytes(cell)) => column.push_cell(cell)?,
                        Some(Cell::Null) => column.push(Datum::Null),
                        None => column.push(missing.clone()),
                    }
                }
            }
            several => {
                for (_, value) in entries {
                    let reader = RowReader::new(value).map_err(from_codec)?;
                    for (id, _, out) in several {
                        let column = &mut columns.list[*out];
                        match reader.column(*id) {
                            Some(Cell::Bytes(cell)) => column.push_cell(cell)?,
                            Some(Cell::Null) => column.push(Datum::Null),
                            None => column.push(self.template[*out].clone()),
                        }
                    }
                }
            }
        }
        Ok(())
    }
}

/// Appends the wanted parts of a key to their columns: for each a part, and a place in the output.
/// `rest` is the key behind its prefix. It may end behind the first `least` parts.
fn push_parts(
    (parts, least): (&[KeyPart], usize),
    from_key: &[(usize, usize)],
    mut rest: &[u8],
    columns: &mut Columns,
) -> Result<()> {
    let mut wanted = from_key.iter().peekable();
    for (i, part) in parts.iter().enumerate() {
        match wanted.peek() {
            None => break,
            _ if i >= least && rest.is_empty() => break,
            Some((place, _)) if *place != i => part.skip(&mut rest)?,
            Some(_) => {
                let start = rest;
                while let Some((_, out)) = wanted.next_if(|(place, _)| *place == i) {
                    rest = start;
                    columns.list[*out].push_key_part(part, &mut rest)?;
                }
            }
        }
    }
    Ok(())
}

impl IndexDecoder {
    /// Empty columns of the types that are decoded.
    pub fn columns(&self) -> Columns {
        let mut types = vec![SqlType::Unknown; self.width];
        for (part, out) in &self.from_key {
            types[*out] = self.parts[*part].ty.clone();
        }
        for (_, ty, out) in &self.from_value {
            types[*out] = ty.clone();
        }
        Columns::new(types.into_iter())
    }

    /// Two decoders: of the columns at places that are wanted first, and of the others.
    pub fn split(&self, first: impl Fn(usize) -> bool) -> (IndexDecoder, IndexDecoder) {
        let part = |(from_key, from_value)| IndexDecoder {
            prefix_bytes: self.prefix_bytes,
            parts: self.parts.clone(),
            keys: self.keys,
            from_key,
            from_value,
            width: self.width,
        };
        let (wanted, others) = split(&self.from_key, &self.from_value, first);
        (part(wanted), part(others))
    }

    /// Fills the columns that it decodes with those of entries.
    pub fn read_columns<'e>(
        &self,
        entries: impl Iterator<Item = (&'e [u8], &'e [u8])>,
        columns: &mut Columns,
    ) -> Result<()> {
        if self.from_key.is_empty() && self.from_value.is_empty() {
            return Ok(());
        }
        for (row, (key, value)) in entries.enumerate() {
            let rest = after_prefix(key, self.prefix_bytes)?;
            // A unique entry's key may end behind its own columns; the primary key is in its value.
            push_parts((&self.parts, self.keys), &self.from_key, rest, columns)?;
            if self.from_value.is_empty() {
                continue;
            }
            let reader = RowReader::new(value).map_err(from_codec)?;
            for (id, _, out) in &self.from_value {
                let column = &mut columns.list[*out];
                // What the key had is not in the value.
                if column.len() > row {
                    continue;
                }
                match reader.column(*id) {
                    Some(Cell::Bytes(cell)) => column.push_cell(cell)?,
                    _ => column.push(Datum::Null),
                }
            }
        }
        Ok(())
    }
}

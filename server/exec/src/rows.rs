//! Rows as key/value pairs: one pair a column family, one entry an index.
//!
//! ```text
//! primary   /table/1/key columns…/family        ▶ the family's other columns
//! secondary /table/n/columns…[/key columns…]    ▶ STORING columns [, key columns]
//! ```
//!
//! Interleaved tables and indexes have the way down from the root between their columns
//! ([`braid_catalog::Interleaving`]); who scans their range says which keys it wants (`shape`).
//!
//! Family 0 always has a pair, so that the row exists; another one only if a column of it is not
//! NULL. A secondary key ends with the primary key's columns unless it is unique without NULLs;
//! then they are in the value. Key columns whose bytes do not tell all
//! ([`braid_codec::key::is_exact`]) are in family 0's value too.

mod columns;

use std::sync::Arc;

use braid_catalog::{Column, ColumnId, FamilyId, Index, IndexNumber, Table};
use braid_codec::key;
use braid_codec::value::{Cell, RowReader, decode_cell, encode_row};
use braid_kv::{Key, KeyShape, Span};
use braid_types::{Datum, Error, FormatSettings, Result, Row, SqlType};

use crate::errors::from_codec;

/// Room for a key's columns, and for each column of a value: most need no more.
const KEY_BYTES: usize = 28;
const VALUE_BYTES: usize = 12;

/// How a table's rows become keys and values.
pub struct TableRows {
    /// The table.
    pub table: Arc<Table>,
    /// Tells its keys from those of tables that are interleaved with it, if there are any.
    pub shape: Option<Arc<dyn KeyShape>>,
    primary_prefix: Vec<u8>,
    primary: Vec<KeyPart>,
    families: Vec<FamilyRows>,
    /// For each column: what it was before it was added.
    missing: Vec<Datum>,
}

/// A key column: its place in the row.
#[derive(Clone)]
struct KeyPart {
    place: usize,
    ty: SqlType,
    descending: bool,
    /// What follows it in a key: nothing, or the way down to the next level of interleaving.
    behind: Box<[u8]>,
}

impl KeyPart {
    #[inline]
    fn encode(&self, out: &mut Vec<u8>, value: &Datum) {
        key::encode(out, value, &self.ty, self.descending);
        if !self.behind.is_empty() {
            out.extend_from_slice(&self.behind);
        }
    }

    #[inline]
    fn decode(&self, rest: &mut &[u8]) -> Result<Datum> {
        let datum = key::decode(rest, &self.ty, self.descending).map_err(from_codec)?;
        self.pass(rest)?;
        Ok(datum)
    }

    #[inline]
    fn skip(&self, rest: &mut &[u8]) -> Result<()> {
        key::skip(rest, &self.ty, self.descending).map_err(from_codec)?;
        self.pass(rest)
    }

    #[inline]
    fn pass(&self, rest: &mut &[u8]) -> Result<()> {
        if !self.behind.is_empty() {
            *rest = rest.strip_prefix(&*self.behind).ok_or_else(misplaced)?;
        }
        Ok(())
    }
}

#[cold]
fn misplaced() -> Error {
    Error::internal("a key of another interleaved table")
}

struct FamilyRows {
    id: FamilyId,
    /// Places of the columns in its value, by column number.
    places: Vec<usize>,
}

/// How one secondary index's entries are made.
pub struct IndexRows {
    /// The index's number.
    pub number: IndexNumber,
    /// Whether its keys are unique.
    pub unique: bool,
    /// Tells its keys from those of others in its range, if there are any.
    pub shape: Option<Arc<dyn KeyShape>>,
    prefix: Vec<u8>,
    keys: Vec<KeyPart>,
    /// The primary key's columns that are not among `keys`.
    suffix: Vec<KeyPart>,
    storing: Vec<usize>,
}

/// An entry of an index.
pub struct IndexEntry {
    /// Its key.
    pub key: Key,
    /// Its value.
    pub value: Vec<u8>,
    /// No other row may have this key.
    pub must_be_unique: bool,
}

fn place_of(table: &Table, id: ColumnId) -> usize {
    // Descriptors name only columns that exist.
    table.columns.iter().position(|column| column.id == id).unwrap_or(0)
}

fn parts(table: &Table, index: &Index) -> Vec<KeyPart> {
    index
        .keys
        .iter()
        .enumerate()
        .map(|(at, part)| {
            let place = place_of(table, part.column);
            let ty = table.columns[place].ty.clone();
            let behind = table.bytes_behind(index, at).into_boxed_slice();
            KeyPart { place, ty, descending: part.descending, behind }
        })
        .collect()
}

impl TableRows {
    /// The layout of a table's rows.
    pub fn new(table: &Arc<Table>) -> Self {
        let primary = parts(table, &table.primary);
        let in_key = |place: usize| primary.iter().any(|part| part.place == place);
        let families = table
            .families
            .iter()
            .map(|family| {
                let stored = |(place, column): &(usize, &Column)| {
                    if column.is_key_expr {
                        false
                    } else if in_key(*place) {
                        family.id == 0 && !key::is_exact(&column.ty)
                    } else {
                        column.family == family.id
                    }
                };
                let mut places: Vec<usize> = table
                    .columns
                    .iter()
                    .enumerate()
                    .filter(stored)
                    .map(|(place, _)| place)
                    .collect();
                places.sort_by_key(|place| table.columns[*place].id);
                FamilyRows { id: family.id, places }
            })
            .collect();
        let missing = table.columns.iter().map(missing_value).collect();
        Self {
            table: table.clone(),
            shape: table.key_shape(&table.primary),
            primary_prefix: table.key_prefix(&table.primary),
            primary,
            families,
            missing,
        }
    }

    /// Everything of the primary index, and what is interleaved with it.
    pub fn primary_span(&self) -> Span {
        Span::prefix(self.primary_prefix.clone())
    }

    /// The key columns' places in the row, in key order.
    pub fn primary_places(&self) -> Vec<usize> {
        self.primary.iter().map(|part| part.place).collect()
    }

    /// The row's key without the family, from the key columns' values in key order.
    pub fn primary_key_of_parts(&self, values: &[Datum]) -> Key {
        let mut out = self.primary_prefix.clone();
        for (part, value) in self.primary.iter().zip(values) {
            part.encode(&mut out, value);
        }
        out
    }

    /// The row's key without the family.
    pub fn primary_key(&self, row: &[Datum]) -> Key {
        let mut out = Vec::with_capacity(self.primary_prefix.len() + KEY_BYTES);
        out.extend_from_slice(&self.primary_prefix);
        encode_parts(&mut out, &self.primary, row);
        out
    }

    /// The key of the pair that always exists.
    pub fn first_key(&self, row: &[Datum]) -> Key {
        let mut out = self.primary_key(row);
        key::encode_family(&mut out, 0);
        out
    }

    /// The keys of every family of a row.
    pub fn family_keys(&self, primary_key: &[u8]) -> Vec<Key> {
        self.families
            .iter()
            .map(|family| {
                let mut out = primary_key.to_vec();
                key::encode_family(&mut out, family.id);
                out
            })
            .collect()
    }

    /// How the keys of a family's pairs end, by its place among the families.
    pub fn family_suffix(&self, place: usize) -> Key {
        let mut out = Key::new();
        key::encode_family(&mut out, self.families[place].id);
        out
    }

    /// The number of families.
    pub fn family_count(&self) -> usize {
        self.families.len()
    }

    /// The row's pairs; `None` for a family that has nothing to store.
    pub fn pairs(&self, row: &[Datum]) -> Vec<(Key, Option<Vec<u8>>)> {
        let primary_key = self.primary_key(row);
        self.families
            .iter()
            .map(|family| {
                let mut out = Vec::with_capacity(primary_key.len() + 4);
                out.extend_from_slice(&primary_key);
                key::encode_family(&mut out, family.id);
                let empty = family.places.iter().all(|place| row[*place].is_null());
                if family.id != 0 && empty {
                    return (out, None);
                }
                let columns: Vec<(u16, &Datum, &SqlType)> = family
                    .places
                    .iter()
                    .map(|place| {
                        let column = &self.table.columns[*place];
                        (column.id, &row[*place], &column.ty)
                    })
                    .collect();
                let mut value = Vec::with_capacity(VALUE_BYTES * columns.len());
                encode_row(&mut value, &columns);
                // It stays in the write buffer, where spare room adds up.
                (out, Some(value[..].to_vec()))
            })
            .collect()
    }

    /// Which families hold any of these columns.
    pub fn families_of(&self, places: &[usize]) -> Vec<usize> {
        let holds = |family: &FamilyRows| places.iter().any(|place| family.places.contains(place));
        (0..self.families.len()).filter(|i| holds(&self.families[*i])).collect()
    }

    /// A reader of these columns.
    pub fn reader(&self, places: &[usize]) -> RowDecoder {
        let mut from_key = Vec::new();
        let mut from_value = Vec::new();
        for (out, place) in places.iter().enumerate() {
            let column = &self.table.columns[*place];
            match self.primary.iter().position(|part| part.place == *place) {
                Some(part) if key::is_exact(&column.ty) => from_key.push((part, out)),
                _ => from_value.push((column.id, column.ty.clone(), out)),
            }
        }
        from_key.sort_unstable();
        RowDecoder {
            prefix_bytes: self.primary_prefix.len(),
            parts: self.primary.clone(),
            from_key,
            from_value,
            template: places.iter().map(|place| self.missing[*place].clone()).collect(),
        }
    }
}

fn missing_value(column: &Column) -> Datum {
    let Some(text) = column.missing.as_ref().and_then(|stored| stored.0.as_ref()) else {
        return Datum::Null;
    };
    let settings = FormatSettings::default();
    braid_types::text::parse(&column.ty, text, &settings, 0).unwrap_or(Datum::Null)
}

fn encode_parts(out: &mut Vec<u8>, parts: &[KeyPart], row: &[Datum]) {
    for part in parts {
        part.encode(out, &row[part.place]);
    }
}

/// Decodes chosen columns of primary pairs.
pub struct RowDecoder {
    prefix_bytes: usize,
    parts: Vec<KeyPart>,
    /// Key part and place in the output, ascending.
    from_key: Vec<(usize, usize)>,
    from_value: Vec<(ColumnId, SqlType, usize)>,
    template: Row,
}

impl RowDecoder {
    /// Whether values are needed at all.
    pub fn needs_values(&self) -> bool {
        !self.from_value.is_empty()
    }

    /// The bytes of a pair's key that name its row (everything but the family).
    pub fn row_key<'k>(&self, key_bytes: &'k [u8]) -> Result<&'k [u8]> {
        let mut rest = key_bytes.get(self.prefix_bytes..).unwrap_or_default();
        for part in &self.parts {
            part.skip(&mut rest)?;
        }
        Ok(&key_bytes[..key_bytes.len() - rest.len()])
    }

    /// A row with the key's columns; the values' columns are as if no pair had them.
    pub fn start(&self, key_bytes: &[u8]) -> Result<Row> {
        let mut row = self.template.clone();
        self.read_key(&mut row, key_bytes)?;
        Ok(row)
    }

    /// Appends the columns of a row that has one pair.
    pub fn append(&self, row: &mut Row, key_bytes: &[u8], value: &[u8]) -> Result<()> {
        let from = row.len();
        row.extend_from_slice(&self.template);
        self.read_key(&mut row[from..], key_bytes)?;
        self.fill(&mut row[from..], value)
    }

    fn read_key(&self, row: &mut [Datum], key_bytes: &[u8]) -> Result<()> {
        let mut rest = key_bytes.get(self.prefix_bytes..).unwrap_or_default();
        let mut wanted = self.from_key.iter().peekable();
        for (i, part) in self.parts.iter().enumerate() {
            if wanted.peek().is_none() {
                break;
            }
            if wanted.peek().is_some_and(|(place, _)| *place == i) {
                let datum = part.decode(&mut rest)?;
                while let Some((_, out)) = wanted.next_if(|(place, _)| *place == i) {
                    row[*out] = datum.clone();
                }
            } else {
                part.skip(&mut rest)?;
            }
        }
        Ok(())
    }

    /// Adds the columns that a pair's value has.
    pub fn fill(&self, row: &mut [Datum], value: &[u8]) -> Result<()> {
        if self.from_value.is_empty() {
            return Ok(());
        }
        let reader = RowReader::new(value).map_err(from_codec)?;
        for (id, ty, out) in &self.from_value {
            match reader.column(*id) {
                None => {}
                Some(Cell::Null) => row[*out] = Datum::Null,
                Some(Cell::Bytes(bytes)) => {
                    row[*out] = decode_cell(bytes, ty).map_err(from_codec)?;
                }
            }
        }
        Ok(())
    }
}

impl IndexRows {
    /// The layout of an index's entries.
    pub fn new(table: &Table, index: &Index) -> Self {
        let keys = parts(table, index);
        let suffix = parts(table, &table.primary)
            .into_iter()
            .filter(|part| !keys.iter().any(|key| key.place == part.place))
            .map(|part| KeyPart { behind: Box::default(), ..part })
            .collect();
        Self {
            number: index.number,
            unique: index.unique,
            shape: table.key_shape(index),
            prefix: table.key_prefix(index),
            storing: index.storing.iter().map(|id| place_of(table, *id)).collect(),
            keys,
            suffix,
        }
    }

    /// The layouts of all secondary indexes of a table.
    pub fn all(table: &Table) -> Vec<Self> {
        table.indexes.iter().map(|index| Self::new(table, index)).collect()
    }

    /// Whether an entry tells this column's value exactly.
    pub fn has(&self, table: &Table, place: usize) -> bool {
        let exact = key::is_exact(&table.columns[place].ty);
        self.storing.contains(&place)
            || (exact && self.keys.iter().chain(&self.suffix).any(|part| part.place == place))
    }

    /// Whether a change of these columns changes an entry.
    pub fn touches(&self, places: &[usize]) -> bool {
        let has = |place: usize| places.contains(&place);
        self.keys.iter().chain(&self.suffix).any(|part| has(part.place))
            || self.storing.iter().any(|place| has(*place))
    }

    /// The key of the row's entry, and whether no other row may have it.
    pub fn entry_key(&self, row: &[Datum]) -> (Key, bool) {
        let mut out = Vec::with_capacity(self.prefix.len() + KEY_BYTES);
        out.extend_from_slice(&self.prefix);
        encode_parts(&mut out, &self.keys, row);
        let has_null = self.keys.iter().any(|part| row[part.place].is_null());
        let must_be_unique = self.unique && !has_null;
        if !must_be_unique {
            encode_parts(&mut out, &self.suffix, row);
        }
        (out, must_be_unique)
    }

    /// The row's entry.
    pub fn entry(&self, table: &Table, row: &[Datum]) -> IndexEntry {
        let (out, must_be_unique) = self.entry_key(row);
        let mut columns: Vec<(u16, &Datum, &SqlType)> = Vec::new();
        let mut add = |place: usize| {
            let column = &table.columns[place];
            columns.push((column.id, &row[place], &column.ty));
        };
        self.storing.iter().copied().for_each(&mut add);
        if must_be_unique {
            self.suffix.iter().map(|part| part.place).for_each(&mut add);
        }
        columns.sort_by_key(|(id, ..)| *id);
        columns.dedup_by_key(|(id, ..)| *id);
        let mut value = Vec::new();
        encode_row(&mut value, &columns);
        IndexEntry { key: out, value, must_be_unique }
    }

    /// A reader of these columns of the table, of those that the entry has; the others stay NULL.
    pub fn reader(&self, table: &Table, places: &[usize]) -> IndexDecoder {
        let mut from_value = Vec::new();
        let mut from_key = Vec::new();
        let key_parts = self.keys.iter().chain(&self.suffix);
        for (out, place) in places.iter().enumerate() {
            let column = &table.columns[*place];
            match key_parts.clone().position(|part| part.place == *place) {
                Some(part) => {
                    from_key.push((part, out));
                    if part >= self.keys.len() {
                        from_value.push((column.id, column.ty.clone(), out));
                    }
                }
                None => from_value.push((column.id, column.ty.clone(), out)),
            }
        }
        from_key.sort_unstable();
        IndexDecoder {
            prefix_bytes: self.prefix.len(),
            parts: key_parts.cloned().collect(),
            keys: self.keys.len(),
            from_key,
            from_value,
            width: places.len(),
        }
    }

    /// Everything of the index, and what is interleaved with it.
    pub fn span(&self) -> Span {
        Span::prefix(self.prefix.clone())
    }
}

/// Decodes chosen columns of index entries.
pub struct IndexDecoder {
    prefix_bytes: usize,
    parts: Vec<KeyPart>,
    /// How many of `parts` are always in the key.
    keys: usize,
    from_key: Vec<(usize, usize)>,
    from_value: Vec<(ColumnId, SqlType, usize)>,
    width: usize,
}

impl IndexDecoder {
    /// The chosen columns of an entry.
    pub fn decode(&self, key_bytes: &[u8], value: &[u8]) -> Result<Row> {
        let mut row = vec![Datum::Null; self.width];
        let mut rest = key_bytes.get(self.prefix_bytes..).unwrap_or_default();
        let mut wanted = self.from_key.iter().peekable();
        for (i, part) in self.parts.iter().enumerate() {
            // A unique entry's key ends here; the primary key is in its value.
            if i >= self.keys && rest.is_empty() {
                break;
            }
            let datum = part.decode(&mut rest)?;
            while let Some((_, out)) = wanted.next_if(|(place, _)| *place == i) {
                row[*out] = datum.clone();
            }
        }
        if !self.from_value.is_empty() {
            let reader = RowReader::new(value).map_err(from_codec)?;
            for (id, ty, out) in &self.from_value {
                if let Some(Cell::Bytes(bytes)) = reader.column(*id) {
                    row[*out] = decode_cell(bytes, ty).map_err(from_codec)?;
                }
            }
        }
        Ok(row)
    }
}

//! The layout of a table's rows: one pair a column family.

use std::convert::Infallible;
use std::sync::Arc;

use braid_catalog::{Column, FamilyId, Table};
use braid_codec::key;
use braid_codec::value::encode_columns;
use braid_kv::{Key, KeyShape, Span};
use braid_types::{Datum, Error, FormatSettings, Result};

use crate::key_part::{KEY_BYTES, KeyPart, encode_parts, parts};
use crate::row_decoder::RowDecoder;

/// Bytes reserved for the family in a key.
const FAMILY_BYTES: usize = 4;

/// Memory in which the pairs of one row after the other are encoded.
pub struct PairBuffer {
    key: Vec<u8>,
    value: Vec<u8>,
}

impl Default for PairBuffer {
    /// With room for usual pairs, so that they are not copied while they grow.
    fn default() -> Self {
        Self { key: Vec::with_capacity(64), value: Vec::with_capacity(192) }
    }
}

/// How a table's rows become keys and values.
pub struct TableRows {
    /// The table.
    pub table: Arc<Table>,
    /// Distinguishes its keys from those of tables interleaved with it, if there are any.
    pub shape: Option<Arc<dyn KeyShape>>,
    primary_prefix: Vec<u8>,
    primary: Vec<KeyPart>,
    families: Vec<FamilyRows>,
    /// For each column: what it was before it was added.
    missing: Vec<Datum>,
}

struct FamilyRows {
    id: FamilyId,
    /// Places of the columns in its value, by column number.
    places: Vec<usize>,
}

impl TableRows {
    /// The layout of a table's rows.
    ///
    /// # Errors
    /// XX000 if the descriptor names a column that it does not have, or holds a value that cannot
    /// be read.
    pub fn new(table: &Arc<Table>) -> Result<Self> {
        let primary = parts(table, &table.primary)?;
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
        let missing = table.columns.iter().map(missing_value).collect::<Result<_>>()?;
        Ok(Self {
            table: table.clone(),
            shape: table.key_shape(&table.primary),
            primary_prefix: table.key_prefix(&table.primary),
            primary,
            families,
            missing,
        })
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
        (0..self.families.len()).map(|place| self.family_key(primary_key, place)).collect()
    }

    /// The key of one family of a row, by its place among the families.
    pub fn family_key(&self, primary_key: &[u8], place: usize) -> Key {
        let mut out = Vec::with_capacity(primary_key.len() + FAMILY_BYTES);
        out.extend_from_slice(primary_key);
        key::encode_family(&mut out, self.families[place].id);
        out
    }

    /// Hands out the key of each family of a row. Ends with the first error.
    pub fn each_key<E>(
        &self,
        row: &[Datum],
        mut take: impl FnMut(&[u8]) -> std::result::Result<(), E>,
    ) -> std::result::Result<(), E> {
        let mut out = self.primary_key(row);
        let row_key = out.len();
        for family in &self.families {
            out.truncate(row_key);
            key::encode_family(&mut out, family.id);
            take(&out)?;
        }
        Ok(())
    }

    /// Whether two rows have the same key.
    pub fn has_same_key(&self, a: &[Datum], b: &[Datum]) -> bool {
        // Equal values have equal bytes. `char(n)` may have equal bytes for different ones.
        let is_equal = |part: &KeyPart| a[part.place] == b[part.place];
        self.primary.iter().all(is_equal) || self.primary_key(a) == self.primary_key(b)
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
        let mut pairs = Vec::with_capacity(self.families.len());
        let mut buffer = PairBuffer::default();
        let Ok(()) = self.each_pair::<Infallible>(row, &mut buffer, |_, key, value| {
            pairs.push((key.to_vec(), value.map(<[u8]>::to_vec)));
            Ok(())
        });
        pairs
    }

    /// Hands out the row's pairs: the place of the family, the key, and the value. `None` for a
    /// family that has nothing to store. Ends with the first error.
    pub fn each_pair<E>(
        &self,
        row: &[Datum],
        buffer: &mut PairBuffer,
        mut put: impl FnMut(usize, &[u8], Option<&[u8]>) -> std::result::Result<(), E>,
    ) -> std::result::Result<(), E> {
        let PairBuffer { key, value } = buffer;
        key.clear();
        key.extend_from_slice(&self.primary_prefix);
        encode_parts(key, &self.primary, row);
        let row_key = key.len();
        for (place, family) in self.families.iter().enumerate() {
            key.truncate(row_key);
            key::encode_family(key, family.id);
            if family.id != 0 && family.places.iter().all(|place| row[*place].is_null()) {
                put(place, key, None)?;
                continue;
            }
            value.clear();
            encode_columns(value, family.places.len(), |at| {
                let place = family.places[at];
                let column = &self.table.columns[place];
                (column.id, &row[place], &column.ty)
            });
            put(place, key, Some(value))?;
        }
        Ok(())
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
            members: Vec::new(),
            prefix_bytes: self.primary_prefix.len(),
            parts: self.primary.clone(),
            from_key,
            from_value,
            template: places.iter().map(|place| self.missing[*place].clone()).collect(),
        }
    }
}

/// The value of a column in rows that were stored before it was added.
fn missing_value(column: &Column) -> Result<Datum> {
    let Some(text) = column.missing.as_ref().and_then(|stored| stored.0.as_ref()) else {
        return Ok(Datum::Null);
    };
    let settings = FormatSettings::default();
    braid_types::text::parse(&column.ty, text, &settings, 0).map_err(|error| {
        let name = &column.name;
        Error::broken(format!("the value of column \"{name}\" in older rows: {error}"))
    })
}

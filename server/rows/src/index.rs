//! The layout of index entries, and their decoder.

use std::sync::Arc;

use braid_catalog::{ColumnId, ExclusionOperator, Index, IndexNumber, Table};
use braid_codec::key;
use braid_codec::terms::{Term, TermClass, terms_of};
use braid_codec::value::{Cell, RowReader, decode_cell, encode_columns};
use braid_kv::{Key, KeyShape, Span};
use braid_types::{Datum, Result, Row, SqlType};

use crate::errors::from_codec;
use crate::key_part::{KEY_BYTES, KeyPart, after_prefix, encode_parts, parts};

/// How one secondary index's entries are made.
pub struct IndexRows {
    /// The index's number.
    pub number: IndexNumber,
    /// Whether its keys are unique.
    pub unique: bool,
    /// Whether equal keys are looked for when a statement or the transaction ends.
    pub deferrable: bool,
    /// What the keys of two rows must not have, one for each key. Those with `=` come first.
    pub excluded_by: Vec<ExclusionOperator>,
    /// Of an inverted index the columns that its terms come from. Terms are the only part of
    /// `keys` then.
    sources: Vec<(usize, TermClass, SqlType)>,
    /// Whether keys with a NULL are unique, too.
    nulls_not_distinct: bool,
    /// Distinguishes its keys from others in its range, if there are any.
    pub shape: Option<Arc<dyn KeyShape>>,
    prefix: Vec<u8>,
    keys: Vec<KeyPart>,
    /// The primary key's columns that are not among `keys`.
    suffix: Vec<KeyPart>,
    /// Places of the columns in an entry's value, by column number.
    storing: Vec<usize>,
    /// The same for an entry whose key ends before `suffix`.
    unique_storing: Vec<usize>,
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

/// The entries of a row in all indexes of its table.
#[derive(Default)]
pub struct RowEntries {
    /// The entry in each index; `None` where a partial index leaves the row out, and in an
    /// inverted index.
    pub by_index: Vec<Option<IndexEntry>>,
    /// Those in inverted indexes.
    pub terms: Vec<IndexEntry>,
}

impl RowEntries {
    /// All of them.
    pub fn all(&self) -> impl Iterator<Item = &IndexEntry> {
        self.by_index.iter().flatten().chain(&self.terms)
    }
}

impl IndexRows {
    /// The layout of an index's entries.
    ///
    /// # Errors
    /// XX000 if the table has not all columns of the index.
    pub fn new(table: &Table, index: &Index) -> Result<Self> {
        let mut keys = parts(table, index)?;
        let sources = keys.iter().zip(&index.inverted);
        let sources = sources.map(|(key, class)| (key.place, *class, key.ty.clone())).collect();
        if index.is_inverted() {
            keys.truncate(1);
            keys.iter_mut().for_each(|key| key.ty = SqlType::Bytes);
        }
        // A term does not have the value of the column that it comes from.
        let is_key =
            |part: &KeyPart| !index.is_inverted() && keys.iter().any(|key| key.place == part.place);
        let suffix: Vec<KeyPart> = parts(table, &table.primary)?
            .into_iter()
            .filter(|part| !is_key(part))
            .map(|part| KeyPart { behind: Box::default(), ..part })
            .collect();
        let storing =
            index.storing.iter().map(|id| table.place_of(*id)).collect::<Result<Vec<usize>>>()?;
        let behind = suffix.iter().map(|part| part.place);
        let unique_storing = storing.iter().copied().chain(behind).collect();
        Ok(Self {
            number: index.number,
            unique: index.unique,
            deferrable: index.is_deferrable_unique(),
            excluded_by: index
                .exclusion
                .iter()
                .flat_map(|exclusion| exclusion.keys.iter().map(|key| key.operator))
                .collect(),
            sources,
            nulls_not_distinct: index.nulls_not_distinct,
            shape: table.key_shape(index),
            prefix: table.key_prefix(index),
            storing: by_number(table, storing),
            unique_storing: by_number(table, unique_storing),
            keys,
            suffix,
        })
    }

    /// The layouts of all secondary indexes of a table.
    pub fn all(table: &Table) -> Result<Vec<Self>> {
        table.indexes.iter().map(|index| Self::new(table, index)).collect()
    }

    /// Whether an entry contains this column's exact value.
    pub fn has(&self, table: &Table, place: usize) -> bool {
        let exact = key::is_exact(&table.columns[place].ty);
        self.storing.contains(&place)
            || (exact && self.value_parts().any(|(_, part)| part.place == place))
    }

    /// The parts of the key that have values of columns, with their places in the key.
    fn value_parts(&self) -> impl Iterator<Item = (usize, &KeyPart)> {
        let terms = if self.is_inverted() { self.keys.len() } else { 0 };
        self.keys.iter().chain(&self.suffix).enumerate().skip(terms)
    }

    /// The places of the columns from which entries are made, ascending.
    pub fn places(&self) -> Vec<usize> {
        let parts = self.keys.iter().chain(&self.suffix).map(|part| part.place);
        let sources = self.sources.iter().map(|(place, ..)| *place);
        let mut places: Vec<usize> =
            parts.chain(self.storing.iter().copied()).chain(sources).collect();
        places.sort_unstable();
        places.dedup();
        places
    }

    /// Whether a change of these columns changes an entry.
    pub fn touches(&self, places: &[usize]) -> bool {
        let has = |place: usize| places.contains(&place);
        self.keys.iter().chain(&self.suffix).any(|part| has(part.place))
            || self.storing.iter().any(|place| has(*place))
            || self.sources.iter().any(|(place, ..)| has(*place))
    }

    /// Whether its entries are terms.
    pub fn is_inverted(&self) -> bool {
        !self.sources.is_empty()
    }

    /// Calls `f` with the key of each of the row's entries.
    pub fn each_key<E>(
        &self,
        row: &[Datum],
        mut f: impl FnMut(Key) -> std::result::Result<(), E>,
    ) -> std::result::Result<(), E> {
        match self.is_inverted() {
            false => f(self.entry_key(row).0),
            true => self.term_keys(row).into_iter().try_for_each(f),
        }
    }

    /// The row's entries, in the order of their keys. Only an inverted index has several, or none.
    pub fn entries(&self, table: &Table, row: &[Datum]) -> Vec<IndexEntry> {
        if !self.is_inverted() {
            return vec![self.entry(table, row)];
        }
        let mut value = Vec::new();
        encode_columns(&mut value, 0, |_| (0, &Datum::Null, &SqlType::Unknown));
        let entry = |key: Key| IndexEntry { key, value: value.clone(), must_be_unique: false };
        self.term_keys(row).into_iter().map(entry).collect()
    }

    /// The keys of a row's terms, sorted.
    fn term_keys(&self, row: &[Datum]) -> Vec<Key> {
        let mut keys = Vec::new();
        for (at, (place, class, ty)) in self.sources.iter().enumerate() {
            for term in terms_of(*class, &row[*place], ty) {
                let mut key = self.term_prefix(at, &term);
                encode_parts(&mut key, &self.suffix, row);
                keys.push(key);
            }
        }
        keys.sort_unstable();
        keys
    }

    /// What the entries of a term of the key at this place begin with. The primary key follows.
    pub fn term_prefix(&self, at: usize, term: &[u8]) -> Vec<u8> {
        let mut out = Vec::with_capacity(self.prefix.len() + term.len() + KEY_BYTES);
        out.extend_from_slice(&self.prefix);
        let several = (self.sources.len() > 1).then_some(at as u8);
        let bytes: Term = several.into_iter().chain(term.iter().copied()).collect();
        key::encode(&mut out, &Datum::Bytes(bytes.into()), &SqlType::Bytes, false);
        out
    }

    /// The primary key's values in what follows a term.
    pub fn primary_values(&self, mut rest: &[u8]) -> Result<Row> {
        self.suffix.iter().map(|part| part.decode(&mut rest)).collect()
    }

    /// The key of the row's entry, and whether no other row may have it. An inverted index has
    /// [`Self::each_key`].
    pub fn entry_key(&self, row: &[Datum]) -> (Key, bool) {
        let mut out = Vec::with_capacity(self.prefix.len() + KEY_BYTES);
        out.extend_from_slice(&self.prefix);
        encode_parts(&mut out, &self.keys, row);
        let is_null = |part: &KeyPart| row[part.place].is_null();
        let must_be_unique =
            self.unique && (self.nulls_not_distinct || !self.keys.iter().any(is_null));
        if !must_be_unique {
            encode_parts(&mut out, &self.suffix, row);
        }
        (out, must_be_unique)
    }

    /// What the key of the row's entry begins with, if no other entry may begin with it when a
    /// deferrable constraint is checked.
    pub fn deferred_key(&self, row: &[Datum]) -> Option<Key> {
        let has_null = || self.keys.iter().any(|part| row[part.place].is_null());
        if !self.deferrable || (!self.nulls_not_distinct && has_null()) {
            return None;
        }
        let mut out = self.prefix.clone();
        encode_parts(&mut out, &self.keys, row);
        Some(out)
    }

    /// The values of the index's keys in an entry.
    pub fn key_values(&self, entry: &[u8]) -> Result<Row> {
        let mut rest = after_prefix(entry, self.prefix.len())?;
        self.keys.iter().map(|part| part.decode(&mut rest)).collect()
    }

    /// What all entries begin with that may be excluded by this one: the keys with `=`.
    pub fn exclusion_prefix(&self, entry: &[u8]) -> Result<Key> {
        let mut rest = after_prefix(entry, self.prefix.len())?;
        let operators = self.excluded_by.iter();
        let equal = operators.take_while(|operator| **operator == ExclusionOperator::Equal);
        for part in self.keys.iter().take(equal.count()) {
            part.skip(&mut rest)?;
        }
        Ok(entry.iter().take(entry.len() - rest.len()).copied().collect())
    }

    /// The row's entry. An inverted index has [`Self::entries`].
    pub fn entry(&self, table: &Table, row: &[Datum]) -> IndexEntry {
        let (out, must_be_unique) = self.entry_key(row);
        let places = if must_be_unique { &self.unique_storing } else { &self.storing };
        let mut value = Vec::new();
        encode_columns(&mut value, places.len(), |at| {
            let place = places[at];
            let column = &table.columns[place];
            (column.id, &row[place], &column.ty)
        });
        IndexEntry { key: out, value, must_be_unique }
    }

    /// A reader of these columns of the table, of those that the entry has; the others stay NULL.
    pub fn reader(&self, table: &Table, places: &[usize]) -> IndexDecoder {
        self.reader_of(table, places, |_| true)
    }

    /// The same for those of the columns, by their place in the list, that are wanted.
    pub fn reader_of(
        &self,
        table: &Table,
        places: &[usize],
        is_wanted: impl Fn(usize) -> bool,
    ) -> IndexDecoder {
        let mut from_value = Vec::new();
        let mut from_key = Vec::new();
        let key_parts = self.keys.iter().chain(&self.suffix);
        for (out, place) in places.iter().enumerate().filter(|(out, _)| is_wanted(*out)) {
            let column = &table.columns[*place];
            match self.value_parts().find(|(_, part)| part.place == *place) {
                // What the value has is exact, which a key is not for every type.
                Some((part, _)) if part >= self.keys.len() && self.storing.contains(place) => {
                    from_value.push((column.id, column.ty.clone(), out));
                }
                Some((part, _)) => {
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

/// The keys of the old entries that a row has no more, and the entries that it did not have. Both
/// lists are in the order of their keys.
pub fn changed_entries(
    old: Vec<IndexEntry>,
    mut new: Vec<IndexEntry>,
) -> (Vec<Key>, Vec<IndexEntry>) {
    let has = |entries: &[IndexEntry], key: &Key| {
        entries.binary_search_by(|entry| entry.key.cmp(key)).is_ok()
    };
    let (kept, gone): (Vec<IndexEntry>, Vec<IndexEntry>) =
        old.into_iter().partition(|entry| has(&new, &entry.key));
    new.retain(|entry| !has(&kept, &entry.key));
    (gone.into_iter().map(|entry| entry.key).collect(), new)
}

/// Places of columns by column number, each once.
fn by_number(table: &Table, mut places: Vec<usize>) -> Vec<usize> {
    places.sort_unstable_by_key(|place| table.columns[*place].id);
    places.dedup();
    places
}

/// Decodes chosen columns of index entries.
#[derive(Clone)]
pub struct IndexDecoder {
    pub(crate) prefix_bytes: usize,
    pub(crate) parts: Vec<KeyPart>,
    /// How many of `parts` are always in the key.
    pub(crate) keys: usize,
    pub(crate) from_key: Vec<(usize, usize)>,
    pub(crate) from_value: Vec<(ColumnId, SqlType, usize)>,
    pub(crate) width: usize,
}

impl IndexDecoder {
    /// The chosen columns of an entry.
    pub fn decode(&self, key_bytes: &[u8], value: &[u8]) -> Result<Row> {
        let mut row = Row::with_capacity(self.width);
        self.append(&mut row, key_bytes, value)?;
        Ok(row)
    }

    /// Appends the chosen columns of an entry to a row.
    pub fn append(&self, row: &mut Row, key_bytes: &[u8], value: &[u8]) -> Result<()> {
        let from = row.len();
        row.resize(from + self.width, Datum::Null);
        let row = &mut row[from..];
        let mut rest = after_prefix(key_bytes, self.prefix_bytes)?;
        let mut wanted = self.from_key.iter().peekable();
        for (i, part) in self.parts.iter().enumerate() {
            // A unique entry's key ends here; the primary key is in its value.
            if wanted.peek().is_none() || (i >= self.keys && rest.is_empty()) {
                break;
            }
            if wanted.peek().is_none_or(|(place, _)| *place != i) {
                part.skip(&mut rest)?;
                continue;
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
        Ok(())
    }
}

//! What is stored of a prepared transaction.
//!
//! ```text
//! format u8 │ about │ n, locked spans │ n, deleted spans │ n, writes
//!             every part of bytes: its length as u32, then the bytes; a span is two of them;
//!             a write is a key and a part that begins with 1 (a value follows) or is empty
//! ```
//!
//! Integers are big-endian. The whole is stored in several pairs, each key with the number of its
//! pair.

use crate::{Error, Key, Result, Span, SpanSet, Value, Write};
use std::sync::Arc;

/// The newest format.
const FORMAT: u8 = 1;
/// Bytes of a record in one value.
const PART_BYTES: usize = 1 << 20;

/// A prepared transaction as it is stored.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Record {
    /// What its owner says of it.
    pub about: Value,
    /// What is locked shared.
    pub shared: SpanSet,
    /// Range deletes.
    pub deleted_spans: SpanSet,
    /// Final states in key order.
    pub writes: Vec<Write>,
}

impl Record {
    /// The pairs that are stored under a prefix, in key order.
    pub(super) fn pairs(&self, prefix: &[u8]) -> Vec<Write> {
        let bytes = Value::from(self.encode());
        let count = bytes.len().div_ceil(PART_BYTES);
        (0..count)
            .map(|part| {
                let number = u32::try_from(part).unwrap_or(u32::MAX).to_be_bytes();
                let end = bytes.len().min((part + 1) * PART_BYTES);
                let value = bytes.slice(part * PART_BYTES..end);
                (Arc::from([prefix, &number].concat()), Some(value))
            })
            .collect()
    }

    /// The prefix in a key of [`Record::pairs`].
    pub(super) fn prefix(key: &[u8]) -> Result<&[u8]> {
        let number = std::mem::size_of::<u32>();
        key.len().checked_sub(number).map(|end| &key[..end]).ok_or_else(corrupt)
    }

    fn encode(&self) -> Vec<u8> {
        let mut out = vec![FORMAT];
        put_bytes(&mut out, &self.about);
        for spans in [&self.shared, &self.deleted_spans] {
            put_len(&mut out, spans.len());
            for span in spans.spans() {
                put_bytes(&mut out, &span.start);
                put_bytes(&mut out, &span.end);
            }
        }
        put_len(&mut out, self.writes.len());
        for (key, value) in &self.writes {
            put_bytes(&mut out, key);
            match value {
                Some(value) => {
                    put_len(&mut out, value.len() + 1);
                    out.push(1);
                    out.extend_from_slice(value);
                }
                None => put_len(&mut out, 0),
            }
        }
        out
    }

    /// A record out of the values of its pairs, in order.
    pub(super) fn decode(bytes: &[u8]) -> Result<Record> {
        let mut input = bytes;
        let (format, rest) = input.split_first().ok_or_else(corrupt)?;
        if *format != FORMAT {
            let message = format!("prepared transaction: format {format} is unknown");
            return Err(Error::Corrupt(message.into()));
        }
        input = rest;
        let about = Value::copy_from_slice(take_bytes(&mut input)?);
        let shared = take_spans(&mut input)?;
        let deleted_spans = take_spans(&mut input)?;
        let count = take_len(&mut input)?;
        let mut writes = Vec::new();
        for _ in 0..count {
            let key = Arc::from(take_bytes(&mut input)?);
            let value = match take_bytes(&mut input)?.split_first() {
                Some((1, value)) => Some(Value::copy_from_slice(value)),
                Some(_) => return Err(corrupt()),
                None => None,
            };
            writes.push((key, value));
        }
        match input.is_empty() {
            true => Ok(Record { about, shared, deleted_spans, writes }),
            false => Err(corrupt()),
        }
    }
}

fn corrupt() -> Error {
    Error::Corrupt("the record of a prepared transaction is damaged".into())
}

fn put_len(out: &mut Vec<u8>, len: usize) {
    debug_assert!(u32::try_from(len).is_ok(), "a part of {len} bytes is larger than a buffer");
    out.extend_from_slice(&u32::try_from(len).unwrap_or(u32::MAX).to_be_bytes());
}

fn put_bytes(out: &mut Vec<u8>, bytes: &[u8]) {
    put_len(out, bytes.len());
    out.extend_from_slice(bytes);
}

fn take_len(input: &mut &[u8]) -> Result<usize> {
    let (len, rest) = input.split_first_chunk::<4>().ok_or_else(corrupt)?;
    *input = rest;
    Ok(u32::from_be_bytes(*len) as usize)
}

fn take_bytes<'a>(input: &mut &'a [u8]) -> Result<&'a [u8]> {
    let len = take_len(input)?;
    let (bytes, rest) = input.split_at_checked(len).ok_or_else(corrupt)?;
    *input = rest;
    Ok(bytes)
}

fn take_spans(input: &mut &[u8]) -> Result<SpanSet> {
    let count = take_len(input)?;
    let mut spans: Vec<Span> = Vec::new();
    for _ in 0..count {
        let start: Key = take_bytes(input)?.to_vec();
        spans.push(Span::new(start, take_bytes(input)?));
    }
    Ok(spans.into_iter().collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record(value_bytes: usize) -> Record {
        let spans = |keys: &[(&str, &str)]| {
            keys.iter().map(|(start, end)| Span::new(*start, *end)).collect::<SpanSet>()
        };
        Record {
            about: Value::from_static(b"{}"),
            shared: spans(&[("a", "b"), ("c", "d")]),
            deleted_spans: spans(&[("k", "l")]),
            writes: vec![
                (Arc::from(b"m".as_slice()), None),
                (Arc::from(b"n".as_slice()), Some(Value::new())),
                (Arc::from(b"o".as_slice()), Some(Value::from(vec![7; value_bytes]))),
            ],
        }
    }

    fn joined(pairs: &[Write]) -> Vec<u8> {
        let values = pairs.iter().flat_map(|(_, value)| value.as_ref());
        values.flat_map(|value| value.iter().copied()).collect()
    }

    #[test]
    fn a_record_comes_back_from_its_pairs() {
        for bytes in [0, 10, PART_BYTES, 3 * PART_BYTES + 5] {
            let record = record(bytes);
            let pairs = record.pairs(b"prefix");
            assert!(pairs.is_sorted_by(|a, b| a.0 < b.0));
            let prefixes = pairs.iter().map(|(key, _)| Record::prefix(key));
            assert!(prefixes.into_iter().all(|prefix| prefix == Ok(b"prefix".as_slice())));
            assert_eq!(Record::decode(&joined(&pairs)), Ok(record));
        }
    }

    #[test]
    fn a_damaged_record_is_an_error() {
        let bytes = joined(&record(3).pairs(b""));
        for end in 0..bytes.len() {
            assert!(Record::decode(&bytes[..end]).is_err(), "cut at {end}");
        }
        let longer = [bytes.as_slice(), b"x"].concat();
        assert!(Record::decode(&longer).is_err());
        let mut newer = bytes;
        newer[0] = FORMAT + 1;
        assert!(matches!(Record::decode(&newer), Err(Error::Corrupt(_))));
    }
}

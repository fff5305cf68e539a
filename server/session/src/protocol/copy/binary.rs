//! COPY in binary format.
//!
//! ```text
//! PGCOPY\n\xff\r\n\0   flags i32   length i32, extension
//! count i16   (length i32, value) …      one row; length -1 is NULL
//! -1 i16                                 the end
//! ```

use braid_types::encoding::{Encoding, encode, is_text_in_binary};
use braid_types::{Datum, Error, Result, SqlState, SqlType, binary};

use super::target::Target;
use crate::protocol::text::binary_value;

const SIGNATURE: &[u8] = b"PGCOPY\n\xff\r\n\0";
/// The bit of the flags that said, before PostgreSQL 12, that rows have oids.
const WITH_OIDS: u32 = 1 << 16;
/// The bits of the flags that a reader must know.
const CRITICAL: u32 = 0xffff_0000;
/// The longest row.
const ROW_BYTES_MAX: usize = 64 << 20;

fn bad_format(message: impl Into<String>) -> Error {
    Error::new(SqlState::BadCopyFileFormat, message)
}

/// What begins the data.
pub(super) fn put_header(out: &mut Vec<u8>) {
    out.extend_from_slice(SIGNATURE);
    out.extend_from_slice(&[0; 8]);
}

/// What ends the data.
pub(super) fn put_trailer(out: &mut Vec<u8>) {
    out.extend_from_slice(&(-1i16).to_be_bytes());
}

/// One row, its texts in the client's encoding.
pub(super) fn put_row<'a>(
    out: &mut Vec<u8>,
    values: impl ExactSizeIterator<Item = (&'a Datum, &'a SqlType)>,
    encoding: &'static Encoding,
) -> Result<()> {
    let count = i16::try_from(values.len()).unwrap_or(i16::MAX);
    out.extend_from_slice(&count.to_be_bytes());
    for (datum, ty) in values {
        let at = out.len();
        out.extend_from_slice(&(-1i32).to_be_bytes());
        if datum.is_null() {
            continue;
        }
        if encoding.converts() && is_text_in_binary(ty) {
            let mut text = Vec::new();
            binary::encode(ty, datum, &mut text);
            encode(encoding, &String::from_utf8_lossy(&text), out)?;
        } else {
            binary::encode(ty, datum, out);
        }
        let length = i32::try_from(out.len() - at - 4).unwrap_or(i32::MAX);
        out[at..at + 4].copy_from_slice(&length.to_be_bytes());
    }
    Ok(())
}

/// Cuts data into rows.
pub(super) struct BinaryRows {
    /// The client's.
    encoding: &'static Encoding,
    buffer: Vec<u8>,
    /// How much of the buffer was read.
    at: usize,
    pub has_header: bool,
    /// The end was read.
    has_ended: bool,
    /// Rows that were begun.
    pub line: u64,
}

/// What could be read from the front of the data.
enum Part<T> {
    Whole(T),
    /// More data has to come.
    Short,
}

impl BinaryRows {
    /// Before the first piece of data, whose texts are in that encoding.
    pub(super) fn new(encoding: &'static Encoding) -> Self {
        let buffer = Vec::new();
        BinaryRows { encoding, buffer, at: 0, has_header: false, has_ended: false, line: 0 }
    }

    /// Adds a piece of data.
    pub(super) fn push(&mut self, data: &[u8]) -> Result<()> {
        if self.has_ended && !data.is_empty() {
            return Err(bad_format("received copy data after EOF marker"));
        }
        self.buffer.drain(..self.at);
        self.at = 0;
        self.buffer.extend_from_slice(data);
        if self.buffer.len() > ROW_BYTES_MAX + data.len() {
            let message = format!("COPY record is longer than {ROW_BYTES_MAX} bytes");
            return Err(Error::new(SqlState::ProgramLimitExceeded, message));
        }
        Ok(())
    }

    fn rest(&self) -> &[u8] {
        &self.buffer[self.at..]
    }

    /// Reads the header. `last`: no more data will come.
    fn read_header(&mut self, last: bool) -> Result<Part<()>> {
        let rest = self.rest();
        if rest.len() < SIGNATURE.len() && !last {
            return Ok(Part::Short);
        }
        let Some(rest) = rest.strip_prefix(SIGNATURE) else {
            return Err(bad_format("COPY file signature not recognized"));
        };
        let missing = |what: &str| match last {
            true => Err(bad_format(format!("invalid COPY file header ({what})"))),
            false => Ok(Part::Short),
        };
        let Some((flags, rest)) = rest.split_first_chunk() else { return missing("missing flags") };
        let flags = u32::from_be_bytes(*flags);
        if flags & WITH_OIDS != 0 {
            return Err(bad_format("invalid COPY file header (WITH OIDS)"));
        }
        if flags & CRITICAL != 0 {
            return Err(bad_format("unrecognized critical flags in COPY file header"));
        }
        let Some((length, rest)) = rest.split_first_chunk() else {
            return missing("missing length");
        };
        let Ok(length) = usize::try_from(i32::from_be_bytes(*length)) else {
            return Err(bad_format("invalid COPY file header (missing length)"));
        };
        if rest.len() < length {
            return missing("wrong length");
        }
        self.at += SIGNATURE.len() + 8 + length;
        self.has_header = true;
        Ok(Part::Whole(()))
    }

    /// Reads the next whole row as values of the target's columns: how many bytes it has, `None`
    /// if more data has to come, or none will.
    pub(super) fn next(
        &mut self,
        last: bool,
        target: &Target,
        params: &mut Vec<Datum>,
    ) -> Result<Option<usize>> {
        if self.has_ended || (!self.has_header && matches!(self.read_header(last)?, Part::Short)) {
            return Ok(None);
        }
        let line = self.line + 1;
        let in_row = |error: Error| error.context(format!("COPY {}, line {line}", target.table));
        let Some((count, rest)) = self.rest().split_first_chunk() else {
            self.has_ended = last;
            return Ok(None);
        };
        let count = i16::from_be_bytes(*count);
        if count == -1 {
            let is_end = rest.is_empty();
            self.has_ended = true;
            return match is_end {
                true => Ok(None),
                false => Err(in_row(bad_format("received copy data after EOF marker"))),
            };
        }
        if usize::try_from(count) != Ok(target.columns.len()) {
            let expected = target.columns.len();
            let message = format!("row field count is {count}, expected {expected}");
            return Err(in_row(bad_format(message)));
        }
        let Some(fields) = split(rest, last, target, line)? else { return Ok(None) };
        let mut bytes = 2;
        for (field, (name, ty)) in fields.into_iter().zip(&target.columns) {
            bytes += 4 + field.map_or(0, <[u8]>::len);
            params.push(match field {
                None => Datum::Null,
                Some(field) => binary_value(ty, field, self.encoding)
                    .map_err(|error| in_column(error, target, line, name))?,
            });
        }
        self.line = line;
        self.at += bytes;
        Ok(Some(bytes))
    }
}

/// The fields at the front of the data; `None` if more has to come.
fn split<'a>(
    mut rest: &'a [u8],
    last: bool,
    target: &Target,
    line: u64,
) -> Result<Option<Vec<Option<&'a [u8]>>>> {
    let mut fields = Vec::with_capacity(target.columns.len());
    for (name, _) in &target.columns {
        let failed = |message| in_column(bad_format(message), target, line, name);
        let short = || if last { Err(failed("unexpected EOF in COPY data")) } else { Ok(None) };
        let Some((length, after)) = rest.split_first_chunk() else { return short() };
        let length = i32::from_be_bytes(*length);
        if length == -1 {
            fields.push(None);
            rest = after;
            continue;
        }
        let Ok(length) = usize::try_from(length) else { return Err(failed("invalid field size")) };
        let Some((field, after)) = after.split_at_checked(length) else { return short() };
        fields.push(Some(field));
        rest = after;
    }
    Ok(Some(fields))
}

fn in_column(error: Error, target: &Target, line: u64, column: &str) -> Error {
    error.context(format!("COPY {}, line {line}, column {column}", target.table))
}

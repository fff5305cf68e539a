//! From pieces of data to records of fields.
//!
//! Not here: what a field means. A field is its text and whether it was quoted: only an unquoted
//! one can be NULL.

use std::borrow::Cow;

use braid_types::{Error, Result, SqlState};

use super::Format;
use crate::protocol::text::utf8_without_nul;

/// The longest record.
const RECORD_BYTES_MAX: usize = 64 << 20;

/// Fields for which a record makes room at first.
const FIELDS_USUAL: usize = 8;

/// A field of a record; `None` is NULL.
pub(crate) type Field<'r> = Option<Cow<'r, str>>;

/// Cuts data into records.
pub(crate) struct Records {
    format: Format,
    buffer: Vec<u8>,
    /// How much of `buffer` was read. It is removed when more data comes, not for each record.
    start: usize,
    /// How far `buffer` was searched for the end of a line, and whether inside quotes.
    searched: usize,
    quoted: bool,
    /// The line that the next record starts at, from 1.
    pub line: u64,
    /// The end-of-data marker was read.
    ended: bool,
}

fn bad_format(message: impl Into<String>) -> Error {
    Error::new(SqlState::BadCopyFileFormat, message)
}

impl Records {
    pub(crate) fn new(format: Format) -> Records {
        Records {
            format,
            buffer: Vec::new(),
            start: 0,
            searched: 0,
            quoted: false,
            line: 1,
            ended: false,
        }
    }

    /// Adds a piece of data.
    pub(crate) fn push(&mut self, data: &[u8]) -> Result<()> {
        self.buffer.drain(..self.start);
        self.searched -= self.start;
        self.start = 0;
        if !self.ended {
            self.buffer.extend_from_slice(data);
        }
        if self.buffer.len() > RECORD_BYTES_MAX + data.len() {
            return Err(Error::new(
                SqlState::ProgramLimitExceeded,
                format!("COPY record is longer than {RECORD_BYTES_MAX} bytes"),
            ));
        }
        Ok(())
    }

    /// The end of the next line that is not inside quotes.
    fn line_end(&mut self) -> Option<usize> {
        let (quote, escape) = match self.format.csv {
            true => (self.format.quote, self.format.escape),
            false => (b'\\', b'\\'),
        };
        let matters = |byte: &u8| *byte == b'\n' || *byte == quote || *byte == escape;
        while let Some(rest) = self.buffer.get(self.searched..).filter(|rest| !rest.is_empty()) {
            let Some(at) = rest.iter().position(matters) else {
                self.searched = self.buffer.len();
                return None;
            };
            self.searched += at;
            match self.buffer[self.searched] {
                b'\n' if !self.quoted => return Some(self.searched),
                // An escaped line end in text format belongs to the data.
                b'\\' if !self.format.csv => {
                    if self.searched + 1 >= self.buffer.len() {
                        return None;
                    }
                    self.searched += 1;
                }
                byte if self.format.csv
                    && self.quoted
                    && byte == self.format.escape
                    && self.format.escape != self.format.quote =>
                {
                    if self.searched + 1 >= self.buffer.len() {
                        return None;
                    }
                    self.searched += 1;
                }
                byte if self.format.csv && byte == self.format.quote => {
                    self.quoted = !self.quoted;
                }
                _ => {}
            }
            self.searched += 1;
        }
        None
    }

    /// The next whole record, as bytes without its line end. `last`: no more data will come.
    pub(crate) fn next(&mut self, last: bool) -> Result<Option<Vec<u8>>> {
        if self.ended {
            return Ok(None);
        }
        let end = match self.line_end() {
            Some(end) => end,
            None if !last || self.start == self.buffer.len() => return Ok(None),
            None if self.quoted => return Err(bad_format("unterminated CSV quoted field")),
            None => self.buffer.len(),
        };
        let mut record = self.buffer[self.start..end].to_vec();
        // The line end is not part of the record; the last record may have none.
        self.start = (end + 1).min(self.buffer.len());
        self.searched = self.start;
        self.quoted = false;
        if record.last() == Some(&b'\r') {
            record.pop();
        }
        if record == b"\\." {
            self.ended = true;
            self.buffer.clear();
            (self.start, self.searched) = (0, 0);
            return Ok(None);
        }
        Ok(Some(record))
    }

    /// Splits a record into fields.
    pub(crate) fn split<'r>(&mut self, record: &'r [u8]) -> Result<Vec<Field<'r>>> {
        let lines = 1 + record.iter().filter(|byte| **byte == b'\n').count() as u64;
        self.line += lines;
        if let Some(fields) = split_plain(record, &self.format) {
            return Ok(fields);
        }
        let fields = if self.format.csv {
            split_csv(record, &self.format)?
        } else {
            split_text(record, &self.format)
        };
        fields.into_iter().map(|(bytes, may_be_null)| self.field(bytes, may_be_null)).collect()
    }

    fn field(&self, bytes: Vec<u8>, may_be_null: bool) -> Result<Field<'static>> {
        if may_be_null && bytes == self.format.null.as_bytes() {
            return Ok(None);
        }
        utf8_without_nul(&bytes).map(|text| Some(Cow::Owned(text.to_owned())))
    }
}

/// Splits a record of plain text, whose fields are as they come. `None` if it has an escape, a
/// quote, or bytes that are no text.
fn split_plain<'r>(record: &'r [u8], format: &Format) -> Option<Vec<Field<'r>>> {
    let special = if format.csv { format.quote } else { b'\\' };
    if record.iter().any(|byte| *byte == special || *byte == 0) {
        return None;
    }
    let text = std::str::from_utf8(record).ok()?;
    let field = |text: &'r str| (text != format.null).then_some(Cow::Borrowed(text));
    let mut fields = Vec::with_capacity(FIELDS_USUAL);
    let mut start = 0;
    for (at, _) in record.iter().enumerate().filter(|(_, byte)| **byte == format.delimiter) {
        // A delimiter that is not ASCII may be a part of a character.
        fields.push(field(text.get(start..at)?));
        start = at + 1;
    }
    fields.push(field(text.get(start..)?));
    Some(fields)
}

/// The bytes of each field, and whether they may stand for NULL.
type Raw = Vec<(Vec<u8>, bool)>;

fn split_text(record: &[u8], format: &Format) -> Raw {
    let mut fields = Vec::new();
    let mut start = 0;
    let mut at = 0;
    while at <= record.len() {
        match record.get(at) {
            Some(b'\\') => at += 2,
            Some(byte) if *byte != format.delimiter => at += 1,
            _ => {
                let raw = &record[start..at.min(record.len())];
                // NULL is recognised before escapes are resolved, as in PostgreSQL.
                if raw == format.null.as_bytes() {
                    fields.push((raw.to_vec(), true));
                } else {
                    fields.push((unescape(raw), false));
                }
                at += 1;
                start = at;
            }
        }
    }
    if start <= record.len() && at > record.len() + 1 {
        // A backslash at the very end.
        fields.push((unescape(&record[start..]), false));
    }
    fields
}

fn unescape(raw: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(raw.len());
    let mut bytes = raw.iter().copied().peekable();
    while let Some(byte) = bytes.next() {
        if byte != b'\\' {
            out.push(byte);
            continue;
        }
        let Some(next) = bytes.next() else {
            out.push(b'\\');
            break;
        };
        out.push(match next {
            b'b' => 8,
            b'f' => 12,
            b'n' => b'\n',
            b'r' => b'\r',
            b't' => b'\t',
            b'v' => 11,
            b'x' => {
                let digits = take_digits(&mut bytes, 16, 2);
                digits.unwrap_or(b'x')
            }
            b'0'..=b'7' => {
                let mut value = u32::from(next - b'0');
                for _ in 0..2 {
                    match bytes.peek() {
                        Some(digit @ b'0'..=b'7') => {
                            value = value * 8 + u32::from(digit - b'0');
                            bytes.next();
                        }
                        _ => break,
                    }
                }
                (value & 0xff) as u8
            }
            other => other,
        });
    }
    out
}

fn take_digits(
    bytes: &mut std::iter::Peekable<impl Iterator<Item = u8>>,
    radix: u32,
    most: usize,
) -> Option<u8> {
    let mut value = None;
    for _ in 0..most {
        let Some(digit) = bytes.peek().and_then(|byte| char::from(*byte).to_digit(radix)) else {
            break;
        };
        value = Some(value.unwrap_or(0) * radix + digit);
        bytes.next();
    }
    value.map(|value| (value & 0xff) as u8)
}

fn split_csv(record: &[u8], format: &Format) -> Result<Raw> {
    let mut fields = Vec::new();
    let mut field = Vec::new();
    let (mut inside, mut was_quoted) = (false, false);
    let mut at = 0;
    while at < record.len() {
        let byte = record[at];
        let next = record.get(at + 1).copied();
        if inside {
            let escapes = next.is_some_and(|n| n == format.quote || n == format.escape);
            if byte == format.escape && escapes {
                field.push(record[at + 1]);
                at += 1;
            } else if byte == format.quote {
                inside = false;
            } else {
                field.push(byte);
            }
        } else if byte == format.quote {
            inside = true;
            was_quoted = true;
        } else if byte == format.delimiter {
            fields.push((std::mem::take(&mut field), !was_quoted));
            was_quoted = false;
        } else {
            field.push(byte);
        }
        at += 1;
    }
    if inside {
        return Err(bad_format("unterminated CSV quoted field"));
    }
    fields.push((field, !was_quoted));
    Ok(fields)
}

#[cfg(test)]
mod tests {
    use super::*;
    use braid_sql::ast::{CopyDirection, CopyFormat, CopyOptions};

    fn read(csv: bool, pieces: &[&str]) -> Result<Vec<Vec<Field<'static>>>> {
        let format = if csv { CopyFormat::Csv } else { CopyFormat::Text };
        let options = CopyOptions { format, ..CopyOptions::default() };
        let format = Format::new(&options, CopyDirection::FromStdin)?;
        let mut records = Records::new(format);
        let owned = |field: Field<'_>| field.map(|text| Cow::Owned(text.into_owned()));
        let mut rows = Vec::new();
        for (i, piece) in pieces.iter().enumerate() {
            records.push(piece.as_bytes())?;
            while let Some(record) = records.next(i + 1 == pieces.len())? {
                rows.push(records.split(&record)?.into_iter().map(owned).collect());
            }
        }
        Ok(rows)
    }

    fn row(fields: &[Option<&'static str>]) -> Vec<Field<'static>> {
        fields.iter().map(|field| field.map(Cow::Borrowed)).collect()
    }

    #[test]
    fn text_has_escapes_and_null() {
        let rows = read(false, &["1\t\\N\ta\\tb\\\\\n2\t\\\\N\t\\x41\\101\n\\.\nignored\n"]);
        assert_eq!(
            rows.unwrap(),
            vec![
                row(&[Some("1"), None, Some("a\tb\\")]),
                row(&[Some("2"), Some("\\N"), Some("AA")]),
            ]
        );
    }

    #[test]
    fn csv_has_quotes_and_lines_inside_them() {
        let rows = read(true, &["a,\"b \"\"x\"\"\n", "c\",,\"\"\r\nlast"]);
        assert_eq!(
            rows.unwrap(),
            vec![row(&[Some("a"), Some("b \"x\"\nc"), None, Some("")]), row(&[Some("last")])]
        );
    }

    #[test]
    fn every_cut_gives_the_same_records() {
        let text = "1\ta\\\nb\t\\N\n22\t\t\\\\\n";
        let whole = read(false, &[text]).unwrap();
        for cut in 0..text.len() {
            let (a, b) = text.split_at(cut);
            assert_eq!(read(false, &[a, b]).unwrap(), whole, "{cut}");
        }
    }

    /// The short way and the long one give the same fields.
    #[test]
    fn plain_records_are_split_as_all_others_are() {
        let null = "-";
        let pieces = ["", "-", "a", "\u{e9}", "\u{a7}-", "|", "||", "\r", " ", "\u{1f600}"];
        for (format, delimiter) in [(CopyFormat::Text, "|"), (CopyFormat::Csv, "|")] {
            let options = CopyOptions {
                format,
                delimiter: Some(delimiter.to_owned()),
                null: Some(null.to_owned()),
                ..CopyOptions::default()
            };
            let format = Format::new(&options, CopyDirection::FromStdin).unwrap();
            let records = Records::new(format.clone());
            for (a, b, c) in pieces
                .iter()
                .flat_map(|a| pieces.iter().map(move |b| (a, b)))
                .flat_map(|(a, b)| pieces.iter().map(move |c| (a, b, c)))
            {
                let record = format!("{a}{b}{c}");
                let bytes = record.as_bytes();
                let plain = split_plain(bytes, &format).expect("nothing special");
                let raw = match format.csv {
                    true => split_csv(bytes, &format).unwrap(),
                    false => split_text(bytes, &format),
                };
                let long: Result<Vec<_>> =
                    raw.into_iter().map(|(bytes, null)| records.field(bytes, null)).collect();
                assert_eq!(plain, long.unwrap(), "{record:?}");
            }
            for special in ["a|\0", if format.csv { "\"a\"" } else { "a\\N" }] {
                assert_eq!(split_plain(special.as_bytes(), &format), None);
            }
            assert_eq!(split_plain(b"a|\xff", &format), None);
        }
    }

    #[test]
    fn an_open_quote_is_an_error() {
        assert_eq!(read(true, &["\"abc\n"]).unwrap_err().state().code(), "22P04");
    }
}

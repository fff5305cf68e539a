//! Messages of a client whose encoding is not UTF8.
//!
//! Messages are read and written in UTF8 elsewhere; here their texts are converted, and the lengths
//! with them. Not here: the data of COPY, which has an encoding of its own (`session`).
//!
//! Rules: values in binary format that are no texts stay as they are. What the encoding lacks is
//! an error in a row (22P05), and a question mark in names, notices and errors: these must leave.

use braid_session::{Formats, ResultColumn};
use braid_types::Result;
use braid_types::encoding::{Encoding, decode, encode, is_text_in_binary};
use bytes::Bytes;

/// Bytes of kind and length before a body.
const HEADER_BYTES: usize = 5;

/// A message that is being converted: what is left of it, and the new one.
struct Message<'a> {
    rest: &'a [u8],
    out: Vec<u8>,
}

impl<'a> Message<'a> {
    /// The next bytes. A message that is too short is left to its reader.
    fn take(&mut self, count: usize) -> &'a [u8] {
        let (taken, rest) = self.rest.split_at(count.min(self.rest.len()));
        self.rest = rest;
        taken
    }

    fn copy(&mut self, count: usize) -> &'a [u8] {
        let taken = self.take(count);
        self.out.extend_from_slice(taken);
        taken
    }

    fn count(&mut self) -> usize {
        let bytes = self.copy(2);
        bytes.first_chunk().map_or(0, |bytes| usize::from(u16::from_be_bytes(*bytes)))
    }

    /// The bytes before the next zero, which is passed; `None` at the end.
    fn text(&mut self) -> Option<&'a [u8]> {
        let end = self.rest.iter().position(|byte| *byte == 0)?;
        let text = self.take(end);
        self.take(1);
        Some(text)
    }

    /// Converts a value with its length before it; one of binary format is copied.
    fn value(
        &mut self,
        is_binary: bool,
        convert: impl FnOnce(&[u8], &mut Vec<u8>) -> Result<()>,
    ) -> Result<()> {
        let length = self.take(4);
        let Some(length) = length.first_chunk().map(|bytes| i32::from_be_bytes(*bytes)) else {
            self.out.extend_from_slice(length);
            return Ok(());
        };
        let at = self.out.len();
        self.out.extend_from_slice(&length.to_be_bytes());
        let Ok(length) = usize::try_from(length) else { return Ok(()) };
        if is_binary || self.rest.len() < length {
            self.copy(length);
            return Ok(());
        }
        convert(self.take(length), &mut self.out)?;
        let length = u32::try_from(self.out.len() - at - 4).unwrap_or(u32::MAX);
        self.out[at..at + 4].copy_from_slice(&length.to_be_bytes());
        Ok(())
    }
}

/// The body of a client's message in UTF8. 22021 and 22P05 as [`decode`] has them.
pub(crate) fn to_utf8(encoding: &'static Encoding, kind: u8, body: &Bytes) -> Result<Bytes> {
    if !encoding.converts() || body.is_ascii() {
        return Ok(body.clone());
    }
    let mut message = Message { rest: body, out: Vec::with_capacity(body.len() + body.len() / 2) };
    let texts = match kind {
        b'Q' | b'E' | b'f' => 1,
        b'P' | b'B' => 2,
        b'D' | b'C' => {
            message.copy(1);
            1
        }
        _ => return Ok(body.clone()),
    };
    for _ in 0..texts {
        let Some(text) = message.text() else { break };
        message.out.extend_from_slice(decode(encoding, text)?.as_bytes());
        message.out.push(0);
    }
    if kind == b'B' {
        parameters(encoding, &mut message)?;
    }
    message.copy(message.rest.len());
    Ok(Bytes::from(message.out))
}

/// The parameters of a Bind, with their formats before them.
fn parameters(encoding: &'static Encoding, message: &mut Message<'_>) -> Result<()> {
    let count = message.count();
    let codes = message.copy(2 * count);
    let formats: Vec<bool> = codes.chunks_exact(2).map(|code| code != [0, 0]).collect();
    for place in 0..message.count() {
        let is_binary = match formats.as_slice() {
            [one] => *one,
            many => many.get(place).copied().unwrap_or(false),
        };
        message.value(is_binary, |bytes, out| {
            out.extend_from_slice(decode(encoding, bytes)?.as_bytes());
            Ok(())
        })?;
    }
    Ok(())
}

/// Converts the DataRow that begins at a place of the output. If that fails, it is taken back.
pub(crate) fn encode_row(
    encoding: &Encoding,
    output: &mut Vec<u8>,
    at: usize,
    columns: &[ResultColumn],
    formats: &Formats,
) -> Result<()> {
    if output.get(at + HEADER_BYTES..).is_none_or(<[u8]>::is_ascii) {
        return Ok(());
    }
    let row = output.split_off(at);
    let mut message = Message { rest: &row, out: Vec::with_capacity(row.len()) };
    message.copy(HEADER_BYTES);
    for place in 0..message.count() {
        let is_text = columns.get(place).is_some_and(|column| is_text_in_binary(&column.ty));
        message.value(formats.is_binary(place) && !is_text, |bytes, out| {
            encode(encoding, &String::from_utf8_lossy(bytes), out)
        })?;
    }
    finish(output, message.out);
    Ok(())
}

/// Converts the texts of the message that begins at a place of the output: of any kind but a row.
pub(crate) fn encode_texts(encoding: &Encoding, output: &mut Vec<u8>, at: usize) {
    let is_plain = output.get(at + HEADER_BYTES..).is_none_or(<[u8]>::is_ascii);
    let Some(kind) = output.get(at).copied().filter(|_| !is_plain) else { return };
    let old = output.split_off(at);
    let mut message = Message { rest: &old, out: Vec::with_capacity(old.len()) };
    message.copy(HEADER_BYTES);
    // What stands before the texts and behind each of them.
    let (before, behind) = match kind {
        b'T' => (2, 18),
        b'A' => (4, 0),
        _ => (0, 0),
    };
    message.copy(before);
    while let Some(text) = message.text() {
        encode_marked(encoding, &String::from_utf8_lossy(text), &mut message.out);
        message.out.push(0);
        message.copy(behind);
    }
    message.copy(message.rest.len());
    finish(output, message.out);
}

/// Appends a text with a question mark for each character that the encoding lacks.
fn encode_marked(encoding: &Encoding, text: &str, out: &mut Vec<u8>) {
    let at = out.len();
    if encode(encoding, text, out).is_ok() {
        return;
    }
    out.truncate(at);
    for found in text.chars() {
        let at = out.len();
        if encode(encoding, found.encode_utf8(&mut [0; 4]), out).is_err() {
            out.truncate(at);
            out.push(b'?');
        }
    }
}

/// Appends a converted message with its new length.
fn finish(output: &mut Vec<u8>, mut message: Vec<u8>) {
    let length = u32::try_from(message.len().saturating_sub(1)).unwrap_or(u32::MAX);
    if let Some(place) = message.get_mut(1..HEADER_BYTES) {
        place.copy_from_slice(&length.to_be_bytes());
    }
    output.append(&mut message);
}

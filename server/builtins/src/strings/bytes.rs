//! Functions on bytea: cutting, searching, single bytes and bits, encoding, character sets.

use std::borrow::Cow;

use braid_types::encoding::{self, Encoding, Tables};
use braid_types::{Datum, Error, Result, SqlState, binary, work};

use super::basic::bounds;
use crate::Call;
use crate::registry::call::{count, invalid, text};
use crate::registry::tables::Registry;

fn bytes(value: impl Into<std::sync::Arc<[u8]>>) -> Result<Datum> {
    Ok(Datum::bytes(value))
}

fn substring(call: &Call<'_>) -> Result<Datum> {
    let value = call.bytes(0)?;
    let length = if call.args.len() > 2 { Some(call.int(2)?) } else { None };
    let (from, length) = bounds(call.int(1)?, length)?;
    let rest = value.get(from.min(value.len())..).unwrap_or_default();
    bytes(&rest[..length.map_or(rest.len(), |length| length.min(rest.len()))])
}

fn overlay(call: &Call<'_>) -> Result<Datum> {
    let (value, new, start) = (call.bytes(0)?, call.bytes(1)?, call.int(2)?);
    let length = if call.args.len() > 3 { call.int(3)? } else { new.len() as i64 };
    if start <= 0 {
        return Err(Error::new(SqlState::SubstringError, "negative substring length not allowed"));
    }
    let before = &value[..((start - 1) as usize).min(value.len())];
    let after = start.saturating_add(length).saturating_sub(1).max(0) as usize;
    bytes([before, new, &value[after.min(value.len())..]].concat())
}

fn find(value: &[u8], part: &[u8]) -> Result<usize> {
    if part.is_empty() {
        return Ok(1);
    }
    for (at, window) in value.windows(part.len()).enumerate() {
        work::tick()?;
        if window == part {
            return Ok(at + 1);
        }
    }
    Ok(0)
}

fn trim(call: &Call<'_>, left: bool, right: bool) -> Result<Datum> {
    let (mut value, set) = (call.bytes(0)?, call.bytes(1)?);
    while let [first, rest @ ..] = value
        && left
        && set.contains(first)
    {
        value = rest;
    }
    while let [rest @ .., last] = value
        && right
        && set.contains(last)
    {
        value = rest;
    }
    bytes(value)
}

fn bad_index(index: i64, length: usize) -> Error {
    let last = length as i64 - 1;
    let message = format!("index {index} out of valid range, 0..{last}");
    Error::new(SqlState::ArraySubscriptError, message)
}

fn place(index: i64, length: usize) -> Result<usize> {
    usize::try_from(index).ok().filter(|at| *at < length).ok_or_else(|| bad_index(index, length))
}

fn get_byte(call: &Call<'_>) -> Result<Datum> {
    let value = call.bytes(0)?;
    Ok(Datum::Int(value[place(call.int(1)?, value.len())?].into()))
}

fn set_byte(call: &Call<'_>) -> Result<Datum> {
    let mut value = call.bytes(0)?.to_vec();
    let at = place(call.int(1)?, value.len())?;
    value[at] = call.int(2)? as u8;
    bytes(value)
}

fn get_bit(call: &Call<'_>) -> Result<Datum> {
    let value = call.bytes(0)?;
    let at = place(call.int(1)?, value.len() * 8)?;
    Ok(Datum::Int(((value[at / 8] >> (at % 8)) & 1).into()))
}

fn set_bit(call: &Call<'_>) -> Result<Datum> {
    let mut value = call.bytes(0)?.to_vec();
    let at = place(call.int(1)?, value.len() * 8)?;
    match call.int(2)? {
        0 => value[at / 8] &= !(1 << (at % 8)),
        1 => value[at / 8] |= 1 << (at % 8),
        _ => return Err(invalid("new bit must be 0 or 1")),
    }
    bytes(value)
}

fn unknown_encoding(name: &str) -> Error {
    invalid(format!("unrecognized encoding: \"{name}\""))
}

fn encode(call: &Call<'_>) -> Result<Datum> {
    let value = call.bytes(0)?;
    match call.text(1)?.to_ascii_lowercase().as_str() {
        "hex" => text(hex(value)),
        "base64" => text(base64(value)),
        "escape" => text(escape(value)),
        _ => Err(unknown_encoding(call.text(1)?)),
    }
}

fn decode(call: &Call<'_>) -> Result<Datum> {
    let value = call.text(0)?;
    match call.text(1)?.to_ascii_lowercase().as_str() {
        "hex" => bytes(decode_hex(value)?),
        "base64" => bytes(decode_base64(value)?),
        "escape" => bytes(decode_escape(value)?),
        _ => Err(unknown_encoding(call.text(1)?)),
    }
}

pub(super) fn hex(value: &[u8]) -> String {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    let mut out = String::with_capacity(value.len() * 2);
    for byte in value {
        out.push(char::from(DIGITS[usize::from(byte >> 4)]));
        out.push(char::from(DIGITS[usize::from(byte & 15)]));
    }
    out
}

fn decode_hex(value: &str) -> Result<Vec<u8>> {
    let mut digits = Vec::new();
    for c in value.chars().filter(|c| !matches!(c, ' ' | '\n' | '\t' | '\r')) {
        let digit =
            c.to_digit(16).ok_or_else(|| invalid(format!("invalid hexadecimal digit: \"{c}\"")))?;
        digits.push(digit as u8);
    }
    if digits.len() % 2 == 1 {
        return Err(invalid("invalid hexadecimal data: odd number of digits"));
    }
    Ok(digits.chunks(2).map(|pair| pair[0] << 4 | pair[1]).collect())
}

const BASE64: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

/// Lines of 76 characters, as MIME and PostgreSQL have them.
fn base64(value: &[u8]) -> String {
    let mut out = String::new();
    for (index, chunk) in value.chunks(3).enumerate() {
        if index > 0 && index % 19 == 0 {
            out.push('\n');
        }
        let byte = |at: usize| u32::from(chunk.get(at).copied().unwrap_or(0));
        let group = byte(0) << 16 | byte(1) << 8 | byte(2);
        for place in 0..4 {
            if place <= chunk.len() {
                out.push(char::from(BASE64[(group >> (18 - 6 * place)) as usize & 63]));
            } else {
                out.push('=');
            }
        }
    }
    out
}

fn decode_base64(value: &str) -> Result<Vec<u8>> {
    let mut out = Vec::new();
    let (mut group, mut have, mut padding) = (0u32, 0, 0);
    for c in value.chars().filter(|c| !matches!(c, ' ' | '\n' | '\t' | '\r')) {
        let bits = if c == '=' {
            if padding == 0 && have != 2 && have != 3 {
                return Err(invalid("unexpected \"=\" while decoding base64 sequence"));
            }
            padding += 1;
            0
        } else {
            let found = BASE64.iter().position(|one| char::from(*one) == c);
            match found {
                Some(bits) if padding == 0 => bits as u32,
                _ => {
                    return Err(invalid(format!(
                        "invalid symbol \"{c}\" found while decoding base64 sequence"
                    )));
                }
            }
        };
        group = group << 6 | bits;
        have += 1;
        if have == 4 {
            let kept = 3 - padding.min(2);
            out.extend(&group.to_be_bytes()[1..1 + kept]);
            (group, have) = (0, 0);
        }
    }
    if have != 0 {
        return Err(invalid("invalid base64 end sequence")
            .hint("Input data is missing padding, is truncated, or is otherwise corrupted."));
    }
    Ok(out)
}

fn escape(value: &[u8]) -> String {
    let mut out = String::new();
    for byte in value {
        match byte {
            b'\\' => out.push_str("\\\\"),
            0 | 0x80.. => out.push_str(&format!("\\{byte:03o}")),
            _ => out.push(char::from(*byte)),
        }
    }
    out
}

fn decode_escape(value: &str) -> Result<Vec<u8>> {
    let input = value.as_bytes();
    let mut out = Vec::new();
    let mut at = 0;
    while at < input.len() {
        if input[at] != b'\\' {
            out.push(input[at]);
            at += 1;
            continue;
        }
        match input.get(at + 1..) {
            Some([b'\\', ..]) => {
                out.push(b'\\');
                at += 2;
            }
            Some([a @ b'0'..=b'3', b @ b'0'..=b'7', c @ b'0'..=b'7', ..]) => {
                out.push((a - b'0') << 6 | (b - b'0') << 3 | (c - b'0'));
                at += 4;
            }
            _ => {
                let message = "invalid input syntax for type bytea";
                return Err(Error::new(SqlState::InvalidTextRepresentation, message));
            }
        }
    }
    Ok(out)
}

/// The encoding of a name. 22023 if there is none, 0A000 if it is not converted here.
fn encoding_named(name: &str, what: &str) -> Result<&'static Encoding> {
    let found = Encoding::named(name).ok_or_else(|| {
        let message = format!("invalid {what} encoding name \"{name}\"");
        Error::new(SqlState::InvalidParameterValue, message)
    })?;
    match found.tables {
        Tables::Missing => Err(Error::unsupported(format!("encoding \"{name}\""))),
        _ => Ok(found),
    }
}

/// The text of bytes. 22021 for a NUL as well, because no text has one.
fn decoded<'b>(from: &'static Encoding, value: &'b [u8]) -> Result<Cow<'b, str>> {
    let found = encoding::decode(from, value)?;
    if found.contains('\0') {
        let message = format!("invalid byte sequence for encoding \"{}\": 0x00", from.name);
        return Err(Error::new(SqlState::CharacterNotInRepertoire, message));
    }
    Ok(found)
}

fn convert_from(call: &Call<'_>) -> Result<Datum> {
    let from = encoding_named(call.text(1)?, "source")?;
    text(decoded(from, call.bytes(0)?)?)
}

fn convert_to(call: &Call<'_>) -> Result<Datum> {
    let to = encoding_named(call.text(1)?, "destination")?;
    let mut out = Vec::new();
    encoding::encode(to, call.text(0)?, &mut out)?;
    bytes(out)
}

fn convert(call: &Call<'_>) -> Result<Datum> {
    let from = encoding_named(call.text(1)?, "source")?;
    let to = encoding_named(call.text(2)?, "destination")?;
    let mut out = Vec::new();
    encoding::encode(to, &decoded(from, call.bytes(0)?)?, &mut out)?;
    bytes(out)
}

/// The value in the binary format of the protocol.
fn send(call: &Call<'_>) -> Result<Datum> {
    let mut out = Vec::new();
    binary::encode(call.ty(0), call.datum(0), &mut out);
    bytes(out)
}

/// The functions that send values of a type.
const SEND: [&str; 26] = [
    "boolsend(bool) -> bytea",
    "bpcharsend(bpchar) -> bytea",
    "byteasend(bytea) -> bytea",
    "cidr_send(cidr) -> bytea",
    "date_send(date) -> bytea",
    "float4send(float4) -> bytea",
    "float8send(float8) -> bytea",
    "inet_send(inet) -> bytea",
    "int2send(int2) -> bytea",
    "int4send(int4) -> bytea",
    "int8send(int8) -> bytea",
    "interval_send(interval) -> bytea",
    "json_send(json) -> bytea stable",
    "jsonb_send(jsonb) -> bytea stable",
    "macaddr_send(macaddr) -> bytea",
    "macaddr8_send(macaddr8) -> bytea",
    "namesend(name) -> bytea stable",
    "numeric_send(numeric) -> bytea",
    "oidsend(oid) -> bytea",
    "textsend(text) -> bytea stable",
    "time_send(time) -> bytea",
    "timestamp_send(timestamp) -> bytea",
    "timestamptz_send(timestamptz) -> bytea",
    "timetz_send(timetz) -> bytea",
    "uuid_send(uuid) -> bytea",
    "varcharsend(varchar) -> bytea stable",
];

pub(super) fn register(registry: &mut Registry) {
    for signature in SEND {
        registry.add(signature, send);
    }
    registry.add("length|octet_length(bytea) -> int4", |c| count(c.bytes(0)?.len()));
    registry.add("bit_length(bytea) -> int4", |c| count(c.bytes(0)?.len() * 8));
    registry.add("bit_count(bytea) -> int8", |c| {
        count(c.bytes(0)?.iter().map(|byte| byte.count_ones() as usize).sum())
    });
    registry.add("substr|substring(bytea, int4) -> bytea", substring);
    registry.add("substr|substring(bytea, int4, int4) -> bytea", substring);
    registry.add("overlay(bytea, bytea, int4) -> bytea", overlay);
    registry.add("overlay(bytea, bytea, int4, int4) -> bytea", overlay);
    registry.add("position(bytea, bytea) -> int4", |c| count(find(c.bytes(0)?, c.bytes(1)?)?));
    registry.add("btrim(bytea, bytea) -> bytea", |c| trim(c, true, true));
    registry.add("ltrim(bytea, bytea) -> bytea", |c| trim(c, true, false));
    registry.add("rtrim(bytea, bytea) -> bytea", |c| trim(c, false, true));
    registry.add("||(bytea, bytea) -> bytea", |c| bytes([c.bytes(0)?, c.bytes(1)?].concat()));
    registry.add("get_byte(bytea, int4) -> int4", get_byte);
    registry.add("set_byte(bytea, int4, int4) -> bytea", set_byte);
    registry.add("get_bit(bytea, int8) -> int4", get_bit);
    registry.add("set_bit(bytea, int8, int4) -> bytea", set_bit);
    registry.add("encode(bytea, text) -> text", encode);
    registry.add("decode(text, text) -> bytea", decode);
    registry.add("convert_from(bytea, name) -> text", convert_from);
    registry.add("convert_to(text, name) -> bytea", convert_to);
    registry.add("convert(bytea, name, name) -> bytea", convert);
}

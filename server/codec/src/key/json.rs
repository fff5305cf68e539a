//! `jsonb` in a key, in PostgreSQL's order: null, strings, numbers, booleans, arrays, objects;
//! arrays and objects by their size first. `json` text can be written, for hashing, but has no
//! order.

use braid_types::Json;

use super::numeric;
use super::parts::{DEPTH_MAX, put_escaped, put_uvarint, read_uvarint};
use super::reader::Reader;
use super::tag;
use crate::{Error, Result};

/// An empty array that is not inside another value: PostgreSQL puts it before everything.
const EMPTY: u8 = 0x01;
const NULL: u8 = 0x02;
const STRING: u8 = 0x03;
const NUMBER: u8 = 0x04;
const FALSE: u8 = 0x05;
const TRUE: u8 = 0x06;
const ARRAY: u8 = 0x07;
const OBJECT: u8 = 0x08;

pub(super) fn put(out: &mut Vec<u8>, value: &Json) {
    if let Json::Raw(text) = value {
        out.push(tag::JSON_TEXT);
        return put_escaped(out, text.as_bytes());
    }
    out.push(tag::JSONB);
    match value {
        Json::Array(items) if items.is_empty() => out.push(EMPTY),
        value => put_value(out, value),
    }
}

fn put_value(out: &mut Vec<u8>, value: &Json) {
    match value {
        Json::Null => out.push(NULL),
        Json::String(text) | Json::Raw(text) => {
            out.push(STRING);
            put_escaped(out, text.as_bytes());
        }
        Json::Number(number) => {
            out.push(NUMBER);
            numeric::put(out, number);
        }
        Json::Bool(false) => out.push(FALSE),
        Json::Bool(true) => out.push(TRUE),
        Json::Array(items) => {
            out.push(ARRAY);
            put_uvarint(out, items.len() as u64);
            for item in items {
                put_value(out, item);
            }
        }
        Json::Object(pairs) => {
            out.push(OBJECT);
            put_uvarint(out, pairs.len() as u64);
            for (name, item) in pairs {
                put_escaped(out, name.as_bytes());
                put_value(out, item);
            }
        }
    }
}

pub(super) fn read(reader: &mut Reader<'_>, tag: u8, depth: u32) -> Result<Json> {
    match tag {
        tag::JSON_TEXT => Ok(Json::Raw(read_string(reader)?)),
        tag::JSONB => read_value(reader, depth),
        _ => Err(Error::corrupt("json")),
    }
}

fn read_value(reader: &mut Reader<'_>, depth: u32) -> Result<Json> {
    if depth > DEPTH_MAX {
        return Err(Error::corrupt("depth"));
    }
    Ok(match reader.byte()? {
        EMPTY => Json::Array(Vec::new()),
        NULL => Json::Null,
        STRING => Json::String(read_string(reader)?),
        NUMBER => {
            let tag = reader.byte()?;
            Json::Number(numeric::read(reader, tag)?)
        }
        FALSE => Json::Bool(false),
        TRUE => Json::Bool(true),
        ARRAY => {
            let count = read_uvarint(reader)?;
            Json::Array((0..count).map(|_| read_value(reader, depth + 1)).collect::<Result<_>>()?)
        }
        OBJECT => {
            let count = read_uvarint(reader)?;
            let pair = |_| Ok((read_string(reader)?, read_value(reader, depth + 1)?));
            Json::Object((0..count).map(pair).collect::<Result<_>>()?)
        }
        _ => return Err(Error::corrupt("jsonb")),
    })
}

fn read_string(reader: &mut Reader<'_>) -> Result<Box<str>> {
    let text = String::from_utf8(reader.escaped()?).map_err(|_| Error::corrupt("json string"))?;
    Ok(text.into_boxed_str())
}

/// Passes over a value behind its tag.
pub(super) fn skip(reader: &mut Reader<'_>, depth: u32) -> Result<()> {
    if depth > DEPTH_MAX {
        return Err(Error::corrupt("depth"));
    }
    match reader.byte()? {
        EMPTY | NULL | FALSE | TRUE => Ok(()),
        STRING => reader.skip_escaped(),
        NUMBER => {
            let tag = reader.byte()?;
            numeric::skip(reader, tag)
        }
        kind @ (ARRAY | OBJECT) => {
            for _ in 0..read_uvarint(reader)? {
                if kind == OBJECT {
                    reader.skip_escaped()?;
                }
                skip(reader, depth + 1)?;
            }
            Ok(())
        }
        _ => Err(Error::corrupt("jsonb")),
    }
}

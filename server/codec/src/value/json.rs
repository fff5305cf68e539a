//! JSON in cells: `json` is its text, `jsonb` a tree of tagged values with their lengths.

use braid_types::Json;

use super::parts::{
    DEPTH_MAX, cell_str, decode_numeric, put_numeric, put_uvarint, read_uvarint, take,
};
use crate::{Error, Result};

const NULL: u8 = 0;
const FALSE: u8 = 1;
const TRUE: u8 = 2;
const NUMBER: u8 = 3;
const STRING: u8 = 4;
const ARRAY: u8 = 5;
const OBJECT: u8 = 6;
const TEXT: u8 = 7;
/// A `json` column that was given a tree: its text form is not known here, so the tree is kept
/// after this byte, which no JSON text starts with.
const TREE: u8 = 0xff;

pub(super) fn put_text(out: &mut Vec<u8>, value: &Json) {
    match value {
        Json::Raw(text) => out.extend_from_slice(text.as_bytes()),
        tree => {
            out.push(TREE);
            put(out, tree);
        }
    }
}

pub(super) fn read_text(bytes: &[u8]) -> Result<Json> {
    match bytes.split_first() {
        Some((&TREE, tree)) => read(tree),
        _ => Ok(Json::Raw(cell_str(bytes)?.into())),
    }
}

pub(super) fn put(out: &mut Vec<u8>, value: &Json) {
    match value {
        Json::Null => out.push(NULL),
        Json::Bool(false) => out.push(FALSE),
        Json::Bool(true) => out.push(TRUE),
        Json::Number(number) => {
            out.push(NUMBER);
            let mut cell = Vec::new();
            put_numeric(&mut cell, number);
            put_bytes(out, &cell);
        }
        Json::String(text) => {
            out.push(STRING);
            put_bytes(out, text.as_bytes());
        }
        Json::Raw(text) => {
            out.push(TEXT);
            put_bytes(out, text.as_bytes());
        }
        Json::Array(items) => {
            out.push(ARRAY);
            put_uvarint(out, items.len() as u64);
            items.iter().for_each(|item| put(out, item));
        }
        Json::Object(pairs) => {
            out.push(OBJECT);
            put_uvarint(out, pairs.len() as u64);
            for (name, item) in pairs {
                put_bytes(out, name.as_bytes());
                put(out, item);
            }
        }
    }
}

fn put_bytes(out: &mut Vec<u8>, bytes: &[u8]) {
    put_uvarint(out, bytes.len() as u64);
    out.extend_from_slice(bytes);
}

pub(super) fn read(bytes: &[u8]) -> Result<Json> {
    let mut rest = bytes;
    let value = read_value(&mut rest, 0)?;
    if rest.is_empty() { Ok(value) } else { Err(Error::corrupt("jsonb")) }
}

/// A document of which these members alone are wanted, if it is an object: the others are left out.
pub(super) fn read_members(bytes: &[u8], wanted: &[Box<str>]) -> Result<Json> {
    let mut rest = bytes;
    if take(&mut rest, 1)?[0] != OBJECT {
        return read(bytes);
    }
    let mut found = Vec::with_capacity(wanted.len());
    for _ in 0..read_uvarint(&mut rest)? {
        if found.len() == wanted.len() {
            break;
        }
        let name = read_bytes(&mut rest)?;
        match wanted.iter().find(|wanted| wanted.as_bytes() == name) {
            Some(name) => found.push((name.clone(), read_value(&mut rest, 1)?)),
            None => skip_value(&mut rest, 1)?,
        }
    }
    Ok(Json::Object(found))
}

fn skip_value(rest: &mut &[u8], depth: u32) -> Result<()> {
    if depth > DEPTH_MAX {
        return Err(Error::corrupt("depth"));
    }
    match take(rest, 1)?[0] {
        NULL | FALSE | TRUE => {}
        NUMBER | STRING | TEXT => {
            read_bytes(rest)?;
        }
        ARRAY => {
            for _ in 0..read_uvarint(rest)? {
                skip_value(rest, depth + 1)?;
            }
        }
        OBJECT => {
            for _ in 0..read_uvarint(rest)? {
                read_bytes(rest)?;
                skip_value(rest, depth + 1)?;
            }
        }
        _ => return Err(Error::corrupt("jsonb")),
    }
    Ok(())
}

fn read_value(rest: &mut &[u8], depth: u32) -> Result<Json> {
    if depth > DEPTH_MAX {
        return Err(Error::corrupt("depth"));
    }
    Ok(match take(rest, 1)?[0] {
        NULL => Json::Null,
        FALSE => Json::Bool(false),
        TRUE => Json::Bool(true),
        NUMBER => Json::Number(decode_numeric(read_bytes(rest)?)?),
        STRING => Json::String(cell_str(read_bytes(rest)?)?.into()),
        TEXT => Json::Raw(cell_str(read_bytes(rest)?)?.into()),
        ARRAY => {
            let count = read_uvarint(rest)?;
            Json::Array((0..count).map(|_| read_value(rest, depth + 1)).collect::<Result<_>>()?)
        }
        OBJECT => {
            let count = read_uvarint(rest)?;
            let pair = |_| {
                let name = cell_str(read_bytes(rest)?)?.into();
                Ok((name, read_value(rest, depth + 1)?))
            };
            Json::Object((0..count).map(pair).collect::<Result<_>>()?)
        }
        _ => return Err(Error::corrupt("jsonb")),
    })
}

fn read_bytes<'a>(rest: &mut &'a [u8]) -> Result<&'a [u8]> {
    let len = read_uvarint(rest)?;
    take(rest, len)
}

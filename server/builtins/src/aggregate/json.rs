//! `json_agg`, `jsonb_agg`, `json_object_agg`, `jsonb_object_agg`.

use braid_types::{Datum, Error, Json, Result, SqlState, SqlType};

use crate::json::{to_json_text, to_jsonb};
use crate::registry::call::display;
use crate::registry::tables::Registry;
use crate::{Accumulator, Environment};

/// The text of a `json` array, written as rows come.
struct TextArray {
    ty: SqlType,
    out: Vec<u8>,
}

impl Accumulator for TextArray {
    fn add(&mut self, args: &[Datum], env: &dyn Environment) -> Result<()> {
        let Some(value) = args.first() else { return Ok(()) };
        if self.out.is_empty() {
            self.out.push(b'[');
        } else {
            self.out.extend_from_slice(b", ");
            if matches!(value, Datum::Array(_) | Datum::Record(_)) {
                self.out.extend_from_slice(b"\n ");
            }
        }
        to_json_text(&self.ty, value, env, false, &mut self.out);
        Ok(())
    }

    fn finish(&self, _: &dyn Environment) -> Result<Datum> {
        if self.out.is_empty() {
            return Ok(Datum::Null);
        }
        let text = format!("{}]", String::from_utf8_lossy(&self.out));
        Ok(Datum::json(Json::Raw(text.into())))
    }

    fn size_bytes(&self) -> usize {
        64 + self.out.capacity()
    }
}

struct BinaryArray {
    ty: SqlType,
    items: Vec<Json>,
    bytes: usize,
}

impl Accumulator for BinaryArray {
    fn add(&mut self, args: &[Datum], env: &dyn Environment) -> Result<()> {
        let Some(value) = args.first() else { return Ok(()) };
        let value = to_jsonb(&self.ty, value, env)?;
        self.bytes += value.size_bytes();
        self.items.push(value);
        Ok(())
    }

    fn finish(&self, _: &dyn Environment) -> Result<Datum> {
        if self.items.is_empty() {
            return Ok(Datum::Null);
        }
        Ok(Datum::json(Json::Array(self.items.clone())))
    }

    fn size_bytes(&self) -> usize {
        64 + self.bytes
    }
}

fn null_key() -> Error {
    Error::new(SqlState::InvalidParameterValue, "field name must not be null")
}

/// The text of a `json` object, written as rows come; repeated keys stay.
struct TextObject {
    types: Vec<SqlType>,
    out: Vec<u8>,
}

impl Accumulator for TextObject {
    fn add(&mut self, args: &[Datum], env: &dyn Environment) -> Result<()> {
        let ([key, value], [key_type, value_type]) = (args, self.types.as_slice()) else {
            return Ok(());
        };
        if key.is_null() {
            return Err(null_key());
        }
        self.out.extend_from_slice(if self.out.is_empty() { b"{ " } else { b", " });
        Json::string(display(key_type, key, env)).write_text(&mut self.out);
        self.out.extend_from_slice(b" : ");
        to_json_text(value_type, value, env, false, &mut self.out);
        Ok(())
    }

    fn finish(&self, _: &dyn Environment) -> Result<Datum> {
        if self.out.is_empty() {
            return Ok(Datum::Null);
        }
        let text = format!("{} }}", String::from_utf8_lossy(&self.out));
        Ok(Datum::json(Json::Raw(text.into())))
    }

    fn size_bytes(&self) -> usize {
        64 + self.out.capacity()
    }
}

struct BinaryObject {
    types: Vec<SqlType>,
    members: Vec<(Box<str>, Json)>,
    bytes: usize,
}

impl Accumulator for BinaryObject {
    fn add(&mut self, args: &[Datum], env: &dyn Environment) -> Result<()> {
        let ([key, value], [key_type, value_type]) = (args, self.types.as_slice()) else {
            return Ok(());
        };
        if key.is_null() {
            return Err(null_key());
        }
        let key = display(key_type, key, env);
        let value = to_jsonb(value_type, value, env)?;
        self.bytes += key.len() + 16 + value.size_bytes();
        self.members.push((key.into(), value));
        Ok(())
    }

    fn finish(&self, _: &dyn Environment) -> Result<Datum> {
        if self.members.is_empty() {
            return Ok(Datum::Null);
        }
        Ok(Datum::json(Json::object(self.members.clone())))
    }

    fn size_bytes(&self) -> usize {
        64 + self.bytes
    }
}

fn first(args: &[SqlType]) -> SqlType {
    args.first().cloned().unwrap_or(SqlType::Text)
}

pub(crate) fn register(registry: &mut Registry) {
    registry.aggregate("json_agg(anyelement) -> json", |args, _| {
        Box::new(TextArray { ty: first(args), out: Vec::new() })
    });
    registry.aggregate("jsonb_agg(anyelement) -> jsonb", |args, _| {
        Box::new(BinaryArray { ty: first(args), items: Vec::new(), bytes: 0 })
    });
    registry.aggregate("json_object_agg(any, any) -> json", |args, _| {
        Box::new(TextObject { types: args.to_vec(), out: Vec::new() })
    });
    registry.aggregate("jsonb_object_agg(any, any) -> jsonb", |args, _| {
        Box::new(BinaryObject { types: args.to_vec(), members: Vec::new(), bytes: 0 })
    });
}

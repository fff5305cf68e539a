//! `json_agg`, `jsonb_agg`, `json_object_agg`, `jsonb_object_agg`.

use braid_types::{Datum, Error, Json, Result, SqlState, SqlType};

use crate::json::{to_json_text, to_jsonb, to_key};
use crate::registry::tables::Registry;
use crate::{Accumulator, Environment};

/// Values or members of a piece of a state that goes to disk.
const PIECE_ITEMS: usize = 1024;

/// Text that is written as rows come. Its begin may be on disk.
#[derive(Default)]
struct Text {
    out: Vec<u8>,
    is_begun: bool,
}

impl Text {
    /// Writes what is in front of the next value.
    fn go_on(&mut self, first: &[u8]) {
        let is_first = !std::mem::replace(&mut self.is_begun, true);
        self.out.extend_from_slice(if is_first { first } else { b", " });
    }

    fn save(&mut self) -> Vec<Datum> {
        let out = std::mem::take(&mut self.out);
        if out.is_empty() { Vec::new() } else { vec![Datum::bytes(out)] }
    }

    fn load(&mut self, piece: &Datum) {
        self.is_begun = true;
        self.out.extend_from_slice(piece.as_bytes().unwrap_or_default());
    }

    /// The whole text with its end; NULL without a row.
    fn finish(&self, end: &str) -> Datum {
        if !self.is_begun {
            return Datum::Null;
        }
        let text = format!("{}{end}", String::from_utf8_lossy(&self.out));
        Datum::json(Json::Raw(text.into()))
    }
}

/// The text of a `json` array, written as rows come.
struct TextArray {
    ty: SqlType,
    text: Text,
}

impl Accumulator for TextArray {
    fn add(&mut self, args: &[Datum], env: &dyn Environment) -> Result<()> {
        let Some(value) = args.first() else { return Ok(()) };
        let is_first = !self.text.is_begun;
        self.text.go_on(b"[");
        if !is_first && matches!(value, Datum::Array(_) | Datum::Record(_)) {
            self.text.out.extend_from_slice(b"\n ");
        }
        to_json_text(&self.ty, value, env, false, &mut self.text.out);
        Ok(())
    }

    fn finish(&self, _: &dyn Environment) -> Result<Datum> {
        Ok(self.text.finish("]"))
    }

    fn save(&mut self) -> Option<Vec<Datum>> {
        Some(self.text.save())
    }

    fn load(&mut self, piece: &Datum) -> Result<()> {
        self.text.load(piece);
        Ok(())
    }

    fn size_bytes(&self) -> usize {
        64 + self.text.out.capacity()
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

    fn save(&mut self) -> Option<Vec<Datum>> {
        self.bytes = 0;
        let items = std::mem::take(&mut self.items);
        let piece = |items: &[Json]| Datum::json(Json::Array(items.to_vec()));
        Some(items.chunks(PIECE_ITEMS).map(piece).collect())
    }

    fn load(&mut self, piece: &Datum) -> Result<()> {
        if let Some(Json::Array(items)) = piece.as_json() {
            self.bytes += items.iter().map(Json::size_bytes).sum::<usize>();
            self.items.extend_from_slice(items);
        }
        Ok(())
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
    text: Text,
}

impl Accumulator for TextObject {
    fn add(&mut self, args: &[Datum], env: &dyn Environment) -> Result<()> {
        let ([key, value], [key_type, value_type]) = (args, self.types.as_slice()) else {
            return Ok(());
        };
        let key = to_key(key_type, key, env, null_key())?;
        self.text.go_on(b"{ ");
        let out = &mut self.text.out;
        Json::string(key).write_text(out);
        out.extend_from_slice(b" : ");
        to_json_text(value_type, value, env, false, out);
        Ok(())
    }

    fn finish(&self, _: &dyn Environment) -> Result<Datum> {
        Ok(self.text.finish(" }"))
    }

    fn save(&mut self) -> Option<Vec<Datum>> {
        Some(self.text.save())
    }

    fn load(&mut self, piece: &Datum) -> Result<()> {
        self.text.load(piece);
        Ok(())
    }

    fn size_bytes(&self) -> usize {
        64 + self.text.out.capacity()
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
        let key = to_key(key_type, key, env, null_key())?;
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

    fn save(&mut self) -> Option<Vec<Datum>> {
        self.bytes = 0;
        let members = std::mem::take(&mut self.members);
        let piece = |members: &[(Box<str>, Json)]| Datum::json(Json::Object(members.to_vec()));
        Some(members.chunks(PIECE_ITEMS).map(piece).collect())
    }

    fn load(&mut self, piece: &Datum) -> Result<()> {
        if let Some(Json::Object(members)) = piece.as_json() {
            let bytes = |(key, value): &(Box<str>, Json)| key.len() + 16 + value.size_bytes();
            self.bytes += members.iter().map(bytes).sum::<usize>();
            self.members.extend_from_slice(members);
        }
        Ok(())
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
        Box::new(TextArray { ty: first(args), text: Text::default() })
    });
    registry.aggregate("jsonb_agg(anyelement) -> jsonb", |args, _| {
        Box::new(BinaryArray { ty: first(args), items: Vec::new(), bytes: 0 })
    });
    registry.aggregate("json_object_agg(any, any) -> json", |args, _| {
        Box::new(TextObject { types: args.to_vec(), text: Text::default() })
    });
    registry.aggregate("jsonb_object_agg(any, any) -> jsonb", |args, _| {
        Box::new(BinaryObject { types: args.to_vec(), members: Vec::new(), bytes: 0 })
    });
}

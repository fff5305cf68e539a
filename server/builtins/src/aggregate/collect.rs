//! `string_agg` and `array_agg`.

use braid_types::array::ArrayOfArrays;
use braid_types::{Datum, Result, SqlType};

use crate::registry::call::may_return;
use crate::registry::tables::Registry;
use crate::{Accumulator, Environment};

/// Elements of a piece of a state that goes to disk.
const PIECE_ITEMS: usize = 1024;

/// Strings or bytes with the delimiter that came with each row after the first.
#[derive(Default)]
struct Joined {
    joined: Option<Vec<u8>>,
    binary: bool,
}

impl Accumulator for Joined {
    fn add(&mut self, args: &[Datum], _: &dyn Environment) -> Result<()> {
        let bytes = |datum: Option<&Datum>| match datum {
            Some(Datum::Text(text)) => Some(text.as_bytes().to_vec()),
            Some(Datum::Bytes(bytes)) => Some(bytes.to_vec()),
            _ => None,
        };
        let Some(value) = bytes(args.first()) else { return Ok(()) };
        match &mut self.joined {
            None => self.joined = Some(value),
            Some(joined) => {
                joined.extend(bytes(args.get(1)).unwrap_or_default());
                joined.extend(value);
                may_return(joined.len())?;
            }
        }
        Ok(())
    }

    fn finish(&self, _: &dyn Environment) -> Result<Datum> {
        Ok(match &self.joined {
            None => Datum::Null,
            Some(joined) if self.binary => Datum::Bytes(joined.as_slice().into()),
            Some(joined) => Datum::text(String::from_utf8_lossy(joined).as_ref()),
        })
    }

    fn save(&mut self) -> Option<Vec<Datum>> {
        let joined = self.joined.as_mut().map(std::mem::take);
        Some(joined.filter(|bytes| !bytes.is_empty()).map(Datum::bytes).into_iter().collect())
    }

    fn load(&mut self, piece: &Datum) -> Result<()> {
        let joined = self.joined.get_or_insert_default();
        joined.extend_from_slice(piece.as_bytes().unwrap_or_default());
        may_return(joined.len())
    }

    fn size_bytes(&self) -> usize {
        64 + self.joined.as_ref().map_or(0, Vec::capacity)
    }
}

struct Elements {
    element: SqlType,
    items: Vec<Datum>,
    bytes: usize,
}

impl Accumulator for Elements {
    fn add(&mut self, args: &[Datum], _: &dyn Environment) -> Result<()> {
        if let Some(value) = args.first() {
            self.bytes += value.size_bytes();
            self.items.push(value.clone());
        }
        Ok(())
    }

    fn finish(&self, _: &dyn Environment) -> Result<Datum> {
        if self.items.is_empty() {
            return Ok(Datum::Null);
        }
        Ok(Datum::array(self.element.clone(), self.items.clone()))
    }

    fn save(&mut self) -> Option<Vec<Datum>> {
        self.bytes = 0;
        Some(pieces(&self.element, std::mem::take(&mut self.items)))
    }

    fn load(&mut self, piece: &Datum) -> Result<()> {
        for item in piece.as_array().map_or(&[][..], |array| array.items.as_slice()) {
            self.bytes += item.size_bytes();
            self.items.push(item.clone());
        }
        Ok(())
    }

    fn size_bytes(&self) -> usize {
        64 + self.bytes
    }
}

/// Elements as arrays of moderate size.
fn pieces(element: &SqlType, items: Vec<Datum>) -> Vec<Datum> {
    let mut pieces = Vec::with_capacity(items.len().div_ceil(PIECE_ITEMS));
    let mut items = items.into_iter();
    while items.len() > 0 {
        let piece = items.by_ref().take(PIECE_ITEMS).collect();
        pieces.push(Datum::array(element.clone(), piece));
    }
    pieces
}

/// Arrays of the same dimensions as the elements of one with a dimension more.
struct Arrays {
    joined: ArrayOfArrays,
}

impl Accumulator for Arrays {
    fn add(&mut self, args: &[Datum], _: &dyn Environment) -> Result<()> {
        match args.first() {
            Some(value) => self.joined.add(value),
            None => Ok(()),
        }
    }

    fn finish(&self, _: &dyn Environment) -> Result<Datum> {
        Ok(self.joined.to_array().map_or(Datum::Null, Datum::from))
    }

    fn size_bytes(&self) -> usize {
        64 + self.joined.size_bytes()
    }
}

pub(crate) fn register(registry: &mut Registry) {
    registry.aggregate("string_agg(text, text) -> text", |_, _| Box::<Joined>::default());
    registry.aggregate("string_agg(bytea, bytea) -> bytea", |_, _| {
        Box::new(Joined { joined: None, binary: true })
    });
    registry.aggregate("array_agg(anynonarray) -> anyarray", |args, _| {
        let element = args.first().map_or(SqlType::Text, SqlType::bare);
        Box::new(Elements { element, items: Vec::new(), bytes: 0 })
    });
    registry.aggregate("array_agg(anyarray) -> anyarray", |args, _| {
        let ty = args.first().map_or(SqlType::Text, SqlType::bare);
        Box::new(Arrays { joined: ArrayOfArrays::new(ty.innermost().clone()) })
    });
}

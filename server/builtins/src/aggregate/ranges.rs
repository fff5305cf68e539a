//! `range_agg` and `range_intersect_agg`.

use braid_types::range::{intersection, normalized};
use braid_types::{Datum, Range, Result, SqlType};

use crate::ranges::range_datum;
use crate::registry::tables::Registry;
use crate::{Accumulator, Environment};

/// Ranges of a piece of a state that goes to disk.
const PIECE_RANGES: usize = 1024;

/// The ranges of all rows; `None` before the first one that is not NULL.
#[derive(Default)]
struct Union {
    ranges: Option<Vec<Range>>,
    bytes: usize,
}

impl Accumulator for Union {
    fn add(&mut self, args: &[Datum], _: &dyn Environment) -> Result<()> {
        let Some(own) = args.first().and_then(Datum::as_ranges) else { return Ok(()) };
        self.bytes += own.iter().map(Range::size_bytes).sum::<usize>();
        self.ranges.get_or_insert_default().extend_from_slice(own);
        Ok(())
    }

    fn finish(&self, _: &dyn Environment) -> Result<Datum> {
        let Some(ranges) = &self.ranges else { return Ok(Datum::Null) };
        Ok(Datum::Multirange(normalized(ranges.clone())?.into()))
    }

    fn save(&mut self) -> Option<Vec<Datum>> {
        self.bytes = 0;
        let ranges = normalized(std::mem::take(self.ranges.as_mut()?)).ok()?;
        let pieces = ranges.chunks(PIECE_RANGES).map(|piece| Datum::Multirange(piece.into()));
        let mut pieces: Vec<Datum> = pieces.collect();
        if pieces.is_empty() {
            pieces.push(Datum::Multirange([].into()));
        }
        Some(pieces)
    }

    fn load(&mut self, piece: &Datum) -> Result<()> {
        let own = piece.as_ranges().unwrap_or_default();
        self.bytes += own.iter().map(Range::size_bytes).sum::<usize>();
        self.ranges.get_or_insert_default().extend_from_slice(own);
        Ok(())
    }

    fn size_bytes(&self) -> usize {
        64 + self.bytes
    }
}

/// What the ranges or multiranges of all rows have in common.
struct Intersection {
    common: Option<Vec<Range>>,
    is_range: bool,
}

impl Accumulator for Intersection {
    fn add(&mut self, args: &[Datum], _: &dyn Environment) -> Result<()> {
        let Some(own) = args.first().and_then(Datum::as_ranges) else { return Ok(()) };
        self.common = Some(match &self.common {
            None => own.to_vec(),
            Some(common) => intersection(common, own)?,
        });
        Ok(())
    }

    fn finish(&self, _: &dyn Environment) -> Result<Datum> {
        match &self.common {
            None => Ok(Datum::Null),
            Some(common) if self.is_range => {
                range_datum(common.first().cloned().unwrap_or(Range::Empty))
            }
            Some(common) => Ok(Datum::Multirange(common.as_slice().into())),
        }
    }

    fn size_bytes(&self) -> usize {
        64 + self.common.iter().flatten().map(Range::size_bytes).sum::<usize>()
    }
}

pub(crate) fn register(registry: &mut Registry) {
    for signature in
        ["range_agg(anyrange) -> anymultirange", "range_agg(anymultirange) -> anymultirange"]
    {
        registry.aggregate(signature, |_, _| Box::<Union>::default());
    }
    for signature in [
        "range_intersect_agg(anyrange) -> anyrange",
        "range_intersect_agg(anymultirange) -> anymultirange",
    ] {
        registry.aggregate(signature, |types, _| {
            let is_range = matches!(types.first(), Some(SqlType::Range(_)));
            Box::new(Intersection { common: None, is_range })
        });
    }
}

//! The value of a `tsvector` and its bytes.
//!
//! ```text
//!   size   number of lexemes   lexeme  lexeme …
//!    u32           u32         has no places: u8   text   0   number of places: u16   place: u16 …
//! ```
//!
//! PostgreSQL compares vectors by their size in memory first. A lexeme with places comes before one
//! without, more places come before fewer, and later places before earlier ones. So numbers of
//! places, and places, are stored inverted.

use crate::{Datum, Result, work};

use super::errors::corrupt;
use super::limits::{PLACES_MAX, POSITION_MAX, TEXT_BYTES_MAX, too_large};

/// Bytes before the lexemes of PostgreSQL's form, whose size decides the order.
const HEADER_BYTES: usize = 8;
/// Bytes of a lexeme of PostgreSQL's form, besides its text and places.
const ENTRY_BYTES: usize = 4;

/// Where a lexeme is in a text, and how much that counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place {
    /// The number of the word, from 1 to [`POSITION_MAX`]; 0 only where nothing is known of it.
    pub position: u16,
    /// 3 is A, 0 is D.
    pub weight: u8,
}

impl Place {
    /// A place of weight D; positions beyond the last one become that.
    pub fn new(position: usize) -> Self {
        let position = u16::try_from(position).unwrap_or(POSITION_MAX).min(POSITION_MAX);
        Self { position, weight: 0 }
    }

    /// As PostgreSQL sends it: two bits of weight, then the position.
    pub fn to_bits(self) -> u16 {
        u16::from(self.weight & 3) << 14 | (self.position & POSITION_MAX)
    }

    /// The reverse of [`Place::to_bits`].
    pub fn from_bits(bits: u16) -> Self {
        Self { position: bits & POSITION_MAX, weight: (bits >> 14) as u8 }
    }

    fn to_bytes(self) -> [u8; 2] {
        (!(self.position << 2 | u16::from(self.weight & 3))).to_be_bytes()
    }

    fn from_bytes(bytes: [u8; 2]) -> Self {
        let value = !u16::from_be_bytes(bytes);
        Self { position: value >> 2, weight: (value & 3) as u8 }
    }
}

/// A lexeme of a vector that is being made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Lexeme {
    /// The lexeme.
    pub text: String,
    /// Its places in any order.
    pub places: Vec<Place>,
}

/// A lexeme of a vector.
#[derive(Clone, Copy)]
pub struct LexemeRef<'a> {
    /// The lexeme.
    pub text: &'a str,
    places: &'a [u8],
}

impl<'a> LexemeRef<'a> {
    /// Its places, ascending.
    pub fn places(self) -> impl Iterator<Item = Place> + 'a {
        self.places.as_chunks().0.iter().map(|bytes| Place::from_bytes(*bytes))
    }

    /// The number of its places.
    pub fn count(self) -> usize {
        self.places.len() / 2
    }

    /// Its own copy.
    pub fn to_lexeme(self) -> Lexeme {
        Lexeme { text: self.text.to_owned(), places: self.places().collect() }
    }
}

/// A vector as its bytes show it: lexemes in the order of their bytes.
pub struct Vector<'a> {
    /// The lexemes.
    pub lexemes: Vec<LexemeRef<'a>>,
}

impl<'a> Vector<'a> {
    /// Reads the bytes of a datum.
    pub fn read(bytes: &'a [u8]) -> Result<Self> {
        Self::read_bytes(bytes).ok_or_else(|| corrupt("tsvector"))
    }

    fn read_bytes(bytes: &'a [u8]) -> Option<Self> {
        let (_, rest) = bytes.split_first_chunk::<4>()?;
        let (count, mut rest) = rest.split_first_chunk::<4>()?;
        let count = u32::from_be_bytes(*count) as usize;
        // Each lexeme takes three bytes at least, which bounds what garbage can ask for.
        let mut lexemes = Vec::with_capacity(count.min(rest.len() / 2));
        for _ in 0..count {
            work::note(1);
            let (&has_none, after) = rest.split_first()?;
            let end = after.iter().position(|byte| *byte == 0)?;
            let text = std::str::from_utf8(&after[..end]).ok()?;
            rest = &after[end + 1..];
            let mut places: &[u8] = &[];
            if has_none == 0 {
                let (number, after) = rest.split_first_chunk::<2>()?;
                let number = usize::from(!u16::from_be_bytes(*number));
                (places, rest) = after.split_at_checked(number * 2)?;
            }
            lexemes.push(LexemeRef { text, places });
        }
        rest.is_empty().then_some(Self { lexemes })
    }

    /// A datum of these lexemes in any order. Places of a lexeme that is there several times are
    /// put together. 54000 if they are too large.
    pub fn make(mut lexemes: Vec<Lexeme>) -> Result<Datum> {
        lexemes.sort_by(|a, b| {
            work::note(1);
            a.text.as_bytes().cmp(b.text.as_bytes())
        });
        let mut merged: Vec<Lexeme> = Vec::with_capacity(lexemes.len());
        for lexeme in lexemes {
            match merged.last_mut() {
                Some(last) if last.text == lexeme.text => last.places.extend(lexeme.places),
                _ => merged.push(lexeme),
            }
        }
        for lexeme in &mut merged {
            work::tick()?;
            merge_places(&mut lexeme.places);
        }
        encode(&merged)
    }
}

/// Sorts places. Of several at one position the greatest weight stays.
fn merge_places(places: &mut Vec<Place>) {
    places.sort_by_key(|place| (place.position, std::cmp::Reverse(place.weight)));
    places.dedup_by_key(|place| place.position);
    places.truncate(PLACES_MAX);
}

fn encode(lexemes: &[Lexeme]) -> Result<Datum> {
    let mut size = 0;
    for lexeme in lexemes {
        size += lexeme.text.len();
        if !lexeme.places.is_empty() {
            size += size % 2 + 2 + 2 * lexeme.places.len();
        }
    }
    if size > TEXT_BYTES_MAX {
        return Err(too_large(format!(
            "string is too long for tsvector ({size} bytes, max {TEXT_BYTES_MAX} bytes)"
        )));
    }
    let whole = HEADER_BYTES + ENTRY_BYTES * lexemes.len() + size;
    work::afford(whole)?;
    let mut out = Vec::with_capacity(whole + lexemes.len());
    out.extend_from_slice(&u32::try_from(whole).unwrap_or(u32::MAX).to_be_bytes());
    out.extend_from_slice(&u32::try_from(lexemes.len()).unwrap_or(u32::MAX).to_be_bytes());
    for lexeme in lexemes {
        out.push(u8::from(lexeme.places.is_empty()));
        out.extend_from_slice(lexeme.text.as_bytes());
        out.push(0);
        if !lexeme.places.is_empty() {
            out.extend_from_slice(&(!(lexeme.places.len() as u16)).to_be_bytes());
            lexeme.places.iter().for_each(|place| out.extend_from_slice(&place.to_bytes()));
        }
    }
    Ok(Datum::bytes(out))
}

/// Whether a lexeme is, or begins with, the operand of a query. No lexeme begins with nothing.
pub fn has_prefix(lexeme: &str, operand: &str, is_prefix: bool) -> bool {
    if is_prefix { lexeme.starts_with(operand) } else { lexeme == operand }
}

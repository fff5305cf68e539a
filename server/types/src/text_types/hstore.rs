//! `hstore`: a set of keys with texts or NULLs as values.
//!
//! A value is held as [`Datum::Text`] in the form in which it prints: keys by their length, then
//! by their bytes, each once. So equal values are equal texts. Functions parse it again: a set has
//! few keys, and the text is what the client wants most often.

use crate::{Array, Datum, Error, Json, Result, SqlState, SqlType, work};

/// A key and its value; `None` is NULL.
pub type Pair = (String, Option<String>);

/// The pairs of a value, in their order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Hstore(Vec<Pair>);

impl Hstore {
    /// The set of these pairs; of several with the same key the first one.
    pub fn new(mut pairs: Vec<Pair>) -> Self {
        pairs.sort_by(|(a, _), (b, _)| a.len().cmp(&b.len()).then_with(|| a.cmp(b)));
        pairs.dedup_by(|(later, _), (first, _)| later == first);
        Hstore(pairs)
    }

    /// Parses `"key"=>"value", …`; 42601 if it is something else.
    pub fn parse(text: &str) -> Result<Self> {
        let mut parser = Parser { text, at: 0 };
        let mut pairs = Vec::new();
        while let Some((key, _)) = parser.word(false)? {
            work::tick()?;
            parser.blanks();
            parser.expect('=')?;
            parser.expect('>')?;
            let (value, has_quotes) = parser.word(true)?.ok_or_else(too_short)?;
            let is_null = !has_quotes && value.eq_ignore_ascii_case("null");
            pairs.push((key, (!is_null).then_some(value)));
            parser.blanks();
            if parser.peek().is_some() {
                parser.expect(',')?;
            }
        }
        Ok(Self::new(pairs))
    }

    /// The text of a set.
    pub fn print(&self) -> String {
        let mut out = String::new();
        for (number, (key, value)) in self.0.iter().enumerate() {
            if number > 0 {
                out.push_str(", ");
            }
            quote(key, &mut out);
            out.push_str("=>");
            match value {
                Some(value) => quote(value, &mut out),
                None => out.push_str("NULL"),
            }
        }
        out
    }

    /// The value of a key: `None` if there is no such key, `Some(None)` for NULL.
    pub fn get(&self, key: &str) -> Option<Option<&str>> {
        let found = self.0.iter().find(|(known, _)| known == key);
        found.map(|(_, value)| value.as_deref())
    }

    /// The pairs in their order.
    pub fn iter(&self) -> std::slice::Iter<'_, Pair> {
        self.0.iter()
    }

    /// The pairs in their order.
    pub fn into_pairs(self) -> Vec<Pair> {
        self.0
    }

    /// The number of pairs.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether there is no pair.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The set as the text of a JSON object. If values are `loose`, those that look like numbers
    /// and booleans become such.
    pub fn to_json(&self, loose: bool) -> String {
        let string = |text: &str| Json::String(text.into()).to_string();
        let value = |value: &Option<String>| match value.as_deref() {
            None => "null".to_owned(),
            Some("t") if loose => "true".to_owned(),
            Some("f") if loose => "false".to_owned(),
            Some(text) if loose && is_json_number(text) => text.to_owned(),
            Some(text) => string(text),
        };
        let member = |(key, text): &Pair| format!("{}: {}", string(key), value(text));
        let members: Vec<String> = self.0.iter().map(member).collect();
        format!("{{{}}}", members.join(", "))
    }
}

/// Appends the binary format: the number of pairs, then each key and value after its length. The
/// length of NULL is -1.
pub fn encode(text: &str, out: &mut Vec<u8>) {
    let pairs = Hstore::parse(text).unwrap_or_default();
    let put = |out: &mut Vec<u8>, text: &str| {
        out.extend_from_slice(&(text.len() as i32).to_be_bytes());
        out.extend_from_slice(text.as_bytes());
    };
    out.extend_from_slice(&(pairs.len() as i32).to_be_bytes());
    for (key, value) in pairs.iter() {
        put(out, key);
        match value {
            Some(value) => put(out, value),
            None => out.extend_from_slice(&(-1_i32).to_be_bytes()),
        }
    }
}

/// Reads the binary format; 22P03 if it is something else, 22004 for a NULL as a key.
pub fn decode(mut bytes: &[u8]) -> Result<Datum> {
    let malformed =
        || Error::new(SqlState::InvalidBinaryRepresentation, "incorrect binary data format");
    let number = |bytes: &mut &[u8]| {
        let (number, rest) = bytes.split_first_chunk::<4>().ok_or_else(malformed)?;
        *bytes = rest;
        Ok::<_, Error>(i32::from_be_bytes(*number))
    };
    let text = |bytes: &mut &[u8], length: usize| {
        let (text, rest) = bytes.split_at_checked(length).ok_or_else(malformed)?;
        *bytes = rest;
        let text = std::str::from_utf8(text).ok().filter(|text| !text.contains('\0'));
        text.map(str::to_owned).ok_or_else(|| {
            let message = "invalid byte sequence for encoding \"UTF8\"";
            Error::new(SqlState::CharacterNotInRepertoire, message)
        })
    };
    let mut pairs = Vec::new();
    for _ in 0..number(&mut bytes)? {
        work::tick()?;
        let length = usize::try_from(number(&mut bytes)?).map_err(|_| null_key())?;
        let key = text(&mut bytes, length)?;
        let value = match number(&mut bytes)? {
            -1 => None,
            length => {
                let length = usize::try_from(length).map_err(|_| malformed())?;
                Some(text(&mut bytes, length)?)
            }
        };
        pairs.push((key, value));
    }
    match bytes.is_empty() {
        true => Ok(Datum::text(Hstore::new(pairs).print())),
        false => Err(malformed()),
    }
}

/// A key or a value in quotes.
fn quote(text: &str, out: &mut String) {
    out.push('"');
    for c in text.chars() {
        if matches!(c, '"' | '\\') {
            out.push('\\');
        }
        out.push(c);
    }
    out.push('"');
}

/// Whether a text is a number as JSON writes it.
fn is_json_number(text: &str) -> bool {
    let digits = |text: &str| -> Option<usize> {
        let count = text.bytes().take_while(u8::is_ascii_digit).count();
        (count > 0).then_some(count)
    };
    let mut rest = text.strip_prefix('-').unwrap_or(text);
    let Some(whole) = digits(rest) else { return false };
    if whole > 1 && rest.starts_with('0') {
        return false;
    }
    rest = rest.get(whole..).unwrap_or_default();
    if let Some(fraction) = rest.strip_prefix('.') {
        let Some(count) = digits(fraction) else { return false };
        rest = fraction.get(count..).unwrap_or_default();
    }
    if let Some(exponent) = rest.strip_prefix(['e', 'E']) {
        let exponent = exponent.strip_prefix(['+', '-']).unwrap_or(exponent);
        let Some(count) = digits(exponent) else { return false };
        rest = exponent.get(count..).unwrap_or_default();
    }
    rest.is_empty()
}

/// A cast from or to `hstore`; `None` if there is none of these types.
pub fn cast(datum: &Datum, to: &SqlType) -> Result<Option<Datum>> {
    Ok(match (datum, to) {
        (Datum::Text(text), SqlType::Json) => {
            let json = Hstore::parse(text)?.to_json(false);
            Some(Datum::json(Json::Raw(json.into())))
        }
        (Datum::Text(text), SqlType::Jsonb) => {
            Some(Datum::json(Json::parse(&Hstore::parse(text)?.to_json(false))?))
        }
        (Datum::Array(array), SqlType::Hstore) => {
            Some(Datum::text(Hstore::new(pairs_of(array)?).print()))
        }
        _ => None,
    })
}

/// The pairs of an array: keys and values alternate, or stand beside each other in rows.
pub fn pairs_of(array: &Array) -> Result<Vec<Pair>> {
    let wrong = |message: &str| Error::new(SqlState::ArraySubscriptError, message);
    let dimensions = array.dimensions();
    match dimensions.as_slice() {
        [] => {}
        [only] if only.length % 2 == 0 => {}
        [_] => return Err(wrong("array must have even number of elements")),
        [_, inner] if inner.length == 2 => {}
        [_, _] => return Err(wrong("array must have two columns")),
        _ => return Err(wrong("wrong number of array subscripts")),
    }
    let mut pairs = Vec::new();
    for pair in array.items.chunks(2) {
        let key = pair.first().and_then(Datum::as_str).ok_or_else(null_key)?;
        let value = pair.get(1).and_then(Datum::as_str);
        pairs.push((key.to_owned(), value.map(str::to_owned)));
    }
    Ok(pairs)
}

/// 22004: a key cannot be NULL.
pub fn null_key() -> Error {
    Error::new(SqlState::NullValueNotAllowed, "null value not allowed for hstore key")
}

fn too_short() -> Error {
    Error::new(SqlState::SyntaxError, "syntax error in hstore: unexpected end of string")
}

/// Reads words and signs of the text form.
struct Parser<'t> {
    text: &'t str,
    at: usize,
}

impl Parser<'_> {
    fn peek(&self) -> Option<char> {
        self.text.get(self.at..)?.chars().next()
    }

    fn next(&mut self) -> Option<char> {
        let found = self.peek()?;
        self.at += found.len_utf8();
        Some(found)
    }

    fn blanks(&mut self) {
        while self.peek().is_some_and(is_blank) {
            self.next();
        }
    }

    fn expect(&mut self, wanted: char) -> Result<()> {
        match self.peek() {
            Some(found) if found == wanted => {
                self.next();
                Ok(())
            }
            Some(found) => Err(self.unexpected(found)),
            None => Err(too_short()),
        }
    }

    fn unexpected(&self, found: char) -> Error {
        let message = format!("syntax error in hstore, near \"{found}\" at position {}", self.at);
        Error::new(SqlState::SyntaxError, message)
    }

    /// A key or a value, and whether it has quotes; `None` at the end. A value may have a `=`, a
    /// key a comma.
    fn word(&mut self, is_value: bool) -> Result<Option<(String, bool)>> {
        self.blanks();
        let mut word = String::new();
        match self.peek() {
            None => return Ok(None),
            Some('=') if !is_value => return Err(self.unexpected('=')),
            Some('"') => {
                self.next();
                loop {
                    match self.next().ok_or_else(too_short)? {
                        '"' => return Ok(Some((word, true))),
                        '\\' => word.push(self.next().ok_or_else(too_short)?),
                        c => word.push(c),
                    }
                }
            }
            // The first character of a word may be any other one.
            Some('\\') => {}
            Some(first) => {
                self.next();
                word.push(first);
            }
        }
        while let Some(c) = self.peek() {
            match c {
                '=' if !is_value => break,
                ',' if is_value => break,
                c if is_blank(c) => break,
                '\\' => {
                    self.next();
                    word.push(self.next().ok_or_else(too_short)?);
                }
                c => {
                    self.next();
                    word.push(c);
                }
            }
        }
        Ok(Some((word, false)))
    }
}

/// What C's `isspace` takes.
fn is_blank(c: char) -> bool {
    matches!(c, ' ' | '\t' | '\n' | '\r' | '\x0b' | '\x0c')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn printed_sets_come_back() {
        for text in
            ["", "a=>1", "bb=>NULL, a=>\"NULL\"", "\"x y\"=>\"q\\\"\\\\\"", "a\\,b=>c\\,d", "a=>1,"]
        {
            let parsed = Hstore::parse(text).unwrap();
            assert_eq!(Hstore::parse(&parsed.print()).unwrap(), parsed, "{text}");
        }
        assert_eq!(
            Hstore::parse("bb=>2, a=>1, a=>3").unwrap().print(),
            "\"a\"=>\"1\", \"bb\"=>\"2\""
        );
    }

    #[test]
    fn what_is_no_set_is_refused() {
        for text in ["a", "a=", "a=>", "=>1", "a=>1 b=>2", "\"a=>1", "a=1", "a\\"] {
            assert!(Hstore::parse(text).is_err(), "{text}");
        }
    }
}

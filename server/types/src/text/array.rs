//! Array literals. How their items read and print is the business of the caller.

use std::sync::Arc;

use super::syntax::is_blank;
use crate::array::{Array, DIMENSIONS_MAX, Dimension, check_dimensions, too_many_dimensions};
use crate::geometry::Shape;
use crate::scratch::Scratch;
use crate::{Datum, Error, Result, SqlState, SqlType, work};

fn malformed(text: &str, detail: &str) -> Error {
    Error::new(SqlState::InvalidTextRepresentation, format!("malformed array literal: \"{text}\""))
        .detail(detail)
}

const NO_BRACE: &str = "Array value must start with \"{\" or dimension information.";
const UNEXPECTED_END: &str = "Unexpected end of input.";

/// Parses `{a,"b c",NULL}` or `{{a},{b}}`, with an optional `[2:4]=` before it.
pub(super) fn parse_array(
    element: &SqlType,
    text: &str,
    parse_item: impl Fn(&str) -> Result<Datum>,
) -> Result<Array> {
    let (given, body) = given_dimensions(text)?;
    if given.is_empty() && !body.starts_with('{') {
        return Err(malformed(text, NO_BRACE));
    }
    let mut scan = Scan::new(text, body, delimiter(element));
    scan.run()?;
    let Scan { items, lengths, mut scratch, .. } = scan;
    let dimensions: Vec<Dimension> = if given.is_empty() {
        lengths.iter().map(|length| Dimension { lower: 1, length: *length }).collect()
    } else if given.iter().map(|dimension| dimension.length).eq(lengths) {
        given
    } else {
        return Err(malformed(text, "Specified array dimensions do not match array contents."));
    };
    check_dimensions(&dimensions)?;
    let parsed = items.into_iter().map(|item| {
        work::tick()?;
        let item = item.map_or(Ok(Datum::Null), |item| parse_item(&item))?;
        scratch.keep(item)
    });
    let items = parsed.collect::<Result<Vec<_>>>()?;
    Ok(Array::from_dimensions(element.clone(), &dimensions, items))
}

/// What separates the elements of an array: boxes have commas themselves.
pub(super) fn delimiter(element: &SqlType) -> char {
    let is_box = *element.innermost() == SqlType::Geometry(Shape::Corners);
    if is_box { ';' } else { ',' }
}

/// The dimensions given by `[2:4][3]=`, and what follows them.
fn given_dimensions(text: &str) -> Result<(Vec<Dimension>, &str)> {
    let mut dimensions = Vec::new();
    let mut rest = text.trim_start_matches(is_blank);
    while let Some(inside) = rest.strip_prefix('[') {
        if dimensions.len() == DIMENSIONS_MAX {
            return Err(too_many_dimensions(DIMENSIONS_MAX + 1));
        }
        let (first, mut after) = number(inside);
        if first.is_empty() {
            let detail = "\"[\" must introduce explicitly-specified array dimensions.";
            return Err(malformed(text, detail));
        }
        let (mut low, mut high) = ("1", first);
        if let Some(second) = after.strip_prefix(':') {
            low = first;
            (high, after) = number(second);
            if high.is_empty() {
                return Err(malformed(text, "Missing array dimension value."));
            }
        }
        let Some(after) = after.strip_prefix(']') else {
            return Err(malformed(text, "Missing \"]\" after array dimensions."));
        };
        let (low, high) = (subscript(text, low)?, subscript(text, high)?);
        if high < low {
            return Err(Error::new(
                SqlState::ArraySubscriptError,
                "upper bound cannot be less than lower bound",
            ));
        }
        let length = (i64::from(high) - i64::from(low) + 1) as usize;
        dimensions.push(Dimension { lower: low, length });
        rest = after.trim_start_matches(is_blank);
    }
    if dimensions.is_empty() {
        return Ok((dimensions, rest));
    }
    let Some(rest) = rest.strip_prefix('=') else {
        return Err(malformed(text, "Missing \"=\" after array dimensions."));
    };
    let rest = rest.trim_start_matches(is_blank);
    if !rest.starts_with('{') {
        return Err(malformed(text, "Array contents must start with \"{\"."));
    }
    Ok((dimensions, rest))
}

/// The digits and signs at the beginning of a text, and what follows them.
fn number(text: &str) -> (&str, &str) {
    let end = text.find(|c: char| !c.is_ascii_digit() && c != '-' && c != '+');
    text.split_at(end.unwrap_or(text.len()))
}

fn subscript(text: &str, digits: &str) -> Result<i32> {
    digits
        .parse::<i32>()
        .map_err(|_| malformed(text, "\"[\" must introduce explicitly-specified array dimensions."))
}

/// What was read last of an array's text.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Seen {
    Nothing,
    /// `{`
    Open,
    /// Characters of an element without quotes.
    Element,
    /// The second quote of an element.
    Quoted,
    /// A comma after an element.
    ElementComma,
    /// `}`
    Close,
    /// A comma after `}`.
    CloseComma,
}

/// Takes the text of an array apart into its elements and the lengths of its dimensions.
struct Scan<'a> {
    text: &'a str,
    rest: std::iter::Peekable<std::str::Chars<'a>>,
    /// What separates elements.
    delimiter: char,
    seen: Seen,
    /// How many braces are open.
    depth: usize,
    /// For each open brace the number of its elements or inner braces.
    counts: Vec<usize>,
    /// The lengths of the dimensions, as the first closed brace of each depth has them.
    lengths: Vec<usize>,
    items: Vec<Option<String>>,
    /// Counts the items.
    scratch: Scratch,
}

impl<'a> Scan<'a> {
    fn new(text: &'a str, body: &'a str, delimiter: char) -> Self {
        Scan {
            text,
            rest: body.chars().peekable(),
            delimiter,
            seen: Seen::Nothing,
            depth: 0,
            counts: Vec::new(),
            lengths: Vec::new(),
            items: Vec::new(),
            scratch: Scratch::default(),
        }
    }

    fn unexpected(&self, c: char) -> Error {
        malformed(self.text, &format!("Unexpected \"{c}\" character."))
    }

    /// Reads up to the brace that closes the array.
    fn run(&mut self) -> Result<()> {
        loop {
            let Some(c) = self.rest.next() else {
                return Err(malformed(self.text, UNEXPECTED_END));
            };
            match c {
                '{' => self.open()?,
                '}' => {
                    self.close()?;
                    if self.depth == 0 {
                        break;
                    }
                }
                c if c == self.delimiter => {
                    self.seen = match self.seen {
                        Seen::Element | Seen::Quoted => Seen::ElementComma,
                        Seen::Close => Seen::CloseComma,
                        _ => return Err(self.unexpected(c)),
                    };
                }
                c if is_blank(c) => {}
                c => self.element(c)?,
            }
        }
        if !self.rest.all(is_blank) {
            return Err(malformed(self.text, "Junk after closing right brace."));
        }
        if self.items.is_empty() {
            self.lengths.clear();
        }
        Ok(())
    }

    fn open(&mut self) -> Result<()> {
        if !matches!(self.seen, Seen::Nothing | Seen::Open | Seen::CloseComma) {
            return Err(self.unexpected('{'));
        }
        if self.depth == DIMENSIONS_MAX {
            return Err(too_many_dimensions(DIMENSIONS_MAX + 1));
        }
        self.seen = Seen::Open;
        if let Some(outer) = self.counts.last_mut() {
            *outer += 1;
        }
        self.depth += 1;
        self.counts.push(0);
        Ok(())
    }

    fn close(&mut self) -> Result<()> {
        let is_empty = self.seen == Seen::Open && self.depth == 1;
        if !matches!(self.seen, Seen::Element | Seen::Quoted | Seen::Close) && !is_empty {
            return Err(self.unexpected('}'));
        }
        self.depth -= 1;
        let count = self.counts.pop().unwrap_or(0);
        let mismatch = "Multidimensional arrays must have sub-arrays with matching dimensions.";
        // The first element of all closes the deepest braces first.
        if self.lengths.is_empty() {
            self.lengths = vec![0; self.depth + 1];
        }
        match self.lengths.get_mut(self.depth) {
            Some(known @ 0) => *known = count,
            Some(known) if *known == count => {}
            _ => return Err(malformed(self.text, mismatch)),
        }
        self.seen = Seen::Close;
        Ok(())
    }

    /// An element that begins with `first`.
    fn element(&mut self, first: char) -> Result<()> {
        if !matches!(self.seen, Seen::Open | Seen::ElementComma) {
            let detail = "Unexpected array element.";
            return Err(if first == '\\' {
                self.unexpected(first)
            } else {
                malformed(self.text, detail)
            });
        }
        if !self.lengths.is_empty() && self.lengths.len() != self.depth {
            let detail = "Multidimensional arrays must have sub-arrays with matching dimensions.";
            return Err(malformed(self.text, detail));
        }
        let item = if first == '"' { Some(self.quoted()?) } else { self.bare(first)? };
        self.seen = if first == '"' { Seen::Quoted } else { Seen::Element };
        work::tick()?;
        let bytes = item.as_ref().map_or(0, String::capacity);
        self.scratch.add(size_of::<Option<String>>() + bytes)?;
        self.items.push(item);
        if let Some(count) = self.counts.last_mut() {
            *count += 1;
        }
        Ok(())
    }

    fn escaped(&mut self) -> Result<char> {
        self.rest.next().ok_or_else(|| malformed(self.text, UNEXPECTED_END))
    }

    fn quoted(&mut self) -> Result<String> {
        let mut out = String::new();
        loop {
            match self.escaped()? {
                '"' => return Ok(out),
                '\\' => out.push(self.escaped()?),
                c => out.push(c),
            }
        }
    }

    /// An element without quotes; `None` for NULL.
    fn bare(&mut self, first: char) -> Result<Option<String>> {
        let mut out = String::new();
        let mut is_escaped = false;
        // Length up to the last character that is not a bare blank.
        let mut kept = 0;
        let mut next = first;
        loop {
            match next {
                '{' => return Err(self.unexpected('{')),
                '"' => return Err(malformed(self.text, "Unexpected array element.")),
                '\\' => {
                    out.push(self.escaped()?);
                    is_escaped = true;
                    kept = out.len();
                }
                c => {
                    out.push(c);
                    if !is_blank(c) {
                        kept = out.len();
                    }
                }
            }
            let delimiter = self.delimiter;
            match self.rest.next_if(|c| *c != delimiter && *c != '}') {
                Some(c) => next = c,
                None if self.rest.peek().is_none() => {
                    return Err(malformed(self.text, UNEXPECTED_END));
                }
                None => break,
            }
        }
        out.truncate(kept);
        let is_null = !is_escaped && out.eq_ignore_ascii_case("null");
        Ok((!is_null).then_some(out))
    }
}

/// Appends `{a,"b c",NULL}`, or `{{a},{b}}` for several dimensions.
///
/// `write_item` appends an element that is not NULL, before quotes.
pub(super) fn format_array(
    array: &Array,
    write_item: impl Fn(&Datum, &mut Vec<u8>),
    out: &mut Vec<u8>,
) {
    let dimensions = array.dimensions();
    if dimensions.iter().any(|dimension| dimension.lower != 1) {
        for dimension in &dimensions {
            let bounds = format!("[{}:{}]", dimension.lower, dimension.upper());
            out.extend_from_slice(bounds.as_bytes());
        }
        out.push(b'=');
    }
    let lengths: Vec<usize> = array.inner.iter().map(|dimension| dimension.length).collect();
    let delimiter = delimiter(&array.element) as u8;
    let mut item_text = Vec::new();
    let mut format_item = |item: &Datum, out: &mut Vec<u8>| {
        work::note(1);
        if item.is_null() {
            out.extend_from_slice(b"NULL");
            return;
        }
        item_text.clear();
        write_item(item, &mut item_text);
        quote_element(&item_text, delimiter, out);
    };
    format_items(&array.items, (&lengths, delimiter), out, &mut format_item);
}

/// Appends items in the braces of their dimension.
fn format_items(
    items: &[Datum],
    (inner, delimiter): (&[usize], u8),
    out: &mut Vec<u8>,
    format_item: &mut dyn FnMut(&Datum, &mut Vec<u8>),
) {
    out.push(b'{');
    let size = inner.iter().product::<usize>().max(1);
    for (at, items) in items.chunks(size).enumerate() {
        if at > 0 {
            out.push(delimiter);
        }
        match inner {
            [] => items.iter().for_each(|item| format_item(item, out)),
            [_, rest @ ..] => format_items(items, (rest, delimiter), out, format_item),
        }
    }
    out.push(b'}');
}

/// Appends an array element, quoted if it needs to be.
fn quote_element(item: &[u8], delimiter: u8, out: &mut Vec<u8>) {
    let special = |b: &u8| {
        *b == delimiter
            || matches!(b, b'"' | b'\\' | b'{' | b'}' | b' ' | b'\t' | b'\n' | b'\r' | 11 | 12)
    };
    if !item.is_empty() && !item.iter().any(special) && !item.eq_ignore_ascii_case(b"null") {
        out.extend_from_slice(item);
        return;
    }
    out.push(b'"');
    for byte in item {
        if matches!(byte, b'"' | b'\\') {
            out.push(b'\\');
        }
        out.push(*byte);
    }
    out.push(b'"');
}

/// The datum that holds the array.
impl From<Array> for Datum {
    fn from(array: Array) -> Self {
        Datum::Array(Arc::new(array))
    }
}

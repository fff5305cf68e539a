//! A parser after RFC 8259, with PostgreSQL's error details.

use super::Json;
use crate::scratch::Scratch;
use crate::{Error, Numeric, Result, SqlState, work};

/// How deep values may nest.
const DEPTH_MAX: usize = 1000;

struct JsonParser<'a> {
    text: &'a str,
    at: usize,
    /// Whether values are built; `json` only checks its text.
    build: bool,
    /// Whether escapes become characters; `json` only checks their form.
    unescape: bool,
    /// Counts the values that are built.
    scratch: Scratch,
}

impl Json {
    /// Parses the text of a `jsonb`.
    pub fn parse(text: &str) -> Result<Json> {
        JsonParser::new(text, 0, true).document()
    }

    /// Checks the text of a `json` and keeps it.
    pub fn parse_raw(text: &str) -> Result<Json> {
        JsonParser::new(text, 0, false).document()?;
        Ok(Json::Raw(text.into()))
    }
}

/// 22P02 or 22P05 if an escape in a text of type `json` means no character.
pub(super) fn check_escapes(text: &str) -> Result<()> {
    if !text.contains("\\u") {
        return Ok(());
    }
    let parser = JsonParser::new(text, 0, false);
    JsonParser { unescape: true, ..parser }.document().map(|_| ())
}

/// The members of an object in the text's order, with the texts of their values.
pub(super) fn raw_members(text: &str) -> Result<Vec<(String, String)>> {
    let mut parser = JsonParser::new(text, 0, true);
    parser.skip_blanks();
    let mut members = Vec::new();
    if parser.peek() != Some(b'{') {
        return Ok(members);
    }
    parser.at += 1;
    parser.skip_blanks();
    while parser.peek() == Some(b'"') {
        let key = parser.string()?;
        parser.skip_blanks();
        parser.at += 1;
        members.push((key, parser.raw_value()?));
        parser.skip_blanks();
        parser.at += 1;
        parser.skip_blanks();
    }
    Ok(members)
}

/// The texts of an array's elements.
pub(super) fn raw_elements(text: &str) -> Result<Vec<String>> {
    let mut parser = JsonParser::new(text, 0, true);
    parser.skip_blanks();
    let mut elements = Vec::new();
    if parser.peek() != Some(b'[') {
        return Ok(elements);
    }
    parser.at += 1;
    parser.skip_blanks();
    while parser.peek().is_some_and(|byte| byte != b']') {
        elements.push(parser.raw_value()?);
        parser.skip_blanks();
        let more = parser.peek() == Some(b',');
        parser.at += 1;
        if !more {
            break;
        }
    }
    Ok(elements)
}

impl<'a> JsonParser<'a> {
    fn new(text: &'a str, at: usize, build: bool) -> Self {
        JsonParser { text, at, build, unescape: build, scratch: Scratch::default() }
    }

    fn raw_value(&mut self) -> Result<String> {
        self.skip_blanks();
        let start = self.at;
        let (build, unescape) = (self.build, self.unescape);
        (self.build, self.unescape) = (false, false);
        self.value(0)?;
        (self.build, self.unescape) = (build, unescape);
        Ok(self.text[start..self.at].to_owned())
    }

    fn document(&mut self) -> Result<Json> {
        self.skip_blanks();
        let value = self.value(0)?;
        self.skip_blanks();
        if self.at < self.text.len() {
            return Err(self.expected("end of input"));
        }
        Ok(value)
    }

    fn peek(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    fn skip_blanks(&mut self) {
        while matches!(self.peek(), Some(b' ' | b'\t' | b'\n' | b'\r')) {
            self.at += 1;
        }
    }

    fn error(&self, detail: String, end: usize) -> Error {
        let end = end.min(self.text.len());
        let start = self.text[..end].rfind('\n').map_or(0, |at| at + 1);
        let line = self.text[..end].matches('\n').count() + 1;
        // Long lines are cut from the front, as a client wants to see the place of the fault.
        let shown = &self.text[start..end];
        let cut = shown.char_indices().rev().nth(49).map_or(0, |(at, _)| at);
        let dots = if cut > 0 { "..." } else { "" };
        let rest =
            if end < self.text.len() && !self.text[end..].starts_with('\n') { "..." } else { "" };
        Error::new(SqlState::InvalidTextRepresentation, "invalid input syntax for type json")
            .detail(detail)
            .context(format!("JSON data, line {line}: {dots}{}{rest}", &shown[cut..]))
    }

    /// The token at the cursor, as messages name it.
    fn token_end(&self) -> usize {
        let rest = &self.text[self.at..];
        let word = |c: char| c.is_ascii_alphanumeric() || c == '_' || !c.is_ascii();
        match rest.chars().next() {
            None => self.at,
            Some('-' | '0'..='9') => {
                let number = number_scan(rest).0;
                let tail = &rest[number..];
                self.at + number + tail.find(|c| !word(c)).unwrap_or(tail.len())
            }
            Some('"') => {
                let mut escaped = false;
                for (at, c) in rest.char_indices().skip(1) {
                    match c {
                        '"' if !escaped => return self.at + at + 1,
                        '\\' => escaped = !escaped,
                        _ => escaped = false,
                    }
                }
                self.text.len()
            }
            Some(c) if word(c) => self.at + rest.find(|c| !word(c)).unwrap_or(rest.len()),
            Some(c) => self.at + c.len_utf8(),
        }
    }

    fn token_invalid(&self) -> Error {
        let end = self.token_end();
        self.error(format!("Token \"{}\" is invalid.", &self.text[self.at..end]), end)
    }

    /// "Expected …, but found …", or the fault of the token itself.
    fn expected(&self, what: &str) -> Error {
        let end = self.token_end();
        if end == self.at {
            return self.error("The input string ended unexpectedly.".to_owned(), end);
        }
        let token = &self.text[self.at..end];
        let valid = matches!(token, "true" | "false" | "null")
            || matches!(token, "{" | "}" | "[" | "]" | ":" | ",")
            || number_length(token) == Some(token.len())
            || token.starts_with('"');
        if !valid {
            return self.token_invalid();
        }
        if token.starts_with('"') {
            // The string may be broken itself.
            let mut probe = JsonParser::new(self.text, self.at, false);
            if let Err(error) = probe.string() {
                return error;
            }
        }
        self.error(format!("Expected {what}, but found \"{token}\"."), end)
    }

    fn value(&mut self, depth: usize) -> Result<Json> {
        work::tick()?;
        if self.build {
            self.scratch.add(size_of::<Json>())?;
        }
        if depth > DEPTH_MAX {
            return Err(Error::new(SqlState::StatementTooComplex, "stack depth limit exceeded")
                .hint(format!("JSON values may nest at most {DEPTH_MAX} deep.")));
        }
        match self.peek() {
            Some(b'{') => self.object(depth),
            Some(b'[') => self.array(depth),
            Some(b'"') => Ok(Json::String(self.string()?.into())),
            Some(b'-' | b'0'..=b'9') => self.number(),
            _ => {
                let end = self.token_end();
                let value = match &self.text[self.at..end] {
                    "true" => Json::Bool(true),
                    "false" => Json::Bool(false),
                    "null" => Json::Null,
                    _ if depth > 0 && self.text[self.at..end] == *"]" => {
                        return Err(self.expected("JSON value"));
                    }
                    _ => return Err(self.expected("JSON value")),
                };
                self.at = end;
                Ok(value)
            }
        }
    }

    fn number(&mut self) -> Result<Json> {
        let end = self.token_end();
        let token = &self.text[self.at..end];
        if number_length(token) != Some(token.len()) {
            return Err(self.token_invalid());
        }
        let value = if self.build { Json::Number(Numeric::parse(token)?) } else { Json::Null };
        self.at = end;
        Ok(value)
    }

    fn array(&mut self, depth: usize) -> Result<Json> {
        self.at += 1;
        let mut items = Vec::new();
        self.skip_blanks();
        if self.peek() == Some(b']') {
            self.at += 1;
            return Ok(Json::Array(items));
        }
        loop {
            self.skip_blanks();
            let item = self.value(depth + 1)?;
            if self.build {
                items.push(item);
            }
            self.skip_blanks();
            match self.peek() {
                Some(b',') => self.at += 1,
                Some(b']') => {
                    self.at += 1;
                    return Ok(Json::Array(items));
                }
                _ => return Err(self.expected("\",\" or \"]\"")),
            }
        }
    }

    fn object(&mut self, depth: usize) -> Result<Json> {
        self.at += 1;
        let mut members = Vec::new();
        self.skip_blanks();
        if self.peek() == Some(b'}') {
            self.at += 1;
            return Ok(Json::Object(members));
        }
        let mut wanted = "string or \"}\"";
        loop {
            self.skip_blanks();
            if self.peek() != Some(b'"') {
                return Err(self.expected(wanted));
            }
            let key = self.string()?;
            self.skip_blanks();
            if self.peek() != Some(b':') {
                return Err(self.expected("\":\""));
            }
            self.at += 1;
            self.skip_blanks();
            let value = self.value(depth + 1)?;
            if self.build {
                members.push((key.into_boxed_str(), value));
            }
            self.skip_blanks();
            match self.peek() {
                Some(b',') => self.at += 1,
                Some(b'}') => {
                    self.at += 1;
                    return Ok(Json::object(members));
                }
                _ => return Err(self.expected("\",\" or \"}\"")),
            }
            wanted = "string";
        }
    }

    fn string(&mut self) -> Result<String> {
        let open = self.at;
        self.at += 1;
        let mut out = String::new();
        let mut plain = self.at;
        loop {
            let Some(byte) = self.peek() else {
                self.at = open;
                let end = self.text.len();
                let token = &self.text[open..];
                return Err(self.error(format!("Token \"{token}\" is invalid."), end));
            };
            match byte {
                b'"' => {
                    out.push_str(&self.text[plain..self.at]);
                    self.at += 1;
                    if self.build {
                        self.scratch.add(out.len())?;
                    }
                    return Ok(out);
                }
                b'\\' => {
                    out.push_str(&self.text[plain..self.at]);
                    self.escape(&mut out)?;
                    plain = self.at;
                }
                0..=31 => {
                    let detail = format!("Character with value 0x{byte:02x} must be escaped.");
                    return Err(self.error(detail, self.at));
                }
                _ => self.at += 1,
            }
        }
    }

    fn escape(&mut self, out: &mut String) -> Result<()> {
        self.at += 1;
        let Some(c) = self.text[self.at..].chars().next() else {
            let at = self.text.len();
            return Err(self.error("The input string ended unexpectedly.".to_owned(), at));
        };
        let plain = match c {
            '"' | '\\' | '/' => c,
            'b' => '\u{8}',
            'f' => '\u{c}',
            'n' => '\n',
            'r' => '\r',
            't' => '\t',
            'u' => return self.unicode(out),
            _ => {
                let end = self.at + c.len_utf8();
                return Err(self.error(format!("Escape sequence \"\\{c}\" is invalid."), end));
            }
        };
        self.at += 1;
        out.push(plain);
        Ok(())
    }

    fn unicode(&mut self, out: &mut String) -> Result<()> {
        let high = self.hex4()?;
        if !self.unescape {
            // json keeps the text: only the form of the escape matters.
            return Ok(());
        }
        let unpaired = |parser: &Self, what: &str| {
            Err(parser.error(
                format!(
                    "Unicode {what} surrogate must {}.",
                    match what {
                        "high" => "not follow a high surrogate",
                        _ => "follow a high surrogate",
                    }
                ),
                parser.at,
            ))
        };
        let code = match high {
            0 => {
                return Err(Error::new(
                    SqlState::UntranslatableCharacter,
                    "unsupported Unicode escape sequence",
                )
                .detail("\\u0000 cannot be converted to text."));
            }
            0xd800..=0xdbff => {
                if !self.text[self.at..].starts_with("\\u") {
                    return unpaired(self, "low");
                }
                self.at += 1;
                let low = self.hex4()?;
                match low {
                    0xdc00..=0xdfff => 0x10000 + ((high - 0xd800) << 10) + (low - 0xdc00),
                    0xd800..=0xdbff => return unpaired(self, "high"),
                    _ => return unpaired(self, "low"),
                }
            }
            0xdc00..=0xdfff => return unpaired(self, "low"),
            code => code,
        };
        out.push(char::from_u32(code).unwrap_or(char::REPLACEMENT_CHARACTER));
        Ok(())
    }

    /// Four hexadecimal digits after the `u` at the cursor.
    fn hex4(&mut self) -> Result<u32> {
        let digits = self.text.as_bytes().get(self.at + 1..self.at + 5);
        let code = digits
            .filter(|digits| digits.iter().all(u8::is_ascii_hexdigit))
            .and_then(|digits| std::str::from_utf8(digits).ok())
            .and_then(|digits| u32::from_str_radix(digits, 16).ok());
        let Some(code) = code else {
            let detail = "\"\\u\" must be followed by four hexadecimal digits.".to_owned();
            return Err(self.error(detail, self.at + 1));
        };
        self.at += 5;
        Ok(code)
    }
}

/// The length of the JSON number at the start of a text.
fn number_length(text: &str) -> Option<usize> {
    let (length, valid) = number_scan(text);
    valid.then_some(length)
}

/// How far the grammar of numbers goes, and whether it ends well.
fn number_scan(text: &str) -> (usize, bool) {
    let bytes = text.as_bytes();
    let digits = |from: usize| {
        bytes.get(from..).unwrap_or(&[]).iter().take_while(|b| b.is_ascii_digit()).count()
    };
    let mut at = usize::from(bytes.first() == Some(&b'-'));
    match digits(at) {
        0 => return (at, false),
        n if n > 1 && bytes[at] == b'0' => return (at + 1, false),
        n => at += n,
    }
    if bytes.get(at) == Some(&b'.') {
        match digits(at + 1) {
            0 => return (at + 1, false),
            n => at += 1 + n,
        }
    }
    if matches!(bytes.get(at), Some(b'e' | b'E')) {
        let sign = usize::from(matches!(bytes.get(at + 1), Some(b'+' | b'-')));
        match digits(at + 1 + sign) {
            0 => return (at + 1 + sign, false),
            n => at += 1 + sign + n,
        }
    }
    (at, true)
}

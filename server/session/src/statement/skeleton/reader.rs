//! Reads a statement by its characters.
//!
//! What it does not do: name what is wrong. It gives up on everything that is unusual.

/// One value of a row.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Value<'t> {
    Null,
    Bool(bool),
    Integer(i64),
    /// Digits, with or without a sign and a point.
    Numeric(&'t str),
    /// A string without its outer quotes, and whether there are doubled ones in it.
    Text(&'t str, bool),
    /// `$n`
    Parameter(usize),
}

/// Reads a text from its start.
pub(super) struct Reader<'t> {
    pub text: &'t str,
    /// Up to where it has read.
    pub at: usize,
}

impl<'t> Reader<'t> {
    pub(super) fn rest(&self) -> &'t [u8] {
        &self.text.as_bytes()[self.at..]
    }

    pub(super) fn blanks(&mut self) {
        let blank = |byte: &&u8| matches!(byte, b' ' | b'\t' | b'\n' | b'\r');
        self.at += self.rest().iter().take_while(blank).count();
    }

    pub(super) fn symbol(&mut self, symbol: u8) -> bool {
        self.blanks();
        let found = self.rest().first() == Some(&symbol);
        self.at += usize::from(found);
        found
    }

    /// A keyword, which something else than a letter follows.
    pub(super) fn word(&mut self, word: &str) -> bool {
        self.blanks();
        let rest = self.rest();
        let found = rest.len() >= word.len()
            && rest[..word.len()].eq_ignore_ascii_case(word.as_bytes())
            && !rest.get(word.len()).is_some_and(|byte| is_word(*byte));
        self.at += if found { word.len() } else { 0 };
        found
    }

    /// Everything up to and with VALUES: names, and a list of columns.
    pub(super) fn head(&mut self) -> Option<&'t str> {
        loop {
            self.blanks();
            if self.word("values") {
                return Some(&self.text[..self.at]);
            }
            match self.rest().first()? {
                b'"' => {
                    let end = self.rest()[1..].iter().position(|byte| *byte == b'"')?;
                    self.at += end + 2;
                }
                b'.' | b',' | b'(' | b')' => self.at += 1,
                byte if byte.is_ascii_alphabetic() || *byte == b'_' => {
                    self.at += self.rest().iter().take_while(|byte| is_word(**byte)).count();
                }
                _ => return None,
            }
        }
    }

    /// A row in parentheses, value by value; how many it has. `None` as soon as `each` says no.
    pub(super) fn row(&mut self, each: &mut dyn FnMut(Value<'t>) -> Option<()>) -> Option<usize> {
        if !self.symbol(b'(') {
            return None;
        }
        let mut count = 0;
        loop {
            each(self.value()?)?;
            count += 1;
            if self.symbol(b')') {
                return Some(count);
            }
            if !self.symbol(b',') {
                return None;
            }
        }
    }

    pub(super) fn value(&mut self) -> Option<Value<'t>> {
        self.blanks();
        match self.rest().first()? {
            b'\'' => self.string(),
            b'$' => {
                self.at += 1;
                self.digits().parse().ok().filter(|n| *n > 0).map(Value::Parameter)
            }
            b'-' | b'0'..=b'9' => self.number(),
            _ if self.word("null") => Some(Value::Null),
            _ if self.word("true") => Some(Value::Bool(true)),
            _ if self.word("false") => Some(Value::Bool(false)),
            _ => None,
        }
    }

    fn digits(&mut self) -> &'t str {
        let start = self.at;
        self.at += self.rest().iter().take_while(|byte| byte.is_ascii_digit()).count();
        &self.text[start..self.at]
    }

    fn number(&mut self) -> Option<Value<'t>> {
        let start = self.at;
        self.at += usize::from(self.rest().first() == Some(&b'-'));
        if self.digits().is_empty() {
            return None;
        }
        let mut is_integer = true;
        if self.rest().first() == Some(&b'.') {
            self.at += 1;
            is_integer = false;
            if self.digits().is_empty() {
                return None;
            }
        }
        // What follows is the end of the value, not `1e5`, `0x1f` or `1_000`.
        if self.rest().first().is_some_and(|byte| is_word(*byte) || *byte == b'.') {
            return None;
        }
        let text = &self.text[start..self.at];
        match text.parse() {
            // The literal is one digit longer than its type without the sign.
            Ok(i64::MIN) => None,
            Ok(number) if is_integer => Some(Value::Integer(number)),
            _ => Some(Value::Numeric(text)),
        }
    }

    fn string(&mut self) -> Option<Value<'t>> {
        self.at += 1;
        let start = self.at;
        let mut has_quotes = false;
        loop {
            let next = self.rest().iter().position(|byte| matches!(byte, b'\'' | b'\\' | 0))?;
            self.at += next + 1;
            if self.text.as_bytes()[self.at - 1] != b'\'' {
                return None;
            }
            if self.rest().first() != Some(&b'\'') {
                break;
            }
            has_quotes = true;
            self.at += 1;
        }
        Some(Value::Text(&self.text[start..self.at - 1], has_quotes))
    }

    /// The rest: nothing, or what one of these words starts, without strings.
    pub(super) fn tail(&mut self, words: &[&str]) -> Option<&'t str> {
        self.blanks();
        let rest = &self.text[self.at..];
        let tail = rest.trim_end().trim_end_matches(';').trim_end();
        let is_plain =
            |byte: u8| is_word(byte) && byte != b'$' || b" \t\r\n,.()*=\"".contains(&byte);
        let starts = tail.is_empty() || {
            let word = tail.split(|c: char| !c.is_ascii_alphabetic()).next().unwrap_or_default();
            words.iter().any(|start| word.eq_ignore_ascii_case(start))
        };
        (starts && tail.bytes().all(is_plain)).then_some(tail)
    }
}

pub(super) fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'$' || byte >= 0x80
}

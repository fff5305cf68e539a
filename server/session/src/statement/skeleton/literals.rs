//! SELECT, UPDATE and DELETE with their literals taken out.
//!
//! ```text
//!   UPDATE account SET balance = balance - 12.50 WHERE id = 17
//!   UPDATE account SET balance = balance - $1 WHERE id = $2        12.50 (numeric), 17 (int4)
//! ```
//!
//! Taken are literals that a column is compared with in a WHERE of ANDs, and those that are
//! assigned or reckoned with in SET. All others stay in the text, where they mean what they mean
//! (`LIMIT 5`, `ORDER BY 1`). A number keeps its literal's type; a string's type is found as that
//! of a literal is.
//!
//! Lists of IN are filled up with their last value to one of few lengths.
//!
//! What it does not do: read anything else. It gives up on functions, casts, OR, comments,
//! subqueries in conditions, and whatever it does not know.

use braid_types::SqlType;

use super::reader::{Reader, Value, is_word};

/// Longer texts are not kept parsed either.
const TEXT_BYTES_MAX: usize = 64 << 10;
/// More literals than this are left to the ordinary way.
const LITERALS_MAX: usize = 1024;

/// A statement and its literals.
#[derive(Debug, PartialEq)]
pub(super) struct Literals<'t> {
    /// The text with parameters in their places.
    pub text: String,
    /// What they were.
    pub values: Vec<Value<'t>>,
}

struct Form<'t> {
    reader: Reader<'t>,
    text: String,
    /// Up to where the text has been taken over.
    copied: usize,
    values: Vec<Value<'t>>,
}

impl<'t> Literals<'t> {
    /// A text's literals, if it is of that form and has any.
    pub(super) fn of(text: &'t str) -> Option<Literals<'t>> {
        if text.len() > TEXT_BYTES_MAX {
            return None;
        }
        let reader = Reader { text, at: 0 };
        let mut form = Form { reader, text: String::new(), copied: 0, values: Vec::new() };
        let tails: &[&str] = if form.reader.word("select") {
            form.plain_until("where")?;
            form.conditions()?;
            &["order", "limit", "offset", "for", "group"]
        } else if form.reader.word("update") {
            form.plain_until("set")?;
            form.assignments()?;
            if form.reader.word("where") {
                form.conditions()?;
            }
            &["returning"]
        } else if form.reader.word("delete") {
            form.plain_until("where")?;
            form.conditions()?;
            &["returning"]
        } else {
            return None;
        };
        form.copy_up_to(form.reader.at);
        let tail = form.reader.tail(tails)?;
        if form.values.is_empty() || form.values.len() > LITERALS_MAX {
            return None;
        }
        form.text.truncate(form.text.trim_end().len());
        if !tail.is_empty() {
            form.text.push(' ');
            form.text.push_str(tail);
        }
        Some(Literals { text: form.text, values: form.values })
    }

    /// The types that they have as literals.
    pub(super) fn types(&self) -> Vec<SqlType> {
        let of_value = |value: &Value<'_>| match value {
            // A number's sign is no part of it.
            Value::Integer(n) if i32::try_from(n.unsigned_abs()).is_ok() => SqlType::Int4,
            Value::Integer(_) => SqlType::Int8,
            Value::Numeric(_) => SqlType::Numeric(None),
            _ => SqlType::Unknown,
        };
        self.values.iter().map(of_value).collect()
    }
}

impl<'t> Form<'t> {
    fn copy_up_to(&mut self, end: usize) {
        self.text.push_str(&self.reader.text[self.copied..end]);
        self.copied = end;
    }

    fn next(&mut self) -> Option<u8> {
        self.reader.blanks();
        self.reader.rest().first().copied()
    }

    /// Names, numbers and a few symbols, up to a word outside of parentheses.
    fn plain_until(&mut self, word: &str) -> Option<()> {
        let mut depth = 0;
        loop {
            let byte = self.next()?;
            if depth == 0 && self.reader.word(word) {
                return Some(());
            }
            match byte {
                b'(' => depth += 1,
                b')' => depth -= 1,
                b'.' | b',' | b'*' | b'=' | b'<' | b'>' | b'+' => {}
                _ => {
                    self.identifier()?;
                    continue;
                }
            }
            self.reader.at += 1;
        }
    }

    /// A name in quotes, a word or a number.
    fn identifier(&mut self) -> Option<()> {
        let rest = self.reader.rest();
        self.reader.at += match rest.first()? {
            b'"' => rest[1..].iter().position(|byte| *byte == b'"')? + 2,
            byte if byte.is_ascii_alphanumeric() || *byte == b'_' => {
                rest.iter().take_while(|byte| is_word(**byte)).count()
            }
            _ => return None,
        };
        // Not `e'…'` and similar prefixes, nor a name of two quoted pieces.
        let follows = self.reader.rest().first();
        (!matches!(follows, Some(b'\'' | b'"' | b'&'))).then_some(())
    }

    /// A column, perhaps with its table's name.
    fn column(&mut self) -> Option<()> {
        self.reader.blanks();
        loop {
            let first = self.reader.rest().first()?;
            if first.is_ascii_digit() {
                return None;
            }
            self.identifier()?;
            if self.reader.rest().first() != Some(&b'.') {
                break;
            }
            self.reader.at += 1;
        }
        (self.next() != Some(b'(')).then_some(())
    }

    fn is_literal(&mut self) -> bool {
        matches!(self.next(), Some(b'\'' | b'-' | b'0'..=b'9'))
    }

    fn literal(&mut self) -> Option<Value<'t>> {
        self.reader.blanks();
        let start = self.reader.at;
        let value = self.reader.value()?;
        self.copy_up_to(start);
        self.copied = self.reader.at;
        self.put(value);
        Some(value)
    }

    fn put(&mut self, value: Value<'t>) {
        self.values.push(value);
        self.text.push('$');
        self.text.push_str(&self.values.len().to_string());
    }

    fn conditions(&mut self) -> Option<()> {
        loop {
            self.condition()?;
            if !self.reader.word("and") {
                return Some(());
            }
        }
    }

    /// `a = 1`, `a IN (1, 2)`, `a BETWEEN 1 AND 2`, `a = b`, `a IS NULL`
    fn condition(&mut self) -> Option<()> {
        for word in ["null", "true", "false", "not"] {
            if self.reader.word(word) {
                return None;
            }
        }
        self.column()?;
        if self.reader.word("is") {
            self.reader.word("not");
            return self.reader.word("null").then_some(());
        }
        if self.reader.word("in") {
            return self.list();
        }
        if self.reader.word("between") {
            self.literal_only()?;
            return self.reader.word("and").then(|| self.literal_only())?;
        }
        let rest = self.reader.rest();
        let length = rest.iter().take_while(|byte| b"<>=!".contains(byte)).count();
        if !matches!(&rest[..length], b"=" | b"<" | b">" | b"<=" | b">=" | b"<>" | b"!=") {
            return None;
        }
        self.reader.at += length;
        if self.is_literal() { self.literal_only() } else { self.column() }
    }

    fn literal_only(&mut self) -> Option<()> {
        if !self.is_literal() {
            return None;
        }
        self.literal().map(drop)
    }

    fn list(&mut self) -> Option<()> {
        if !self.reader.symbol(b'(') {
            return None;
        }
        let mut count = 0;
        loop {
            if !self.is_literal() {
                return None;
            }
            let last = self.literal()?;
            count += 1;
            if count > LITERALS_MAX {
                return None;
            }
            if self.reader.symbol(b')') {
                for _ in count..list_length(count) {
                    self.text.push_str(", ");
                    self.put(last);
                }
                self.copied = self.reader.at;
                self.text.push(')');
                return Some(());
            }
            if !self.reader.symbol(b',') {
                return None;
            }
        }
    }

    /// `a = 1, b = b - 1, c = 'x', d = NULL`
    fn assignments(&mut self) -> Option<()> {
        loop {
            self.column()?;
            if !self.reader.symbol(b'=') {
                return None;
            }
            self.assigned()?;
            if !self.reader.symbol(b',') {
                return Some(());
            }
        }
    }

    /// A literal, or names with at most one number among them.
    fn assigned(&mut self) -> Option<()> {
        if self.is_literal() {
            return self.literal_only();
        }
        self.column()?;
        let mut numbers = 0;
        while let Some(b'+' | b'-' | b'*') = self.next() {
            self.reader.at += 1;
            // Not a comment, nor another operator.
            let follows = self.reader.rest().first()?;
            if !(follows.is_ascii_whitespace() || is_word(*follows) || *follows == b'"') {
                return None;
            }
            if self.is_literal() {
                if matches!(self.literal()?, Value::Text(..)) {
                    return None;
                }
                numbers += 1;
            } else {
                self.column()?;
            }
        }
        (numbers <= 1).then_some(())
    }
}

/// Short lists keep their length; others get one of four lengths in each octave.
fn list_length(count: usize) -> usize {
    if count <= 4 {
        return count;
    }
    let step = (count.next_power_of_two() / 8).max(1);
    count.next_multiple_of(step)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text_of(text: &str) -> Option<String> {
        Literals::of(text).map(|literals| literals.text)
    }

    #[test]
    fn statements_that_differ_in_their_literals_share_a_text() {
        for (text, wanted) in [
            ("SELECT * FROM t WHERE id = 5", "SELECT * FROM t WHERE id = $1"),
            ("select a, t.b from t where id=-5;", "select a, t.b from t where id=$1"),
            (
                "SELECT 1 FROM t WHERE a >= '2024-01-02' AND a < '2025-01-01' ORDER BY 1 LIMIT 5",
                "SELECT 1 FROM t WHERE a >= $1 AND a < $2 ORDER BY 1 LIMIT 5",
            ),
            (
                "SELECT count(*) FROM t JOIN u ON t.a = u.b WHERE u.c = 'it''s' AND t.d IS NULL",
                "SELECT count(*) FROM t JOIN u ON t.a = u.b WHERE u.c = $1 AND t.d IS NULL",
            ),
            (
                "SELECT * FROM t WHERE id BETWEEN 1 AND 7 AND a = b FOR UPDATE SKIP LOCKED",
                "SELECT * FROM t WHERE id BETWEEN $1 AND $2 AND a = b FOR UPDATE SKIP LOCKED",
            ),
            (
                "UPDATE account SET balance = balance - 12.50 WHERE id = 17",
                "UPDATE account SET balance = balance - $1 WHERE id = $2",
            ),
            (
                "UPDATE t SET a = 'x', b = NULL, c = d*2 WHERE \"K\" = 1 RETURNING NOTHING ;",
                "UPDATE t SET a = $1, b = NULL, c = d*$2 WHERE \"K\" = $3 RETURNING NOTHING",
            ),
            ("UPDATE t SET a = a - -5", "UPDATE t SET a = a - $1"),
            ("DELETE FROM t WHERE id IN (1,2,3)", "DELETE FROM t WHERE id IN ($1,$2,$3)"),
        ] {
            assert_eq!(text_of(text).as_deref(), Some(wanted), "{text}");
        }
        let list = |count: usize| {
            let list = vec!["7"; count].join(", ");
            let text = format!("DELETE FROM t WHERE a IN ({list}) AND b = 1");
            Literals::of(&text).map(|literals| (literals.text, literals.values.len()))
        };
        assert_eq!(list(9), list(10));
        assert_eq!(list(9).map(|(_, count)| count), Some(11));
        assert_eq!(list(33), list(40));
        assert_ne!(list(3), list(4));
    }

    #[test]
    fn numbers_keep_the_types_of_literals() {
        let text = "SELECT * FROM t WHERE a = 2147483647 AND b = -2147483648 AND c = 1.50 AND \
                    d = '1' AND e = 9223372036854775808";
        let literals = Literals::of(text).unwrap();
        let numeric = SqlType::Numeric(None);
        let wanted = [SqlType::Int4, SqlType::Int8, numeric.clone(), SqlType::Unknown, numeric];
        assert_eq!(literals.types(), wanted);
    }

    #[test]
    fn what_is_unusual_goes_the_ordinary_way() {
        for text in [
            "SELECT 1",
            "SELECT * FROM t WHERE a = b",
            "SELECT * FROM t WHERE a = $1",
            "SELECT $1 FROM t WHERE a = 1",
            "SELECT 'x' FROM t WHERE a = 1",
            "SELECT * FROM t WHERE a = 1 OR b = 2",
            "SELECT * FROM t WHERE (a = 1)",
            "SELECT * FROM t WHERE NOT a = 1",
            "SELECT * FROM t WHERE a = 1 + 1",
            "SELECT * FROM t WHERE a + 1 = 2",
            "SELECT * FROM t WHERE f(a) = 2",
            "SELECT * FROM t WHERE a = f(2)",
            "SELECT * FROM t WHERE a = ANY (ARRAY[1])",
            "SELECT * FROM t WHERE a LIKE 'x%'",
            "SELECT * FROM t WHERE a = 'x'::text",
            "SELECT * FROM t WHERE a = '1' '2'",
            "SELECT * FROM t WHERE a = '1'\n'2'",
            "SELECT * FROM t WHERE a = e'x'",
            "SELECT * FROM t WHERE a = 'x\\n'",
            "SELECT * FROM t WHERE a = U&'x'",
            "SELECT * FROM t WHERE a = date '2024-01-01'",
            "SELECT * FROM t WHERE a = interval '1 day'",
            "SELECT * FROM t WHERE a = 1e5",
            "SELECT * FROM t WHERE a =--1",
            "SELECT * FROM t WHERE a = 1 -- b",
            "SELECT * FROM t WHERE a /* = 2 */ = 1",
            "SELECT * FROM t WHERE a ~ '1'",
            "SELECT * FROM t WHERE a = 1; SELECT 2",
            "SELECT * FROM t WHERE a = 1 UNION SELECT 2",
            "SELECT * FROM t WHERE a = 1 LIMIT $1",
            "SELECT * FROM t WHERE a IN (SELECT 1)",
            "SELECT * FROM t WHERE a IN (1, b)",
            "SELECT * FROM t WHERE a IN ()",
            "SELECT * FROM t WHERE a NOT IN (1)",
            "SELECT * FROM t WHERE (a, b) = (1, 2)",
            "SELECT * FROM t WHERE a[1] = 2",
            "SELECT * FROM t WHERE null = 1",
            "SELECT * FROM t WHERE a = 1 = true",
            "UPDATE t SET a = a--5",
            "UPDATE t SET a = a - 1 - 1",
            "UPDATE t SET a = 1 + a",
            "UPDATE t SET a = a + '1'",
            "UPDATE t SET a = a || 'x'",
            "UPDATE t SET a = a * 2 / 3",
            "UPDATE t SET (a, b) = (1, 2)",
            "UPDATE t SET a = 1 FROM u WHERE a = 1",
            "UPDATE t SET a = 1 WHERE CURRENT OF c",
            "UPDATE t SET a = (SELECT 1)",
            "UPDATE t SET a[1] = 1",
            "DELETE FROM t",
            "EXPLAIN SELECT * FROM t WHERE a = 1",
            "WITH x AS (SELECT 1) SELECT * FROM x WHERE a = 1",
        ] {
            assert_eq!(text_of(text), None, "{text}");
        }
    }
}

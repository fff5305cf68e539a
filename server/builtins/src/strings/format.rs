//! `format('%s %I %L', …)`: positions, widths and the `-` flag, as in PostgreSQL.

use braid_sql::{quote_ident, quote_literal};
use braid_types::{Datum, Error, Result, SqlState};

use crate::Call;
use crate::registry::call::{invalid, may_return, text};
use crate::registry::tables::Registry;

struct Formatter<'a> {
    call: &'a Call<'a>,
    chars: std::iter::Peekable<std::str::Chars<'a>>,
    /// The argument that was used last.
    last: usize,
}

/// A number between `%` and the conversion.
enum Number {
    Absent,
    Given(usize),
}

impl Formatter<'_> {
    fn number(&mut self) -> Result<Number> {
        let mut value: Option<usize> = None;
        while let Some(digit) = self.chars.peek().and_then(|c| c.to_digit(10)) {
            self.chars.next();
            let next =
                value.unwrap_or(0).checked_mul(10).and_then(|v| v.checked_add(digit as usize));
            let next = next.filter(|n| *n <= i32::MAX as usize);
            value = Some(next.ok_or_else(|| {
                Error::new(SqlState::NumericValueOutOfRange, "number is out of range")
            })?);
        }
        Ok(value.map_or(Number::Absent, Number::Given))
    }

    fn argument(&mut self, position: Option<usize>) -> Result<usize> {
        let index = position.unwrap_or(self.last + 1);
        if index == 0 {
            return Err(invalid("format specifies argument 0, but arguments are numbered from 1"));
        }
        if index >= self.call.args.len() {
            return Err(invalid("too few arguments for format()"));
        }
        self.last = index;
        Ok(index)
    }

    /// One conversion, the `%` already read.
    fn conversion(&mut self, out: &mut String) -> Result<()> {
        let unterminated = || {
            invalid("unterminated format() type specifier").hint("For a single \"%\" use \"%%\".")
        };
        let (mut position, mut width, mut left) = (None, 0usize, false);
        let number = self.number()?;
        match (number, self.chars.peek()) {
            (Number::Given(n), Some('$')) => {
                self.chars.next();
                if n == 0 {
                    return Err(invalid(
                        "format specifies argument 0, but arguments are numbered from 1",
                    ));
                }
                position = Some(n);
            }
            (Number::Given(n), _) => width = n,
            (Number::Absent, _) => {}
        }
        if width == 0 {
            while self.chars.peek() == Some(&'-') {
                self.chars.next();
                left = true;
            }
            if self.chars.peek() == Some(&'*') {
                self.chars.next();
                let star = match self.number()? {
                    Number::Given(n) if self.chars.peek() == Some(&'$') => {
                        self.chars.next();
                        Some(n)
                    }
                    Number::Given(_) => {
                        return Err(invalid("width argument position must be ended by \"$\""));
                    }
                    Number::Absent => None,
                };
                let index = self.argument(star)?;
                let given: i64 = if self.call.is_null(index) {
                    0
                } else {
                    self.call.display(index).trim().parse().unwrap_or(0)
                };
                left |= given < 0;
                width = given.unsigned_abs() as usize;
            } else if let Number::Given(n) = self.number()? {
                width = n;
            }
        }
        let kind = self.chars.next().ok_or_else(unterminated)?;
        if !matches!(kind, 's' | 'I' | 'L') {
            let message = format!("unrecognized format() type specifier \"{kind}\"");
            return Err(invalid(message).hint("For a single \"%\" use \"%%\"."));
        }
        let index = self.argument(position)?;
        let value = self.value(kind, index)?;
        self.pad(out, &value, width, left)
    }

    fn value(&self, kind: char, index: usize) -> Result<String> {
        let null = self.call.is_null(index);
        Ok(match kind {
            's' if null => String::new(),
            'L' if null => "NULL".to_owned(),
            'I' if null => {
                let message = "null values cannot be formatted as an SQL identifier";
                return Err(Error::new(SqlState::NullValueNotAllowed, message));
            }
            'I' => quote_ident(&self.call.display(index)),
            'L' => quote_literal(&self.call.display(index)),
            _ => self.call.display(index),
        })
    }

    fn pad(&self, out: &mut String, value: &str, width: usize, left: bool) -> Result<()> {
        let missing = width.saturating_sub(value.chars().count());
        may_return(missing)?;
        if left {
            out.push_str(value);
        }
        out.extend(std::iter::repeat_n(' ', missing));
        if !left {
            out.push_str(value);
        }
        Ok(())
    }
}

fn format(call: &Call<'_>) -> Result<Datum> {
    if call.is_null(0) {
        return Ok(Datum::Null);
    }
    let mut formatter = Formatter { call, chars: call.text(0)?.chars().peekable(), last: 0 };
    let mut out = String::new();
    while let Some(c) = formatter.chars.next() {
        if c != '%' {
            out.push(c);
        } else if formatter.chars.peek() == Some(&'%') {
            formatter.chars.next();
            out.push('%');
        } else {
            formatter.conversion(&mut out)?;
        }
    }
    text(out)
}

pub(super) fn register(registry: &mut Registry) {
    registry.add("format(text) -> text stable lax", format);
    registry.add("format(text, variadic any) -> text stable lax", format);
}

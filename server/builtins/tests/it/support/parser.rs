//! Reads one expression.

use braid_types::{Datum, Error, Numeric, Result, SqlType};

pub(super) enum Expression {
    Value(SqlType, Datum),
    Cast(Box<Expression>, String),
    Call(String, Vec<Expression>),
    Operator(String, Vec<Expression>),
    Array(Vec<Expression>),
    Row(Vec<Expression>),
}

struct Parser {
    chars: Vec<char>,
    at: usize,
}

pub(super) fn parse(text: &str) -> Result<Expression> {
    let mut parser = Parser { chars: text.chars().collect(), at: 0 };
    let found = parser.expression(0)?;
    parser.blanks();
    if parser.at < parser.chars.len() {
        return Err(Error::internal(format!("unread input in {text} at {}", parser.at)));
    }
    Ok(found)
}

const OPERATOR: &str = "+-*/<>=~!@#%^&|`?";
/// Words that begin a typed literal or a cast's target of two words.
const TYPES: [&str; 12] = [
    "date",
    "time",
    "timestamp",
    "timestamptz",
    "interval",
    "numeric",
    "jsonb",
    "json",
    "uuid",
    "bytea",
    "float8",
    "text",
];

fn power(operator: &str) -> u8 {
    match operator {
        "=" | "<" | ">" | "<=" | ">=" | "<>" | "!=" => 1,
        "+" | "-" => 3,
        "*" | "/" | "%" => 4,
        "^" => 5,
        _ => 2,
    }
}

impl Parser {
    fn blanks(&mut self) {
        while self.peek().is_some_and(char::is_whitespace) {
            self.at += 1;
        }
    }

    fn peek(&self) -> Option<char> {
        self.chars.get(self.at).copied()
    }

    fn eat(&mut self, wanted: &str) -> bool {
        self.blanks();
        let end = self.at + wanted.len();
        let found =
            self.chars.get(self.at..end).is_some_and(|c| c.iter().copied().eq(wanted.chars()));
        if found {
            self.at = end;
        }
        found
    }

    fn operator(&mut self) -> Option<String> {
        self.blanks();
        let start = self.at;
        while self.peek().is_some_and(|c| OPERATOR.contains(c)) {
            self.at += 1;
        }
        // As in PostgreSQL, `-` and `+` end an operator only if it has a special character.
        while self.at > start + 1
            && matches!(self.chars[self.at - 1], '+' | '-')
            && !self.chars[start..self.at].iter().any(|c| "~!@#%^&|`?".contains(*c))
        {
            self.at -= 1;
        }
        (self.at > start).then(|| self.chars[start..self.at].iter().collect())
    }

    fn expression(&mut self, least: u8) -> Result<Expression> {
        let mut left = self.unary()?;
        loop {
            let mark = self.at;
            let Some(operator) = self.operator() else { return Ok(left) };
            let strength = power(&operator);
            if strength < least.max(1) || (strength == least && least > 0) {
                self.at = mark;
                return Ok(left);
            }
            let right = self.expression(strength)?;
            left = Expression::Operator(operator, vec![left, right]);
        }
    }

    fn unary(&mut self) -> Result<Expression> {
        if let Some(operator) = self.operator() {
            self.blanks();
            // A sign before a number belongs to it, as in PostgreSQL's grammar.
            if operator == "-" && self.peek().is_some_and(|c| c.is_ascii_digit()) {
                let number = self.number(true)?;
                return self.casts(number);
            }
            let inner = if matches!(operator.as_str(), "-" | "+") {
                self.unary()?
            } else {
                self.expression(2)?
            };
            return Ok(Expression::Operator(operator, vec![inner]));
        }
        self.postfix()
    }

    fn postfix(&mut self) -> Result<Expression> {
        let value = self.primary()?;
        self.casts(value)
    }

    fn casts(&mut self, mut value: Expression) -> Result<Expression> {
        while self.eat("::") {
            let ty = self.type_name();
            value = Expression::Cast(Box::new(value), ty);
        }
        Ok(value)
    }

    fn word(&mut self) -> String {
        self.blanks();
        let start = self.at;
        while self.peek().is_some_and(|c| c.is_alphanumeric() || c == '_') {
            self.at += 1;
        }
        self.chars[start..self.at].iter().collect::<String>().to_lowercase()
    }

    fn type_name(&mut self) -> String {
        let mut name = if self.eat("\"char\"") { "\"char\"".to_owned() } else { self.word() };
        if name == "double" {
            self.word();
            name = "float8".to_owned();
        }
        if self.peek() == Some('(') {
            while let Some(c) = self.peek() {
                name.push(c);
                self.at += 1;
                if c == ')' {
                    break;
                }
            }
        }
        while self.eat("[]") {
            name.push_str("[]");
        }
        name
    }

    fn string(&mut self, escapes: bool) -> Result<String> {
        let mut out = String::new();
        self.at += 1;
        loop {
            let c = self.peek().ok_or_else(|| Error::internal("unterminated string"))?;
            self.at += 1;
            match c {
                '\'' if self.peek() == Some('\'') => {
                    self.at += 1;
                    out.push('\'');
                }
                '\'' => return Ok(out),
                '\\' if escapes => {
                    let next = self.peek().unwrap_or('\\');
                    self.at += 1;
                    out.push(match next {
                        'n' => '\n',
                        't' => '\t',
                        other => other,
                    });
                }
                c => out.push(c),
            }
        }
    }

    fn list(&mut self, end: &str) -> Result<Vec<Expression>> {
        let mut items = Vec::new();
        if self.eat(end) {
            return Ok(items);
        }
        loop {
            items.push(self.expression(0)?);
            if self.eat(end) {
                return Ok(items);
            }
            if !self.eat(",") {
                return Err(Error::internal(format!("expected , or {end} at {}", self.at)));
            }
        }
    }

    fn number(&mut self, negative: bool) -> Result<Expression> {
        let start = self.at;
        while self.peek().is_some_and(|c| c.is_ascii_digit() || c == '.') {
            self.at += 1;
        }
        if matches!(self.peek(), Some('e' | 'E')) {
            self.at += 1;
            if matches!(self.peek(), Some('-' | '+')) {
                self.at += 1;
            }
            while self.peek().is_some_and(|c| c.is_ascii_digit()) {
                self.at += 1;
            }
        }
        let digits: String = self.chars[start..self.at].iter().collect();
        let text = if negative { format!("-{digits}") } else { digits };
        if let Ok(value) = text.parse::<i32>() {
            return Ok(Expression::Value(SqlType::Int4, Datum::Int(value.into())));
        }
        if let Ok(value) = text.parse::<i64>() {
            return Ok(Expression::Value(SqlType::Int8, Datum::Int(value)));
        }
        Ok(Expression::Value(SqlType::Numeric(None), Datum::Numeric(Numeric::parse(&text)?)))
    }

    fn primary(&mut self) -> Result<Expression> {
        self.blanks();
        match self.peek() {
            Some('\'') => {
                let text = self.string(false)?;
                Ok(Expression::Value(SqlType::Unknown, Datum::text(text)))
            }
            Some('E' | 'e') if self.chars.get(self.at + 1) == Some(&'\'') => {
                self.at += 1;
                let text = self.string(true)?;
                Ok(Expression::Value(SqlType::Unknown, Datum::text(text)))
            }
            Some('(') => {
                self.at += 1;
                let inner = self.expression(0)?;
                if !self.eat(")") {
                    return Err(Error::internal("expected )"));
                }
                Ok(inner)
            }
            Some(c) if c.is_ascii_digit() || c == '.' => self.number(false),
            _ => self.named(),
        }
    }

    fn named(&mut self) -> Result<Expression> {
        if self.eat("\"char\"(") {
            return Ok(Expression::Call("char".to_owned(), self.list(")")?));
        }
        let mut name = self.word();
        if self.peek() == Some('.') {
            self.at += 1;
            name = self.word();
        }
        match name.as_str() {
            "" => Err(Error::internal(format!("nothing to read at {}", self.at))),
            "null" => Ok(Expression::Value(SqlType::Unknown, Datum::Null)),
            "true" => Ok(Expression::Value(SqlType::Bool, Datum::Bool(true))),
            "false" => Ok(Expression::Value(SqlType::Bool, Datum::Bool(false))),
            "array" if self.eat("[") => Ok(Expression::Array(self.list("]")?)),
            "row" if self.eat("(") => Ok(Expression::Row(self.list(")")?)),
            _ => {
                self.blanks();
                if self.peek() == Some('\'') && TYPES.contains(&name.as_str()) {
                    let text = self.string(false)?;
                    let literal = Expression::Value(SqlType::Unknown, Datum::text(text));
                    return Ok(Expression::Cast(Box::new(literal), name));
                }
                if !self.eat("(") {
                    return Err(Error::internal(format!("column {name}")));
                }
                Ok(Expression::Call(name, self.list(")")?))
            }
        }
    }
}

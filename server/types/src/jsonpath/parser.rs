//! Reads a path by recursive descent.
//!
//! ```text
//!   path       = [strict | lax] (predicate | expr)
//!   predicate  = predicate && predicate | predicate || predicate | ! delimited | delimited
//!              | ( predicate ) is unknown | expr == expr | expr starts with prefix
//!              | expr like_regex string [flag string]
//!   delimited  = ( predicate ) | exists ( expr )
//!   expr       = [+ | -] expr | expr (+ | - | * | / | %) expr | ( expr ) | accessor
//!   accessor   = (primary | ( expr ) step | ( predicate ) step) step…
//! ```
//!
//! What a parenthesis holds is known only when it closes, so both are read alike ([`Node`]). An
//! error is reported at the first token that no path could have at its place.

use super::check::Place;
use super::lexer::{Token, keyword};
use super::nesting::{NESTING_MAX, too_deep};
use super::tokens::Tokens;
use super::{
    Arithmetic, Comparison, Expr, Head, JsonPath, LEVEL_MAX, LikeRegex, Method, Predicate, Prefix,
    Sign, Step, Subscript,
};
use crate::text::invalid_syntax;
use crate::{Error, Numeric, Result, SqlState};

/// What was read, and how deep it nests.
enum Node {
    Expr(Expr, usize),
    Predicate(Predicate, usize),
}

struct PathParser<'a> {
    tokens: Tokens<'a>,
    /// Constructs around the next token.
    depth: usize,
}

impl JsonPath {
    /// Reads a path; 42601 if it is none, 22P02 if there is nothing.
    pub fn parse(text: &str) -> Result<JsonPath> {
        let tokens = Tokens::new(text)?;
        if tokens.token == Token::End {
            return Err(invalid_syntax("jsonpath", text));
        }
        let mut parser = PathParser { tokens, depth: 0 };
        let is_lax = !parser.tokens.takes_word("strict")?;
        if is_lax {
            parser.tokens.takes_word("lax")?;
        }
        let expr = match parser.disjunction()? {
            Node::Expr(expr, _) => expr,
            Node::Predicate(predicate, _) => Head::Predicate(Box::new(predicate)).into(),
        };
        if parser.tokens.token != Token::End {
            return Err(parser.tokens.unexpected());
        }
        Place::default().check(&expr)?;
        Ok(JsonPath { is_lax, expr })
    }
}

/// One more than the higher of two; 54001 beyond the limit.
fn above(left: usize, right: usize) -> Result<usize> {
    let height = left.max(right) + 1;
    if height > NESTING_MAX { Err(too_deep()) } else { Ok(height) }
}

impl PathParser<'_> {
    fn deeper<T>(&mut self, read: impl FnOnce(&mut Self) -> Result<T>) -> Result<T> {
        self.depth += 1;
        if self.depth > NESTING_MAX {
            return Err(too_deep());
        }
        let result = read(self);
        self.depth -= 1;
        result
    }

    /// The node as a condition; an error at the next token if it is an expression.
    fn as_predicate(&self, node: Node) -> Result<(Predicate, usize)> {
        match node {
            Node::Predicate(predicate, height) => Ok((predicate, height)),
            Node::Expr(..) => Err(self.tokens.unexpected()),
        }
    }

    /// The node as an expression; an error at the next token if it is a condition.
    fn as_expr(&self, node: Node) -> Result<(Expr, usize)> {
        match node {
            Node::Expr(expr, height) => Ok((expr, height)),
            Node::Predicate(..) => Err(self.tokens.unexpected()),
        }
    }

    fn predicate(&mut self) -> Result<(Predicate, usize)> {
        let node = self.disjunction()?;
        self.as_predicate(node)
    }

    fn expr(&mut self) -> Result<(Expr, usize)> {
        let node = self.sum()?;
        self.as_expr(node)
    }

    fn disjunction(&mut self) -> Result<Node> {
        let mut left = self.conjunction()?;
        while self.tokens.is_symbol("||") {
            let (first, height) = self.as_predicate(left)?;
            self.tokens.advance()?;
            let node = self.conjunction()?;
            let (second, other) = self.as_predicate(node)?;
            let both = Predicate::Or(Box::new((first, second)));
            left = Node::Predicate(both, above(height, other)?);
        }
        Ok(left)
    }

    fn conjunction(&mut self) -> Result<Node> {
        let mut left = self.condition()?;
        while self.tokens.is_symbol("&&") {
            let (first, height) = self.as_predicate(left)?;
            self.tokens.advance()?;
            let node = self.condition()?;
            let (second, other) = self.as_predicate(node)?;
            let both = Predicate::And(Box::new((first, second)));
            left = Node::Predicate(both, above(height, other)?);
        }
        Ok(left)
    }

    fn comparison(&self) -> Option<Comparison> {
        let Token::Symbol(symbol) = self.tokens.token else { return None };
        Some(match symbol {
            "==" => Comparison::Equal,
            "!=" | "<>" => Comparison::NotEqual,
            "<" => Comparison::Less,
            "<=" => Comparison::LessOrEqual,
            ">" => Comparison::Greater,
            ">=" => Comparison::GreaterOrEqual,
            _ => return None,
        })
    }

    /// A condition without `&&` and `||`, or an expression.
    fn condition(&mut self) -> Result<Node> {
        if self.tokens.takes("!")? {
            let (inner, height) = self.delimited()?;
            return Ok(Node::Predicate(Predicate::Not(Box::new(inner)), above(height, 0)?));
        }
        if self.tokens.word() == Some("exists") {
            let (exists, height) = self.exists()?;
            return Ok(Node::Predicate(exists, height));
        }
        let left = match self.sum()? {
            Node::Expr(expr, height) => (expr, height),
            // A parenthesis without a step behind it.
            Node::Predicate(inner, height) if self.tokens.takes_word("is")? => {
                self.tokens.expect_word("unknown")?;
                let unknown = Predicate::IsUnknown(Box::new(inner));
                return Ok(Node::Predicate(unknown, above(height, 0)?));
            }
            condition => return Ok(condition),
        };
        self.test(left)
    }

    /// What follows an expression that a condition begins with.
    fn test(&mut self, (left, height): (Expr, usize)) -> Result<Node> {
        let alone = above(height, 0)?;
        if let Some(comparison) = self.comparison() {
            self.tokens.advance()?;
            let (right, other) = self.expr()?;
            let compare = Predicate::Compare(comparison, Box::new((left, right)));
            return Ok(Node::Predicate(compare, above(height, other)?));
        }
        if self.tokens.takes_word("starts")? {
            self.tokens.expect_word("with")?;
            let prefix = match &self.tokens.token {
                Token::String(text) => Prefix::String(text.as_str().into()),
                Token::Variable(name) => Prefix::Variable(name.as_str().into()),
                _ => return Err(self.tokens.unexpected()),
            };
            self.tokens.advance()?;
            return Ok(Node::Predicate(Predicate::StartsWith(Box::new(left), prefix), alone));
        }
        if self.tokens.takes_word("like_regex")? {
            let pattern = self.tokens.string()?;
            let flags = match self.tokens.takes_word("flag")? {
                true => self.tokens.string()?,
                false => String::new(),
            };
            let like = LikeRegex::new(pattern, &flags)?;
            return Ok(Node::Predicate(Predicate::LikeRegex(Box::new(left), like), alone));
        }
        Ok(Node::Expr(left, height))
    }

    fn exists(&mut self) -> Result<(Predicate, usize)> {
        self.tokens.expect_word("exists")?;
        self.tokens.expect("(")?;
        let (expr, height) = self.deeper(Self::expr)?;
        self.tokens.expect(")")?;
        Ok((Predicate::Exists(Box::new(expr)), above(height, 0)?))
    }

    /// `( predicate )` or `exists ( expr )`.
    fn delimited(&mut self) -> Result<(Predicate, usize)> {
        if self.tokens.word() == Some("exists") {
            return self.exists();
        }
        self.tokens.expect("(")?;
        let inner = self.deeper(Self::predicate)?;
        self.tokens.expect(")")?;
        Ok(inner)
    }

    fn sum(&mut self) -> Result<Node> {
        let mut left = self.product()?;
        while let Token::Symbol(symbol @ ("+" | "-")) = self.tokens.token {
            let operator = if symbol == "+" { Arithmetic::Add } else { Arithmetic::Subtract };
            left = self.arithmetic(left, operator, Self::product)?;
        }
        Ok(left)
    }

    fn product(&mut self) -> Result<Node> {
        let mut left = self.operand()?;
        while let Token::Symbol(symbol @ ("*" | "/" | "%")) = self.tokens.token {
            let operator = match symbol {
                "*" => Arithmetic::Multiply,
                "/" => Arithmetic::Divide,
                _ => Arithmetic::Modulo,
            };
            left = self.arithmetic(left, operator, Self::operand)?;
        }
        Ok(left)
    }

    fn arithmetic(
        &mut self,
        left: Node,
        operator: Arithmetic,
        next: fn(&mut Self) -> Result<Node>,
    ) -> Result<Node> {
        let (left, height) = self.as_expr(left)?;
        self.tokens.advance()?;
        let right = next(self)?;
        let (right, other) = self.as_expr(right)?;
        let head = Head::Arithmetic(operator, Box::new((left, right)));
        Ok(Node::Expr(head.into(), above(height, other)?))
    }

    /// An expression with its signs. A sign before a number is part of the number.
    fn operand(&mut self) -> Result<Node> {
        let sign = match self.tokens.token {
            Token::Symbol("+") => Sign::Plus,
            Token::Symbol("-") => Sign::Minus,
            _ => return self.accessor(),
        };
        self.tokens.advance()?;
        let node = self.deeper(Self::operand)?;
        let (inner, height) = self.as_expr(node)?;
        Ok(match (sign, inner) {
            (Sign::Plus, Expr { head: Head::Number(number), steps }) if steps.is_empty() => {
                Node::Expr(Head::Number(number).into(), height)
            }
            (Sign::Minus, Expr { head: Head::Number(number), steps }) if steps.is_empty() => {
                Node::Expr(Head::Number(number.neg()).into(), height)
            }
            (sign, inner) => {
                Node::Expr(Head::Unary(sign, Box::new(inner)).into(), above(height, 0)?)
            }
        })
    }

    /// A beginning with its steps; a condition in parentheses if no step follows.
    fn accessor(&mut self) -> Result<Node> {
        let (mut expr, mut height) = if self.tokens.takes("(")? {
            let inner = self.deeper(Self::disjunction)?;
            self.tokens.expect(")")?;
            let has_steps = matches!(self.tokens.token, Token::Symbol("." | "[" | "?"));
            match inner {
                Node::Expr(expr, height) => (expr, height),
                Node::Predicate(predicate, height) if has_steps => {
                    (Head::Predicate(Box::new(predicate)).into(), above(height, 0)?)
                }
                condition => return Ok(condition),
            }
        } else {
            (self.primary()?.into(), 1)
        };
        while let Some((step, inside)) = self.step()? {
            height = above(height.saturating_sub(1), inside)?;
            expr.steps.push(step);
        }
        Ok(Node::Expr(expr, height))
    }

    fn primary(&mut self) -> Result<Head> {
        let head = match &self.tokens.token {
            Token::String(text) => Head::String(text.as_str().into()),
            Token::Variable(name) => Head::Variable(name.as_str().into()),
            Token::Integer(text) | Token::Number(text) => Head::Number(Numeric::parse(text)?),
            Token::Symbol("$") => Head::Root,
            Token::Symbol("@") => Head::Current,
            Token::Word(word) => match keyword(word) {
                Some("null") => Head::Null,
                Some("true") => Head::Bool(true),
                Some("false") => Head::Bool(false),
                Some("last") => Head::Last,
                _ => return Err(self.tokens.unexpected()),
            },
            _ => return Err(self.tokens.unexpected()),
        };
        self.tokens.advance()?;
        Ok(head)
    }

    /// The step at the cursor and the height of what is in it; none if there is no step.
    fn step(&mut self) -> Result<Option<(Step, usize)>> {
        if self.tokens.takes("[")? {
            return self.elements().map(Some);
        }
        if self.tokens.takes("?")? {
            self.tokens.expect("(")?;
            let (predicate, height) = self.deeper(Self::predicate)?;
            self.tokens.expect(")")?;
            return Ok(Some((Step::Filter(Box::new(predicate)), height)));
        }
        if !self.tokens.takes(".")? {
            return Ok(None);
        }
        if self.tokens.takes("*")? {
            return Ok(Some((Step::AnyKey, 0)));
        }
        if self.tokens.takes("**")? {
            return self.levels().map(|step| Some((step, 0)));
        }
        self.member().map(|step| Some((step, 0)))
    }

    fn elements(&mut self) -> Result<(Step, usize)> {
        if self.tokens.takes("*")? {
            self.tokens.expect("]")?;
            return Ok((Step::AnyElement, 0));
        }
        let (mut subscripts, mut height) = (Vec::new(), 0);
        loop {
            let (from, inside) = self.deeper(Self::expr)?;
            height = height.max(inside);
            let mut to = None;
            if self.tokens.takes_word("to")? {
                let (expr, inside) = self.deeper(Self::expr)?;
                height = height.max(inside);
                to = Some(expr);
            }
            subscripts.push(Subscript { from, to });
            if !self.tokens.takes(",")? {
                break;
            }
        }
        self.tokens.expect("]")?;
        Ok((Step::Elements(subscripts), height))
    }

    /// The levels behind `.**`.
    fn levels(&mut self) -> Result<Step> {
        if !self.tokens.takes("{")? {
            return Ok(Step::Any { first: 0, last: LEVEL_MAX });
        }
        let first = self.level()?;
        let last = if self.tokens.takes_word("to")? { self.level()? } else { first };
        self.tokens.expect("}")?;
        Ok(Step::Any { first, last })
    }

    fn level(&mut self) -> Result<u32> {
        if self.tokens.takes_word("last")? {
            return Ok(LEVEL_MAX);
        }
        let Token::Integer(text) = &self.tokens.token else { return Err(self.tokens.unexpected()) };
        let level = text.parse::<i32>().ok().and_then(|level| u32::try_from(level).ok());
        let level = level.ok_or_else(|| {
            let message = format!("value \"{text}\" is out of range for type integer");
            Error::new(SqlState::NumericValueOutOfRange, message)
        })?;
        self.tokens.advance()?;
        Ok(level)
    }

    /// A key or a method; a method's name without parentheses is a key.
    fn member(&mut self) -> Result<Step> {
        let (name, word) = match &self.tokens.token {
            Token::String(text) => (text.clone(), None),
            Token::Word(text) => (text.clone(), keyword(text)),
            _ => return Err(self.tokens.unexpected()),
        };
        self.tokens.advance()?;
        let method = word.and_then(Method::from_name);
        if !(self.tokens.is_symbol("(") && (method.is_some() || word == Some("datetime"))) {
            return Ok(Step::Key(name.into()));
        }
        self.tokens.expect("(")?;
        let step = match method {
            Some(method) => Step::Method(method),
            None if matches!(self.tokens.token, Token::String(_)) => {
                Step::Datetime(Some(self.tokens.string()?.into()))
            }
            None => Step::Datetime(None),
        };
        self.tokens.expect(")")?;
        Ok(step)
    }
}

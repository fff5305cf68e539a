//! The state machine.

use braid_types::{Result, work};

use super::class::Class;
use super::rule::{Effect, Move, Rule, State};
use super::rules::rules;
use super::tokens::Token;

/// A place in the text, and the state there.
#[derive(Clone)]
struct Position {
    at: usize,
    /// Bytes of the token so far.
    bytes: usize,
    state: State,
    /// The rule that goes on, once a place above this one is left.
    rule: Option<usize>,
}

/// Reads tokens from a text.
pub(crate) struct Parser<'a> {
    text: &'a str,
    position: Position,
    /// The places to return to, the newest last.
    remembered: Vec<Position>,
    /// Inside of a script or style sheet.
    is_ignoring: bool,
    wants_host: bool,
    /// How many parsers wait for this one.
    depth: usize,
}

/// Parsers that wait for each other at most.
const DEPTH_MAX: usize = 8;

impl<'a> Parser<'a> {
    pub(crate) fn new(text: &'a str) -> Self {
        let position = Position { at: 0, bytes: 0, state: State::Base, rule: None };
        let (remembered, is_ignoring, wants_host) = (Vec::new(), false, false);
        Self { text, position, remembered, is_ignoring, wants_host, depth: 0 }
    }

    fn peek(&self) -> Option<char> {
        self.text.get(self.position.at..).and_then(|rest| rest.chars().next())
    }

    /// The next token; `None` at the end.
    pub(crate) fn token(&mut self) -> Result<Option<(Token, &'a str)>> {
        if self.position.at >= self.text.len() {
            return Ok(None);
        }
        let from = self.position.at;
        loop {
            work::tick()?;
            let next = self.peek();
            let rules = rules(self.position.state);
            let mut number = self.position.rule.take().unwrap_or(0);
            let rule = loop {
                match rules.get(number) {
                    None => return Ok(None),
                    Some(rule) if self.holds(rule.class, next)? => break rule,
                    Some(_) => number += 1,
                }
            };
            // A host or path may have been passed.
            let next = if rule.class.has(next).is_some() { next } else { self.peek() };
            self.apply(rule.effect, from);
            let mut length = 0;
            if rule.token.is_some() {
                length = self.position.bytes;
                self.position.bytes = 0;
            }
            let is_back = self.remember(rule, number);
            if let Some(state) = rule.next {
                self.position.state = state;
            }
            if let Some(token) = rule.token {
                return Ok(Some((token, self.text.get(from..from + length).unwrap_or_default())));
            }
            if self.position.at >= self.text.len() && rule.action != Move::Again {
                return Ok(None);
            }
            if is_back || rule.action == Move::Again {
                continue;
            }
            self.advance(next);
        }
    }

    fn advance(&mut self, next: Option<char>) {
        if let Some(c) = next {
            self.position.at += c.len_utf8();
            self.position.bytes += c.len_utf8();
        }
    }

    /// Remembers or forgets places, as a rule says. True after a return to one.
    fn remember(&mut self, rule: &Rule, number: usize) -> bool {
        match rule.action {
            Move::On | Move::Again => {}
            Move::Return => {
                if let Some(position) = self.remembered.pop() {
                    self.position = position;
                }
                return true;
            }
            Move::Try => {
                let mut here = self.position.clone();
                here.rule = Some(number + 1);
                self.remembered.push(here);
            }
            Move::Keep => {
                self.remembered.pop();
            }
            Move::KeepAll => self.remembered.clear(),
            Move::Join => {
                if let Some(outer) = self.remembered.pop() {
                    self.position.rule = outer.rule;
                }
            }
        }
        false
    }

    fn holds(&mut self, class: Class, next: Option<char>) -> Result<bool> {
        if let Some(holds) = class.has(next) {
            return Ok(holds);
        }
        Ok(match class {
            Class::Ignored => self.is_ignoring,
            Class::StopsHost => std::mem::take(&mut self.wants_host),
            Class::Host => {
                let mut parser = Parser::new(self.rest());
                parser.wants_host = true;
                self.passes(parser, Token::Host)?
            }
            _ => {
                let mut parser = Parser::new(self.rest());
                parser.remembered.push(parser.position.clone());
                parser.position.state = State::UrlPathFirst;
                self.passes(parser, Token::UrlPath)?
            }
        })
    }

    fn rest(&self) -> &'a str {
        self.text.get(self.position.at..).unwrap_or_default()
    }

    /// Goes behind a token of that kind, if it is the next one of another parser.
    fn passes(&mut self, mut parser: Parser<'_>, wanted: Token) -> Result<bool> {
        parser.depth = self.depth + 1;
        if parser.depth > DEPTH_MAX {
            return Ok(false);
        }
        let Some((token, text)) = parser.token()? else { return Ok(false) };
        if token != wanted {
            return Ok(false);
        }
        self.position.at += text.len();
        self.position.bytes += text.len();
        Ok(true)
    }

    fn apply(&mut self, effect: Effect, from: usize) {
        match effect {
            Effect::None => {}
            Effect::Tag => {
                let read = self.text.get(from..self.position.at).unwrap_or_default();
                let is = |name: &str| read.eq_ignore_ascii_case(name);
                if is("</script") || is("</style") {
                    self.is_ignoring = false;
                } else if is("<script") || is("<style") {
                    self.is_ignoring = true;
                }
            }
            Effect::BeginUrl => {
                self.wants_host = true;
                self.position.at -= self.position.bytes;
            }
            Effect::BeginParts => self.position.at -= self.position.bytes,
            Effect::BeginVersion => {
                self.position.at -= self.position.bytes;
                self.position.bytes = 0;
            }
        }
    }
}

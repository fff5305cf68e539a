//! Reads a query: words, operators between them, and what is left where words are no lexemes.
//!
//! ```text
//!   to_tsquery('english', 'cat & (the | !rat)')
//!     words in order   cat  the  rat  !  |  &       operands before operators
//!     lexemes          cat   -   rat  !  |  &       `the` is a stop word
//!     what is left     cat       rat  !     &
//! ```

use crate::text::is_blank;
use crate::{Error, Result, SqlState, work};

use super::lexer::{Lexer, Syntax, is_operator};
use super::limits::{LEXEME_BYTES_MAX, TEXT_BYTES_MAX, too_large};
use super::query::{Item, Operator, Query};

/// The largest distance of a phrase.
const DISTANCE_MAX: u16 = 16_384;

/// A query that is being made: operands before their operators.
#[derive(Default)]
pub struct Operand {
    entries: Vec<Option<Item>>,
    bytes: usize,
}

impl Operand {
    /// One more lexeme; 54000 if it is too long.
    pub fn value(&mut self, text: &str, weights: u8, is_prefix: bool) -> Result<()> {
        work::tick()?;
        if text.len() > LEXEME_BYTES_MAX {
            return Err(too_large(format!("word is too long in tsquery: \"{text}\"")));
        }
        self.bytes += text.len() + 1;
        if self.bytes > TEXT_BYTES_MAX {
            return Err(too_large("tsquery is too large".to_owned()));
        }
        self.entries.push(Some(Item::Value { text: text.into(), weights, is_prefix }));
        Ok(())
    }

    /// The place of a word that is no lexeme.
    pub fn stop(&mut self) {
        self.entries.push(None);
    }

    /// An operator of what came last.
    pub fn operator(&mut self, operator: Operator) {
        self.entries.push(Some(Item::Operator(operator)));
    }

    /// The query without words that are no lexemes. Phrases around such words become longer.
    pub fn finish(self) -> Result<Query> {
        let mut query = Query::default();
        let mut stack: Vec<Side> = Vec::new();
        for entry in self.entries {
            work::tick()?;
            let side = match entry {
                None => Side::default(),
                Some(item @ Item::Value { .. }) => {
                    query.push(item)?;
                    Side { is_kept: true, ..Side::default() }
                }
                Some(Item::Operator(Operator::Not)) => {
                    let operand = stack.pop().unwrap_or_default();
                    if operand.is_kept {
                        query.push(Item::Operator(Operator::Not))?;
                    }
                    operand
                }
                Some(Item::Operator(operator)) => {
                    let right = stack.pop().unwrap_or_default();
                    let left = stack.pop().unwrap_or_default();
                    let (side, operator) = left.joined(right, operator);
                    if let Some(operator) = operator {
                        query.push(Item::Operator(operator))?;
                    }
                    side
                }
            };
            stack.push(side);
        }
        Ok(query)
    }
}

/// What is left of an operand, and by how much words that were dropped at its ends make the
/// distances of a phrase around it longer.
#[derive(Clone, Copy, Default)]
struct Side {
    is_kept: bool,
    left: u16,
    right: u16,
}

impl Side {
    /// Two operands of an operator, and the operator if it stays.
    fn joined(self, right: Side, operator: Operator) -> (Side, Option<Operator>) {
        let left = self;
        let phrase = if let Operator::Phrase(distance) = operator { Some(distance) } else { None };
        let dropped = |distance: u16| left.left.saturating_add(distance).saturating_add(right.left);
        let side = match (left.is_kept, right.is_kept, phrase) {
            (false, false, Some(distance)) => {
                Side { is_kept: false, left: dropped(distance), right: dropped(distance) }
            }
            (false, false, None) => {
                let wider = left.left.max(right.left);
                Side { is_kept: false, left: wider, right: wider }
            }
            (false, true, Some(distance)) => Side { left: dropped(distance), ..right },
            (true, false, Some(distance)) => {
                let added = left.right.saturating_add(distance).saturating_add(right.right);
                Side { right: added, ..left }
            }
            (false, true, None) => right,
            (true, false, None) => left,
            (true, true, Some(distance)) => {
                let longer = distance.saturating_add(left.right).saturating_add(right.left);
                let side = Side { is_kept: true, left: left.left, right: right.right };
                return (side, Some(Operator::Phrase(longer)));
            }
            (true, true, None) => {
                return (Side { is_kept: true, left: 0, right: 0 }, Some(operator));
            }
        };
        (side, None)
    }
}

/// What a word of a query becomes: lexemes with operators between them.
pub type PutWord<'w> = dyn FnMut(&mut Operand, &str, u8, bool) -> Result<()> + 'w;

/// Reads a query, whose words become what `word` puts. 42601 if it is none.
pub fn parse_query(text: &str, syntax: Syntax, word: &mut PutWord<'_>) -> Result<Query> {
    let lexer = Lexer { text, at: 0, syntax: Some(syntax) };
    let made = Operand::default();
    let mut parser = Parser { lexer, made, levels: vec![Vec::new()], is_first: true, word };
    match syntax {
        Syntax::Standard => parser.standard()?,
        Syntax::Web => parser.web()?,
    }
    while let Some(level) = parser.levels.pop() {
        level.into_iter().rev().for_each(|operator| parser.made.operator(operator));
    }
    parser.made.finish()
}

struct Parser<'a, 'w> {
    lexer: Lexer<'a>,
    made: Operand,
    /// Operators that wait for their right operands, of each parenthesis.
    levels: Vec<Vec<Operator>>,
    /// Nothing was read yet.
    is_first: bool,
    word: &'w mut PutWord<'w>,
}

fn priority(operator: Operator) -> u8 {
    match operator {
        Operator::Or => 1,
        Operator::And => 2,
        Operator::Phrase(_) => 3,
        Operator::Not => 4,
    }
}

impl Parser<'_, '_> {
    fn operator(&mut self, operator: Operator) {
        let Some(level) = self.levels.last_mut() else { return };
        while let Some(last) = level.last() {
            let (new, old) = (priority(operator), priority(*last));
            let waits = if operator == Operator::Not { new >= old } else { new > old };
            if waits {
                break;
            }
            level.pop().into_iter().for_each(|operator| self.made.operator(operator));
        }
        level.push(operator);
    }

    /// Ends a parenthesis; false if none is open.
    fn close(&mut self) -> bool {
        let Some(level) = self.levels.pop() else { return false };
        level.into_iter().rev().for_each(|operator| self.made.operator(operator));
        !self.levels.is_empty()
    }

    fn standard(&mut self) -> Result<()> {
        let mut wants_operand = true;
        loop {
            work::tick()?;
            self.lexer.skip_blanks();
            let next = self.lexer.peek();
            if wants_operand {
                match next {
                    Some('!') => self.take_operator(Operator::Not),
                    Some('(') => {
                        self.lexer.skip();
                        self.levels.push(Vec::new());
                    }
                    Some(':') => return Err(self.lexer.invalid()),
                    _ => match self.lexer.word()? {
                        Some((text, _)) => {
                            let (weights, is_prefix) = self.modifiers();
                            (self.word)(&mut self.made, &text, weights, is_prefix)?;
                            wants_operand = false;
                        }
                        None if self.is_first => return Ok(()),
                        None => {
                            let message = format!("no operand in tsquery: \"{}\"", self.lexer.text);
                            return Err(Error::new(SqlState::SyntaxError, message));
                        }
                    },
                }
                self.is_first = false;
                continue;
            }
            match next {
                Some('&') => self.take_operator(Operator::And),
                Some('|') => self.take_operator(Operator::Or),
                Some(')') => {
                    self.lexer.skip();
                    if !self.close() {
                        return Err(self.lexer.invalid());
                    }
                    continue;
                }
                None if self.levels.len() == 1 => return Ok(()),
                _ => {
                    let distance = self.distance()?.ok_or_else(|| self.lexer.invalid())?;
                    self.operator(Operator::Phrase(distance));
                }
            }
            wants_operand = true;
        }
    }

    fn take_operator(&mut self, operator: Operator) {
        self.lexer.skip();
        self.operator(operator);
    }

    /// `:AB*` after a word.
    fn modifiers(&mut self) -> (u8, bool) {
        let (mut weights, mut is_prefix) = (0, false);
        if self.lexer.peek() != Some(':') {
            return (weights, is_prefix);
        }
        loop {
            self.lexer.skip();
            match self.lexer.peek() {
                Some('a' | 'A') => weights |= 8,
                Some('b' | 'B') => weights |= 4,
                Some('c' | 'C') => weights |= 2,
                Some('d' | 'D') => weights |= 1,
                Some('*') => is_prefix = true,
                _ => return (weights, is_prefix),
            }
        }
    }

    /// `<->` or `<N>`, which does not end the text.
    fn distance(&mut self) -> Result<Option<u16>> {
        let rest = &self.lexer.text[self.lexer.at..];
        let Some(inside) = rest.strip_prefix('<') else { return Ok(None) };
        let (distance, after) = match inside.strip_prefix('-') {
            Some(after) => (1, after),
            None => {
                let digits = inside.bytes().take_while(u8::is_ascii_digit).count();
                if digits == 0 {
                    return Ok(None);
                }
                let distance = inside[..digits].parse().ok().filter(|d| *d <= DISTANCE_MAX);
                (distance.ok_or_else(wrong_distance)?, &inside[digits..])
            }
        };
        let Some(after) = after.strip_prefix('>').filter(|after| !after.is_empty()) else {
            return Ok(None);
        };
        self.lexer.at = self.lexer.text.len() - after.len();
        Ok(Some(distance))
    }

    fn web(&mut self) -> Result<()> {
        let mut wants_operand = true;
        loop {
            work::tick()?;
            self.lexer.skip_blanks();
            let next = self.lexer.peek();
            match (wants_operand, next) {
                (true, Some('-')) => {
                    self.take_operator(Operator::Not);
                    self.is_first = false;
                }
                (true, Some('"')) => {
                    self.lexer.skip();
                    let rest = &self.lexer.text[self.lexer.at..];
                    let end = rest.find('"').unwrap_or(rest.len());
                    self.lexer.at += (end + 1).min(rest.len());
                    (self.word)(&mut self.made, &rest[..end], 0, false)?;
                    wants_operand = false;
                }
                (true, Some(c)) if is_operator(c) => {
                    self.lexer.skip();
                    self.is_first = false;
                }
                (true, Some(_)) => {
                    if let Some((text, _)) = self.lexer.word()? {
                        (self.word)(&mut self.made, &text, 0, false)?;
                        wants_operand = false;
                    }
                }
                (true, None) => {
                    if !self.is_first {
                        self.made.stop();
                    }
                    return Ok(());
                }
                (false, None) => return Ok(()),
                (false, Some(_)) => {
                    let operator = if self.or() { Operator::Or } else { Operator::And };
                    self.operator(operator);
                    wants_operand = true;
                    self.is_first = false;
                }
            }
        }
    }

    /// Takes `or`, if it is a word of its own and something follows.
    fn or(&mut self) -> bool {
        let rest = &self.lexer.text[self.lexer.at..];
        let is_or = rest.as_bytes().get(..2).is_some_and(|word| word.eq_ignore_ascii_case(b"or"));
        if !is_or {
            return false;
        }
        let Some(next) = rest[2..].chars().next() else { return false };
        if matches!(next, '-' | '_') || next.is_alphanumeric() {
            return false;
        }
        let after = &rest[2 + next.len_utf8()..];
        if after.trim_start_matches(is_blank).is_empty() {
            return false;
        }
        self.lexer.at += 2;
        true
    }
}

/// 22023 for the distance of a phrase.
pub(super) fn wrong_distance() -> Error {
    let message = format!(
        "distance in phrase operator must be an integer value between zero and {DISTANCE_MAX} \
         inclusive"
    );
    Error::new(SqlState::InvalidParameterValue, message)
}

impl Operator {
    /// A phrase of that distance; 22023 if it is none.
    pub fn phrase(distance: i64) -> Result<Operator> {
        let distance = u16::try_from(distance).ok().filter(|distance| *distance <= DISTANCE_MAX);
        distance.map(Operator::Phrase).ok_or_else(wrong_distance)
    }
}

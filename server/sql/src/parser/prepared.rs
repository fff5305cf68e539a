//! `PREPARE`, `EXECUTE`, `DEALLOCATE`, `DISCARD` and cursors.

use sqlparser::tokenizer::Token;

use braid_types::Result;

use super::Cursor;
use crate::ast::{
    CursorTarget, DeclareCursor, DiscardKind, Execute, FetchCursor, FetchDirection, Prepare,
    Statement,
};

impl Cursor<'_> {
    /// `PREPARE`.
    pub(crate) fn prepare(&mut self) -> Result<Statement> {
        self.advance();
        if self.is("transaction") && matches!(self.peek_nth(1), Token::SingleQuotedString(_)) {
            return Err(self.unsupported("PREPARE TRANSACTION"));
        }
        let name = self.ident()?;
        let types =
            if *self.peek() == Token::LParen { self.parens(Self::data_type)? } else { Vec::new() };
        self.expect("as")?;
        let start = self.byte();
        if !self.at_row_statement() {
            return Err(self.unexpected());
        }
        let statement = self.row_statement()?;
        let text = start..self.byte_behind();
        Ok(Statement::Prepare(Box::new(Prepare { name, types, statement, text })))
    }

    /// `EXECUTE`.
    pub(crate) fn execute(&mut self) -> Result<Statement> {
        self.advance();
        let name = self.ident()?;
        let args =
            if *self.peek() == Token::LParen { self.parens(Self::expr)? } else { Vec::new() };
        Ok(Statement::Execute(Execute { name, args }))
    }

    /// `DEALLOCATE`.
    pub(crate) fn deallocate(&mut self) -> Result<Statement> {
        self.advance();
        self.take("prepare");
        Ok(Statement::Deallocate(if self.take("all") { None } else { Some(self.ident()?) }))
    }

    /// `DISCARD`.
    pub(crate) fn discard(&mut self) -> Result<Statement> {
        self.advance();
        let kind = match self.take_one(&["all", "plans", "sequences", "temp", "temporary"]) {
            Some(0) => DiscardKind::All,
            Some(1) => DiscardKind::Plans,
            Some(2) => DiscardKind::Sequences,
            Some(_) => DiscardKind::Temp,
            None => return Err(self.unexpected()),
        };
        Ok(Statement::Discard(kind))
    }

    /// `DECLARE … CURSOR`.
    pub(crate) fn declare_cursor(&mut self) -> Result<Statement> {
        self.advance();
        let name = self.ident()?;
        let (mut binary, mut insensitive, mut scroll) = (false, None, None);
        loop {
            if self.take("binary") {
                binary = true;
            } else if self.take("insensitive") {
                insensitive = Some(true);
            } else if self.take("asensitive") {
                insensitive = Some(false);
            } else if self.take("scroll") {
                scroll = Some(true);
            } else if self.take_all(&["no", "scroll"]) {
                scroll = Some(false);
            } else {
                break;
            }
        }
        self.expect("cursor")?;
        let hold = match self.take_one(&["with", "without"]) {
            Some(which) => {
                self.expect("hold")?;
                which == 0
            }
            None => false,
        };
        self.expect("for")?;
        let start = self.byte();
        let query = self.query()?;
        let text = start..self.byte_behind();
        Ok(Statement::DeclareCursor(Box::new(DeclareCursor {
            name,
            binary,
            insensitive,
            scroll,
            hold,
            query,
            text,
        })))
    }

    /// `FETCH` or `MOVE`.
    pub(crate) fn fetch(&mut self) -> Result<Statement> {
        let is_move = self.is("move");
        self.advance();
        let direction = self.fetch_direction()?;
        if self.take_one(&["from", "in"]).is_none() && matches!(self.peek(), Token::EOF) {
            return Err(self.unexpected());
        }
        Ok(Statement::Fetch(FetchCursor { is_move, direction, name: self.ident()? }))
    }

    fn fetch_direction(&mut self) -> Result<FetchDirection> {
        if matches!(self.peek(), Token::Number(..) | Token::Minus | Token::Plus) {
            return Ok(forward(self.integer()?));
        }
        // A cursor may bear any of these words as its name, with nothing behind it.
        if !matches!(
            self.peek_nth(1),
            Token::Word(_) | Token::Number(..) | Token::Minus | Token::Plus
        ) {
            return Ok(FetchDirection::Forward(1));
        }
        let words = [
            "next", "prior", "first", "last", "absolute", "relative", "all", "forward", "backward",
        ];
        Ok(match self.take_one(&words) {
            Some(0) => FetchDirection::Forward(1),
            Some(1) => FetchDirection::Backward(1),
            Some(2) => FetchDirection::First,
            Some(3) => FetchDirection::Last,
            Some(4) => FetchDirection::Absolute(self.integer()?),
            Some(5) => FetchDirection::Relative(self.integer()?),
            Some(6) => FetchDirection::Forward(i64::MAX),
            Some(7) => forward(self.fetch_count()?),
            Some(_) => backward(self.fetch_count()?),
            None => FetchDirection::Forward(1),
        })
    }

    /// The number behind `FORWARD` or `BACKWARD`; one without.
    fn fetch_count(&mut self) -> Result<i64> {
        if matches!(self.peek(), Token::Number(..) | Token::Minus | Token::Plus) {
            return self.integer();
        }
        Ok(if self.take("all") { i64::MAX } else { 1 })
    }

    /// `CLOSE`.
    pub(crate) fn close(&mut self) -> Result<Statement> {
        self.advance();
        let all = self.take("all");
        Ok(Statement::Close(if all {
            CursorTarget::All
        } else {
            CursorTarget::Name(self.ident()?)
        }))
    }
}

/// A negative count goes the other way.
fn forward(count: i64) -> FetchDirection {
    if count < 0 {
        FetchDirection::Backward(count.saturating_neg())
    } else {
        FetchDirection::Forward(count)
    }
}

fn backward(count: i64) -> FetchDirection {
    if count < 0 {
        FetchDirection::Forward(count.saturating_neg())
    } else {
        FetchDirection::Backward(count)
    }
}

//! `CREATE INDEX` and the keys of indexes.

use sqlparser::ast::Expr;
use sqlparser::parser::Parser;
use sqlparser::tokenizer::Token;

use braid_types::Result;

use super::Cursor;
use crate::ast::{CreateIndex, IndexKey, Statement};
use crate::keywords;

/// The precedence above every operator: a call is read, nothing behind it.
const CALL_PREC: u8 = 250;

impl Cursor<'_> {
    /// `CREATE [UNIQUE] INDEX`, behind that word.
    pub(crate) fn create_index(&mut self, unique: bool) -> Result<Statement> {
        let concurrently = self.take("concurrently");
        let if_not_exists = self.if_not_exists();
        let name = if self.is("on") { None } else { Some(self.ident()?) };
        self.expect("on")?;
        let table = self.object_name()?;
        let mut method = if self.take("using") { Some(self.ident()?) } else { None };
        let keys = self.parens(Self::index_key)?;
        if method.is_none() && self.take("using") {
            method = Some(self.ident()?);
        }
        let storing = self.storing()?;
        let nulls_not_distinct = self.nulls_not_distinct()?;
        let interleave = self.interleave()?;
        let options = if self.take("with") { self.options()? } else { Vec::new() };
        if self.take("tablespace") {
            self.tablespace()?;
        }
        let predicate = self.selection()?;
        Ok(Statement::CreateIndex(Box::new(CreateIndex {
            name,
            unique,
            if_not_exists,
            concurrently,
            table,
            method,
            keys,
            storing,
            nulls_not_distinct,
            predicate,
            interleave,
            options,
        })))
    }

    /// One key: a column, a call, or an expression in parentheses.
    pub(crate) fn index_key(&mut self) -> Result<IndexKey> {
        let span = self.span();
        let mut collation = None;
        let expr = if self.take_symbol(&Token::LParen) {
            let expr = self.expr()?;
            self.expect_symbol(&Token::RParen)?;
            expr
        } else if matches!(self.peek_nth(1), Token::LParen | Token::Period) {
            match self.delegate(|parser: &mut Parser<'_>| parser.parse_subexpr(CALL_PREC))? {
                Expr::Collate { expr, collation: name } => {
                    collation = Some(name);
                    *expr
                }
                expr => expr,
            }
        } else {
            Expr::Identifier(self.ident()?)
        };
        if self.take("collate") {
            collation = Some(self.any_name()?);
        }
        let opclass = match self.peek() {
            Token::Word(word)
                if word.quote_style.is_some()
                    || (!matches!(word.value.as_str(), "asc" | "desc" | "nulls")
                        && !keywords::is_reserved(&word.value)) =>
            {
                Some(self.any_name()?)
            }
            _ => None,
        };
        let descending = self.take_one(&["asc", "desc"]) == Some(1);
        let nulls_first = if self.take("nulls") {
            match self.take_one(&["first", "last"]) {
                Some(which) => Some(which == 0),
                None => return Err(self.unexpected()),
            }
        } else {
            None
        };
        Ok(IndexKey { expr, collation, opclass, descending, nulls_first, span })
    }
}

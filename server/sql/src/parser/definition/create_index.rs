//! `CREATE INDEX` and the keys of indexes.

use sqlparser::ast::Expr;
use sqlparser::parser::Parser;
use sqlparser::tokenizer::Token;

use braid_types::Result;

use crate::ast::{CreateIndex, IndexKey, InlineIndex, ObjectName, Statement};
use crate::lex::keywords;
use crate::parser::Cursor;
use crate::parser::clauses::{
    parse_interleave, parse_options, parse_selection, parse_storing, parse_tablespace,
};
use crate::parser::embedded::{delegate, next_expr};
use crate::parser::names::{parse_any_name, parse_ident, parse_object_name, take_if_not_exists};

/// The precedence above every operator: a call is read, nothing behind it.
pub(super) const CALL_PREC: u8 = 250;

/// `CREATE [UNIQUE] INDEX`, behind that word.
pub(crate) fn parse_create_index(cursor: &mut Cursor<'_>, unique: bool) -> Result<Statement> {
    let concurrently = cursor.take("concurrently");
    let if_not_exists = take_if_not_exists(cursor);
    let name = if cursor.is("on") && !if_not_exists { None } else { Some(parse_ident(cursor)?) };
    cursor.expect("on")?;
    let only = cursor.take("only");
    let table = parse_object_name(cursor)?;
    let mut method = if cursor.take("using") { Some(parse_ident(cursor)?) } else { None };
    let keys = cursor.parens(parse_index_key)?;
    if method.is_none() && cursor.take("using") {
        method = Some(parse_ident(cursor)?);
    }
    let storing = parse_storing(cursor)?;
    let nulls_not_distinct = parse_nulls_not_distinct(cursor)?;
    let interleave = parse_interleave(cursor)?;
    let options = if cursor.take("with") { parse_options(cursor)? } else { Vec::new() };
    if cursor.take("tablespace") {
        parse_tablespace(cursor)?;
    }
    let predicate = parse_selection(cursor)?;
    Ok(Statement::CreateIndex(Box::new(CreateIndex {
        name,
        unique,
        if_not_exists,
        concurrently,
        only,
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

pub(super) fn parse_inline_index(
    cursor: &mut Cursor<'_>,
    unique: bool,
    span: sqlparser::tokenizer::Span,
) -> Result<InlineIndex> {
    let name = if *cursor.peek() == Token::LParen { None } else { Some(parse_ident(cursor)?) };
    let method = if cursor.take("using") { Some(parse_ident(cursor)?) } else { None };
    let keys = cursor.parens(parse_index_key)?;
    let storing = parse_storing(cursor)?;
    let nulls_not_distinct = parse_nulls_not_distinct(cursor)?;
    let interleave = parse_interleave(cursor)?;
    let predicate = parse_selection(cursor)?;
    Ok(InlineIndex {
        name,
        unique,
        method,
        keys,
        storing,
        nulls_not_distinct,
        predicate,
        interleave,
        span,
    })
}

/// `NULLS [NOT] DISTINCT`.
pub(crate) fn parse_nulls_not_distinct(cursor: &mut Cursor<'_>) -> Result<bool> {
    if !cursor.take("nulls") {
        return Ok(false);
    }
    let not = cursor.take("not");
    cursor.expect("distinct")?;
    Ok(not)
}

/// An expression whose `COLLATE` is that of the key.
fn without_collation(expr: Expr, collation: &mut Option<ObjectName>) -> Expr {
    match expr {
        Expr::Collate { expr, collation: name } => {
            *collation = Some(name);
            *expr
        }
        expr => expr,
    }
}

/// One key: a column, a call, or an expression in parentheses.
pub(crate) fn parse_index_key(cursor: &mut Cursor<'_>) -> Result<IndexKey> {
    let span = cursor.span();
    let mut collation = None;
    let expr = if cursor.take_symbol(&Token::LParen) {
        let expr = next_expr(cursor)?;
        cursor.expect_symbol(&Token::RParen)?;
        without_collation(expr, &mut collation)
    } else if matches!(cursor.peek_nth(1), Token::LParen | Token::Period) {
        let call = delegate(cursor, |parser: &mut Parser<'_>| parser.parse_subexpr(CALL_PREC))?;
        without_collation(call, &mut collation)
    } else {
        Expr::Identifier(parse_ident(cursor)?)
    };
    if cursor.take("collate") {
        collation = Some(parse_any_name(cursor)?);
    }
    let opclass = match cursor.peek() {
        Token::Word(word)
            if word.quote_style.is_some()
                || (!matches!(word.value.as_str(), "asc" | "desc" | "nulls")
                    && !keywords::is_reserved(&word.value)) =>
        {
            Some(parse_any_name(cursor)?)
        }
        _ => None,
    };
    let descending = cursor.take_one(&["asc", "desc"]).map(|which| which == 1);
    let nulls_first = if cursor.take("nulls") {
        match cursor.take_one(&["first", "last"]) {
            Some(which) => Some(which == 0),
            None => return Err(cursor.unexpected()),
        }
    } else {
        None
    };
    Ok(IndexKey { expr, collation, opclass, descending, nulls_first, span })
}

/// `[WITH (…)] [USING INDEX TABLESPACE name]` of a key constraint.
pub(super) fn parse_index_placement(cursor: &mut Cursor<'_>) -> Result<()> {
    if cursor.is("with") && *cursor.peek_nth(1) == Token::LParen {
        cursor.advance();
        parse_options(cursor)?;
    }
    if cursor.take_all(&["using", "index", "tablespace"]) {
        parse_tablespace(cursor)?;
    }
    Ok(())
}

//! Queries and statements that change rows, with their `WITH` lists, whose entries may be such
//! statements again.

use sqlparser::ast::{
    CteAsMaterialized, Expr, Ident, ObjectName, Query, Select, SetExpr, TableAlias,
    TableAliasColumnDef, helpers::attached_token::AttachedToken,
};
use sqlparser::tokenizer::{Token, TokenWithSpan};

use braid_types::{Error, Result, SqlState};

use super::Cursor;
use super::dml::parse_change;
use super::embedded::next_query;
use super::merge::parse_merge;
use super::names::{parse_columns, parse_ident};
use crate::ast::{CreateTable, Cte, CteBody, Statement, With};
use crate::lex::tokens::word_token;
use crate::limits;

/// How deep statements may stand inside each other (`WITH … AS (INSERT …)`).
const STATEMENT_DEPTH_MAX: usize = 16;

/// Whether a query starts here.
pub(crate) fn at_query(cursor: &Cursor<'_>) -> bool {
    *cursor.peek() == Token::LParen || matches!(cursor.peek_word(), Some("select" | "values"))
}

/// Whether a query, or a statement that changes rows, starts here.
pub(crate) fn at_row_statement(cursor: &Cursor<'_>) -> bool {
    at_query(cursor)
        || matches!(
            cursor.peek_word(),
            Some("with" | "insert" | "upsert" | "update" | "delete" | "merge")
        )
}

/// A row statement that stands alone: `SELECT … INTO t` becomes `CREATE TABLE t AS SELECT …`.
pub(crate) fn parse_top_statement(cursor: &mut Cursor<'_>) -> Result<Statement> {
    let mut statement = parse_row_statement(cursor)?;
    if let Statement::Query(query) = &mut statement
        && let Some(into) = first_select(&mut query.body).and_then(|select| select.into.take())
    {
        let mut table = CreateTable::named(into_name(cursor, into.targets)?);
        table.temporary = into.temporary;
        table.unlogged = into.unlogged;
        table.as_query = Some(query.clone());
        return Ok(Statement::CreateTable(Box::new(table)));
    }
    Ok(statement)
}

/// The name of the table behind INTO.
fn into_name(cursor: &Cursor<'_>, mut targets: Vec<Expr>) -> Result<ObjectName> {
    match (targets.pop(), targets.is_empty()) {
        (Some(Expr::Identifier(name)), true) => Ok(ObjectName::from(vec![name])),
        (Some(Expr::CompoundIdentifier(parts)), true) => Ok(ObjectName::from(parts)),
        _ => Err(cursor.unexpected()),
    }
}

/// An error if a query says INTO, where no table can be made of it.
pub(crate) fn refuse_into(query: &mut Query, refused: (SqlState, &str)) -> Result<()> {
    match first_select(&mut query.body) {
        Some(select) if select.into.is_some() => Err(Error::new(refused.0, refused.1)),
        _ => Ok(()),
    }
}

/// Whether the WITH list of a query has a statement that changes rows.
pub(crate) fn changes_in_with(query: &Query) -> bool {
    let entries = query.with.iter().flat_map(|with| &with.cte_tables);
    entries.into_iter().any(|cte| {
        matches!(
            &*cte.query.body,
            SetExpr::Insert(_) | SetExpr::Update(_) | SetExpr::Delete(_) | SetExpr::Merge(_)
        )
    })
}

/// The first SELECT of a query: the only one that may say INTO.
fn first_select(mut body: &mut SetExpr) -> Option<&mut Select> {
    loop {
        body = match body {
            SetExpr::Select(select) => return Some(select),
            SetExpr::SetOperation { left, .. } => left,
            SetExpr::Query(query) => &mut query.body,
            _ => return None,
        };
    }
}

/// A query, `INSERT`, `UPSERT`, `UPDATE` or `DELETE`, with its `WITH` list.
pub(crate) fn parse_row_statement(cursor: &mut Cursor<'_>) -> Result<Statement> {
    cursor.depth += 1;
    if cursor.depth > STATEMENT_DEPTH_MAX {
        return Err(limits::too_deep());
    }
    let statement = if cursor.is("with") {
        parse_with(cursor)
    } else if at_query(cursor) {
        next_query(cursor).map(Statement::Query)
    } else {
        change(cursor, None)
    };
    cursor.depth -= 1;
    statement
}

/// A statement that starts with `WITH`.
fn parse_with(cursor: &mut Cursor<'_>) -> Result<Statement> {
    let with = parse_with_list(cursor)?;
    if !at_query(cursor) {
        return change(cursor, Some(with));
    }
    let mut query = next_query(cursor)?;
    let changes = with.ctes.iter().any(|cte| matches!(cte.body, CteBody::Statement(_)));
    if changes {
        return Ok(Statement::QueryWithChanges { with, query });
    }
    query.with = Some(plain_with(with));
    Ok(Statement::Query(query))
}

fn parse_with_list(cursor: &mut Cursor<'_>) -> Result<With> {
    let span = cursor.span();
    cursor.expect("with")?;
    let recursive = cursor.take("recursive");
    let ctes = cursor.list(parse_cte)?;
    Ok(With { recursive, ctes, span })
}

fn parse_cte(cursor: &mut Cursor<'_>) -> Result<Cte> {
    let name = parse_ident(cursor)?;
    let columns = if *cursor.peek() == Token::LParen { parse_columns(cursor)? } else { Vec::new() };
    cursor.expect("as")?;
    let materialized = if cursor.take("materialized") {
        Some(CteAsMaterialized::Materialized)
    } else if cursor.take_all(&["not", "materialized"]) {
        Some(CteAsMaterialized::NotMaterialized)
    } else {
        None
    };
    cursor.expect_symbol(&Token::LParen)?;
    // A query keeps its own WITH list; only a changing statement needs ours.
    let body = if at_query(cursor) || with_leads_to_query(cursor) {
        CteBody::Query(next_query(cursor)?)
    } else {
        match parse_row_statement(cursor)? {
            Statement::Query(query) => CteBody::Query(query),
            statement => CteBody::Statement(Box::new(statement)),
        }
    };
    cursor.expect_symbol(&Token::RParen)?;
    // What the rewrite has put there for SEARCH and CYCLE.
    let from = if cursor.take("from") { Some(parse_ident(cursor)?) } else { None };
    Ok(Cte { alias: alias(name, columns), materialized, body, from })
}

/// Whether the `WITH` list that starts here belongs to a query without changing entries: no
/// changing word opens a parenthesis or the main statement.
fn with_leads_to_query(cursor: &Cursor<'_>) -> bool {
    if !cursor.is("with") {
        return false;
    }
    let mut depth = 0usize;
    for n in 0.. {
        match cursor.peek_nth(n) {
            Token::LParen => depth += 1,
            Token::RParen if depth == 0 => return true,
            Token::RParen => depth -= 1,
            Token::EOF | Token::SemiColon => return true,
            Token::Word(word) if word.quote_style.is_none() => {
                let changes =
                    matches!(word.value.as_str(), "insert" | "upsert" | "update" | "delete");
                let opens = n.checked_sub(1).is_some_and(|before| {
                    matches!(cursor.peek_nth(before), Token::LParen | Token::RParen)
                });
                if changes && opens {
                    return false;
                }
            }
            _ => {}
        }
    }
    true
}

/// An alias with names of columns.
pub(crate) fn alias(name: Ident, columns: Vec<Ident>) -> TableAlias {
    let columns =
        columns.into_iter().map(|name| TableAliasColumnDef { name, data_type: None }).collect();
    TableAlias { explicit: false, name, columns, at: None }
}

/// sqlparser's form of a list without statements.
pub(crate) fn plain_with(with: With) -> sqlparser::ast::With {
    let cte_tables = with
        .ctes
        .into_iter()
        .filter_map(|cte| match cte.body {
            CteBody::Query(query) => Some(sqlparser::ast::Cte {
                alias: cte.alias,
                query,
                from: cte.from,
                materialized: cte.materialized,
                closing_paren_token: AttachedToken::empty(),
            }),
            CteBody::Statement(_) => None,
        })
        .collect();
    let with_token = TokenWithSpan { token: word_token("with".into(), None), span: with.span };
    sqlparser::ast::With {
        with_token: AttachedToken(with_token),
        recursive: with.recursive,
        cte_tables,
    }
}

/// A statement that changes rows, behind its `WITH` list.
fn change(cursor: &mut Cursor<'_>, with: Option<With>) -> Result<Statement> {
    match cursor.is("merge") {
        true => parse_merge(cursor, with),
        false => parse_change(cursor, with),
    }
}

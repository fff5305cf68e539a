//! `WITH` lists, whose entries may be statements that change rows.

use sqlparser::ast::{
    CteAsMaterialized, Ident, TableAlias, TableAliasColumnDef,
    helpers::attached_token::AttachedToken,
};
use sqlparser::tokenizer::Token;

use braid_types::Result;

use super::Cursor;
use crate::ast::{Cte, CteBody, Statement, With};

impl Cursor<'_> {
    /// A statement that starts with `WITH`.
    pub(crate) fn with_statement(&mut self) -> Result<Statement> {
        let with = self.with_list()?;
        if !self.at_query() {
            return self.change(Some(with));
        }
        let mut query = self.query()?;
        let changes = with.ctes.iter().any(|cte| matches!(cte.body, CteBody::Statement(_)));
        if changes {
            return Ok(Statement::QueryWithChanges { with, query });
        }
        query.with = Some(plain_with(with));
        Ok(Statement::Query(query))
    }

    fn with_list(&mut self) -> Result<With> {
        let span = self.span();
        self.expect("with")?;
        let recursive = self.take("recursive");
        let ctes = self.list(Self::cte)?;
        Ok(With { recursive, ctes, span })
    }

    fn cte(&mut self) -> Result<Cte> {
        let name = self.ident()?;
        let columns = if *self.peek() == Token::LParen { self.columns()? } else { Vec::new() };
        self.expect("as")?;
        let materialized = if self.take("materialized") {
            Some(CteAsMaterialized::Materialized)
        } else if self.take_all(&["not", "materialized"]) {
            Some(CteAsMaterialized::NotMaterialized)
        } else {
            None
        };
        self.expect_symbol(&Token::LParen)?;
        // A query keeps its own WITH list; only a changing statement needs ours.
        let body = if self.at_query() || self.with_leads_to_query() {
            CteBody::Query(self.query()?)
        } else {
            match self.row_statement()? {
                Statement::Query(query) => CteBody::Query(query),
                statement => CteBody::Statement(Box::new(statement)),
            }
        };
        self.expect_symbol(&Token::RParen)?;
        Ok(Cte { alias: alias(name, columns), materialized, body })
    }

    /// Whether the `WITH` list that starts here belongs to a query without changing entries: no
    /// changing word opens a parenthesis or the main statement.
    fn with_leads_to_query(&self) -> bool {
        if !self.is("with") {
            return false;
        }
        let mut depth = 0usize;
        for n in 0.. {
            match self.peek_nth(n) {
                Token::LParen => depth += 1,
                Token::RParen if depth == 0 => return true,
                Token::RParen => depth -= 1,
                Token::EOF | Token::SemiColon => return true,
                Token::Word(word) if word.quote_style.is_none() => {
                    let changes =
                        matches!(word.value.as_str(), "insert" | "upsert" | "update" | "delete");
                    let opens = n.checked_sub(1).is_some_and(|before| {
                        matches!(self.peek_nth(before), Token::LParen | Token::RParen)
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
}

fn alias(name: Ident, columns: Vec<Ident>) -> TableAlias {
    let columns =
        columns.into_iter().map(|name| TableAliasColumnDef { name, data_type: None }).collect();
    TableAlias { explicit: false, name, columns, at: None }
}

/// sqlparser's form of a list without statements.
fn plain_with(with: With) -> sqlparser::ast::With {
    let cte_tables = with
        .ctes
        .into_iter()
        .filter_map(|cte| match cte.body {
            CteBody::Query(query) => Some(sqlparser::ast::Cte {
                alias: cte.alias,
                query,
                from: None,
                materialized: cte.materialized,
                closing_paren_token: AttachedToken::empty(),
            }),
            CteBody::Statement(_) => None,
        })
        .collect();
    sqlparser::ast::With {
        with_token: AttachedToken::empty(),
        recursive: with.recursive,
        cte_tables,
    }
}

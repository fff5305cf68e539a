//! The first word of a statement chooses its parser.

use sqlparser::tokenizer::Token;

use braid_types::Result;

use super::Cursor;
use crate::ast::Statement;
use crate::limits;

/// How deep statements may stand inside each other (`WITH … AS (INSERT …)`).
const STATEMENT_DEPTH_MAX: usize = 16;

impl Cursor<'_> {
    /// Whether a query starts here.
    pub(crate) fn at_query(&self) -> bool {
        *self.peek() == Token::LParen || matches!(self.peek_word(), Some("select" | "values"))
    }

    /// Whether a query, or a statement that changes rows, starts here.
    pub(crate) fn at_row_statement(&self) -> bool {
        self.at_query()
            || matches!(
                self.peek_word(),
                Some("with" | "insert" | "upsert" | "update" | "delete" | "merge")
            )
    }

    /// A query, `INSERT`, `UPSERT`, `UPDATE` or `DELETE`, with its `WITH` list.
    pub(crate) fn row_statement(&mut self) -> Result<Statement> {
        self.depth += 1;
        if self.depth > STATEMENT_DEPTH_MAX {
            return Err(limits::too_deep());
        }
        let statement = if self.is("with") {
            self.with_statement()
        } else if self.at_query() {
            self.query().map(Statement::Query)
        } else {
            self.change(None)
        };
        self.depth -= 1;
        statement
    }

    /// One statement.
    pub(crate) fn statement(&mut self) -> Result<Statement> {
        if self.at_row_statement() {
            return self.row_statement();
        }
        let Some(word) = self.peek_word() else {
            return Err(self.unexpected());
        };
        match word {
            "create" => self.create(),
            "alter" => self.alter(),
            "drop" => self.drop_statement(),
            "truncate" => self.truncate(),
            "comment" => self.comment(),
            "begin" | "start" | "commit" | "end" | "rollback" | "abort" | "savepoint"
            | "release" => self.transaction(),
            "set" => self.set(),
            "reset" => self.reset(),
            "show" => self.show(),
            "explain" => self.explain(),
            "copy" => self.copy(),
            "prepare" => self.prepare(),
            "execute" => self.execute(),
            "deallocate" => self.deallocate(),
            "discard" => self.discard(),
            "declare" => self.declare_cursor(),
            "fetch" | "move" => self.fetch(),
            "close" => self.close(),
            "grant" => self.grant(),
            "revoke" => self.revoke(),
            "analyze" | "analyse" => self.analyze(),
            "vacuum" => self.vacuum(),
            "lock" => self.lock_table(),
            "check" => self.check_table(),
            "reassign" => self.reassign_owned(),
            "listen" | "unlisten" | "notify" => self.notifications(),
            _ => self.rare(),
        }
    }

    /// Statements that need nothing here, or that PostgreSQL knows and we do not.
    fn rare(&mut self) -> Result<Statement> {
        const UNSUPPORTED: [&str; 6] = ["do", "call", "load", "refresh", "security", "import"];
        let name = match self.peek_word() {
            Some("reindex") => "REINDEX",
            Some("cluster") => "CLUSTER",
            Some("checkpoint") => "CHECKPOINT",
            Some(word) if UNSUPPORTED.contains(&word) => {
                return Err(self.unsupported(word.to_ascii_uppercase()));
            }
            _ => return Err(self.unexpected()),
        };
        while !self.at_end() {
            self.advance();
        }
        Ok(Statement::NoOp(name))
    }
}

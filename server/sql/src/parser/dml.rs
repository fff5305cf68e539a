//! `INSERT`, `UPSERT`, `UPDATE`, `DELETE` and `TRUNCATE`.

use sqlparser::ast::{AccessExpr, Expr, Ident};
use sqlparser::tokenizer::Token;

use braid_types::Result;

use super::Cursor;
use crate::ast::{
    Assignment, AssignmentTarget, AssignmentValue, ConflictAction, ConflictTarget, Delete, Insert,
    InsertSource, OnConflict, Overriding, Returning, Statement, TargetColumn, Truncate, Update,
    With,
};

impl Cursor<'_> {
    /// A statement that changes rows, behind its `WITH` list.
    pub(crate) fn change(&mut self, with: Option<With>) -> Result<Statement> {
        match self.peek_word() {
            Some("insert") => self.insert(with, false),
            Some("upsert") => self.insert(with, true),
            Some("update") => self.update(with),
            Some("delete") => self.delete(with),
            Some("merge") => Err(self.unsupported("MERGE")),
            _ => Err(self.unexpected()),
        }
    }

    fn insert(&mut self, with: Option<With>, upsert: bool) -> Result<Statement> {
        self.advance();
        self.expect("into")?;
        let table = self.object_name()?;
        let alias = if self.take("as") { Some(self.ident()?) } else { None };
        let columns = if *self.peek() == Token::LParen && !self.query_in_parens() {
            self.parens(Self::target_column)?
        } else {
            Vec::new()
        };
        let overriding = self.overriding()?;
        let source = if self.take_all(&["default", "values"]) {
            InsertSource::DefaultValues
        } else {
            InsertSource::Query(self.query()?)
        };
        let on_conflict =
            if !upsert && self.are(&["on", "conflict"]) { Some(self.on_conflict()?) } else { None };
        let returning = self.returning()?;
        Ok(Statement::Insert(Box::new(Insert {
            with,
            upsert,
            table,
            alias,
            columns,
            overriding,
            source,
            on_conflict,
            returning,
        })))
    }

    /// Whether the parenthesis that is next holds a query and not a list of columns.
    fn query_in_parens(&self) -> bool {
        let mut n = 1;
        while *self.peek_nth(n) == Token::LParen {
            n += 1;
        }
        ["select", "values", "with"].iter().any(|word| self.nth_is(n, word))
    }

    /// A column that is assigned, or a part of it.
    fn target_column(&mut self) -> Result<TargetColumn> {
        let name = self.ident()?;
        let mut part = Vec::new();
        loop {
            if *self.peek() == Token::LBracket {
                self.delegate(|parser| parser.parse_multi_dim_subscript(&mut part))?;
            } else if self.take_symbol(&Token::Period) {
                part.push(AccessExpr::Dot(Expr::Identifier(self.label()?)));
            } else {
                return Ok(TargetColumn { name, part });
            }
        }
    }

    fn overriding(&mut self) -> Result<Option<Overriding>> {
        if !self.take("overriding") {
            return Ok(None);
        }
        let kind = match self.take_one(&["system", "user"]) {
            Some(0) => Overriding::System,
            Some(_) => Overriding::User,
            None => return Err(self.unexpected()),
        };
        self.expect("value")?;
        Ok(Some(kind))
    }

    fn on_conflict(&mut self) -> Result<OnConflict> {
        let span = self.span();
        self.expect_all(&["on", "conflict"])?;
        let target = if self.take_all(&["on", "constraint"]) {
            ConflictTarget::Constraint(self.ident()?)
        } else if *self.peek() == Token::LParen {
            let keys = self.parens(Self::index_key)?;
            let predicate = self.selection()?;
            ConflictTarget::Columns { keys, predicate }
        } else {
            ConflictTarget::Any
        };
        self.expect("do")?;
        let action = if self.take("nothing") {
            ConflictAction::Nothing
        } else {
            self.expect_all(&["update", "set"])?;
            let assignments = self.list(Self::assignment)?;
            ConflictAction::Update { assignments, selection: self.selection()? }
        };
        Ok(OnConflict { target, action, span })
    }

    /// `WHERE …`, where it is next.
    pub(crate) fn selection(&mut self) -> Result<Option<Expr>> {
        if self.is("where") && self.are(&["where", "current", "of"]) {
            return Err(self.unsupported("WHERE CURRENT OF"));
        }
        if self.take("where") { self.expr().map(Some) } else { Ok(None) }
    }

    fn assignment(&mut self) -> Result<Assignment> {
        if *self.peek() != Token::LParen {
            let target = AssignmentTarget::Column(self.target_column()?);
            self.expect_symbol(&Token::Eq)?;
            return Ok(Assignment { target, value: AssignmentValue::Expr(self.expr()?) });
        }
        let target = AssignmentTarget::Columns(self.parens(Self::target_column)?);
        self.expect_symbol(&Token::Eq)?;
        let value = if self.is("row") && *self.peek_nth(1) == Token::LParen {
            self.advance();
            AssignmentValue::Row(self.parens(Self::expr)?)
        } else if *self.peek() == Token::LParen && !self.query_in_parens() {
            AssignmentValue::Row(self.parens(Self::expr)?)
        } else {
            AssignmentValue::Expr(self.expr()?)
        };
        Ok(Assignment { target, value })
    }

    fn update(&mut self, with: Option<With>) -> Result<Statement> {
        self.advance();
        let table = self.object_name()?;
        self.take_symbol(&Token::Mul);
        let alias = self.target_alias("set")?;
        self.expect("set")?;
        let assignments = self.list(Self::assignment)?;
        let from = if self.take("from") { self.list(Self::table_with_joins)? } else { Vec::new() };
        let selection = self.selection()?;
        let returning = self.returning()?;
        Ok(Statement::Update(Box::new(Update {
            with,
            table,
            alias,
            assignments,
            from,
            selection,
            returning,
        })))
    }

    /// `[AS] alias` of a target table; `next` is the word that may follow instead.
    fn target_alias(&mut self, next: &str) -> Result<Option<Ident>> {
        if self.take("as") {
            return self.ident().map(Some);
        }
        let is_alias = match self.peek() {
            Token::Word(word) if word.quote_style.is_none() => {
                word.value != next && crate::keywords::is_column_name(&word.value)
            }
            Token::Word(_) => true,
            _ => false,
        };
        if is_alias { self.ident().map(Some) } else { Ok(None) }
    }

    fn delete(&mut self, with: Option<With>) -> Result<Statement> {
        self.advance();
        self.expect("from")?;
        let table = self.object_name()?;
        self.take_symbol(&Token::Mul);
        let alias = self.target_alias("using")?;
        let using =
            if self.take("using") { self.list(Self::table_with_joins)? } else { Vec::new() };
        let selection = self.selection()?;
        let returning = self.returning()?;
        Ok(Statement::Delete(Box::new(Delete { with, table, alias, using, selection, returning })))
    }

    /// `RETURNING …`. Only the bare word `NOTHING` by itself is the clause of that name; what
    /// follows it is left for the caller, which ends the statement there.
    fn returning(&mut self) -> Result<Returning> {
        if !self.take("returning") {
            return Ok(Returning::None);
        }
        if self.take("nothing") {
            return Ok(Returning::Nothing);
        }
        Ok(Returning::Items(self.list(Self::select_item)?))
    }

    /// `TRUNCATE`.
    pub(crate) fn truncate(&mut self) -> Result<Statement> {
        self.advance();
        self.take("table");
        let tables = self.list(|cursor| {
            let name = cursor.object_name()?;
            cursor.take_symbol(&Token::Mul);
            Ok(name)
        })?;
        let restart_identity = self.take_all(&["restart", "identity"]);
        if !restart_identity {
            self.take_all(&["continue", "identity"]);
        }
        let behavior = self.drop_behavior();
        Ok(Statement::Truncate(Truncate { tables, restart_identity, behavior }))
    }
}

//! `DROP` and `COMMENT ON`.

use sqlparser::tokenizer::Token;

use braid_types::Result;

use super::Cursor;
use crate::ast::{Comment, CommentTarget, Drop, DropBehavior, DropKind, Statement};

impl Cursor<'_> {
    /// `[CASCADE | RESTRICT]`.
    pub(crate) fn drop_behavior(&mut self) -> DropBehavior {
        match self.take_one(&["cascade", "restrict"]) {
            Some(0) => DropBehavior::Cascade,
            _ => DropBehavior::Restrict,
        }
    }

    /// `DROP …`.
    pub(crate) fn drop_statement(&mut self) -> Result<Statement> {
        self.advance();
        let kind = match self.peek_word() {
            Some("table") => DropKind::Table,
            Some("index") => DropKind::Index,
            Some("view") => DropKind::View,
            Some("sequence") => DropKind::Sequence,
            Some("schema") => DropKind::Schema,
            Some("database") => DropKind::Database,
            Some("extension") => DropKind::Extension,
            Some("materialized") => {
                self.advance();
                if !self.is("view") {
                    return Err(self.unexpected());
                }
                DropKind::MaterializedView
            }
            Some("owned") => return self.drop_owned(),
            _ => {
                return match self.drop_other()? {
                    Some(statement) => Ok(statement),
                    None if self.is("user") || self.is("role") || self.is("group") => {
                        self.drop_user()
                    }
                    None => Err(self.unexpected()),
                };
            }
        };
        self.advance();
        let concurrently = kind == DropKind::Index && self.take("concurrently");
        let if_exists = self.if_exists();
        let mut names = Vec::new();
        let mut at_names = Vec::new();
        loop {
            names.push(self.object_name()?);
            let at = kind == DropKind::Index && self.take_symbol(&Token::AtSign);
            at_names.push(if at { Some(self.ident()?) } else { None });
            if !self.take_symbol(&Token::Comma) {
                break;
            }
        }
        if kind == DropKind::Database && names.len() > 1 {
            return Err(self.unexpected());
        }
        self.take("with");
        if kind == DropKind::Database && *self.peek() == Token::LParen {
            self.parens(|cursor| cursor.expect("force"))?;
        }
        let behavior = self.drop_behavior();
        Ok(Statement::Drop(Drop { kind, names, at_names, if_exists, behavior, concurrently }))
    }

    /// `COMMENT ON …`.
    pub(crate) fn comment(&mut self) -> Result<Statement> {
        self.advance();
        self.expect("on")?;
        let Some(word) = self.peek_word() else {
            return Err(self.unexpected());
        };
        let target: fn(sqlparser::ast::ObjectName) -> CommentTarget = match word {
            "table" => CommentTarget::Table,
            "column" => CommentTarget::Column,
            "index" => CommentTarget::Index,
            "view" => CommentTarget::View,
            "sequence" => CommentTarget::Sequence,
            "schema" => CommentTarget::Schema,
            "database" => CommentTarget::Database,
            "extension" => CommentTarget::Extension,
            "role" => CommentTarget::Role,
            "type" => CommentTarget::Type,
            "constraint" => {
                self.advance();
                let name = self.ident()?;
                self.expect("on")?;
                let table = self.object_name()?;
                let target = CommentTarget::Constraint { name, table };
                return self.comment_text(target);
            }
            "function" | "domain" | "trigger" | "rule" | "operator" | "aggregate" | "cast"
            | "language" | "procedure" | "policy" | "materialized" | "foreign" | "collation"
            | "statistics" | "tablespace" => {
                return Err(self.unsupported(format!("COMMENT ON {}", word.to_ascii_uppercase())));
            }
            _ => return Err(self.unexpected()),
        };
        self.advance();
        let name = self.object_name()?;
        self.comment_text(target(name))
    }

    fn comment_text(&mut self, target: CommentTarget) -> Result<Statement> {
        self.expect("is")?;
        let text = if self.take("null") { None } else { Some(self.string()?) };
        Ok(Statement::Comment(Comment { target, text }))
    }
}

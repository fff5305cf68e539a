//! `ALTER` of tables, indexes, views, sequences, schemas and databases.

use sqlparser::tokenizer::Token;

use braid_types::Result;

use super::Cursor;
use crate::ast::{
    AlterAction, AlterColumnAction, AlterIndex, AlterIndexAction, AlterSequence, AlterTable,
    AlterTarget, IdentityMode, ObjectName, Rename, RenameKind, Statement,
};

impl Cursor<'_> {
    /// `ALTER …`.
    pub(crate) fn alter(&mut self) -> Result<Statement> {
        self.advance();
        match self.peek_word() {
            Some("table") => self.alter_table(),
            Some("user" | "role" | "group") => self.alter_user(),
            Some("index") => self.alter_named(AlterTarget::Index),
            Some("view") => self.alter_named(AlterTarget::View),
            Some("sequence") => self.alter_named(AlterTarget::Sequence),
            Some("schema") => self.alter_named(AlterTarget::Schema),
            Some("database") => self.alter_named(AlterTarget::Database),
            Some("type") => self.alter_type(),
            Some(
                word @ ("function" | "procedure" | "domain" | "extension" | "trigger" | "policy"
                | "system" | "language" | "operator" | "collation" | "aggregate"
                | "publication" | "subscription" | "statistics" | "tablespace" | "server"
                | "materialized" | "foreign" | "default" | "event" | "text" | "rule"),
            ) => Err(self.unsupported(format!("ALTER {}", word.to_ascii_uppercase()))),
            _ => Err(self.unexpected()),
        }
    }

    fn alter_table(&mut self) -> Result<Statement> {
        self.advance();
        let if_exists = self.if_exists();
        let name = self.object_name()?;
        self.take_symbol(&Token::Mul);
        if let Some(kind) = self.rename_kind(true)? {
            let target = AlterTarget::Table(name);
            return Ok(Statement::Rename(Rename { target, if_exists, kind }));
        }
        let actions = self.list(Self::alter_action)?;
        Ok(Statement::AlterTable(Box::new(AlterTable { name, if_exists, actions })))
    }

    /// The renaming and moving forms; `None` when none is next.
    pub(crate) fn rename_kind(&mut self, is_table: bool) -> Result<Option<RenameKind>> {
        if self.take_all(&["set", "schema"]) {
            return Ok(Some(RenameKind::SetSchema(self.ident()?)));
        }
        if !is_table && self.take_all(&["owner", "to"]) {
            return Ok(Some(RenameKind::OwnerTo(self.role_name()?)));
        }
        if !self.take("rename") {
            return Ok(None);
        }
        if self.take("to") {
            return Ok(Some(RenameKind::To(self.ident()?)));
        }
        if self.take("constraint") {
            let from = self.ident()?;
            self.expect("to")?;
            return Ok(Some(RenameKind::Constraint { from, to: self.ident()? }));
        }
        self.take("column");
        let from = self.ident()?;
        self.expect("to")?;
        Ok(Some(RenameKind::Column { from, to: self.ident()? }))
    }

    /// `ALTER INDEX`, `VIEW`, `SEQUENCE`, `SCHEMA` and `DATABASE`.
    fn alter_named(&mut self, target: fn(ObjectName) -> AlterTarget) -> Result<Statement> {
        self.advance();
        let if_exists = self.if_exists();
        let target = target(self.object_name()?);
        if let Some(kind) = self.rename_kind(false)? {
            return Ok(Statement::Rename(Rename { target, if_exists, kind }));
        }
        match target {
            AlterTarget::Sequence(name) => {
                let options = self.sequence_options()?;
                if options.is_empty() {
                    return Err(self.unexpected());
                }
                Ok(Statement::AlterSequence(AlterSequence { name, if_exists, options }))
            }
            AlterTarget::Index(name) => {
                if let Some(action) = self.alter_place()? {
                    let action = match action {
                        AlterAction::Interleave(clause) => AlterIndexAction::Interleave(clause),
                        _ => AlterIndexAction::Uninterleave,
                    };
                    return Ok(Statement::AlterIndex(AlterIndex { name, if_exists, action }));
                }
                if self.take_all(&["set", "tablespace"]) {
                    self.tablespace()?;
                    let action = AlterIndexAction::Options;
                    return Ok(Statement::AlterIndex(AlterIndex { name, if_exists, action }));
                }
                match self.take_one(&["set", "reset"]) {
                    Some(_) if *self.peek() == Token::LParen => {
                        self.options()?;
                    }
                    _ => return Err(self.unexpected()),
                }
                let action = AlterIndexAction::Options;
                Ok(Statement::AlterIndex(AlterIndex { name, if_exists, action }))
            }
            AlterTarget::Database(_) if self.take_all(&["set", "tablespace"]) => {
                self.tablespace()?;
                Ok(Statement::NoOp("ALTER DATABASE"))
            }
            AlterTarget::Database(name) if self.is("set") || self.is("reset") => {
                let Some(database) = name.0.last().and_then(|part| part.as_ident()) else {
                    return Err(self.unexpected());
                };
                self.stored_setting("ALTER DATABASE", database.clone(), None)
            }
            AlterTarget::View(_) if self.is("alter") || self.is("set") => {
                Err(self.unsupported("ALTER VIEW with column defaults or options"))
            }
            _ => Err(self.unexpected()),
        }
    }

    /// `INTERLEAVE IN …` or `UNINTERLEAVE`, where it is next.
    fn alter_place(&mut self) -> Result<Option<AlterAction>> {
        if self.take("uninterleave") {
            return Ok(Some(AlterAction::Uninterleave));
        }
        Ok(self.interleave()?.map(AlterAction::Interleave))
    }

    fn alter_action(&mut self) -> Result<AlterAction> {
        if let Some(action) = self.alter_place()? {
            return Ok(action);
        }
        if self.take("add") {
            return self.alter_add();
        }
        if self.take("drop") {
            return self.alter_drop();
        }
        if self.take("alter") {
            return self.alter_alter();
        }
        if self.take_all(&["validate", "constraint"]) {
            return Ok(AlterAction::ValidateConstraint(self.ident()?));
        }
        if self.take_all(&["owner", "to"]) {
            return Ok(AlterAction::Owner(self.role_name()?));
        }
        if matches!(self.peek_nth(1), Token::LParen)
            && let Some(which) = self.take_one(&["set", "reset"])
        {
            return Ok(AlterAction::Options(which == 0, self.options()?));
        }
        if self.take_all(&["set", "tablespace"]) {
            self.tablespace()?;
            return Ok(AlterAction::Options(true, Vec::new()));
        }
        for (word, logged) in [("logged", true), ("unlogged", false)] {
            if self.take_all(&["set", word]) {
                return Ok(AlterAction::SetLogged(logged));
            }
        }
        let known = matches!(
            self.peek_word(),
            Some(
                "enable"
                    | "disable"
                    | "force"
                    | "no"
                    | "inherit"
                    | "of"
                    | "not"
                    | "attach"
                    | "detach"
                    | "cluster"
                    | "replica"
                    | "set"
            )
        );
        if !known {
            return Err(self.unexpected());
        }
        let start = self.byte();
        let mut depth = 0usize;
        while !self.at_end() && (depth > 0 || *self.peek() != Token::Comma) {
            match self.peek() {
                Token::LParen => depth += 1,
                Token::RParen => depth = depth.saturating_sub(1),
                _ => {}
            }
            self.advance();
        }
        let what = self.slice(start..self.byte_behind()).to_owned();
        Ok(AlterAction::Unsupported(what))
    }

    fn alter_add(&mut self) -> Result<AlterAction> {
        let is_constraint = matches!(
            self.peek_word(),
            Some("constraint" | "primary" | "unique" | "check" | "foreign")
        ) || self.are(&["exclude", "using"]);
        if is_constraint {
            return Ok(AlterAction::AddConstraint(self.table_constraint()?));
        }
        self.take("column");
        let if_not_exists = self.if_not_exists();
        Ok(AlterAction::AddColumn { if_not_exists, column: self.column_def()? })
    }

    fn alter_drop(&mut self) -> Result<AlterAction> {
        let constraint = self.take("constraint");
        if !constraint {
            self.take("column");
        }
        let if_exists = self.if_exists();
        let name = self.ident()?;
        let behavior = self.drop_behavior();
        Ok(if constraint {
            AlterAction::DropConstraint { name, if_exists, behavior }
        } else {
            AlterAction::DropColumn { name, if_exists, behavior }
        })
    }

    fn alter_alter(&mut self) -> Result<AlterAction> {
        if self.take("constraint") {
            let name = self.ident()?;
            let (deferrable, initially_deferred) = self.characteristics()?;
            return Ok(AlterAction::AlterConstraint { name, deferrable, initially_deferred });
        }
        if self.take_all(&["primary", "key", "using", "columns"]) {
            return Ok(AlterAction::AlterPrimaryKey(self.parens(Self::key_column)?));
        }
        self.take("column");
        let name = self.ident()?;
        let action = if self.take("set") {
            self.alter_column_set()?
        } else if self.take("drop") {
            self.alter_column_drop()?
        } else if self.take("type") {
            self.alter_column_type()?
        } else if self.take_all(&["add", "generated"]) {
            let mode = self.identity_mode()?;
            self.expect_all(&["as", "identity"])?;
            AlterColumnAction::AddIdentity { mode, options: self.identity_options()? }
        } else if self.is("restart") {
            self.alter_identity(None)?
        } else if self.take("reset") {
            self.options()?;
            AlterColumnAction::Tuning
        } else {
            return Err(self.unexpected());
        };
        Ok(AlterAction::AlterColumn { name, action })
    }

    fn alter_column_set(&mut self) -> Result<AlterColumnAction> {
        if self.take("default") {
            return Ok(AlterColumnAction::SetDefault(self.expr()?));
        }
        if self.take_all(&["not", "null"]) {
            return Ok(AlterColumnAction::SetNotNull);
        }
        if self.take_all(&["data", "type"]) {
            return self.alter_column_type();
        }
        if self.take_one(&["statistics", "storage", "compression"]).is_some() {
            self.setting_value()?;
            return Ok(AlterColumnAction::Tuning);
        }
        if *self.peek() == Token::LParen {
            self.options()?;
            return Ok(AlterColumnAction::Tuning);
        }
        if self.take("generated") {
            let mode = self.identity_mode()?;
            return self.alter_identity(Some(mode));
        }
        match self.sequence_option()? {
            Some(option) => self.alter_identity_more(None, vec![option]),
            None => Err(self.unexpected()),
        }
    }

    fn alter_identity(&mut self, mode: Option<IdentityMode>) -> Result<AlterColumnAction> {
        self.alter_identity_more(mode, Vec::new())
    }

    /// `SET GENERATED … SET option … RESTART …`, in any order.
    fn alter_identity_more(
        &mut self,
        mut mode: Option<IdentityMode>,
        mut options: Vec<crate::ast::SequenceOption>,
    ) -> Result<AlterColumnAction> {
        loop {
            if self.take_all(&["set", "generated"]) {
                mode = Some(self.identity_mode()?);
            } else if self.take("set") || self.is("restart") {
                match self.sequence_option()? {
                    Some(option) => options.push(option),
                    None => return Err(self.unexpected()),
                }
            } else {
                return Ok(AlterColumnAction::SetIdentity { mode, options });
            }
        }
    }

    fn alter_column_drop(&mut self) -> Result<AlterColumnAction> {
        if self.take_all(&["not", "null"]) {
            return Ok(AlterColumnAction::DropNotNull);
        }
        match self.take_one(&["default", "identity", "expression"]) {
            Some(0) => Ok(AlterColumnAction::DropDefault),
            Some(1) => Ok(AlterColumnAction::DropIdentity { if_exists: self.if_exists() }),
            Some(_) => Ok(AlterColumnAction::DropExpression { if_exists: self.if_exists() }),
            None => Err(self.unexpected()),
        }
    }

    fn alter_column_type(&mut self) -> Result<AlterColumnAction> {
        let data_type = self.data_type()?;
        let collation = if self.take("collate") { Some(self.any_name()?) } else { None };
        let using = if self.take("using") { Some(self.expr()?) } else { None };
        Ok(AlterColumnAction::SetType { data_type, collation, using })
    }
}

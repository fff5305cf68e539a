//! `CREATE` chooses its object; views, schemas, databases, extensions.

use sqlparser::tokenizer::Token;

use braid_types::Result;

use super::Cursor;
use crate::ast::{CreateDatabase, CreateExtension, CreateSchema, CreateView, Statement};

/// Whether CREATE says TEMPORARY.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Temporary {
    No,
    Local,
    /// The standard's word, which PostgreSQL warns of and takes for the same.
    Global,
}

impl Cursor<'_> {
    /// `CREATE …`.
    pub(crate) fn create(&mut self) -> Result<Statement> {
        self.advance();
        let or_replace = self.take_all(&["or", "replace"]);
        if !or_replace && self.take("unique") {
            self.expect("index")?;
            return self.create_index(true);
        }
        let temporary = self.temporary()?;
        let is_temporary = temporary != Temporary::No;
        let Some(word) = self.peek_word() else {
            return Err(self.unexpected());
        };
        match word {
            "view" | "recursive" | "materialized" => self.create_view(or_replace, temporary),
            "table" if !or_replace => {
                self.advance();
                self.create_table(temporary, false)
            }
            "unlogged" if !or_replace && !is_temporary => {
                self.advance();
                self.expect("table")?;
                self.create_table(Temporary::No, true)
            }
            "sequence" if !or_replace => {
                self.advance();
                self.create_sequence(temporary)
            }
            _ if is_temporary => Err(self.unexpected()),
            "index" if !or_replace => {
                self.advance();
                self.create_index(false)
            }
            "schema" if !or_replace => self.create_schema(),
            "type" if !or_replace => self.create_type(),
            "database" if !or_replace => self.create_database(),
            "extension" if !or_replace => self.create_extension(),
            "user" | "role" | "group" if !or_replace => self.create_user(),
            _ => self.create_unsupported(),
        }
    }

    /// `[LOCAL | GLOBAL] {TEMPORARY | TEMP}`.
    fn temporary(&mut self) -> Result<Temporary> {
        let scope = self.take_one(&["local", "global"]);
        match (self.take("temporary") || self.take("temp"), scope) {
            (true, Some(1)) => Ok(Temporary::Global),
            (true, _) => Ok(Temporary::Local),
            (false, None) => Ok(Temporary::No),
            (false, Some(_)) => Err(self.unexpected()),
        }
    }

    /// Objects that PostgreSQL has and we do not.
    fn create_unsupported(&self) -> Result<Statement> {
        let name = match self.peek_word() {
            Some(
                word @ ("function" | "procedure" | "trigger" | "rule" | "aggregate" | "language"
                | "policy" | "publication" | "subscription" | "tablespace" | "operator"
                | "cast" | "collation" | "conversion" | "server" | "statistics"
                | "transform" | "domain"),
            ) => word.to_ascii_uppercase(),
            Some("foreign") => "FOREIGN TABLE".into(),
            Some("text") => "TEXT SEARCH".into(),
            Some("event") => "EVENT TRIGGER".into(),
            Some("access") => "ACCESS METHOD".into(),
            Some("constraint") => "CONSTRAINT TRIGGER".into(),
            Some("trusted" | "procedural") => "LANGUAGE".into(),
            _ => return Err(self.unexpected()),
        };
        Err(self.unsupported(format!("CREATE {name}")))
    }

    fn create_view(&mut self, or_replace: bool, temporary: Temporary) -> Result<Statement> {
        let recursive = self.take("recursive");
        let materialized = !recursive && self.take("materialized");
        self.expect("view")?;
        if materialized && temporary != Temporary::No {
            return Err(self.unexpected());
        }
        if materialized {
            return Err(self.unsupported("CREATE MATERIALIZED VIEW"));
        }
        let if_not_exists = self.if_not_exists();
        let name = self.object_name()?;
        let columns = if *self.peek() == Token::LParen { self.columns()? } else { Vec::new() };
        if self.take("with") {
            self.options()?;
        }
        self.expect("as")?;
        let start = self.byte();
        let query = self.query()?;
        let query_text = start..self.byte_behind();
        let check_option = if self.take("with") {
            self.take_one(&["cascaded", "local"]);
            self.expect_all(&["check", "option"])?;
            true
        } else {
            false
        };
        Ok(Statement::CreateView(Box::new(CreateView {
            name,
            columns,
            or_replace,
            if_not_exists,
            temporary: temporary != Temporary::No,
            global: temporary == Temporary::Global,
            materialized,
            recursive,
            query,
            query_text,
            check_option,
            with_no_data: false,
        })))
    }

    fn create_schema(&mut self) -> Result<Statement> {
        self.advance();
        let if_not_exists = self.if_not_exists();
        let name = if self.is("authorization") { None } else { Some(self.object_name()?) };
        let authorization = if self.take("authorization") { Some(self.role_name()?) } else { None };
        if self.is("create") || self.is("grant") {
            return Err(self.unsupported("CREATE SCHEMA with elements"));
        }
        Ok(Statement::CreateSchema(CreateSchema { name, if_not_exists, authorization }))
    }

    fn create_database(&mut self) -> Result<Statement> {
        self.advance();
        let if_not_exists = self.if_not_exists();
        let name = self.ident()?;
        self.take("with");
        let mut options = Vec::new();
        while !self.at_end() {
            let mut option = self.label()?.value;
            if option == "connection" && self.take("limit") {
                option.push_str(" limit");
            }
            self.take_symbol(&Token::Eq);
            options.push((option, self.setting_value()?));
        }
        Ok(Statement::CreateDatabase(CreateDatabase { name, if_not_exists, options }))
    }

    fn create_extension(&mut self) -> Result<Statement> {
        self.advance();
        let if_not_exists = self.if_not_exists();
        let name = self.ident()?;
        self.take("with");
        let mut schema = None;
        loop {
            if self.take("schema") {
                schema = Some(self.ident()?);
            } else if self.take("version") {
                self.setting_value()?;
            } else if !self.take("cascade") {
                break;
            }
        }
        Ok(Statement::CreateExtension(CreateExtension { name, if_not_exists, schema }))
    }
}

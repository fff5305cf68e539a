//! `EXPLAIN` and the statements that look after tables.

use sqlparser::tokenizer::Token;

use braid_types::{Error, Result, SqlState};

use super::Cursor;
use crate::ast::{Explain, ExplainFormat, ObjectName, Statement};

impl Cursor<'_> {
    /// `EXPLAIN …`.
    pub(crate) fn explain(&mut self) -> Result<Statement> {
        self.advance();
        let mut explain = Explain {
            analyze: false,
            verbose: false,
            costs: true,
            options: Vec::new(),
            format: ExplainFormat::Text,
            statement: Statement::NoOp("EXPLAIN"),
        };
        let has_list = *self.peek() == Token::LParen
            && *self.peek_nth(1) != Token::LParen
            && !["select", "values", "with"].iter().any(|word| self.nth_is(1, word));
        if has_list {
            self.explain_options(&mut explain)?;
        } else {
            explain.analyze = self.take("analyze") || self.take("analyse");
            explain.verbose = self.take("verbose");
        }
        explain.statement = match self.peek_word() {
            _ if self.at_row_statement() => self.row_statement()?,
            Some("execute") => self.execute()?,
            Some("declare") => self.declare_cursor()?,
            Some("create") => match self.create()? {
                statement @ Statement::CreateTable(_) => statement,
                _ => return Err(self.unsupported("EXPLAIN of this statement")),
            },
            _ => return Err(self.unexpected()),
        };
        Ok(Statement::Explain(Box::new(explain)))
    }

    fn explain_options(&mut self, explain: &mut Explain) -> Result<()> {
        self.expect_symbol(&Token::LParen)?;
        loop {
            let span = self.span();
            let name = self.label()?.value;
            let value = match self.peek() {
                Token::Comma | Token::RParen => None,
                _ => Some(self.setting_value()?.to_ascii_lowercase()),
            };
            if name == "format" {
                explain.format = match value.as_deref() {
                    Some("text") => ExplainFormat::Text,
                    Some("json") => ExplainFormat::Json,
                    Some("xml") => ExplainFormat::Xml,
                    Some("yaml") => ExplainFormat::Yaml,
                    other => {
                        let other = other.unwrap_or("");
                        let message = format!(
                            "unrecognized value for EXPLAIN option \"format\": \"{other}\""
                        );
                        return Err(Error::new(SqlState::InvalidParameterValue, message)
                            .position(crate::offset_of(span)));
                    }
                };
            } else {
                self.explain_switch(explain, name, value, span)?;
            }
            if !self.take_symbol(&Token::Comma) {
                return self.expect_symbol(&Token::RParen);
            }
        }
    }

    fn explain_switch(
        &mut self,
        explain: &mut Explain,
        name: String,
        value: Option<String>,
        span: sqlparser::tokenizer::Span,
    ) -> Result<()> {
        let on = match value.as_deref() {
            None | Some("true" | "on" | "1") => true,
            Some("false" | "off" | "0") => false,
            Some(_) => {
                let message = format!("{name} requires a Boolean value");
                return Err(
                    Error::new(SqlState::SyntaxError, message).position(crate::offset_of(span))
                );
            }
        };
        match name.as_str() {
            "analyze" => explain.analyze = on,
            "verbose" => explain.verbose = on,
            "costs" => explain.costs = on,
            "settings" | "buffers" | "wal" | "timing" | "summary" | "spans" | "generic_plan" => {
                explain.options.push((name, on));
            }
            _ => {
                let message = format!("unrecognized EXPLAIN option \"{name}\"");
                return Err(
                    Error::new(SqlState::SyntaxError, message).position(crate::offset_of(span))
                );
            }
        }
        Ok(())
    }

    /// Tables, each perhaps with a list of columns, which changes nothing.
    fn tables_with_columns(&mut self) -> Result<Vec<ObjectName>> {
        if self.at_end() {
            return Ok(Vec::new());
        }
        self.list(|cursor| {
            let name = cursor.object_name()?;
            if *cursor.peek() == Token::LParen {
                cursor.columns()?;
            }
            Ok(name)
        })
    }

    /// `(option [value], …)` of `ANALYZE` and `VACUUM`; tells whether `ANALYZE` is among them.
    fn maintenance_options(&mut self) -> Result<bool> {
        let mut analyze = false;
        let options = self.parens(|cursor| {
            let name = cursor.label()?.value;
            let value = match cursor.peek() {
                Token::Comma | Token::RParen => None,
                _ => Some(cursor.setting_value()?),
            };
            Ok((name, value))
        })?;
        for (name, value) in options {
            let off = matches!(value.as_deref(), Some("false" | "off" | "0"));
            analyze |= name == "analyze" && !off;
        }
        Ok(analyze)
    }

    /// `ANALYZE`.
    pub(crate) fn analyze(&mut self) -> Result<Statement> {
        self.advance();
        if *self.peek() == Token::LParen {
            self.maintenance_options()?;
        } else {
            self.take("verbose");
        }
        Ok(Statement::Analyze(self.tables_with_columns()?))
    }

    /// `VACUUM`.
    pub(crate) fn vacuum(&mut self) -> Result<Statement> {
        self.advance();
        let mut analyze = false;
        if *self.peek() == Token::LParen {
            analyze = self.maintenance_options()?;
        } else {
            self.take("full");
            self.take("freeze");
            self.take("verbose");
            analyze |= self.take("analyze") || self.take("analyse");
        }
        Ok(Statement::Vacuum { analyze, tables: self.tables_with_columns()? })
    }

    /// `CHECK TABLE`.
    pub(crate) fn check_table(&mut self) -> Result<Statement> {
        self.advance();
        self.expect("table")?;
        Ok(Statement::CheckTable(self.object_name()?))
    }

    /// `LISTEN`, `UNLISTEN` and `NOTIFY`.
    pub(crate) fn notifications(&mut self) -> Result<Statement> {
        if self.take("listen") {
            return Ok(Statement::Listen(self.ident()?));
        }
        if self.take("unlisten") {
            let all = self.take_symbol(&Token::Mul);
            return Ok(Statement::Unlisten(if all { None } else { Some(self.ident()?) }));
        }
        self.expect("notify")?;
        let channel = self.ident()?;
        let payload = if self.take_symbol(&Token::Comma) { Some(self.string()?) } else { None };
        Ok(Statement::Notify { channel, payload })
    }
}

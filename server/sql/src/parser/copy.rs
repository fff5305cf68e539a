//! `COPY`, with its options in the list of today and in the words of old.

use sqlparser::ast::Ident;
use sqlparser::tokenizer::Token;

use braid_types::{Error, Result, SqlState};

use super::Cursor;
use crate::ast::{Copy, CopyDirection, CopyFormat, CopyOptions, CopySource, Statement};

impl Cursor<'_> {
    /// `COPY …`.
    pub(crate) fn copy(&mut self) -> Result<Statement> {
        self.advance();
        let source = if self.take_symbol(&Token::LParen) {
            if !self.at_row_statement() {
                return Err(self.unexpected());
            }
            let statement = self.row_statement()?;
            self.expect_symbol(&Token::RParen)?;
            CopySource::Query(Box::new(statement))
        } else {
            let name = self.object_name()?;
            let columns = if *self.peek() == Token::LParen { self.columns()? } else { Vec::new() };
            CopySource::Table { name, columns }
        };
        let from = match self.take_one(&["from", "to"]) {
            Some(0) if matches!(source, CopySource::Table { .. }) => true,
            Some(1) => false,
            _ => return Err(self.unexpected()),
        };
        let direction = self.copy_direction(from)?;
        let mut options = CopyOptions::default();
        self.take("with");
        if *self.peek() == Token::LParen {
            self.copy_option_list(&mut options)?;
        } else {
            while self.copy_old_option(&mut options)? {}
        }
        let selection = if from { self.selection()? } else { None };
        Ok(Statement::Copy(Box::new(Copy { source, direction, options, selection })))
    }

    fn copy_direction(&mut self, from: bool) -> Result<CopyDirection> {
        match self.peek() {
            Token::SingleQuotedString(_) => {
                return Err(self
                    .unsupported("COPY with a file on the server")
                    .hint("Use COPY FROM STDIN or TO STDOUT, or psql's \\copy command."));
            }
            Token::Word(_) if self.is("program") => {
                return Err(self.unsupported("COPY with a program"));
            }
            _ => {}
        }
        // PostgreSQL takes either word for either direction.
        match self.take_one(&["stdin", "stdout"]) {
            Some(_) if from => Ok(CopyDirection::FromStdin),
            Some(_) => Ok(CopyDirection::ToStdout),
            None => Err(self.unexpected()),
        }
    }

    fn copy_option_list(&mut self, options: &mut CopyOptions) -> Result<()> {
        self.expect_symbol(&Token::LParen)?;
        loop {
            self.copy_option(options)?;
            if !self.take_symbol(&Token::Comma) {
                return self.expect_symbol(&Token::RParen);
            }
        }
    }

    /// One option of `WITH (…)`.
    fn copy_option(&mut self, options: &mut CopyOptions) -> Result<()> {
        let span = self.span();
        let name = self.label()?.value;
        match name.as_str() {
            "format" => {
                let format = self.setting_value()?;
                options.format =
                    copy_format(&format).map_err(|error| error.position(crate::offset_of(span)))?;
            }
            "delimiter" => options.delimiter = Some(self.setting_value()?),
            "null" => options.null = Some(self.setting_value()?),
            "default" => options.default = Some(self.setting_value()?),
            "quote" => options.quote = Some(self.setting_value()?),
            "escape" => options.escape = Some(self.setting_value()?),
            "encoding" => options.encoding = Some(self.setting_value()?),
            "header" if self.take("match") => {
                (options.header, options.header_match) = (true, true);
            }
            "header" => options.header = self.copy_switch("header")?,
            "freeze" => options.freeze = self.copy_switch("freeze")?,
            "force_quote" => options.force_quote = Some(self.copy_columns(true)?),
            "force_not_null" => options.force_not_null = self.copy_columns(false)?,
            "force_null" => options.force_null = self.copy_columns(false)?,
            _ => {
                let message = format!("option \"{name}\" not recognized");
                return Err(
                    Error::new(SqlState::SyntaxError, message).position(crate::offset_of(span))
                );
            }
        }
        Ok(())
    }

    fn copy_switch(&mut self, name: &str) -> Result<bool> {
        if matches!(self.peek(), Token::Comma | Token::RParen) {
            return Ok(true);
        }
        match self.setting_value()?.to_ascii_lowercase().as_str() {
            "true" | "on" | "1" => Ok(true),
            "false" | "off" | "0" => Ok(false),
            _ => Err(Error::new(SqlState::SyntaxError, format!("{name} requires a Boolean value"))),
        }
    }

    /// `(columns)`, or `*` where that means all of them.
    fn copy_columns(&mut self, star: bool) -> Result<Vec<Ident>> {
        if star && self.take_symbol(&Token::Mul) { Ok(Vec::new()) } else { self.columns() }
    }

    /// One of the options from before the list; false when none is next.
    fn copy_old_option(&mut self, options: &mut CopyOptions) -> Result<bool> {
        if self.take("binary") {
            options.format = CopyFormat::Binary;
        } else if self.take("csv") {
            options.format = CopyFormat::Csv;
        } else if self.take("header") {
            options.header = true;
        } else if self.take("freeze") {
            options.freeze = true;
        } else if self.take("delimiter") || self.take("delimiters") {
            self.take("as");
            options.delimiter = Some(self.string()?);
        } else if self.take("null") {
            self.take("as");
            options.null = Some(self.string()?);
        } else if self.take("quote") {
            self.take("as");
            options.quote = Some(self.string()?);
        } else if self.take("escape") {
            self.take("as");
            options.escape = Some(self.string()?);
        } else if self.take("encoding") {
            options.encoding = Some(self.string()?);
        } else if self.take_all(&["force", "quote"]) {
            let all = self.take_symbol(&Token::Mul);
            options.force_quote = Some(if all { Vec::new() } else { self.list(Self::ident)? });
        } else if self.take_all(&["force", "not", "null"]) {
            options.force_not_null = self.list(Self::ident)?;
        } else if self.take_all(&["force", "null"]) {
            options.force_null = self.list(Self::ident)?;
        } else {
            return Ok(false);
        }
        Ok(true)
    }
}

fn copy_format(name: &str) -> Result<CopyFormat> {
    match name {
        "text" => Ok(CopyFormat::Text),
        "csv" => Ok(CopyFormat::Csv),
        "binary" => Ok(CopyFormat::Binary),
        _ => Err(Error::new(
            SqlState::InvalidParameterValue,
            format!("COPY format \"{name}\" not recognized"),
        )),
    }
}

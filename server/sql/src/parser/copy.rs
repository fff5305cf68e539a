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
        if matches!(source, CopySource::Query(_)) && !self.is("to") {
            return Err(self.unexpected());
        }
        let from = match self.take_one(&["from", "to"]) {
            Some(which) => which == 0,
            None => return Err(self.unexpected()),
        };
        let direction = self.copy_direction(from)?;
        let mut options = CopyOptions::default();
        self.take("with");
        if *self.peek() == Token::LParen {
            self.copy_option_list(&mut options)?;
        } else {
            let mut seen = Seen::default();
            while self.copy_old_option(&mut options, &mut seen)? {}
        }
        if !from && matches!(source, CopySource::Table { .. }) && self.is("where") {
            let message = "WHERE clause not allowed with COPY TO";
            let at = crate::offset_of(self.span());
            return Err(Error::new(SqlState::SyntaxError, message).position(at));
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
        let mut seen = Seen::default();
        loop {
            self.copy_option(options, &mut seen)?;
            if !self.take_symbol(&Token::Comma) {
                return self.expect_symbol(&Token::RParen);
            }
        }
    }

    /// One option of `WITH (…)`.
    fn copy_option(&mut self, options: &mut CopyOptions, seen: &mut Seen) -> Result<()> {
        let at = crate::offset_of(self.span());
        let name = self.label()?.value;
        seen.note(&name, at)?;
        match name.as_str() {
            "format" => {
                let format = self.setting_value()?;
                options.format = copy_format(&format).map_err(|error| error.position(at))?;
            }
            "delimiter" => options.delimiter = Some(self.setting_value()?),
            "null" => options.null = Some(self.setting_value()?),
            "quote" => options.quote = Some(self.setting_value()?),
            "escape" => options.escape = Some(self.setting_value()?),
            "encoding" => {
                let encoding = self.setting_value()?;
                check_encoding(&encoding).map_err(|error| error.position(at))?;
                options.encoding = Some(encoding);
            }
            "header" if self.take("match") => {
                (options.header, options.header_match) = (true, true);
            }
            "header" => {
                let wanted = "header requires a Boolean value or \"match\"";
                options.header = self.copy_switch(wanted)?;
            }
            "freeze" => options.freeze = self.copy_switch("freeze requires a Boolean value")?,
            "force_quote" => options.force_quote = Some(self.copy_columns(true, &name, at)?),
            "force_not_null" => {
                options.force_not_null = Some(self.copy_columns(false, &name, at)?);
            }
            "force_null" => options.force_null = Some(self.copy_columns(false, &name, at)?),
            _ => {
                let message = format!("option \"{name}\" not recognized");
                return Err(Error::new(SqlState::SyntaxError, message).position(at));
            }
        }
        Ok(())
    }

    fn copy_switch(&mut self, wanted: &str) -> Result<bool> {
        if matches!(self.peek(), Token::Comma | Token::RParen) {
            return Ok(true);
        }
        match self.setting_value()?.to_ascii_lowercase().as_str() {
            "true" | "on" | "1" => Ok(true),
            "false" | "off" | "0" => Ok(false),
            _ => Err(Error::new(SqlState::SyntaxError, wanted)),
        }
    }

    /// `(columns)`, or `*` where that means all of them.
    fn copy_columns(&mut self, star: bool, option: &str, at: u32) -> Result<Vec<Ident>> {
        if star && self.take_symbol(&Token::Mul) {
            return Ok(Vec::new());
        }
        if *self.peek() != Token::LParen {
            let message = format!("argument to option \"{option}\" must be a list of column names");
            return Err(Error::new(SqlState::InvalidParameterValue, message).position(at));
        }
        self.columns()
    }

    /// One of the options from before the list; false when none is next.
    fn copy_old_option(&mut self, options: &mut CopyOptions, seen: &mut Seen) -> Result<bool> {
        let at = crate::offset_of(self.span());
        let name = if self.take("binary") {
            options.format = CopyFormat::Binary;
            "format"
        } else if self.take("csv") {
            options.format = CopyFormat::Csv;
            "format"
        } else if self.take("header") {
            options.header = true;
            "header"
        } else if self.take("freeze") {
            options.freeze = true;
            "freeze"
        } else if self.take_all(&["using", "delimiters"])
            || self.take("delimiter")
            || self.take("delimiters")
        {
            self.take("as");
            options.delimiter = Some(self.string()?);
            "delimiter"
        } else if self.take("null") {
            self.take("as");
            options.null = Some(self.string()?);
            "null"
        } else if self.take("quote") {
            self.take("as");
            options.quote = Some(self.string()?);
            "quote"
        } else if self.take("escape") {
            self.take("as");
            options.escape = Some(self.string()?);
            "escape"
        } else if self.take("encoding") {
            let encoding = self.string()?;
            check_encoding(&encoding).map_err(|error| error.position(at))?;
            options.encoding = Some(encoding);
            "encoding"
        } else {
            return self.copy_old_force(options, seen, at);
        };
        seen.note(name, at)?;
        Ok(true)
    }

    /// `FORCE …` of the options from before the list.
    fn copy_old_force(
        &mut self,
        options: &mut CopyOptions,
        seen: &mut Seen,
        at: u32,
    ) -> Result<bool> {
        let name = if self.take_all(&["force", "quote"]) {
            let all = self.take_symbol(&Token::Mul);
            options.force_quote = Some(if all { Vec::new() } else { self.list(Self::ident)? });
            "force_quote"
        } else if self.take_all(&["force", "not", "null"]) {
            options.force_not_null = Some(self.list(Self::ident)?);
            "force_not_null"
        } else if self.take_all(&["force", "null"]) {
            options.force_null = Some(self.list(Self::ident)?);
            "force_null"
        } else {
            return Ok(false);
        };
        seen.note(name, at)?;
        Ok(true)
    }
}

/// The options that were given already.
#[derive(Default)]
struct Seen(Vec<String>);

impl Seen {
    /// 42601 if an option comes for the second time.
    fn note(&mut self, name: &str, at: u32) -> Result<()> {
        if self.0.iter().any(|other| other == name) {
            let message = "conflicting or redundant options";
            return Err(Error::new(SqlState::SyntaxError, message).position(at));
        }
        self.0.push(name.to_owned());
        Ok(())
    }
}

/// The encodings that PostgreSQL has names for, in lower case and without punctuation.
const ENCODINGS: &str = "abc alt big5 euccn eucjis2004 eucjp euckr euctw gb18030 gbk iso88591 \
    iso885910 iso885913 iso885914 iso885915 iso885916 iso88592 iso88593 iso88594 iso88595 iso88596 \
    iso88597 iso88598 iso88599 johab koi8 koi8r koi8u latin1 latin10 latin2 latin3 latin4 latin5 \
    latin6 latin7 latin8 latin9 mskanji muleinternal shiftjis shiftjis2004 sjis sqlascii tcvn \
    tcvn5712 uhc unicode utf8 vscii win win1250 win1251 win1252 win1253 win1254 win1255 win1256 \
    win1257 win1258 win866 win874 win932 win936 win949 win950 windows1250 windows1251 \
    windows1252 windows1253 windows1254 windows1255 windows1256 windows1257 windows1258 \
    windows866 windows874 windows932 windows936 windows949 windows950";

/// 22023 unless PostgreSQL knows an encoding of this name.
fn check_encoding(name: &str) -> Result<()> {
    let plain: String = name.chars().filter(char::is_ascii_alphanumeric).collect();
    if ENCODINGS.split_ascii_whitespace().any(|known| known.eq_ignore_ascii_case(&plain)) {
        return Ok(());
    }
    let message = "argument to option \"encoding\" must be a valid encoding name";
    Err(Error::new(SqlState::InvalidParameterValue, message))
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

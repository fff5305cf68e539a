//! `COPY`, with its options in the list of today and in the words of old.

use sqlparser::ast::Ident;
use sqlparser::tokenizer::Token;

use braid_types::{Error, Result, SqlState};

use super::set::parse_setting_value;
use crate::ast::{Copy, CopyDirection, CopyFormat, CopyOptions, CopySource, Statement};
use crate::parser::Cursor;
use crate::parser::clauses::{parse_selection, redundant_options};
use crate::parser::names::{
    parse_columns, parse_ident, parse_label, parse_object_name, parse_string,
};
use crate::parser::row_statement::{at_row_statement, parse_row_statement, refuse_into};

/// `COPY …`.
pub(crate) fn parse_copy(cursor: &mut Cursor<'_>) -> Result<Statement> {
    cursor.advance();
    let mut is_binary = false;
    let source = if cursor.take_symbol(&Token::LParen) {
        if !at_row_statement(cursor) {
            return Err(cursor.unexpected());
        }
        let mut statement = parse_row_statement(cursor)?;
        if let Statement::Query(query) = &mut statement {
            let message = "COPY (SELECT INTO) is not supported";
            refuse_into(query, (SqlState::FeatureNotSupported, message))?;
        }
        cursor.expect_symbol(&Token::RParen)?;
        CopySource::Query(Box::new(statement))
    } else {
        // `COPY BINARY t` is the form of old dumps; a table may have that name as well.
        let is_table = cursor.nth_is(1, "from") || cursor.nth_is(1, "to");
        is_binary =
            !is_table && matches!(cursor.peek_nth(1), Token::Word(_)) && cursor.take("binary");
        let name = parse_object_name(cursor)?;
        let columns =
            if *cursor.peek() == Token::LParen { parse_columns(cursor)? } else { Vec::new() };
        CopySource::Table { name, columns }
    };
    if matches!(source, CopySource::Query(_)) && !cursor.is("to") {
        return Err(cursor.unexpected());
    }
    let from = match cursor.take_one(&["from", "to"]) {
        Some(which) => which == 0,
        None => return Err(cursor.unexpected()),
    };
    let direction = if from { CopyDirection::FromStdin } else { CopyDirection::ToStdout };
    let file = parse_copy_end(cursor)?;
    let mut options = CopyOptions::default();
    if is_binary {
        options.format = CopyFormat::Binary;
    }
    cursor.take("with");
    if *cursor.peek() == Token::LParen {
        parse_copy_option_list(cursor, &mut options)?;
    } else {
        let mut seen = Seen::default();
        while parse_copy_old_option(cursor, &mut options, &mut seen)? {}
    }
    if !from && matches!(source, CopySource::Table { .. }) && cursor.is("where") {
        let message = "WHERE clause not allowed with COPY TO";
        let at = crate::offset_of(cursor.span());
        return Err(Error::new(SqlState::SyntaxError, message).position(at));
    }
    let selection = if from { parse_selection(cursor)? } else { None };
    Ok(Statement::Copy(Box::new(Copy { source, direction, file, options, selection })))
}

/// `STDIN`, `STDOUT` or the name of a file.
fn parse_copy_end(cursor: &mut Cursor<'_>) -> Result<Option<String>> {
    match cursor.peek() {
        Token::Word(_) if cursor.is("program") => Err(cursor.unsupported("COPY with a program")),
        // PostgreSQL takes either word for either direction.
        Token::Word(_) => match cursor.take_one(&["stdin", "stdout"]) {
            Some(_) => Ok(None),
            None => Err(cursor.unexpected()),
        },
        _ => Ok(Some(parse_string(cursor)?)),
    }
}

fn parse_copy_option_list(cursor: &mut Cursor<'_>, options: &mut CopyOptions) -> Result<()> {
    cursor.expect_symbol(&Token::LParen)?;
    let mut seen = Seen::default();
    loop {
        parse_copy_option(cursor, options, &mut seen)?;
        if !cursor.take_symbol(&Token::Comma) {
            return cursor.expect_symbol(&Token::RParen);
        }
    }
}

/// One option of `WITH (…)`.
fn parse_copy_option(
    cursor: &mut Cursor<'_>,
    options: &mut CopyOptions,
    seen: &mut Seen,
) -> Result<()> {
    let at = crate::offset_of(cursor.span());
    let name = parse_label(cursor)?.value;
    seen.note(&name, at)?;
    match name.as_str() {
        "format" => {
            let format = parse_setting_value(cursor)?;
            options.format = copy_format(&format).map_err(|error| error.position(at))?;
        }
        "delimiter" => options.delimiter = Some(parse_setting_value(cursor)?),
        "null" => options.null = Some(parse_setting_value(cursor)?),
        "quote" => options.quote = Some(parse_setting_value(cursor)?),
        "escape" => options.escape = Some(parse_setting_value(cursor)?),
        "encoding" => {
            let encoding = parse_setting_value(cursor)?;
            check_encoding(&encoding).map_err(|error| error.position(at))?;
            options.encoding = Some(encoding);
        }
        "header" if cursor.take("match") => {
            (options.header, options.header_match) = (true, true);
        }
        "header" => {
            let wanted = "header requires a Boolean value or \"match\"";
            options.header = parse_copy_switch(cursor, wanted)?;
        }
        "freeze" => options.freeze = parse_copy_switch(cursor, "freeze requires a Boolean value")?,
        "force_quote" => options.force_quote = Some(parse_copy_columns(cursor, true, &name, at)?),
        "force_not_null" => {
            options.force_not_null = Some(parse_copy_columns(cursor, false, &name, at)?);
        }
        "force_null" => options.force_null = Some(parse_copy_columns(cursor, false, &name, at)?),
        _ => {
            let message = format!("option \"{name}\" not recognized");
            return Err(Error::new(SqlState::SyntaxError, message).position(at));
        }
    }
    Ok(())
}

fn parse_copy_switch(cursor: &mut Cursor<'_>, wanted: &str) -> Result<bool> {
    if matches!(cursor.peek(), Token::Comma | Token::RParen) {
        return Ok(true);
    }
    match parse_setting_value(cursor)?.to_ascii_lowercase().as_str() {
        "true" | "on" | "1" => Ok(true),
        "false" | "off" | "0" => Ok(false),
        _ => Err(Error::new(SqlState::SyntaxError, wanted)),
    }
}

/// `(columns)`, or `*` where that means all of them.
fn parse_copy_columns(
    cursor: &mut Cursor<'_>,
    star: bool,
    option: &str,
    at: u32,
) -> Result<Vec<Ident>> {
    if star && cursor.take_symbol(&Token::Mul) {
        return Ok(Vec::new());
    }
    if *cursor.peek() != Token::LParen {
        let message = format!("argument to option \"{option}\" must be a list of column names");
        return Err(Error::new(SqlState::InvalidParameterValue, message).position(at));
    }
    parse_columns(cursor)
}

/// One of the options from before the list; false when none is next.
fn parse_copy_old_option(
    cursor: &mut Cursor<'_>,
    options: &mut CopyOptions,
    seen: &mut Seen,
) -> Result<bool> {
    let at = crate::offset_of(cursor.span());
    let name = if cursor.take("binary") {
        options.format = CopyFormat::Binary;
        "format"
    } else if cursor.take("csv") {
        options.format = CopyFormat::Csv;
        "format"
    } else if cursor.take("header") {
        options.header = true;
        "header"
    } else if cursor.take("freeze") {
        options.freeze = true;
        "freeze"
    } else if cursor.take_all(&["using", "delimiters"])
        || cursor.take("delimiter")
        || cursor.take("delimiters")
    {
        cursor.take("as");
        options.delimiter = Some(parse_string(cursor)?);
        "delimiter"
    } else if cursor.take("null") {
        cursor.take("as");
        options.null = Some(parse_string(cursor)?);
        "null"
    } else if cursor.take("quote") {
        cursor.take("as");
        options.quote = Some(parse_string(cursor)?);
        "quote"
    } else if cursor.take("escape") {
        cursor.take("as");
        options.escape = Some(parse_string(cursor)?);
        "escape"
    } else if cursor.take("encoding") {
        let encoding = parse_string(cursor)?;
        check_encoding(&encoding).map_err(|error| error.position(at))?;
        options.encoding = Some(encoding);
        "encoding"
    } else {
        return parse_copy_old_force(cursor, options, seen, at);
    };
    seen.note(name, at)?;
    Ok(true)
}

/// `FORCE …` of the options from before the list.
fn parse_copy_old_force(
    cursor: &mut Cursor<'_>,
    options: &mut CopyOptions,
    seen: &mut Seen,
    at: u32,
) -> Result<bool> {
    let name = if cursor.take_all(&["force", "quote"]) {
        let all = cursor.take_symbol(&Token::Mul);
        options.force_quote = Some(if all { Vec::new() } else { cursor.list(parse_ident)? });
        "force_quote"
    } else if cursor.take_all(&["force", "not", "null"]) {
        options.force_not_null = Some(cursor.list(parse_ident)?);
        "force_not_null"
    } else if cursor.take_all(&["force", "null"]) {
        options.force_null = Some(cursor.list(parse_ident)?);
        "force_null"
    } else {
        return Ok(false);
    };
    seen.note(name, at)?;
    Ok(true)
}

/// The options that were given already.
#[derive(Default)]
struct Seen(Vec<String>);

impl Seen {
    /// 42601 if an option comes for the second time.
    fn note(&mut self, name: &str, at: u32) -> Result<()> {
        if self.0.iter().any(|other| other == name) {
            return Err(redundant_options(at));
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

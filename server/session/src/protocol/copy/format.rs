//! The options of COPY, checked.

use braid_sql::ast::{CopyDirection, CopyFormat, CopyOptions};
use braid_types::encoding::{Encoding, Tables};
use braid_types::{Error, Result, SqlState};

/// How lines and fields look.
#[derive(Clone, Debug)]
pub(crate) struct Format {
    pub binary: bool,
    pub csv: bool,
    pub delimiter: u8,
    pub null: String,
    pub header: bool,
    pub header_match: bool,
    pub quote: u8,
    pub escape: u8,
    /// `ENCODING`
    encoding: Option<&'static Encoding>,
}

fn invalid(message: impl Into<String>) -> Error {
    Error::new(SqlState::InvalidParameterValue, message)
}

fn refused(message: impl Into<String>) -> Error {
    Error::new(SqlState::FeatureNotSupported, message)
}

fn single_byte(what: &str, text: &str) -> Result<u8> {
    match text.as_bytes() {
        [byte] => Ok(*byte),
        _ => Err(refused(format!("COPY {what} must be a single one-byte character"))),
    }
}

/// The encoding that COPY names. 0A000 for one that is not converted here.
fn encoding_of(options: &CopyOptions) -> Result<Option<&'static Encoding>> {
    let Some(name) = &options.encoding else { return Ok(None) };
    let found = Encoding::named(name).filter(|found| found.tables != Tables::Missing);
    let unsupported = || Error::unsupported(format!("COPY encoding \"{name}\""));
    found.map(Some).ok_or_else(unsupported)
}

/// Options that belong to csv, and to one direction.
fn check_csv_options(options: &CopyOptions, direction: CopyDirection, csv: bool) -> Result<()> {
    let columns = [
        ("force quote", options.force_quote.is_some(), CopyDirection::ToStdout),
        ("force not null", options.force_not_null.is_some(), CopyDirection::FromStdin),
        ("force null", options.force_null.is_some(), CopyDirection::FromStdin),
    ];
    for (what, is_given, wanted) in columns {
        if is_given && !csv {
            return Err(refused(format!("COPY {what} available only in CSV mode")));
        }
        if is_given && direction != wanted {
            let way = match wanted {
                CopyDirection::ToStdout => "COPY TO",
                CopyDirection::FromStdin => "COPY FROM",
            };
            return Err(refused(format!("COPY {what} only available using {way}")));
        }
    }
    Ok(())
}

/// The delimiter, and what stands for NULL.
fn delimiter_and_null(options: &CopyOptions, csv: bool) -> Result<(u8, String)> {
    let delimiter = match &options.delimiter {
        Some(text) => single_byte("delimiter", text)?,
        None if csv => b',',
        None => b'\t',
    };
    if matches!(delimiter, b'\n' | b'\r') {
        return Err(invalid("COPY delimiter cannot be newline or carriage return"));
    }
    let null = match &options.null {
        Some(text) if text.contains(['\n', '\r']) => {
            return Err(invalid("COPY null representation cannot use newline or carriage return"));
        }
        Some(text) => text.clone(),
        None => if csv { "" } else { "\\N" }.to_owned(),
    };
    if !csv && b"\\.abcdefghijklmnopqrstuvwxyz0123456789".contains(&delimiter) {
        return Err(invalid(format!("COPY delimiter cannot be \"{}\"", char::from(delimiter))));
    }
    Ok((delimiter, null))
}

/// Quote and escape.
fn quotes(options: &CopyOptions, csv: bool, delimiter: u8) -> Result<(u8, u8)> {
    let only = |what: &str| Err(refused(format!("COPY {what} available only in CSV mode")));
    if !csv && options.quote.is_some() {
        return only("quote");
    }
    let quote = options.quote.as_deref().map_or(Ok(b'"'), |q| single_byte("quote", q))?;
    if csv && quote == delimiter {
        return Err(invalid("COPY delimiter and quote must be different"));
    }
    if !csv && options.escape.is_some() {
        return only("escape");
    }
    let escape = options.escape.as_deref().map_or(Ok(quote), |e| single_byte("escape", e))?;
    Ok((quote, escape))
}

impl Format {
    /// Checks the options, in PostgreSQL's order; 42601, 0A000 or 22023 for what cannot be.
    pub(crate) fn new(options: &CopyOptions, direction: CopyDirection) -> Result<Format> {
        let csv = options.format == CopyFormat::Csv;
        let binary = options.format == CopyFormat::Binary;
        if options.header_match && direction == CopyDirection::ToStdout {
            return Err(refused("cannot use \"match\" with HEADER in COPY TO"));
        }
        for (what, is_given) in
            [("DELIMITER", options.delimiter.is_some()), ("NULL", options.null.is_some())]
        {
            if binary && is_given {
                let message = format!("cannot specify {what} in BINARY mode");
                return Err(Error::new(SqlState::SyntaxError, message));
            }
        }
        let (delimiter, null) = delimiter_and_null(options, csv)?;
        let header = options.header || options.header_match;
        if binary && header {
            return Err(refused("cannot specify HEADER in BINARY mode"));
        }
        let (quote, escape) = quotes(options, csv, delimiter)?;
        check_csv_options(options, direction, csv)?;
        if null.as_bytes().contains(&delimiter) {
            return Err(refused("COPY delimiter must not appear in the NULL specification"));
        }
        if csv && null.as_bytes().contains(&quote) {
            return Err(refused("CSV quote character must not appear in the NULL specification"));
        }
        let encoding = encoding_of(options)?;
        let header_match = options.header_match;
        Ok(Format { binary, csv, delimiter, null, header, header_match, quote, escape, encoding })
    }

    /// The encoding of the data, if it has to be converted: what COPY says, or the client's. In
    /// binary data only the texts are converted, one by one.
    pub(super) fn converted(&self, client: &'static Encoding) -> Option<&'static Encoding> {
        let encoding = self.encoding.unwrap_or(client);
        (!self.binary && encoding.converts()).then_some(encoding)
    }
}

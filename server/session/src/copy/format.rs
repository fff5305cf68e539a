//! The options of COPY, checked.

use braid_sql::ast::{CopyDirection, CopyFormat, CopyOptions};
use braid_types::{Error, Result, SqlState};

/// How lines and fields look.
#[derive(Clone, Debug)]
pub(crate) struct Format {
    pub csv: bool,
    pub delimiter: u8,
    pub null: String,
    pub header: bool,
    pub header_match: bool,
    pub quote: u8,
    pub escape: u8,
}

fn invalid(message: impl Into<String>) -> Error {
    Error::new(SqlState::InvalidParameterValue, message)
}

fn single_byte(what: &str, text: &str) -> Result<u8> {
    match text.as_bytes() {
        [byte] => Ok(*byte),
        _ => Err(Error::new(
            SqlState::FeatureNotSupported,
            format!("COPY {what} must be a single one-byte character"),
        )),
    }
}

impl Format {
    /// Checks the options; 0A000 or 22023 for what cannot be.
    pub(crate) fn new(options: &CopyOptions, direction: CopyDirection) -> Result<Format> {
        let csv = match options.format {
            CopyFormat::Text => false,
            CopyFormat::Csv => true,
            CopyFormat::Binary => return Err(Error::unsupported("COPY in binary format")),
        };
        if let Some(encoding) = &options.encoding
            && !matches!(encoding.to_ascii_lowercase().as_str(), "utf8" | "utf-8" | "unicode")
        {
            return Err(Error::unsupported(format!("COPY encoding \"{encoding}\"")));
        }
        if options.default.is_some() {
            return Err(Error::unsupported("the COPY option DEFAULT"));
        }
        if !csv && (options.quote.is_some() || options.escape.is_some()) {
            let what = if options.quote.is_some() { "quote" } else { "escape" };
            return Err(Error::new(
                SqlState::FeatureNotSupported,
                format!("COPY {what} available only in CSV mode"),
            ));
        }
        let delimiter = match &options.delimiter {
            Some(text) => single_byte("delimiter", text)?,
            None => {
                if csv {
                    b','
                } else {
                    b'\t'
                }
            }
        };
        if matches!(delimiter, b'\n' | b'\r') {
            return Err(invalid("COPY delimiter cannot be newline or carriage return"));
        }
        if !csv && b"\\.abcdefghijklmnopqrstuvwxyz0123456789".contains(&delimiter) {
            return Err(invalid(format!("COPY delimiter cannot be \"{}\"", char::from(delimiter))));
        }
        let null = match &options.null {
            Some(text) if text.contains(['\n', '\r']) => {
                return Err(invalid(
                    "COPY null representation cannot use newline or carriage return",
                ));
            }
            Some(text) => text.clone(),
            None => if csv { "" } else { "\\N" }.to_owned(),
        };
        if null.as_bytes().contains(&delimiter) {
            return Err(invalid("COPY delimiter must not appear in the NULL specification"));
        }
        let quote = options.quote.as_deref().map_or(Ok(b'"'), |q| single_byte("quote", q))?;
        let escape = options.escape.as_deref().map_or(Ok(quote), |e| single_byte("escape", e))?;
        if csv && quote == delimiter {
            return Err(invalid("COPY delimiter and quote must be different"));
        }
        if options.header_match && direction == CopyDirection::ToStdout {
            return Err(invalid("cannot use \"match\" with HEADER in COPY TO"));
        }
        let (header, header_match) = (options.header || options.header_match, options.header_match);
        Ok(Format { csv, delimiter, null, header, header_match, quote, escape })
    }
}

//! What the parser and the dictionaries make of a text: `ts_debug`, `ts_parse`, `ts_lexize`.

use braid_types::{Datum, Error, Result, Row, SqlState, SqlType, work};

use super::dictionary::Dictionary;
use super::documents::config_of;
use super::parser::{Parser, TOKENS, Token};
use crate::registry::tables::Registry;
use crate::sets::rows;
use crate::{Call, Rows};

/// The number of the only parser.
const PARSER: i64 = 3722;

fn check_parser(call: &Call<'_>) -> Result<()> {
    let is_default = match call.datum(0) {
        Datum::Int(oid) => *oid == PARSER,
        Datum::Text(name) => matches!(&**name, "default" | "pg_catalog.default"),
        _ => false,
    };
    if is_default {
        return Ok(());
    }
    let name = call.display(0);
    let message = format!("text search parser \"{name}\" does not exist");
    Err(Error::new(SqlState::UndefinedObject, message))
}

fn token_types(call: &Call<'_>) -> Result<Rows> {
    check_parser(call)?;
    rows(TOKENS.iter().map(|(token, name, description)| {
        Row::from([Datum::Int(*token as i64), Datum::text(*name), Datum::text(*description)])
    }))
}

fn tokens(text: &str) -> Result<Vec<(Token, String)>> {
    let (mut parser, mut found) = (Parser::new(text), Vec::new());
    while let Some((token, text)) = parser.token()? {
        work::spend_bytes(text.len())?;
        found.push((token, text.to_owned()));
    }
    Ok(found)
}

fn parse(call: &Call<'_>) -> Result<Rows> {
    check_parser(call)?;
    let found = tokens(call.text(1)?)?;
    rows(
        found
            .into_iter()
            .map(|(token, text)| Row::from([Datum::Int(token as i64), Datum::text(text)])),
    )
}

fn lexemes(dictionary: Dictionary, word: &str) -> Datum {
    let lexeme = dictionary.lexeme(word).map(Datum::text);
    Datum::array(SqlType::Text, lexeme.into_iter().collect())
}

fn debug(call: &Call<'_>) -> Result<Rows> {
    let config = config_of(call, 2)?;
    let found = tokens(call.text(call.args.len() - 1)?)?;
    rows(found.into_iter().map(move |(token, word)| {
        let known = TOKENS.iter().find(|(known, ..)| *known == token);
        let (name, description) = known.map_or(("", ""), |(_, name, what)| (*name, *what));
        let dictionary = config.dictionary(token);
        let of = dictionary.map(|one| Datum::Int(one.oid().into()));
        Row::from([
            Datum::text(name),
            Datum::text(description),
            Datum::text(&*word),
            Datum::array(SqlType::Regdictionary, of.clone().into_iter().collect()),
            of.unwrap_or(Datum::Null),
            dictionary.map_or(Datum::Null, |dictionary| lexemes(dictionary, &word)),
        ])
    }))
}

pub(super) fn register(registry: &mut Registry) {
    registry.add("ts_lexize(regdictionary, text) -> text[]", |c| {
        Ok(lexemes(Dictionary::by_oid(c.oid(0)?)?, c.text(1)?))
    });
    for signature in [
        "ts_token_type(oid) -> tokid int4, alias text, description text",
        "ts_token_type(text) -> tokid int4, alias text, description text",
    ] {
        registry.set(signature, token_types);
    }
    for signature in [
        "ts_parse(oid, text) -> tokid int4, token text",
        "ts_parse(text, text) -> tokid int4, token text",
    ] {
        registry.set(signature, parse);
    }
    for signature in [
        "ts_debug(text) -> alias text, description text, token text, \
         dictionaries regdictionary[], dictionary regdictionary, lexemes text[]",
        "ts_debug(regconfig, text) -> alias text, description text, token text, \
         dictionaries regdictionary[], dictionary regdictionary, lexemes text[]",
    ] {
        registry.set(signature, debug);
    }
}

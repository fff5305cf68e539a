//! Precisions of times that are larger than the largest one, which is taken in their place.

use braid_types::{Error, SqlState};
use sqlparser::tokenizer::{Token, TokenWithSpan};

use crate::lex::tokens::lex;
use crate::rewrite::words::position;

/// The most digits of a second's fraction.
const PRECISION_MAX: u64 = 6;

/// The warnings about precisions that a text of statements gives to types and functions of times,
/// in their order.
///
/// ```
/// let warnings = braid_sql::precision_warnings("SELECT now()::timestamp(7)");
/// assert_eq!(
///     warnings[0].message(),
///     "TIMESTAMP(7) precision reduced to maximum allowed, 6"
/// );
/// assert_eq!(warnings[0].fields().position, Some(15));
/// ```
pub fn precision_warnings(text: &str) -> Vec<Error> {
    if !may_have_any(text) {
        return Vec::new();
    }
    let tokens = lex(text).unwrap_or_default();
    let places = 0..tokens.len();
    places.filter_map(|place| warning_at(&tokens[place..])).collect()
}

/// Whether a number above the largest precision stands alone in parentheses.
fn may_have_any(text: &str) -> bool {
    text.split('(').skip(1).any(|rest| {
        let end = rest.find(')').unwrap_or(rest.len());
        rest[..end].trim().parse::<u64>().is_ok_and(|number| number > PRECISION_MAX)
    })
}

fn warning_at(tokens: &[TokenWithSpan]) -> Option<Error> {
    let first = tokens.first()?;
    let (name, has_zone, has_place) = match word(first)?.as_str() {
        "timestamp" => ("TIMESTAMP", false, true),
        "timestamptz" => ("TIMESTAMP", true, true),
        "time" => ("TIME", false, true),
        "timetz" => ("TIME", true, true),
        "interval" => ("INTERVAL", false, true),
        "current_timestamp" => ("TIMESTAMP", true, false),
        "localtimestamp" => ("TIMESTAMP", false, false),
        "current_time" => ("TIME", true, false),
        "localtime" => ("TIME", false, false),
        _ => return None,
    };
    let mut rest = &tokens[1..];
    if name == "INTERVAL" {
        // The fields stand between, as in `interval day to second(9)`.
        let fields = rest.iter().take_while(|token| word(token).is_some()).count();
        rest = &rest[fields..];
    }
    let [open, number, close, behind @ ..] = rest else { return None };
    let (Token::LParen, Token::Number(digits, _), Token::RParen) =
        (&open.token, &number.token, &close.token)
    else {
        return None;
    };
    let precision = digits.parse::<u64>().ok().filter(|number| *number > PRECISION_MAX)?;
    let zone = match has_zone || begins_with(behind, &["with", "time", "zone"]) {
        true => " WITH TIME ZONE",
        false => "",
    };
    let message =
        format!("{name}({precision}){zone} precision reduced to maximum allowed, {PRECISION_MAX}");
    let place = if has_place { position(first.span) } else { 0 };
    Some(Error::new(SqlState::InvalidParameterValue, message).position(place))
}

fn word(token: &TokenWithSpan) -> Option<String> {
    match &token.token {
        Token::Word(word) if word.quote_style.is_none() => Some(word.value.to_lowercase()),
        _ => None,
    }
}

fn begins_with(tokens: &[TokenWithSpan], words: &[&str]) -> bool {
    let written = tokens.iter().map(word);
    tokens.len() >= words.len()
        && written.zip(words).all(|(written, wanted)| written.as_deref() == Some(*wanted))
}

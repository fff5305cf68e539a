//! Pieces of SQL inside of a body: expressions, statements, and where their rows go.

use std::sync::Arc;

use braid_types::{Error, Result, SqlState};

use super::lexer::TokenKind;
use super::parser::Parser;
use super::tree::{EXPRESSION_PREFIX, Into, Slot, SlotKind, Sql, Step, Target, TypeText};

/// Where a piece of SQL ends, outside of brackets and CASE.
#[derive(Clone, Copy)]
pub(super) struct Until<'w> {
    /// Words.
    pub(super) words: &'w [&'w str],
    /// Symbols.
    pub(super) symbols: &'w [&'w str],
}

/// Up to the semicolon.
pub(super) const STATEMENT: Until<'static> = Until { words: &[], symbols: &[";"] };

/// An expression up to one of the ends, which stays. 42601 if there is none.
pub(super) fn expression(parser: &mut Parser<'_>, until: Until<'_>) -> Result<Sql> {
    let start = parser.start();
    let only = only_variable(parser, until);
    skip_to(parser, until)?;
    let text = parser.slice(start, parser.end_before().max(start));
    if text.trim().is_empty() {
        return Err(missing_expression(parser));
    }
    if let Err(error) = braid_sql::parse_expr(text) {
        // It may be the rest of a query: `total := sum(price) FROM item`.
        let query = braid_sql::parse_query(&format!("SELECT {text}"));
        query.map_err(|_| error.moved(parser.characters_before(start)))?;
    }
    Ok(piece(parser, format!("{EXPRESSION_PREFIX}{text}"), only))
}

fn missing_expression(parser: &Parser<'_>) -> Error {
    match parser.peek() {
        TokenKind::Symbol(";") => Error::new(SqlState::SyntaxError, "missing expression"),
        _ => parser.unexpected(),
    }
}

/// The variable that is the whole expression.
fn only_variable(parser: &Parser<'_>, until: Until<'_>) -> Option<Slot> {
    let TokenKind::Word(name) = parser.peek() else { return None };
    let ends = match parser.peek_at(1) {
        TokenKind::Symbol(symbol) => until.symbols.contains(symbol),
        TokenKind::Word(word) => until.words.contains(&word.as_str()),
        _ => false,
    };
    if !ends {
        return None;
    }
    parser.scope.find(std::slice::from_ref(name)).map(|(slot, _)| slot)
}

/// A numbered piece of SQL.
pub(super) fn piece(parser: &mut Parser<'_>, text: String, only: Option<Slot>) -> Sql {
    parser.pieces += 1;
    let variables = parser.scope.variables();
    Sql { text: Arc::from(text), number: parser.pieces - 1, variables, only, assigned: None }
}

/// Goes on to one of the ends.
pub(super) fn skip_to(parser: &mut Parser<'_>, until: Until<'_>) -> Result<()> {
    let (mut brackets, mut cases) = (0usize, 0usize);
    loop {
        match parser.peek() {
            TokenKind::End => {
                return Err(parser.unexpected());
            }
            TokenKind::Symbol(symbol) => {
                if brackets == 0 && until.symbols.contains(symbol) {
                    return Ok(());
                }
                match *symbol {
                    "(" | "[" => brackets += 1,
                    ")" | "]" if brackets == 0 => return Err(parser.unexpected()),
                    ")" | "]" => brackets -= 1,
                    ";" => return Err(parser.unexpected()),
                    _ => {}
                }
            }
            TokenKind::Word(word) => {
                if brackets == 0 && cases == 0 && until.words.contains(&word.as_str()) {
                    return Ok(());
                }
                match word.as_str() {
                    "case" => cases += 1,
                    "end" => cases = cases.saturating_sub(1),
                    _ => {}
                }
            }
            _ => {}
        }
        parser.advance();
    }
}

/// A statement of SQL up to its semicolon, which is taken, without its INTO.
pub(super) fn statement(parser: &mut Parser<'_>, prefix: &str) -> Result<(Sql, Option<Into>)> {
    let start = parser.start();
    let mut text = String::from(prefix);
    let (mut from, mut into, mut before) = (start, None, String::new());
    let is_plain = parser.is("create") || parser.is("alter") || parser.is("comment");
    loop {
        match parser.peek() {
            TokenKind::Symbol(";") => break,
            TokenKind::End => return Err(parser.unexpected()),
            TokenKind::Word(word) if word == "into" && into.is_none() && !is_plain => {
                if before == "insert" || before == "merge" {
                    before = word.clone();
                    parser.advance();
                    continue;
                }
                let start = parser.start();
                text.push_str(parser.slice(from, start));
                parser.advance();
                into = Some(parse_into(parser)?);
                from = parser.start();
                // Blanks, so that what follows keeps its place.
                text.extend(std::iter::repeat_n(' ', from - start));
                continue;
            }
            TokenKind::Symbol("(") => skip_brackets(parser)?,
            TokenKind::Word(word) => before = word.clone(),
            _ => before.clear(),
        }
        if !matches!(parser.peek(), TokenKind::Symbol(";")) {
            parser.advance();
        }
    }
    text.push_str(parser.slice(from, parser.start()));
    parser.expect_symbol(";")?;
    text.truncate(text.trim_end().len());
    let mut parsed = braid_sql::parse(&text).map_err(|error| {
        let prefixed = u32::try_from(prefix.chars().count()).unwrap_or(u32::MAX);
        error.moved(parser.characters_before(start)).moved_back(prefixed)
    })?;
    if parsed.len() != 1 {
        return Err(Error::new(SqlState::SyntaxError, "syntax error at or near \";\""));
    }
    drop(parsed.pop());
    Ok((piece(parser, text, None), into))
}

/// Goes from an opening bracket to the one that closes it.
fn skip_brackets(parser: &mut Parser<'_>) -> Result<()> {
    let mut depth = 0usize;
    loop {
        match parser.peek() {
            TokenKind::Symbol("(") => depth += 1,
            TokenKind::Symbol(")") => {
                depth -= 1;
                if depth == 0 {
                    return Ok(());
                }
            }
            TokenKind::End => return Err(parser.unexpected()),
            _ => {}
        }
        parser.advance();
    }
}

/// `[STRICT] target, …`, behind INTO.
pub(super) fn parse_into(parser: &mut Parser<'_>) -> Result<Into> {
    let strict = parser.take("strict");
    let mut targets = vec![target(parser)?];
    while parser.take_symbol(",") {
        targets.push(target(parser)?);
    }
    Ok(Into { strict, targets })
}

/// A variable, or a field of one. 42601 for a name that is no variable.
pub(super) fn target(parser: &mut Parser<'_>) -> Result<Target> {
    if *parser.peek() == TokenKind::Number {
        return numbered_parameter(parser).map(Target::Variable);
    }
    let start = parser.start();
    let mut parts = vec![parser.name()?];
    while parser.is_symbol(".") {
        parser.advance();
        parts.push(parser.name()?);
    }
    named_target(parser, &parts).map_err(|error| parser.at(start, error))
}

/// The parameter that `$n` means.
pub(super) fn numbered_parameter(parser: &mut Parser<'_>) -> Result<Slot> {
    let start = parser.start();
    parser.advance();
    let text = parser.slice(start, parser.end_before());
    let number = text.strip_prefix('$').and_then(|number| number.parse::<usize>().ok());
    let is_parameter =
        |slot: &usize| matches!(parser.scope.slots.get(*slot), Some(SlotKind::Parameter(_)));
    let slot = number.and_then(|number| number.checked_sub(1)).filter(is_parameter);
    slot.ok_or_else(|| {
        Error::new(SqlState::UndefinedParameter, format!("there is no parameter {text}"))
    })
}

/// The target of a name.
pub(super) fn named_target(parser: &Parser<'_>, parts: &[String]) -> Result<Target> {
    let Some((slot, used)) = parser.scope.find(parts) else {
        let message = format!("\"{}\" is not a known variable", parts.join("."));
        return Err(Error::new(SqlState::SyntaxError, message));
    };
    if parser.scope.constants.contains(&slot) {
        let message = format!("variable \"{}\" is declared CONSTANT", parts[..used].join("."));
        return Err(Error::new(SqlState::ErrorInAssignment, message));
    }
    match &parts[used..] {
        [] => Ok(Target::Variable(slot)),
        [field] => Ok(Target::Field(slot, field.clone())),
        fields => Ok(Target::Part(slot, fields.iter().cloned().map(Step::Field).collect())),
    }
}

/// Expressions between commas.
pub(super) fn parse_list(parser: &mut Parser<'_>, until: Until<'_>) -> Result<Vec<Sql>> {
    let mut list = vec![expression(parser, until)?];
    while parser.take_symbol(",") {
        list.push(expression(parser, until)?);
    }
    Ok(list)
}

/// The type of a variable.
pub(super) fn parse_type(parser: &mut Parser<'_>) -> Result<SlotKind> {
    let start = parser.start();
    let ends =
        Until { words: &["not", "default", "collate"], symbols: &[";", ":=", "=", "%", ",", ")"] };
    if parser.is("record") {
        parser.advance();
        return Ok(SlotKind::Record);
    }
    skip_to(parser, ends)?;
    let text = parser.slice(start, parser.end_before()).to_owned();
    if text.is_empty() {
        return Err(Error::new(SqlState::SyntaxError, "missing data type declaration"));
    }
    if !parser.take_symbol("%") {
        braid_sql::parse_data_type(&text).map_err(Error::without_position)?;
        return Ok(SlotKind::Typed(TypeText::Named(text)));
    }
    if parser.take("rowtype") {
        return Ok(SlotKind::Typed(TypeText::RowOf(text)));
    }
    parser.expect("type")?;
    let parts: Vec<String> = text.split('.').map(|part| part.trim().to_lowercase()).collect();
    Ok(SlotKind::Typed(match parser.scope.find(&parts) {
        Some((slot, used)) if used == parts.len() => TypeText::OfVariable(slot),
        _ => TypeText::OfColumn(text),
    }))
}

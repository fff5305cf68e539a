//! Cursors: declarations, OPEN, FETCH, MOVE, CLOSE, and loops over them.

use braid_exec::CursorStep;
use braid_types::{Error, Result, SqlState, SqlType};

use super::lexer::TokenKind;
use super::parser::Parser;
use super::sql_parser::{
    STATEMENT, Until, expression, numbered_parameter, parse_into, parse_list, parse_type, piece,
    skip_to,
};
use super::tree::{
    BoundCursor, Declaration, Direction, Kind, Opening, Rows, Slot, SlotKind, Sql, TypeText,
};

/// The arguments of a cursor with their values.
type Values = Vec<(Slot, Sql)>;

const ARGUMENT: Until<'static> = Until { words: &[], symbols: &[",", ")"] };

/// `[[NO] SCROLL] CURSOR [(arguments)] FOR query;`, or `None` if none is next.
pub(super) fn parse_cursor(
    parser: &mut Parser<'_>,
    label: Option<&str>,
    (name, line): (&str, u32),
) -> Result<Option<Declaration>> {
    let scroll = parse_scroll(parser);
    if !parser.take("cursor") {
        return if scroll.is_some() { Err(parser.unexpected()) } else { Ok(None) };
    }
    let mark = parser.scope.mark();
    let mut arguments = Vec::new();
    if parser.take_symbol("(") {
        loop {
            let argument = parser.name()?;
            let kind = parse_type(parser)?;
            let slot = parser.scope.declare(None, &argument, kind);
            arguments.push((argument, slot));
            if !parser.take_symbol(",") {
                break;
            }
        }
        parser.expect_symbol(")")?;
    }
    if !parser.take("for") {
        parser.expect("is")?;
    }
    let query = parse_query(parser)?;
    parser.expect_symbol(";")?;
    parser.scope.forget(mark);
    let kind = SlotKind::Fixed(SqlType::Refcursor);
    let slot = parser.scope.declare(label, name, kind);
    let cursor = BoundCursor { name: name.to_owned(), arguments, query, scroll };
    parser.scope.cursors.push((slot, cursor));
    let name = name.to_owned();
    Ok(Some(Declaration { slot, name, not_null: false, default: None, line }))
}

fn parse_scroll(parser: &mut Parser<'_>) -> Option<bool> {
    if parser.is("no") && parser.is_at(1, "scroll") {
        parser.advance();
        parser.advance();
        return Some(false);
    }
    parser.take("scroll").then_some(true)
}

/// A query up to the semicolon.
fn parse_query(parser: &mut Parser<'_>) -> Result<Sql> {
    let start = parser.start();
    skip_to(parser, STATEMENT)?;
    let text = parser.slice(start, parser.end_before().max(start)).to_owned();
    braid_sql::parse(&text).map_err(Error::without_position)?;
    Ok(piece(parser, text, None))
}

/// The variable of a cursor.
fn cursor(parser: &mut Parser<'_>) -> Result<Slot> {
    if *parser.peek() == TokenKind::Number {
        return numbered_parameter(parser);
    }
    let mut parts = vec![parser.name()?];
    while parser.take_symbol(".") {
        parts.push(parser.name()?);
    }
    let name = parts.join(".");
    match parser.scope.find(&parts) {
        Some((slot, used)) if used == parts.len() => match parser.scope.slots.get(slot) {
            Some(SlotKind::Record) => {
                let message = format!("variable \"{name}\" must be of type cursor or refcursor");
                Err(Error::new(SqlState::DatatypeMismatch, message))
            }
            _ => Ok(slot),
        },
        _ => {
            let message = format!("\"{name}\" is not a known variable");
            Err(Error::new(SqlState::SyntaxError, message))
        }
    }
}

/// The values of a cursor's arguments, by place or by name.
fn parse_arguments(parser: &mut Parser<'_>, slot: Slot) -> Result<Values> {
    let bound = parser.scope.cursors.iter().find(|(known, _)| *known == slot);
    let Some((_, bound)) = bound.cloned() else { return Err(parser.unexpected()) };
    let name = &bound.name;
    let wrong = |message: String| Err(Error::new(SqlState::SyntaxError, message));
    let mut values = Values::new();
    if parser.take_symbol("(") {
        if bound.arguments.is_empty() {
            return wrong(format!("cursor \"{name}\" has no arguments"));
        }
        loop {
            let is_named = matches!(parser.peek_at(1), TokenKind::Symbol(":="));
            let target = match is_named {
                true => {
                    let argument = parser.name()?;
                    parser.advance();
                    let known = bound.arguments.iter().find(|(known, _)| *known == argument);
                    let Some((_, target)) = known else {
                        return wrong(format!(
                            "cursor \"{name}\" has no argument named \"{argument}\""
                        ));
                    };
                    *target
                }
                false => match bound.arguments.get(values.len()) {
                    Some((_, target)) => *target,
                    None => return wrong(format!("too many arguments for cursor \"{name}\"")),
                },
            };
            if values.iter().any(|(known, _)| *known == target) {
                let argument = bound.arguments.iter().find(|(_, slot)| *slot == target);
                let argument = argument.map_or("", |(argument, _)| argument);
                return wrong(format!(
                    "value for parameter \"{argument}\" of cursor \"{name}\" specified more than \
                     once"
                ));
            }
            values.push((target, expression(parser, ARGUMENT)?));
            if !parser.take_symbol(",") {
                break;
            }
        }
        parser.expect_symbol(")")?;
    } else if !bound.arguments.is_empty() {
        return wrong(format!("cursor \"{name}\" has arguments"));
    }
    if values.len() < bound.arguments.len() {
        return wrong(format!("not enough arguments for cursor \"{name}\""));
    }
    Ok(values)
}

/// `OPEN`
pub(super) fn parse_open(parser: &mut Parser<'_>) -> Result<Kind> {
    parser.advance();
    let slot = cursor(parser)?;
    let is_bound = parser.scope.cursors.iter().any(|(known, _)| *known == slot);
    if is_bound {
        let values = parse_arguments(parser, slot)?;
        parser.expect_symbol(";")?;
        return Ok(Kind::Open(slot, Opening::Bound(values), None));
    }
    let scroll = parse_scroll(parser);
    parser.expect("for")?;
    let rows = parse_rows(parser)?;
    parser.expect_symbol(";")?;
    Ok(Kind::Open(slot, Opening::For(rows), scroll))
}

/// A query, or EXECUTE of one, up to the semicolon.
pub(super) fn parse_rows(parser: &mut Parser<'_>) -> Result<Rows> {
    if !parser.take("execute") {
        return Ok(Rows::Query(parse_query(parser)?));
    }
    let text = expression(parser, Until { words: &["using"], symbols: &[";"] })?;
    let mut using = Vec::new();
    if parser.take("using") {
        using = parse_list(parser, Until { words: &[], symbols: &[",", ";"] })?;
    }
    Ok(Rows::Execute(text, using))
}

/// `FETCH` (false) or `MOVE`.
pub(super) fn parse_fetch(parser: &mut Parser<'_>, is_move: bool) -> Result<Kind> {
    parser.advance();
    let (direction, is_many) = parse_direction(parser)?;
    if is_many && !is_move {
        let message = "FETCH statement cannot return multiple rows";
        return Err(Error::new(SqlState::FeatureNotSupported, message));
    }
    let slot = cursor(parser)?;
    if is_move {
        parser.expect_symbol(";")?;
        return Ok(Kind::Move(slot, direction));
    }
    parser.expect("into")?;
    let into = parse_into(parser)?;
    parser.expect_symbol(";")?;
    Ok(Kind::Fetch(slot, direction, into))
}

/// The direction, and whether it may pass several rows.
fn parse_direction(parser: &mut Parser<'_>) -> Result<(Direction, bool)> {
    const FROM: Until<'static> = Until { words: &["from", "in"], symbols: &[] };
    const ALL: i64 = i64::MAX;
    let fixed = |step: CursorStep| (Direction::Fixed(step), false);
    let many = |step: CursorStep| (Direction::Fixed(step), true);
    let TokenKind::Word(word) = parser.peek().clone() else {
        let is_parameter = parser.slice(parser.start(), parser.start() + 1) == "$";
        let ends = matches!(parser.peek_at(1), TokenKind::Symbol(";")) || parser.is_at(1, "into");
        return if is_parameter && ends {
            Ok(fixed(CursorStep::By(1)))
        } else {
            counted(parser, true)
        };
    };
    let is_name = matches!(parser.peek_at(1), TokenKind::Symbol(";"))
        || (parser.is_at(1, "into") && parser.scope.find(std::slice::from_ref(&word)).is_some());
    if is_name {
        return Ok(fixed(CursorStep::By(1)));
    }
    let found = match word.as_str() {
        "next" => fixed(CursorStep::By(1)),
        "prior" => fixed(CursorStep::By(-1)),
        "first" => fixed(CursorStep::To(1)),
        "last" => fixed(CursorStep::To(-1)),
        "all" => many(CursorStep::By(ALL)),
        "absolute" | "relative" => {
            parser.advance();
            let count = expression(parser, FROM)?;
            parser.advance();
            return Ok(match word.as_str() {
                "absolute" => (Direction::Absolute(count), false),
                _ => (Direction::Relative(count), false),
            });
        }
        "forward" | "backward" => {
            let forward = word == "forward";
            parser.advance();
            let step = if forward { 1 } else { -1 };
            if parser.take("all") {
                take_from(parser);
                return Ok(many(CursorStep::By(step * ALL)));
            }
            let is_bare = parser.is("from")
                || parser.is("in")
                || matches!(parser.peek(), TokenKind::Word(name)
                    if parser.scope.find(std::slice::from_ref(name)).is_some()
                        && !parser.is_at(1, "from") && !parser.is_at(1, "in"));
            if is_bare {
                take_from(parser);
                return Ok(fixed(CursorStep::By(step)));
            }
            return counted(parser, forward);
        }
        "from" | "in" => {
            parser.advance();
            return Ok(fixed(CursorStep::By(1)));
        }
        _ => return counted(parser, true),
    };
    parser.advance();
    take_from(parser);
    Ok(found)
}

fn take_from(parser: &mut Parser<'_>) {
    if !parser.take("from") {
        parser.take("in");
    }
}

/// A number of rows, before FROM.
fn counted(parser: &mut Parser<'_>, forward: bool) -> Result<(Direction, bool)> {
    let count = expression(parser, Until { words: &["from", "in"], symbols: &[] })?;
    parser.advance();
    Ok((Direction::Count(forward, count), true))
}

/// `CLOSE`
pub(super) fn parse_close(parser: &mut Parser<'_>) -> Result<Kind> {
    parser.advance();
    let slot = cursor(parser)?;
    parser.expect_symbol(";")?;
    Ok(Kind::Close(slot))
}

/// The cursor of `FOR row IN cursor LOOP` with the values of its arguments, or `None` if no cursor
/// is next.
pub(super) fn parse_for_cursor(parser: &mut Parser<'_>) -> Result<Option<(Slot, Values)>> {
    let TokenKind::Word(name) = parser.peek() else { return Ok(None) };
    let Some((slot, 1)) = parser.scope.find(std::slice::from_ref(name)) else { return Ok(None) };
    let is_end = parser.is_at(1, "loop") || matches!(parser.peek_at(1), TokenKind::Symbol("("));
    if !is_end {
        return Ok(None);
    }
    if !parser.scope.cursors.iter().any(|(known, _)| *known == slot) {
        let kind = parser.scope.slots.get(slot);
        if matches!(kind, Some(SlotKind::Typed(TypeText::Named(ty))) if ty == "refcursor") {
            let message = "cursor FOR loop must use a bound cursor variable";
            return Err(Error::new(SqlState::SyntaxError, message));
        }
        return Ok(None);
    }
    parser.advance();
    parse_arguments(parser, slot).map(|values| Some((slot, values)))
}

//! `CREATE FUNCTION` and `CREATE PROCEDURE`, and the options of `ALTER`.

use sqlparser::tokenizer::Token;

use braid_types::{Error, Result, SqlState};

use super::names::{has_parameter_name, parse_routine_kind, parse_routine_name, parse_type};
use crate::ast::{
    AlterRoutine, AlterTarget, CreateRoutine, ParameterMode, Rename, Returns, RoutineKind,
    RoutineOption, RoutineParameter, StandardBody, Statement,
};
use crate::offset_of;
use crate::parser::Cursor;
use crate::parser::clauses::{parse_rename_kind, redundant_options};
use crate::parser::embedded::next_expr;
use crate::parser::names::{parse_any_name, parse_label, parse_string};
use crate::parser::session::set::{parse_reset_target, parse_stored_variable};

/// `CREATE [OR REPLACE] FUNCTION …`, at the word `function` or `procedure`.
pub(crate) fn parse_create_routine(cursor: &mut Cursor<'_>, or_replace: bool) -> Result<Statement> {
    let kind = match cursor.take_one(&["function", "procedure"]) {
        Some(0) => RoutineKind::Function,
        _ => RoutineKind::Procedure,
    };
    let name = parse_any_name(cursor)?;
    cursor.expect_symbol(&Token::LParen)?;
    let mut parameters = Vec::new();
    if !cursor.take_symbol(&Token::RParen) {
        parameters = cursor.list(parse_parameter)?;
        cursor.expect_symbol(&Token::RParen)?;
    }
    let mut returns = None;
    // Of `RETURNS NULL ON NULL INPUT` the word is an option.
    if kind == RoutineKind::Function && cursor.is("returns") && !cursor.nth_is(1, "null") {
        cursor.advance();
        returns = Some(parse_returns(cursor)?);
    }
    let options = parse_options(cursor)?;
    Ok(Statement::CreateRoutine(Box::new(CreateRoutine {
        kind,
        or_replace,
        name,
        parameters,
        returns,
        options,
    })))
}

/// What stands behind `RETURNS`.
fn parse_returns(cursor: &mut Cursor<'_>) -> Result<Returns> {
    if cursor.is("table") && *cursor.peek_nth(1) == Token::LParen {
        cursor.advance();
        let columns = cursor.parens(|cursor| {
            let name = parse_label(cursor)?;
            Ok((name, parse_type(cursor)?))
        })?;
        return Ok(Returns::Table(columns));
    }
    if cursor.take("setof") {
        return Ok(Returns::Set(parse_type(cursor)?));
    }
    Ok(Returns::Value(parse_type(cursor)?))
}

/// A parameter with its mode, name, type and default.
pub(super) fn parse_parameter(cursor: &mut Cursor<'_>) -> Result<RoutineParameter> {
    let first = parse_mode(cursor);
    let name = if has_parameter_name(cursor) { Some(parse_label(cursor)?) } else { None };
    let mode = match first {
        Some(mode) => mode,
        None => parse_mode(cursor).unwrap_or_default(),
    };
    let data_type = parse_type(cursor)?;
    let mut default = None;
    if cursor.take("default") || cursor.take_symbol(&Token::Eq) {
        let start = cursor.byte();
        let expr = next_expr(cursor)?;
        let text = cursor.slice(start..cursor.byte_after()).to_owned();
        default = Some((expr, text));
    }
    Ok(RoutineParameter { name, data_type, default, mode })
}

fn parse_mode(cursor: &mut Cursor<'_>) -> Option<ParameterMode> {
    if cursor.take_all(&["in", "out"]) {
        return Some(ParameterMode::InOut);
    }
    Some(match cursor.take_one(&["in", "out", "inout", "variadic"])? {
        0 => ParameterMode::In,
        1 => ParameterMode::Out,
        2 => ParameterMode::InOut,
        _ => ParameterMode::Variadic,
    })
}

/// The options up to the end of the statement.
fn parse_options(cursor: &mut Cursor<'_>) -> Result<Vec<RoutineOption>> {
    let mut options: Vec<RoutineOption> = Vec::new();
    while !cursor.at_end() {
        let place = offset_of(cursor.span());
        match parse_option(cursor)? {
            Some(option) => add_option(&mut options, option, place)?,
            None => return Err(cursor.unexpected()),
        }
    }
    Ok(options)
}

/// Adds an option that stands at this place; 42601 if there is one of its kind.
fn add_option(options: &mut Vec<RoutineOption>, option: RoutineOption, place: u32) -> Result<()> {
    use RoutineOption as O;
    let is_same = |known: &RoutineOption| match (known, &option) {
        (O::Estimate(known, _), O::Estimate(name, _)) => known == name,
        (O::Set(_) | O::SetFromCurrent(_) | O::Reset(_) | O::Support(_) | O::Window, _) => false,
        _ => std::mem::discriminant(known) == std::mem::discriminant(&option),
    };
    if options.iter().any(is_same) {
        return Err(redundant_options(place));
    }
    options.push(option);
    Ok(())
}

/// `name = value` or `name FROM CURRENT`, behind `SET`.
fn parse_set(cursor: &mut Cursor<'_>) -> Result<RoutineOption> {
    if !(cursor.nth_is(1, "from") && cursor.nth_is(2, "current")) {
        return Ok(RoutineOption::Set(parse_stored_variable(cursor)?));
    }
    let name = crate::fold(&parse_label(cursor)?);
    cursor.expect_all(&["from", "current"])?;
    Ok(RoutineOption::SetFromCurrent(name))
}

fn parse_option(cursor: &mut Cursor<'_>) -> Result<Option<RoutineOption>> {
    use RoutineOption as O;
    if cursor.is("transform") {
        return Err(cursor.unsupported("the option TRANSFORM of functions"));
    }
    if cursor.take("set") {
        return parse_set(cursor).map(Some);
    }
    if cursor.take("support") {
        return Ok(Some(O::Support(parse_any_name(cursor)?)));
    }
    if cursor.take("window") {
        return Ok(Some(O::Window));
    }
    if cursor.is("return") || cursor.are(&["begin", "atomic"]) {
        return parse_standard_body(cursor).map(|body| Some(O::Statements(body)));
    }
    if cursor.take("language") {
        let language = match cursor.peek() {
            Token::SingleQuotedString(_) => parse_string(cursor)?,
            _ => crate::fold(&parse_label(cursor)?),
        };
        return Ok(Some(O::Language(language.to_ascii_lowercase())));
    }
    if cursor.take("as") {
        let body = parse_string(cursor)?;
        if *cursor.peek() == Token::Comma {
            return Err(cursor.unsupported("a function of a library"));
        }
        return Ok(Some(O::Body(body)));
    }
    Ok(Some(if cursor.take("immutable") {
        O::Volatility('i')
    } else if cursor.take("stable") {
        O::Volatility('s')
    } else if cursor.take("volatile") {
        O::Volatility('v')
    } else if cursor.take("strict") || cursor.take_all(&["returns", "null", "on", "null", "input"])
    {
        O::Strict(true)
    } else if cursor.take_all(&["called", "on", "null", "input"]) {
        O::Strict(false)
    } else if cursor.take("leakproof") {
        O::Leakproof(true)
    } else if cursor.take_all(&["not", "leakproof"]) {
        O::Leakproof(false)
    } else if cursor.take_all(&["external", "security", "definer"])
        || cursor.take_all(&["security", "definer"])
    {
        O::SecurityDefiner(true)
    } else if cursor.take_all(&["external", "security", "invoker"])
        || cursor.take_all(&["security", "invoker"])
    {
        O::SecurityDefiner(false)
    } else if cursor.take("parallel") {
        match cursor.take_one(&["safe", "restricted", "unsafe"]) {
            Some(0) => O::Parallel('s'),
            Some(1) => O::Parallel('r'),
            Some(_) => O::Parallel('u'),
            None => return Err(parallel_error()),
        }
    } else if cursor.take("cost") {
        O::Estimate("COST", parse_estimate(cursor)?)
    } else if cursor.take("rows") {
        O::Estimate("ROWS", parse_estimate(cursor)?)
    } else {
        return Ok(None);
    }))
}

/// `RETURN expression` or `BEGIN ATOMIC statement; … END`.
fn parse_standard_body(cursor: &mut Cursor<'_>) -> Result<StandardBody> {
    if cursor.take("return") {
        let start = cursor.byte();
        next_expr(cursor)?;
        let text = cursor.slice(start..cursor.byte_after());
        return Ok(StandardBody { statements: format!("SELECT {text}"), is_return: true });
    }
    cursor.expect_all(&["begin", "atomic"])?;
    let start = cursor.byte();
    let mut cases = 0usize;
    loop {
        match (cursor.peek(), cursor.peek_word()) {
            (Token::EOF, _) => return Err(cursor.unexpected()),
            (_, Some("case")) => cases += 1,
            (_, Some("end")) if cases == 0 => break,
            (_, Some("end")) => cases -= 1,
            _ => {}
        }
        cursor.advance();
    }
    let statements = cursor.slice(start..cursor.byte()).trim().to_owned();
    cursor.expect("end")?;
    Ok(StandardBody { statements, is_return: false })
}

fn parallel_error() -> Error {
    Error::new(SqlState::SyntaxError, "parameter \"parallel\" must be SAFE, RESTRICTED, or UNSAFE")
}

fn parse_estimate(cursor: &mut Cursor<'_>) -> Result<f64> {
    let Token::Number(digits, _) = cursor.peek() else { return Err(cursor.unexpected()) };
    let Ok(number) = digits.parse() else { return Err(cursor.unexpected()) };
    cursor.advance();
    Ok(number)
}

/// `ALTER FUNCTION …`, at its second word.
pub(crate) fn parse_alter_routine(cursor: &mut Cursor<'_>) -> Result<Statement> {
    let kind = parse_routine_kind(cursor);
    let routine = parse_routine_name(cursor, kind)?;
    if let Some(kind) = parse_rename_kind(cursor, false)? {
        let target = AlterTarget::Routine(Box::new(routine));
        return Ok(Statement::Rename(Rename { target, if_exists: false, kind }));
    }
    let mut options = Vec::new();
    while !cursor.at_end() && kind != RoutineKind::Aggregate {
        if matches!(cursor.peek_word(), Some("as" | "language" | "return" | "begin")) {
            return Err(cursor.unexpected());
        }
        if cursor.take("reset") {
            options.push(RoutineOption::Reset(parse_reset_target(cursor)?));
            continue;
        }
        if !options.is_empty() && cursor.take("restrict") {
            break;
        }
        let place = offset_of(cursor.span());
        match parse_option(cursor)? {
            Some(option) => add_option(&mut options, option, place)?,
            None => return Err(cursor.unexpected()),
        }
    }
    if options.is_empty() {
        return Err(cursor.unexpected());
    }
    Ok(Statement::AlterRoutine(Box::new(AlterRoutine { routine, options })))
}

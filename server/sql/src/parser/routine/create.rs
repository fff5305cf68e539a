//! `CREATE FUNCTION` and `CREATE PROCEDURE`, and the options of `ALTER`.

use sqlparser::tokenizer::Token;

use braid_types::{Error, Result, SqlState};

use super::names::{has_parameter_name, parse_routine_name};
use crate::ast::{
    AlterRoutine, AlterTarget, CreateRoutine, Rename, RoutineKind, RoutineOption, RoutineParameter,
    Statement,
};
use crate::parser::Cursor;
use crate::parser::clauses::parse_rename_kind;
use crate::parser::embedded::{next_data_type, next_expr};
use crate::parser::names::{parse_any_name, parse_label, parse_string};

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
        if cursor.is("table") {
            return Err(cursor.unsupported("RETURNS TABLE"));
        }
        if cursor.is("setof") {
            return Err(cursor.unsupported("RETURNS SETOF"));
        }
        returns = Some(next_data_type(cursor)?);
        if cursor.take_symbol(&Token::Mod) {
            return Err(cursor.unsupported("a result of the type of a column"));
        }
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

fn parse_parameter(cursor: &mut Cursor<'_>) -> Result<RoutineParameter> {
    refuse_modes(cursor)?;
    cursor.take("in");
    let name = if has_parameter_name(cursor) { Some(parse_label(cursor)?) } else { None };
    refuse_modes(cursor)?;
    cursor.take("in");
    let data_type = next_data_type(cursor)?;
    let mut default = None;
    if cursor.take("default") || cursor.take_symbol(&Token::Eq) {
        let start = cursor.byte();
        let expr = next_expr(cursor)?;
        let text = cursor.slice(start..cursor.byte_behind()).to_owned();
        default = Some((expr, text));
    }
    Ok(RoutineParameter { name, data_type, default })
}

/// 0A000 for parameters that return something or take several arguments.
fn refuse_modes(cursor: &Cursor<'_>) -> Result<()> {
    for (word, shown) in [("out", "OUT"), ("inout", "INOUT"), ("variadic", "VARIADIC")] {
        if cursor.is(word) && matches!(cursor.peek_nth(1), Token::Word(_)) {
            return Err(cursor.unsupported(format!("{shown} parameters")));
        }
    }
    Ok(())
}

/// The options up to the end of the statement.
fn parse_options(cursor: &mut Cursor<'_>) -> Result<Vec<RoutineOption>> {
    let mut options = Vec::new();
    while !cursor.at_end() {
        match parse_option(cursor)? {
            Some(option) => options.push(option),
            None => return Err(cursor.unexpected()),
        }
    }
    Ok(options)
}

fn parse_option(cursor: &mut Cursor<'_>) -> Result<Option<RoutineOption>> {
    use RoutineOption as O;
    if cursor.is("set") || cursor.is("transform") || cursor.is("support") || cursor.is("window") {
        let word = cursor.peek_word().unwrap_or_default().to_ascii_uppercase();
        return Err(cursor.unsupported(format!("the option {word} of functions")));
    }
    if cursor.is("return") || cursor.are(&["begin", "atomic"]) {
        return Err(cursor.unsupported("a function body that is not a string"));
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
    let kind = match cursor.take_one(&["function", "procedure", "routine"]) {
        Some(0) => RoutineKind::Function,
        Some(1) => RoutineKind::Procedure,
        _ => RoutineKind::Any,
    };
    let routine = parse_routine_name(cursor, kind)?;
    if let Some(kind) = parse_rename_kind(cursor, false)? {
        let target = AlterTarget::Routine(Box::new(routine));
        return Ok(Statement::Rename(Rename { target, if_exists: false, kind }));
    }
    let mut options = Vec::new();
    while !cursor.at_end() {
        if matches!(cursor.peek_word(), Some("as" | "language")) {
            return Err(cursor.unexpected());
        }
        if !options.is_empty() && cursor.take("restrict") {
            break;
        }
        match parse_option(cursor)? {
            Some(option) => options.push(option),
            None => return Err(cursor.unexpected()),
        }
    }
    if options.is_empty() {
        return Err(cursor.unexpected());
    }
    Ok(Statement::AlterRoutine(Box::new(AlterRoutine { routine, options })))
}

//! Statements without statements inside: assignments, RAISE, RETURN and others.

use std::sync::Arc;

use braid_sql::ast::{Expr, FunctionArg, FunctionArgExpr, FunctionArguments, Statement};
use braid_types::{Error, Result, SqlState};

use super::cursor_parser::{parse_close, parse_fetch, parse_open, parse_rows};
use super::lexer::TokenKind;
use super::parser::Parser;
use super::sql_parser::{
    STATEMENT, Until, expression, named_target, parse_into, parse_list, statement, target,
};
use super::tree::{Kind, Raise, Sql, Step, Subscript, Target, TransactionEnd};
use crate::conditions::state_named;

/// A statement without statements inside.
pub(super) fn parse_simple(parser: &mut Parser<'_>) -> Result<Kind> {
    if let Some(kind) = parse_assignment(parser)? {
        return Ok(kind);
    }
    let TokenKind::Word(word) = parser.peek().clone() else { return Err(parser.unexpected()) };
    match word.as_str() {
        "null" => {
            parser.advance();
            parser.expect_symbol(";")?;
            Ok(Kind::Nothing)
        }
        "return" => parse_return(parser),
        "exit" | "continue" => parse_leave(parser, word == "exit"),
        "perform" => {
            parser.advance();
            let (sql, into) = statement(parser, "SELECT ")?;
            match into {
                None => Ok(Kind::Perform(sql)),
                Some(_) => Err(Error::new(SqlState::SyntaxError, "PERFORM cannot have INTO")),
            }
        }
        "execute" => parse_execute(parser),
        "raise" => parse_raise(parser),
        "get" => parse_diagnostics(parser),
        "assert" => {
            parser.advance();
            let ends = Until { words: &[], symbols: &[",", ";"] };
            let condition = expression(parser, ends)?;
            let message =
                if parser.take_symbol(",") { Some(expression(parser, STATEMENT)?) } else { None };
            parser.expect_symbol(";")?;
            Ok(Kind::Assert(condition, message))
        }
        "open" => parse_open(parser),
        "fetch" | "move" => parse_fetch(parser, word == "move"),
        "close" => parse_close(parser),
        "call" => parse_call(parser),
        "commit" | "rollback" => parse_end(parser, word == "commit"),
        _ => parse_sql(parser),
    }
}

/// `COMMIT` or `ROLLBACK`, `[AND [NO] CHAIN];`
fn parse_end(parser: &mut Parser<'_>, commits: bool) -> Result<Kind> {
    parser.advance();
    let mut chains = false;
    if parser.take("and") {
        chains = !parser.take("no");
        parser.expect("chain")?;
    }
    parser.expect_symbol(";")?;
    Ok(Kind::EndTransaction(TransactionEnd { commits, chains }))
}

/// `target := value;`, or `None` if none is next.
fn parse_assignment(parser: &mut Parser<'_>) -> Result<Option<Kind>> {
    let mut at = match parser.peek() {
        TokenKind::Word(_) | TokenKind::Quoted(_) | TokenKind::Number => 1,
        _ => return Ok(None),
    };
    let mut depth = 0usize;
    loop {
        match parser.peek_at(at) {
            TokenKind::Symbol("[") => depth += 1,
            TokenKind::Symbol("]") if depth > 0 => depth -= 1,
            TokenKind::Symbol(";") | TokenKind::End if depth > 0 => return Ok(None),
            TokenKind::Symbol(".")
                if depth == 0
                    && matches!(
                        parser.peek_at(at + 1),
                        TokenKind::Word(_) | TokenKind::Quoted(_)
                    ) =>
            {
                at += 1;
            }
            _ if depth > 0 => {}
            _ => break,
        }
        at += 1;
    }
    if !matches!(parser.peek_at(at), TokenKind::Symbol(":=" | "=")) {
        return Ok(None);
    }
    let start = parser.start();
    let target = target(parser)?;
    let target = parse_part(parser, target)?;
    parser.advance();
    let assigned = Arc::from(parser.slice(start, parser.start()));
    let value = Sql { assigned: Some(assigned), ..expression(parser, STATEMENT)? };
    parser.expect_symbol(";")?;
    Ok(Some(Kind::Assign(target, value)))
}

/// The subscripts and fields behind the first subscript of a target.
fn parse_part(parser: &mut Parser<'_>, target: Target) -> Result<Target> {
    let (slot, mut steps) = match target {
        target if !parser.is_symbol("[") => return Ok(target),
        Target::Variable(slot) => (slot, Vec::new()),
        Target::Field(slot, field) => (slot, vec![Step::Field(field)]),
        Target::Part(slot, steps) => (slot, steps),
    };
    loop {
        if parser.is_symbol("[") {
            let mut subscripts = Vec::new();
            while parser.take_symbol("[") {
                subscripts.push(parse_subscript(parser)?);
                parser.expect_symbol("]")?;
            }
            steps.push(Step::Subscripts(subscripts));
        } else if parser.take_symbol(".") {
            steps.push(Step::Field(parser.name()?));
        } else {
            return Ok(Target::Part(slot, steps));
        }
    }
}

/// `i` or `l:u`, up to the bracket.
fn parse_subscript(parser: &mut Parser<'_>) -> Result<Subscript> {
    const ENDS: Until<'static> = Until { words: &[], symbols: &["]", ":"] };
    let bound = |parser: &mut Parser<'_>| match parser.peek() {
        TokenKind::Symbol("]" | ":") => Ok(None),
        _ => expression(parser, ENDS).map(Some),
    };
    let low = bound(parser)?;
    if parser.take_symbol(":") {
        return Ok(Subscript::Range(low, bound(parser)?));
    }
    low.map(Subscript::Place).ok_or_else(|| parser.unexpected())
}

fn parse_return(parser: &mut Parser<'_>) -> Result<Kind> {
    parser.advance();
    let place = parser.characters_before(parser.start()).saturating_add(1);
    let wrong = |message: &str| Error::new(SqlState::DatatypeMismatch, message).position(place);
    let kind = parser.result;
    if parser.is("next") || parser.is("query") {
        let word = if parser.is("next") { "NEXT" } else { "QUERY" };
        if !kind.is_set {
            return Err(wrong(&format!("cannot use RETURN {word} in a non-SETOF function")));
        }
        return parse_return_rows(parser);
    }
    if parser.take_symbol(";") {
        let lacks = !kind.is_set && !kind.is_nothing && !kind.has_outputs;
        if lacks {
            let message = "missing expression at or near \";\"";
            return Err(Error::new(SqlState::SyntaxError, message));
        }
        return Ok(Kind::Return(None));
    }
    if kind.is_set {
        return Err(wrong("RETURN cannot have a parameter in function returning set")
            .hint("Use RETURN NEXT or RETURN QUERY."));
    }
    if kind.is_nothing && kind.is_function {
        return Err(wrong("RETURN cannot have a parameter in function returning void"));
    }
    if kind.is_nothing {
        let message = "RETURN cannot have a parameter in a procedure";
        return Err(Error::new(SqlState::SyntaxError, message).position(place));
    }
    if kind.has_outputs {
        return Err(wrong("RETURN cannot have a parameter in function with OUT parameters"));
    }
    let value = expression(parser, STATEMENT)?;
    parser.expect_symbol(";")?;
    Ok(Kind::Return(Some(value)))
}

/// `RETURN NEXT` and `RETURN QUERY`, at the second word.
fn parse_return_rows(parser: &mut Parser<'_>) -> Result<Kind> {
    if parser.take("query") {
        let rows = parse_rows(parser)?;
        parser.expect_symbol(";")?;
        return Ok(Kind::ReturnQuery(rows));
    }
    parser.advance();
    if !parser.result.has_outputs {
        let value = expression(parser, STATEMENT)?;
        parser.expect_symbol(";")?;
        return Ok(Kind::ReturnNext(Some(value)));
    }
    if !parser.take_symbol(";") {
        let message = "RETURN NEXT cannot have a parameter in function with OUT parameters";
        return Err(Error::new(SqlState::DatatypeMismatch, message));
    }
    Ok(Kind::ReturnNext(None))
}

/// `CALL`, whose arguments may be variables that the procedure changes.
fn parse_call(parser: &mut Parser<'_>) -> Result<Kind> {
    let (sql, into) = statement(parser, "")?;
    if into.is_some() {
        return Err(Error::new(SqlState::SyntaxError, "CALL cannot have INTO"));
    }
    let mut parsed = braid_sql::parse(&sql.text).map_err(Error::without_position)?;
    let Some(Statement::Call(call)) = parsed.pop().map(|parsed| parsed.statement) else {
        return Err(parser.unexpected());
    };
    let mut targets = Vec::new();
    if let Expr::Function(function) = &call.call
        && let FunctionArguments::List(list) = &function.args
    {
        targets.extend(list.args.iter().map(|arg| target_of(parser, arg)));
    }
    Ok(Kind::Call(sql, targets))
}

/// The name of an argument of CALL, and the variable that it is.
fn target_of(parser: &Parser<'_>, arg: &FunctionArg) -> (Option<String>, Option<Target>) {
    let (name, arg) = match arg {
        FunctionArg::Unnamed(arg) => (None, arg),
        FunctionArg::Named { name, arg, .. }
        | FunctionArg::ExprNamed { name: Expr::Identifier(name), arg, .. } => {
            (Some(braid_sql::fold(name)), arg)
        }
        FunctionArg::ExprNamed { .. } => return (None, None),
    };
    let parts: Vec<String> = match arg {
        FunctionArgExpr::Expr(Expr::Identifier(name)) => vec![braid_sql::fold(name)],
        FunctionArgExpr::Expr(Expr::CompoundIdentifier(names)) => {
            names.iter().map(braid_sql::fold).collect()
        }
        _ => return (name, None),
    };
    (name, named_target(parser, &parts).ok())
}

fn parse_leave(parser: &mut Parser<'_>, is_exit: bool) -> Result<Kind> {
    let start = parser.start();
    parser.advance();
    let (mut label, mut place) = (None, start);
    if !parser.is("when") && !parser.is_symbol(";") {
        place = parser.start();
        label = Some(parser.name()?);
    }
    let checked = check_leave(parser, is_exit, label.as_deref());
    checked.map_err(|error| parser.at(place, error))?;
    let condition = if parser.take("when") { Some(expression(parser, STATEMENT)?) } else { None };
    parser.expect_symbol(";")?;
    Ok(Kind::Leave(is_exit, label, condition))
}

/// 42601 for a label that is not around, or outside of loops.
fn check_leave(parser: &Parser<'_>, is_exit: bool, label: Option<&str>) -> Result<()> {
    let word = if is_exit { "EXIT" } else { "CONTINUE" };
    let Some(label) = label else {
        if parser.scope.labels.iter().any(|(_, is_loop)| *is_loop) {
            return Ok(());
        }
        let message = match is_exit {
            true => "EXIT cannot be used outside a loop, unless it has a label".to_owned(),
            false => "CONTINUE cannot be used outside a loop".to_owned(),
        };
        return Err(Error::new(SqlState::SyntaxError, message));
    };
    let named = |(known, _): &&(Option<String>, bool)| known.as_deref() == Some(label);
    match parser.scope.labels.iter().rev().find(named) {
        None => {
            let message = format!(
                "there is no label \"{label}\" attached to any block or loop enclosing this \
                 statement"
            );
            Err(Error::new(SqlState::SyntaxError, message))
        }
        Some((_, false)) if !is_exit => {
            let message = format!("block label \"{label}\" cannot be used in {word}");
            Err(Error::new(SqlState::SyntaxError, message))
        }
        Some(_) => Ok(()),
    }
}

/// `EXECUTE text [INTO …] [USING …];`
fn parse_execute(parser: &mut Parser<'_>) -> Result<Kind> {
    parser.advance();
    let ends = Until { words: &["into", "using"], symbols: &[";"] };
    let text = expression(parser, ends)?;
    let (mut into, mut using) = (None, Vec::new());
    loop {
        if into.is_none() && parser.take("into") {
            into = Some(parse_into(parser)?);
        } else if using.is_empty() && parser.take("using") {
            using = parse_list(parser, Until { words: &["into"], symbols: &[",", ";"] })?;
        } else {
            parser.expect_symbol(";")?;
            return Ok(Kind::Execute(text, using, into));
        }
    }
}

const LEVELS: [&str; 6] = ["debug", "log", "info", "notice", "warning", "exception"];

fn parse_raise(parser: &mut Parser<'_>) -> Result<Kind> {
    parser.advance();
    let level = LEVELS.iter().find(|level| parser.is(level));
    if level.is_some() {
        parser.advance();
    }
    let mut raise = Raise {
        level: level.map_or("exception", |level| level).to_owned(),
        again: level.is_none() && parser.is_symbol(";"),
        format: None,
        arguments: Vec::new(),
        state: None,
        condition: None,
        options: Vec::new(),
    };
    if let TokenKind::Text(format) = parser.peek().clone() {
        parser.advance();
        let ends = Until { words: &["using"], symbols: &[",", ";"] };
        while parser.take_symbol(",") {
            raise.arguments.push(expression(parser, ends)?);
        }
        check_format(&format, raise.arguments.len())?;
        raise.format = Some(format);
    } else if !parser.is("using") && !parser.is_symbol(";") {
        let (condition, state) = state_of_condition(parser)?;
        raise.condition = Some(condition);
        raise.state = Some(state);
    } else if !raise.again && !parser.is("using") {
        return Err(parser.unexpected());
    }
    if parser.take("using") {
        parse_options(parser, &mut raise)?;
    }
    parser.expect_symbol(";")?;
    Ok(Kind::Raise(Box::new(raise)))
}

/// 42601 unless a format has as many places as there are arguments.
fn check_format(format: &str, arguments: usize) -> Result<()> {
    let places = format.replace("%%", "").matches('%').count();
    let message = match places.cmp(&arguments) {
        std::cmp::Ordering::Equal => return Ok(()),
        std::cmp::Ordering::Less => "too many parameters specified for RAISE",
        std::cmp::Ordering::Greater => "too few parameters specified for RAISE",
    };
    Err(Error::new(SqlState::SyntaxError, message))
}

fn parse_options(parser: &mut Parser<'_>, raise: &mut Raise) -> Result<()> {
    const OPTIONS: [&str; 9] = [
        "message",
        "detail",
        "hint",
        "errcode",
        "column",
        "constraint",
        "datatype",
        "table",
        "schema",
    ];
    loop {
        let Some(option) = OPTIONS.iter().find(|option| parser.is(option)) else {
            let message = "unrecognized RAISE statement option";
            return Err(Error::new(SqlState::SyntaxError, message));
        };
        parser.advance();
        if !parser.take_symbol("=") {
            parser.expect_symbol(":=")?;
        }
        let value = expression(parser, Until { words: &[], symbols: &[",", ";"] })?;
        raise.options.push(((*option).to_owned(), value));
        if !parser.take_symbol(",") {
            return Ok(());
        }
    }
}

/// A condition by name, or `SQLSTATE 'code'`: its name and its code.
pub(super) fn state_of_condition(parser: &mut Parser<'_>) -> Result<(String, String)> {
    if parser.take("sqlstate") {
        let TokenKind::Text(code) = parser.peek().clone() else {
            return Err(parser.unexpected());
        };
        parser.advance();
        let is_code = code.len() == 5
            && code.bytes().all(|byte| byte.is_ascii_digit() || byte.is_ascii_uppercase());
        if !is_code {
            return Err(Error::new(SqlState::SyntaxError, "invalid SQLSTATE code"));
        }
        return Ok((code.clone(), code));
    }
    let name = parser.name()?;
    match state_named(&name) {
        Some(state) => Ok((name, state.to_owned())),
        None => {
            let message = format!("unrecognized exception condition \"{name}\"");
            Err(Error::new(SqlState::UndefinedObject, message))
        }
    }
}

fn parse_diagnostics(parser: &mut Parser<'_>) -> Result<Kind> {
    parser.advance();
    let stacked = parser.take("stacked");
    if !stacked {
        parser.take("current");
    }
    parser.expect("diagnostics")?;
    let mut items = Vec::new();
    loop {
        let target = target(parser)?;
        if !parser.take_symbol("=") {
            parser.expect_symbol(":=")?;
        }
        let item = parser.name()?;
        let known: &[&str] = match stacked {
            false => &["row_count", "pg_context"],
            true => &[
                "returned_sqlstate",
                "message_text",
                "pg_exception_detail",
                "pg_exception_hint",
                "pg_exception_context",
                "column_name",
                "constraint_name",
                "pg_datatype_name",
                "table_name",
                "schema_name",
            ],
        };
        if !known.contains(&item.as_str()) {
            let other = ["row_count", "returned_sqlstate", "message_text"].contains(&&*item);
            let form = if stacked { "GET STACKED DIAGNOSTICS" } else { "GET CURRENT DIAGNOSTICS" };
            let message = match other {
                true => {
                    format!("diagnostics item {} is not allowed in {form}", item.to_uppercase())
                }
                false => format!("unrecognized GET DIAGNOSTICS item at or near \"{item}\""),
            };
            return Err(Error::new(SqlState::SyntaxError, message));
        }
        items.push((target, item));
        if !parser.take_symbol(",") {
            break;
        }
    }
    parser.expect_symbol(";")?;
    Ok(Kind::Diagnostics(stacked, items))
}

/// A statement of SQL for those that begin one.
fn parse_sql(parser: &mut Parser<'_>) -> Result<Kind> {
    let (sql, into) = statement(parser, "")?;
    Ok(Kind::Sql(sql, into))
}

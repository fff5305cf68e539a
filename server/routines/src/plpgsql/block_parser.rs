//! Blocks: labels, declarations, statements with statements inside, handlers.

use braid_types::{Error, Result, SqlState, SqlType};

use super::cursor_parser::{parse_cursor, parse_for_cursor};
use super::lexer::TokenKind;
use super::parser::Parser;
use super::simple_parser::{parse_simple, state_of_condition};
use super::sql_parser::{
    STATEMENT, Until, expression, named_target, parse_list, parse_type, piece, skip_to, target,
};
use super::tree::{
    Block, Case, Condition, Declaration, ForInteger, Handlers, Kind, Loop, Rows, SlotKind, Sql,
    Statement, Target,
};

const THEN: Until<'static> = Until { words: &["then"], symbols: &[] };
const LOOP: Until<'static> = Until { words: &["loop"], symbols: &[] };

/// `[<<label>>] [DECLARE …] BEGIN … [EXCEPTION …] END [label]`.
pub(super) fn parse_block(parser: &mut Parser<'_>) -> Result<Block> {
    let label = parse_label(parser)?;
    parse_block_of(parser, label)
}

fn parse_label(parser: &mut Parser<'_>) -> Result<Option<String>> {
    if !parser.take_symbol("<<") {
        return Ok(None);
    }
    let label = parser.name()?;
    parser.expect_symbol(">>")?;
    Ok(Some(label))
}

fn parse_block_of(parser: &mut Parser<'_>, label: Option<String>) -> Result<Block> {
    parser.enter()?;
    let mark = parser.scope.mark();
    let mut declarations = Vec::new();
    if parser.take("declare") {
        while !parser.is("begin") {
            if parser.take("declare") {
                continue;
            }
            declarations.extend(parse_declaration(parser, label.as_deref(), mark)?);
        }
    }
    parser.expect("begin")?;
    parser.scope.labels.push((label.clone(), false));
    let body = parse_statements(parser)?;
    let handlers = if parser.take("exception") { Some(parse_handlers(parser)?) } else { None };
    parser.scope.labels.pop();
    parser.expect("end")?;
    parse_end_label(parser, label.as_deref())?;
    parser.scope.forget(mark);
    parser.leave();
    Ok(Block { label, declarations, body, handlers })
}

/// The label behind END, which must be that of the beginning.
fn parse_end_label(parser: &mut Parser<'_>, label: Option<&str>) -> Result<()> {
    if !matches!(parser.peek(), TokenKind::Word(_) | TokenKind::Quoted(_)) {
        return Ok(());
    }
    let end = parser.name()?;
    match label {
        Some(label) if label == end => Ok(()),
        Some(label) => {
            let message = format!("end label \"{end}\" differs from block's label \"{label}\"");
            Err(Error::new(SqlState::SyntaxError, message))
        }
        None => {
            let message = format!("end label \"{end}\" specified for unlabeled block");
            Err(Error::new(SqlState::SyntaxError, message))
        }
    }
}

/// One declaration; `None` for another name of a variable.
fn parse_declaration(
    parser: &mut Parser<'_>,
    label: Option<&str>,
    mark: usize,
) -> Result<Option<Declaration>> {
    let (line, start) = (parser.line(), parser.start());
    let name = parser.name()?;
    if parser.scope.is_declared_since(mark, &name) {
        let message = format!("duplicate declaration at or near \"{name}\"");
        return Err(parser.at(start, Error::new(SqlState::SyntaxError, message)));
    }
    if parser.take("alias") {
        parser.expect("for")?;
        let slot = alias_of(parser)?;
        parser.expect_symbol(";")?;
        parser.scope.name(label, &name, slot);
        return Ok(None);
    }
    if let Some(declaration) = parse_cursor(parser, label, (&name, line))? {
        return Ok(Some(declaration));
    }
    let is_constant = parser.take("constant");
    let kind = parse_type(parser)?;
    if parser.take("collate") {
        check_collation(&parse_names(parser)?)?;
    }
    let not_null = parser.take("not");
    if not_null {
        parser.expect("null")?;
    }
    let mut default = None;
    if parser.take("default") || parser.take_symbol(":=") || parser.take_symbol("=") {
        default = Some(expression(parser, STATEMENT)?);
    }
    parser.expect_symbol(";")?;
    if not_null && default.is_none() {
        let message =
            format!("variable \"{name}\" must have a default value, since it's declared NOT NULL");
        return Err(Error::new(SqlState::NullValueNotAllowed, message));
    }
    let slot = parser.scope.declare(label, &name, kind);
    if is_constant {
        parser.scope.constants.push(slot);
    }
    Ok(Some(Declaration { slot, name, not_null, default, line }))
}

/// 0A000 for a variable's collation that does not compare bytes.
fn check_collation(parts: &[String]) -> Result<()> {
    let name = match parts {
        [name] => Some(name),
        [schema, name] if schema == "pg_catalog" => Some(name),
        _ => None,
    };
    let is_of_bytes =
        |name: &String| matches!(name.as_str(), "C" | "POSIX" | "default" | "ucs_basic");
    if name.is_some_and(is_of_bytes) {
        return Ok(());
    }
    let name = parts.join(".");
    Err(Error::unsupported(format!("a variable with collation \"{name}\"")))
}

/// The variable or parameter that ALIAS FOR names.
fn alias_of(parser: &mut Parser<'_>) -> Result<usize> {
    match target(parser)? {
        Target::Variable(slot) => Ok(slot),
        _ => Err(Error::unsupported("ALIAS FOR a field")),
    }
}

/// Statements up to a word that ends them.
fn parse_statements(parser: &mut Parser<'_>) -> Result<Vec<Statement>> {
    let mut list = Vec::new();
    loop {
        let ends = ["end", "exception", "elsif", "elseif", "else", "when"];
        if ends.iter().any(|word| parser.is(word)) || *parser.peek() == TokenKind::End {
            return Ok(list);
        }
        let line = parser.line();
        let kind = parse_statement(parser)?;
        list.push(Statement { line, kind });
    }
}

fn parse_statement(parser: &mut Parser<'_>) -> Result<Kind> {
    let label = parse_label(parser)?;
    let TokenKind::Word(word) = parser.peek() else { return parse_simple(parser) };
    match word.as_str() {
        "declare" | "begin" => {
            let block = parse_block_of(parser, label)?;
            parser.expect_symbol(";")?;
            Ok(Kind::Block(block))
        }
        "loop" => Ok(Kind::Loop(parse_loop(parser, label)?)),
        "while" => {
            parser.advance();
            let condition = expression(parser, LOOP)?;
            Ok(Kind::While(condition, parse_loop(parser, label)?))
        }
        "for" => {
            parser.advance();
            parse_for(parser, label)
        }
        "foreach" => {
            parser.advance();
            parse_for_each(parser, label)
        }
        _ if label.is_some() => Err(parser.unexpected()),
        "if" => {
            parser.advance();
            parse_if(parser)
        }
        "case" => {
            parser.advance();
            parse_case(parser)
        }
        _ => parse_simple(parser),
    }
}

/// `FOREACH`, behind that word.
fn parse_for_each(parser: &mut Parser<'_>, label: Option<String>) -> Result<Kind> {
    let target = target(parser)?;
    let mut slice = 0;
    if parser.take("slice") {
        let start = parser.start();
        parser.advance();
        let number = parser.slice(start, parser.end_before()).parse();
        slice = number.map_err(|_| parser.unexpected())?;
    }
    parser.expect("in")?;
    parser.expect("array")?;
    let array = expression(parser, LOOP)?;
    Ok(Kind::ForEach(target, array, slice, parse_loop(parser, label)?))
}

/// `LOOP … END LOOP [label];`
fn parse_loop(parser: &mut Parser<'_>, label: Option<String>) -> Result<Loop> {
    parser.expect("loop")?;
    parser.enter()?;
    parser.scope.labels.push((label.clone(), true));
    let body = parse_statements(parser)?;
    parser.scope.labels.pop();
    parser.leave();
    parser.expect("end")?;
    parser.expect("loop")?;
    parse_end_label(parser, label.as_deref())?;
    parser.expect_symbol(";")?;
    Ok(Loop { label, body })
}

fn parse_if(parser: &mut Parser<'_>) -> Result<Kind> {
    parser.enter()?;
    let mut branches = Vec::new();
    let mut otherwise = Vec::new();
    loop {
        let condition = expression(parser, THEN)?;
        parser.expect("then")?;
        branches.push((condition, parse_statements(parser)?));
        if parser.take("elsif") || parser.take("elseif") {
            continue;
        }
        if parser.take("else") {
            otherwise = parse_statements(parser)?;
        }
        break;
    }
    parser.expect("end")?;
    parser.expect("if")?;
    parser.expect_symbol(";")?;
    parser.leave();
    Ok(Kind::If(branches, otherwise))
}

fn parse_case(parser: &mut Parser<'_>) -> Result<Kind> {
    parser.enter()?;
    let mark = parser.scope.mark();
    let mut operand = None;
    if !parser.is("when") {
        let value = expression(parser, Until { words: &["when"], symbols: &[] })?;
        let slot = parser.scope.add(SlotKind::Record);
        // No client can write this name.
        parser.scope.name(None, "case operand", slot);
        operand = Some((slot, value));
    }
    let mut whens = Vec::new();
    while parser.take("when") {
        let condition = match operand {
            None => expression(parser, THEN)?,
            Some(_) => parse_choices(parser)?,
        };
        parser.expect("then")?;
        whens.push((condition, parse_statements(parser)?));
    }
    if whens.is_empty() {
        return Err(parser.unexpected());
    }
    let otherwise = if parser.take("else") { Some(parse_statements(parser)?) } else { None };
    parser.expect("end")?;
    parser.expect("case")?;
    parser.expect_symbol(";")?;
    parser.scope.forget(mark);
    parser.leave();
    Ok(Kind::Case(Box::new(Case { operand, whens, otherwise })))
}

/// The values between WHEN and THEN, as a comparison with the operand.
fn parse_choices(parser: &mut Parser<'_>) -> Result<Sql> {
    let start = parser.start();
    skip_to(parser, THEN)?;
    let text = parser.slice(start, parser.end_before().max(start));
    let condition = format!("\"case operand\" IN ({text})");
    braid_sql::parse_expr(&condition).map_err(Error::without_position)?;
    Ok(piece(parser, format!("SELECT {condition}"), None))
}

fn parse_for(parser: &mut Parser<'_>, label: Option<String>) -> Result<Kind> {
    let first = parser.start();
    let mut names = vec![(first, parse_names(parser)?)];
    while parser.take_symbol(",") {
        let start = parser.start();
        names.push((start, parse_names(parser)?));
    }
    parser.expect("in")?;
    if let [(_, name)] = names.as_slice()
        && let [name] = name.as_slice()
        && let Some((slot, values)) = parse_for_cursor(parser)?
    {
        let mark = parser.scope.mark();
        let target = parser.scope.declare(label.as_deref(), name, SlotKind::Record);
        let inner = parse_loop(parser, label)?;
        parser.scope.forget(mark);
        return Ok(Kind::ForRows(
            vec![Target::Variable(target)],
            Rows::Cursor(slot, values),
            inner,
        ));
    }
    let reverse = parser.take("reverse");
    if let [(_, name)] = names.as_slice()
        && let [name] = name.as_slice()
        && is_range(parser)
    {
        return parse_for_integer(parser, label, name, reverse);
    }
    let targets: Vec<Target> = names
        .iter()
        .map(|(_, parts)| named_target(parser, parts))
        .collect::<Result<_>>()
        .map_err(|_| {
            let message = "loop variable of loop over rows must be a record variable or list of \
                           scalar variables";
            Error::new(SqlState::SyntaxError, message)
        })?;
    let rows = if parser.take("execute") {
        let ends = Until { words: &["loop", "using"], symbols: &[] };
        let text = expression(parser, ends)?;
        let mut using = Vec::new();
        if parser.take("using") {
            using = parse_list(parser, Until { words: &["loop"], symbols: &[","] })?;
        }
        Rows::Execute(text, using)
    } else {
        let start = parser.start();
        skip_to(parser, LOOP)?;
        let text = parser.slice(start, parser.end_before().max(start)).to_owned();
        braid_sql::parse(&text).map_err(Error::without_position)?;
        Rows::Query(piece(parser, text, None))
    };
    Ok(Kind::ForRows(targets, rows, parse_loop(parser, label)?))
}

fn parse_names(parser: &mut Parser<'_>) -> Result<Vec<String>> {
    let mut parts = vec![parser.name()?];
    while parser.take_symbol(".") {
        parts.push(parser.name()?);
    }
    Ok(parts)
}

/// Whether two dots stand before LOOP.
fn is_range(parser: &Parser<'_>) -> bool {
    let mut depth = 0usize;
    for n in 0.. {
        match parser.peek_at(n) {
            TokenKind::Symbol("(") => depth += 1,
            TokenKind::Symbol(")") => depth = depth.saturating_sub(1),
            TokenKind::Symbol("..") if depth == 0 => return true,
            TokenKind::Word(word) if word == "loop" => return false,
            TokenKind::End => return false,
            _ => {}
        }
    }
    false
}

fn parse_for_integer(
    parser: &mut Parser<'_>,
    label: Option<String>,
    name: &str,
    reverse: bool,
) -> Result<Kind> {
    let from = expression(parser, Until { words: &[], symbols: &[".."] })?;
    parser.expect_symbol("..")?;
    let to = expression(parser, Until { words: &["loop", "by"], symbols: &[] })?;
    let step = if parser.take("by") { Some(expression(parser, LOOP)?) } else { None };
    let mark = parser.scope.mark();
    let slot = parser.scope.declare(label.as_deref(), name, SlotKind::Fixed(SqlType::Int4));
    let inner = parse_loop(parser, label)?;
    parser.scope.forget(mark);
    Ok(Kind::ForInteger(Box::new(ForInteger { slot, from, to, step, reverse, inner })))
}

/// The handlers behind EXCEPTION.
fn parse_handlers(parser: &mut Parser<'_>) -> Result<Handlers> {
    let mark = parser.scope.mark();
    let state = parser.scope.declare(None, "sqlstate", SlotKind::Fixed(SqlType::Text));
    let message = parser.scope.declare(None, "sqlerrm", SlotKind::Fixed(SqlType::Text));
    let mut list = Vec::new();
    while parser.take("when") {
        let mut conditions = vec![parse_condition(parser)?];
        while parser.take("or") {
            conditions.push(parse_condition(parser)?);
        }
        parser.expect("then")?;
        list.push((conditions, parse_statements(parser)?));
    }
    if list.is_empty() {
        return Err(parser.unexpected());
    }
    parser.scope.forget(mark);
    Ok(Handlers { state, message, list })
}

fn parse_condition(parser: &mut Parser<'_>) -> Result<Condition> {
    if parser.take("others") {
        return Ok(Condition::Others);
    }
    state_of_condition(parser).map(|(_, state)| Condition::State(state))
}

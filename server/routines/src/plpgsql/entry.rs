//! The way in: the text of a body.

use braid_plan::TransitionTable;
use braid_types::{Error, Result, SqlType};

use super::block_parser::parse_block;
use super::lexer::TokenKind;
use super::parser::{Parser, ResultKind};
use super::scope::Scope;
use super::tree::{Block, Body, SlotKind};

/// A body in PL/pgSQL. The routine's name labels its parameters. 42601 if it is none.
pub fn parse(
    text: &str,
    routine: Option<&str>,
    parameters: &[Option<String>],
    result: ResultKind,
) -> Result<Body> {
    parse_with((text, routine), result, |scope| {
        for (number, name) in parameters.iter().enumerate() {
            let slot = scope.add(SlotKind::Parameter(number));
            if let Some(name) = name {
                scope.name(routine, name, slot);
            }
        }
    })
}

/// What the function of a trigger can name.
pub struct TriggerNames {
    /// Its variables with their types.
    pub variables: Vec<(&'static str, SqlType)>,
    /// Its transition tables, as arrays of rows.
    pub tables: Vec<(String, SqlType)>,
}

/// The body of a trigger's function, whose variables and transition tables have the first slots.
pub fn parse_trigger(text: &str, routine: &str, names: TriggerNames) -> Result<Body> {
    parse_with((text, Some(routine)), ResultKind::TRIGGER, |scope| {
        for (name, ty) in names.variables {
            let slot = scope.add(SlotKind::Fixed(ty));
            scope.name(Some(routine), name, slot);
        }
        for (name, ty) in names.tables {
            let param = scope.add(SlotKind::Fixed(ty));
            scope.tables.push(TransitionTable { name, param });
        }
    })
}

/// A body whose scope has these names at its beginning. An error without a position has the line
/// in its context.
fn parse_with(
    (text, routine): (&str, Option<&str>),
    result: ResultKind,
    fill: impl FnOnce(&mut Scope),
) -> Result<Body> {
    braid_sql::deep_stack(|| {
        let mut parser = Parser::new(text, result)?;
        fill(&mut parser.scope);
        let found = parser.scope.declare(None, "found", SlotKind::Fixed(SqlType::Bool));
        let block = parse_outermost(&mut parser);
        let block = block.map_err(|error| match error.fields().position {
            Some(_) => error,
            None => {
                let (name, line) = (routine.unwrap_or("inline_code_block"), parser.line());
                let what = "compilation of PL/pgSQL function";
                error.context(format!("{what} \"{name}\" near line {line}"))
            }
        })?;
        let pieces = parser.pieces;
        let Scope { slots, cursors, mut names, tables, .. } = parser.scope;
        names.resize(slots.len(), None);
        Ok(Body { block, slots, found, pieces, names, cursors, tables })
    })
}

/// The outermost block, with the lines before it.
fn parse_outermost(parser: &mut Parser<'_>) -> Result<Block> {
    parse_options(parser)?;
    let block = parse_block(parser)?;
    parser.take_symbol(";");
    match parser.peek() {
        TokenKind::End => Ok(block),
        _ => Err(parser.unexpected()),
    }
}

/// `#variable_conflict use_column` and other lines before the first block. 0A000 for
/// `use_variable`.
fn parse_options(parser: &mut Parser<'_>) -> Result<()> {
    while *parser.peek() == TokenKind::Other('#') {
        parser.advance();
        match parser.name()?.as_str() {
            "variable_conflict" => match parser.name()?.as_str() {
                "error" => parser.scope.prefers_columns = false,
                "use_column" => parser.scope.prefers_columns = true,
                "use_variable" => {
                    return Err(Error::unsupported("#variable_conflict use_variable"));
                }
                _ => return Err(parser.unexpected()),
            },
            "print_strict_params" | "option" => drop(parser.name()?),
            _ => return Err(parser.unexpected()),
        }
    }
    Ok(())
}

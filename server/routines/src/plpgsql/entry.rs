//! The way in: the text of a body.

use braid_types::{Error, Result, SqlType};

use super::block_parser::parse_block;
use super::lexer::TokenKind;
use super::parser::{Parser, ResultKind};
use super::scope::Scope;
use super::tree::{Body, SlotKind};

/// A body in PL/pgSQL. The routine's name labels its parameters. 42601 if it is none.
pub fn parse(
    text: &str,
    routine: Option<&str>,
    parameters: &[Option<String>],
    result: ResultKind,
) -> Result<Body> {
    braid_sql::deep_stack(|| {
        let mut parser = Parser::new(text, result)?;
        for (number, name) in parameters.iter().enumerate() {
            let slot = parser.scope.add(SlotKind::Parameter(number));
            if let Some(name) = name {
                parser.scope.name(routine, name, slot);
            }
        }
        let found = parser.scope.declare(None, "found", SlotKind::Fixed(SqlType::Bool));
        parse_options(&mut parser)?;
        let block = parse_block(&mut parser)?;
        parser.take_symbol(";");
        if *parser.peek() != TokenKind::End {
            return Err(parser.unexpected());
        }
        let pieces = parser.pieces;
        let Scope { slots, cursors, mut names, .. } = parser.scope;
        names.resize(slots.len(), None);
        Ok(Body { block, slots, found, pieces, names, cursors })
    })
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

//! The way in: the text of a body.

use braid_types::{Result, SqlType};

use super::block_parser::parse_block;
use super::lexer::TokenKind;
use super::parser::{Parser, ResultKind};
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
        let block = parse_block(&mut parser)?;
        parser.take_symbol(";");
        if *parser.peek() != TokenKind::End {
            return Err(parser.unexpected());
        }
        Ok(Body { block, slots: parser.scope.slots, found, pieces: parser.pieces })
    })
}

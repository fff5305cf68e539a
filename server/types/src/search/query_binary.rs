//! PostgreSQL's binary form of `tsquery`.

use crate::{Datum, Error, Result, SqlState};

use super::limits::LEXEME_BYTES_MAX;
use super::query::{Item, Operator, Query};
use super::query_bytes::{number, numbered};

/// The kind of an item that is a value.
const VALUE: u8 = 1;
/// The kind of an item that is an operator.
const OPERATOR: u8 = 2;
/// All weights of a value.
const WEIGHTS: u8 = 0xf;

/// Appends the binary form of a query's bytes.
pub fn encode_query(bytes: &[u8], out: &mut Vec<u8>) {
    let Ok(query) = Query::read(bytes) else { return };
    out.extend_from_slice(&(query.items.len() as u32).to_be_bytes());
    for item in query.items.iter().rev() {
        match item {
            Item::Value { text, weights, is_prefix } => {
                out.extend_from_slice(&[VALUE, *weights, u8::from(*is_prefix)]);
                out.extend_from_slice(text.as_bytes());
                out.push(0);
            }
            Item::Operator(operator) => {
                out.extend_from_slice(&[OPERATOR, number(*operator)]);
                if let Operator::Phrase(distance) = operator {
                    out.extend_from_slice(&distance.to_be_bytes());
                }
            }
        }
    }
}

fn invalid(what: &str) -> Error {
    Error::new(SqlState::InvalidBinaryRepresentation, format!("invalid tsquery: {what}"))
}

/// Reads the binary form; 22P03 if it is none.
pub fn decode_query(bytes: &[u8]) -> Result<Datum> {
    let short = || invalid("insufficient data left in message");
    let (count, mut rest) = bytes.split_first_chunk::<4>().ok_or_else(short)?;
    let mut query = Query::default();
    for _ in 0..u32::from_be_bytes(*count) {
        let (&kind, after) = rest.split_first().ok_or_else(short)?;
        match kind {
            VALUE => {
                let ([weights, prefix], after) =
                    after.split_first_chunk::<2>().ok_or_else(short)?;
                let end = after.iter().position(|byte| *byte == 0).ok_or_else(short)?;
                let text = std::str::from_utf8(&after[..end]).map_err(|error| {
                    crate::binary::invalid_utf8(&after[error.valid_up_to()..end])
                })?;
                if *weights > WEIGHTS {
                    return Err(invalid("invalid weight bitmap"));
                }
                if text.len() > LEXEME_BYTES_MAX {
                    return Err(invalid("operand too long"));
                }
                let (weights, is_prefix) = (*weights, *prefix != 0);
                query.push(Item::Value { text: text.into(), weights, is_prefix })?;
                rest = &after[end + 1..];
            }
            OPERATOR => {
                let (&number, after) = after.split_first().ok_or_else(short)?;
                rest = after;
                let mut distance = 0;
                if number == 4 {
                    let (bytes, after) = rest.split_first_chunk::<2>().ok_or_else(short)?;
                    (distance, rest) = (u16::from_be_bytes(*bytes), after);
                }
                let operator = numbered(number, distance);
                let operator = operator.ok_or_else(|| invalid("unrecognized operator type"))?;
                query.push(Item::Operator(operator))?;
            }
            _ => return Err(invalid("unrecognized item type")),
        }
    }
    query.items.reverse();
    let mut depth = 0usize;
    for item in &query.items {
        let operands = Query::operands(item);
        depth = depth.checked_sub(operands).ok_or_else(|| invalid("missing operand"))? + 1;
    }
    if depth > 1 || !rest.is_empty() {
        return Err(invalid("extra nodes"));
    }
    query.to_datum()
}

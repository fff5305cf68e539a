//! The text form of `tsquery`.

use crate::{Datum, Result};

use super::lexer::Syntax;
use super::query::{Item, Operands, Operator, Query};
use super::query_parser::parse_query;
use super::vector_text::put_quoted;

/// A part of a query in words, and how tightly its operator binds.
struct Part {
    text: String,
    priority: u8,
    is_phrase: bool,
}

impl Part {
    fn enclosed(self) -> String {
        format!("( {} )", self.text)
    }
}

impl Query {
    /// Parses `'a' & !b:*`; 42601 if it is no query.
    pub fn parse(text: &str) -> Result<Datum> {
        let query = parse_query(text, Syntax::Standard, &mut |made, text, weights, is_prefix| {
            made.value(text, weights, is_prefix)
        })?;
        query.to_datum()
    }

    /// The text form.
    pub fn print(&self) -> String {
        let printed = self.fold(|_, item, operands| Ok(print_item(item, operands)));
        printed.ok().flatten().map(|part| part.text).unwrap_or_default()
    }
}

/// Appends the text form of a query's bytes.
pub fn format_query(bytes: &[u8], out: &mut Vec<u8>) {
    if let Ok(query) = Query::read(bytes) {
        out.extend_from_slice(query.print().as_bytes());
    }
}

fn print_item(item: &Item, operands: Operands<Part>) -> Part {
    match (item, operands) {
        (Item::Value { text, weights, is_prefix }, _) => {
            let mut out = String::new();
            put_quoted(text, &mut out);
            if *weights > 0 || *is_prefix {
                out.push(':');
                out.extend(is_prefix.then_some('*'));
                let letters = [(8, 'A'), (4, 'B'), (2, 'C'), (1, 'D')];
                out.extend(letters.iter().filter(|(bit, _)| weights & bit > 0).map(|(_, c)| c));
            }
            Part { text: out, priority: u8::MAX, is_phrase: false }
        }
        (Item::Operator(_), Operands::One(operand)) => {
            let text = if operand.priority < 4 { operand.enclosed() } else { operand.text };
            Part { text: format!("!{text}"), priority: 4, is_phrase: false }
        }
        (Item::Operator(operator), Operands::Two(left, right)) => {
            let is_phrase = matches!(operator, Operator::Phrase(_));
            let (word, priority) = match operator {
                Operator::Phrase(1) => ("<->".to_owned(), 3),
                Operator::Phrase(distance) => (format!("<{distance}>"), 3),
                Operator::Or => ("|".to_owned(), 1),
                _ => ("&".to_owned(), 2),
            };
            let mut text = if left.priority < priority { left.enclosed() } else { left.text };
            text.push(' ');
            text.push_str(&word);
            text.push(' ');
            let is_inside = right.priority < priority || (is_phrase && right.is_phrase);
            text.push_str(&if is_inside { right.enclosed() } else { right.text });
            Part { text, priority, is_phrase }
        }
        (Item::Operator(_), Operands::None) => {
            Part { text: String::new(), priority: u8::MAX, is_phrase: false }
        }
    }
}

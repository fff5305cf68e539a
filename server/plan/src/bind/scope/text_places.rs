//! Places in the client's text: of what was bound, and of syntax.

use std::collections::HashMap;

use braid_sql::ast::{Expr as Ast, ObjectName, Span, Spanned};
use braid_sql::offset_of;

use crate::tree::expr::Slot;

/// The places of what was bound.
#[derive(Default)]
pub(crate) struct Places {
    /// Of string literals, by their text: the last one of a text counts.
    literals: HashMap<String, u32>,
    /// Of columns, in the order in which they were bound.
    columns: Vec<(Slot, u32)>,
    /// Inside of a stored expression, which is no part of the client's text.
    pub(crate) stored: usize,
}

impl Places {
    pub(crate) fn note_literal(&mut self, text: &str, span: Span) {
        if self.stored == 0 {
            self.literals.insert(text.to_owned(), offset_of(span));
        }
    }

    /// The place of a string literal, 0 if it is not known.
    pub(crate) fn literal_place(&self, text: &str) -> u32 {
        if self.stored > 0 {
            return 0;
        }
        self.literals.get(text).copied().unwrap_or(0)
    }

    pub(crate) fn note_column(&mut self, slot: Slot, span: Span) {
        if self.stored == 0 {
            self.columns.push((slot, offset_of(span)));
        }
    }

    /// How many columns have been bound: what comes later is found by [`Places::column_place`].
    pub(crate) fn columns_bound(&self) -> usize {
        self.columns.len()
    }

    /// Where a column stands, of those bound since there were `since`; 0 if it is not known.
    pub(crate) fn column_place(&self, slot: Slot, since: usize) -> u32 {
        let columns = self.columns.get(since..).unwrap_or_default();
        columns.iter().find(|(known, _)| *known == slot).map_or(0, |(_, place)| *place)
    }
}

/// Where a name begins, 0 if it is not known.
pub(crate) fn first_part(name: &ObjectName) -> u32 {
    name.0.first().and_then(|part| part.as_ident()).map_or(0, |ident| offset_of(ident.span))
}

/// Where an expression begins, 0 if it is not known.
pub(crate) fn start_of(ast: &Ast) -> u32 {
    offset_of(ast.span())
}

/// Where the last part of an expression that has a place ends, 0 if it is not known.
pub(crate) fn end_of(ast: &Ast) -> u32 {
    u32::try_from(ast.span().end.column).unwrap_or(0)
}

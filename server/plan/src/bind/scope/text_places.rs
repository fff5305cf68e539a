//! Places in the client's text: of what was bound, and of syntax.

use std::collections::HashMap;

use braid_sql::ast::{Expr as Ast, ObjectName, SelectItem, SetExpr, Span, Spanned};
use braid_sql::offset_of;
use braid_types::Error;

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

    /// The error at this place, if the text is the client's.
    pub(crate) fn at(&self, error: Error, span: Span) -> Error {
        if self.stored == 0 { error.position(offset_of(span)) } else { error }
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

/// Where the columns of a query begin, as far as its select list shows it.
#[derive(Clone, Default)]
pub(crate) struct ColumnPlaces {
    /// Of the items before the first `*`.
    items: Vec<u32>,
    /// Of that `*`, which stands for any number of columns; 0 without one.
    star: u32,
}

impl ColumnPlaces {
    /// Those of a query's body: of a set operation, those of its first query.
    pub(crate) fn of(body: &SetExpr) -> Self {
        let mut body = body;
        loop {
            body = match body {
                SetExpr::Query(query) => &query.body,
                SetExpr::SetOperation { left, .. } => left,
                SetExpr::Select(select) => return Self::of_items(&select.projection),
                _ => return Self::default(),
            };
        }
    }

    fn of_items(projection: &[SelectItem]) -> Self {
        let mut places = Self::default();
        for item in projection {
            match item {
                SelectItem::UnnamedExpr(expr) | SelectItem::ExprWithAlias { expr, .. } => {
                    places.items.push(start_of(expr));
                }
                star => {
                    places.star = offset_of(star.span());
                    break;
                }
            }
        }
        places
    }

    /// That of the only column; 0 if there are several.
    pub(crate) fn only(&self) -> u32 {
        if self.items.len() == 1 { self.at(0) } else { 0 }
    }

    /// That of a column by its number from 0; 0 if it is not known.
    pub(crate) fn at(&self, column: usize) -> u32 {
        self.items.get(column).copied().unwrap_or(self.star)
    }
}

/// Where the last part of an expression that has a place ends, 0 if it is not known.
pub(crate) fn end_of(ast: &Ast) -> u32 {
    u32::try_from(ast.span().end.column).unwrap_or(0)
}

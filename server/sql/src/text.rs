//! Small questions about parts of a statement.

use std::collections::BTreeSet;
use std::ops::ControlFlow;

use sqlparser::ast::helpers::attached_token::AttachedToken;
use sqlparser::ast::{
    Expr, FunctionArg, FunctionArgExpr, FunctionArguments, ObjectName, Query, Visit, VisitMut,
    Visitor, VisitorMut,
};
use sqlparser::tokenizer::Span;

/// The 1-based character offset of a span in the text that was parsed, 0 for an unknown one: what
/// [`braid_types::Error::position`] takes.
pub fn offset_of(span: Span) -> u32 {
    crate::rewrite::words::position(span)
}

/// Whether an expression is the bare word `DEFAULT`, of a `VALUES` row or an assignment.
pub fn is_default(expr: &Expr) -> bool {
    match expr {
        Expr::Nested(inner) => is_default(inner),
        Expr::Identifier(name) => name.quote_style.is_none() && name.value == "default",
        _ => false,
    }
}

/// Whether an expression holds a query.
pub fn has_subquery(expr: &Expr) -> bool {
    struct Finder;
    impl Visitor for Finder {
        type Break = ();
        fn pre_visit_query(&mut self, _query: &Query) -> ControlFlow<()> {
            ControlFlow::Break(())
        }
    }
    expr.visit(&mut Finder).is_break()
}

/// The names of the functions that an expression calls outside of its subqueries, in quotes where
/// they need them, and whether each call has a window.
pub fn called_functions(expr: &Expr) -> Vec<(ObjectName, bool)> {
    #[derive(Default)]
    struct Calls {
        depth: usize,
        found: Vec<(ObjectName, bool)>,
    }
    impl Visitor for Calls {
        type Break = ();
        fn pre_visit_query(&mut self, _query: &Query) -> ControlFlow<()> {
            self.depth += 1;
            ControlFlow::Continue(())
        }
        fn post_visit_query(&mut self, _query: &Query) -> ControlFlow<()> {
            self.depth -= 1;
            ControlFlow::Continue(())
        }
        fn pre_visit_expr(&mut self, expr: &Expr) -> ControlFlow<()> {
            if let Expr::Function(function) = expr
                && self.depth == 0
            {
                self.found.push((function.name.clone(), function.over.is_some()));
            }
            ControlFlow::Continue(())
        }
    }
    let mut calls = Calls::default();
    let _ = expr.visit(&mut calls);
    calls.found
}

/// The numbers of the columns of an item of FROM that a query in the stored form reads, in its
/// subqueries, too; each once, in order.
pub fn columns_read(query: &Query, item: u32) -> Vec<u16> {
    struct Reads(u32, BTreeSet<u16>);
    impl Visitor for Reads {
        type Break = ();
        fn pre_visit_expr(&mut self, expr: &Expr) -> ControlFlow<()> {
            if let Expr::CompoundIdentifier(parts) = expr
                && let [of, number, ..] = &parts[..]
                && of.value.parse() == Ok(self.0)
                && let Ok(number) = number.value.parse()
            {
                self.1.insert(number);
            }
            ControlFlow::Continue(())
        }
    }
    let mut reads = Reads(item, BTreeSet::new());
    let _ = query.visit(&mut reads);
    reads.1.into_iter().filter(|number| *number < crate::DELETED_BY_COLUMN).collect()
}

/// An expression in which whole rows stand by their names: `t` for `t.*`.
pub fn rows_by_name(expr: &Expr) -> Expr {
    struct Rows;
    impl VisitorMut for Rows {
        type Break = ();
        fn pre_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<()> {
            if let Expr::QualifiedWildcard(name, _) = expr
                && let [part] = name.0.as_slice()
                && let Some(ident) = part.as_ident()
            {
                *expr = Expr::Identifier(ident.clone());
            }
            ControlFlow::Continue(())
        }
    }
    let mut expr = expr.clone();
    let _ = VisitMut::visit(&mut expr, &mut Rows);
    expr
}

/// A query in which `t.*` among the arguments of a function is an expression like the others.
pub fn with_row_arguments(query: &Query) -> Query {
    struct Rows;
    impl VisitorMut for Rows {
        type Break = ();
        fn pre_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<()> {
            let Expr::Function(function) = expr else { return ControlFlow::Continue(()) };
            let FunctionArguments::List(list) = &mut function.args else {
                return ControlFlow::Continue(());
            };
            for arg in &mut list.args {
                if let FunctionArg::Unnamed(FunctionArgExpr::QualifiedWildcard(name)) = arg {
                    let row = Expr::QualifiedWildcard(name.clone(), AttachedToken::empty());
                    *arg = FunctionArg::Unnamed(FunctionArgExpr::Expr(row));
                }
            }
            ControlFlow::Continue(())
        }
    }
    let mut query = query.clone();
    let _ = VisitMut::visit(&mut query, &mut Rows);
    query
}

/// A stored expression over the rows of another table: `number` says which number a column has
/// there. Columns without one keep theirs.
pub fn with_column_numbers(expr: &Expr, number: &dyn Fn(u16) -> Option<u16>) -> Expr {
    struct Numbers<'n>(&'n dyn Fn(u16) -> Option<u16>);
    impl VisitorMut for Numbers<'_> {
        type Break = ();
        fn pre_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<()> {
            if let Expr::CompoundIdentifier(parts) = expr
                && let [_, column] = parts.as_mut_slice()
                && let Some(new) = column.value.parse().ok().and_then(self.0)
            {
                column.value = new.to_string();
            }
            ControlFlow::Continue(())
        }
    }
    let mut expr = expr.clone();
    let _ = VisitMut::visit(&mut expr, &mut Numbers(number));
    expr
}

/// The last parts of the names of columns in an expression, folded.
pub fn column_names(expr: &Expr) -> Vec<String> {
    #[derive(Default)]
    struct Collector(Vec<String>);
    impl Visitor for Collector {
        type Break = ();
        fn pre_visit_expr(&mut self, expr: &Expr) -> ControlFlow<()> {
            match expr {
                Expr::Identifier(name) => self.0.push(crate::fold(name)),
                Expr::CompoundIdentifier(parts) => self.0.extend(parts.last().map(crate::fold)),
                _ => {}
            }
            ControlFlow::Continue(())
        }
    }
    let mut collector = Collector::default();
    let _ = expr.visit(&mut collector);
    collector.0
}

/// Stack that must be free for a tree as deep as the limits allow, in an unoptimized build too.
const STACK_FREE: usize = 24 << 20;

/// The stack that is taken where less is free.
const STACK_TAKEN: usize = 64 << 20;

/// Runs work that walks a statement's tree by recursion (binding, planning, cloning, dropping)
/// with enough stack for the deepest tree that the parser lets through. Costs nothing on a
/// thread with that much stack, else a mapping of memory that is used as far as needed.
pub fn deep_stack<R>(run: impl FnOnce() -> R) -> R {
    stacker::maybe_grow(STACK_FREE, STACK_TAKEN, run)
}

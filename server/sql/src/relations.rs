//! The relations that a query names.

use std::ops::ControlFlow;

use sqlparser::ast::{Query, visit_relations};

/// The names of one part of the relations in a query, its subqueries and its WITH list, folded.
pub fn relations(query: &Query) -> Vec<String> {
    let mut names = Vec::new();
    let visited: ControlFlow<()> = visit_relations(query, |name| {
        if let [part] = name.0.as_slice()
            && let Some(name) = part.as_ident()
        {
            names.push(crate::fold(name));
        }
        ControlFlow::Continue(())
    });
    debug_assert!(visited.is_continue(), "nothing ends the visit early");
    names
}

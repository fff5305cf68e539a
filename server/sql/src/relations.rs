//! Where a part of a query names a relation.

use std::ops::ControlFlow;

use sqlparser::ast::{ObjectName, Query, Visit, Visitor};
use sqlparser::tokenizer::Span;

/// Where `part` names the relation `name` (folded, without a schema), in the order of the text. A
/// WITH list inside of `part` that defines the name hides it.
pub fn references<T: Visit>(part: &T, name: &str) -> Vec<Span> {
    let mut finder = Finder { name, hidden: 0, found: Vec::new() };
    let visited = part.visit(&mut finder);
    debug_assert!(visited.is_continue(), "nothing ends the visit early");
    finder.found
}

/// Whether the WITH list of a query defines a name.
pub fn defines(query: &Query, name: &str) -> bool {
    let entries = query.with.iter().flat_map(|with| &with.cte_tables);
    entries.into_iter().any(|entry| crate::fold(&entry.alias.name) == name)
}

struct Finder<'n> {
    name: &'n str,
    /// How many of the queries around the current place define the name themselves.
    hidden: usize,
    found: Vec<Span>,
}

impl Visitor for Finder<'_> {
    type Break = ();

    fn pre_visit_query(&mut self, query: &Query) -> ControlFlow<()> {
        self.hidden += usize::from(defines(query, self.name));
        ControlFlow::Continue(())
    }

    fn post_visit_query(&mut self, query: &Query) -> ControlFlow<()> {
        self.hidden -= usize::from(defines(query, self.name));
        ControlFlow::Continue(())
    }

    fn pre_visit_relation(&mut self, relation: &ObjectName) -> ControlFlow<()> {
        if let [part] = relation.0.as_slice()
            && let Some(ident) = part.as_ident()
            && self.hidden == 0
            && crate::fold(ident) == self.name
        {
            self.found.push(ident.span);
        }
        ControlFlow::Continue(())
    }
}

//! Finds an aggregate by its name and the types of its arguments.

use braid_types::{Result, SqlType};

use super::definition::Aggregate;
use crate::registry::resolve::{
    Candidate, Selection, ambiguous_function, bind_one, no_function, select,
};
use crate::registry::tables::registry;

/// What resolution found.
#[derive(Clone)]
pub struct ResolvedAggregate {
    /// The aggregate.
    pub aggregate: &'static Aggregate,
    /// The types that the arguments are to be cast to.
    pub arg_types: Vec<SqlType>,
    /// The type of its result.
    pub returns: SqlType,
}

/// Finds an aggregate; `None` if there is none of that name at all, 42883 if none fits.
/// `count(*)` is asked for with no arguments.
pub fn resolve_aggregate(name: &str, args: &[SqlType]) -> Result<Option<ResolvedAggregate>> {
    let Some(all) = registry().aggregates.get(name) else { return Ok(None) };
    let candidates: Vec<_> = all
        .iter()
        .filter_map(|one| Candidate::expand(one, &one.args, one.variadic, args.len()))
        .collect();
    match select(candidates, args) {
        Selection::None => Err(no_function(name, args)),
        Selection::Many => Err(ambiguous_function(name, args)),
        Selection::One(found) => {
            let (arg_types, returns) = bind_one(&found.args, args, &found.item.returns)?;
            Ok(Some(ResolvedAggregate { aggregate: &found.item.aggregate, arg_types, returns }))
        }
    }
}

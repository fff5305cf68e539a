//! The query of a view.

use braid_catalog::{Id, StoredQuery};
use braid_sql::ast::Query;
use braid_types::{Result, SqlType};

use super::identifier::{Identifier, unstorable};
use super::queries::identify_query;
use crate::bind::{Binder, bind_query, defining};
use crate::context::PlanContext;

/// The stored form of a view's query. 0A000 if it has a form that cannot be stored so. The
/// privileges are those of `owner`, else of the session's user.
pub fn identify(query: &Query, cx: &PlanContext<'_>, owner: Option<Id>) -> Result<StoredQuery> {
    braid_sql::deep_stack(|| {
        let query = braid_sql::with_row_arguments(query);
        let mut binder = Binder::new(cx).noting(owner);
        let bound = bind_query(&mut binder, &query, None)?;
        let notes = binder.take_notes();
        let mut identifier = Identifier::new(cx, &notes);
        let syntax = identify_query(&mut identifier, &query)?;
        let uses = identifier.uses;
        let text = braid_sql::stored_text(&syntax)?;
        let types = bound.columns.iter().map(|column| &column.ty);
        check(&text, cx, owner, &types.collect::<Vec<_>>())?;
        let uses = uses.into_iter().map(|(id, columns)| (id, columns.into_iter().collect()));
        Ok(StoredQuery { query: text, uses: uses.collect() })
    })
}

/// The stored form has to give columns of the same types.
fn check(text: &str, cx: &PlanContext<'_>, owner: Option<Id>, types: &[&SqlType]) -> Result<()> {
    let query = braid_sql::parse_query(text)?;
    let bound = bind_query(&mut defining(Binder::of_stored(cx, owner)), &query, None)?;
    let same = bound.columns.len() == types.len()
        && bound.columns.iter().zip(types).all(|(column, ty)| column.ty.same_base(ty));
    if same { Ok(()) } else { Err(unstorable("a query whose types depend on its names")) }
}

//! A view's query with ids in place of names: what `CREATE VIEW` stores. Expressions of tables are
//! stored in the same form (`stored_exprs`).
//!
//! The query is bound once, with notes on what its names mean and which types its parts have
//! (`bind::notes`). Then it is written again from its syntax and the notes, in the form that
//! `braid_sql`'s module `deparse` describes: `*` is written out, names are numbers, every literal
//! and every implicit cast has its type. The result is bound again and has to have the same
//! columns.
//!
//! ```text
//!   syntax ── bind ── notes ──┐
//!     └───────────────────────┴─ Identifier ── stored syntax ── text ── bind, to compare
//! ```
//!
//! What is not here: how the stored form is shown with names (`braid_sql`), and what may be dropped
//! (`exec`).

mod comparisons;
mod exprs;
mod from;
mod functions;
mod literals;
mod operators;
mod queries;
mod rows;
mod stored_exprs;
mod syntax;

pub use stored_exprs::{identify_expr, identify_policy, identify_when};

use std::collections::{BTreeMap, BTreeSet, HashMap};

use braid_catalog::{Id, StoredQuery};
use braid_sql::ast::Query;
use braid_types::{Error, Result, SqlState, SqlType};

use crate::bind::{Binder, NoStoredForm, Notes, bind_query, defining};
use crate::context::PlanContext;
use crate::identify::queries::identify_query;

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

/// Writes a query with ids.
struct Identifier<'n, 'c> {
    cx: &'n PlanContext<'c>,
    notes: &'n Notes,
    uses: BTreeMap<Id, BTreeSet<u16>>,
    /// The relations among the items of FROM, by number.
    relations: HashMap<u32, Id>,
}

impl<'n, 'c> Identifier<'n, 'c> {
    fn new(cx: &'n PlanContext<'c>, notes: &'n Notes) -> Self {
        Self { cx, notes, uses: BTreeMap::new(), relations: HashMap::new() }
    }
}

/// 0A000 for what has no stored form.
fn unstorable(what: impl std::fmt::Display) -> Error {
    Error::new(SqlState::FeatureNotSupported, format!("{what} cannot be kept in a view"))
        .caused_by(NoStoredForm)
}

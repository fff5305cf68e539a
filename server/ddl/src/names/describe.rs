//! Descriptions of objects for messages.

use braid_catalog::{Catalog, Id, Relation, Routine};
use braid_sql::quote_ident;

use crate::context::DdlContext;
use crate::names::user_types::UserType;

/// The view, sequence or other object behind a relation's id, for messages: qualified unless the
/// search path finds it.
pub(crate) fn describe(cx: &DdlContext<'_>, catalog: &Catalog, id: Id) -> String {
    match catalog.relation(id) {
        Some(Relation::Composite(found)) => describe_type(cx, &UserType::Composite(found)),
        Some(relation) if catalog.names().is_visible(cx.path(), &relation) => {
            format!("{} {}", relation.kind(), quote_ident(relation.name()))
        }
        Some(relation) => {
            let (_, schema) = catalog.names().schema_of(&relation);
            let (schema, name) = (quote_ident(&schema), quote_ident(relation.name()));
            format!("{} {schema}.{name}", relation.kind())
        }
        None => match UserType::by_id(catalog, id) {
            Some(found) => describe_type(cx, &found),
            None => match catalog.names().routines().get(id) {
                Some(found) => describe_routine(cx, found),
                None => format!("object {id}"),
            },
        },
    }
}

/// A type, for messages.
pub(crate) fn describe_type(cx: &DdlContext<'_>, found: &UserType) -> String {
    format!("type {}", found.shown(cx))
}

/// A routine, for messages.
pub(crate) fn describe_routine(cx: &DdlContext<'_>, found: &Routine) -> String {
    let signature = cx.catalog().names().routines().signature(Some(cx.path()), found, ",");
    // As PostgreSQL has it, an aggregate among the dependent objects is a function.
    let kind = if found.aggregate.is_some() { "function" } else { found.kind() };
    format!("{kind} {signature}")
}

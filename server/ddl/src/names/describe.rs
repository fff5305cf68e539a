//! Descriptions of objects for messages.

use braid_catalog::{Catalog, Enum, Id};

use crate::context::DdlContext;
use crate::names::types::enum_name;

/// The view, sequence or other object behind a relation's id, for messages: qualified unless the
/// search path finds it.
pub(crate) fn describe(cx: &DdlContext<'_>, catalog: &Catalog, id: Id) -> String {
    match catalog.relation(id) {
        Some(relation) if catalog.names().is_visible(cx.path(), &relation) => {
            format!("{} {}", relation.kind(), relation.name())
        }
        Some(relation) => {
            let (_, schema) = catalog.names().schema_of(&relation);
            format!("{} {schema}.{}", relation.kind(), relation.name())
        }
        None => match catalog.enums().get(id) {
            Some(found) => describe_enum(cx, found),
            None => format!("object {id}"),
        },
    }
}

/// A type, for messages.
pub(crate) fn describe_enum(cx: &DdlContext<'_>, found: &Enum) -> String {
    format!("type {}", enum_name(cx, found))
}

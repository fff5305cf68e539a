//! Columns and keys that hold rows of a composite type or of a table.

use braid_catalog::{Catalog, Column, Composite, Id, is_temporary};
use braid_types::sql_type::{relation_of_row_type, row_type_oid};
use braid_types::{Error, Result, SqlState, SqlType};

use crate::context::DdlContext;

/// The relation whose rows a type is made of, if it is.
fn relation_of(ty: &SqlType) -> Option<Id> {
    match ty.innermost() {
        SqlType::Record(row) => {
            row.name().and_then(|name| relation_of_row_type(name.oid)).map(|(relation, _)| relation)
        }
        _ => None,
    }
}

/// Whether values of a type hold rows of a relation.
pub(crate) fn holds_rows(ty: &SqlType, relation: Id) -> bool {
    match ty.innermost() {
        SqlType::Record(row) => {
            relation_of(ty) == Some(relation) || row.iter().any(|(_, ty)| holds_rows(ty, relation))
        }
        _ => false,
    }
}

/// 42P16 for a column of a relation that would hold rows of the same relation.
pub(crate) fn check_no_member_of_itself(catalog: &Catalog, own: Id, ty: &SqlType) -> Result<()> {
    if !holds_rows(ty, own) {
        return Ok(());
    }
    let name = catalog.relation(own).map_or_else(String::new, |own| own.name().to_owned());
    let message = format!("composite type {name} cannot be made a member of itself");
    Err(Error::new(SqlState::InvalidTableDefinition, message))
}

/// 0A000 for a permanent column of rows of a temporary table, which end with its session.
pub(crate) fn check_no_temporary_rows(own: Id, ty: &SqlType) -> Result<()> {
    match relation_of(ty) {
        Some(relation) if is_temporary(relation) && !is_temporary(own) => {
            Err(Error::unsupported("a permanent column of rows of a temporary table"))
        }
        _ => Ok(()),
    }
}

/// 0A000 if a table keeps rows of a relation whose columns are to be stored in another form.
pub(crate) fn refuse_users(cx: &DdlContext<'_>, relation: Id, kind: &str) -> Result<()> {
    let catalog = cx.catalog();
    let tables = catalog.names().row_types().users(row_type_oid(relation));
    for table in tables.into_iter().filter_map(|id| catalog.table(id)) {
        // As in PostgreSQL, arrays are looked at first.
        let holds = |column: &&Column| holds_rows(&column.ty, relation);
        let array = table.visible_columns().filter(holds).find(|column| column.ty.is_array());
        if let Some(column) = array.or_else(|| table.visible_columns().find(holds)) {
            let name = catalog.relation(relation).map(|found| found.name().to_owned());
            let uses = if kind == "type" { "uses it" } else { "uses its row type" };
            let message = format!(
                "cannot alter {kind} \"{}\" because column \"{}.{}\" {uses}",
                name.unwrap_or_default(),
                table.name,
                column.name
            );
            return Err(Error::new(SqlState::FeatureNotSupported, message));
        }
    }
    Ok(())
}

/// 0A000 if keys of an index hold rows of a relation whose columns are to change: keys have no
/// numbers of columns.
pub(crate) fn refuse_keys(cx: &DdlContext<'_>, relation: Id, kind: &str) -> Result<()> {
    let catalog = cx.catalog();
    let tables = catalog.names().row_types().users(row_type_oid(relation));
    for table in tables.into_iter().filter_map(|id| catalog.table(id)) {
        let holds = |column: u16| {
            table.column(column).is_some_and(|column| holds_rows(&column.ty, relation))
        };
        let mut indexes = table.all_indexes();
        if let Some(index) = indexes.find(|index| index.keys.iter().any(|key| holds(key.column))) {
            let name = catalog.relation(relation).map(|found| found.name().to_owned());
            let name = name.unwrap_or_default();
            let message = format!(
                "cannot alter {kind} \"{name}\" because index \"{}\" has keys of it",
                index.name
            );
            return Err(Error::new(SqlState::FeatureNotSupported, message)
                .hint("Drop the index and create it again afterwards."));
        }
    }
    Ok(())
}

/// Drops an attribute of a type that goes itself.
pub(crate) fn forget_attribute(cx: &mut DdlContext<'_>, id: Id, number: u16) -> Result<()> {
    let Some(found) = cx.catalog().names().composites().get(id).cloned() else { return Ok(()) };
    refuse_keys(cx, id, "type")?;
    let mut changed = Composite::clone(&found);
    changed.columns.retain(|column| column.id != number);
    cx.draft()?.put(changed);
    Ok(())
}

//! `table.column%TYPE` in the signature of a routine: the column's type at that time.

use braid_catalog::{Column, Id, Relation};
use braid_sql::RELATION_MARK;
use braid_sql::ast::{
    COLUMN_TYPE, CreateRoutine, DataType, Ident, ObjectName, Returns, RoutineParameter,
};
use braid_types::{Error, Result, SqlState, SqlType};

use crate::context::DdlContext;
use crate::names::lookup::{parts, undefined, undefined_column};

/// The statement with the types of columns in place of references to them; a notice for each.
pub(super) fn without_references(
    cx: &mut DdlContext<'_>,
    create: &CreateRoutine,
) -> Result<CreateRoutine> {
    let mut create = create.clone();
    for RoutineParameter { data_type, .. } in &mut create.parameters {
        replace(cx, data_type)?;
    }
    match &mut create.returns {
        Some(Returns::Value(ty) | Returns::Set(ty)) => replace(cx, ty)?,
        Some(Returns::Table(columns)) => {
            for (_, ty) in columns {
                replace(cx, ty)?;
            }
        }
        None => {}
    }
    Ok(create)
}

fn replace(cx: &mut DdlContext<'_>, data_type: &mut DataType) -> Result<()> {
    let Some(column) = referenced(data_type) else { return Ok(()) };
    let (ty, domain) = column_type(cx, &column)?;
    let catalog = cx.catalog();
    let shown = match domain.and_then(|id| catalog.domains().get(id)) {
        Some(domain) => domain.name.clone(),
        None => ty.bare().display_name(),
    };
    let message = format!("type reference {}%TYPE converted to {shown}", column.join("."));
    cx.notice(SqlState::SuccessfulCompletion, message);
    *data_type = written(&ty, domain)?;
    Ok(())
}

/// The names of the column to whose type a type refers.
fn referenced(data_type: &DataType) -> Option<Vec<String>> {
    match data_type {
        DataType::Custom(name, modifiers) if *modifiers == [COLUMN_TYPE] => Some(parts(name)),
        _ => None,
    }
}

/// The type of `table.column`, for a statement that names a routine by its arguments.
pub(super) fn referenced_type(
    cx: &DdlContext<'_>,
    data_type: &DataType,
) -> Result<Option<SqlType>> {
    let Some(column) = referenced(data_type) else { return Ok(None) };
    column_type(cx, &column).map(|(ty, _)| Some(ty.bare()))
}

/// The type of a column and its domain. 42P01 or 42703 if there is none, 42601 for a name alone.
fn column_type(cx: &DdlContext<'_>, names: &[String]) -> Result<(SqlType, Option<Id>)> {
    let Some((column, relation)) = names.split_last().filter(|(_, table)| !table.is_empty()) else {
        let message =
            format!("improper %TYPE reference (too few dotted names): {}", names.join("."));
        return Err(Error::new(SqlState::SyntaxError, message));
    };
    let found = cx.catalog().names().resolve(cx.path(), relation)?;
    let found = found.ok_or_else(|| undefined("relation", relation))?;
    let of = |known: &Column| (known.ty.clone(), known.domain);
    let ty = match &found {
        Relation::Table(table) => {
            table.visible_columns().find(|known| known.name == *column).map(of)
        }
        Relation::Composite(row) => row.columns.iter().find(|known| known.name == *column).map(of),
        Relation::View(view) => {
            let known = view.columns.iter().find(|(name, _)| name == column);
            known.map(|(_, ty)| (ty.clone(), None))
        }
        _ => None,
    };
    ty.ok_or_else(|| undefined_column(found.name(), column))
}

/// A type as a statement writes it: one of a user by its number.
fn written(ty: &SqlType, domain: Option<Id>) -> Result<DataType> {
    let of_user = braid_types::sql_type::user_types(ty).into_iter().next().map(|_| ty.oid());
    match domain.or(of_user) {
        Some(id) => {
            let mark = Ident::with_quote('"', RELATION_MARK);
            let id = Ident::with_quote('"', id.to_string());
            Ok(DataType::Custom(ObjectName::from(vec![mark, id]), Vec::new()))
        }
        None => braid_sql::parse_data_type(&ty.bare().display_name()),
    }
}

//! Names of types: enums, and the types of columns.

use std::sync::Arc;

use braid_catalog::{Enum, Id, Object, Relation};
use braid_plan::{TypeNames, sql_type_of};
use braid_sql::ast::{DataType, Ident, ObjectName};
use braid_types::sql_type::{relation_of_row_type, row_name};
use braid_types::{Error, Result, SqlState, SqlType};

use crate::context::DdlContext;
use crate::names::lookup::{WrongKind, parts};

pub(crate) fn duplicate_type(name: &str) -> Error {
    Error::new(SqlState::DuplicateObject, format!("type \"{name}\" already exists"))
}

/// 42704: there is no type of that name.
pub(crate) fn undefined_type(name: &[String]) -> Error {
    let message = format!("type \"{}\" does not exist", name.join("."));
    Error::new(SqlState::UndefinedObject, message)
}

/// The type of that name. 42704 if there is none.
pub(crate) fn sql_type(cx: &DdlContext<'_>, data_type: &DataType) -> Result<SqlType> {
    let catalog = cx.catalog();
    sql_type_of(data_type, TypeNames { catalog: &catalog, path: cx.path() })
}

/// Where the type behind a column's name stands in the text, for its faults; the number of a
/// `float`.
pub(crate) fn type_place(cx: &DdlContext<'_>, column: &Ident, data_type: &DataType) -> u32 {
    let name = braid_sql::offset_of(column.span);
    if name == 0 {
        return 0;
    }
    let start = braid_sql::next_token(cx.text, name + 1);
    match data_type {
        DataType::Float(_) => {
            let parenthesis = braid_sql::next_token(cx.text, start + 1);
            braid_sql::next_token(cx.text, parenthesis + 1)
        }
        _ => start,
    }
}

/// The type that a column is to have. 42501 for a type that the user may not use.
pub(crate) fn column_type(cx: &DdlContext<'_>, data_type: &DataType) -> Result<SqlType> {
    let ty = sql_type(cx, data_type)?;
    let catalog = cx.catalog();
    if let Some(found) = ty.inner_enum().and_then(|ty| catalog.enums().get(ty.oid)) {
        catalog.privileges().check(cx.user(), Object::Enum(found), "USAGE")?;
    }
    let relation = row_name(&ty).and_then(|name| relation_of_row_type(name.oid));
    if let Some(found) =
        relation.and_then(|(relation, _)| catalog.names().composites().get(relation))
    {
        catalog.privileges().check(cx.user(), Object::Composite(found), "USAGE")?;
    }
    Ok(ty)
}

/// The enum of that name, and whether the name is that of its arrays' type. 42704 if there is
/// no such type, 42809 if it is no enum.
pub(crate) fn find_enum(cx: &DdlContext<'_>, name: &ObjectName) -> Result<(Arc<Enum>, bool)> {
    let written = parts(name);
    let catalog = cx.catalog();
    if let Some((found, is_array)) = catalog.enums().resolve(cx.path(), &written)? {
        return Ok((found.clone(), is_array));
    }
    let wrong = |name: &str| {
        Error::new(SqlState::WrongObjectType, format!("{name} is not an enum"))
            .caused_by(WrongKind { name: name.to_owned() })
    };
    if let Some(found) = catalog.domains().resolve(cx.path(), &written)? {
        return Err(wrong(&catalog.domains().text(Some(cx.path()), found)));
    }
    if let Ok(ty) = sql_type(cx, &DataType::Custom(name.clone(), Vec::new())) {
        return Err(wrong(ty.plain_name()));
    }
    match cx.find(name)? {
        Some(found @ (Relation::Table(_) | Relation::View(_) | Relation::Composite(_))) => {
            Err(wrong(found.name()))
        }
        _ => Err(undefined_type(&written)),
    }
}

/// The enum of that name, which the user has to own.
pub(crate) fn own_enum(cx: &DdlContext<'_>, name: &ObjectName) -> Result<(Arc<Enum>, bool)> {
    let (found, is_array) = find_enum(cx, name)?;
    cx.check_owner(Object::Enum(&found))?;
    Ok((found, is_array))
}

/// An enum's name as this session has to write it.
pub(crate) fn enum_name(cx: &DdlContext<'_>, found: &Enum) -> String {
    cx.catalog().enums().text(Some(cx.path()), found)
}

/// 42710 if the schema has a type of that name, which the rows of a relation would share.
pub(crate) fn check_free_type(cx: &DdlContext<'_>, schema: Id, name: &str) -> Result<()> {
    let catalog = cx.catalog();
    match catalog.enums().find(schema, name) {
        found
            if matches!(found, Some((_, false)))
                || catalog.domains().find(schema, name).is_some() =>
        {
            Err(duplicate_type(name).hint(
                "A relation has an associated type of the same name, so you must use a name that \
             doesn't conflict with any existing type.",
            ))
        }
        _ => Ok(()),
    }
}

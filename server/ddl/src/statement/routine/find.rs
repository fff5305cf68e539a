//! The routine that DROP, ALTER, COMMENT or GRANT names.

use std::sync::Arc;

use braid_catalog::{Object, Routine};
use braid_sql::ast::{DataType, RoutineKind, RoutineName};
use braid_types::{Error, Result, SqlState, SqlType};

use super::signature::plain_type;
use crate::context::DdlContext;
use crate::names::lookup::parts;

/// The routine of that name. 42725 if a name without arguments means several, 42809 for one of
/// the other kind.
fn find(cx: &DdlContext<'_>, name: &RoutineName) -> Result<Option<Arc<Routine>>> {
    let written = parts(&name.name);
    let catalog = cx.catalog();
    let named = catalog.names().routines().named(cx.path(), &written);
    let fits = |routine: &Routine| match name.kind {
        RoutineKind::Function => !routine.is_procedure,
        RoutineKind::Procedure => routine.is_procedure,
        RoutineKind::Aggregate => routine.aggregate.is_some(),
        RoutineKind::Any => true,
    };
    let Some(arguments) = &name.arguments else {
        let mut fitting = named.into_iter().filter(|routine| fits(routine));
        let first = fitting.next().cloned();
        if fitting.next().is_some() {
            let kind = name.kind.word();
            let message = format!("{kind} name \"{}\" is not unique", written.join("."));
            return Err(Error::new(SqlState::AmbiguousFunction, message)
                .hint(format!("Specify the argument list to select the {kind} unambiguously.")));
        }
        return Ok(first);
    };
    if named.is_empty() {
        return Ok(None);
    }
    let types = argument_types(cx, arguments)?;
    let found = named.into_iter().find(|routine| routine.has_types(types.iter())).cloned();
    match found {
        Some(found) if !fits(&found) => {
            let signature = catalog.names().routines().signature(Some(cx.path()), &found, ", ");
            let message = match name.kind {
                RoutineKind::Aggregate => format!("function {signature} is not an aggregate"),
                kind => format!("{signature} is not a {}", kind.word()),
            };
            Err(Error::new(SqlState::WrongObjectType, message))
        }
        found => Ok(found),
    }
}

fn argument_types(cx: &DdlContext<'_>, arguments: &[DataType]) -> Result<Vec<SqlType>> {
    arguments.iter().map(|data_type| plain_type(cx, data_type)).collect()
}

/// 42883: there is no such routine.
fn missing(cx: &DdlContext<'_>, name: &RoutineName) -> Error {
    let (kind, shown) = (name.kind.word(), parts(&name.name).join("."));
    let message = match &name.arguments {
        None => format!("could not find a {kind} named \"{shown}\""),
        Some(arguments) => match argument_types(cx, arguments) {
            Ok(types) if types.is_empty() && name.kind == RoutineKind::Aggregate => {
                format!("{kind} {shown}(*) does not exist")
            }
            Ok(types) => {
                let types: Vec<&str> = types.iter().map(SqlType::plain_name).collect();
                format!("{kind} {shown}({}) does not exist", types.join(", "))
            }
            Err(error) => return error,
        },
    };
    Error::new(SqlState::UndefinedFunction, message)
}

/// 42809: an aggregate where a function with a body is wanted.
pub(super) fn is_aggregate(name: &RoutineName) -> Error {
    let message = format!("\"{}\" is an aggregate function", parts(&name.name).join("."));
    Error::new(SqlState::WrongObjectType, message)
}

/// The routine of that name, which the user has to own.
pub(super) fn find_own(cx: &DdlContext<'_>, name: &RoutineName) -> Result<Arc<Routine>> {
    let found = find(cx, name)?.ok_or_else(|| missing(cx, name))?;
    cx.check_owner(Object::Routine(&found))?;
    Ok(found)
}

/// The routine whose privileges change; `None` for a built-in one, whose privileges never do.
pub(crate) fn find_to_grant(
    cx: &DdlContext<'_>,
    name: &RoutineName,
) -> Result<Option<Arc<Routine>>> {
    if let Some(found) = find(cx, name)? {
        return Ok(Some(found));
    }
    let written = parts(&name.name);
    let last = written.last().map_or("", String::as_str);
    match braid_builtins::procedures().iter().any(|procedure| procedure.name == last) {
        true => Ok(None),
        false => Err(missing(cx, name)),
    }
}

/// The routine that DROP names, which the user has to own; `None` if there is none.
pub(crate) fn find_to_drop(
    cx: &DdlContext<'_>,
    name: &RoutineName,
) -> Result<Option<Arc<Routine>>> {
    let found = find(cx, name)?;
    if let Some(found) = &found {
        if found.aggregate.is_some() && name.kind == RoutineKind::Function {
            let hint = "Use DROP AGGREGATE to drop aggregate functions.";
            return Err(is_aggregate(name).hint(hint));
        }
        cx.check_owner(Object::Routine(found))?;
    }
    Ok(found)
}

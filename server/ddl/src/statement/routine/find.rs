//! The routine that DROP, ALTER, COMMENT or GRANT names.

use std::sync::Arc;

use braid_catalog::{Object, Routine};
use braid_sql::ast::{DataType, DropBehavior, RoutineKind, RoutineName};
use braid_types::{Error, Result, SqlState, SqlType};

use crate::context::DdlContext;
use crate::names::lookup::parts;
use crate::names::types::sql_type;
use crate::statement::trigger::refuse_drop_of_function;

/// The routine of that name. 42725 if a name without arguments means several, 42809 for one of
/// the other kind.
fn find(cx: &DdlContext<'_>, name: &RoutineName) -> Result<Option<Arc<Routine>>> {
    let written = parts(&name.name);
    let catalog = cx.catalog();
    let named = catalog.names().routines().named(cx.path(), &written);
    let fits = |routine: &Routine| match name.kind {
        RoutineKind::Function => !routine.is_procedure,
        RoutineKind::Procedure => routine.is_procedure,
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
            let kind = name.kind.word();
            let message = format!("{signature} is not a {kind}");
            Err(Error::new(SqlState::WrongObjectType, message))
        }
        found => Ok(found),
    }
}

fn argument_types(cx: &DdlContext<'_>, arguments: &[DataType]) -> Result<Vec<SqlType>> {
    arguments.iter().map(|data_type| Ok(sql_type(cx, data_type)?.bare())).collect()
}

/// 42883: there is no such routine.
fn missing(cx: &DdlContext<'_>, name: &RoutineName) -> Error {
    let (kind, shown) = (name.kind.word(), parts(&name.name).join("."));
    let message = match &name.arguments {
        None => format!("could not find a {kind} named \"{shown}\""),
        Some(arguments) => match argument_types(cx, arguments) {
            Ok(types) => {
                let types: Vec<&str> = types.iter().map(SqlType::plain_name).collect();
                format!("{kind} {shown}({}) does not exist", types.join(", "))
            }
            Err(error) => return error,
        },
    };
    Error::new(SqlState::UndefinedFunction, message)
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

/// Drops the routine of that name; false if there is none.
pub(crate) fn drop_routine(
    cx: &mut DdlContext<'_>,
    name: &RoutineName,
    behavior: DropBehavior,
) -> Result<bool> {
    let Some(found) = find(cx, name)? else { return Ok(false) };
    cx.check_owner(Object::Routine(&found))?;
    refuse_drop_of_function(cx, &found, behavior)?;
    cx.draft()?.remove(found.id);
    Ok(true)
}

//! CREATE FUNCTION and CREATE PROCEDURE.

use braid_catalog::{
    DefaultKind, Id, Language, Object, Routine, RoutineParameter, RoutineResult, RoutineVolatility,
    Schema,
};
use braid_routines::plpgsql::{ResultKind, parse};
use braid_sql::ast::{CreateRoutine, RoutineKind};
use braid_types::{Error, Result, SqlState, SqlType};

use super::column_types::without_references;
use super::options::{apply, check_leakproof, collect, definition};
use super::signature::{parameters, result_domain, result_of};
use crate::context::DdlContext;
use crate::names::temporary::target_of;
use crate::roles::default_privileges::new_grants;

/// `CREATE [OR REPLACE] FUNCTION`
pub(crate) fn create(cx: &mut DdlContext<'_>, create: &CreateRoutine) -> Result<String> {
    let create = &without_references(cx, create)?;
    let (schema, name) = target_of(cx, &create.name, false)?;
    let options = collect(cx, &create.options)?;
    let parameters = parameters(cx, create)?;
    let (returns, returns_set) = result_of(cx, create, &parameters)?;
    let (body, standard) = match (options.body, options.statements) {
        (Some(_), Some(_)) => return Err(definition("duplicate function body specified")),
        (Some(body), None) => (body.to_owned(), None),
        (None, Some(body)) => (body.statements.clone(), Some(body.is_return)),
        (None, None) => return Err(definition("no function body specified")),
    };
    // A body that is not a string is always in SQL.
    let language = language(options.language.or(standard.map(|_| "sql")))?;
    if standard.is_some() && language != Language::Sql {
        let message = "inline SQL function body only valid for language SQL";
        return Err(definition(message));
    }
    let is_any = |known: &RoutineParameter| matches!(known.ty, SqlType::Any(_));
    if standard.is_some() && parameters.iter().any(is_any) {
        let message = "SQL function with unquoted function body cannot have polymorphic arguments";
        return Err(definition(message));
    }
    let result_domain = result_domain(cx, create, &parameters)?;
    let mut routine = Routine {
        is_procedure: create.kind == RoutineKind::Procedure,
        parameters,
        returns,
        result_domain,
        returns_set,
        language,
        body,
        standard,
        ..new_routine(cx, &schema, name)
    };
    apply(&mut routine, &options)?;
    check_leakproof(cx, &options)?;
    replace(cx, create.or_replace, &mut routine)?;
    let is_checked = cx.exec.env.setting("check_function_bodies").as_deref() != Some("off");
    if is_checked || routine.standard.is_some() {
        let uses = check_body(cx, &routine).map_err(|error| in_body(cx, &routine, error))?;
        routine.uses = if routine.standard.is_some() { uses } else { Vec::new() };
    }
    put(cx, routine)?;
    Ok(format!("CREATE {}", create.kind.tag()))
}

/// A routine of the user without parameters, result and body, with the properties that it has
/// unless a statement says otherwise. It gets its id when it is put.
pub(super) fn new_routine(cx: &DdlContext<'_>, schema: &Schema, name: String) -> Routine {
    Routine {
        id: 0,
        database: schema.database,
        schema: schema.id,
        name,
        owner: cx.user(),
        is_procedure: false,
        aggregate: None,
        parameters: Vec::new(),
        returns: RoutineResult::Value(SqlType::Void),
        result_domain: None,
        returns_set: false,
        language: Language::Sql,
        body: String::new(),
        standard: None,
        uses: Vec::new(),
        volatility: RoutineVolatility::Volatile,
        strict: false,
        leakproof: false,
        parallel: 'u',
        cost: None,
        rows: None,
        security_definer: false,
        settings: Vec::new(),
        is_of_call: false,
        grants: new_grants(cx, cx.user(), Some(schema.id), DefaultKind::Functions),
        comment: None,
    }
}

/// Stores a routine, which gets an id if it is new.
pub(super) fn put(cx: &mut DdlContext<'_>, mut routine: Routine) -> Result<()> {
    if routine.id == 0 {
        routine.id = cx.draft()?.allocate_id(routine.schema);
    }
    cx.draft()?.put(routine);
    Ok(())
}

/// The language of a routine. 42P13 without one, 42704 for one that does not exist.
fn language(name: Option<&str>) -> Result<Language> {
    match name {
        None => Err(definition("no language specified")),
        Some("sql") => Ok(Language::Sql),
        Some("plpgsql") => Ok(Language::Plpgsql),
        Some(name @ ("c" | "internal")) => {
            Err(Error::unsupported(format!("a function in language {name}")))
        }
        Some(name) => {
            let message = format!("language \"{name}\" does not exist");
            Err(Error::new(SqlState::UndefinedObject, message))
        }
    }
}

/// Takes over what stays of the routine that is replaced, if there is one. 42723 without
/// OR REPLACE.
pub(super) fn replace(cx: &DdlContext<'_>, or_replace: bool, routine: &mut Routine) -> Result<()> {
    let catalog = cx.catalog();
    let Some(old) = catalog.names().routines().find(routine.schema, &routine.name, routine.types())
    else {
        return Ok(());
    };
    let name = &routine.name;
    if !or_replace {
        let message = format!("function \"{name}\" already exists with same argument types");
        return Err(Error::new(SqlState::DuplicateFunction, message));
    }
    cx.check_owner(Object::Routine(old))?;
    if old.is_procedure != routine.is_procedure
        || old.aggregate.is_some() != routine.aggregate.is_some()
    {
        let kind = match old.aggregate.is_some() {
            true => "an aggregate function".to_owned(),
            false => format!("a {}", old.kind()),
        };
        return Err(Error::new(SqlState::WrongObjectType, "cannot change routine kind")
            .detail(format!("\"{name}\" is {kind}.")));
    }
    let signature = catalog.names().routines().signature(Some(cx.path()), old, ",");
    let kind = if old.aggregate.is_some() { "AGGREGATE" } else { "FUNCTION" };
    let first = format!("Use DROP {kind} {signature} first.");
    let refuse = |message: String| Err(definition(message).hint(first.clone()));
    if !same_result(old, routine) {
        let message = "cannot change return type of existing function";
        let error = definition(message).hint(first);
        let is_row = |routine: &Routine| matches!(routine.result_type(), SqlType::Record(_));
        return Err(match is_row(old) && is_row(routine) && old.outputs().next().is_some() {
            true => error.detail("Row type defined by OUT parameters is different."),
            false => error,
        });
    }
    for (old, new) in old.inputs().zip(routine.inputs()) {
        if let Some(name) = &old.name
            && old.name != new.name
        {
            return refuse(format!("cannot change name of input parameter \"{name}\""));
        }
        if old.default.is_some() && new.default.is_none() {
            return refuse("cannot remove parameter defaults from existing function".to_owned());
        }
    }
    routine.id = old.id;
    routine.owner = old.owner;
    routine.grants.clone_from(&old.grants);
    routine.comment.clone_from(&old.comment);
    Ok(())
}

/// Whether a call of either gives the same.
fn same_result(old: &Routine, new: &Routine) -> bool {
    let outputs = |routine: &Routine| -> Vec<(Option<String>, SqlType, Option<Id>)> {
        let of = |known: &RoutineParameter| (known.name.clone(), known.ty.clone(), known.domain);
        routine.outputs().map(of).collect()
    };
    old.result_type().same_base(new.result_type())
        && old.result_domain == new.result_domain
        && old.returns_set == new.returns_set
        && outputs(old) == outputs(new)
}

fn built_in() -> Error {
    Error::internal("a function that is built in cannot be created")
}

/// The error of a body at its place in the statement, if that is known.
fn in_body(cx: &DdlContext<'_>, routine: &Routine, error: Error) -> Error {
    match braid_sql::quoted_start(cx.text, &routine.body) {
        Some(start) => error.moved(start),
        None => error.without_position(),
    }
}

/// What is wrong with a body is found before it runs. Else what it names.
fn check_body(cx: &DdlContext<'_>, routine: &Routine) -> Result<Vec<Id>> {
    if routine.is_for_triggers() {
        return match routine.language {
            Language::Sql => Err(definition("SQL functions cannot return type trigger")),
            Language::Plpgsql if !routine.parameters.is_empty() => {
                let error = definition("trigger functions cannot have declared arguments");
                let hint = "The arguments of the trigger can be accessed through TG_NARGS and TG_ARGV \
                            instead.";
                let name = &routine.name;
                let place = format!("compilation of PL/pgSQL function \"{name}\" near line 1");
                Err(error.hint(hint).context(place))
            }
            Language::Internal => Err(built_in()),
            Language::Plpgsql => {
                braid_routines::check_trigger_body(routine)?;
                Ok(Vec::new())
            }
        };
    }
    match routine.language {
        Language::Sql => braid_routines::check_sql_body(routine, cx.exec),
        Language::Internal => Err(built_in()),
        Language::Plpgsql => {
            let names: Vec<_> = routine.parameters.iter().map(|p| p.name.clone()).collect();
            let result = ResultKind::of(routine);
            parse(&routine.body, Some(&routine.name), &names, result).map(|_| Vec::new())
        }
    }
}

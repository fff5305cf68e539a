//! CREATE FUNCTION and CREATE PROCEDURE.

use braid_catalog::{
    Column, DefaultKind, Language, Object, Routine, RoutineParameter, RoutineResult,
    RoutineVolatility, StoredExpr, is_temporary,
};
use braid_routines::plpgsql::{ResultKind, parse};
use braid_sql::ast::{
    CreateRoutine, DataType, RoutineKind, RoutineOption, RoutineParameter as Written,
};
use braid_sql::fold;
use braid_types::{Error, Result, SqlState, SqlType};

use crate::context::DdlContext;
use crate::names::lookup::parts;
use crate::names::types::column_type;
use crate::names::user_types::column_domain;
use crate::roles::default_privileges::new_grants;
use crate::table::exprs::bind_default_expr;

/// The options of a routine, each once.
#[derive(Default)]
pub(super) struct Options<'o> {
    language: Option<&'o str>,
    body: Option<&'o str>,
    volatility: Option<char>,
    strict: Option<bool>,
    leakproof: Option<bool>,
    security_definer: Option<bool>,
    parallel: Option<char>,
    cost: Option<f64>,
    rows: Option<f64>,
}

fn definition(message: impl Into<String>) -> Error {
    Error::new(SqlState::InvalidFunctionDefinition, message)
}

/// The options by kind; 42601 for one that is written twice.
pub(super) fn collect(written: &[RoutineOption]) -> Result<Options<'_>> {
    let mut options = Options::default();
    let mut is_twice = false;
    for option in written {
        is_twice |= match option {
            RoutineOption::Language(name) => options.language.replace(name).is_some(),
            RoutineOption::Body(body) => options.body.replace(body).is_some(),
            RoutineOption::Volatility(letter) => options.volatility.replace(*letter).is_some(),
            RoutineOption::Strict(strict) => options.strict.replace(*strict).is_some(),
            RoutineOption::Leakproof(leakproof) => options.leakproof.replace(*leakproof).is_some(),
            RoutineOption::SecurityDefiner(definer) => {
                options.security_definer.replace(*definer).is_some()
            }
            RoutineOption::Parallel(letter) => options.parallel.replace(*letter).is_some(),
            RoutineOption::Estimate("COST", cost) => options.cost.replace(*cost).is_some(),
            RoutineOption::Estimate(_, rows) => options.rows.replace(*rows).is_some(),
        };
    }
    if is_twice {
        return Err(Error::new(SqlState::SyntaxError, "conflicting or redundant options"));
    }
    Ok(options)
}

/// Gives a routine what the options say, except language and body.
pub(super) fn apply(routine: &mut Routine, options: &Options<'_>) -> Result<()> {
    let of_functions = options.volatility.is_some()
        || options.strict.is_some()
        || options.leakproof.is_some()
        || options.cost.is_some()
        || options.parallel.is_some();
    if routine.is_procedure && (of_functions || options.rows.is_some()) {
        return Err(definition("invalid attribute in procedure definition"));
    }
    if options.security_definer == Some(true) {
        return Err(Error::unsupported("SECURITY DEFINER"));
    }
    if options.rows.is_some() {
        let message = "ROWS is not applicable when function does not return a set";
        return Err(Error::new(SqlState::InvalidParameterValue, message));
    }
    if options.cost.is_some_and(|cost| cost <= 0.0) {
        return Err(Error::new(SqlState::InvalidParameterValue, "COST must be positive"));
    }
    if let Some(letter) = options.volatility {
        routine.volatility = match letter {
            'i' => RoutineVolatility::Immutable,
            's' => RoutineVolatility::Stable,
            _ => RoutineVolatility::Volatile,
        };
    }
    routine.strict = options.strict.unwrap_or(routine.strict);
    routine.leakproof = options.leakproof.unwrap_or(routine.leakproof);
    routine.parallel = options.parallel.unwrap_or(routine.parallel);
    routine.cost = options.cost.or(routine.cost);
    Ok(())
}

/// `CREATE [OR REPLACE] FUNCTION`
pub(crate) fn create(cx: &mut DdlContext<'_>, create: &CreateRoutine) -> Result<String> {
    let (schema, name) = cx.target(&create.name)?;
    if is_temporary(schema.id) {
        return Err(Error::unsupported("a routine in a temporary schema"));
    }
    let options = collect(&create.options)?;
    let mut routine = Routine {
        id: 0,
        database: schema.database,
        schema: schema.id,
        name,
        owner: cx.user(),
        is_procedure: create.kind == RoutineKind::Procedure,
        parameters: parameters(cx, &create.parameters)?,
        returns: result_of(cx, create)?,
        language: language(options.language)?,
        body: options.body.ok_or_else(|| definition("no function body specified"))?.to_owned(),
        volatility: RoutineVolatility::Volatile,
        strict: false,
        leakproof: false,
        parallel: 'u',
        cost: None,
        grants: new_grants(cx, cx.user(), Some(schema.id), DefaultKind::Functions),
        comment: None,
    };
    apply(&mut routine, &options)?;
    replace(cx, create, &mut routine)?;
    if cx.exec.env.setting("check_function_bodies").as_deref() != Some("off") {
        check_body(cx, &routine)?;
    }
    if routine.id == 0 {
        routine.id = cx.draft()?.allocate_id(0);
    }
    cx.draft()?.put(routine);
    Ok(format!("CREATE {}", create.kind.tag()))
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

/// The type of a parameter or a result, without modifiers.
fn plain_type(cx: &DdlContext<'_>, data_type: &DataType) -> Result<SqlType> {
    if let DataType::Custom(name, modifiers) = data_type
        && modifiers.is_empty()
    {
        match parts(name).last().map(String::as_str) {
            Some("void") => return Ok(SqlType::Void),
            Some("event_trigger") => return Err(Error::unsupported("event triggers")),
            Some("trigger") => {
                let message = "PL/pgSQL functions cannot accept type trigger";
                return Err(Error::new(SqlState::FeatureNotSupported, message));
            }
            Some("record") => return Err(Error::unsupported("a function of records")),
            Some("anyelement" | "anyarray" | "anynonarray" | "anyenum" | "anycompatible") => {
                return Err(Error::unsupported("a function of polymorphic types"));
            }
            _ => {}
        }
    }
    if column_domain(cx, data_type)?.is_some() {
        return Err(Error::unsupported("a function of domains"));
    }
    Ok(column_type(cx, data_type)?.bare())
}

/// Whether a result is that of a trigger's function.
fn is_trigger(data_type: &DataType) -> bool {
    let DataType::Custom(name, modifiers) = data_type else { return false };
    let written = parts(name);
    let written: Vec<&str> = written.iter().map(String::as_str).collect();
    modifiers.is_empty() && matches!(written[..], ["trigger"] | ["pg_catalog", "trigger"])
}

fn parameters(cx: &DdlContext<'_>, written: &[Written]) -> Result<Vec<RoutineParameter>> {
    /// As in PostgreSQL.
    const PARAMETERS_MAX: usize = 100;
    if written.len() > PARAMETERS_MAX {
        let message = format!("functions cannot have more than {PARAMETERS_MAX} arguments");
        return Err(Error::new(SqlState::TooManyArguments, message));
    }
    let mut list: Vec<RoutineParameter> = Vec::with_capacity(written.len());
    for parameter in written {
        let name = parameter.name.as_ref().map(fold);
        if let Some(name) = &name
            && list.iter().any(|known| known.name.as_ref() == Some(name))
        {
            return Err(definition(format!("parameter name \"{name}\" used more than once")));
        }
        let ty = plain_type(cx, &parameter.data_type)?;
        if ty == SqlType::Void {
            return Err(definition("SQL function cannot accept shell type void"));
        }
        let default = match &parameter.default {
            None if list.last().is_some_and(|before| before.default.is_some()) => {
                let message =
                    "input parameters after one with a default value must also have defaults";
                return Err(definition(message));
            }
            None => None,
            Some((expr, _)) => {
                let column = Column::plain(1, "parameter", ty.clone());
                let stored = bind_default_expr(cx, expr, &column)?;
                let null = || StoredExpr::Written(format!("NULL::{}", ty.plain_name()));
                Some(stored.unwrap_or_else(null))
            }
        };
        list.push(RoutineParameter { name, ty, default });
    }
    Ok(list)
}

fn result_of(cx: &DdlContext<'_>, create: &CreateRoutine) -> Result<RoutineResult> {
    match (&create.returns, create.kind) {
        (_, RoutineKind::Procedure) => Ok(RoutineResult::Nothing),
        (None, _) => Err(definition("function result type must be specified")),
        (Some(data_type), _) if is_trigger(data_type) => Ok(RoutineResult::Trigger),
        (Some(data_type), _) => Ok(RoutineResult::Value(plain_type(cx, data_type)?)),
    }
}

/// Takes over what stays of the routine that is replaced, if there is one. 42723 without
/// OR REPLACE.
fn replace(cx: &DdlContext<'_>, create: &CreateRoutine, routine: &mut Routine) -> Result<()> {
    let catalog = cx.catalog();
    let Some(old) = catalog.names().routines().find(routine.schema, &routine.name, routine.types())
    else {
        return Ok(());
    };
    let name = &routine.name;
    if !create.or_replace {
        let message = format!("function \"{name}\" already exists with same argument types");
        return Err(Error::new(SqlState::DuplicateFunction, message));
    }
    cx.check_owner(Object::Routine(old))?;
    if old.is_procedure != routine.is_procedure {
        let kind = old.kind();
        return Err(Error::new(SqlState::WrongObjectType, "cannot change routine kind")
            .detail(format!("\"{name}\" is a {kind}.")));
    }
    let signature = catalog.names().routines().signature(Some(cx.path()), old, ",");
    let refuse = |message: String| {
        Err(definition(message).hint(format!("Use DROP FUNCTION {signature} first.")))
    };
    if old.returns != routine.returns {
        return refuse("cannot change return type of existing function".to_owned());
    }
    for (old, new) in old.parameters.iter().zip(&routine.parameters) {
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

/// What is wrong with a body is found before it runs.
fn check_body(cx: &DdlContext<'_>, routine: &Routine) -> Result<()> {
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
            Language::Plpgsql => braid_routines::check_trigger_body(routine),
        };
    }
    match routine.language {
        Language::Sql => braid_routines::check_sql_body(routine, cx.exec),
        Language::Plpgsql => {
            let names: Vec<_> = routine.parameters.iter().map(|p| p.name.clone()).collect();
            let result = match (routine.is_procedure, routine.result_type()) {
                (true, _) => ResultKind::Nothing,
                (false, SqlType::Void) => ResultKind::Void,
                (false, _) => ResultKind::Value,
            };
            parse(&routine.body, Some(&routine.name), &names, result).map(drop)
        }
    }
}

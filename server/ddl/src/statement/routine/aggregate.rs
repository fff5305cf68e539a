//! CREATE AGGREGATE: the functions that an aggregate consists of, checked as PostgreSQL does.

use braid_catalog::{
    AggregateParts, FunctionRef, ParameterMode, Routine, RoutineParameter, RoutineResult,
    RoutineVolatility,
};
use braid_plan::{FoundPart, bind_default, find_part, is_same_binary};
use braid_sql::ast::{AggregateOption, CreateAggregate, DataType, ObjectName};
use braid_sql::quote_literal;
use braid_types::{Error, Result, SqlState, SqlType};

use super::create::{new_routine, put, replace};
use super::options::definition;
use super::signature::{check_polymorphic, plain_type, written_parameters};
use crate::context::DdlContext;
use crate::names::lookup::parts;
use crate::names::temporary::target_of;
use crate::names::user_types::column_domain;
use crate::table::expr_text::written;

/// The options, each the last of its name.
#[derive(Default)]
struct Options<'o> {
    base_type: Option<Option<&'o DataType>>,
    step: Option<&'o ObjectName>,
    state: Option<&'o DataType>,
    initial: Option<&'o str>,
    finish: Option<&'o ObjectName>,
    combine: Option<&'o ObjectName>,
    finish_takes_arguments: bool,
    finish_modifies: Option<char>,
    sort_operator: Option<&'o str>,
    state_bytes: i32,
    parallel: Option<char>,
}

/// The aggregate under way: what its functions are found by.
struct Shape<'a> {
    state: &'a SqlType,
    parameters: &'a [RoutineParameter],
}

/// `CREATE [OR REPLACE] AGGREGATE`
pub(crate) fn create_aggregate(cx: &mut DdlContext<'_>, create: &CreateAggregate) -> Result<()> {
    let (schema, name) = target_of(cx, &create.name, false)?;
    let options = collect(cx, create)?;
    let state = options.state.ok_or_else(|| definition("aggregate stype must be specified"))?;
    let step = options.step.ok_or_else(|| definition("aggregate sfunc must be specified"))?;
    let parameters = parameters(cx, create, &options)?;
    let state = state_type(cx, state)?;
    check_polymorphic(&state, &parameters, "transition")?;
    let shape = Shape { state: &state, parameters: &parameters };
    if let Some(initial) = options.initial.filter(|_| !matches!(state, SqlType::Any(_))) {
        let literal = written(&quote_literal(initial));
        cx.plan(|cx| bind_default(cx, &literal, &state))?;
    }
    let found = transition(cx, step, &shape, options.initial.is_some())?;
    let (finish, returns) = final_function(cx, &options, &shape)?;
    check_polymorphic(&returns, &parameters, "result")?;
    let combine = options.combine.map(|name| combination(cx, name, &state)).transpose()?;
    check_sort_operator(&options, &parameters)?;
    let mut routine = Routine {
        aggregate: Some(Box::new(AggregateParts {
            step: found,
            state,
            initial: options.initial.map(str::to_owned),
            finish,
            finish_takes_arguments: options.finish_takes_arguments,
            finish_modifies: options.finish_modifies.unwrap_or('r'),
            combine,
            state_bytes: options.state_bytes,
            sort_operator: options.sort_operator.map(str::to_owned),
        })),
        parameters,
        returns: RoutineResult::Value(returns),
        volatility: RoutineVolatility::Immutable,
        parallel: options.parallel.unwrap_or('u'),
        ..new_routine(cx, &schema, name)
    };
    replace(cx, create.or_replace, &mut routine)?;
    put(cx, routine)
}

fn syntax(message: &str) -> Error {
    Error::new(SqlState::SyntaxError, message)
}

/// The options by name. 0A000 for those of moving aggregates, which would change nothing but the
/// speed of some windows.
fn collect<'o>(cx: &mut DdlContext<'_>, create: &'o CreateAggregate) -> Result<Options<'o>> {
    use AggregateOption as O;
    let mut options = Options::default();
    for (name, value) in &create.options {
        match (name.as_str(), value) {
            ("basetype", O::Type(ty)) => options.base_type = Some(ty.as_ref()),
            ("sfunc" | "sfunc1", O::Function(name)) => options.step = Some(name),
            ("stype" | "stype1", O::Type(ty)) => options.state = ty.as_ref(),
            ("initcond" | "initcond1", O::Text(text)) => options.initial = Some(text),
            ("finalfunc", O::Function(name)) => options.finish = Some(name),
            ("combinefunc", O::Function(name)) => options.combine = Some(name),
            ("finalfunc_extra", O::Switch(on)) => options.finish_takes_arguments = *on,
            ("finalfunc_modify", O::Text(text)) => {
                options.finish_modifies = Some(match text.as_str() {
                    "read_only" => 'r',
                    "shareable" => 's',
                    "read_write" => 'w',
                    _ => {
                        let message = "parameter \"finalfunc_modify\" must be READ_ONLY, \
                                       SHAREABLE, or READ_WRITE";
                        return Err(syntax(message));
                    }
                });
            }
            ("parallel", O::Text(text)) => {
                options.parallel = Some(match text.as_str() {
                    "safe" => 's',
                    "restricted" => 'r',
                    "unsafe" => 'u',
                    _ => {
                        let message = "parameter \"parallel\" must be SAFE, RESTRICTED, or UNSAFE";
                        return Err(syntax(message));
                    }
                });
            }
            ("sspace", O::Text(text)) => {
                options.state_bytes =
                    text.parse().map_err(|_| syntax("sspace requires an integer value"))?;
            }
            ("sortop", O::Operator(symbol)) => options.sort_operator = Some(symbol),
            ("hypothetical", O::Switch(false)) => {}
            ("hypothetical", _) => {
                return Err(definition("only ordered-set aggregates can be hypothetical"));
            }
            ("serialfunc" | "deserialfunc", _) => {
                let message = "serialization functions may be specified only when the aggregate \
                               transition data type is internal";
                return Err(definition(message));
            }
            (
                "msfunc" | "minvfunc" | "mfinalfunc" | "mstype" | "msspace" | "minitcond"
                | "mfinalfunc_extra" | "mfinalfunc_modify",
                _,
            ) => {
                let refused = Error::unsupported("functions of an aggregate for moving windows");
                return Err(refused.hint("Without them the aggregate gives the same results."));
            }
            _ => {
                let message = format!("aggregate attribute \"{name}\" not recognized");
                cx.notice(SqlState::Warning, message);
            }
        }
    }
    Ok(options)
}

/// The parameters of either style.
fn parameters(
    cx: &DdlContext<'_>,
    create: &CreateAggregate,
    options: &Options<'_>,
) -> Result<Vec<RoutineParameter>> {
    match (&create.parameters, options.base_type) {
        (Some(_), Some(_)) => {
            Err(definition("basetype is redundant with aggregate input type specification"))
        }
        (None, None) => Err(definition("aggregate input type must be specified")),
        (None, Some(None)) => Ok(Vec::new()),
        (None, Some(Some(ty))) => {
            let domain = column_domain(cx, ty)?.map(|domain| domain.id);
            let (ty, mode) = (plain_type(cx, ty)?, ParameterMode::In);
            Ok(vec![RoutineParameter { name: None, ty, domain, default: None, mode }])
        }
        (Some(written), None) => {
            let list = written_parameters(cx, written)?;
            if list.iter().any(|parameter| parameter.mode.is_output()) {
                let message = "aggregates cannot have output arguments";
                return Err(Error::new(SqlState::FeatureNotSupported, message));
            }
            Ok(list)
        }
    }
}

/// The type of the state. 42P13 for what is no value.
fn state_type(cx: &DdlContext<'_>, data_type: &DataType) -> Result<SqlType> {
    if let DataType::Custom(name, _) = data_type
        && let Some("internal") = parts(name).last().map(String::as_str)
    {
        return Err(Error::unsupported("an aggregate with a state of type internal"));
    }
    let ty = plain_type(cx, data_type)?;
    match ty {
        SqlType::Void => Err(definition("aggregate transition data type cannot be void")),
        SqlType::Record(row) if row.is_empty() && row.name().is_none() => {
            Err(definition("aggregate transition data type cannot be record"))
        }
        ty => Ok(ty),
    }
}

/// A function that takes these types as they are. 42883 without one, 42804 for one that needs
/// casts or gives a set.
fn part(
    cx: &DdlContext<'_>,
    name: &ObjectName,
    types: &[SqlType],
    is_variadic: bool,
) -> Result<FoundPart> {
    let shown_name = parts(name).join(".");
    let signature = |types: &[SqlType]| {
        let shown: Vec<&str> = types.iter().map(SqlType::plain_name).collect();
        format!("{shown_name}({})", shown.join(", "))
    };
    let mismatch = |message: String| Err(Error::new(SqlState::DatatypeMismatch, message));
    let found = cx.plan(|cx| find_part(cx, name, types, is_variadic))?;
    let Some(found) = found else {
        let message = format!("function {} does not exist", signature(types));
        return Err(Error::new(SqlState::UndefinedFunction, message));
    };
    if found.returns_set {
        return mismatch(format!("function {} returns a set", signature(types)));
    }
    let takes = |(given, wanted): (&SqlType, &SqlType)| {
        matches!(given, SqlType::Any(_)) || is_same_binary(given, wanted)
    };
    if !types.iter().zip(&found.parameters).all(takes) {
        let signature = signature(&found.parameters);
        return mismatch(format!("function {signature} requires run-time type coercion"));
    }
    Ok(found)
}

/// Whether a part gives values of a type, which may be polymorphic.
fn gives(found: &FoundPart, ty: &SqlType) -> bool {
    match ty {
        SqlType::Any(_) => found.declared.same_base(ty) || is_same_kind(&found.declared, ty),
        ty => is_same_binary(&found.returns, ty),
    }
}

/// Whether both are arrays, or both single values, of some type.
fn is_same_kind(a: &SqlType, b: &SqlType) -> bool {
    use braid_types::sql_type::AnyType as A;
    let is_array = |ty: &SqlType| matches!(ty, SqlType::Any(A::Array | A::CompatibleArray));
    matches!((a, b), (SqlType::Any(_), SqlType::Any(_))) && is_array(a) == is_array(b)
}

fn argument_types<'a>(shape: &Shape<'a>) -> impl Iterator<Item = SqlType> + use<'a> {
    let parameters = shape.parameters;
    std::iter::once(shape.state.clone()).chain(parameters.iter().map(|known| known.ty.clone()))
}

fn is_variadic(shape: &Shape<'_>) -> bool {
    shape.parameters.last().is_some_and(|last| last.mode == ParameterMode::Variadic)
}

fn wrong_result(kind: &str, name: &ObjectName, state: &SqlType) -> Error {
    let (name, ty) = (parts(name).join("."), state.plain_name());
    let message = format!("return type of {kind} function {name} is not {ty}");
    Error::new(SqlState::DatatypeMismatch, message)
}

/// SFUNC.
fn transition(
    cx: &DdlContext<'_>,
    name: &ObjectName,
    shape: &Shape<'_>,
    has_initial: bool,
) -> Result<FunctionRef> {
    let types: Vec<SqlType> = argument_types(shape).collect();
    let found = part(cx, name, &types, is_variadic(shape))?;
    if !gives(&found, shape.state) {
        return Err(wrong_result("transition", name, shape.state));
    }
    let first = shape.parameters.first();
    let takes_first = first.is_some_and(|first| is_same_binary(&first.ty, shape.state));
    if found.is_strict && !has_initial && !takes_first {
        let message = "must not omit initial value when transition function is strict and \
                       transition type is not compatible with input type";
        return Err(definition(message));
    }
    Ok(found.function)
}

/// FINALFUNC, and the type of the aggregate's result.
fn final_function(
    cx: &DdlContext<'_>,
    options: &Options<'_>,
    shape: &Shape<'_>,
) -> Result<(Option<FunctionRef>, SqlType)> {
    let Some(name) = options.finish else { return Ok((None, shape.state.clone())) };
    let takes_all = options.finish_takes_arguments;
    let count = if takes_all { shape.parameters.len() + 1 } else { 1 };
    let types: Vec<SqlType> = argument_types(shape).take(count).collect();
    let found = part(cx, name, &types, takes_all && is_variadic(shape))?;
    if takes_all && found.is_strict {
        let message = "final function with extra arguments must not be declared STRICT";
        return Err(definition(message));
    }
    let is_any = |ty: &SqlType| matches!(ty, SqlType::Any(_));
    let returns = match is_any(&found.declared) && argument_types(shape).any(|ty| is_any(&ty)) {
        true => found.declared,
        false => found.returns,
    };
    Ok((Some(found.function), returns))
}

/// COMBINEFUNC.
fn combination(cx: &DdlContext<'_>, name: &ObjectName, state: &SqlType) -> Result<FunctionRef> {
    let found = part(cx, name, &[state.clone(), state.clone()], false)?;
    match gives(&found, state) {
        true => Ok(found.function),
        false => Err(wrong_result("combine", name, state)),
    }
}

/// SORTOP.
fn check_sort_operator(options: &Options<'_>, parameters: &[RoutineParameter]) -> Result<()> {
    let Some(symbol) = options.sort_operator else { return Ok(()) };
    let [only] = parameters else {
        let message = "sort operator can only be specified for single-argument aggregates";
        return Err(definition(message));
    };
    let oid = only.ty.oid();
    let is_known = braid_builtins::operators()
        .iter()
        .any(|known| known.name == symbol && known.left == oid && known.right == oid);
    if !is_known {
        let ty = only.ty.plain_name();
        let message = format!("operator does not exist: {ty} {symbol} {ty}");
        return Err(Error::new(SqlState::UndefinedFunction, message));
    }
    Ok(())
}

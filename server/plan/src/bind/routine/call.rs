//! Calls of functions, procedures and aggregates of users: the routine, its arguments, and the
//! types that polymorphic parameters have in this call.

use std::sync::Arc;

use braid_catalog::{FunctionRef, Id, Object, ParameterMode, ROOT, Routine, RoutineResult};
use braid_sql::ast::{Function, FunctionArguments, Ident, ObjectName};
use braid_types::cast::CastContext;
use braid_types::{Datum, Error, Result, SqlState, SqlType};

use super::choose::{
    Candidate, Chosen, Given, Written, choose, element_of, is_same_binary, undefined,
};
use super::inline::{inline, inline_for_index, place_of_inlined};
use crate::aggregate::{AggregateKind, UserAggregate};
use crate::bind::Binder;
use crate::bind::domain::check_domain_of;
use crate::bind::expr::aggregate::user_aggregate;
use crate::bind::expr::arguments::{Arguments, arguments, bind_arguments};
use crate::bind::expr::operators::{call_resolved, coerce, coerce_argument};
use crate::bind::expr::window::bind_window_function;
use crate::bind::from::privileges::is_only_checked;
use crate::bind::note_taking::note_routine;
use crate::bind::refusals::NoStoredForm;
use crate::bind::scope::context::{
    AGGREGATES, ExprCx, IN_INDEX_FUNCTION, IN_WINDOW_CALL, misplaced,
};
use crate::bind::scope::notes::RoutineNote;
use crate::bind::stored::{bind_default, stored_type};
use crate::context::PlanContext;
use crate::tree::expr::{Expr, RoutineExpr};
use crate::tree::node::{FunctionCall, RoutineCall};

/// A call whose routine has been found.
#[derive(Clone)]
pub(crate) struct FoundCall {
    /// The routine, without polymorphic types.
    pub routine: Arc<Routine>,
    /// Its arguments.
    pub args: Vec<Expr>,
    /// The type of what it gives.
    pub ty: SqlType,
}

impl FoundCall {
    /// As an expression of one value.
    pub(crate) fn into_expr(self, binder: &mut Binder<'_>) -> Result<Expr> {
        let FoundCall { routine, args, ty } = self;
        // The body checks the values of OUT parameters.
        let domain = routine.result_domain.filter(|_| routine.outputs().next().is_none());
        let call = Expr::Routine(Box::new(RoutineExpr { routine, args, ty }));
        match domain {
            Some(domain) => check_domain_of(binder, call, domain),
            None => Ok(call),
        }
    }

    /// As a function of rows. `spreads` says that the fields of its rows are the columns.
    pub(crate) fn into_rows(
        self,
        binder: &mut Binder<'_>,
        columns: &[SqlType],
        spreads: bool,
    ) -> FunctionCall {
        let columns = columns.iter().map(|ty| (binder.slot(), ty.clone())).collect();
        let types = self.args.iter().map(Expr::ty).collect();
        let routine = Some(RoutineCall { routine: self.routine, spreads });
        let (function, args) = (None, self.args);
        FunctionCall { function, routine, args, types, columns, defined: Vec::new(), row: None }
    }
}

/// A call of a function of a user; `None` if the name means none, or a built-in one fits better.
pub(crate) fn bind_routine(
    binder: &mut Binder<'_>,
    function: &Function,
    cx: &mut ExprCx<'_, '_>,
) -> Result<Option<Expr>> {
    if let [schema, _] = name_parts(&function.name).as_slice() {
        binder.cx.catalog.names().check_usage(binder.cx.path, schema)?;
    }
    let is_listed = matches!(function.args, FunctionArguments::List(_));
    if is_listed
        && !binder.is_call
        && names_aggregate(binder, &function.name)
        && let Some(call) = bind_aggregate(binder, function, cx)?
    {
        return Ok(Some(call));
    }
    let is_plain = is_listed && function.over.is_none();
    if !is_plain || (!binder.is_call && routines_named(binder, &function.name).is_empty()) {
        return Ok(None);
    }
    let arguments = arguments(&function.args)?;
    let calls_routine = binder.calls_routine;
    match find_call(binder, &function.name, &arguments, cx)? {
        Some(call) if call.routine.returns_set => bind_set(binder, call, cx).map(Some),
        Some(call) if let Some(place) = place_of_inlined(binder, cx.clause) => {
            binder.calls_routine = calls_routine;
            inline(binder, call, place).map(Some)
        }
        Some(call) => match inline_for_index(binder, &call, cx.scopes) {
            Some(value) => {
                binder.calls_routine = calls_routine;
                Ok(Some(value))
            }
            None => call.into_expr(binder).map(Some),
        },
        None => Ok(None),
    }
}

/// A call of an aggregate of a user, maybe over a window; `None` if the name means none for these
/// arguments.
fn bind_aggregate(
    binder: &mut Binder<'_>,
    function: &Function,
    cx: &mut ExprCx<'_, '_>,
) -> Result<Option<Expr>> {
    let arguments = arguments(&function.args)?;
    if function.over.is_none() {
        return user_aggregate(binder, function, &arguments, cx);
    }
    let parts = name_parts(&function.name);
    let name = parts.last().map_or("", String::as_str);
    bind_window_function(binder, name, function, &arguments, cx).map(Some)
}

/// A set-returning function in a select list.
fn bind_set(binder: &mut Binder<'_>, call: FoundCall, cx: &mut ExprCx<'_, '_>) -> Result<Expr> {
    if cx.collector.as_ref().is_none_or(|c| !c.allow_windows) || cx.clause == IN_WINDOW_CALL {
        return Err(cx.refuse_set());
    }
    let ty = call.ty.clone();
    let mut call = call.into_rows(binder, std::slice::from_ref(&ty), false);
    // The same call is made once, so that ORDER BY and DISTINCT ON find it in the select list.
    let known = cx.collector.iter().flat_map(|c| &c.sets).find(|set| same_rows(set, &call));
    let is_new = known.is_none();
    if let Some(known) = known {
        call.columns.clone_from(&known.columns);
    }
    let slot = call.columns.first().map_or(0, |(slot, _)| *slot);
    if let (true, Some(collector)) = (is_new, cx.collector.as_deref_mut()) {
        collector.sets.push(call);
    }
    Ok(Expr::Column(slot, ty))
}

/// Whether two calls of functions of users give the same rows.
fn same_rows(a: &FunctionCall, b: &FunctionCall) -> bool {
    let (Some(one), Some(other)) = (&a.routine, &b.routine) else { return false };
    one.routine.id == other.routine.id
        && a.types == b.types
        && a.args.len() == b.args.len()
        && a.args.iter().zip(&b.args).all(|(a, b)| a.same(b))
}

/// The routines of users that a name can mean; in stored text a number stands for one.
pub(super) fn routines_named<'a>(binder: &Binder<'a>, name: &ObjectName) -> Vec<&'a Arc<Routine>> {
    let routines = binder.cx.catalog.names().routines();
    match braid_sql::relation_id(name) {
        Some(id) => routines.get(id).into_iter().collect(),
        None => routines.named(binder.cx.path, &name_parts(name)),
    }
}

pub(crate) fn name_parts(name: &ObjectName) -> Vec<String> {
    name.0.iter().filter_map(|part| part.as_ident()).map(braid_sql::fold).collect()
}

/// The routine of a call, in an expression or in FROM. `None` if the name means none, or a
/// built-in one fits better.
pub(crate) fn find_call(
    binder: &mut Binder<'_>,
    name: &ObjectName,
    arguments: &Arguments<'_>,
    cx: &mut ExprCx<'_, '_>,
) -> Result<Option<FoundCall>> {
    let is_call = std::mem::take(&mut binder.is_call);
    let (parts, mut found) = (name_parts(name), routines_named(binder, name));
    if !is_call && found.is_empty() {
        return Ok(None);
    }
    let args = bind_arguments(binder, &arguments.list, cx)?;
    if !is_call {
        // In expressions, aggregates have been looked for before.
        if cx.clause == "FROM" && find_aggregate(binder, name, arguments, &args)?.is_some() {
            return Err(misplaced(AGGREGATES, "functions in FROM"));
        }
        found.retain(|routine| routine.aggregate.is_none());
    }
    let types: Vec<SqlType> = args.iter().map(Expr::ty).collect();
    let shown_name = parts.join(".");
    let built_in = match parts.as_slice() {
        [name] if !is_call => braid_builtins::resolve_function(name, &types).ok(),
        _ => None,
    };
    let written =
        Written { types: &types, names: arguments.names(), is_variadic: arguments.variadic };
    let chosen = match choose(&found, &written) {
        Chosen::One(chosen) => chosen,
        _ if built_in.is_some() => return Ok(None),
        Chosen::None if !is_call && parts.len() == 1 => return Ok(None),
        other => return Err(not_found(&shown_name, &types, is_call, &other)),
    };
    let is_exact = |wanted: &[SqlType]| wanted.iter().zip(&types).all(|(a, b)| a.same_base(b));
    // A built-in function is found first, unless only this one takes the arguments as they are.
    if built_in.is_some_and(|found| !is_exact(&chosen.wanted) || is_exact(&found.arg_types))
        || (arguments.distinct || !arguments.order.is_empty())
    {
        return Ok(None);
    }
    let shown: Vec<String> = types.iter().map(|ty| ty.bare().display_name()).collect();
    let shown = format!("{shown_name}({})", shown.join(", "));
    check_call(binder, (chosen.routine, &shown), is_call)?;
    check_clause(cx)?;
    let call = call_of(binder, &chosen, args, &types)?;
    note_routine(binder, name, || RoutineNote {
        id: chosen.routine.id,
        types: argument_types(&call, &chosen.given, types.len()),
        is_by_place: arguments.names().is_empty(),
    });
    Ok(Some(call))
}

/// The name as that of a function.
fn function_of(name: &str) -> ObjectName {
    ObjectName::from(vec![Ident::with_quote('"', name)])
}

/// Whether a function of users may have that name, so that it is worth while to build the row.
pub(crate) fn may_compute_field(binder: &Binder<'_>, name: &str) -> bool {
    !binder.is_stored && !routines_named(binder, &function_of(name)).is_empty()
}

/// The call of the function that has the name of a field and takes the row as its one argument;
/// `None` if there is none. 0A000 where only what has a stored form may stand.
pub(crate) fn computed_field(
    binder: &mut Binder<'_>,
    row: &Expr,
    name: &str,
    cx: &ExprCx<'_, '_>,
) -> Result<Option<Expr>> {
    let mut found = routines_named(binder, &function_of(name));
    found.retain(|known| known.aggregate.is_none() && !known.is_procedure && !known.returns_set);
    let types = [row.ty()];
    let written = Written { types: &types, names: &[], is_variadic: false };
    let Chosen::One(chosen) = choose(&found, &written) else { return Ok(None) };
    if binder.notes.is_some() {
        let message = format!("row.{name} as a call of a function");
        return Err(Error::unsupported(message).caused_by(NoStoredForm));
    }
    let shown = format!("{name}({})", types[0].bare().display_name());
    check_call(binder, (chosen.routine, &shown), false)?;
    check_clause(cx)?;
    let calls_routine = binder.calls_routine;
    let call = call_of(binder, &chosen, vec![row.clone()], &types)?;
    match place_of_inlined(binder, cx.clause) {
        Some(place) => {
            binder.calls_routine = calls_routine;
            inline(binder, call, place).map(Some)
        }
        None => call.into_expr(binder).map(Some),
    }
}

/// The error of a call that no routine, or more than one, takes.
fn not_found(name: &str, types: &[SqlType], is_call: bool, chosen: &Chosen<'_>) -> Error {
    let shown: Vec<String> = types.iter().map(|ty| ty.bare().display_name()).collect();
    let shown = shown.join(", ");
    match chosen {
        Chosen::Many => {
            let message = format!("function {name}({shown}) is not unique");
            Error::new(SqlState::AmbiguousFunction, message).hint(
                "Could not choose a best candidate function. You might need to add explicit type \
                 casts.",
            )
        }
        _ if braid_builtins::resolve_function(name, types).is_ok() => {
            let message = format!("{name}({shown}) is not a procedure");
            Error::new(SqlState::WrongObjectType, message).hint("To call a function, use SELECT.")
        }
        _ => undefined(name, types, is_call),
    }
}

/// 42501 without the privilege to call a routine, 42809 for one of the other kind.
fn check_call(
    binder: &Binder<'_>,
    (routine, shown): (&Routine, &str),
    is_call: bool,
) -> Result<()> {
    let catalog = binder.cx.catalog;
    if routine.is_procedure != is_call {
        let (message, hint) = match is_call {
            true => ("is not a procedure", "To call a function, use SELECT."),
            false => ("is a procedure", "To call a procedure, use CALL."),
        };
        return Err(Error::new(SqlState::WrongObjectType, format!("{shown} {message}")).hint(hint));
    }
    if is_only_checked(binder) {
        return Ok(());
    }
    let user = binder.cx.env.current_user();
    let role = catalog.names().role(user).map_or(ROOT, |role| role.id);
    catalog.privileges().check(role, Object::Routine(routine), "EXECUTE")
}

/// 0A000 for a call in the body of a function that stands in an index or a domain.
fn check_clause(cx: &ExprCx<'_, '_>) -> Result<()> {
    match cx.clause {
        IN_INDEX_FUNCTION => {
            Err(Error::unsupported("a function of a user in a function of an index or a domain"))
        }
        _ => Ok(()),
    }
}

/// The types that a call's arguments are cast to, in their order.
fn argument_types(call: &FoundCall, given: &[Given], count: usize) -> Vec<SqlType> {
    let mut types = vec![SqlType::Unknown; count];
    for (given, parameter) in given.iter().zip(call.routine.of_call()) {
        match given {
            Given::Argument(place) => types[*place] = parameter.ty.clone(),
            Given::Rest(first) => types[*first..].fill(element_of(&parameter.ty)),
            Given::Default => {}
        }
    }
    types
}

/// The call of a routine with its arguments.
fn call_of(
    binder: &mut Binder<'_>,
    chosen: &Candidate<'_>,
    args: Vec<Expr>,
    types: &[SqlType],
) -> Result<FoundCall> {
    let routine = match chosen.routine.is_polymorphic() {
        true => Arc::new(of_call(binder, chosen, types)?),
        false => chosen.routine.clone(),
    };
    let refresh = |binder: &Binder<'_>, ty: &SqlType| {
        let mut ty = ty.clone();
        binder.cx.catalog.enums().refresh(&mut ty);
        ty
    };
    let mut waiting: Vec<Option<Expr>> = args.into_iter().map(Some).collect();
    let mut take = |place: usize| waiting.get_mut(place).and_then(Option::take);
    let lacks = || Error::internal("a call lacks an argument");
    let mut list = Vec::with_capacity(chosen.given.len());
    for (given, parameter) in chosen.given.iter().zip(routine.of_call()) {
        let ty = refresh(binder, &parameter.ty);
        let value = match given {
            // What only goes out is not computed.
            Given::Argument(_) if parameter.mode == ParameterMode::Out => Expr::null(ty),
            Given::Argument(place) => {
                coerce_argument(binder, take(*place).ok_or_else(lacks)?, &ty)?
            }
            Given::Rest(first) => {
                let element = element_of(&ty);
                let items = (*first..types.len())
                    .map(|place| coerce_argument(binder, take(place).ok_or_else(lacks)?, &element))
                    .collect::<Result<Vec<_>>>()?;
                Expr::Array(items, element)
            }
            Given::Default => {
                let default = parameter.default.as_ref().ok_or_else(lacks)?;
                let cx = PlanContext { variables: None, ..binder.cx };
                bind_default(&cx, default, &ty)?
            }
        };
        let is_given = parameter.mode.is_input();
        list.push(match parameter.domain.filter(|_| is_given) {
            Some(domain) => check_domain_of(binder, value, domain)?,
            None => value,
        });
    }
    let ty = refresh(binder, routine.result_type());
    binder.calls_routine = true;
    binder.tables.insert(routine.id);
    Ok(FoundCall { routine, args: list, ty })
}

/// The routine with the types that its polymorphic parameters have in a call.
fn of_call(binder: &mut Binder<'_>, chosen: &Candidate<'_>, types: &[SqlType]) -> Result<Routine> {
    let mut routine = Routine::clone(chosen.routine);
    // Defaults of polymorphic parameters say what these are, as arguments do.
    let (mut wanted, mut types) = (chosen.wanted.clone(), types.to_vec());
    for (given, parameter) in chosen.given.iter().zip(routine.of_call()) {
        let default = parameter.default.as_ref().filter(|_| *given == Given::Default);
        if let (Some(default), SqlType::Any(_)) = (default, &parameter.ty) {
            wanted.push(parameter.ty.clone());
            types.push(stored_type(binder, default, None, "DEFAULT expressions")?);
        }
    }
    let mut results: Vec<SqlType> = vec![routine.result_type().clone()];
    if let SqlType::Record(row) = routine.result_type() {
        results.extend(row.iter().map(|(_, ty)| ty.clone()));
    }
    let of_result = results.len();
    results.extend(routine.parameters.iter().map(|parameter| parameter.ty.clone()));
    results.extend(routine.aggregate.iter().map(|parts| parts.state.clone()));
    let (arguments, results) = braid_builtins::bind_any(&wanted, &types, &results)?;
    if let (Some(parts), Some(state)) = (&mut routine.aggregate, results.last()) {
        parts.state = state.clone();
    }
    let (result, parameters) = results.split_at(of_result);
    for (parameter, ty) in routine.parameters.iter_mut().zip(parameters) {
        parameter.ty = ty.clone();
    }
    let inputs: Vec<usize> = (0..routine.parameters.len())
        .filter(|place| routine.is_procedure || routine.parameters[*place].mode.is_input())
        .collect();
    for (given, place) in chosen.given.iter().zip(inputs) {
        match given {
            Given::Argument(argument) => routine.parameters[place].ty = arguments[*argument].bare(),
            Given::Rest(first) => routine.parameters[place].ty = arguments[*first].bare().array(),
            Given::Default => {}
        }
    }
    let mut ty = result.first().cloned().unwrap_or(SqlType::Void);
    if let SqlType::Record(row) = &mut ty {
        for ((_, field), known) in row.iter_mut().zip(&result[1..]) {
            *field = known.clone();
        }
    }
    if !matches!(routine.returns, RoutineResult::Nothing) {
        routine.returns = RoutineResult::Value(ty);
    }
    routine.is_of_call = true;
    Ok(routine)
}

/// An aggregate of a user for the arguments of a call.
pub(crate) struct FoundAggregate {
    pub kind: AggregateKind,
    /// The arguments, cast as the aggregate asks.
    pub args: Vec<Expr>,
    /// The type of the result.
    pub returns: SqlType,
}

/// Whether a name may mean an aggregate of a user.
fn names_aggregate(binder: &Binder<'_>, name: &ObjectName) -> bool {
    routines_named(binder, name).iter().any(|routine| routine.aggregate.is_some())
}

/// Whether a name may mean a function of a user that is no aggregate.
pub(crate) fn names_function(binder: &Binder<'_>, name: &ObjectName) -> bool {
    routines_named(binder, name).iter().any(|routine| routine.aggregate.is_none())
}

/// The aggregate of a user that a call means. `None` if the name means none for these arguments,
/// or a built-in function fits better.
pub(crate) fn find_aggregate(
    binder: &mut Binder<'_>,
    name: &ObjectName,
    arguments: &Arguments<'_>,
    args: &[Expr],
) -> Result<Option<FoundAggregate>> {
    let (parts, found) = (name_parts(name), routines_named(binder, name));
    let types: Vec<SqlType> = args.iter().map(Expr::ty).collect();
    let written =
        Written { types: &types, names: arguments.names(), is_variadic: arguments.variadic };
    let Chosen::One(chosen) = choose(&found, &written) else { return Ok(None) };
    if chosen.routine.aggregate.is_none() {
        return Ok(None);
    }
    let is_exact = |wanted: &[SqlType]| wanted.iter().zip(&types).all(|(a, b)| a.same_base(b));
    let built_in = match parts.as_slice() {
        [name] => built_in_types(name, &types),
        _ => None,
    };
    if built_in.is_some_and(|wanted| !is_exact(&chosen.wanted) || is_exact(&wanted)) {
        return Ok(None);
    }
    let shown: Vec<String> = types.iter().map(|ty| ty.bare().display_name()).collect();
    let shown_name = parts.join(".");
    let shown = format!("{shown_name}({})", shown.join(", "));
    check_call(binder, (chosen.routine, &shown), false)?;
    if chosen.routine.parameters.is_empty() && !arguments.star {
        let message =
            format!("{shown_name}(*) must be used to call a parameterless aggregate function");
        return Err(Error::new(SqlState::WrongObjectType, message));
    }
    let call = call_of(binder, &chosen, args.to_vec(), &types)?;
    note_routine(binder, name, || RoutineNote {
        id: chosen.routine.id,
        types: argument_types(&call, &chosen.given, types.len()),
        is_by_place: arguments.names().is_empty(),
    });
    let aggregate = parts_of(binder, call.routine)?;
    let (args, returns) = (call.args, call.ty);
    Ok(Some(FoundAggregate { kind: AggregateKind::User(Arc::new(aggregate)), args, returns }))
}

/// The parameters of the built-in function or aggregate that takes these arguments.
fn built_in_types(name: &str, types: &[SqlType]) -> Option<Vec<SqlType>> {
    let aggregate = braid_builtins::resolve_aggregate(name, types).ok().flatten();
    let function = || braid_builtins::resolve_function(name, types).ok();
    aggregate.map(|found| found.arg_types).or_else(|| function().map(|found| found.arg_types))
}

/// The parts of an aggregate whose descriptor has the types of a call.
fn parts_of(binder: &mut Binder<'_>, routine: Arc<Routine>) -> Result<UserAggregate> {
    let Some(parts) = routine.aggregate.clone() else {
        return Err(Error::internal("a routine is no aggregate"));
    };
    let mut state = parts.state.clone();
    binder.cx.catalog.enums().refresh(&mut state);
    let initial = match &parts.initial {
        None => Expr::null(state.clone()),
        Some(text) => {
            let text = Expr::Const(Datum::text(text.as_str()), SqlType::Unknown);
            coerce(binder, text, &state, CastContext::Implicit)?
        }
    };
    let mut places = vec![Expr::Input(0, state.clone())];
    for (place, parameter) in routine.inputs().enumerate() {
        let mut ty = parameter.ty.clone();
        binder.cx.catalog.enums().refresh(&mut ty);
        places.push(Expr::Input(place + 1, ty));
    }
    let caller = Caller { owner: routine.owner, is_variadic: routine.variadic().is_some() };
    let (step, is_step_strict) = bind_part(binder, &parts.step, places.clone(), caller)?;
    // The function may have become strict after the aggregate was made.
    let takes_first = routine.inputs().next().is_some_and(|one| is_same_binary(&one.ty, &state));
    if is_step_strict && parts.initial.is_none() && !takes_first {
        let message = format!(
            "aggregate {} needs to have compatible input type and transition type",
            routine.name
        );
        return Err(Error::new(SqlState::InvalidFunctionDefinition, message));
    }
    let step = match step.ty().same_base(&state) {
        true => step,
        false => coerce(binder, step, &state, CastContext::Implicit)?,
    };
    let (mut finish, mut is_finish_strict) = (None, false);
    if let Some(function) = &parts.finish {
        if !parts.finish_takes_arguments {
            places.truncate(1);
        }
        let (bound, is_strict) = bind_part(binder, function, places, caller)?;
        (finish, is_finish_strict) = (Some(bound), is_strict);
    }
    Ok(UserAggregate { routine, initial, step, is_step_strict, finish, is_finish_strict })
}

/// The aggregate that calls a function.
#[derive(Clone, Copy)]
struct Caller {
    /// Its owner, who needs the right to call the function.
    owner: Id,
    /// Its last argument is an array of any number of arguments.
    is_variadic: bool,
}

/// A call of a part of an aggregate, and whether the function is strict.
fn bind_part(
    binder: &mut Binder<'_>,
    function: &FunctionRef,
    args: Vec<Expr>,
    caller: Caller,
) -> Result<(Expr, bool)> {
    let types: Vec<SqlType> = args.iter().map(Expr::ty).collect();
    let id = match function {
        FunctionRef::BuiltIn(name) => {
            let resolved = braid_builtins::resolve_function(name, &types)?;
            let is_strict = resolved.function.strict;
            return Ok((call_resolved(binder, resolved, args)?, is_strict));
        }
        FunctionRef::Routine(id) => *id,
    };
    let catalog = binder.cx.catalog;
    let Some(routine) = catalog.names().routines().get(id) else {
        let message = format!("cache lookup failed for function {id}");
        return Err(Error::new(SqlState::UndefinedFunction, message));
    };
    catalog.privileges().check(caller.owner, Object::Routine(routine), "EXECUTE")?;
    let is_variadic = caller.is_variadic && routine.variadic().is_some();
    let found = [routine];
    let Chosen::One(chosen) = choose(&found, &Written { types: &types, names: &[], is_variadic })
    else {
        return Err(undefined(&routine.name, &types, false));
    };
    let call = call_of(binder, &chosen, args, &types)?;
    let is_strict = call.routine.strict;
    Ok((call.into_expr(binder)?, is_strict))
}

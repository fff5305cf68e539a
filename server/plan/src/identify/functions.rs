//! Calls of functions, aggregates and window functions.

use braid_builtins::{Arg, Resolved};
use braid_sql::RELATION_MARK;
use braid_sql::ast::{
    Expr as Ast, Function, FunctionArg, FunctionArgExpr, FunctionArgumentClause,
    FunctionArgumentList, FunctionArguments, Ident, ObjectName, Value, WindowType,
};
use braid_types::{Result, SqlType};

use super::exprs::{bound_type, identify_condition, identify_expr, identify_known, identify_value};
use super::identifier::{Identifier, unstorable};
use super::operators::operand_types;
use super::queries::{identify_query, identify_sort_keys, identify_window, quoted};
use super::rows::identify_items;
use crate::bind::{RoutineNote, common_type, string_of};

/// Arguments with the casts that the function needs.
pub(crate) fn identify_typed_arguments(
    identifier: &mut Identifier<'_, '_>,
    name: &str,
    args: &[&Ast],
) -> Result<Vec<Ast>> {
    let types = args.iter().map(|e| bound_type(identifier, e)).collect::<Result<Vec<_>>>()?;
    let wanted = wanted_types(name, &types)?;
    identify_cast_arguments(identifier, args, &types, &wanted)
}

/// Arguments in a syntax of their own: implicit casts are not shown.
pub(crate) fn identify_syntax_arguments(
    identifier: &mut Identifier<'_, '_>,
    name: &str,
    args: &[&Ast],
) -> Result<Vec<Ast>> {
    let types = args.iter().map(|e| bound_type(identifier, e)).collect::<Result<Vec<_>>>()?;
    let mut wanted = wanted_types(name, &types)?;
    for (wanted, own) in wanted.iter_mut().zip(&types) {
        if *own != SqlType::Unknown {
            wanted.clone_from(own);
        }
    }
    identify_cast_arguments(identifier, args, &types, &wanted)
}

fn identify_cast_arguments(
    identifier: &mut Identifier<'_, '_>,
    args: &[&Ast],
    types: &[SqlType],
    wanted: &[SqlType],
) -> Result<Vec<Ast>> {
    let mut result = Vec::with_capacity(args.len());
    for (place, e) in args.iter().enumerate() {
        result.push(match wanted.get(place) {
            None | Some(SqlType::Unknown) if types[place] != SqlType::Unknown => {
                identify_expr(identifier, e)?
            }
            // What takes any type is shown without one.
            None | Some(SqlType::Unknown) => untyped(e)?,
            Some(SqlType::Record(_)) => identify_expr(identifier, e)?,
            Some(ty) => identify_value(identifier, e, &ty.bare())?,
        });
    }
    Ok(result)
}

/// A call in the syntax of functions.
pub(crate) fn identify_call(
    identifier: &mut Identifier<'_, '_>,
    name: &str,
    args: &[&Ast],
) -> Result<Ast> {
    let args = identify_typed_arguments(identifier, name, args)?;
    let args = args.into_iter().map(|e| FunctionArg::Unnamed(FunctionArgExpr::Expr(e))).collect();
    let list = FunctionArgumentList { duplicate_treatment: None, args, clauses: Vec::new() };
    Ok(Ast::Function(Function {
        name: ObjectName::from(vec![Ident::with_quote('"', name)]),
        uses_odbc_syntax: false,
        parameters: FunctionArguments::None,
        args: FunctionArguments::List(list),
        within_group: Vec::new(),
        filter: None,
        null_treatment: None,
        over: None,
    }))
}

pub(crate) fn identify_function(
    identifier: &mut Identifier<'_, '_>,
    e: &Ast,
    function: &Function,
) -> Result<Ast> {
    let mut result = function.clone();
    if let (Some(note), FunctionArguments::List(list)) =
        (identifier.notes.routine(&function.name), &function.args)
    {
        let args = match list.args.as_slice() {
            [FunctionArg::Unnamed(FunctionArgExpr::Wildcard)] => list.args.clone(),
            args => identify_routine_arguments(identifier, note, args)?,
        };
        result.name = identify_routine(identifier, note);
        let clauses = identify_clauses(identifier, list)?;
        result.args = FunctionArguments::List(FunctionArgumentList { args, clauses, ..*list });
        identify_around(identifier, function, &mut result)?;
        return Ok(Ast::Function(result));
    }
    let name = function.name.0.last().and_then(|part| part.as_ident());
    // The stored form has no schema, so that it does not depend on where an extension is.
    if let (Some(name), true) = (name, function.name.0.len() > 1) {
        result.name = ObjectName::from(vec![name.clone()]);
    }
    let name = name.map(braid_sql::fold).unwrap_or_default();
    result.args = match &function.args {
        FunctionArguments::None => FunctionArguments::None,
        FunctionArguments::Subquery(query) => {
            FunctionArguments::Subquery(Box::new(identify_query(identifier, query)?))
        }
        FunctionArguments::List(list) => {
            FunctionArguments::List(identify_list(identifier, e, &name, function, list)?)
        }
    };
    identify_around(identifier, function, &mut result)?;
    Ok(Ast::Function(result))
}

/// What aggregates and window functions have behind their arguments.
fn identify_around(
    identifier: &mut Identifier<'_, '_>,
    function: &Function,
    result: &mut Function,
) -> Result<()> {
    result.filter = match &function.filter {
        Some(e) => Some(Box::new(identify_condition(identifier, e)?)),
        None => None,
    };
    result.within_group = identify_sort_keys(identifier, &function.within_group)?;
    result.over = match &function.over {
        Some(WindowType::WindowSpec(spec)) => {
            Some(WindowType::WindowSpec(identify_window(identifier, spec)?))
        }
        other => other.clone(),
    };
    Ok(())
}

/// ORDER BY among the arguments of an aggregate.
fn identify_clauses(
    identifier: &mut Identifier<'_, '_>,
    list: &FunctionArgumentList,
) -> Result<Vec<FunctionArgumentClause>> {
    let mut clauses = Vec::with_capacity(list.clauses.len());
    for clause in &list.clauses {
        let FunctionArgumentClause::OrderBy(order) = clause else {
            return Err(unstorable(clause));
        };
        clauses.push(FunctionArgumentClause::OrderBy(identify_sort_keys(identifier, order)?));
    }
    Ok(clauses)
}

/// What stands for a function of a user.
pub(crate) fn identify_routine(
    identifier: &mut Identifier<'_, '_>,
    note: &RoutineNote,
) -> ObjectName {
    identifier.uses.entry(note.id).or_default();
    ObjectName::from(vec![quoted(RELATION_MARK), quoted(note.id.to_string())])
}

/// The arguments of a function of a user, with the casts that it needs.
pub(crate) fn identify_routine_arguments(
    identifier: &mut Identifier<'_, '_>,
    note: &RoutineNote,
    args: &[FunctionArg],
) -> Result<Vec<FunctionArg>> {
    if !note.is_by_place {
        return Err(unstorable("a call with named arguments"));
    }
    let mut list = Vec::with_capacity(args.len());
    for (arg, ty) in args.iter().zip(&note.types) {
        let (prefix, e) = match arg {
            FunctionArg::Unnamed(FunctionArgExpr::Expr(Ast::Prefixed { prefix, value })) => {
                (Some(prefix), &**value)
            }
            FunctionArg::Unnamed(FunctionArgExpr::Expr(e)) => (None, e),
            other => return Err(unstorable(other)),
        };
        let e = identify_value(identifier, e, &ty.bare())?;
        let e = match prefix {
            None => e,
            Some(prefix) => Ast::Prefixed { prefix: prefix.clone(), value: Box::new(e) },
        };
        list.push(FunctionArg::Unnamed(FunctionArgExpr::Expr(e)));
    }
    Ok(list)
}

fn identify_list(
    identifier: &mut Identifier<'_, '_>,
    e: &Ast,
    name: &str,
    function: &Function,
    list: &FunctionArgumentList,
) -> Result<FunctionArgumentList> {
    let mut result = list.clone();
    let mut args = Vec::with_capacity(list.args.len());
    let mut variadic = None;
    for arg in &list.args {
        match arg {
            FunctionArg::Unnamed(FunctionArgExpr::Expr(Ast::Prefixed { prefix, value })) => {
                variadic = Some(prefix);
                args.push(&**value);
            }
            FunctionArg::Unnamed(FunctionArgExpr::Expr(e)) => args.push(e),
            FunctionArg::Unnamed(FunctionArgExpr::Wildcard) => {}
            other => return Err(unstorable(other)),
        }
    }
    let bound = match name {
        "coalesce" | "greatest" | "least" => {
            let ty = bound_type(identifier, e)?.bare();
            args.iter().map(|e| identify_value(identifier, e, &ty)).collect::<Result<Vec<_>>>()?
        }
        "nullif" if args.len() == 2 => {
            let (left, right) =
                (bound_type(identifier, args[0])?, bound_type(identifier, args[1])?);
            let (left, right) = operand_types("=", &left, &right)?;
            vec![
                identify_value(identifier, args[0], &left)?,
                identify_value(identifier, args[1], &right)?,
            ]
        }
        "row" => identify_items(identifier, args.iter().copied())?,
        "grouping" => {
            args.iter().map(|e| identify_known(identifier, e)).collect::<Result<Vec<_>>>()?
        }
        _ => {
            let types = args.iter().map(|e| bound_type(identifier, e));
            let types = types.collect::<Result<Vec<_>>>()?;
            let mut all = types.clone();
            for key in &function.within_group {
                all.push(bound_type(identifier, &key.expr)?);
            }
            let wanted = match variadic {
                Some(_) => shown_types(&braid_builtins::resolve_variadic(name, &all)?),
                None if all.len() > types.len() => ordered_set_types(name, &all)?,
                None => wanted_types(name, &all)?,
            };
            identify_cast_arguments(identifier, &args, &types, &wanted)?
        }
    };
    let bound = marked(bound, variadic);
    if !bound.is_empty() {
        let unnamed = |e| FunctionArg::Unnamed(FunctionArgExpr::Expr(e));
        result.args = bound.into_iter().map(unnamed).collect();
    }
    result.clauses = identify_clauses(identifier, list)?;
    Ok(result)
}

/// The types that an aggregate with WITHIN GROUP casts its arguments to. `all` are the types of
/// these, then those of what is sorted by. A hypothetical value shares the type of its key.
fn ordered_set_types(name: &str, all: &[SqlType]) -> Result<Vec<SqlType>> {
    if braid_builtins::hypothetical(name).is_none() {
        return wanted_types(name, all);
    }
    let (values, keys) = all.split_at(all.len() / 2);
    let pairs = values.iter().zip(keys);
    pairs.map(|(a, b)| common_type(&[b.clone(), a.clone()], "WITHIN GROUP")).collect()
}

/// The arguments with `VARIADIC` before the last one, if the call has it.
fn marked(mut args: Vec<Ast>, variadic: Option<&Ident>) -> Vec<Ast> {
    if let Some(prefix) = variadic
        && let Some(last) = args.pop()
    {
        args.push(Ast::Prefixed { prefix: prefix.clone(), value: Box::new(last) });
    }
    args
}

/// The types that a call's arguments are shown with.
///
/// A literal for `"any"` stays as it is; a repeated last argument is like the first.
fn shown_types(resolved: &Resolved) -> Vec<SqlType> {
    let args = &resolved.function.args;
    let is_any = |place: usize| matches!(args.get(place).or(args.last()), Some(Arg::Any));
    let types = resolved.arg_types.iter().enumerate();
    let shown = types.map(|(place, ty)| match is_any(place) {
        true => SqlType::Unknown,
        false => ty.clone(),
    });
    shown.collect()
}

/// A literal without a type.
fn untyped(e: &Ast) -> Result<Ast> {
    match e {
        Ast::Nested(inner) => untyped(inner),
        Ast::Value(value) => match string_of(&value.value) {
            Some(text) => Ok(Ast::value(Value::SingleQuotedString(text.to_owned()))),
            None => Ok(e.clone()),
        },
        other => Err(unstorable(other)),
    }
}

/// The types that a function of any kind casts its arguments to.
fn wanted_types(name: &str, types: &[SqlType]) -> Result<Vec<SqlType>> {
    if let Some(window) = braid_builtins::resolve_window(name, types)? {
        return Ok(window.arg_types);
    }
    if let Some(aggregate) = braid_builtins::resolve_aggregate(name, types)? {
        return Ok(aggregate.arg_types);
    }
    if let Some(set) = braid_builtins::resolve_set_function(name, types)? {
        return Ok(set.arg_types);
    }
    match braid_builtins::resolve_function(name, types) {
        Ok(resolved) => Ok(shown_types(&resolved)),
        // A type's name with one argument is a cast.
        Err(_) if SqlType::from_name(name).is_some() => Ok(types.to_vec()),
        Err(error) => Err(error),
    }
}

//! Function calls: scalar functions, aggregates, set-returning functions, and the keywords that
//! are functions without parentheses.

use braid_builtins::ResolvedSet;
use braid_catalog::{is_extension_function, is_virtual_schema};
use braid_sql::ast::{
    BinaryOperator, Function, FunctionArguments, ObjectName, OrderByExpr, Span, Spanned,
};
use braid_types::cast::{CastContext, NoCast};
use braid_types::{Datum, Error, Result, SqlState, SqlType};

use super::aggregate::{aggregate_function, bind_grouping};
use super::arguments::{Arguments, arguments, bind_arguments, bind_row_items, place_arguments};
use super::common_type::compared_as;
use super::modified::unify_at;
use super::operators::{call_resolved, check_order, coerce, coerce_argument, compare_exprs, once};
use super::scalar::{bind_expr, bind_row, call_function};
use super::subquery::bind_array_subquery;
use super::window::bind_window_function;
use crate::bind::Binder;
use crate::bind::domain::{check_filled, typeof_domain};
use crate::bind::refusals::NoStoredForm;
use crate::bind::routine::bind_routine;
use crate::bind::scope::context::{ExprCx, IN_WINDOW_CALL};
use crate::bind::scope::places::start_of;
use crate::context::PlanContext;
use crate::tree::expr::{CallExpr, CaseExpr, CompareOp, Expr};
use crate::tree::node::{FunctionCall, SortKey};

pub(crate) fn bind_function(
    binder: &mut Binder<'_>,
    function: &Function,
    cx: &mut ExprCx<'_, '_>,
) -> Result<Expr> {
    if let Some(call) = bind_routine(binder, function, cx)? {
        return Ok(call);
    }
    let name = function_name(&binder.cx, &function.name)?;
    if let FunctionArguments::Subquery(query) = &function.args {
        return match name.as_str() {
            "array" => bind_array_subquery(binder, query, cx),
            _ => Err(Error::unsupported(format!("a query as the argument of {name}"))),
        };
    }
    if matches!(function.args, FunctionArguments::None)
        && let Some(expr) = keyword_value(binder, &name)?
    {
        return Ok(expr);
    }
    let mut arguments = arguments(&function.args)?;
    if arguments.has_names() {
        place_arguments(binder, &name, &mut arguments, cx)?;
    }
    if arguments.variadic && function.over.is_none() {
        return variadic_call(binder, &name, &arguments, cx);
    }
    if let Some(expr) = construct_array(binder, &name, &arguments, cx)? {
        return Ok(expr);
    }
    if function.over.is_some() {
        return bind_window_function(binder, &name, function, &arguments, cx);
    }
    if let Some(expr) = aggregate_function(binder, &name, function, &arguments, cx)? {
        return Ok(expr);
    }
    if braid_builtins::is_window(&name) {
        return Err(Error::new(
            SqlState::WrongObjectType,
            format!("window function {name} requires an OVER clause"),
        ));
    }
    refuse_clauses(&name, function, &arguments)?;
    let args = bind_arguments(binder, &arguments.list, cx)?;
    let types: Vec<SqlType> = args.iter().map(Expr::ty).collect();
    if let Some(resolved) = braid_builtins::resolve_set_function(&name, &types)? {
        let span = function.name.span();
        return bind_set_function(binder, (resolved, span), args, cx);
    }
    if let ("pg_collation_for", [Expr::Const(_, SqlType::Unknown)]) = (name.as_str(), &args[..]) {
        return Ok(Expr::null(SqlType::Text));
    }
    if let ("pg_typeof", [arg]) = (name.as_str(), args.as_slice()) {
        if matches!(arg, Expr::Const(_, SqlType::Unknown)) {
            let oid = Datum::Int(i64::from(SqlType::Unknown.oid()));
            return Ok(Expr::Const(oid, SqlType::Regtype));
        }
        if let Some(shown) = typeof_domain(binder, arg, &cx.scopes) {
            return Ok(shown);
        }
    }
    let base = args.first().cloned();
    let value = scalar_call(binder, &name, args, types)?;
    check_filled(binder, (&name, base.as_ref()), &cx.scopes, value)
}

/// 42809 for clauses that only calls of aggregates have.
fn refuse_clauses(name: &str, function: &Function, arguments: &Arguments<'_>) -> Result<()> {
    let written = [
        (arguments.distinct, "DISTINCT"),
        (!function.within_group.is_empty(), "WITHIN GROUP"),
        (!arguments.order.is_empty(), "ORDER BY"),
        (function.filter.is_some(), "FILTER"),
    ];
    let Some((_, what)) = written.into_iter().find(|(is_written, _)| *is_written) else {
        return Ok(());
    };
    let message = format!("{what} specified, but {name} is not an aggregate function");
    Err(Error::new(SqlState::WrongObjectType, message))
}

/// A call whose last argument is written `VARIADIC a`.
fn variadic_call(
    binder: &mut Binder<'_>,
    name: &str,
    arguments: &Arguments<'_>,
    cx: &mut ExprCx<'_, '_>,
) -> Result<Expr> {
    let args = bind_arguments(binder, &arguments.list, cx)?;
    let types: Vec<SqlType> = args.iter().map(Expr::ty).collect();
    let resolved = braid_builtins::resolve_variadic(name, &types)?;
    let args = args
        .into_iter()
        .zip(&resolved.arg_types)
        .map(|(arg, ty)| coerce_argument(binder, arg, ty))
        .collect::<Result<Vec<_>>>()?;
    let types = args.iter().map(Expr::ty).collect();
    let (function, returns) = (resolved.function, resolved.returns);
    Ok(Expr::Call(Box::new(CallExpr { function, args, types, spread: true, returns })))
}

/// A function by name; a type's name with one argument is a cast. `f(row)` may mean the field `f`,
/// unless a function takes the row as it is.
fn scalar_call(
    binder: &mut Binder<'_>,
    name: &str,
    args: Vec<Expr>,
    types: Vec<SqlType>,
) -> Result<Expr> {
    // The text of a value, not the argument of a function of that name.
    if let ([SqlType::Unknown], Some(ty)) = (types.as_slice(), SqlType::from_name(name))
        && let Some(arg) = args.first()
        && ty != SqlType::Void
    {
        return coerce(binder, arg.clone(), &ty.bare(), CastContext::Explicit);
    }
    let resolved = braid_builtins::resolve_function(name, &types);
    let field = field_named(&types, name);
    if let (Some((place, ty)), [row]) = (field, args.as_slice())
        && (resolved.is_err() || SqlType::from_name(name).is_some())
    {
        if binder.notes.is_some() {
            let message = format!("{name}(row) as a field of the row");
            return Err(Error::unsupported(message).caused_by(NoStoredForm));
        }
        return Ok(Expr::Field(Box::new(row.clone()), place, ty));
    }
    match resolved {
        Ok(resolved) => call_resolved(binder, resolved, args),
        Err(error) => match (SqlType::from_name(name), <[Expr; 1]>::try_from(args)) {
            // A row becomes a text by a cast alone.
            (Some(ty), Ok([arg])) if !(ty.is_string() && is_row(&arg)) => {
                let cast = coerce(binder, arg, &ty, CastContext::Explicit);
                cast.map_err(|no_cast| if NoCast::is_cause_of(&no_cast) { error } else { no_cast })
            }
            _ => Err(error),
        },
    }
}

fn is_row(arg: &Expr) -> bool {
    matches!(arg.ty(), SqlType::Record(_))
}

/// The field of that name, if there is one argument and it is a row.
fn field_named(types: &[SqlType], name: &str) -> Option<(usize, SqlType)> {
    let [SqlType::Record(row)] = types else { return None };
    let place = row.iter().position(|(field, _)| field == name)?;
    Some((place, row.get(place)?.1.clone()))
}

/// COALESCE, NULLIF, GREATEST and LEAST: not functions, since they evaluate no more than they need.
fn construct_array(
    binder: &mut Binder<'_>,
    name: &str,
    arguments: &Arguments<'_>,
    cx: &mut ExprCx<'_, '_>,
) -> Result<Option<Expr>> {
    let places: Vec<u32> = arguments.list.iter().map(|ast| start_of(ast)).collect();
    Ok(Some(match name {
        "coalesce" => {
            let sets = cx.sets();
            let args = bind_arguments(binder, &arguments.list, cx)?;
            refuse_sets(binder, cx, sets, "COALESCE")?;
            let (args, _) = unify_at(binder, (args, &places), "COALESCE")?;
            Expr::Coalesce(args)
        }
        "greatest" | "least" => {
            let args = bind_arguments(binder, &arguments.list, cx)?;
            let what = if name == "greatest" { "GREATEST" } else { "LEAST" };
            let (args, common) = unify_at(binder, (args, &places), what)?;
            if check_order(&common).is_err() {
                let name = common.plain_name();
                let message = format!("could not identify a comparison function for type {name}");
                return Err(Error::new(SqlState::UndefinedFunction, message));
            }
            Expr::Extreme(name == "greatest", args)
        }
        "nullif" => {
            let mut args = bind_arguments(binder, &arguments.list, cx)?;
            let (Some(b), Some(a), true) = (args.pop(), args.pop(), args.is_empty()) else {
                return Err(Error::new(SqlState::SyntaxError, "NULLIF needs two arguments"));
            };
            // The result has the type that the equality wants of its left operand.
            let ty = compared_as(&a.ty(), &b.ty());
            let a = match a.ty() {
                own if own.bare() == ty => a,
                _ => coerce(binder, a, &ty, CastContext::Implicit)?,
            };
            once(binder, a, |binder, a| {
                let ty = a.ty();
                let equal = compare_exprs(binder, CompareOp::Eq, a.clone(), b)?;
                let whens = vec![(equal, Expr::null(ty.clone()))];
                Ok(Expr::Case(Box::new(CaseExpr { whens, otherwise: a, ty })))
            })?
        }
        "row" => {
            let items = bind_row_items(binder, &arguments.list, cx)?;
            bind_row(items)?
        }
        "grouping" => bind_grouping(binder, &arguments.list, cx)?,
        _ => return Ok(None),
    }))
}

/// `current_date`, `current_user`, …
pub(crate) fn keyword_value(binder: &mut Binder<'_>, name: &str) -> Result<Option<Expr>> {
    let function = match name {
        "current_date" | "current_time" | "current_timestamp" | "localtime" | "localtimestamp"
        | "current_user" | "session_user" | "current_schema" => name,
        "current_catalog" => "current_database",
        "user" | "current_role" => "current_user",
        _ => return Ok(None),
    };
    call_function(binder, function, Vec::new()).map(Some)
}

/// A set-returning function in a select list.
fn bind_set_function(
    binder: &mut Binder<'_>,
    (resolved, span): (ResolvedSet, Span),
    args: Vec<Expr>,
    cx: &mut ExprCx<'_, '_>,
) -> Result<Expr> {
    if cx.collector.as_ref().is_none_or(|c| !c.allow_windows) || cx.clause == IN_WINDOW_CALL {
        return Err(cx.refuse_set());
    }
    if resolved.columns.is_empty() {
        let name = resolved.function.name;
        return Err(Error::new(
            SqlState::FeatureNotSupported,
            format!("could not determine row type for result of {name}"),
        )
        .hint("Call the function in the FROM clause using a column definition list."));
    }
    let names: Vec<String> = resolved.columns.iter().map(|(name, _)| name.clone()).collect();
    let (name, base) = (resolved.function.name, args.first().cloned());
    let mut call = set_call(binder, resolved, args)?;
    // The same call is made once, so that ORDER BY and DISTINCT ON find it in the select list.
    let known = cx.collector.iter().flat_map(|c| &c.sets).find(|set| same_set(set, &call));
    let is_new = known.is_none();
    if let Some(known) = known {
        call.columns.clone_from(&known.columns);
    }
    call.columns.iter().for_each(|(slot, _)| binder.places.note_column(*slot, span));
    let expr = match call.columns.as_slice() {
        [(slot, ty)] => Expr::Column(*slot, ty.clone()),
        columns => {
            let items = columns.iter().map(|(slot, ty)| Expr::Column(*slot, ty.clone())).collect();
            name_fields(bind_row(items)?, names)
        }
    };
    if let (true, Some(collector)) = (is_new, cx.collector.as_deref_mut()) {
        collector.sets.push(call);
    }
    check_filled(binder, (name, base.as_ref()), &cx.scopes, expr)
}

pub(crate) fn set_call(
    binder: &mut Binder<'_>,
    resolved: ResolvedSet,
    args: Vec<Expr>,
) -> Result<FunctionCall> {
    let args = args
        .into_iter()
        .zip(&resolved.arg_types)
        .map(|(arg, ty)| coerce_argument(binder, arg, ty))
        .collect::<Result<Vec<_>>>()?;
    let types = args.iter().map(Expr::ty).collect();
    let columns = resolved.columns.iter().map(|(_, ty)| (binder.slot(), ty.clone())).collect();
    let function = Some(resolved.function);
    Ok(FunctionCall {
        function,
        routine: None,
        args,
        types,
        columns,
        defined: Vec::new(),
        row: None,
    })
}

/// 0A000 at the first of the set-returning functions that have come since there were `before`.
pub(crate) fn refuse_sets(
    binder: &Binder<'_>,
    cx: &ExprCx<'_, '_>,
    before: usize,
    what: &str,
) -> Result<()> {
    let sets = cx.collector.as_ref().and_then(|collector| collector.sets.get(before));
    let slot = sets.and_then(|set| set.columns.first()).map(|(slot, _)| *slot);
    let place = slot.map_or(0, |slot| binder.places.column_place(slot, 0));
    cx.refuse_sets(before, what).map_err(|error| error.position(place))
}

/// Sort keys of an aggregate or window: no ordinals, no aliases.
pub(crate) fn bind_sort_keys(
    binder: &mut Binder<'_>,
    order: &[&OrderByExpr],
    cx: &mut ExprCx<'_, '_>,
) -> Result<Vec<SortKey>> {
    order
        .iter()
        .map(|key| {
            let expr = bind_expr(binder, &key.expr, cx)?;
            let expr = match expr.ty() {
                SqlType::Unknown => coerce(binder, expr, &SqlType::Text, CastContext::Implicit)?,
                _ => expr,
            };
            check_order(&expr.ty()).map_err(|error| error.position(start_of(&key.expr)))?;
            sort_key(expr, key)
        })
        .collect()
}

/// Whether two calls of set-returning functions give the same rows.
fn same_set(a: &FunctionCall, b: &FunctionCall) -> bool {
    let function = |call: &FunctionCall| call.function.map(std::ptr::from_ref);
    let is_routine = a.routine.is_some() || b.routine.is_some();
    !is_routine
        && function(a) == function(b)
        && a.types == b.types
        && a.args.len() == b.args.len()
        && a.args.iter().zip(&b.args).all(|(a, b)| a.same(b))
}

/// A record whose fields have the names of a function's columns, so that `(f()).n` finds them.
fn name_fields(record: Expr, names: Vec<String>) -> Expr {
    match record {
        Expr::Row(items, SqlType::Record(fields)) => {
            let fields = names.into_iter().zip(fields).map(|(name, (_, ty))| (name, ty)).collect();
            Expr::Row(items, SqlType::Record(fields))
        }
        other => other,
    }
}

/// A sort key with PostgreSQL's default place of NULLs.
pub(crate) fn sort_key(expr: Expr, key: &OrderByExpr) -> Result<SortKey> {
    let descending = match &key.options.sort {
        Some(braid_sql::ast::OrderBySort::Desc) => true,
        Some(braid_sql::ast::OrderBySort::Using(operator)) => is_descending(operator)?,
        _ => false,
    };
    Ok(SortKey { expr, descending, nulls_first: key.options.nulls_first.unwrap_or(descending) })
}

/// Whether `USING operator` sorts from the greatest value on. The parser takes any token for one.
fn is_descending(operator: &ObjectName) -> Result<bool> {
    let name = operator.0.last().and_then(|part| part.as_ident());
    let name = name.map_or("", |name| name.value.as_str());
    match name {
        "<" | "~<~" => Ok(false),
        ">" | "~>~" => Ok(true),
        _ if !name.is_empty() && name.chars().all(|c| "+-*/<>=~!@#%^&|`?".contains(c)) => {
            Err(Error::new(
                SqlState::WrongObjectType,
                format!("operator {name} is not a valid ordering operator"),
            )
            .hint("Ordering operators are < and >."))
        }
        _ => {
            let message = format!("syntax error at or near \"{operator}\"");
            Err(Error::new(SqlState::SyntaxError, message))
        }
    }
}

/// Whether there is a schema of that name.
fn is_schema(cx: &PlanContext<'_>, name: &str) -> bool {
    is_virtual_schema(name) || cx.catalog.names().schema(cx.path.database, name).is_some()
}

/// 3F000 for an operator of a schema that is not there.
pub(crate) fn check_operator_schema(cx: &PlanContext<'_>, op: &BinaryOperator) -> Result<()> {
    let BinaryOperator::PGCustomBinaryOperator(parts) = op else { return Ok(()) };
    match &parts[..] {
        [schema, _] => {
            // The parser keeps the quotes of a name.
            let quoted = schema.strip_prefix('"').and_then(|rest| rest.strip_suffix('"'));
            let schema =
                quoted.map_or_else(|| schema.to_lowercase(), |name| name.replace("\"\"", "\""));
            if is_schema(cx, &schema) {
                return Ok(());
            }
            let message = format!("schema \"{schema}\" does not exist");
            Err(Error::new(SqlState::InvalidSchemaName, message))
        }
        [_, _, _, ..] => {
            let name = parts.join(".");
            let message = format!("improper qualified name (too many dotted names): {name}");
            Err(Error::new(SqlState::SyntaxError, message))
        }
        _ => Ok(()),
    }
}

/// A function's name. A schema before it has to be `pg_catalog`, or that of the extension which
/// has the function.
pub(crate) fn function_name(cx: &PlanContext<'_>, name: &ObjectName) -> Result<String> {
    let parts: Vec<String> =
        name.0.iter().filter_map(|part| part.as_ident()).map(braid_sql::fold).collect();
    match parts.as_slice() {
        [name] => Ok(name.clone()),
        [schema, name] if schema == "pg_catalog" || schema == "information_schema" => {
            Ok(name.clone())
        }
        [schema, name] if is_extension_function(cx.catalog, cx.path.database, schema, name) => {
            Ok(name.clone())
        }
        [schema, _] if !is_schema(cx, schema) => {
            let message = format!("schema \"{schema}\" does not exist");
            Err(Error::new(SqlState::InvalidSchemaName, message))
        }
        [schema, name] => Err(Error::new(
            SqlState::UndefinedFunction,
            format!("function {schema}.{name} does not exist"),
        )),
        _ => Err(Error::unsupported(format!("the function name {name}"))),
    }
}

/// Takes parameters of type void out of a call's arguments: so JDBC declares what a call returns.
pub(crate) fn drop_void(args: &mut Vec<Expr>) {
    args.retain(|arg| !matches!(arg, Expr::Param(_, SqlType::Void)));
}

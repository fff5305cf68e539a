//! Functions in FROM, and the column definition lists of those that return `record`.
//!
//! Transition tables are here as well: the rows that a statement has changed, as its trigger's
//! function reads them. They are an array of rows that the statement has as a parameter. In FROM
//! their name means one row for each element.

use std::sync::Arc;

use braid_catalog::{Routine, RoutineResult};
use braid_sql::ast::{
    Expr as Ast, FunctionArg, FunctionArgExpr, Ident, ObjectName, TableAlias, TableFactor,
};
use braid_types::sql_type::RowType;
use braid_types::{Error, Result, SqlState, SqlType};

use super::aliases::{rename_item_columns, shown_name};
use crate::bind::Binder;
use crate::bind::domain::check_filled;
use crate::bind::expr::arguments::{Arguments, arguments, bind_arguments, place_arguments};
use crate::bind::expr::data_type::{TypeNames, sql_type_of};
use crate::bind::expr::function::{function_name, keyword_value, set_call};
use crate::bind::expr::scalar::{bind_expr, bind_row, call_function};
use crate::bind::query::lock::refuse_lock;
use crate::bind::query::ordered::plain_column;
use crate::bind::routine::{FoundCall, find_call};
use crate::bind::scope::columns::{Scope, ScopeColumn, ScopeTable, Scopes};
use crate::bind::scope::context::{AGGREGATES, ExprCx, misplaced};
use crate::bind::scope::places::first_part;
use crate::context::PlanContext;
use crate::tree::expr::{Expr, Slot};
use crate::tree::node::{FunctionCall, FunctionScan, Node, Project};

/// A function in FROM and its default column names.
pub(crate) fn bind_table_function(
    binder: &mut Binder<'_>,
    name: &ObjectName,
    mut args: Arguments<'_>,
    alias: Option<&TableAlias>,
    scopes: Scopes<'_>,
) -> Result<(FunctionCall, Vec<String>)> {
    let mut cx = ExprCx::plain(scopes, "FROM");
    if let Some(call) = find_call(binder, name, &args, &mut cx)? {
        return bind_routine_rows(binder, call, name, alias);
    }
    let function = function_name(&binder.cx, name)?;
    if args.has_names() {
        place_arguments(binder, &function, &mut args, &mut cx)?;
    }
    if args.star {
        return Err(Error::new(SqlState::SyntaxError, "syntax error at or near \"*\""));
    }
    let mut bound = bind_arguments(binder, &args.list, &mut cx)?;
    let place = first_part(name);
    let populated = populated_row(binder, &function, &mut bound, alias)
        .map_err(|error| error.position(place))?;
    let types: Vec<SqlType> = bound.iter().map(Expr::ty).collect();
    let resolved = braid_builtins::resolve_set_function(&function, &types)
        .map_err(|error| error.position(place))?;
    if let Some(row) = populated {
        let mut call = match resolved {
            Some(resolved) => set_call(binder, resolved, bound)?,
            None => {
                let expr = call_function(binder, &function, bound)?;
                single_value(binder, expr, function).0
            }
        };
        let names: Vec<String> = row.iter().map(|(name, _)| name.clone()).collect();
        call.columns = row.iter().map(|(_, ty)| (binder.slot(), ty.clone())).collect();
        call.row = Some(SqlType::Record(row));
        call.defined.clone_from(&names);
        return Ok((call, names));
    }
    let returns_record = resolved.as_ref().is_some_and(|set| set.columns.is_empty());
    let defined = column_definitions(alias, returns_record, binder.cx.types())
        .map_err(|error| error.position(place))?;
    if let Some(mut resolved) = resolved {
        if returns_record {
            resolved.columns.clone_from(&defined);
            let mut call = set_call(binder, resolved, bound)?;
            call.defined = defined.into_iter().map(|(name, _)| name).collect();
            let names = call.defined.clone();
            return Ok((call, names));
        }
        let names = resolved.columns.iter().map(|(column, _)| match column.as_str() {
            "" => function.clone(),
            column => column.to_owned(),
        });
        let (names, call) = (names.collect(), set_call(binder, resolved, bound)?);
        return Ok(spread_row(binder, call, names));
    }
    let expr = match keyword_value(binder, &function)? {
        Some(expr) if bound.is_empty() => expr,
        _ => {
            let base = bound.first().cloned();
            let value = refuse_summary(&function, &types)
                .and_then(|()| call_function(binder, &function, bound))
                .map_err(|error| error.position(place))?;
            check_filled(binder, (&function, base.as_ref()), &scopes, value)?
        }
    };
    let (call, names) = single_value(binder, expr, function);
    Ok(spread_row(binder, call, names))
}

/// 42803 for an aggregate in FROM, 42809 for a window function.
fn refuse_summary(function: &str, types: &[SqlType]) -> Result<()> {
    if braid_builtins::is_window(function) {
        let message = format!("window function {function} requires an OVER clause");
        return Err(Error::new(SqlState::WrongObjectType, message));
    }
    match braid_builtins::resolve_aggregate(function, types) {
        Ok(Some(_)) => Err(misplaced(AGGREGATES, "FROM")),
        _ => Ok(()),
    }
}

/// The row that `json_populate_record(null::record, …) AS (a int)` and its relatives give: its
/// first argument gets the columns of the list. `None` for another call.
fn populated_row(
    binder: &Binder<'_>,
    function: &str,
    args: &mut [Expr],
    alias: Option<&TableAlias>,
) -> Result<Option<RowType>> {
    let family = ["json_populate_record", "jsonb_populate_record"];
    let is_family = family.iter().any(|name| {
        function.strip_prefix(name).is_some_and(|rest| rest.is_empty() || rest == "set")
    });
    let Some(given) = args.first_mut().filter(|_| is_family) else { return Ok(None) };
    let SqlType::Record(fields) = given.ty() else { return Ok(None) };
    let columns = alias.map(|alias| &alias.columns[..]).unwrap_or_default();
    let is_typed = columns.iter().any(|column| column.data_type.is_some());
    if fields.name().is_some() || !is_typed {
        return Ok(None);
    }
    let defined = column_definitions(alias, true, binder.cx.types())?;
    let row = RowType::from(defined);
    if fields.is_empty() {
        *given = Expr::null(SqlType::Record(row.clone()));
        return Ok(Some(row));
    }
    let fits = fields.len() == row.len()
        && fields.iter().zip(row.iter()).all(|((_, own), (_, wanted))| own.same_base(wanted));
    match given {
        // The members have the names of the row that is given: `f1`, `f2` and so on.
        Expr::Row(..) if fits => Ok(Some(row)),
        _ => {
            let message = "function return row and query-specified return row do not match";
            Err(Error::new(SqlState::DatatypeMismatch, message))
        }
    }
}

/// A call whose rows are values of a row type with a name has their fields as columns.
pub(crate) fn spread_row(
    binder: &mut Binder<'_>,
    mut call: FunctionCall,
    names: Vec<String>,
) -> (FunctionCall, Vec<String>) {
    let row = match call.columns.as_slice() {
        [(_, SqlType::Record(row))] if row.name().is_some() => row.clone(),
        _ => return (call, names),
    };
    let names = row.iter().map(|(name, _)| name.clone()).collect();
    call.columns = row.iter().map(|(_, ty)| (binder.slot(), ty.clone())).collect();
    call.row = Some(SqlType::Record(row));
    (call, names)
}

/// The rows of a function of a user.
fn bind_routine_rows(
    binder: &mut Binder<'_>,
    mut call: FoundCall,
    name: &ObjectName,
    alias: Option<&TableAlias>,
) -> Result<(FunctionCall, Vec<String>)> {
    let place = first_part(name);
    let row = match &call.ty {
        SqlType::Record(row) => row.clone(),
        ty => {
            let ty = ty.clone();
            column_definitions(alias, false, binder.cx.types())
                .map_err(|error| error.position(place))?;
            let output = call.routine.outputs().next().and_then(|output| output.name.clone());
            let named = output.unwrap_or_else(|| last_name(name, &call));
            if !call.routine.returns_set {
                let expr = call.into_expr(binder)?;
                return Ok(single_value(binder, expr, named));
            }
            return Ok((call.into_rows(binder, &[ty], false), vec![named]));
        }
    };
    let is_unknown = row.is_empty() && row.name().is_none();
    let defined = match is_unknown {
        false => redundant_definitions(alias, &call.routine).map(|()| Vec::new()),
        true => column_definitions(alias, true, binder.cx.types()),
    };
    let defined = defined.map_err(|error| error.position(place))?;
    if is_unknown {
        let mut routine = Routine::clone(&call.routine);
        let row = RowType::from(defined.clone());
        routine.returns = RoutineResult::Value(SqlType::Record(row));
        routine.is_of_call = true;
        call.routine = Arc::new(routine);
    }
    let fields = if is_unknown { &defined } else { &*row };
    let names = fields.iter().map(|(name, _)| name.clone()).collect();
    let types: Vec<SqlType> = fields.iter().map(|(_, ty)| ty.clone()).collect();
    let mut rows = call.into_rows(binder, &types, true);
    rows.defined = defined.into_iter().map(|(name, _)| name).collect();
    Ok((rows, names))
}

/// 42601 for a column definition list of a function whose columns are known.
fn redundant_definitions(alias: Option<&TableAlias>, routine: &Routine) -> Result<()> {
    let columns = alias.map(|alias| &alias.columns[..]).unwrap_or_default();
    if columns.iter().all(|column| column.data_type.is_none()) {
        return Ok(());
    }
    let message = match routine.outputs().next() {
        Some(_) => "a column definition list is redundant for a function with OUT parameters",
        None => {
            "a column definition list is redundant for a function returning a named composite type"
        }
    };
    Err(Error::new(SqlState::SyntaxError, message))
}

/// The name of a function of a user: in stored text a number stands for it.
fn last_name(name: &ObjectName, call: &FoundCall) -> String {
    match braid_sql::relation_id(name) {
        Some(_) => call.routine.name.clone(),
        None => written_name(name),
    }
}

/// The last part of a function's name, which names its column.
fn written_name(name: &ObjectName) -> String {
    name.0.last().and_then(|part| part.as_ident()).map(braid_sql::fold).unwrap_or_default()
}

fn is_unnest(cx: &PlanContext<'_>, name: &ObjectName) -> bool {
    function_name(cx, name).is_ok_and(|name| name == "unnest")
}

/// The row of a function that gives one value.
fn single_value(binder: &mut Binder<'_>, expr: Expr, name: String) -> (FunctionCall, Vec<String>) {
    let ty = expr.ty();
    let columns = vec![(binder.slot(), ty.clone())];
    let (args, types) = (vec![expr], vec![ty]);
    let call = FunctionCall {
        function: None,
        routine: None,
        args,
        types,
        columns,
        defined: Vec::new(),
        row: None,
    };
    (call, vec![name])
}

/// `ROWS FROM (f(…), g(…))`: the rows of several functions side by side. `None` for another item.
pub(crate) fn bind_rows_from(
    binder: &mut Binder<'_>,
    factor: &TableFactor,
    scopes: Scopes<'_>,
) -> Result<Option<(Node, Scope)>> {
    let (name, items, with_ordinality, alias) = match factor {
        TableFactor::Table { name, args: Some(args), with_ordinality, alias, .. } => {
            (name, &args.args, *with_ordinality, alias.as_ref())
        }
        TableFactor::Function { name, args, with_ordinality, alias, .. } => {
            (name, args, *with_ordinality, alias.as_ref())
        }
        _ => return Ok(None),
    };
    if !braid_sql::is_rows_from(name) {
        return Ok(None);
    }
    if items.is_empty() {
        return Err(Error::new(SqlState::SyntaxError, "syntax error at or near \")\""));
    }
    let mut calls = Vec::with_capacity(items.len());
    let mut first = None;
    let syntax_name = items.first().and_then(syntax_function).map(named);
    for item in items {
        if let Some(name) = syntax_function(item) {
            let FunctionArg::Unnamed(FunctionArgExpr::Expr(ast)) = item else { continue };
            let expr = bind_expr(binder, ast, &mut ExprCx::plain(scopes, "FROM"))?;
            calls.push(single_value(binder, expr, name));
            continue;
        }
        let FunctionArg::Unnamed(FunctionArgExpr::Expr(Ast::Function(function))) = item else {
            let message = format!("{item} is not a function in ROWS FROM");
            return Err(Error::new(SqlState::SyntaxError, message));
        };
        let name = &function.name;
        first.get_or_insert(name);
        let args = arguments(&function.args)?;
        // Each array of `unnest(a, b)` is a function of its own.
        if args.list.len() > 1 && !args.has_names() && is_unnest(&binder.cx, name) {
            for arg in args.list {
                let mut args = Arguments::default();
                args.list.push(arg);
                calls.push(bind_table_function(binder, name, args, None, scopes)?);
            }
            continue;
        }
        calls.push(bind_table_function(binder, name, args, None, scopes)?);
    }
    let first = first.or(syntax_name.as_ref());
    function_factor(binder, calls, with_ordinality, alias, first, scopes).map(Some)
}

fn named(name: String) -> ObjectName {
    ObjectName::from(vec![Ident::new(name)])
}

/// The column's name of an expression that may stand in FROM: what looks like a function, but has a
/// syntax of its own.
fn syntax_function(item: &FunctionArg) -> Option<String> {
    let FunctionArg::Unnamed(FunctionArgExpr::Expr(ast)) = item else { return None };
    Some(match ast {
        Ast::Function(call) => match &call.name.0[..] {
            [name] => {
                let name = name.as_ident().filter(|name| name.quote_style.is_none())?.value.clone();
                let is_syntax =
                    matches!(name.as_str(), "coalesce" | "greatest" | "least" | "nullif");
                return is_syntax.then_some(name);
            }
            _ => return None,
        },
        Ast::Extract { .. } => "extract".to_owned(),
        Ast::Cast { data_type, .. } => data_type.to_string().to_lowercase(),
        Ast::Trim { trim_where: None, .. } => "btrim".to_owned(),
        Ast::Trim { .. } => "trim".to_owned(),
        Ast::Substring { .. } => "substring".to_owned(),
        Ast::Position { .. } => "position".to_owned(),
        Ast::Overlay { .. } => "overlay".to_owned(),
        _ => return None,
    })
}

/// Functions in FROM as an item of it. `scopes` is what their arguments are bound in.
pub(crate) fn function_factor(
    binder: &mut Binder<'_>,
    calls: Vec<(FunctionCall, Vec<String>)>,
    with_ordinality: bool,
    alias: Option<&TableAlias>,
    name: Option<&ObjectName>,
    scopes: Scopes<'_>,
) -> Result<(Node, Scope)> {
    let function = match name {
        Some(name) => written_name(name),
        None => "unnest".to_owned(),
    };
    let shown = alias.map_or_else(|| function.clone(), |alias| shown_name(binder, alias));
    refuse_lock(binder, &shown, "a function")?;
    let mut scope = Scope { tables: vec![ScopeTable::plain(&shown)], ..Scope::default() };
    let width: usize = calls.iter().map(|(call, _)| call.columns.len()).sum();
    let calls_define_columns = calls.iter().any(|(call, _)| !call.defined.is_empty());
    let mut functions = Vec::with_capacity(calls.len());
    for (call, names) in calls {
        for ((slot, ty), name) in call.columns.iter().zip(names) {
            // One column without a name of its own takes the alias.
            let name = if width == 1 && name == function { shown.clone() } else { name };
            let spreads =
                call.row.is_some() || call.routine.as_ref().is_some_and(|routine| routine.spreads);
            let is_row = width == 1 && !with_ordinality && call.defined.is_empty() && !spreads;
            let column = plain_column(&shown, &name, *slot, ty.clone());
            scope.columns.push(ScopeColumn { is_row, ..column });
        }
        functions.push(call);
    }
    if with_ordinality && calls_define_columns {
        return Err(Error::new(
            SqlState::SyntaxError,
            "WITH ORDINALITY cannot be used with a column definition list",
        ));
    }
    let ordinality = with_ordinality.then(|| binder.slot());
    if let Some(slot) = ordinality {
        scope.columns.push(plain_column(&shown, "ordinality", slot, SqlType::Int8));
    }
    if let Some(alias) = alias {
        rename_item_columns(binder, &mut scope, alias)?;
    }
    check_rows(binder, FunctionScan { functions, ordinality }, scope, &scopes)
}

/// The rows of functions, with the checks of domains on those that are filled from objects.
fn check_rows(
    binder: &mut Binder<'_>,
    scan: FunctionScan,
    mut scope: Scope,
    scopes: &Scopes<'_>,
) -> Result<(Node, Scope)> {
    let mut checked = Vec::new();
    for call in scan.functions.iter().filter(|call| call.row.is_some()) {
        let Some(function) = call.function else { continue };
        let items = call.columns.iter().map(|(slot, ty)| Expr::Column(*slot, ty.clone()));
        let row = bind_row(items.collect())?;
        let row = check_filled(binder, (function.name, call.args.first()), scopes, row)?;
        if !matches!(row, Expr::Domain(_)) {
            continue;
        }
        for (place, (slot, ty)) in call.columns.iter().enumerate() {
            checked.push((*slot, Expr::Field(Box::new(row.clone()), place, ty.clone())));
        }
    }
    let input = Node::Function(scan);
    if checked.is_empty() {
        return Ok((input, scope));
    }
    let mut exprs: Vec<(Slot, Expr)> = Vec::new();
    for column in &mut scope.columns {
        let found = checked.iter().find(|(slot, _)| *slot == column.slot);
        let value = match found {
            Some((_, value)) => value.clone(),
            None => Expr::Column(column.slot, column.ty.clone()),
        };
        column.slot = binder.slot();
        exprs.push((column.slot, value));
    }
    Ok((Node::Project(Box::new(Project { input, exprs })), scope))
}

/// The columns of `AS t (a int, b text)`, which a function that returns `record` needs and no other
/// one may have (42601).
fn column_definitions(
    alias: Option<&TableAlias>,
    returns_record: bool,
    names: TypeNames<'_>,
) -> Result<Vec<(String, SqlType)>> {
    let columns = alias.map(|alias| &alias.columns[..]).unwrap_or_default();
    let is_typed = columns.iter().any(|column| column.data_type.is_some());
    let refuse = |message: &str| Err(Error::new(SqlState::SyntaxError, message));
    match (returns_record, is_typed) {
        (false, false) => return Ok(Vec::new()),
        (false, true) => {
            return refuse(
                "a column definition list is only allowed for functions returning \"record\"",
            );
        }
        (true, false) => {
            return refuse(
                "a column definition list is required for functions returning \"record\"",
            );
        }
        (true, true) => {}
    }
    let mut defined: Vec<(String, SqlType)> = Vec::with_capacity(columns.len());
    for column in columns {
        let name = braid_sql::fold(&column.name);
        let Some(data_type) = &column.data_type else {
            return refuse("a column definition list needs a type for each column");
        };
        if defined.iter().any(|(known, _)| *known == name) {
            return Err(Error::new(
                SqlState::DuplicateColumn,
                format!("column name \"{name}\" specified more than once"),
            ));
        }
        defined.push((name, sql_type_of(data_type, names)?));
    }
    Ok(defined)
}

/// The transition table of a name under an alias; `None` if there is none.
pub(crate) fn transition_scan(
    binder: &mut Binder<'_>,
    name: &str,
    alias: &str,
) -> Result<Option<(Node, Scope)>> {
    let Some(param) = parameter(binder, name) else { return Ok(None) };
    refuse_lock(binder, alias, "a named tuplestore")?;
    let ty = binder.params.get(param).cloned().unwrap_or(SqlType::Unknown);
    let fields = match ty.element() {
        Some(SqlType::Record(fields)) => fields.clone(),
        _ => return Err(Error::internal("a transition table that is no array of rows")),
    };
    let row = SqlType::Record(fields.clone());
    let resolved = braid_builtins::resolve_set_function("unnest", std::slice::from_ref(&ty))?;
    let Some(mut resolved) = resolved else { return Err(Error::internal("unnest is missing")) };
    resolved.columns = vec![(String::new(), row.clone())];
    let call = set_call(binder, resolved, vec![Expr::Param(param, ty)])?;
    let Some((slot, _)) = call.columns.first().cloned() else {
        return Err(Error::internal("a transition table without rows"));
    };
    let input = Node::Function(FunctionScan { functions: vec![call], ordinality: None });
    let mut scope = Scope { tables: vec![ScopeTable::plain(alias)], ..Scope::default() };
    let mut exprs = Vec::with_capacity(fields.len());
    for (place, (column, ty)) in fields.into_iter().enumerate() {
        let field = binder.slot();
        let record = Box::new(Expr::Column(slot, row.clone()));
        exprs.push((field, Expr::Field(record, place, ty.clone())));
        scope.columns.push(plain_column(alias, &column, field, ty));
    }
    Ok(Some((Node::Project(Box::new(Project { input, exprs })), scope)))
}

fn parameter(binder: &Binder<'_>, name: &str) -> Option<usize> {
    let tables = &binder.context().variables?.tables;
    tables.iter().find(|table| table.name == name).map(|table| table.param)
}

/// 0A000 for a transition table as the target of a change.
pub(crate) fn refuse_transition(binder: &Binder<'_>, parts: &[String]) -> Result<()> {
    match parts {
        [name] if parameter(binder, name).is_some() => {
            let message =
                format!("relation \"{name}\" cannot be the target of a modifying statement");
            Err(Error::new(SqlState::FeatureNotSupported, message))
        }
        _ => Ok(()),
    }
}

//! The arguments of a call as written: by place or by name, `*`, and whole rows (`t.*`).

use std::borrow::Cow;

use braid_sql::ast::{
    AttachedToken, DuplicateTreatment, Expr as Ast, FunctionArg, FunctionArgExpr,
    FunctionArgumentClause, FunctionArguments, Ident, OrderByExpr, Spanned,
};
use braid_types::{Error, Result, SqlState, SqlType};

use super::function::drop_void;
use super::operators::call_resolved;
use super::scalar::{bind_expr, bind_exprs, call_function};
use crate::bind::Binder;
use crate::bind::from::range_table::columns_of;
use crate::bind::scope::context::ExprCx;
use crate::tree::expr::Expr;

/// A function's arguments as written.
#[derive(Default)]
pub(crate) struct Arguments<'q> {
    pub list: Vec<Cow<'q, Ast>>,
    /// For each of the last arguments its name, if they have names.
    names: Vec<String>,
    /// Whether the last one is written `VARIADIC a`: the elements of an array are the arguments.
    pub variadic: bool,
    pub star: bool,
    pub distinct: bool,
    pub order: Vec<&'q OrderByExpr>,
}

/// The arguments of a call in an expression.
pub(crate) fn arguments(args: &FunctionArguments) -> Result<Arguments<'_>> {
    let FunctionArguments::List(list) = args else { return Ok(Arguments::default()) };
    let mut result = listed(&list.args)?;
    if result.star && list.duplicate_treatment.is_some() {
        return Err(Error::new(SqlState::SyntaxError, "syntax error at or near \"*\""));
    }
    result.distinct = matches!(list.duplicate_treatment, Some(DuplicateTreatment::Distinct));
    for clause in &list.clauses {
        match clause {
            FunctionArgumentClause::OrderBy(order) => result.order.extend(order),
            other => return Err(Error::unsupported(format!("{other} inside a function call"))),
        }
    }
    Ok(result)
}

/// The arguments between a call's parentheses.
pub(crate) fn listed(args: &[FunctionArg]) -> Result<Arguments<'_>> {
    let mut result = Arguments::default();
    for arg in args {
        if result.star || result.variadic {
            return Err(Error::new(SqlState::SyntaxError, "syntax error at or near \",\""));
        }
        match arg {
            FunctionArg::Unnamed(FunctionArgExpr::Wildcard) if result.list.is_empty() => {
                result.star = true;
            }
            FunctionArg::Unnamed(arg) => {
                let mut value = value(arg)?;
                if let Cow::Borrowed(Ast::Prefixed { prefix, value: array }) = &value
                    && prefix.value == "variadic"
                {
                    result.variadic = true;
                    value = Cow::Borrowed(&**array);
                }
                if !result.names.is_empty() {
                    let message = "positional argument cannot follow named argument";
                    let place = braid_sql::offset_of(value.span());
                    return Err(Error::new(SqlState::SyntaxError, message).position(place));
                }
                result.list.push(value);
            }
            FunctionArg::Named { name, arg, .. }
            | FunctionArg::ExprNamed { name: Ast::Identifier(name), arg, .. } => {
                named(&mut result, name, arg)?;
            }
            other @ FunctionArg::ExprNamed { .. } => {
                return Err(Error::unsupported(format!("the argument {other}")));
            }
        }
    }
    Ok(result)
}

fn named<'q>(result: &mut Arguments<'q>, name: &Ident, arg: &'q FunctionArgExpr) -> Result<()> {
    let folded = braid_sql::fold(name);
    if result.names.contains(&folded) {
        let message = format!("argument name \"{folded}\" used more than once");
        let place = braid_sql::offset_of(name.span);
        return Err(Error::new(SqlState::SyntaxError, message).position(place));
    }
    result.list.push(value(arg)?);
    result.names.push(folded);
    Ok(())
}

fn value(arg: &FunctionArgExpr) -> Result<Cow<'_, Ast>> {
    match arg {
        FunctionArgExpr::Expr(expr) => Ok(Cow::Borrowed(expr)),
        FunctionArgExpr::QualifiedWildcard(name) => {
            Ok(Cow::Owned(Ast::QualifiedWildcard(name.clone(), AttachedToken::empty())))
        }
        FunctionArgExpr::Wildcard => {
            Err(Error::new(SqlState::SyntaxError, "syntax error at or near \"*\""))
        }
        other => Err(Error::unsupported(format!("the argument {other}"))),
    }
}

impl<'q> Arguments<'q> {
    /// Whether some have names.
    pub(crate) fn has_names(&self) -> bool {
        !self.names.is_empty()
    }

    /// The names of the last arguments.
    pub(crate) fn names(&self) -> &[String] {
        &self.names
    }

    /// Brings named arguments to their places, with the defaults of those between them. `None` if
    /// the function has no parameters of these names.
    fn by_place(&self, function: &str) -> Result<Option<Vec<Cow<'q, Ast>>>> {
        let Some(parameters) = braid_builtins::parameters(function) else { return Ok(None) };
        let first = self.list.len() - self.names.len();
        let mut places: Vec<Option<Cow<'q, Ast>>> =
            self.list[..first].iter().cloned().map(Some).collect();
        for (name, value) in self.names.iter().zip(&self.list[first..]) {
            let place = parameters.iter().position(|(known, _)| known == name);
            let Some(place) = place.filter(|place| *place >= first) else { return Ok(None) };
            if places.len() <= place {
                places.resize(place + 1, None);
            }
            places[place] = Some(value.clone());
        }
        let mut list = Vec::with_capacity(places.len());
        for (value, (_, default)) in places.into_iter().zip(parameters) {
            list.push(match value {
                Some(value) => value,
                None if default.is_empty() => return Ok(None),
                None => Cow::Owned(braid_sql::parse_expr(default)?),
            });
        }
        let is_whole = parameters[list.len()..]
            .iter()
            .all(|(name, default)| !default.is_empty() || *name == "timezone");
        Ok(is_whole.then_some(list))
    }
}

/// Replaces named arguments by their places. 42883 if no function has parameters like these.
pub(crate) fn place_arguments(
    binder: &mut Binder<'_>,
    function: &str,
    arguments: &mut Arguments<'_>,
    cx: &mut ExprCx<'_, '_>,
) -> Result<()> {
    if let Some(list) = arguments.by_place(function)? {
        arguments.list = list;
        arguments.names.clear();
        return Ok(());
    }
    let bound = bind_arguments(binder, &arguments.list, cx)?;
    let first = bound.len() - arguments.names.len();
    let shown = bound.iter().enumerate().map(|(place, arg): (usize, &Expr)| {
        let ty: SqlType = arg.ty();
        match place.checked_sub(first).and_then(|place| arguments.names.get(place)) {
            Some(name) => format!("{name} => {}", ty.bare().display_name()),
            None => ty.bare().display_name(),
        }
    });
    let shown: Vec<String> = shown.collect();
    let message = format!("function {function}({}) does not exist", shown.join(", "));
    Err(Error::new(SqlState::UndefinedFunction, message).hint(
        "No function matches the given name and argument types. You might need to add explicit \
         type casts.",
    ))
}

/// Binds a list of arguments.
pub(crate) fn bind_arguments(
    binder: &mut Binder<'_>,
    list: &[Cow<'_, Ast>],
    cx: &mut ExprCx<'_, '_>,
) -> Result<Vec<Expr>> {
    let mut args = list.iter().map(|ast| bind_expr(binder, ast, cx)).collect::<Result<Vec<_>>>()?;
    drop_void(&mut args);
    Ok(args)
}

/// The items of `ROW (…)`, where `t.*` stands for several.
pub(crate) fn bind_row_items(
    binder: &mut Binder<'_>,
    list: &[Cow<'_, Ast>],
    cx: &mut ExprCx<'_, '_>,
) -> Result<Vec<Expr>> {
    let mut items = Vec::with_capacity(list.len());
    for ast in list {
        match ast.as_ref() {
            star @ Ast::QualifiedWildcard(name, _) => {
                items.extend(columns_of(binder, (star, name), cx)?);
            }
            ast => items.push(bind_expr(binder, ast, cx)?),
        }
    }
    Ok(items)
}

/// Calls a function by name with these arguments.
pub(super) fn call_on(
    binder: &mut Binder<'_>,
    name: &str,
    args: &[&Ast],
    cx: &mut ExprCx<'_, '_>,
) -> Result<Expr> {
    let args = bind_exprs(binder, args.iter().copied(), cx)?;
    call_function(binder, name, args)
}

/// Calls the function that a syntax of its own stands for with these arguments.
pub(super) fn call_syntax_on(
    binder: &mut Binder<'_>,
    name: &str,
    args: &[&Ast],
    cx: &mut ExprCx<'_, '_>,
) -> Result<Expr> {
    let args = bind_exprs(binder, args.iter().copied(), cx)?;
    call_syntax_function(binder, name, args)
}

/// Calls the function that a syntax of its own stands for.
pub(super) fn call_syntax_function(
    binder: &mut Binder<'_>,
    name: &str,
    args: Vec<Expr>,
) -> Result<Expr> {
    let types: Vec<SqlType> = args.iter().map(Expr::ty).collect();
    let shown = format!("pg_catalog.{name}");
    let resolved = braid_builtins::resolve_shown(name, &shown, &types)?;
    call_resolved(binder, resolved, args)
}

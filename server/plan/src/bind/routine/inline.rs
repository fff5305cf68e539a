//! Functions of users in domains and in what an index is made of: the body stands in the place of
//! the call.
//!
//! Keys and conditions of indexes and the conditions of domains are computed for single values, and
//! no query can run there. So the body has to be one expression over the parameters:
//!
//! ```text
//! CREATE FUNCTION is_open(state text) RETURNS bool IMMUTABLE RETURN state <> 'closed'
//! CREATE UNIQUE INDEX ON ticket (id) WHERE is_open(state)   ──►   WHERE state <> 'closed'
//! ```
//!
//! In PL/pgSQL that is `BEGIN RETURN expression; END`. A STRICT function is NULL if an argument is.
//! A query over such a table has the body in the place of the call as well, so the index serves it.

use braid_catalog::{
    Id, Language, Mentioning, ParameterMode, Routine, RoutineVolatility, Table, enums_named,
};
use braid_sql::ast::{Expr as Ast, Query, SelectItem, SetExpr, Statement};
use braid_types::cast::CastContext;
use braid_types::{Datum, Error, Result, SqlType};

use super::call::FoundCall;
use crate::bind::Binder;
use crate::bind::expr::operators::{coerce, coerce_argument};
use crate::bind::expr::scalar::bind_expr;
use crate::bind::scope::columns::{Scope, ScopeColumn, Scopes};
use crate::bind::scope::context::{ExprCx, IN_INDEX_FUNCTION};
use crate::bind::scope::places::without_places;
use crate::tree::expr::{CaseExpr, Expr, Slot};

/// What calls of functions of users stand in, if they are replaced by the function's body.
pub(super) fn place_of_inlined(binder: &Binder<'_>, clause: &str) -> Option<&'static str> {
    match clause {
        _ if binder.domain_depth > 0 => Some("a domain"),
        "index expressions" => Some("an index expression"),
        "index predicates" => Some("an index predicate"),
        _ => None,
    }
}

/// The value of a function's only expression for the arguments of a call; 0A000 for a function
/// that has more than that.
pub(super) fn inline(binder: &mut Binder<'_>, call: FoundCall, place: &str) -> Result<Expr> {
    let refused = || {
        let hint = "A function works there if it is IMMUTABLE, and its body one expression.";
        Error::unsupported(format!("a function of a user in {place}")).hint(hint)
    };
    let FoundCall { routine, args, ty } = call;
    if !is_plain(&routine) {
        return Err(refused());
    }
    let ast = body_of(&routine).ok_or_else(refused)?;
    let slots: Vec<Slot> = args.iter().map(|_| binder.slot()).collect();
    let scope = parameters(&routine, &args, &slots);
    let types = args.iter().map(Expr::ty).collect();
    let is_sql = routine.language == Language::Sql;
    let bound = bind_body(binder, &ast, &scope, types).and_then(|e| match is_sql {
        true => coerce_argument(binder, e, &ty),
        false => coerce(binder, e, &ty, CastContext::Assignment),
    });
    let name = &routine.name;
    let context = if is_sql { "SQL" } else { "PL/pgSQL" };
    let mut bound =
        bound.map_err(|error| error.context(format!("{context} function \"{name}\"")))?;
    put_arguments(&mut bound, &slots, &args);
    Ok(if routine.strict { null_of_null(bound, args, ty) } else { bound })
}

/// The same in a query whose tables have an index that is made of the function, so that the index
/// serves it. `None` where the call stays one: also if an argument has to be computed once.
pub(super) fn inline_for_index(
    binder: &mut Binder<'_>,
    call: &FoundCall,
    scopes: Scopes<'_>,
) -> Option<Expr> {
    let (catalog, id) = (binder.cx.catalog, call.routine.id);
    let is_read = |table: &Table| {
        let mut around = std::iter::successors(Some(&scopes), |scopes| scopes.parent);
        around.any(|scopes| scopes.scope.columns.iter().any(|c| c.origin.0 == table.id))
    };
    let users = Mentioning::of(catalog, id);
    let has_index = users.tables().any(|table| is_read(table) && has_index_of(table, id));
    let is_once = |arg: &Expr| arg.is_volatile() || arg.waits();
    if !has_index || binder.notes.is_some() || call.args.iter().any(is_once) {
        return None;
    }
    inline(binder, call.clone(), "an index expression").ok()
}

/// Whether an index of a table has a key or a condition that calls a routine.
fn has_index_of(table: &Table, routine: Id) -> bool {
    let keys = table.columns.iter().filter(|column| column.is_key_expr);
    let keys = keys.filter_map(|column| column.generated.as_ref());
    let conditions = table.all_indexes().filter_map(|index| index.predicate.as_ref());
    keys.chain(conditions).any(|expr| enums_named(expr.sql()).contains(&routine))
}

/// The value of a STRICT function: NULL if an argument is.
fn null_of_null(value: Expr, args: Vec<Expr>, ty: SqlType) -> Expr {
    let null = Expr::Const(Datum::Null, ty.clone());
    let nulls: Vec<Expr> = args.into_iter().map(|arg| Expr::IsNull(Box::new(arg))).collect();
    if nulls.is_empty() {
        return value;
    }
    let whens = vec![(Expr::Or(nulls), null)];
    Expr::Case(Box::new(CaseExpr { whens, otherwise: value, ty }))
}

/// The only expression of a function's body, if it is that.
fn body_of(routine: &Routine) -> Option<Ast> {
    if routine.language == Language::Plpgsql {
        return returned(&routine.body);
    }
    let parsed = braid_sql::parse(&routine.body).ok()?;
    let [statement] = parsed.as_slice() else { return None };
    match &statement.statement {
        Statement::Query(query) => only_expression(query).cloned(),
        _ => None,
    }
}

/// The expression of `BEGIN RETURN expression; END`.
fn returned(body: &str) -> Option<Ast> {
    let text = after_word(after_word(body, "BEGIN")?, "RETURN")?;
    let text = text.trim_end().trim_end_matches(';').trim_end();
    let (text, end) = text.split_at_checked(text.len().checked_sub("END".len())?)?;
    let text = text.trim_end().strip_suffix(';').filter(|_| end.eq_ignore_ascii_case("END"))?;
    braid_sql::parse_expr(text).ok()
}

/// What follows a word at the beginning of a text.
fn after_word<'t>(text: &'t str, word: &str) -> Option<&'t str> {
    let (first, rest) = text.trim_start().split_at_checked(word.len())?;
    let is_whole = rest.starts_with(|c: char| !c.is_alphanumeric() && c != '_');
    (first.eq_ignore_ascii_case(word) && is_whole).then_some(rest)
}

/// Whether a function's body means the same in the place of each call.
fn is_plain(routine: &Routine) -> bool {
    let is_immutable = routine.volatility == RoutineVolatility::Immutable;
    // As in PostgreSQL, what counts of a function in SQL is its body.
    (routine.language == Language::Sql || routine.language == Language::Plpgsql && is_immutable)
        && !routine.security_definer
        && routine.settings.is_empty()
        && !routine.is_polymorphic()
        && routine.result_domain.is_none()
        && routine.parameters.iter().all(|parameter| parameter.mode == ParameterMode::In)
}

/// The expression of `SELECT expression` without anything else.
fn only_expression(query: &Query) -> Option<&Ast> {
    let SetExpr::Select(select) = &*query.body else { return None };
    let [item] = select.projection.as_slice() else { return None };
    let (SelectItem::UnnamedExpr(ast) | SelectItem::ExprWithAlias { expr: ast, .. }) = item else {
        return None;
    };
    (query.to_string() == format!("SELECT {item}")).then_some(ast)
}

/// The parameters as columns, so that names find them.
fn parameters(routine: &Routine, args: &[Expr], slots: &[Slot]) -> Scope {
    let columns = routine.inputs().zip(args).zip(slots).filter_map(|((parameter, arg), slot)| {
        Some(ScopeColumn {
            table: routine.name.clone(),
            schema: None,
            name: parameter.name.clone()?,
            slot: *slot,
            ty: arg.ty(),
            hidden: false,
            merged: false,
            is_row: false,
            origin: (0, 0),
            domain: None,
            item: (0, 0),
        })
    });
    Scope { columns: columns.collect(), ..Scope::default() }
}

/// Binds the body, whose numbered parameters have these types.
fn bind_body(
    binder: &mut Binder<'_>,
    ast: &Ast,
    scope: &Scope,
    types: Vec<SqlType>,
) -> Result<Expr> {
    let notes = binder.notes.take();
    let variables = binder.cx.variables.take();
    let is_stored = std::mem::replace(&mut binder.is_stored, false);
    let params = std::mem::replace(&mut binder.params, types);
    let mut cx = ExprCx::plain(Scopes { scope, parent: None }, IN_INDEX_FUNCTION);
    let bound = without_places(binder, |this| bind_expr(this, ast, &mut cx));
    binder.params = params;
    binder.is_stored = is_stored;
    binder.cx.variables = variables;
    binder.notes = notes;
    bound
}

/// Puts the arguments in the place of the parameters.
fn put_arguments(e: &mut Expr, slots: &[Slot], args: &[Expr]) {
    let place = match e {
        Expr::Column(slot, _) => slots.iter().position(|known| known == slot),
        Expr::Param(place, _) => Some(*place),
        _ => return e.for_each_child_mut(&mut |child| put_arguments(child, slots, args)),
    };
    if let Some(arg) = place.and_then(|place| args.get(place)) {
        *e = arg.clone();
    }
}

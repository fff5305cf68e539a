//! TABLESAMPLE: a random part of a table's rows.
//!
//! Each row is in the sample or not, by itself: `SYSTEM` samples rows like `BERNOULLI`, because
//! there are no pages. The clause is a condition on the table's rows. REPEATABLE computes it from
//! the seed and the primary key; without it each row has a random number.

use braid_sql::ast::{Expr as Ast, TableSampleKind};
use braid_sql::{TableSample, find_token, next_token};
use braid_types::cast::{CastContext, NoCast};
use braid_types::{Datum, Error, Result, SqlState, SqlType};

use super::system_columns::system_column_of;
use crate::bind::Binder;
use crate::bind::expr::operators::coerce;
use crate::bind::expr::scalar::{bind_expr, call_function};
use crate::bind::scope::columns::{Scope, Scopes};
use crate::bind::scope::context::ExprCx;
use crate::eval::{EvalContext, eval};
use crate::tree::expr::Expr;
use crate::tree::node::{Filter, Node};

/// The rows of a table that a sample takes.
pub(super) fn bind_sample(
    binder: &mut Binder<'_>,
    (sample, start): (&TableSampleKind, u32),
    (node, scope): (Node, &Scope),
    parent: Option<&Scopes<'_>>,
) -> Result<Node> {
    let alias = match (sampled(&node), &scope.tables[..]) {
        (Node::Scan(_) | Node::Virtual(_), [table]) => table.name.clone(),
        _ => {
            let what = "TABLESAMPLE clause can only be applied to tables and materialized views";
            return Err(Error::new(SqlState::FeatureNotSupported, what).position(start));
        }
    };
    let Some(TableSample { method, args, seed }) = braid_sql::table_sample(sample) else {
        return Err(Error::unsupported("this TABLESAMPLE clause"));
    };
    let word = find_token(binder.cx.text, start, u32::MAX, &["tablesample"]);
    let place = if word == 0 { 0 } else { next_token(binder.cx.text, word + 11) };
    if !matches!(method, "bernoulli" | "system") {
        let message = format!("tablesample method {method} does not exist");
        return Err(Error::new(SqlState::UndefinedObject, message).position(place));
    }
    let [percent] = args[..] else {
        let count = args.len();
        let message = format!("tablesample method {method} requires 1 argument, not {count}");
        return Err(Error::new(SqlState::InvalidTablesampleArgument, message).position(place));
    };
    let percent = bind_number(binder, percent, (&SqlType::Float4, "TABLESAMPLE"), parent)?;
    let mut args = vec![percent];
    if let Some(seed) = seed {
        args.push(bind_number(binder, seed, (&SqlType::Float8, "REPEATABLE"), parent)?);
    }
    let checked = call_function(binder, "braid_sample", args.clone())?;
    check_constants(binder, &checked, &args)?;
    let mut predicate = checked;
    if seed.is_some() {
        let place = system_column_of(binder, None, &alias, "ctid", (scope, "FROM"))?;
        args.push(place.ok_or_else(|| Error::internal("a table without places of rows"))?);
        predicate = call_function(binder, "braid_sample", args)?;
    }
    Ok(Node::Filter(Filter::of(node, vec![predicate])))
}

/// An argument, which reads no columns of the query's own FROM.
fn bind_number(
    binder: &mut Binder<'_>,
    ast: &Ast,
    (ty, clause): (&SqlType, &str),
    parent: Option<&Scopes<'_>>,
) -> Result<Expr> {
    let nothing = Scope::default();
    let scopes = Scopes { scope: &nothing, parent };
    let e = bind_expr(binder, ast, &mut ExprCx::plain(scopes, "FROM"))?;
    let given = e.ty();
    coerce(binder, e, ty, CastContext::Assignment).map_err(|error| {
        if !NoCast::is_cause_of(&error) {
            return error;
        }
        let (ty, given) = (ty.display_name(), given.display_name());
        let message = format!("argument of {clause} must be type {ty}, not type {given}");
        Error::new(SqlState::DatatypeMismatch, message)
    })
}

/// Constant arguments are checked at once, so that a sample of no rows reports them, too.
fn check_constants(binder: &Binder<'_>, call: &Expr, args: &[Expr]) -> Result<()> {
    let mut is_const = true;
    for arg in args {
        is_const &= !arg.waits()
            && !arg.any(&mut |e| {
                matches!(e, Expr::Column(..) | Expr::Input(..) | Expr::Outer(..) | Expr::Param(..))
            });
    }
    if is_const {
        let cx = EvalContext { env: binder.cx.env, params: &[], outer: &[] };
        let sampled = eval(call, &[], &cx)?;
        debug_assert!(matches!(sampled, Datum::Bool(_)), "a row is in a sample or not");
    }
    Ok(())
}

/// What is sampled, without the policies that hide rows of it.
fn sampled(node: &Node) -> &Node {
    match node {
        Node::Filter(filter) => sampled(&filter.input),
        other => other,
    }
}

//! Clauses behind a query in parentheses. They become clauses of that query, so it may not have
//! them itself: `(SELECT a FROM t LIMIT 2) LIMIT 1` is 42601, as in PostgreSQL.

use braid_sql::ast::{Expr as Ast, LimitClause, OrderByExpr, OrderByKind, Query, SetExpr};
use braid_sql::offset_of;
use braid_types::{Error, Result, SqlState};

use crate::bind::scope::places::start_of;

/// 42601 if a query repeats a clause of the query in parentheses that is its body.
pub(super) fn refuse_repeated(query: &Query) -> Result<()> {
    let mut inner = query;
    while let SetExpr::Query(next) = &*inner.body {
        inner = next;
        let twice = |clause: &str, place: u32| {
            let message = format!("multiple {clause} clauses not allowed");
            Err(Error::new(SqlState::SyntaxError, message).position(place))
        };
        if let (Some(key), Some(_)) = (first_key(query), first_key(inner)) {
            return twice("ORDER BY", start_of(&key.expr));
        }
        let ((limit, offset), (inner_limit, inner_offset)) = (counts(query), counts(inner));
        if let (Some(offset), Some(_)) = (offset, inner_offset) {
            return twice("OFFSET", start_of(offset));
        }
        let is_limited =
            |query: &Query, limit: Option<&Ast>| limit.is_some() || query.fetch.is_some();
        if is_limited(query, limit) && is_limited(inner, inner_limit) {
            let fetched = query.fetch.as_ref().and_then(|fetch| fetch.quantity.as_ref());
            return twice("LIMIT", limit.or(fetched).map_or(0, start_of));
        }
        if let (Some(with), Some(_)) = (&query.with, &inner.with) {
            return twice("WITH", offset_of(with.with_token.0.span));
        }
    }
    Ok(())
}

fn first_key(query: &Query) -> Option<&OrderByExpr> {
    match &query.order_by.as_ref()?.kind {
        OrderByKind::Expressions(keys) => keys.first(),
        OrderByKind::All(_) => None,
    }
}

/// The counts of LIMIT and OFFSET.
fn counts(query: &Query) -> (Option<&Ast>, Option<&Ast>) {
    match &query.limit_clause {
        Some(LimitClause::LimitOffset { limit, offset, .. }) => {
            (limit.as_ref(), offset.as_ref().map(|offset| &offset.value))
        }
        _ => (None, None),
    }
}

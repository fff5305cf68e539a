//! Queries: WITH, set operations, VALUES, ORDER BY and LIMIT around a select.

use braid_sql::ast::{self, Expr as Ast, LimitClause, OrderByExpr, OrderByKind, Query, SetExpr};
use braid_sql::{find_token, last_token};
use braid_types::cast::{CastContext, context};
use braid_types::{Datum, Error, Result, SqlState, SqlType};

use super::nested_clauses::refuse_repeated;
use super::select::bind_select;
use super::set_operation::bind_set_operation;
use super::with::with_queries;
use crate::bind::Binder;
use crate::bind::expr::common_type::common_type;
use crate::bind::expr::function::sort_key;
use crate::bind::expr::operators::{check_order, coerce};
use crate::bind::expr::scalar::{bind_expr, bind_exprs};
use crate::bind::from::items::bind_from;
use crate::bind::from::range_table::{expand_rows, in_range};
use crate::bind::scope::columns::{Scope, ScopeColumn, Scopes};
use crate::bind::scope::context::ExprCx;
use crate::bind::scope::lock_clause::{LockClause, SelectLocks};
use crate::bind::scope::places::{start_of, without_places};
use crate::context::OutputColumn;
use crate::rules::walk;
use crate::tree::expr::{Expr, Slot};
use crate::tree::node::{
    Distinct, Limit, LockWait, Node, Project, SkippedRows, Sort, SortKey, Values, With,
};

/// A bound query: its plan and the columns of its result, one a slot of the plan.
pub(crate) struct BoundQuery {
    /// The plan.
    pub node: Node,
    /// The columns.
    pub columns: Vec<OutputColumn>,
}

impl BoundQuery {
    /// The output as expressions.
    pub(crate) fn exprs(&self) -> Vec<Expr> {
        let slots = self.node.slots();
        slots.into_iter().zip(&self.columns).map(|(s, c)| Expr::Column(s, c.ty.clone())).collect()
    }
}

/// Binds a query inside `parent`'s scopes.
pub(crate) fn bind_query(
    binder: &mut Binder<'_>,
    query: &Query,
    parent: Option<&Scopes<'_>>,
) -> Result<BoundQuery> {
    binder.enter()?;
    let visible = binder.ctes.len();
    let result = query_with(binder, query, parent);
    binder.ctes.truncate(visible);
    binder.leave();
    result
}

fn query_with(
    binder: &mut Binder<'_>,
    query: &Query,
    parent: Option<&Scopes<'_>>,
) -> Result<BoundQuery> {
    if query.for_clause.is_some() || !query.pipe_operators.is_empty() {
        return Err(Error::unsupported("this query clause"));
    }
    if !binder.is_stored {
        refuse_repeated(query)?;
    }
    let pushed = std::mem::take(&mut binder.pushed_locks);
    let untyped = std::mem::take(&mut binder.untyped);
    let ctes = with_queries(binder, query, parent)?;
    if matches!(&*query.body, SetExpr::Select(_) | SetExpr::Query(_)) {
        binder.untyped = untyped;
    }
    let mut bound = query_body(binder, query, pushed, parent)?;
    if !ctes.is_empty() {
        bound.node = Node::With(Box::new(With { ctes, body: bound.node }));
    }
    Ok(bound)
}

fn query_body(
    binder: &mut Binder<'_>,
    query: &Query,
    pushed: Vec<LockClause>,
    parent: Option<&Scopes<'_>>,
) -> Result<BoundQuery> {
    let order = order_by(query)?;
    let mut clauses = LockClause::of_query(query);
    clauses.extend(pushed);
    let mut bound = match &*query.body {
        SetExpr::Select(select) => {
            let plain = query.with.is_none()
                && order.is_empty()
                && query.limit_clause.is_none()
                && query.fetch.is_none();
            let hoist = plain && clauses.iter().all(|clause| clause.pushed);
            bind_select(binder, select, &order, SelectLocks { clauses, hoist }, parent)?
        }
        other => {
            match (other, clauses.first()) {
                (SetExpr::SetOperation { .. }, Some(clause)) => {
                    return Err(clause.refuse("UNION/INTERSECT/EXCEPT"));
                }
                (SetExpr::Values(_), Some(clause)) => clause.check_values()?,
                // The clauses of a query in parentheses are the query's own.
                (SetExpr::Query(_), _) => binder.pushed_locks = clauses,
                _ => {}
            }
            let mut bound = bind_set_expr(binder, other, parent)?;
            if !order.is_empty() {
                let is_set = matches!(other, SetExpr::SetOperation { .. });
                bound.node = sort_output(binder, bound.node, &bound.columns, (&order, is_set))?;
            }
            bound
        }
    };
    bound.node = bind_limit(binder, bound.node, query, parent)?;
    Ok(bound)
}

/// ORDER BY of a set operation or VALUES. The first takes output names and ordinals only.
fn sort_output(
    binder: &mut Binder<'_>,
    node: Node,
    columns: &[OutputColumn],
    (order, is_set): (&[&OrderByExpr], bool),
) -> Result<Node> {
    let slots = node.slots();
    let scope = output_scope(&slots, columns);
    let scopes = Scopes { scope: &scope, parent: None };
    let mut keys = Vec::with_capacity(order.len());
    for key in order {
        if let Ast::Identifier(ident) = &key.expr
            && let Some(place) = columns.iter().position(|c| c.name == braid_sql::fold(ident))
        {
            binder.note_place(&key.expr, place);
        }
        let expr = match ordinal(&key.expr, columns.len(), "ORDER BY")? {
            Some(place) => {
                binder.note_place(&key.expr, place);
                Expr::Column(slots[place], columns[place].ty.clone())
            }
            None => bind_expr(binder, &key.expr, &mut ExprCx::plain(scopes, "ORDER BY"))?,
        };
        let at_key = |error: Error| error.position(start_of(&key.expr));
        if is_set && !matches!(expr, Expr::Column(..)) {
            return Err(at_key(no_output_name()));
        }
        check_order(&expr.ty()).map_err(at_key)?;
        keys.push(sort_key(expr, key)?);
    }
    Ok(Node::Sort(Box::new(Sort { input: node, keys, limit: None, offset: None })))
}

/// 0A000 for an expression that set operations cannot be sorted by.
fn no_output_name() -> Error {
    let message = "invalid UNION/INTERSECT/EXCEPT ORDER BY clause";
    Error::new(SqlState::FeatureNotSupported, message)
        .detail("Only result column names can be used, not expressions or functions.")
        .hint("Add the expression/function to every SELECT, or move the UNION into a FROM clause.")
}

fn bind_limit(
    binder: &mut Binder<'_>,
    node: Node,
    query: &Query,
    parent: Option<&Scopes<'_>>,
) -> Result<Node> {
    let (mut limit, offset) = match &query.limit_clause {
        None => (None, None),
        Some(LimitClause::LimitOffset { limit, offset, limit_by }) if limit_by.is_empty() => {
            (limit.as_ref(), offset.as_ref().map(|offset| &offset.value))
        }
        Some(LimitClause::OffsetCommaLimit { offset, .. }) => {
            let place = last_token(binder.cx.text, start_of(offset), "limit");
            return Err(Error::new(SqlState::SyntaxError, "LIMIT #,# syntax is not supported")
                .hint("Use separate LIMIT and OFFSET clauses.")
                .position(place));
        }
        Some(_) => return Err(Error::unsupported("this form of LIMIT")),
    };
    let mut ties = Vec::new();
    let one = ast::Expr::value(ast::Value::Number("1".to_owned(), false));
    if let Some(fetch) = &query.fetch {
        if let (Some(limit), Some(_)) = (limit, &fetch.quantity) {
            return Err(limited_twice(binder.cx.text, limit));
        }
        limit = Some(fetch_count(fetch, limit.unwrap_or(&one))?);
        if fetch.with_ties {
            // The sort may stand below the projection that drops its keys.
            let mut sort = &node;
            if let Node::Project(project) = sort {
                sort = &project.input;
            }
            if let Node::LockRows(lock) = sort {
                if lock.targets.iter().any(|t| t.lock.wait == LockWait::SkipLocked) {
                    return Err(Error::new(
                        SqlState::SyntaxError,
                        "SKIP LOCKED and WITH TIES options cannot be used together",
                    ));
                }
                sort = &lock.input;
            }
            while let Node::ProjectSet(set) = sort {
                sort = &set.input;
            }
            // DISTINCT ON sorts by ORDER BY, and then by what this lacks.
            if let Node::Distinct(distinct) = sort {
                sort = &distinct.input;
            }
            let wanted = order_by(query)?.len();
            let keys = match sort {
                Node::Sort(sort) if wanted > 0 => &sort.keys,
                _ => {
                    let message = "WITH TIES cannot be specified without ORDER BY clause";
                    return Err(Error::new(SqlState::SyntaxError, message));
                }
            };
            ties = keys.iter().take(wanted).map(|key| key.expr.clone()).collect();
        }
    }
    let limit = bind_count(binder, limit, "LIMIT", (&query.body, parent))?;
    let offset = bind_count(binder, offset, "OFFSET", (&query.body, parent))?;
    if limit.is_none() && offset.is_none() {
        return Ok(node);
    }
    Ok(limited(node, limit, offset, ties))
}

/// 42601 for LIMIT and FETCH of one query: the second of them is one too many.
fn limited_twice(text: &str, limit: &Ast) -> Error {
    let start = start_of(limit);
    let (word, place) = match find_token(text, start, u32::MAX, &["fetch"]) {
        0 => ("limit", last_token(text, start, "limit")),
        place => ("fetch", place),
    };
    let written = text.chars().skip(place.saturating_sub(1) as usize).take(word.len());
    let message = format!("syntax error at or near \"{}\"", written.collect::<String>());
    Error::new(SqlState::SyntaxError, message).position(place)
}

/// LIMIT and OFFSET over a query. What is volatile is computed for the rows that OFFSET skips, but
/// not for those behind the last one:
///
/// ```text
///   LIMIT 2 OFFSET 3     Limit (skips 3) ── Project nextval(…) ── Limit (first 2 + 3) ── …
/// ```
fn limited(mut node: Node, limit: Option<Expr>, offset: Option<Expr>, ties: Vec<Expr>) -> Node {
    let skipped = SkippedRows::Here;
    let Node::Project(project) = &mut node else {
        return Node::Limit(Box::new(Limit { input: node, limit, offset, skipped, ties }));
    };
    let is_counted = project.exprs.iter().any(|(_, e)| e.is_volatile());
    // An offset that is volatile cannot be computed twice.
    let is_steady = offset.as_ref().is_none_or(|offset| !offset.is_volatile());
    if ties.is_empty() && !(is_counted && is_steady && limit.is_some()) {
        return Node::Limit(Box::new(Limit { input: node, limit, offset, skipped, ties }));
    }
    let above = offset.clone().filter(|_| is_counted && is_steady);
    let skipped = if above.is_some() { SkippedRows::Above } else { SkippedRows::Here };
    let input = std::mem::replace(&mut project.input, Node::one_row());
    project.input = Node::Limit(Box::new(Limit { input, limit, offset, skipped, ties }));
    match above {
        Some(offset) => Node::Limit(Box::new(Limit {
            input: node,
            limit: None,
            offset: Some(offset),
            skipped: SkippedRows::Here,
            ties: Vec::new(),
        })),
        None => node,
    }
}

/// The count of FETCH. Beside WITH TIES, a count that is no number stands in LIMIT.
fn fetch_count<'q>(fetch: &'q ast::Fetch, limit: &'q Ast) -> Result<&'q Ast> {
    if fetch.percent {
        return Err(Error::unsupported("FETCH … PERCENT"));
    }
    let count = fetch.quantity.as_ref().unwrap_or(limit);
    if fetch.with_ties && is_null(count) {
        let message = "row count cannot be null in FETCH FIRST ... WITH TIES clause";
        return Err(Error::new(SqlState::InvalidRowCountInLimit, message));
    }
    Ok(count)
}

fn is_null(e: &Ast) -> bool {
    match e {
        Ast::Nested(inner) => is_null(inner),
        Ast::Value(value) => value.value == ast::Value::Null,
        _ => false,
    }
}

/// A count of rows; `None` for ALL and NULL, which are no limit. `body` is the query that the
/// count belongs to.
fn bind_count(
    binder: &mut Binder<'_>,
    ast: Option<&Ast>,
    clause: &'static str,
    (body, parent): (&SetExpr, Option<&Scopes<'_>>),
) -> Result<Option<Expr>> {
    let Some(ast) = ast else { return Ok(None) };
    if matches!(ast, Ast::Identifier(ident) if ident.value.eq_ignore_ascii_case("all")) {
        return Ok(None);
    }
    if !braid_sql::column_names(ast).is_empty() {
        refuse_own_columns(binder, ast, clause, (body, parent))?;
    }
    let scope = Scope::default();
    let scopes = Scopes { scope: &scope, parent };
    let e = bind_expr(binder, ast, &mut ExprCx::plain(scopes, clause))?;
    let e = coerce_to_count(binder, e, clause).map_err(|error| error.position(start_of(ast)))?;
    match e {
        Expr::Const(Datum::Null, _) => Ok(None),
        e => Ok(Some(e)),
    }
}

/// A number of rows as a bigint; 42804 for what is none.
pub(crate) fn coerce_to_count(binder: &mut Binder<'_>, e: Expr, clause: &str) -> Result<Expr> {
    let given = e.ty();
    if given != SqlType::Unknown
        && context(&given, &SqlType::Int8).is_none_or(|context| context == CastContext::Explicit)
    {
        let name = given.display_name();
        let message = format!("argument of {clause} must be type bigint, not type {name}");
        return Err(Error::new(SqlState::DatatypeMismatch, message));
    }
    coerce(binder, e, &SqlType::Int8, CastContext::Assignment)
}

/// 42P10 if a count reads a column of its own query. Binds FROM once more to know them.
fn refuse_own_columns(
    binder: &mut Binder<'_>,
    ast: &Ast,
    clause: &'static str,
    (body, parent): (&SetExpr, Option<&Scopes<'_>>),
) -> Result<()> {
    let SetExpr::Select(select) = body else { return Ok(()) };
    let notes = binder.notes.take();
    let locks = std::mem::take(&mut binder.from_locks);
    let since = binder.places.columns_bound();
    let bound = in_range(binder, |this| {
        let (_, scope) = bind_from(this, &select.from, parent)?;
        let scopes = Scopes { scope: &scope, parent };
        let e = bind_expr(this, ast, &mut ExprCx::plain(scopes, clause))?;
        Ok((e, scope))
    });
    binder.notes = notes;
    binder.from_locks = locks;
    let (mut e, scope) = bound?;
    let mut read = Vec::new();
    walk::expr_slots(&mut e, &mut read);
    let own = read.into_iter().filter(|slot| scope.columns.iter().any(|c| c.slot == *slot));
    let Some(place) = own.map(|slot| binder.places.column_place(slot, since)).min() else {
        return Ok(());
    };
    let message = format!("argument of {clause} must not contain variables");
    Err(Error::new(SqlState::InvalidColumnReference, message).position(place))
}

/// The body of a query without its ORDER BY and LIMIT.
pub(crate) fn bind_set_expr(
    binder: &mut Binder<'_>,
    body: &SetExpr,
    parent: Option<&Scopes<'_>>,
) -> Result<BoundQuery> {
    match body {
        SetExpr::Select(select) => bind_select(binder, select, &[], SelectLocks::default(), parent),
        SetExpr::Query(query) => bind_query(binder, query, parent),
        SetExpr::Values(values) => {
            let rows: Vec<&[Ast]> = values.rows.iter().map(|row| &row.content[..]).collect();
            bind_values(binder, &rows, parent)
        }
        SetExpr::SetOperation { .. } => bind_set_operation(binder, body, parent),
        SetExpr::Insert(_) | SetExpr::Update(_) | SetExpr::Delete(_) | SetExpr::Merge(_) => {
            let message =
                "WITH clause containing a data-modifying statement must be at the top level";
            Err(Error::new(SqlState::FeatureNotSupported, message))
        }
        other => Err(Error::unsupported(format!("{other} as a query"))),
    }
}

/// A constant that is kept as text.
pub(crate) fn bind_literal(binder: &mut Binder<'_>, text: &str) -> Result<Expr> {
    let scope = Scope::default();
    let scopes = Scopes { scope: &scope, parent: None };
    let ast = braid_sql::parse_expr(text)?;
    let mut cx = ExprCx::plain(scopes, "CYCLE");
    without_places(binder, |this| bind_expr(this, &ast, &mut cx))
}

/// A projection to these types, where they differ.
pub(crate) fn cast_columns(
    binder: &mut Binder<'_>,
    query: &BoundQuery,
    types: &[SqlType],
) -> Result<Node> {
    if query.columns.iter().zip(types).all(|(c, ty)| c.ty == *ty) {
        return Ok(query.node.clone());
    }
    let mut exprs = Vec::with_capacity(types.len());
    for (e, ty) in query.exprs().into_iter().zip(types) {
        let e = coerce(binder, e, ty, CastContext::Implicit)?;
        exprs.push((binder.slot(), e));
    }
    Ok(Node::Project(Box::new(Project { input: query.node.clone(), exprs })))
}

/// VALUES: each column takes the common type of its values.
fn bind_values(
    binder: &mut Binder<'_>,
    rows: &[&[Ast]],
    parent: Option<&Scopes<'_>>,
) -> Result<BoundQuery> {
    let scope = Scope::default();
    let scopes = Scopes { scope: &scope, parent };
    let expanded = expand_rows(binder, rows, &scopes)?;
    let expanded: Option<Vec<&[Ast]>> =
        expanded.as_ref().map(|rows| rows.iter().map(Vec::as_slice).collect());
    let rows = expanded.as_deref().unwrap_or(rows);
    let width = rows.first().map_or(0, |row| row.len());
    let mut bound = Vec::with_capacity(rows.len());
    for row in rows {
        if row.len() != width {
            return Err(Error::new(
                SqlState::SyntaxError,
                "VALUES lists must all be the same length",
            )
            .position(row.first().map_or(0, start_of)));
        }
        bound.push(bind_exprs(binder, *row, &mut ExprCx::plain(scopes, "VALUES"))?);
    }
    let mut columns = Vec::with_capacity(width);
    for place in 0..width {
        let types: Vec<SqlType> = bound.iter().map(|row| row[place].ty()).collect();
        let ty = common_type(&types, "VALUES").map_err(|error| {
            let differs = |end: &usize| common_type(&types[..*end], "VALUES").is_err();
            let wrong = (1..=types.len()).find(differs).and_then(|end| rows.get(end - 1));
            error.position(wrong.map_or(0, |row| start_of(&row[place])))
        })?;
        for row in &mut bound {
            let e = std::mem::replace(&mut row[place], Expr::bool(true));
            row[place] = coerce(binder, e, &ty, CastContext::Implicit)?;
        }
        columns.push(OutputColumn::computed(format!("column{}", place + 1), ty));
    }
    let slots = columns.iter().map(|_| binder.slot()).collect();
    Ok(BoundQuery { node: Node::Values(Values { slots, rows: bound, repeats: None }), columns })
}

/// A column that comes from no stored table.
pub(crate) fn plain_column(table: &str, name: &str, slot: Slot, ty: SqlType) -> ScopeColumn {
    ScopeColumn {
        table: table.to_owned(),
        schema: None,
        name: name.to_owned(),
        slot,
        ty,
        hidden: false,
        merged: false,
        is_row: false,
        domain: None,
        origin: (0, 0),
        item: (0, 0),
    }
}

/// The output columns as a scope of their own.
pub(crate) fn output_scope(slots: &[Slot], columns: &[OutputColumn]) -> Scope {
    let columns = slots
        .iter()
        .zip(columns)
        .map(|(slot, column)| plain_column("", &column.name, *slot, column.ty.clone()))
        .collect();
    Scope { columns, ..Scope::default() }
}

/// The ORDER BY items of a query.
pub(crate) fn order_by(query: &Query) -> Result<Vec<&OrderByExpr>> {
    match query.order_by.as_ref().map(|order| &order.kind) {
        None => Ok(Vec::new()),
        Some(OrderByKind::Expressions(list)) => Ok(list.iter().collect()),
        Some(OrderByKind::All(_)) => Err(Error::unsupported("ORDER BY ALL")),
    }
}

/// The place that an integer literal in ORDER BY, GROUP BY or DISTINCT ON names; 42601 for any
/// other literal.
pub(crate) fn ordinal(ast: &Ast, columns: usize, clause: &str) -> Result<Option<usize>> {
    let (value, sign) = match ast {
        Ast::Value(value) => (&value.value, 1),
        Ast::UnaryOp { op: ast::UnaryOperator::Minus, expr } => match &**expr {
            Ast::Value(value) if matches!(value.value, ast::Value::Number(..)) => {
                (&value.value, -1)
            }
            _ => return Ok(None),
        },
        Ast::Nested(inner) => return ordinal(inner, columns, clause),
        _ => return Ok(None),
    };
    let number = match value {
        ast::Value::Placeholder(_) => return Ok(None),
        ast::Value::Number(text, _) => text.parse::<i32>().ok(),
        _ => None,
    };
    let Some(number) = number.map(|number| i64::from(number) * sign) else {
        let message = format!("non-integer constant in {clause}");
        return Err(Error::new(SqlState::SyntaxError, message).position(start_of(ast)));
    };
    let place = usize::try_from(number).ok().filter(|place| (1..=columns).contains(place));
    place.map(|place| Some(place - 1)).ok_or_else(|| {
        Error::new(
            SqlState::InvalidColumnReference,
            format!("{clause} position {number} is not in select list"),
        )
        .position(start_of(ast))
    })
}

/// DISTINCT over rows of these types, or DISTINCT ON.
pub(crate) fn distinct(node: Node, on: Vec<Expr>, types: Vec<SqlType>) -> Node {
    Node::Distinct(Box::new(Distinct { input: node, on, types }))
}

/// A sort, unless there is nothing to sort by.
pub(crate) fn sorted(node: Node, keys: Vec<SortKey>) -> Node {
    if keys.is_empty() {
        node
    } else {
        Node::Sort(Box::new(Sort { input: node, keys, limit: None, offset: None }))
    }
}

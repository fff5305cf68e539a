//! WITH: its entries, recursive ones, and the scans of what they have computed.

use braid_sql::ast::{self, Query, SetExpr, SetQuantifier, TableAlias};
use braid_sql::{CycleClause, RecursionClauses, SearchClause, find_token, offset_of};
use braid_types::{Datum, Error, Result, SqlState, SqlType};

use super::ordered::{
    BoundQuery, bind_literal, bind_query, bind_set_expr, cast_columns, plain_column,
};
use super::recursion::recursive_query;
use super::search_cycle::{Added, Given, Next, check_names, outputs, places, refuse_known};
use super::with_order::with_order;
use crate::bind::Binder;
use crate::bind::binder::CTES_MAX;
use crate::bind::expr::common_type::common_type;
use crate::bind::expr::operators::{call_operator, check_equality, compare_exprs, unify};
use crate::bind::expr::scalar::{bind_row, call_function};
use crate::bind::scope::columns::{CteDefinition, Scope, ScopeTable, Scopes};
use crate::bind::scope::places::ColumnPlaces;
use crate::context::OutputColumn;
use crate::tree::expr::{CaseExpr, CompareOp, Expr, QuantifiedExpr, Slot};
use crate::tree::node::{Cte, CteScan, Filter, Node, Project};

/// The two terms of a recursive query.
struct Terms<'q> {
    first: &'q SetExpr,
    recursive: &'q SetExpr,
    /// UNION ALL
    all: bool,
    clauses: &'q RecursionClauses,
}

/// An entry of WITH that is a query.
pub(crate) struct Entry<'q> {
    pub query: &'q Query,
    /// WITH RECURSIVE
    pub recursive: bool,
    pub clauses: RecursionClauses,
}

fn is_all(quantifier: &SetQuantifier) -> bool {
    *quantifier == SetQuantifier::All
}

/// The entries of a query's own WITH, none if it has no WITH. They are visible until the
/// caller forgets them.
pub(crate) fn with_queries(
    binder: &mut Binder<'_>,
    query: &Query,
    parent: Option<&Scopes<'_>>,
) -> Result<Vec<Cte>> {
    let Some(with) = &query.with else { return Ok(Vec::new()) };
    let entries = &with.cte_tables;
    for (place, cte) in entries.iter().enumerate() {
        let earlier = entries.iter().take(place).map(|cte| &cte.alias.name);
        refuse_duplicate(&cte.alias.name, earlier)?;
    }
    let named: Vec<_> = entries.iter().map(|cte| (&cte.alias.name, &*cte.query)).collect();
    let mut ctes = Vec::with_capacity(entries.len());
    let known = binder.later_ctes.len();
    for place in with_order(&named, with.recursive)? {
        let cte = &entries[place];
        binder.later_ctes.truncate(known);
        let later = entries.iter().skip(place).filter(|_| !with.recursive);
        binder.later_ctes.extend(later.map(|cte| braid_sql::fold(&cte.alias.name)));
        let clauses = RecursionClauses::of(cte.from.as_ref())?;
        let entry = Entry { query: &cte.query, recursive: with.recursive, clauses };
        let bound = bind_cte(binder, &cte.alias, &entry, parent)?;
        ctes.extend(materialized(bound, cte.materialized.as_ref()));
    }
    binder.later_ctes.truncate(known);
    Ok(ctes)
}

/// The entries that one entry of WITH has become, of which the last is the entry itself.
pub(crate) fn materialized(mut ctes: Vec<Cte>, how: Option<&ast::CteAsMaterialized>) -> Vec<Cte> {
    if let (Some(cte), Some(how)) = (ctes.last_mut(), how) {
        cte.materialized = Some(*how == ast::CteAsMaterialized::Materialized);
    }
    ctes
}

/// An entry of WITH that is a query. The entries of a WITH inside a recursive one come before
/// it, so that they are computed once and not in each round.
pub(crate) fn bind_cte(
    binder: &mut Binder<'_>,
    alias: &TableAlias,
    entry: &Entry<'_>,
    parent: Option<&Scopes<'_>>,
) -> Result<Vec<Cte>> {
    let query = entry.query;
    let name = braid_sql::fold(&alias.name);
    let id = binder.id();
    if binder.ctes.len() >= CTES_MAX {
        return Err(Error::new(
            SqlState::StatementTooComplex,
            format!("a statement can have at most {} WITH queries", CTES_MAX),
        ));
    }
    let at_name = |error: Error| error.position(offset_of(alias.name.span));
    if entry.recursive
        && let Some(query) = recursive_query(query, &name).map_err(at_name)?
        && let SetExpr::SetOperation { left, set_quantifier, right, .. } = &*query.body
    {
        let visible = binder.ctes.len();
        let mut ctes = with_queries(binder, query, parent)?;
        let (all, clauses) = (is_all(set_quantifier), &entry.clauses);
        let terms = Terms { first: left, recursive: right, all, clauses };
        let (cte, definition) = recursive_cte(binder, alias, (name, id), terms, parent)?;
        binder.ctes.truncate(visible);
        binder.ctes.push(definition);
        ctes.push(cte);
        return Ok(ctes);
    }
    if entry.clauses != RecursionClauses::default() {
        return Err(at_name(Error::new(SqlState::SyntaxError, "WITH query is not recursive")));
    }
    let bound = bind_query(binder, query, parent)?;
    let columns = cte_columns(alias, &name, &bound.columns)?;
    binder.ctes.push(CteDefinition {
        name: name.clone(),
        id,
        columns,
        working: false,
        is_silent: false,
    });
    Ok(vec![Cte::new(id, name, bound.node)])
}

fn recursive_cte(
    binder: &mut Binder<'_>,
    alias: &TableAlias,
    (name, id): (String, u32),
    terms: Terms<'_>,
    parent: Option<&Scopes<'_>>,
) -> Result<(Cte, CteDefinition)> {
    let first = bind_set_expr(binder, terms.first, parent)?;
    let mut columns = cte_columns(alias, &name, &first.columns)?;
    let mut types: Vec<SqlType> = columns.iter().map(|(_, ty)| ty.clone()).collect();
    let mut plan = cast_columns(binder, &first, &types)?;
    let working = CteDefinition {
        name: name.clone(),
        id,
        columns: columns.clone(),
        working: true,
        is_silent: false,
    };
    binder.ctes.push(working);
    let term = bind_set_expr(binder, terms.recursive, parent)?;
    binder.ctes.pop();
    check_term(&name, &terms, &term, &types)?;
    let is_cast = term.columns.iter().zip(&types).any(|(column, ty)| column.ty != *ty);
    let mut term = cast_columns(binder, &term, &types)?;
    if *terms.clauses != RecursionClauses::default() {
        for (side, body) in [("left", terms.first), ("right", terms.recursive)] {
            if is_set_operation(body) {
                let message = format!(
                    "with a SEARCH or CYCLE clause, the {side} side of the UNION must be a SELECT"
                );
                return Err(Error::new(SqlState::FeatureNotSupported, message));
            }
        }
        // The select list, and the casts above it.
        let projections = 1 + u32::from(is_cast);
        let (first, columns) = (plan, &mut columns);
        let recursion = Recursion { id, name: &name, columns, first, term, projections };
        let text = binder.cx.text;
        (plan, term) = add_columns(binder, terms.clauses, recursion).map_err(|error| {
            let after = offset_of(alias.name.span) + 1;
            error.position(find_token(text, after, u32::MAX, &["search", "cycle"]))
        })?;
        types = columns.iter().map(|(_, ty)| ty.clone()).collect();
    }
    let definition =
        CteDefinition { name: name.clone(), id, columns, working: false, is_silent: false };
    let recursive = Some((term, !terms.all));
    Ok((Cte { recursive, types, ..Cte::new(id, name, plan) }, definition))
}

/// 42P19, 42601 or 42804 for a recursive term that does not fit the columns of the first one.
fn check_term(name: &str, terms: &Terms<'_>, term: &BoundQuery, types: &[SqlType]) -> Result<()> {
    let places = ColumnPlaces::of(terms.recursive);
    if has_aggregates(&term.node) {
        return Err(Error::new(
            SqlState::InvalidRecursion,
            "aggregate functions are not allowed in a recursive query's recursive term",
        )
        .position(places.only()));
    }
    if term.columns.len() != types.len() {
        return Err(Error::new(
            SqlState::SyntaxError,
            "each UNION query must have the same number of columns",
        )
        .position(places.at(0)));
    }
    let first_places = ColumnPlaces::of(terms.first);
    for (place, (column, ty)) in term.columns.iter().zip(types).enumerate() {
        let common = common_type(&[ty.clone(), column.ty.clone()], "UNION");
        let common = common.map_err(|error| error.position(places.at(place)))?;
        let at_first = |error: Error| error.position(first_places.at(place));
        if !terms.all {
            check_equality(ty).map_err(at_first)?;
        }
        if common.bare() != ty.bare() {
            return Err(at_first(
                Error::new(
                    SqlState::DatatypeMismatch,
                    format!(
                        "recursive query \"{name}\" column {} has type {} in non-recursive term \
                     but type {} overall",
                        place + 1,
                        ty.display_name(),
                        common.display_name()
                    ),
                )
                .hint("Cast the output of the non-recursive term to the correct type."),
            ));
        }
    }
    Ok(())
}

fn is_set_operation(body: &SetExpr) -> bool {
    match body {
        SetExpr::SetOperation { .. } => true,
        SetExpr::Query(query) => is_set_operation(&query.body),
        _ => false,
    }
}

/// A scan of a WITH entry, if the name is one.
pub(crate) fn cte_scan(
    binder: &mut Binder<'_>,
    (name, place): (&str, u32),
    alias: &str,
) -> Result<Option<(Node, Scope)>> {
    let Some(cte) = binder.ctes.iter().rev().find(|cte| cte.name == name).cloned() else {
        return Ok(None);
    };
    if cte.is_silent {
        return Err(Error::new(
            SqlState::FeatureNotSupported,
            format!("WITH query \"{name}\" does not have a RETURNING clause"),
        )
        .position(place));
    }
    let mut scope = Scope { tables: vec![ScopeTable::plain(alias)], ..Scope::default() };
    let mut columns = Vec::with_capacity(cte.columns.len());
    for (place, (name, ty)) in cte.columns.into_iter().enumerate() {
        let slot = binder.slot();
        columns.push((slot, place));
        scope.columns.push(plain_column(alias, &name, slot, ty));
    }
    let scan =
        CteScan { id: cte.id, name: alias.to_owned(), columns, working: cte.working, rows: 0.0 };
    Ok(Some((Node::CteScan(scan), scope)))
}

/// 42712 if an earlier entry of the same WITH has that name.
pub(crate) fn refuse_duplicate<'q>(
    name: &ast::Ident,
    mut earlier: impl Iterator<Item = &'q ast::Ident>,
) -> Result<()> {
    let place = offset_of(name.span);
    let name = braid_sql::fold(name);
    if earlier.any(|other| braid_sql::fold(other) == name) {
        return Err(Error::new(
            SqlState::DuplicateAlias,
            format!("WITH query name \"{name}\" specified more than once"),
        )
        .position(place));
    }
    Ok(())
}

/// The column names that an entry's alias gives.
pub(crate) fn cte_columns(
    alias: &TableAlias,
    name: &str,
    columns: &[OutputColumn],
) -> Result<Vec<(String, SqlType)>> {
    if alias.columns.len() > columns.len() {
        return Err(Error::new(
            SqlState::InvalidColumnReference,
            format!(
                "WITH query \"{name}\" has {} columns available but {} columns specified",
                columns.len(),
                alias.columns.len()
            ),
        )
        .position(offset_of(alias.name.span)));
    }
    let names = alias.columns.iter().map(|c| braid_sql::fold(&c.name));
    let rest = columns.iter().skip(alias.columns.len()).map(|c| c.name.clone());
    let known = |ty: &SqlType| match ty {
        SqlType::Unknown => SqlType::Text,
        ty => ty.clone(),
    };
    Ok(names.chain(rest).zip(columns.iter().map(|c| known(&c.ty))).collect())
}

/// Whether a query has aggregates at its own level.
fn has_aggregates(node: &Node) -> bool {
    match node {
        Node::Aggregate(node) => !node.aggregates.is_empty(),
        Node::Project(node) => has_aggregates(&node.input),
        Node::Filter(node) => has_aggregates(&node.input),
        Node::Window(node) => has_aggregates(&node.input),
        Node::Distinct(node) => has_aggregates(&node.input),
        Node::Sort(node) => has_aggregates(&node.input),
        _ => false,
    }
}

/// The columns of a recursive query, and its terms so far.
struct Recursion<'r> {
    id: u32,
    name: &'r str,
    columns: &'r mut Vec<(String, SqlType)>,
    first: Node,
    term: Node,
    /// How many projections the recursive term has above its FROM.
    projections: u32,
}

/// Adds the columns of the clauses to both terms.
fn add_columns(
    binder: &mut Binder<'_>,
    clauses: &RecursionClauses,
    mut recursion: Recursion<'_>,
) -> Result<(Node, Node)> {
    let width = recursion.columns.len();
    let own = outputs(&recursion.first, recursion.columns);
    let mut added = Vec::new();
    if let Some(search) = &clauses.search {
        added.push(search_column(search, recursion.columns, &own)?);
    }
    if let Some(cycle) = &clauses.cycle {
        check_names(cycle, clauses.search.as_ref())?;
        added.extend(cycle_columns(binder, cycle, recursion.columns, &own)?);
    }
    let first: Vec<Expr> = added.iter().map(|column| column.first.clone()).collect();
    let types: Vec<SqlType> = first.iter().map(Expr::ty).collect();
    let old: Vec<Expr> = types.iter().map(|ty| Expr::Column(binder.slot(), ty.clone())).collect();
    let places: Vec<(Expr, usize)> = old.iter().cloned().zip(width..).collect();
    let given = Given { id: recursion.id, columns: &places };
    if !given.expose(&mut recursion.term, recursion.projections) {
        let message = format!(
            "with a SEARCH or CYCLE clause, the recursive reference to WITH query \"{}\" must be \
             at the top level of its right-hand SELECT",
            recursion.name
        );
        return Err(Error::new(SqlState::FeatureNotSupported, message));
    }
    let rows = outputs(&recursion.term, recursion.columns);
    let mut term = recursion.term;
    let mut next = Vec::with_capacity(added.len());
    for (column, old_value) in added.iter().zip(&old) {
        if let Next::Mark(_, values) = &column.next {
            let other = compare_exprs(binder, CompareOp::Ne, old_value.clone(), values.0.clone())?;
            term = Node::Filter(Filter::of(term, vec![other]));
        }
        next.push(next_value(binder, &column.next, &rows, (old_value, old.last()))?);
    }
    let first = extended(binder, recursion.first, own, first);
    let term = extended(binder, term, rows, next);
    let names = added.into_iter().map(|column| column.name);
    recursion.columns.extend(names.zip(types));
    Ok((first, term))
}

/// A term with further columns behind its own.
fn extended(binder: &mut Binder<'_>, input: Node, own: Vec<Expr>, added: Vec<Expr>) -> Node {
    let exprs: Vec<(Slot, Expr)> =
        own.into_iter().chain(added).map(|e| (binder.slot(), e)).collect();
    Node::Project(Box::new(Project { input, exprs }))
}

fn search_column(
    search: &SearchClause,
    columns: &[(String, SqlType)],
    own: &[Expr],
) -> Result<Added> {
    let by = places("search", &search.by, columns)?;
    refuse_known("search sequence column", &search.set, columns)?;
    let (first, next) = match search.depth_first {
        true => (path_of(own, &by)?, Next::Append(by)),
        false => (numbered(int8(0), own, &by)?, Next::Deeper(by)),
    };
    Ok(Added { name: search.set.clone(), first, next })
}

fn cycle_columns(
    binder: &mut Binder<'_>,
    cycle: &CycleClause,
    columns: &[(String, SqlType)],
    own: &[Expr],
) -> Result<[Added; 2]> {
    let by = places("cycle", &cycle.by, columns)?;
    refuse_known("cycle mark column", &cycle.set, columns)?;
    refuse_known("cycle path column", &cycle.using, columns)?;
    let (to, default) = match &cycle.values {
        None => (Expr::bool(true), Expr::bool(false)),
        Some((to, default)) => {
            let values = vec![bind_literal(binder, to)?, bind_literal(binder, default)?];
            let (values, _) = unify(binder, values, "CYCLE")?;
            let [to, default] = &values[..] else { return Err(Error::broken("two values")) };
            (to.clone(), default.clone())
        }
    };
    let next = Next::Mark(by.clone(), Box::new((to, default.clone())));
    let path = path_of(own, &by)?;
    Ok([
        Added { name: cycle.set.clone(), first: default, next },
        Added { name: cycle.using.clone(), first: path, next: Next::Append(by) },
    ])
}

fn int8(number: i64) -> Expr {
    Expr::Const(Datum::Int(number), SqlType::Int8)
}

/// The columns at these places as a record.
fn row_of(columns: &[Expr], by: &[usize]) -> Result<Expr> {
    bind_row(by.iter().filter_map(|place| columns.get(*place).cloned()).collect())
}

/// The record behind a number.
fn numbered(number: Expr, columns: &[Expr], by: &[usize]) -> Result<Expr> {
    let by = by.iter().filter_map(|place| columns.get(*place).cloned());
    bind_row(std::iter::once(number).chain(by).collect())
}

/// An array of one record.
fn path_of(columns: &[Expr], by: &[usize]) -> Result<Expr> {
    let row = row_of(columns, by)?;
    let ty = row.ty();
    Ok(Expr::Array(vec![row], ty))
}

/// The value of a column in a row of the recursive term. `old` are its value in the row before and
/// that of the last column that is added.
fn next_value(
    binder: &mut Binder<'_>,
    next: &Next,
    rows: &[Expr],
    (old, last): (&Expr, Option<&Expr>),
) -> Result<Expr> {
    match next {
        Next::Append(by) => {
            let row = row_of(rows, by)?;
            call_function(binder, "array_append", vec![old.clone(), row])
        }
        Next::Deeper(by) => {
            let depth = Expr::Field(Box::new(old.clone()), 0, SqlType::Int8);
            numbered(call_operator(binder, "+", depth, int8(1))?, rows, by)
        }
        Next::Mark(by, values) => {
            let left = row_of(rows, by)?;
            let array = last.cloned().ok_or_else(|| Error::broken("a mark without a path"))?;
            let ty = left.ty();
            let sides = (Expr::Input(0, ty.clone()), Expr::Input(1, ty));
            let compare = call_operator(binder, "=", sides.0, sides.1)?;
            let quantified = QuantifiedExpr { all: false, left, array, compare };
            let (to, default) = (values.0.clone(), values.1.clone());
            let whens = vec![(Expr::Quantified(Box::new(quantified)), to)];
            let ty = default.ty();
            Ok(Expr::Case(Box::new(CaseExpr { whens, otherwise: default, ty })))
        }
    }
}

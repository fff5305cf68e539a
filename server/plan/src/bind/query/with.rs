//! WITH: its entries, recursive ones, and the scans of what they have computed.

use braid_sql::ast::{self, Query, SetExpr, SetQuantifier, TableAlias};
use braid_sql::offset_of;
use braid_types::{Error, Result, SqlState, SqlType};

use super::ordered::{bind_query, bind_set_expr, cast_columns, plain_column};
use super::recursion::recursive_query;
use super::with_order::with_order;
use crate::bind::Binder;
use crate::bind::binder::CTES_MAX;
use crate::bind::expr::common_type::common_type;
use crate::bind::scope::columns::{CteDefinition, Scope, ScopeTable, Scopes};
use crate::context::OutputColumn;
use crate::tree::node::{Cte, CteScan, Node};

/// The two terms of a recursive query.
struct Terms<'q> {
    first: &'q SetExpr,
    recursive: &'q SetExpr,
    /// UNION ALL
    all: bool,
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
    for place in with_order(&named, with.recursive)? {
        let cte = &entries[place];
        let bound = bind_cte(binder, &cte.alias, &cte.query, with.recursive, parent)?;
        ctes.extend(materialized(bound, cte.materialized.as_ref()));
    }
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
    query: &Query,
    recursive: bool,
    parent: Option<&Scopes<'_>>,
) -> Result<Vec<Cte>> {
    let name = braid_sql::fold(&alias.name);
    let id = binder.id();
    if binder.ctes.len() >= CTES_MAX {
        return Err(Error::new(
            SqlState::StatementTooComplex,
            format!("a statement can have at most {} WITH queries", CTES_MAX),
        ));
    }
    let at_name = |error: Error| error.position(offset_of(alias.name.span));
    if recursive
        && let Some(query) = recursive_query(query, &name).map_err(at_name)?
        && let SetExpr::SetOperation { left, set_quantifier, right, .. } = &*query.body
    {
        let visible = binder.ctes.len();
        let mut ctes = with_queries(binder, query, parent)?;
        let terms = Terms { first: left, recursive: right, all: is_all(set_quantifier) };
        let (cte, definition) = recursive_cte(binder, alias, (name, id), terms, parent)?;
        binder.ctes.truncate(visible);
        binder.ctes.push(definition);
        ctes.push(cte);
        return Ok(ctes);
    }
    let bound = bind_query(binder, query, parent)?;
    let columns = cte_columns(alias, &name, &bound.columns)?;
    binder.ctes.push(CteDefinition { name: name.clone(), id, columns, working: false });
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
    let columns = cte_columns(alias, &name, &first.columns)?;
    let types: Vec<SqlType> = columns.iter().map(|(_, ty)| ty.clone()).collect();
    let plan = cast_columns(binder, &first, &types)?;
    let working = CteDefinition { name: name.clone(), id, columns: columns.clone(), working: true };
    binder.ctes.push(working);
    let term = bind_set_expr(binder, terms.recursive, parent)?;
    binder.ctes.pop();
    if has_aggregates(&term.node) {
        return Err(Error::new(
            SqlState::InvalidRecursion,
            "aggregate functions are not allowed in a recursive query's recursive term",
        ));
    }
    if term.columns.len() != columns.len() {
        return Err(Error::new(
            SqlState::SyntaxError,
            "each UNION query must have the same number of columns",
        ));
    }
    for (place, (column, ty)) in term.columns.iter().zip(&types).enumerate() {
        let common = common_type(&[ty.clone(), column.ty.clone()], "UNION")?;
        if common.bare() != ty.bare() {
            return Err(Error::new(
                SqlState::DatatypeMismatch,
                format!(
                    "recursive query \"{name}\" column {} has type {} in non-recursive term \
                     but type {} overall",
                    place + 1,
                    ty.display_name(),
                    common.display_name()
                ),
            )
            .hint("Cast the output of the non-recursive term to the correct type."));
        }
    }
    let term = cast_columns(binder, &term, &types)?;
    let definition = CteDefinition { name: name.clone(), id, columns, working: false };
    let recursive = Some((term, !terms.all));
    Ok((Cte { recursive, types, ..Cte::new(id, name, plan) }, definition))
}

/// A scan of a WITH entry, if the name is one.
pub(crate) fn cte_scan(
    binder: &mut Binder<'_>,
    name: &str,
    alias: &str,
) -> Result<Option<(Node, Scope)>> {
    let Some(cte) = binder.ctes.iter().rev().find(|cte| cte.name == name).cloned() else {
        return Ok(None);
    };
    if cte.columns.is_empty() {
        return Err(Error::new(
            SqlState::FeatureNotSupported,
            format!("WITH query \"{name}\" does not have a RETURNING clause"),
        ));
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
    let name = braid_sql::fold(name);
    if earlier.any(|other| braid_sql::fold(other) == name) {
        return Err(Error::new(
            SqlState::DuplicateAlias,
            format!("WITH query name \"{name}\" specified more than once"),
        ));
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
        ));
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

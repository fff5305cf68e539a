//! Statements: queries and DML, and WITH lists that change data.

use braid_sql::RecursionClauses;
use braid_sql::ast::{CteBody, Expr as Ast, Query, Statement, With as AstWith};
use braid_types::{Error, Result, SqlState};

use super::Binder;
use super::bound_statement::BoundStatement;
use super::change::delete::bind_delete;
use super::change::insert::bind_insert;
use super::change::merge::bind_merge;
use super::change::update::bind_update;
use super::expr::scalar::bind_expr;
use super::from::range_table::in_range;
use super::query::ordered::bind_query;
use super::query::with::{Entry, bind_cte, cte_columns, materialized, refuse_duplicate};
use super::scope::columns::{CteDefinition, Scope, Scopes};
use super::scope::context::ExprCx;
use crate::collate::assign_expr_collations;
use crate::context::StatementKind;
use crate::tree::expr::Expr;
use crate::tree::node::{Cte, Node, With};

/// Binds a statement that reads or changes rows; 0A000 for any other.
pub(crate) fn bind_statement(
    binder: &mut Binder<'_>,
    statement: &Statement,
) -> Result<BoundStatement> {
    let mut bound = match statement {
        Statement::Query(query) => query_statement(binder, query)?,
        Statement::QueryWithChanges { with, query } => {
            let ctes = bind_with_list(binder, with)?;
            let mut bound = query_statement(binder, query)?;
            wrap(&mut bound, ctes);
            bound
        }
        Statement::Insert(insert) => {
            let ctes = optional_with(binder, insert.with.as_ref())?;
            let mut bound = in_range(binder, |this| bind_insert(this, insert))?;
            wrap(&mut bound, ctes);
            bound
        }
        Statement::Update(update) => {
            let ctes = optional_with(binder, update.with.as_ref())?;
            let mut bound = in_range(binder, |this| bind_update(this, update))?;
            wrap(&mut bound, ctes);
            bound
        }
        Statement::Delete(delete) => {
            let ctes = optional_with(binder, delete.with.as_ref())?;
            let mut bound = in_range(binder, |this| bind_delete(this, delete))?;
            wrap(&mut bound, ctes);
            bound
        }
        Statement::Merge(merge) => {
            let ctes = optional_with(binder, merge.with.as_ref())?;
            let mut bound = in_range(binder, |this| bind_merge(this, merge))?;
            wrap(&mut bound, ctes);
            bound
        }
        _ => return Err(Error::unsupported("planning this statement")),
    };
    bound.is_write |= binder.has_sequence_calls;
    Ok(bound)
}

fn query_statement(binder: &mut Binder<'_>, query: &Query) -> Result<BoundStatement> {
    let bound = bind_query(binder, query, None)?;
    Ok(BoundStatement {
        kind: StatementKind::Select,
        root: bound.node,
        columns: bound.columns,
        is_write: false,
        returning_nothing: false,
    })
}

fn optional_with(binder: &mut Binder<'_>, with: Option<&AstWith>) -> Result<Vec<Cte>> {
    with.map_or(Ok(Vec::new()), |with| bind_with_list(binder, with))
}

fn bind_with_list(binder: &mut Binder<'_>, with: &AstWith) -> Result<Vec<Cte>> {
    let mut ctes = Vec::with_capacity(with.ctes.len());
    for (place, cte) in with.ctes.iter().enumerate() {
        let earlier = with.ctes.iter().take(place).map(|cte| &cte.alias.name);
        refuse_duplicate(&cte.alias.name, earlier)?;
        ctes.extend(match &cte.body {
            CteBody::Query(query) => {
                let clauses = RecursionClauses::of(cte.from.as_ref())?;
                let entry = Entry { query, recursive: with.recursive, clauses };
                let bound = bind_cte(binder, &cte.alias, &entry, None)?;
                materialized(bound, cte.materialized.as_ref())
            }
            CteBody::Statement(statement) => {
                if let Statement::Merge(_) = **statement {
                    return Err(Error::new(
                        SqlState::FeatureNotSupported,
                        "MERGE not supported in WITH query",
                    ));
                }
                let bound = bind_statement(binder, statement)?;
                if bound.returning_nothing {
                    return Err(Error::unsupported("RETURNING NOTHING inside WITH"));
                }
                let name = braid_sql::fold(&cte.alias.name);
                let id = binder.id();
                let columns = cte_columns(&cte.alias, &name, &bound.columns)?;
                binder.ctes.push(CteDefinition {
                    name: name.clone(),
                    id,
                    is_silent: columns.is_empty(),
                    columns,
                    working: false,
                });
                vec![Cte { changes_data: true, ..Cte::new(id, name, bound.root) }]
            }
        });
    }
    Ok(ctes)
}

fn wrap(bound: &mut BoundStatement, ctes: Vec<Cte>) {
    if ctes.is_empty() {
        return;
    }
    bound.is_write |= ctes.iter().any(|cte| cte.changes_data);
    let body = std::mem::replace(&mut bound.root, Node::one_row());
    bound.root = Node::With(Box::new(With { ctes, body }));
}

/// Binds the call of a procedure.
pub(crate) fn bind_call(binder: &mut Binder<'_>, call: &Ast) -> Result<Expr> {
    binder.is_call = true;
    bind_without_columns(binder, call, "CALL arguments")
}

/// An expression that calls a function.
pub(crate) fn bind_function_call(binder: &mut Binder<'_>, call: &Ast) -> Result<Expr> {
    bind_without_columns(binder, call, "SELECT")
}

fn bind_without_columns(binder: &mut Binder<'_>, ast: &Ast, clause: &'static str) -> Result<Expr> {
    let scope = Scope::default();
    let scopes = Scopes { scope: &scope, parent: None };
    let mut e = bind_expr(binder, ast, &mut ExprCx::plain(scopes, clause))?;
    assign_expr_collations(binder, &mut e)?;
    Ok(e)
}

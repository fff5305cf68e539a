//! Statements: queries and DML, and WITH lists that change data.

use braid_sql::ast::{CteBody, Query, Statement, With as AstWith};
use braid_types::{Error, Result};

use super::Binder;
use super::scope::CteDefinition;
use super::with::{cte_columns, refuse_duplicate};
use crate::node::{Cte, Node, With};
use crate::planned::{OutputColumn, StatementKind};

/// A bound statement.
pub struct BoundStatement {
    /// What it is.
    pub kind: StatementKind,
    /// Its plan.
    pub root: Node,
    /// The columns of its result.
    pub columns: Vec<OutputColumn>,
    /// Whether it changes data.
    pub is_write: bool,
    /// `RETURNING NOTHING`
    pub returning_nothing: bool,
}

impl Binder<'_> {
    /// Binds a statement that reads or changes rows; 0A000 for any other.
    pub fn bind_statement(&mut self, statement: &Statement) -> Result<BoundStatement> {
        let mut bound = match statement {
            Statement::Query(query) => self.query_statement(query)?,
            Statement::QueryWithChanges { with, query } => {
                let ctes = self.with_list(with)?;
                let mut bound = self.query_statement(query)?;
                wrap(&mut bound, ctes);
                bound
            }
            Statement::Insert(insert) => {
                let ctes = self.optional_with(insert.with.as_ref())?;
                let mut bound = self.in_range(|this| this.bind_insert(insert))?;
                wrap(&mut bound, ctes);
                bound
            }
            Statement::Update(update) => {
                let ctes = self.optional_with(update.with.as_ref())?;
                let mut bound = self.in_range(|this| this.bind_update(update))?;
                wrap(&mut bound, ctes);
                bound
            }
            Statement::Delete(delete) => {
                let ctes = self.optional_with(delete.with.as_ref())?;
                let mut bound = self.in_range(|this| this.bind_delete(delete))?;
                wrap(&mut bound, ctes);
                bound
            }
            _ => return Err(Error::unsupported("planning this statement")),
        };
        bound.is_write |= self.has_sequence_calls;
        Ok(bound)
    }

    fn query_statement(&mut self, query: &Query) -> Result<BoundStatement> {
        let bound = self.bind_query(query, None)?;
        Ok(BoundStatement {
            kind: StatementKind::Select,
            root: bound.node,
            columns: bound.columns,
            is_write: false,
            returning_nothing: false,
        })
    }

    fn optional_with(&mut self, with: Option<&AstWith>) -> Result<Vec<Cte>> {
        with.map_or(Ok(Vec::new()), |with| self.with_list(with))
    }

    fn with_list(&mut self, with: &AstWith) -> Result<Vec<Cte>> {
        let mut ctes = Vec::with_capacity(with.ctes.len());
        for (place, cte) in with.ctes.iter().enumerate() {
            let earlier = with.ctes.iter().take(place).map(|cte| &cte.alias.name);
            refuse_duplicate(&cte.alias.name, earlier)?;
            ctes.extend(match &cte.body {
                CteBody::Query(query) => self.bind_cte(&cte.alias, query, with.recursive, None)?,
                CteBody::Statement(statement) => {
                    let bound = self.bind_statement(statement)?;
                    if bound.returning_nothing {
                        return Err(Error::unsupported("RETURNING NOTHING inside WITH"));
                    }
                    let name = braid_sql::fold(&cte.alias.name);
                    let id = self.id();
                    let columns = cte_columns(&cte.alias, &name, &bound.columns)?;
                    self.ctes.push(CteDefinition {
                        name: name.clone(),
                        id,
                        columns,
                        working: false,
                    });
                    vec![Cte { id, name, plan: bound.root, recursive: None, changes_data: true }]
                }
            });
        }
        Ok(ctes)
    }
}

fn wrap(bound: &mut BoundStatement, ctes: Vec<Cte>) {
    if ctes.is_empty() {
        return;
    }
    bound.is_write |= ctes.iter().any(|cte| cte.changes_data);
    let body = std::mem::replace(&mut bound.root, Node::one_row());
    bound.root = Node::With(Box::new(With { ctes, body }));
}

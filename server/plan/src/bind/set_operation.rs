//! UNION, INTERSECT and EXCEPT.
//!
//! Set operations lean to the left: chains are walked, not recursed into. A long run of the same
//! operation becomes a balanced tree, which is run and dropped with little stack.

use braid_sql::ast::{SetExpr, SetOperator, SetQuantifier};
use braid_types::cast::CastContext;
use braid_types::{Error, Result, SqlState, SqlType};

use super::Binder;
use super::operators::check_equality;
use super::query::BoundQuery;
use super::scope::Scopes;
use crate::expr::{Expr, Slot};
use crate::node::{Node, SetOp, SetOpKind};
use crate::planned::OutputColumn;

/// Runs of more branches than these become balanced trees.
const BALANCE_FROM: usize = 8;

impl Binder<'_> {
    pub(super) fn set_operation(
        &mut self,
        body: &SetExpr,
        parent: Option<&Scopes<'_>>,
    ) -> Result<BoundQuery> {
        let mut chain = Vec::new();
        let mut next = body;
        while let SetExpr::SetOperation { left, op, set_quantifier, right } = next {
            chain.push((set_operator(*op, *set_quantifier)?, right));
            next = left;
        }
        let mut run = vec![self.branch(next, parent)?];
        let mut operator = None;
        for (next, right) in chain.into_iter().rev() {
            let right = self.branch(right, parent)?;
            // EXCEPT is the only one for which it matters what is computed first.
            if let Some((kind, all)) = operator
                && (operator != Some(next) || kind == SetOpKind::Except)
            {
                run = vec![self.combine(run, kind, all)?];
            }
            operator = Some(next);
            run.push(right);
        }
        match operator {
            Some((kind, all)) => self.combine(run, kind, all),
            None => Err(Error::internal("a set operation without operator")),
        }
    }

    /// A branch of a set operation: its literals take their types from the other branches.
    fn branch(&mut self, body: &SetExpr, parent: Option<&Scopes<'_>>) -> Result<BoundQuery> {
        self.keep_unknown = matches!(body, SetExpr::Select(_));
        let bound = self.set_expr(body, parent);
        self.keep_unknown = false;
        bound
    }

    /// Gives literals of no type in a branch's select list the type of the whole.
    pub(super) fn type_literals(
        &mut self,
        query: &mut BoundQuery,
        types: &[SqlType],
    ) -> Result<()> {
        let mut node = &mut query.node;
        if let Node::Limit(limit) = node {
            node = &mut limit.input;
        }
        if let Node::Distinct(distinct) = node {
            node = &mut distinct.input;
        }
        let Node::Project(project) = node else { return Ok(()) };
        for (place, ty) in types.iter().enumerate() {
            if query.columns[place].ty != SqlType::Unknown {
                continue;
            }
            let e = std::mem::replace(&mut project.exprs[place].1, Expr::bool(true));
            project.exprs[place].1 = self.coerce(e, ty, CastContext::Implicit)?;
            query.columns[place].ty = ty.clone();
        }
        Ok(())
    }

    /// Branches joined by one operator, from left to right.
    fn combine(
        &mut self,
        mut branches: Vec<BoundQuery>,
        kind: SetOpKind,
        all: bool,
    ) -> Result<BoundQuery> {
        let name = match kind {
            SetOpKind::Union => "UNION",
            SetOpKind::Intersect => "INTERSECT",
            SetOpKind::Except => "EXCEPT",
        };
        let mut types: Vec<SqlType> = Vec::new();
        for (place, branch) in branches.iter().enumerate() {
            let columns = branch.columns.iter().map(|column| column.ty.clone());
            if place == 0 {
                types = columns.collect();
                continue;
            }
            if branch.columns.len() != types.len() {
                return Err(Error::new(
                    SqlState::SyntaxError,
                    format!("each {name} query must have the same number of columns"),
                ));
            }
            for (ty, other) in types.iter_mut().zip(columns) {
                *ty = self.common_type(&[ty.clone(), other], name)?;
                if !(all && kind == SetOpKind::Union) {
                    check_equality(ty)?;
                }
            }
        }
        let mut nodes = Vec::with_capacity(branches.len());
        for branch in &mut branches {
            self.type_literals(branch, &types)?;
            nodes.push(self.cast_columns(branch, &types)?);
        }
        let first = branches.into_iter().next().map(|branch| branch.columns).unwrap_or_default();
        let width = types.len();
        let columns = first
            .into_iter()
            .zip(types)
            .map(|(c, ty)| OutputColumn { name: c.name, ty, table_oid: 0, column_number: 0 })
            .collect();
        Ok(BoundQuery { node: self.set_node(nodes, kind, all, width), columns })
    }

    fn set_node(&mut self, nodes: Vec<Node>, kind: SetOpKind, all: bool, width: usize) -> Node {
        let balanced = nodes.len() > BALANCE_FROM;
        let mut join = |left: Node, right: Node| {
            let slots: Vec<Slot> = (0..width).map(|_| self.slot()).collect();
            Node::SetOp(Box::new(SetOp { kind, all, left, right, slots }))
        };
        let mut level = nodes;
        while balanced && level.len() > 1 {
            let mut next = Vec::with_capacity(level.len().div_ceil(2));
            let mut rest = level.into_iter();
            while let Some(left) = rest.next() {
                next.push(match rest.next() {
                    Some(right) => join(left, right),
                    None => left,
                });
            }
            level = next;
        }
        level.into_iter().reduce(join).unwrap_or_else(Node::one_row)
    }
}

fn set_operator(op: SetOperator, quantifier: SetQuantifier) -> Result<(SetOpKind, bool)> {
    let kind = match op {
        SetOperator::Union => SetOpKind::Union,
        SetOperator::Intersect => SetOpKind::Intersect,
        SetOperator::Except | SetOperator::Minus => SetOpKind::Except,
    };
    match quantifier {
        SetQuantifier::All => Ok((kind, true)),
        SetQuantifier::None | SetQuantifier::Distinct => Ok((kind, false)),
        other => Err(Error::unsupported(format!("{op} {other}"))),
    }
}

//! JOIN … USING and NATURAL JOIN: which columns are merged, and into what.

use braid_sql::ast::JoinConstraint;
use braid_sql::{ItemColumn, UsingColumn};
use braid_types::{Error, Result, SqlState};

use super::items::join_node;
use super::presence::passed_columns;
use crate::bind::Binder;
use crate::bind::expr::operators::{compare_exprs, unify};
use crate::bind::from::privileges::check_guarded;
use crate::bind::query::ordered::plain_column;
use crate::bind::scope::columns::{Scope, ScopeColumn, ScopeTable};
use crate::tree::expr::{CompareOp, Expr};
use crate::tree::node::{JoinKind, Node, Project};

/// USING and NATURAL: the named columns are merged and come first.
pub(crate) fn join_using(
    binder: &mut Binder<'_>,
    (left, mut left_scope): (Node, Scope),
    (right, mut right_scope): (Node, Scope),
    kind: JoinKind,
    using: Vec<MergedColumn>,
    alias: Option<&str>,
) -> Result<(Node, Scope)> {
    let mut on = Vec::with_capacity(using.len());
    let mut merged = Vec::with_capacity(using.len());
    for column in using {
        let left_expr = Expr::Column(column.left.slot, column.left.ty.clone());
        let right_expr = Expr::Column(column.right.slot, column.right.ty.clone());
        on.push(compare_exprs(binder, CompareOp::Eq, left_expr.clone(), right_expr.clone())?);
        merged.push((column, left_expr, right_expr));
    }
    let mut node = join_node(kind, left, right, on);
    let mut first = Vec::with_capacity(merged.len());
    let mut computed = Vec::new();
    for (column, left_expr, right_expr) in merged {
        let MergedColumn { name, left: a, right: b, merged: item } = column;
        let source = match kind {
            JoinKind::Right => b.clone(),
            JoinKind::Full => {
                // Either side may be missing.
                let (both, ty) = unify(binder, vec![left_expr, right_expr], "JOIN/USING")?;
                let slot = binder.slot();
                computed.push((slot, Expr::Coalesce(both)));
                ScopeColumn { item, ..plain_column("", &name, slot, ty) }
            }
            JoinKind::Inner => side_of_both(binder, (&a, left_expr), (&b, right_expr)),
            _ => a.clone(),
        };
        first.push(ScopeColumn { table: String::new(), schema: None, ..source });
        for scope in [&mut left_scope, &mut right_scope] {
            for column in &mut scope.columns {
                let is_named = binder.is_stored || column.name == name;
                if is_named && (column.slot == a.slot || column.slot == b.slot) {
                    column.merged = true;
                }
            }
        }
    }
    if !computed.is_empty() {
        let mut exprs = passed_columns(&left_scope);
        for (slot, e) in passed_columns(&right_scope) {
            if !exprs.iter().any(|(known, _)| *known == slot) {
                exprs.push((slot, e));
            }
        }
        exprs.extend(computed);
        node = Node::Project(Box::new(Project { input: node, exprs }));
    }
    let merged_count = first.len();
    // Columns of an earlier USING stay in front, in their order.
    first.extend(left_scope.columns.extract_if(.., |c| c.table.is_empty() && !c.merged));
    let named = alias.map(|alias| named_columns(alias, &first[..merged_count]));
    let mut scope = Scope { columns: first, tables: Vec::new(), ..Scope::default() };
    scope.merge(left_scope)?;
    scope.merge(right_scope)?;
    if let Some(named) = named {
        scope.merge(named)?;
    }
    scope.join_sources();
    Ok((node, scope))
}

/// Which column of two equal ones is the merged one: that with the type of both.
fn side_of_both(
    binder: &mut Binder<'_>,
    (left, left_expr): (&ScopeColumn, Expr),
    (right, right_expr): (&ScopeColumn, Expr),
) -> ScopeColumn {
    if left.ty == right.ty {
        return left.clone();
    }
    let common = unify(binder, vec![left_expr, right_expr], "JOIN/USING");
    let is_right = common.is_ok_and(|(_, ty)| ty != left.ty && ty == right.ty);
    if is_right { right.clone() } else { left.clone() }
}

/// `USING (…) AS alias`: the merged columns under a name, which `*` does not show again.
fn named_columns(alias: &str, merged: &[ScopeColumn]) -> Scope {
    let named = merged.iter().map(|column| ScopeColumn {
        table: alias.to_owned(),
        schema: None,
        merged: true,
        is_row: false,
        ..column.clone()
    });
    let tables = vec![ScopeTable { is_join: true, ..ScopeTable::plain(alias) }];
    Scope { columns: named.collect(), tables, ..Scope::default() }
}

/// The columns that USING or NATURAL merges.
pub(crate) fn bind_using(
    binder: &Binder<'_>,
    constraint: &JoinConstraint,
    left: &Scope,
    right: &Scope,
) -> Result<Vec<MergedColumn>> {
    let names: Vec<String> = match constraint {
        JoinConstraint::Using(names) if binder.is_stored => {
            let columns = braid_sql::using_columns(names).into_iter();
            return columns.map(|column| MergedColumn::stored(column, left, right)).collect();
        }
        JoinConstraint::Using(names) => braid_sql::split_using(names)
            .0
            .iter()
            .filter_map(|name| name.0.last().and_then(|part| part.as_ident()))
            .map(braid_sql::fold)
            .collect(),
        _ => natural_columns(left, right),
    };
    let mut merged: Vec<MergedColumn> = Vec::with_capacity(names.len());
    for name in names {
        if merged.iter().any(|column| column.name == name) {
            return Err(Error::new(
                SqlState::DuplicateColumn,
                format!("column name \"{name}\" appears more than once in USING clause"),
            ));
        }
        let column = MergedColumn {
            left: using_column(left, &name, "left")?,
            right: using_column(right, &name, "right")?,
            merged: (0, 0),
            name,
        };
        check_guarded(binder, column.left.slot)?;
        check_guarded(binder, column.right.slot)?;
        merged.push(column);
    }
    Ok(merged)
}

/// A column that USING or NATURAL merges.
pub(crate) struct MergedColumn {
    pub name: String,
    pub left: ScopeColumn,
    pub right: ScopeColumn,
    /// The number of the merged column, where items have numbers and it is neither side's.
    pub merged: ItemColumn,
}

impl MergedColumn {
    /// The column as a stored query has it.
    fn stored(column: UsingColumn, left: &Scope, right: &Scope) -> Result<Self> {
        let find = |scope: &Scope, item| {
            let found = scope.find_item(item).cloned();
            found.ok_or_else(|| Error::internal("a view joins by a column that is not there"))
        };
        Ok(Self {
            left: find(left, column.left)?,
            right: find(right, column.right)?,
            merged: column.merged,
            name: column.name,
        })
    }
}

fn natural_columns(left: &Scope, right: &Scope) -> Vec<String> {
    let visible = |c: &&ScopeColumn| !c.hidden && !c.merged;
    left.columns
        .iter()
        .filter(visible)
        .filter(|c| right.columns.iter().filter(visible).any(|other| other.name == c.name))
        .map(|c| c.name.clone())
        .collect()
}

fn using_column(scope: &Scope, name: &str, side: &str) -> Result<ScopeColumn> {
    match scope.find(name) {
        Ok(Some(column)) => Ok(column.clone()),
        Ok(None) => Err(Error::new(
            SqlState::UndefinedColumn,
            format!("column \"{name}\" specified in USING clause does not exist in {side} table"),
        )),
        Err(_) => Err(Error::new(
            SqlState::AmbiguousColumn,
            format!("common column name \"{name}\" appears more than once in {side} table"),
        )),
    }
}

//! The rows and columns of a view that a statement changes: those that it shows.

use std::borrow::Cow;
use std::fmt;

use braid_sql::ast::{Assignment, AssignmentTarget, Ident, TargetColumn};
use braid_types::{Error, Result, SqlState};

use super::assignment::{assigned_twice, bind_assignments};
use super::target::{locked, settle, target_scan};
use super::view::{ChangeTarget, computed_column};
use crate::bind::Binder;
use crate::bind::from::items::expand_view;
use crate::bind::from::range_table::enter_range;
use crate::bind::from::security::behind_barrier;
use crate::bind::from::stored_table::plain_scan;
use crate::bind::scope::columns::Scope;
use crate::bind::stored::target_row;
use crate::tree::expr::Expr;
use crate::tree::node::{Filter, Node, Project};

/// The cause of the error of an INSERT that has more values than columns.
#[derive(Debug)]
struct TooManyValues;

impl fmt::Display for TooManyValues {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an INSERT has more values than columns")
    }
}

impl std::error::Error for TooManyValues {}

/// 42601: an INSERT has more values than columns. The first one too many is at `extra`.
pub(super) fn too_many_values(extra: u32) -> Error {
    Error::new(SqlState::SyntaxError, "INSERT has more expressions than target columns")
        .position(extra)
        .caused_by(TooManyValues)
}

/// A scan of the rows to be changed: of a view only those that it shows. The scope has the table's
/// order.
pub(crate) fn shown_scan(
    binder: &mut Binder<'_>,
    target: &ChangeTarget,
    alias: Option<&str>,
) -> Result<(Node, Scope)> {
    if target.instead {
        return instead_scan(binder, target, alias);
    }
    if !target.reorders() && !target.only {
        return target_scan(binder, &target.table, alias);
    }
    let mut scan = plain_scan(binder, &target.table, alias.unwrap_or(&target.shown.name))?;
    scan.partition.clone_from(&target.partition);
    let node = Node::Scan(Box::new(scan));
    let slots = node.slots();
    let mut scope = target_row(binder, &target.shown, alias, &slots)?;
    match target.through {
        Some(_) => scope.sources.iter_mut().for_each(|source| source.relation = target.table.id),
        None if target.only => {}
        None => {
            scope.sources.clear();
            target.number_columns(&slots, &mut scope);
        }
    }
    target.add_computed(binder, alias, &slots, &mut scope)?;
    enter_range(binder, &scope);
    let predicates = target.conditions(binder, &slots)?;
    let node = locked(node);
    if target.layers.iter().any(|layer| layer.view.options.is_barrier()) {
        return Ok((behind_barrier(node, predicates), scope));
    }
    if predicates.is_empty() {
        return Ok((node, scope));
    }
    Ok((Node::Filter(Filter::of(node, predicates)), scope))
}

/// The rows of a view whose INSTEAD OF triggers do the work: its columns in order.
fn instead_scan(
    binder: &mut Binder<'_>,
    target: &ChangeTarget,
    alias: Option<&str>,
) -> Result<(Node, Scope)> {
    let Some(view) = binder.context().catalog.views().get(target.table.id).cloned() else {
        return Err(Error::broken(format!("view \"{}\" is missing", target.table.name)));
    };
    let shown = alias.unwrap_or(&view.name);
    let (input, mut scope) = expand_view(binder, &view, shown)?;
    let mut exprs = Vec::with_capacity(scope.columns.len());
    for column in &mut scope.columns {
        let slot = binder.slot();
        exprs.push((slot, Expr::Column(column.slot, column.ty.clone())));
        column.slot = slot;
    }
    let schema = binder.context().catalog.schema_name(view.schema);
    let scope = scope.of_relation(&schema, &view.name, alias.is_some());
    enter_range(binder, &scope);
    Ok((Node::Project(Box::new(Project { input, exprs })), scope))
}

/// 0A000 for a name among those that get values that is a computed column of the view.
pub(super) fn refuse_computed<'n>(
    target: &ChangeTarget,
    mut names: impl Iterator<Item = &'n Ident>,
    action: &str,
) -> Result<()> {
    let Some(layer) = target.layers.first() else { return Ok(()) };
    let view = &layer.view;
    let is_computed = |name: &str| {
        let mut columns = view.columns.iter().zip(&target.columns);
        columns.any(|((known, _), place)| known == name && place.is_none())
            && target.repeated.iter().all(|(known, _)| known != name)
    };
    let Some(name) = names.find(|name| is_computed(&braid_sql::fold(name))) else {
        return Ok(());
    };
    Err(computed_column(view, &braid_sql::fold(name), action))
}

/// Gives columns that get values the names of the first columns that show the same: those are the
/// ones that the table's row has. 42601 for two names of one column.
pub(super) fn name_first<'n>(
    target: &ChangeTarget,
    names: impl Iterator<Item = &'n mut Ident>,
) -> Result<()> {
    let mut renamed: Vec<usize> = Vec::new();
    let mut others: Vec<usize> = Vec::new();
    for ident in names {
        let name = braid_sql::fold(ident);
        match target.repeated.iter().find(|(known, _)| *known == name) {
            Some((_, place)) => {
                let first = &target.shown.columns[*place].name;
                *ident = Ident { span: ident.span, ..Ident::with_quote('"', first) };
                renamed.push(*place);
            }
            None => others.extend(target.shown.column_by_name(&name)),
        }
    }
    let twice = renamed
        .iter()
        .enumerate()
        .find(|(at, place)| others.contains(place) || renamed[..*at].contains(place));
    match twice {
        Some((_, place)) => Err(assigned_twice(&target.table.columns[*place])),
        None => Ok(()),
    }
}

/// What is wrong with an INSERT without a list of columns that has more values than there are
/// columns before the first computed one.
pub(super) fn past_computed(target: &ChangeTarget, named: &[TargetColumn], error: Error) -> Error {
    let computed = target.columns.iter().position(Option::is_none);
    let is_wide = named.is_empty() && error.cause::<TooManyValues>().is_some();
    match (target.layers.first(), computed) {
        (Some(layer), Some(place)) if is_wide => {
            let (name, _) = &layer.view.columns[place];
            if let Some((_, place)) = target.repeated.iter().find(|(known, _)| known == name) {
                return assigned_twice(&target.table.columns[*place]);
            }
            computed_column(&layer.view, name, "insert into")
        }
        _ => error,
    }
}

/// What SET assigns to the target.
pub(super) fn bind_set(
    binder: &mut Binder<'_>,
    assignments: &[Assignment],
    target: &ChangeTarget,
    scope: &Scope,
) -> Result<Vec<(usize, Expr)>> {
    refuse_computed(target, assigned_names(assignments), "update")?;
    let mut assignments = Cow::Borrowed(assignments);
    if !target.repeated.is_empty() {
        name_first(target, assignments.to_mut().iter_mut().flat_map(assigned_names_mut))?;
    }
    let mut bound = bind_assignments(binder, &assignments, &target.assigned(), scope)?;
    bound.iter_mut().for_each(|(_, e)| settle(binder, e));
    Ok(bound)
}

/// The names of the columns that SET assigns to.
fn assigned_names(assignments: &[Assignment]) -> impl Iterator<Item = &Ident> {
    assignments.iter().flat_map(|assignment| {
        match &assignment.target {
            AssignmentTarget::Column(target) => std::slice::from_ref(target),
            AssignmentTarget::Columns(targets) => targets,
        }
        .iter()
        .map(|target| &target.name)
    })
}

fn assigned_names_mut(assignment: &mut Assignment) -> impl Iterator<Item = &mut Ident> {
    match &mut assignment.target {
        AssignmentTarget::Column(target) => std::slice::from_mut(target),
        AssignmentTarget::Columns(targets) => targets,
    }
    .iter_mut()
    .map(|target| &mut target.name)
}

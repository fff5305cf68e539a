//! UPDATE.

use std::sync::Arc;

use braid_catalog::{Object, Table, is_temporary};
use braid_codec::key::is_exact;
use braid_sql::ast::{
    AccessExpr, Assignment, AssignmentTarget, AssignmentValue, Expr as Ast, Ident, LockStrength,
    Returning, TargetColumn, Update as AstUpdate,
};
use braid_sql::offset_of;
use braid_types::{Error, Result, SqlState};

use super::cascade::{Change, bind_cascades};
use super::insert::{bind_assignments, bind_returning, target_table};
use super::privileges::guarding;
use crate::bind::Binder;
use crate::bind::expr::scalar::bind_expr;
use crate::bind::expr::subquery::bind_row_subquery;
use crate::bind::expr::subscript::{Part, assign_to_part, at_target, part_of};
use crate::bind::from::items::{bind_from, check_select, cross_join, table_scan};
use crate::bind::from::range_table::enter_range;
use crate::bind::from::system_columns::is_system_column;
use crate::bind::query::lock::{lock_rows, slots_of};
use crate::bind::scope::columns::{Scope, Scopes};
use crate::bind::scope::context::ExprCx;
use crate::bind::scope::places::{bind_condition, start_of};
use crate::bind::statement::BoundStatement;
use crate::bind::stored::{
    assign_to, bind_checks, bind_generated, default_of, index_exprs, refuse_generated, target_row,
};
use crate::planned::StatementKind;
use crate::rules::walk;
use crate::tree::expr::{Expr, Slot};
use crate::tree::node::{
    Filter, IndexPart, LockRows, LockWait, Node, Project, Recheck, RowLock, Update,
};

pub(crate) fn bind_update(binder: &mut Binder<'_>, update: &AstUpdate) -> Result<BoundStatement> {
    let table = target_table(binder, &update.table, "update")?;
    check_select(binder, Object::Table(&table), "UPDATE")?;
    let alias = update.alias.as_ref().map(braid_sql::fold);
    let (node, mut scope) = target_scan(binder, &table, alias.as_deref())?;
    let slots = node.slots();
    let (input, from_scope) =
        guarding(binder, &table, &slots, |this| target_input(this, node, &scope, &update.from))?;
    scope.merge(from_scope.clone())?;
    let input = guarding(binder, &table, &slots, |this| {
        filtered(this, input, update.selection.as_ref(), &scope)
    })?;
    let mut input = lock_rows(input)?;
    let assignments = guarding(binder, &table, &slots, |this| {
        bind_assignments(this, &update.assignments, &table, &scope)
    })?;
    let row_slots: Vec<Slot> = table.columns.iter().map(|_| binder.slot()).collect();
    // RETURNING sees the new row, and FROM's columns as they were.
    let mut after = target_row(binder, &table, alias.as_deref(), &row_slots)?;
    after.merge(from_scope)?;
    let (columns, returning) = guarding(binder, &table, &row_slots, |this| {
        bind_returning(this, &update.returning, &after)
    })?;
    let change = Change::update(&table, assignments.iter().map(|(place, _)| *place));
    let mut plan = Update {
        generated: bind_generated(binder, &table, &row_slots)?,
        checks: bind_checks(binder, &table, &row_slots)?,
        index_exprs: index_exprs(binder, &table, &row_slots)?,
        cascades: bind_cascades(binder, &table, change)?,
        table,
        input: Node::one_row(),
        assignments,
        row_slots,
        returning,
    };
    if let Node::LockRows(lock) = &mut input {
        lock_families(&plan, lock)?;
    }
    let is_write = !is_temporary(plan.table.id);
    plan.input = target_first(input, &update.from, &scope);
    let root = Node::Update(Box::new(plan));
    Ok(BoundStatement {
        kind: StatementKind::Update,
        root,
        columns,
        is_write,
        returning_nothing: matches!(update.returning, Returning::Nothing),
    })
}

/// A scan of the table to be changed, whose rows are locked while they are read.
pub(crate) fn target_scan(
    binder: &mut Binder<'_>,
    table: &Arc<Table>,
    alias: Option<&str>,
) -> Result<(Node, Scope)> {
    let (mut node, scope) = table_scan(binder, table, alias.unwrap_or(&table.name))?;
    let schema = binder.context().catalog.schema_name(table.schema);
    let scope = scope.of_relation(&schema, &table.name, alias.is_some());
    enter_range(binder, &scope);
    if let Node::Scan(scan) = &mut node {
        scan.lock = Some(RowLock { strength: LockStrength::Update, wait: LockWait::Block });
        scan.implicit_lock = true;
    }
    Ok((node, scope))
}

/// Lets an UPDATE lock and read only the families of the columns that it reads or writes, so
/// that writers of different families of one row do not meet. One that moves the row, or
/// touches a foreign key, takes all of it.
fn lock_families(update: &Update, lock: &mut LockRows) -> Result<()> {
    let table = &update.table;
    let [target] = &mut lock.targets[..] else { return Ok(()) };
    let checked = !table.foreign_keys.is_empty() || !table.referenced_by.is_empty();
    if table.families.len() < 2 || checked {
        return Ok(());
    }
    let mut read = slots_of(
        lock.recheck
            .iter()
            .flat_map(Recheck::exprs)
            .chain(update.assignments.iter().chain(&update.generated).map(|(_, e)| e))
            .chain(update.checks.iter().map(|(_, e)| e))
            .chain(update.index_exprs.iter().map(|(_, e)| e))
            .chain(update.returning.iter().map(|(_, e)| e)),
    );
    walk::slots_read(&mut lock.input, &mut read);
    let mut written: Vec<usize> = update.assignments.iter().map(|(place, _)| *place).collect();
    written.extend(update.generated.iter().map(|(place, _)| *place));
    let place_of = |id| table.place_of(id);
    let key: Vec<usize> =
        table.primary.keys.iter().map(|part| place_of(part.column)).collect::<Result<_>>()?;
    if written.iter().any(|place| key.contains(place)) {
        return Ok(());
    }
    let mut places = written.clone();
    places.extend(target.columns.iter().filter(|c| read.contains(&c.0)).map(|c| c.1));
    let of_row = update.row_slots.iter().enumerate();
    places.extend(of_row.filter(|(_, slot)| read.contains(slot)).map(|(place, _)| place));
    for index in &table.indexes {
        let parts = index.keys.iter().map(|part| part.column);
        let columns: Vec<usize> =
            parts.chain(index.storing.iter().copied()).map(place_of).collect::<Result<_>>()?;
        let computed = update.index_exprs.iter().any(|(part, _)| match part {
            IndexPart::Predicate(number) => *number == index.number,
            IndexPart::Key(place) => columns.contains(place),
        });
        if computed || columns.iter().any(|place| written.contains(place)) {
            places.extend(columns);
        }
    }
    let mut families: Vec<usize> = places
        .iter()
        .filter(|place| !(key.contains(place) && is_exact(&table.columns[**place].ty)))
        .map(|place| {
            let column = &table.columns[*place];
            let family = if key.contains(place) { 0 } else { column.family };
            let place = table.families.iter().position(|known| known.id == family);
            place.ok_or_else(|| {
                Error::broken(format!("table \"{}\" has no family {family}", table.name))
            })
        })
        .collect::<Result<_>>()?;
    // Key columns whose bytes do not tell everything are stored in family 0.
    if !key.iter().all(|place| is_exact(&table.columns[*place].ty)) {
        families.push(0);
    }
    families.sort_unstable();
    families.dedup();
    target.families = Some(families);
    Ok(())
}

/// The target's scan joined with FROM or USING.
pub(crate) fn target_input(
    binder: &mut Binder<'_>,
    node: Node,
    scope: &Scope,
    from: &[braid_sql::ast::TableWithJoins],
) -> Result<(Node, Scope)> {
    if from.is_empty() {
        return Ok((node, Scope::default()));
    }
    let visible = Scopes { scope, parent: None };
    let (right, right_scope) = bind_from(binder, from, Some(&visible))?;
    Ok((cross_join(node, right), right_scope))
}

pub(crate) fn filtered(
    binder: &mut Binder<'_>,
    input: Node,
    selection: Option<&Ast>,
    scope: &Scope,
) -> Result<Node> {
    let Some(ast) = selection else { return Ok(input) };
    let scopes = Scopes { scope, parent: None };
    let e = bind_condition(binder, ast, &mut ExprCx::plain(scopes, "WHERE"), "WHERE")?;
    Ok(Node::Filter(Box::new(Filter { input, predicates: vec![e] })))
}

/// One assignment: one value, or several of a row.
pub(crate) fn bind_assignment(
    binder: &mut Binder<'_>,
    assignment: &Assignment,
    table: &Arc<Table>,
    scope: &Scope,
) -> Result<Vec<Assigned>> {
    let scopes = Scopes { scope, parent: None };
    match (&assignment.target, &assignment.value) {
        (AssignmentTarget::Column(target), AssignmentValue::Expr(ast)) => {
            Ok(vec![assigned(binder, table, target, ast, scopes)?])
        }
        (AssignmentTarget::Columns(targets), AssignmentValue::Row(items)) => {
            if targets.len() != items.len() {
                return Err(Error::new(
                    SqlState::SyntaxError,
                    "number of columns does not match number of values",
                ));
            }
            let pairs = targets.iter().zip(items);
            pairs.map(|(target, ast)| assigned(binder, table, target, ast, scopes)).collect()
        }
        (AssignmentTarget::Columns(targets), AssignmentValue::Expr(Ast::Subquery(query))) => {
            let mut cx = ExprCx::plain(scopes, "UPDATE");
            let record = bind_row_subquery(binder, query, targets.len(), &mut cx)?;
            let braid_types::SqlType::Record(fields) = record.ty() else {
                return Err(Error::internal("a row subquery that is no record"));
            };
            let mut result = Vec::with_capacity(targets.len());
            for (i, (target, (_, ty))) in targets.iter().zip(fields).enumerate() {
                let place = target_column(table, &target.name)?;
                let column = &table.columns[place];
                refuse_generated(column, true)?;
                let field = Expr::Field(Box::new(record.clone()), i, ty);
                result.push(assigned_value(binder, table, place, target, field, scopes)?);
            }
            Ok(result)
        }
        (AssignmentTarget::Columns(targets), AssignmentValue::Expr(ast)) if targets.len() == 1 => {
            Ok(vec![assigned(binder, table, &targets[0], ast, scopes)?])
        }
        _ => Err(Error::new(
            SqlState::FeatureNotSupported,
            "source for a multiple-column UPDATE item must be a sub-SELECT or ROW() expression",
        )),
    }
}

fn assigned(
    binder: &mut Binder<'_>,
    table: &Arc<Table>,
    target: &TargetColumn,
    ast: &Ast,
    scopes: Scopes<'_>,
) -> Result<Assigned> {
    let place = target_column(table, &target.name)?;
    let column = &table.columns[place];
    if braid_sql::is_default(ast) {
        refuse_default_part(target)?;
        return Ok(Assigned { place, value: default_of(binder, column)?, part: None });
    }
    refuse_generated(column, true)?;
    let value = bind_expr(binder, ast, &mut ExprCx::plain(scopes, "UPDATE"))?;
    assigned_value(binder, table, place, target, value, scopes)
        .map_err(|error| at_start(error, ast))
}

fn assigned_value(
    binder: &mut Binder<'_>,
    table: &Arc<Table>,
    place: usize,
    target: &TargetColumn,
    value: Expr,
    scopes: Scopes<'_>,
) -> Result<Assigned> {
    let column = &table.columns[place];
    if target.part.is_empty() {
        return Ok(Assigned { place, value: assign_to(binder, value, column)?, part: None });
    }
    let part = part_of(binder, column, target, &mut ExprCx::plain(scopes, "UPDATE"))?;
    let value = assign_to_part(binder, value, column, &part);
    let value = value.map_err(|error| at_target(error, target))?;
    Ok(Assigned { place, value, part: Some(part) })
}

/// What a column gets, or a part of it.
pub(crate) struct Assigned {
    /// The place of the column.
    pub place: usize,
    /// The value, cast.
    pub value: Expr,
    /// The part; `None` for the whole column.
    pub part: Option<Part>,
}

/// 0A000 for DEFAULT as a part of a column.
pub(crate) fn refuse_default_part(target: &TargetColumn) -> Result<()> {
    let message = match target.part.first() {
        None => return Ok(()),
        Some(AccessExpr::Dot(_)) => "cannot set a subfield to DEFAULT",
        Some(AccessExpr::Subscript(_)) => "cannot set an array element to DEFAULT",
    };
    Err(Error::new(SqlState::FeatureNotSupported, message).position(offset_of(target.name.span)))
}

/// The target's columns first, in their order, whatever order the joins are carried out in: the
/// operator that changes rows takes them by place.
pub(crate) fn target_first(
    input: Node,
    from: &[braid_sql::ast::TableWithJoins],
    scope: &Scope,
) -> Node {
    if from.is_empty() {
        return input;
    }
    let column =
        |c: &crate::bind::scope::columns::ScopeColumn| (c.slot, Expr::Column(c.slot, c.ty.clone()));
    let mut exprs: Vec<(Slot, Expr)> = Vec::with_capacity(scope.columns.len());
    for column in scope.columns.iter().map(column) {
        if exprs.iter().all(|(slot, _)| *slot != column.0) {
            exprs.push(column);
        }
    }
    Node::Project(Box::new(Project { input, exprs }))
}

/// Points at the beginning of an assigned value that is of a wrong type.
pub(crate) fn at_start(error: Error, ast: &Ast) -> Error {
    match error.state() {
        SqlState::DatatypeMismatch => error.position(start_of(ast)),
        _ => error,
    }
}

fn target_column(table: &Table, ident: &Ident) -> Result<usize> {
    let name = braid_sql::fold(ident);
    table.column_by_name(&name).ok_or_else(|| {
        if is_system_column(&name) {
            let message = format!("cannot assign to system column \"{name}\"");
            return Error::new(SqlState::FeatureNotSupported, message)
                .position(offset_of(ident.span));
        }
        Error::new(
            SqlState::UndefinedColumn,
            format!("column \"{name}\" of relation \"{}\" does not exist", table.name),
        )
        .position(offset_of(ident.span))
    })
}

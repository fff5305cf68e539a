//! Which actions of ALTER TABLE on a partitioned table go on to its partitions.

use std::sync::Arc;

use braid_catalog::names::qualified;
use braid_catalog::partitions::is_copy_of;
use braid_catalog::{Id, Table};
use braid_sql::ast::{
    AlterAction, AlterColumnAction, ColumnConstraint, ColumnConstraintKind, DataType, Ident, Span,
    TableConstraintKind,
};
use braid_sql::{fold, quote_literal};
use braid_types::{Result, SqlState, SqlType};

use crate::context::DdlContext;
use crate::table::columns::serial_type;
use crate::table::exprs::check_expr;

/// The partitions of a table to which an action goes on as it is written. A constraint that is
/// dropped goes from the partitions too, also with ONLY.
pub(crate) fn heirs(cx: &DdlContext<'_>, table: Id, action: &AlterAction, only: bool) -> Vec<Id> {
    let goes_on = match action {
        AlterAction::AddColumn { .. }
        | AlterAction::DropColumn { .. }
        | AlterAction::ValidateConstraint(_)
        | AlterAction::AlterConstraint { .. } => true,
        // An identity belongs to the parent alone.
        AlterAction::AlterColumn { action, .. } => !matches!(
            action,
            AlterColumnAction::AddIdentity { .. }
                | AlterColumnAction::SetIdentity { .. }
                | AlterColumnAction::DropIdentity { .. }
        ),
        AlterAction::AddConstraint(constraint) => matches!(
            constraint.kind,
            TableConstraintKind::Check(_) | TableConstraintKind::ForeignKey(_)
        ),
        // Constraints with indexes have names of their own in partitions.
        AlterAction::DropConstraint { name, .. } => {
            let name = fold(name);
            let catalog = cx.catalog();
            catalog.table(table).is_some_and(|table| {
                table.checks.iter().any(|check| check.name == name)
                    || table.foreign_keys.iter().any(|key| key.name == name)
            })
        }
        _ => false,
    };
    let stops_here = only && !matches!(action, AlterAction::DropConstraint { .. });
    let catalog = cx.catalog();
    match catalog.table(table).and_then(|table| table.partitioning.as_ref()) {
        Some(keys) if goes_on && !stops_here => keys.partitions.clone(),
        _ => Vec::new(),
    }
}

/// A constraint that was added without a name has the same name on partitions.
pub(crate) fn named_constraint(action: &AlterAction, table: &Table) -> AlterAction {
    let mut action = action.clone();
    if let AlterAction::AddConstraint(constraint) = &mut action
        && constraint.name.is_none()
    {
        let name = match &constraint.kind {
            TableConstraintKind::Check(_) => table.checks.last().map(|check| &check.name),
            TableConstraintKind::ForeignKey(_) => table.foreign_keys.last().map(|key| &key.name),
            _ => None,
        };
        constraint.name = name.map(|name| Ident::with_quote('"', name));
    }
    action
}

/// A serial column as it is for partitions: they take its values from the sequence of the table.
pub(crate) fn serial_for_heirs(
    cx: &DdlContext<'_>,
    action: AlterAction,
    table: &Table,
) -> Result<AlterAction> {
    let AlterAction::AddColumn { if_not_exists, column: written } = &action else {
        return Ok(action);
    };
    let Some(ty) = serial_type(&written.data_type) else { return Ok(action) };
    let name = fold(&written.name);
    let catalog = cx.catalog();
    let added = table.visible_columns().find(|column| column.name == name);
    let sequence = added.and_then(|column| catalog.sequences().get(column.owned_sequence?));
    let Some(sequence) = sequence else { return Ok(action) };
    let sequence = qualified(&catalog.schema_name(sequence.schema), &sequence.name);
    let default = format!("nextval({}::regclass)", quote_literal(&sequence));
    let mut column = written.clone();
    column.data_type = match ty {
        SqlType::Int2 => DataType::Int2(None),
        SqlType::Int8 => DataType::Int8(None),
        _ => DataType::Int4(None),
    };
    let kinds = [
        ColumnConstraintKind::Default(braid_sql::parse_expr(&default)?),
        ColumnConstraintKind::NotNull,
    ];
    let span = Span::empty();
    let added = kinds.into_iter().map(|kind| ColumnConstraint { name: None, kind, span });
    column.constraints.extend(added);
    Ok(AlterAction::AddColumn { if_not_exists: *if_not_exists, column })
}

/// Whether a partition has a check already that its table gets under the same name. 42710 if it
/// says something else.
pub(crate) fn merges_check(
    cx: &mut DdlContext<'_>,
    heir: &Arc<Table>,
    action: &AlterAction,
) -> Result<bool> {
    let AlterAction::AddConstraint(constraint) = action else { return Ok(false) };
    let (TableConstraintKind::Check(clause), Some(name)) = (&constraint.kind, &constraint.name)
    else {
        return Ok(false);
    };
    let name = fold(name);
    let Some(own) = heir.checks.iter().find(|check| check.name == name) else {
        return Ok(false);
    };
    let (expr, _) = check_expr(cx, heir, &clause.expr)?;
    if expr.sql() != own.expr.sql() {
        return Ok(false);
    }
    let message = format!("merging constraint \"{name}\" with inherited definition");
    cx.notice(SqlState::SuccessfulCompletion, message);
    Ok(true)
}

/// An action on a foreign key of a table as it is for a partition whose key has a name of its own.
pub(crate) fn for_heir(action: &AlterAction, table: &Table, heir: &Table) -> AlterAction {
    let mut action = action.clone();
    let (AlterAction::DropConstraint { name, .. }
    | AlterAction::ValidateConstraint(name)
    | AlterAction::AlterConstraint { name, .. }) = &mut action
    else {
        return action;
    };
    let wanted = fold(name);
    let is_known = heir.foreign_keys.iter().any(|key| key.name == wanted);
    let key = table.foreign_keys.iter().find(|key| key.name == wanted);
    if let Some(key) = key.filter(|_| !is_known)
        && let Some(own) = heir.foreign_keys.iter().find(|own| is_copy_of(heir, own, table, key))
    {
        *name = Ident::with_quote('"', &own.name);
    }
    action
}

/// The constraints of partitions that go with an index constraint of the table: each partition and
/// the name of its constraint.
pub(crate) fn parts_of_dropped(
    cx: &DdlContext<'_>,
    table: &Table,
    action: &AlterAction,
) -> Vec<(Id, String)> {
    let AlterAction::DropConstraint { name, .. } = action else { return Vec::new() };
    let name = fold(name);
    let index = table.all_indexes().find(|index| index.name == name && index.constraint.is_some());
    let mut found = Vec::new();
    if let Some(index) = index {
        collect_parts(cx, table, index.id, &mut found);
    }
    found
}

/// The indexes of partitions that are parts of an index: each partition and the index's name.
pub(crate) fn collect_parts(
    cx: &DdlContext<'_>,
    table: &Table,
    index: Id,
    into: &mut Vec<(Id, String)>,
) {
    let catalog = cx.catalog();
    let partitions = table.partitioning.iter().flat_map(|keys| &keys.partitions);
    for child in partitions.filter_map(|id| catalog.table(*id)) {
        if let Some(own) = child.all_indexes().find(|own| own.part_of == Some(index)) {
            into.push((child.id, own.name.clone()));
            collect_parts(cx, child, own.id, into);
        }
    }
}

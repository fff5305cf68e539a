//! ALTER TABLE: its actions one after the other, all or none.

use std::sync::Arc;

use braid_catalog::{Column, ColumnId, Id, Relation, StoredDatum, Table, is_temporary};
use braid_sql::ast::{
    AlterAction, AlterTable, ColumnDef, DropBehavior, TableConstraint, TableConstraintKind,
};
use braid_sql::fold;
use braid_types::sql_type::row_name;
use braid_types::{Datum, Error, FormatSettings, Result, SqlState};

use crate::context::DdlContext;
use crate::names::lookup::{folded, parts};
use crate::partitions::attach::attach;
use crate::partitions::create::current;
use crate::partitions::detach::detach;
use crate::partitions::indexes::{shown_indexes, spread_index};
use crate::partitions::propagate::{
    for_heir, heirs, merges_check, named_constraint, parts_of_dropped, serial_for_heirs,
};
use crate::partitions::refuse::check_action;
use crate::rows::delete::delete_index_entries;
use crate::rows::domain_values::{checked, column_check, default_of};
use crate::rows::messages::contains_nulls;
use crate::rows::validate::{is_table_empty, validate_check, validate_foreign_key};
use crate::statement::object::rename::{change_owner, set_table_owner};
use crate::statement::object::view::{alter_default, store_views};
use crate::statement::policy::set_security;
use crate::statement::table::alter_column;
use crate::statement::table::drop_column::drop_column;
use crate::statement::table::grouped_views::settle_grouped_views;
use crate::statement::table::index_marks::{cluster_on, set_replica_identity};
use crate::statement::table::key_from_index::{become_key, usable_index, use_index};
use crate::statement::table::new_type_keys::check_keys_of_new_types;
use crate::statement::table::primary_key::{
    add_primary_key, add_unique, drop_primary_key, replace_primary_key,
};
use crate::statement::table::storage_options::{self, Owner};
use crate::statement::trigger::{set_state, set_state_of_copies};
use crate::statement::types::composites::refuse_composite;
use crate::statement::types::row_users::{refuse_keys, refuse_users};
use crate::table::columns::{Behind, add_column, finish_column};
use crate::table::constraint_names::multiple_primary_keys;
use crate::table::constraints::{add_check_constraint, set_family};
use crate::table::descriptor::{
    change_table, forget_reference, free_index, not_in_block, undefined_constraint,
};
use crate::table::exprs::constant_default;
use crate::table::foreign_keys::define_foreign_key;
use crate::table::interleave::{check_agreement, refuse_enforcing};
use crate::table::key_spec::{KeySpec, exclusion_spec};

pub(crate) async fn run(cx: &mut DdlContext<'_>, alter: &AlterTable) -> Result<()> {
    if alter.if_exists && cx.find(&alter.name)?.is_none() {
        let name = parts(&alter.name).join(".");
        cx.notice(
            SqlState::SuccessfulCompletion,
            format!("relation \"{name}\" does not exist, skipping"),
        );
        return Ok(());
    }
    refuse_composite(cx, &alter.name)?;
    let before = cx.find(&alter.name)?;
    for action in &alter.actions {
        if let AlterAction::Owner(role) = action
            && let Some(found) = cx.find(&alter.name)?
            && matches!(found.kind(), "view" | "materialized view" | "sequence")
        {
            change_owner(cx, &found, role)?;
            continue;
        }
        if let Some(Relation::View(view)) = cx.find(&alter.name)?
            && alter_default(cx, &view, action)?
        {
            continue;
        }
        let table = cx.own_table(&alter.name)?;
        cx.refuse_if_owed(&table, "ALTER TABLE")?;
        check_action(cx, &table, action, alter.only)?;
        apply_down(cx, table, action, alter.only).await?;
    }
    match before {
        Some(Relation::Table(before)) => check_keys_of_new_types(cx, &before, &alter.actions).await,
        _ => Ok(()),
    }
}

/// Carries out an action on a table and, where it concerns them, on its partitions.
async fn apply_down(
    cx: &mut DdlContext<'_>,
    table: Arc<Table>,
    action: &AlterAction,
    only: bool,
) -> Result<()> {
    if table.partitioning.is_none() {
        return apply(cx, table, action).await;
    }
    let heirs = heirs(cx, table.id, action, only);
    let id = table.id;
    let known: Vec<Id> = table.all_indexes().map(|index| index.id).collect();
    let parts = parts_of_dropped(cx, &table, action);
    let before = table.clone();
    apply(cx, table, action).await?;
    if let AlterAction::Trigger(choice, state) = action
        && !only
    {
        set_state_of_copies(cx, id, choice, *state)?;
    }
    let Some(changed) = cx.catalog().table(id).cloned() else { return Ok(()) };
    let action = serial_for_heirs(cx, named_constraint(action, &changed), &changed)?;
    for heir in heirs {
        let heir = current(cx, heir)?;
        if merges_check(cx, &heir, &action)? {
            continue;
        }
        let action = for_heir(&action, &before, &heir);
        Box::pin(apply_down(cx, heir, &action, false)).await?;
    }
    for (part, name) in parts {
        let table = current(cx, part)?;
        drop_constraint(cx, table, &name, true, behavior_of(&action)).await?;
    }
    let new = shown_indexes(&changed).find(|index| !known.contains(&index.id));
    if let Some(index) =
        new.filter(|_| !only && !matches!(action, AlterAction::DropConstraint { .. }))
    {
        spread_index(cx, id, index.number).await?;
    }
    Ok(())
}

/// Whether dropping a constraint takes along what depends on it.
fn behavior_of(action: &AlterAction) -> DropBehavior {
    match action {
        AlterAction::DropConstraint { behavior, .. } => *behavior,
        _ => DropBehavior::Restrict,
    }
}

async fn apply(cx: &mut DdlContext<'_>, table: Arc<Table>, action: &AlterAction) -> Result<()> {
    match action {
        AlterAction::AddColumn { if_not_exists, column } => {
            add(cx, table, column, *if_not_exists).await
        }
        AlterAction::DropColumn { name, if_exists, behavior } => {
            drop_column(cx, table, &fold(name), *if_exists, *behavior).await
        }
        AlterAction::AlterColumn { name, action } => {
            alter_column::run(cx, table, &fold(name), action).await
        }
        AlterAction::AddConstraint(constraint) => add_constraint(cx, table, constraint).await,
        AlterAction::DropConstraint { name, if_exists, behavior } => {
            drop_constraint(cx, table, &fold(name), *if_exists, *behavior).await
        }
        AlterAction::ValidateConstraint(name) => validate(cx, table, &fold(name)).await,
        AlterAction::AlterConstraint { name, deferrable, initially_deferred } => {
            alter_constraint(cx, table, &fold(name), (*deferrable, *initially_deferred))
        }
        AlterAction::Options(is_set, options) => {
            let is_partitioned = table.partitioning.is_some();
            let owner = if is_partitioned { Owner::Partitioned } else { Owner::Table };
            storage_options::check(owner, options, !*is_set)?;
            change_table(cx, table.id, |table| {
                table.options = storage_options::changed(&table.options, options, !*is_set);
            })
        }
        AlterAction::AlterPrimaryKey(columns) => {
            if table.all_indexes().any(|index| index.is_late_primary) {
                return Err(multiple_primary_keys(&table.name));
            }
            let spec = KeySpec::written(Some(table.primary.name.clone()), true, columns, &[]);
            replace_primary_key(cx, table, spec).await
        }
        AlterAction::SetLogged(logged) => set_logged(cx, &table, *logged),
        AlterAction::ReplicaIdentity(clause) => set_replica_identity(cx, &table, clause),
        AlterAction::ClusterOn(index) => cluster_on(cx, &table, index.as_ref()),
        AlterAction::Owner(role) => {
            let owner = cx.role(role)?;
            set_table_owner(cx, &table, owner)
        }
        AlterAction::Interleave(_) | AlterAction::Uninterleave if cx.implicit => {
            let message = "ALTER TABLE ... INTERLEAVE and UNINTERLEAVE beside other actions";
            Err(Error::unsupported(message))
        }
        AlterAction::Interleave(_) => Err(not_in_block("ALTER TABLE ... INTERLEAVE")),
        AlterAction::Uninterleave => Err(not_in_block("ALTER TABLE ... UNINTERLEAVE")),
        AlterAction::AttachPartition(name, bound) => attach(cx, table, name, bound).await,
        AlterAction::DetachPartition { name, concurrently, finalize } => {
            detach(cx, &table, name, (*concurrently, *finalize)).await
        }
        AlterAction::Trigger(choice, state) => set_state(cx, &table, choice, *state),
        AlterAction::RowSecurity(change) => set_security(cx, &table, *change),
        AlterAction::Unsupported(what) => {
            Err(Error::unsupported(format_args!("ALTER TABLE ... {what}")))
        }
    }
}

/// SET LOGGED and UNLOGGED. A permanent table cannot point at one that is not.
fn set_logged(cx: &mut DdlContext<'_>, table: &Arc<Table>, logged: bool) -> Result<()> {
    if is_temporary(table.id) {
        let name = &table.name;
        let message =
            format!("cannot change logged status of table \"{name}\" because it is temporary");
        return Err(Error::new(SqlState::InvalidTableDefinition, message));
    }
    let catalog = cx.catalog();
    let (own, kind, other) = match logged {
        true => ("logged", "unlogged", table.foreign_keys.iter().map(|key| key.parent).collect()),
        false => ("unlogged", "logged", table.referenced_by.clone()),
    };
    let unlike = |id: &&braid_catalog::Id| {
        **id != table.id && catalog.table(**id).is_some_and(|other| other.unlogged == logged)
    };
    let others: Vec<braid_catalog::Id> = other;
    if let Some(other) = others.iter().find(unlike).and_then(|id| catalog.table(*id)) {
        let message = format!(
            "could not change table \"{}\" to {own} because it references {kind} table \"{}\"",
            table.name, other.name
        );
        return Err(Error::new(SqlState::InvalidTableDefinition, message));
    }
    cx.draft()?.put(Table { unlogged: !logged, ..Table::clone(table) });
    Ok(())
}

async fn add(
    cx: &mut DdlContext<'_>,
    table: Arc<Table>,
    def: &ColumnDef,
    if_not_exists: bool,
) -> Result<()> {
    let name = fold(&def.name);
    if table.visible_columns().any(|column| column.name == name) {
        let relation = &table.name;
        let message = format!("column \"{name}\" of relation \"{relation}\" already exists");
        if !if_not_exists {
            return Err(Error::new(SqlState::DuplicateColumn, message));
        }
        cx.notice(SqlState::DuplicateColumn, format!("{message}, skipping"));
        return Ok(());
    }
    // To a view that is kept as it was written the new column would show.
    store_views(cx, |view| view.depends_on.contains(&table.id), true)?;
    let mut changed = Table::clone(&table);
    let (id, behind) = add_column(cx, &mut changed, def)?;
    refuse_keys(cx, table.id, "table")?;
    if let Some(family) = &behind.family {
        set_family(&mut changed, id, family)?;
    }
    finish_column(cx, &mut changed, id, &behind)?;
    let has_value = |column: &Column| column.default.is_some() || column.generated.is_some();
    if changed.column(id).is_some_and(has_value) {
        refuse_users(cx, table.id, "table")?;
    }
    fill_column(cx, &table, &mut changed, id).await?;
    cx.draft()?.put(changed);
    constraints_behind(cx, &table, &name, &behind).await
}

/// Gives older rows the new column: one value for all of them without touching them where that
/// is enough, else by rewriting them.
async fn fill_column(
    cx: &mut DdlContext<'_>,
    old: &Arc<Table>,
    changed: &mut Table,
    id: ColumnId,
) -> Result<()> {
    let Some(place) = changed.position_of(id) else {
        return Ok(());
    };
    let column = changed.columns[place].clone();
    let is_constant = column.generated.is_none() && column.owned_sequence.is_none();
    let constant = match default_of(cx, &column).as_ref() {
        // The text of a row would not fit a row type that has changed.
        Some(_) if row_name(&column.ty).is_some() => None,
        Some(expr) if is_constant => constant_default(cx, expr, &column.ty)?,
        None if is_constant => Some(Datum::Null),
        _ => None,
    };
    if let Some(value) = constant {
        if value.is_null() && !column.nullable && !is_table_empty(cx, old).await? {
            return Err(contains_nulls(changed, place));
        }
        let value = column.modified(value);
        let check = column_check(cx, &column)?;
        if check.is_some() {
            if is_table_empty(cx, old).await? {
                return Ok(());
            }
            checked(cx, check.as_ref(), value.clone())?;
        }
        if !value.is_null() {
            let settings = FormatSettings::default();
            let text = braid_types::text::to_string(&column.ty, &value, &settings);
            changed.columns[place].missing = Some(StoredDatum(Some(text)));
        }
        return Ok(());
    }
    alter_column::compute_column(cx, old, changed, place).await
}

/// Adds the constraints written behind a new column.
async fn constraints_behind(
    cx: &mut DdlContext<'_>,
    table: &Table,
    column: &str,
    behind: &Behind<'_>,
) -> Result<()> {
    let current = |cx: &DdlContext<'_>| {
        let found = cx.catalog().table(table.id).cloned();
        found.ok_or_else(|| Error::internal("a table has vanished"))
    };
    if let Some((name, rules)) = &behind.primary {
        let spec = KeySpec::constraint(name.clone(), true, vec![column.to_owned()]);
        add_primary_key(cx, current(cx)?, KeySpec { rules: *rules, ..spec }).await?;
    }
    for (name, rules) in &behind.unique {
        let spec = KeySpec::constraint(name.clone(), false, vec![column.to_owned()]);
        add_unique(cx, current(cx)?, KeySpec { rules: *rules, ..spec }).await?;
    }
    for (name, expr) in &behind.checks {
        add_check(cx, current(cx)?, name.clone(), expr, Some(column), true).await?;
    }
    for (name, key) in &behind.references {
        let columns = vec![column.to_owned()];
        add_foreign_key(cx, current(cx)?, name.clone(), key, columns, true).await?;
    }
    Ok(())
}

async fn add_check(
    cx: &mut DdlContext<'_>,
    table: Arc<Table>,
    name: Option<String>,
    clause: &braid_sql::ast::CheckClause,
    column: Option<&str>,
    validate: bool,
) -> Result<()> {
    let mut changed = Table::clone(&table);
    add_check_constraint(cx, &mut changed, name, clause, column)?;
    if let Some(check) = changed.checks.last_mut() {
        check.validated = validate;
    }
    let shape = Arc::new(changed.clone());
    if let Some(check) = changed.checks.last().filter(|_| validate) {
        validate_check(cx, &shape, check).await?;
    }
    cx.draft()?.put(changed);
    Ok(())
}

async fn add_foreign_key(
    cx: &mut DdlContext<'_>,
    table: Arc<Table>,
    name: Option<String>,
    key: &braid_sql::ast::ForeignKey,
    columns: Vec<String>,
    validate: bool,
) -> Result<()> {
    let mut changed = Table::clone(&table);
    define_foreign_key(cx, &mut changed, name, key, columns)?;
    check_agreement(&changed)?;
    if let Some(key) = changed.foreign_keys.last_mut() {
        key.validated = validate;
    }
    let shape = Arc::new(changed.clone());
    if let Some(key) = shape.foreign_keys.last().filter(|_| validate) {
        validate_foreign_key(cx, &shape, key).await?;
    }
    cx.draft()?.put(changed);
    Ok(())
}

async fn add_constraint(
    cx: &mut DdlContext<'_>,
    table: Arc<Table>,
    constraint: &TableConstraint,
) -> Result<()> {
    let name = constraint.name.as_ref().map(fold);
    let validate = !constraint.not_valid;
    match &constraint.kind {
        TableConstraintKind::PrimaryKey { columns, storing, rules } => {
            let spec = KeySpec::written(name, true, columns, storing);
            add_primary_key(cx, table, KeySpec { rules: *rules, ..spec }).await
        }
        TableConstraintKind::Unique { columns, storing, rules } => {
            let spec = KeySpec::written(name, false, columns, storing);
            let place = braid_sql::offset_of(constraint.span);
            add_unique(cx, table, KeySpec { rules: *rules, place, ..spec }).await
        }
        TableConstraintKind::Exclude(written) => {
            let spec = exclusion_spec(cx, &table, constraint.name.as_ref(), written)?;
            add_unique(cx, table, spec).await
        }
        TableConstraintKind::UsingIndex { index, primary, rules } => {
            let place = braid_sql::offset_of(constraint.span);
            let found = usable_index(cx, &table, &fold(index), name.as_deref());
            let index = found.map_err(|error| error.position(place))?;
            match *primary || rules.deferrable {
                true => become_key(cx, table, index, name, (*primary, *rules)).await,
                false => use_index(cx, &table, index.number, name),
            }
        }
        TableConstraintKind::Check(expr) => add_check(cx, table, name, expr, None, validate).await,
        TableConstraintKind::ForeignKey(key) => {
            let columns = folded(&key.columns);
            add_foreign_key(cx, table, name, key, columns, validate).await
        }
    }
}

async fn validate(cx: &mut DdlContext<'_>, table: Arc<Table>, name: &str) -> Result<()> {
    let mut changed = Table::clone(&table);
    if let Some(check) = changed.checks.iter_mut().find(|check| check.name == name) {
        if check.validated {
            return Ok(());
        }
        validate_check(cx, &table, check).await?;
        check.validated = true;
        cx.draft()?.put(changed);
        return Ok(());
    }
    let Some(key) = changed.foreign_keys.iter_mut().find(|key| key.name == name) else {
        if table.all_indexes().any(|index| index.constraint.is_some() && index.name == name) {
            let message = format!(
                "constraint \"{name}\" of relation \"{}\" is not a foreign key or check constraint",
                table.name
            );
            return Err(Error::new(SqlState::WrongObjectType, message));
        }
        return Err(undefined_constraint(&table, name));
    };
    if key.validated {
        return Ok(());
    }
    validate_foreign_key(cx, &table, key).await?;
    key.validated = true;
    cx.draft()?.put(changed);
    Ok(())
}

/// `ALTER CONSTRAINT`: whether and when the checks of a foreign key are deferred.
fn alter_constraint(
    cx: &mut DdlContext<'_>,
    table: Arc<Table>,
    name: &str,
    (deferrable, initially_deferred): (bool, bool),
) -> Result<()> {
    let mut changed = Table::clone(&table);
    let Some(key) = changed.foreign_keys.iter_mut().find(|key| key.name == name) else {
        let known = table.checks.iter().any(|check| check.name == name)
            || table.all_indexes().any(|i| i.constraint.is_some() && i.name == name);
        if !known {
            return Err(undefined_constraint(&table, name));
        }
        let message = format!(
            "constraint \"{name}\" of relation \"{}\" is not a foreign key constraint",
            table.name
        );
        return Err(Error::new(SqlState::WrongObjectType, message));
    };
    (key.deferrable, key.initially_deferred) = (deferrable, initially_deferred);
    cx.draft()?.put(changed);
    Ok(())
}

/// 2BP01 for the constraint that CREATE CONSTRAINT TRIGGER made: DROP TRIGGER removes both.
fn required_by_trigger(table: &Table, name: &str) -> Error {
    let trigger = format!("trigger {name} on table {}", table.name);
    let message = format!(
        "cannot drop constraint {name} on table {} because {trigger} requires it",
        table.name
    );
    Error::new(SqlState::DependentObjectsStillExist, message)
        .hint(format!("You can drop {trigger} instead."))
}

async fn drop_constraint(
    cx: &mut DdlContext<'_>,
    table: Arc<Table>,
    name: &str,
    if_exists: bool,
    behavior: DropBehavior,
) -> Result<()> {
    let mut changed = Table::clone(&table);
    if let Some(place) = changed.checks.iter().position(|check| check.name == name) {
        changed.checks.remove(place);
    } else if let Some(place) = changed.foreign_keys.iter().position(|key| key.name == name) {
        let key = changed.foreign_keys.remove(place);
        refuse_enforcing(&table, &key)?;
        forget_reference(cx, &mut changed, key.parent)?;
    } else if let Some(place) =
        changed.indexes.iter().position(|index| index.name == name && index.constraint.is_some())
    {
        let index = changed.indexes[place].clone();
        free_index(cx, &mut changed, &index, behavior)?;
        changed.indexes.remove(place);
        delete_index_entries(cx, &table, &index)?;
    } else if table.primary.name == name && !table.is_hidden_key(&table.primary) {
        let index = table.primary.clone();
        free_index(cx, &mut changed, &index, behavior)?;
        drop_primary_key(cx, &table, changed).await?;
        return settle_grouped_views(cx, &table, name, behavior);
    } else if table.triggers.iter().any(|t| t.constraint.is_some() && t.name == name) {
        return Err(required_by_trigger(&table, name));
    } else {
        let error = undefined_constraint(&table, name);
        if !if_exists {
            return Err(error);
        }
        cx.notice(SqlState::SuccessfulCompletion, format!("{}, skipping", error.message()));
        return Ok(());
    }
    cx.draft()?.put(changed);
    Ok(())
}

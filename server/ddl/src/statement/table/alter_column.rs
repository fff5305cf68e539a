//! ALTER TABLE … ALTER COLUMN.

use std::sync::Arc;

use braid_catalog::{Column, Identity, Index, IndexKey, Queries, Sequence, StoredExpr, Table};
use braid_plan::{
    NotAssignable, bind_assignment_cast, more_dimensions_of, stored_collation, time_modifier_of,
};
use braid_sql::ast::{AlterColumnAction, ColumnTuning, DataType, Expr, IdentityMode, ObjectName};
use braid_types::sql_type::storage;
use braid_types::{Datum, Error, Result, SqlState, SqlType};

use crate::context::DdlContext;
use crate::names::describe::describe;
use crate::names::lookup::unchangeable_column;
use crate::names::types::column_type;
use crate::names::user_types::column_domain;
use crate::rows::domain_values::{checked, column_check, default_of, domain_check};
use crate::rows::messages::contains_nulls;
use crate::rows::reader::{block_writers, table_reader};
use crate::rows::rewrite::rewrite_rows;
use crate::rows::validate::validate_not_null;
use crate::statement::object::sequence::apply_options;
use crate::statement::object::statistics;
use crate::statement::object::view::view_reads;
use crate::statement::policy::{describe_policy, policies_reading};
use crate::statement::trigger::triggers_reading;
use crate::statement::types::row_users::{
    check_no_member_of_itself, check_no_temporary_rows, refuse_keys, refuse_users,
};
use crate::table::columns::{
    add_owned_sequence, check_column_type, collation_of, mismatch, no_identity_type,
};
use crate::table::expr_text::expr_reads;
use crate::table::exprs::{bind_default_expr, bind_expr, evaluate, evaluator, restate_conditions};
use crate::table::foreign_keys::{keys_naming, loose_key};
use crate::table::interleave::refuse_new_type;
use crate::table::key_classes::{restate, restate_terms};

pub(crate) async fn run(
    cx: &mut DdlContext<'_>,
    table: Arc<Table>,
    name: &str,
    action: &AlterColumnAction,
) -> Result<()> {
    let place = table.columns.iter().position(|column| column.name == name && !column.hidden);
    let Some(place) = place else {
        return Err(unchangeable_column(&table.name, name, "alter"));
    };
    let mut changed = Table::clone(&table);
    match action {
        AlterColumnAction::SetDefault(expr) => set_default(cx, &mut changed, place, expr)?,
        AlterColumnAction::DropDefault => {
            refuse_special(&changed, place, true)?;
            changed.columns[place].default = None;
        }
        AlterColumnAction::SetNotNull => {
            validate_not_null(cx, &table, &[place]).await?;
            changed.columns[place].nullable = false;
        }
        AlterColumnAction::DropNotNull => drop_not_null(&mut changed, place)?,
        AlterColumnAction::SetType { data_type, collation, using } => {
            let new = NewType { data_type, collation: collation.as_ref(), using: using.as_ref() };
            set_type(cx, &table, &mut changed, place, &new).await?;
        }
        AlterColumnAction::AddIdentity { mode, options } => {
            check_identity_fits(&changed, place)?;
            let id = changed.columns[place].id;
            add_owned_sequence(cx, &mut changed, id, Some((identity(*mode), options)))?;
        }
        AlterColumnAction::SetIdentity { mode, options } => {
            let column = &changed.columns[place];
            let owned = column.owned_sequence.filter(|_| column.identity.is_some());
            let Some(sequence) = owned.and_then(|id| cx.catalog().sequences().get(id).cloned())
            else {
                return Err(state_error(&changed, place, "is not an identity column"));
            };
            let mut sequence = Sequence::clone(&sequence);
            apply_options(cx, &mut sequence, options, false)?;
            cx.draft()?.put(sequence);
            if let Some(mode) = mode {
                changed.columns[place].identity = Some(identity(*mode));
            }
        }
        AlterColumnAction::DropIdentity { if_exists } => {
            let column = &mut changed.columns[place];
            if column.identity.take().is_none() {
                let error = state_error(&changed, place, "is not an identity column");
                return skip(cx, error, *if_exists);
            }
            if let Some(sequence) = column.owned_sequence.take() {
                cx.draft()?.remove(sequence);
            }
        }
        AlterColumnAction::DropExpression { if_exists } => {
            if changed.columns[place].generated.take().is_none() {
                let error = state_error(&changed, place, "is not a stored generated column");
                return skip(cx, error, *if_exists);
            }
        }
        AlterColumnAction::Tuning(tuning) => tune(cx, &mut changed.columns[place], tuning)?,
    }
    cx.draft()?.put(changed);
    Ok(())
}

fn skip(cx: &mut DdlContext<'_>, error: Error, if_exists: bool) -> Result<()> {
    if !if_exists {
        return Err(error);
    }
    cx.notice(SqlState::SuccessfulCompletion, format!("{}, skipping", error.message()));
    Ok(())
}

/// The largest target of SET STATISTICS.
const STATISTICS_MAX: i64 = 10_000;

/// SET STATISTICS and SET STORAGE.
fn tune(cx: &mut DdlContext<'_>, column: &mut Column, tuning: &ColumnTuning) -> Result<()> {
    match tuning {
        ColumnTuning::Statistics(target) if *target < -1 => {
            let message = format!("statistics target {target} is too low");
            return Err(Error::new(SqlState::InvalidParameterValue, message));
        }
        ColumnTuning::Statistics(target) => {
            if *target > STATISTICS_MAX {
                let message = format!("lowering statistics target to {STATISTICS_MAX}");
                cx.notice(SqlState::Warning, message);
            }
            let target = i16::try_from((*target).min(STATISTICS_MAX)).ok();
            column.statistics_target = target.filter(|target| *target >= 0);
        }
        ColumnTuning::Storage(word) => {
            let wanted = match word.as_str() {
                "plain" => 'p',
                "external" => 'e',
                "extended" => 'x',
                "main" => 'm',
                _ => {
                    let message = format!("invalid storage type \"{word}\"");
                    return Err(Error::new(SqlState::InvalidParameterValue, message));
                }
            };
            let own = storage(&column.ty);
            if own == 'p' && wanted != 'p' {
                let ty = column.ty.plain_name();
                let message = format!("column data type {ty} can only have storage PLAIN");
                return Err(Error::new(SqlState::FeatureNotSupported, message));
            }
            column.storage = (own != wanted).then_some(wanted);
        }
        ColumnTuning::Ignored => {}
    }
    Ok(())
}

fn identity(mode: IdentityMode) -> Identity {
    match mode {
        IdentityMode::Always => Identity::Always,
        IdentityMode::ByDefault => Identity::ByDefault,
    }
}

/// 55000 unless the column can become an identity column.
fn check_identity_fits(table: &Table, place: usize) -> Result<()> {
    let column = &table.columns[place];
    let problem = match column {
        column if !column.ty.is_integer() || column.domain.is_some() => {
            return Err(no_identity_type());
        }
        column if column.identity.is_some() => "is already an identity column",
        column if column.default.is_some() => "already has a default value",
        column if column.nullable => "must be declared NOT NULL before identity can be added",
        _ => return Ok(()),
    };
    Err(state_error(table, place, problem))
}

fn state_error(table: &Table, place: usize, problem: &str) -> Error {
    let (column, relation) = (&table.columns[place].name, &table.name);
    let message = format!("column \"{column}\" of relation \"{relation}\" {problem}");
    Error::new(SqlState::ObjectNotInPrerequisiteState, message)
}

/// 42601 for the default of an identity or generated column.
fn refuse_special(table: &Table, place: usize, dropping: bool) -> Result<()> {
    let column = &table.columns[place];
    let (problem, hint) = if column.identity.is_some() {
        ("is an identity column", "Use ALTER TABLE ... ALTER COLUMN ... DROP IDENTITY instead.")
    } else if column.generated.is_some() {
        ("is a generated column", "Use ALTER TABLE ... ALTER COLUMN ... DROP EXPRESSION instead.")
    } else {
        return Ok(());
    };
    let message = format!("column \"{}\" of relation \"{}\" {problem}", column.name, table.name);
    let error = Error::new(SqlState::SyntaxError, message);
    Err(if dropping { error.hint(hint) } else { error })
}

fn set_default(cx: &DdlContext<'_>, table: &mut Table, place: usize, expr: &Expr) -> Result<()> {
    refuse_special(table, place, false)?;
    let column = &table.columns[place];
    let default = bind_default_expr(cx, expr, column);
    let default = default.map_err(|error| mismatch(error, &column.name))?;
    table.columns[place].default = default;
    Ok(())
}

fn drop_not_null(table: &mut Table, place: usize) -> Result<()> {
    let column = &table.columns[place];
    let primary_key = table.primary_key().map_or(&[][..], |index| &index.keys);
    if primary_key.iter().any(|key| key.column == column.id) {
        let message = format!("column \"{}\" is in a primary key", column.name);
        return Err(Error::new(SqlState::InvalidTableDefinition, message));
    }
    if column.identity.is_some() {
        return Err(Error::new(
            SqlState::SyntaxError,
            format!(
                "column \"{}\" of relation \"{}\" is an identity column",
                column.name, table.name
            ),
        ));
    }
    table.columns[place].nullable = true;
    Ok(())
}

struct NewType<'s> {
    data_type: &'s DataType,
    collation: Option<&'s ObjectName>,
    using: Option<&'s Expr>,
}

/// 22023 for an identity column of another type than integers, 42611 for USING of a generated one.
fn check_kind(column: &Column, ty: &SqlType, has_domain: bool, has_using: bool) -> Result<()> {
    if column.identity.is_some() && (!ty.is_integer() || has_domain) {
        return Err(no_identity_type());
    }
    if has_using && column.generated.is_some() {
        let message = "cannot specify USING when altering type of generated column";
        return Err(Error::new(SqlState::InvalidColumnDefinition, message)
            .detail(format!("Column \"{}\" is a generated column.", column.name)));
    }
    Ok(())
}

/// Changes a column's type by rewriting the rows.
async fn set_type(
    cx: &mut DdlContext<'_>,
    old: &Arc<Table>,
    changed: &mut Table,
    place: usize,
    new: &NewType<'_>,
) -> Result<()> {
    let ty = column_type(cx, new.data_type)?;
    let domain = column_domain(cx, new.data_type)?;
    check_kind(&old.columns[place], &ty, domain.is_some(), new.using.is_some())?;
    let check = domain_check(cx, domain.as_deref())?;
    let collation = collation_of(cx, new.collation, &ty)?;
    let name = old.columns[place].name.clone();
    check_column_type(&name, &ty)?;
    check_no_member_of_itself(&cx.catalog(), old.id, &ty)?;
    check_no_temporary_rows(old.id, &ty)?;
    refuse_users(cx, old.id, "table")?;
    refuse_keys(cx, old.id, "table")?;
    refuse_dependents(cx, old, place)?;
    let of_domain = domain.as_deref().and_then(|domain| domain.collation.clone());
    let collates = collation.as_deref().or(of_domain.as_deref());
    refuse_other_order(cx, old, place, collates)?;
    refuse_loose_keys(cx, old, place, collates)?;
    refuse_new_type(old, place)?;
    let convert = conversion(cx, old, place, &ty, new.using)?;
    let from_row = new.using.is_some();
    let column = &mut changed.columns[place];
    column.ty = ty.clone();
    column.storage = None;
    column.modifier = time_modifier_of(new.data_type);
    column.more_dimensions = more_dimensions_of(new.data_type);
    column.collation = collation;
    column.domain = None;
    if let Some(domain) = &domain {
        domain.give_to(column);
    }
    restate(&mut changed.indexes, column)?;
    let new_column = column.clone();
    column.missing = None;
    if let Some(default) = column.default.clone().filter(|_| column.owned_sequence.is_none()) {
        let bound = cx.plan(|context| braid_plan::bind_default(context, &default, &ty));
        if bound.is_err() {
            let message = format!(
                "default for column \"{name}\" cannot be cast automatically to type {}",
                ty.bare().display_name()
            );
            return Err(Error::new(SqlState::DatatypeMismatch, message));
        }
    }
    let id = column.id;
    restate_conditions(cx, old, changed, id)?;
    statistics::restate(cx, old, changed, id)?;
    restate_terms(changed)?;
    let target = Arc::new(changed.clone());
    rewrite_rows(cx, old, changed, |cx, row| {
        let mut row = row.to_vec();
        let input = std::slice::from_ref(&row[place]);
        let value = evaluate(cx, &convert, if from_row { &row } else { input })?;
        row[place] = checked(cx, check.as_ref(), new_column.modified(value))?;
        // CHECK constraints and foreign keys are looked at after all actions.
        match row[place].is_null() && !new_column.nullable {
            true => Err(contains_nulls(&target, place)),
            false => Ok(row),
        }
    })
    .await
}

/// 0A000 for a column of a foreign key whose texts would be equal without having the same bytes.
fn refuse_loose_keys(
    cx: &DdlContext<'_>,
    table: &Arc<Table>,
    place: usize,
    collation: Option<&str>,
) -> Result<()> {
    let catalog = cx.catalog();
    let is_loose = |name| stored_collation(&catalog, name).is_nondeterministic();
    let column = &table.columns[place];
    if !collation.is_some_and(is_loose) || keys_naming(&catalog, table, &[column.id])?.is_empty() {
        return Ok(());
    }
    Err(loose_key(&column.name))
}

/// What computes the values of a column from those that it had, or from the rows.
fn conversion(
    cx: &DdlContext<'_>,
    old: &Arc<Table>,
    place: usize,
    ty: &SqlType,
    using: Option<&Expr>,
) -> Result<braid_plan::Expr> {
    if let Some(expr) = using {
        let expr = StoredExpr::Written(expr.to_string());
        return bind_expr(cx, old, &expr, Some(ty), "transform expressions");
    }
    let (name, from) = (&old.columns[place].name, &old.columns[place].ty);
    let cast = cx.plan(|context| bind_assignment_cast(context, from, ty, name));
    cast.map_err(|error| no_cast(&error, name, ty))
}

/// 0A000 for another order of the texts of a column, if something is kept that depends on it.
fn refuse_other_order(
    cx: &DdlContext<'_>,
    table: &Table,
    place: usize,
    new: Option<&str>,
) -> Result<()> {
    let catalog = cx.catalog();
    let column = &table.columns[place];
    let order = |name: Option<&str>| name.and_then(|name| stored_collation(&catalog, name).icu);
    if order(column.collation.as_deref()) == order(new) {
        return Ok(());
    }
    let reads = |expr: Option<&StoredExpr>| expr_reads(table, expr, column.id);
    let is_key = |key: &IndexKey| {
        let part = table.column(key.column);
        key.column == column.id || part.is_some_and(|part| reads(part.generated.as_ref()))
    };
    let depends = |index: &&Index| index.keys.iter().any(is_key) || reads(index.predicate.as_ref());
    match table.all_indexes().find(depends) {
        Some(index) => {
            let what = "another collation for a column of an index";
            Err(Error::unsupported(what)
                .hint(format!("Drop the index \"{}\" before, and create it again.", index.name)))
        }
        None => Ok(()),
    }
}

fn no_cast(error: &Error, column: &str, ty: &SqlType) -> Error {
    if error.cause::<NotAssignable>().is_none() {
        return error.clone();
    }
    let shown = ty.display_name();
    let message = format!("column \"{column}\" cannot be cast automatically to type {shown}");
    Error::new(SqlState::DatatypeMismatch, message)
        .hint(format!("You might need to specify \"USING {column}::{shown}\"."))
}

/// 0A000 for a column that a view, a trigger, a policy or a generated column uses.
fn refuse_dependents(cx: &DdlContext<'_>, table: &Table, place: usize) -> Result<()> {
    let column = &table.columns[place];
    let catalog = cx.catalog();
    let mut views = Queries::of(&catalog).in_database(table.database);
    if let Some(view) = views.find(|view| view_reads(view, table.id, column)) {
        let message = "cannot alter type of a column used by a view or rule";
        return Err(Error::new(SqlState::FeatureNotSupported, message).detail(format!(
            "rule _RETURN on {} depends on column \"{}\"",
            describe(cx, &catalog, view.id),
            column.name
        )));
    }
    if let Some(trigger) = triggers_reading(table, column.id).first() {
        let message = "cannot alter type of a column used in a trigger definition";
        let on = describe(cx, &catalog, table.id);
        return Err(Error::new(SqlState::FeatureNotSupported, message).detail(format!(
            "trigger {} on {on} depends on column \"{}\"",
            trigger.name, column.name
        )));
    }
    if let Some((of, policy)) = policies_reading(&catalog, table, column.id).first() {
        let message = "cannot alter type of a column used in a policy definition";
        let policy = describe_policy(cx, of, policy);
        return Err(Error::new(SqlState::FeatureNotSupported, message)
            .detail(format!("{policy} depends on column \"{}\"", column.name)));
    }
    let mut generated = table.columns.iter().filter(|other| {
        let is_other = other.id != column.id && !other.is_key_expr;
        is_other && expr_reads(table, other.generated.as_ref(), column.id)
    });
    if let Some(generated) = generated.next() {
        let message = "cannot alter type of a column used by a generated column";
        return Err(Error::new(SqlState::FeatureNotSupported, message).detail(format!(
            "Column \"{}\" is used by generated column \"{}\".",
            column.name, generated.name
        )));
    }
    Ok(())
}

/// Rewrites the rows with the value of one column computed: its default, the next value of its
/// sequence, or its generation expression. `old` lacks the column.
pub(crate) async fn compute_column(
    cx: &mut DdlContext<'_>,
    old: &Arc<Table>,
    changed: &mut Table,
    place: usize,
) -> Result<()> {
    let column = changed.columns[place].clone();
    let shape = Arc::new(changed.clone());
    if let Some(sequence) =
        column.owned_sequence.and_then(|id| cx.catalog().sequences().get(id).cloned())
    {
        block_writers(cx, old).await?;
        let mut values = Vec::new();
        let mut reader = table_reader(cx, old)?;
        while let Some(rows) = reader.next().await? {
            for _ in rows {
                values.push(cx.exec.nextval(&sequence).await?);
            }
        }
        let mut values = values.into_iter();
        return rewrite_rows(cx, old, changed, |_, row| {
            let value = values.next().map_or(Datum::Null, Datum::Int);
            Ok(with(row, place, value))
        })
        .await;
    }
    let is_generated = column.generated.is_some();
    let of_domain = default_of(cx, &column);
    let expr = column.generated.as_ref().or(of_domain.as_ref());
    let Some(expr) = expr else { return Ok(()) };
    let clause = if is_generated { "column generation expressions" } else { "DEFAULT expressions" };
    let check = column_check(cx, &column)?;
    let bound = bind_expr(cx, &shape, expr, Some(&column.ty), clause)?;
    let mut computed = match bound.waits() {
        true => Some(computed_ahead(cx, old, place, &bound).await?.into_iter()),
        false => None,
    };
    let column = column.clone();
    let nullable = column.nullable;
    rewrite_rows(cx, old, changed, |cx, row| {
        let row = with(row, place, Datum::Null);
        let value = match &mut computed {
            Some(values) => {
                values.next().ok_or_else(|| Error::broken("fewer computed values than rows"))?
            }
            None => evaluate(cx, &bound, &row)?,
        };
        let value = column.modified(value);
        let value = checked(cx, check.as_ref(), value)?;
        if value.is_null() && !nullable {
            return Err(contains_nulls(&shape, place));
        }
        let mut row = row;
        row[place] = value;
        Ok(row)
    })
    .await
}

/// The values of a new column whose expression calls functions of users: one for each row, in the
/// order in which the rows are rewritten.
async fn computed_ahead(
    cx: &DdlContext<'_>,
    table: &Arc<Table>,
    place: usize,
    expr: &braid_plan::Expr,
) -> Result<Vec<Datum>> {
    block_writers(cx, table).await?;
    let evaluator = evaluator(cx);
    let mut values = Vec::new();
    let mut reader = table_reader(cx, table)?;
    while let Some(rows) = reader.next().await? {
        cx.exec.check_interrupts().await?;
        for row in rows {
            values.push(evaluator.eval(expr, &with(&row, place, Datum::Null)).await?);
        }
    }
    Ok(values)
}

fn with(row: &[Datum], place: usize, value: Datum) -> Vec<Datum> {
    let mut row = row.to_vec();
    row.insert(place, value);
    row
}

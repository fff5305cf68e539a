//! CREATE and ALTER SEQUENCE, and the options that identity columns share with them.

use std::sync::Arc;

use braid_catalog::{
    Catalog, ColumnId, DefaultKind, Id, Mentioning, Object, Relation, Sequence, fresh_counter,
};
use braid_sql::ast::{AlterSequence, CreateSequence, ObjectName, ObjectNamePart, SequenceOption};
use braid_types::{Error, Result, SqlState, SqlType};

use crate::context::DdlContext;
use crate::names::lookup::{duplicate, parts, undefined_column, wrong_kind};
use crate::names::temporary::{target_of, warn_of_global};
use crate::names::types::sql_type;
use crate::roles::default_privileges::new_grants;

/// The smallest and largest value of a sequence's type.
pub(crate) fn bounds(ty: &SqlType) -> (i64, i64) {
    match ty {
        SqlType::Int2 => (i64::from(i16::MIN), i64::from(i16::MAX)),
        SqlType::Int4 => (i64::from(i32::MIN), i64::from(i32::MAX)),
        _ => (i64::MIN, i64::MAX),
    }
}

fn invalid(message: String) -> Error {
    Error::new(SqlState::InvalidParameterValue, message)
}

pub(crate) fn create(cx: &mut DdlContext<'_>, create: &CreateSequence) -> Result<()> {
    warn_of_global(cx, create.global);
    let (schema, name) = target_of(cx, &create.name, create.temporary)?;
    if cx.catalog().names().find(schema.id, &name).is_some() {
        if !create.if_not_exists {
            return Err(duplicate(&name));
        }
        let message = format!("relation \"{name}\" already exists, skipping");
        cx.notice(SqlState::DuplicateTable, message);
        return Ok(());
    }
    let owner = cx.user();
    let id = cx.draft()?.allocate_id(schema.id);
    let mut sequence = Sequence {
        id,
        database: schema.database,
        schema: schema.id,
        name,
        owner,
        ty: SqlType::Int8,
        start: 1,
        increment: 1,
        min: 1,
        max: i64::MAX,
        cache: 1,
        cycle: false,
        counter: fresh_counter(),
        first: 1,
        owned_by: None,
        unlogged: create.unlogged,
        grants: new_grants(cx, owner, Some(schema.id), DefaultKind::Sequences),
        comment: None,
    };
    apply_options(cx, &mut sequence, &create.options, true)?;
    cx.draft()?.put(sequence);
    Ok(())
}

pub(crate) async fn alter(cx: &mut DdlContext<'_>, alter: &AlterSequence) -> Result<()> {
    let sequence = match cx.find(&alter.name)? {
        Some(Relation::Sequence(sequence)) => sequence,
        Some(other) => return Err(wrong_kind(other.name(), "sequence")),
        None => {
            let name = parts(&alter.name).join(".");
            let message = format!("relation \"{name}\" does not exist");
            if !alter.if_exists {
                return Err(Error::new(SqlState::UndefinedTable, message));
            }
            cx.notice(SqlState::SuccessfulCompletion, format!("{message}, skipping"));
            return Ok(());
        }
    };
    cx.check_owner(Object::Sequence(&sequence))?;
    let mut changed = Sequence::clone(&sequence);
    apply_options(cx, &mut changed, &alter.options, false)?;
    // A counter goes on in its block, so that a changed rule begins with a counter of its own.
    let same_rule = changed.increment == sequence.increment
        && (changed.min, changed.max) == (sequence.min, sequence.max);
    if !same_rule && changed.counter == sequence.counter {
        let state = cx.exec.sequence_state(&sequence).await?;
        changed.counter = fresh_counter();
        let (last, called) = state;
        changed.first = if called { last.saturating_add(changed.increment) } else { last };
        changed.first = changed.first.clamp(changed.min, changed.max);
    }
    cx.draft()?.put(changed);
    Ok(())
}

/// Applies options in PostgreSQL's order and checks the result.
pub(crate) fn apply_options(
    cx: &mut DdlContext<'_>,
    sequence: &mut Sequence,
    options: &[SequenceOption],
    is_new: bool,
) -> Result<()> {
    let (mut min, mut max, mut start, mut restart) = (None, None, None, None);
    let was_up = sequence.increment > 0;
    let old_bounds = bounds(&sequence.ty);
    for option in options {
        match option {
            SequenceOption::As(data_type) => {
                let ty = sql_type(cx, data_type)?;
                if !ty.is_integer() {
                    let message = "sequence type must be smallint, integer, or bigint";
                    return Err(invalid(message.to_owned()));
                }
                sequence.ty = ty;
            }
            SequenceOption::IncrementBy(by) => sequence.increment = *by,
            SequenceOption::MinValue(value) => min = Some(*value),
            SequenceOption::MaxValue(value) => max = Some(*value),
            SequenceOption::StartWith(value) => start = Some(*value),
            SequenceOption::Restart(value) => restart = Some(*value),
            SequenceOption::Cache(cache) => sequence.cache = *cache,
            SequenceOption::Cycle(cycle) => sequence.cycle = *cycle,
            SequenceOption::OwnedBy(owner) => own(cx, sequence, owner.as_ref())?,
            SequenceOption::Name(_) => {}
        }
    }
    if sequence.increment == 0 {
        return Err(invalid("INCREMENT must not be zero".to_owned()));
    }
    if sequence.cache <= 0 {
        return Err(invalid(format!("CACHE ({}) must be greater than zero", sequence.cache)));
    }
    let up = sequence.increment > 0;
    let (least, most) = bounds(&sequence.ty);
    let default_min = if up { 1 } else { least };
    let default_max = if up { most } else { -1 };
    let retyped = old_bounds != (least, most);
    let turned = is_new || up != was_up;
    match max {
        Some(value) => sequence.max = value.unwrap_or(default_max),
        None if turned || (retyped && sequence.max == old_bounds.1) => sequence.max = default_max,
        None => {}
    }
    match min {
        Some(value) => sequence.min = value.unwrap_or(default_min),
        None if turned || (retyped && sequence.min == old_bounds.0) => sequence.min = default_min,
        None => {}
    }
    check_bounds(sequence)?;
    match start {
        Some(value) => sequence.start = value,
        None if is_new => sequence.start = if up { sequence.min } else { sequence.max },
        None => {}
    }
    within(sequence, "START", sequence.start)?;
    if is_new {
        sequence.first = sequence.start;
    }
    if let Some(value) = restart {
        sequence.first = value.unwrap_or(sequence.start);
        within(sequence, "RESTART", sequence.first)?;
        sequence.counter = fresh_counter();
    }
    Ok(())
}

fn check_bounds(sequence: &Sequence) -> Result<()> {
    let (least, most) = bounds(&sequence.ty);
    let ty = sequence.ty.display_name();
    for (word, value) in [("MAXVALUE", sequence.max), ("MINVALUE", sequence.min)] {
        if value < least || value > most {
            let message = format!("{word} ({value}) is out of range for sequence data type {ty}");
            return Err(invalid(message));
        }
    }
    if sequence.min >= sequence.max {
        let (min, max) = (sequence.min, sequence.max);
        return Err(invalid(format!("MINVALUE ({min}) must be less than MAXVALUE ({max})")));
    }
    Ok(())
}

fn within(sequence: &Sequence, word: &str, value: i64) -> Result<()> {
    if value < sequence.min {
        let min = sequence.min;
        return Err(invalid(format!(
            "{word} value ({value}) cannot be less than MINVALUE ({min})"
        )));
    }
    if value > sequence.max {
        let max = sequence.max;
        let message = format!("{word} value ({value}) cannot be greater than MAXVALUE ({max})");
        return Err(invalid(message));
    }
    Ok(())
}

/// 0A000 for another owner of the sequence of an identity column.
fn refuse_identity(cx: &DdlContext<'_>, sequence: &Sequence) -> Result<()> {
    let Some((table, column)) = sequence.owned_by else { return Ok(()) };
    let catalog = cx.catalog();
    let Some(table) = catalog.table(table) else { return Ok(()) };
    let column = table.column(column).filter(|column| column.identity.is_some());
    if column.is_none_or(|column| column.owned_sequence != Some(sequence.id)) {
        return Ok(());
    }
    let message = "cannot change ownership of identity sequence";
    let (name, table) = (&sequence.name, &table.name);
    Err(Error::new(SqlState::FeatureNotSupported, message)
        .detail(format!("Sequence \"{name}\" is linked to table \"{table}\".")))
}

/// OWNED BY table.column, or NONE.
fn own(cx: &mut DdlContext<'_>, sequence: &mut Sequence, owner: Option<&ObjectName>) -> Result<()> {
    refuse_identity(cx, sequence)?;
    let Some(owner) = owner else {
        sequence.owned_by = None;
        return Ok(());
    };
    let mut table: Vec<ObjectNamePart> = owner.0.clone();
    let column = table.pop();
    let column = match &column {
        Some(ObjectNamePart::Identifier(ident)) if !table.is_empty() => braid_sql::fold(ident),
        _ => {
            let message = "invalid OWNED BY option";
            return Err(Error::new(SqlState::SyntaxError, message)
                .hint("Specify OWNED BY table.column or OWNED BY NONE."));
        }
    };
    let table = cx.own_table(&ObjectName(table))?;
    let found = table.visible_columns().find(|found| found.name == column);
    let Some(found) = found else { return Err(undefined_column(&table.name, &column)) };
    if table.schema != sequence.schema {
        let message = "sequence must be in same schema as table it is linked to";
        return Err(Error::new(SqlState::ObjectNotInPrerequisiteState, message));
    }
    sequence.owned_by = Some((table.id, found.id));
    Ok(())
}

/// The sequences that a table's columns own, or one of its columns.
pub(crate) fn owned_sequences(
    catalog: &Catalog,
    table: Id,
    column: Option<ColumnId>,
) -> impl Iterator<Item = Id> + '_ {
    let is_owner = move |(owner, own): (Id, ColumnId)| {
        owner == table && column.is_none_or(|column| own == column)
    };
    let owned = move |sequence: &&Arc<Sequence>| sequence.owned_by.is_some_and(is_owner);
    let mentioning = Mentioning::of(catalog, table);
    let owned: Vec<Id> = mentioning.sequences().filter(owned).map(|found| found.id).collect();
    owned.into_iter()
}

//! The functions for triggers that are built in: one that drops updates which change nothing, and
//! those that keep a `tsvector` column.

use braid_builtins::text_vector;
use braid_catalog::{Column, Table, TriggerEvent, TriggerTiming};
use braid_exec::TriggerCall;
use braid_types::search::configs;
use braid_types::{Datum, Error, Result, Row, SqlState, SqlType};

/// Calls the function. 39P01 if its trigger is not of the right kind.
pub(crate) fn call_built_in(call: TriggerCall<'_>) -> Result<Option<Row>> {
    let name = call.function.name.as_str();
    match name {
        "suppress_redundant_updates_trigger" => unless_redundant(call),
        "tsvector_update_trigger" => with_vector(call, false),
        "tsvector_update_trigger_column" => with_vector(call, true),
        _ => Err(Error::internal(format!("no trigger function is named {name}"))),
    }
}

fn refused(call: &TriggerCall<'_>, message: &str) -> Error {
    let message = format!("{}: {message}", call.function.name);
    Error::new(SqlState::TriggerProtocolViolated, message)
}

/// The new row, unless it has the same values as the old one.
fn unless_redundant(call: TriggerCall<'_>) -> Result<Option<Row>> {
    if call.event != TriggerEvent::Update {
        return Err(refused(&call, "must be called on update"));
    }
    if call.trigger.timing != TriggerTiming::Before {
        return Err(refused(&call, "must be called before update"));
    }
    if !call.trigger.for_each_row {
        return Err(refused(&call, "must be called for each row"));
    }
    Ok(if call.new == call.old { None } else { call.new })
}

/// The place of a column, which messages call by its purpose. 42703 if there is none.
fn column<'t>(table: &'t Table, name: &str, purpose: &str) -> Result<(usize, &'t Column)> {
    let mut columns = table.columns.iter().enumerate();
    columns.find(|(_, column)| !column.hidden && column.name == name).ok_or_else(|| {
        let message = format!("{purpose}column \"{name}\" does not exist");
        Error::new(SqlState::UndefinedColumn, message)
    })
}

fn wrong_type(name: &str, wanted: &str) -> Error {
    let message = format!("column \"{name}\" is not of {wanted} type");
    Error::new(SqlState::DatatypeMismatch, message)
}

/// The configuration of that name, which needs its schema.
fn named_config(name: &str) -> Result<u32> {
    if !name.contains('.') {
        let message = format!("text search configuration name \"{name}\" must be schema-qualified");
        return Err(Error::new(SqlState::InvalidParameterValue, message));
    }
    configs::parse_name(&SqlType::Regconfig, name)
}

/// The configuration that a column has. 22004 for NULL.
fn config_in(table: &Table, row: &Row, name: &str) -> Result<u32> {
    let (place, found) = column(table, name, "configuration ")?;
    if found.ty != SqlType::Regconfig {
        return Err(wrong_type(name, "regconfig"));
    }
    let config = row.get(place).and_then(Datum::as_int);
    config.and_then(|config| u32::try_from(config).ok()).ok_or_else(|| {
        let message = format!("configuration column \"{name}\" must not be null");
        Error::new(SqlState::NullValueNotAllowed, message)
    })
}

/// The new row with the vector of its texts. Arguments: the column of the vector, the
/// configuration or its column, and the columns of the texts.
fn with_vector(call: TriggerCall<'_>, config_is_column: bool) -> Result<Option<Row>> {
    if !call.trigger.for_each_row {
        return Err(refused(&call, "must be fired for row"));
    }
    if call.trigger.timing != TriggerTiming::Before {
        return Err(refused(&call, "must be fired BEFORE event"));
    }
    let is_change = matches!(call.event, TriggerEvent::Insert | TriggerEvent::Update);
    let Some(mut row) = call.new.clone().filter(|_| is_change) else {
        return Err(refused(&call, "must be fired for INSERT or UPDATE"));
    };
    let [vector, config, texts @ ..] = call.trigger.arguments.as_slice() else {
        return Err(refused(&call, "arguments must be a vector, a configuration and texts"));
    };
    let (place, kept) = column(call.table, vector, "tsvector ")?;
    if kept.ty != SqlType::TsVector {
        return Err(wrong_type(vector, "tsvector"));
    }
    let config = match config_is_column {
        true => config_in(call.table, &row, config)?,
        false => named_config(config)?,
    };
    let mut parts = Vec::with_capacity(texts.len());
    for name in texts {
        let (place, column) = column(call.table, name, "")?;
        if !column.ty.is_string() {
            return Err(wrong_type(name, "a character"));
        }
        parts.extend(row[place].as_str().map(str::to_owned));
    }
    row[place] = text_vector(config, &parts)?;
    Ok(Some(row))
}

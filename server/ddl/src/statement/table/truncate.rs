//! TRUNCATE: the rows go in one range delete, and the table's data gets a new place.

use std::sync::Arc;

use braid_catalog::partitions::references_to;
use braid_catalog::{Id, Object, Sequence, Table, TriggerTiming, fresh_counter};
use braid_sql::ast::{DropBehavior, Truncate};
use braid_types::{Error, Result, SqlState};

use crate::context::DdlContext;
use crate::partitions::create::current;
use crate::rows::delete::empty_table;
use crate::statement::trigger::{TruncateTriggers, fire_truncate};
use crate::table::descriptor::{change_table, child_of};
use crate::table::moving::refuse_moving;

pub(crate) async fn run(cx: &mut DdlContext<'_>, statement: &Truncate) -> Result<()> {
    let mut tables: Vec<Arc<Table>> = Vec::new();
    for name in &statement.tables {
        let table = cx.table(name)?;
        if braid_sql::is_only(name) && table.partitioning.is_some() {
            let message = "cannot truncate only a partitioned table";
            return Err(Error::new(SqlState::WrongObjectType, message).hint(
                "Do not specify the ONLY keyword, or use TRUNCATE ONLY on the partitions directly.",
            ));
        }
        if !tables.iter().any(|other| other.id == table.id) {
            tables.push(table);
        }
    }
    let mut place = 0;
    while let Some(table) = tables.get(place).cloned() {
        place += 1;
        for id in table.partitioning.iter().flat_map(|keys| &keys.partitions) {
            if tables.iter().all(|other| other.id != *id) {
                tables.push(current(cx, *id)?);
            }
        }
    }
    for table in &tables {
        cx.refuse_if_owed(table, "TRUNCATE")?;
    }
    add_referring(cx, &mut tables, statement.behavior)?;
    let emptied: Vec<Id> = tables.iter().map(|table| table.id).collect();
    for table in &tables {
        cx.catalog().privileges().check(cx.user(), Object::Table(table), "TRUNCATE")?;
    }
    let triggers = TruncateTriggers::of(cx, &tables)?;
    fire_truncate(cx, &triggers, TriggerTiming::Before).await?;
    for table in &tables {
        refuse_moving(&cx.catalog(), table)?;
        empty_table(cx, table.id, &emptied)?;
        change_table(cx, table.id, |table| {
            for column in &mut table.columns {
                column.missing = None;
            }
        })?;
        if statement.restart_identity {
            restart_sequences(cx, table)?;
        }
        cx.draft()?.note_emptied(table.id);
    }
    fire_truncate(cx, &triggers, TriggerTiming::After).await
}

/// Tables that refer to those to be emptied: taken along with CASCADE, else 0A000.
fn add_referring(
    cx: &mut DdlContext<'_>,
    tables: &mut Vec<Arc<Table>>,
    behavior: DropBehavior,
) -> Result<()> {
    let catalog = cx.catalog();
    let mut place = 0;
    while place < tables.len() {
        let table = tables[place].clone();
        place += 1;
        for child in table.primary.below.iter().filter(|(_, number)| *number == 1) {
            let child = child_of(&catalog, &table, child.0)?;
            if tables.iter().any(|other| other.id == child.id) {
                continue;
            }
            let (name, parent) = (&child.name, &table.name);
            if behavior == DropBehavior::Restrict {
                let message = format!("\"{parent}\" is interleaved by table \"{name}\"");
                return Err(Error::new(SqlState::DependentObjectsStillExist, message).hint(
                    format!(
                        "Truncate table \"{name}\" at the same time, or use TRUNCATE ... CASCADE."
                    ),
                ));
            }
            let message = format!("truncate cascades to table \"{name}\"");
            cx.notice(SqlState::SuccessfulCompletion, message);
            tables.push(child.clone());
        }
        for reference in references_to(&catalog, &table)? {
            let child = &reference.child;
            if tables.iter().any(|other| other.id == child.id) {
                continue;
            }
            if behavior == DropBehavior::Restrict {
                let message = "cannot truncate a table referenced in a foreign key constraint";
                let (child, parent) = (&child.name, &table.name);
                return Err(Error::new(SqlState::FeatureNotSupported, message)
                    .detail(format!("Table \"{child}\" references \"{parent}\"."))
                    .hint(format!(
                        "Truncate table \"{child}\" at the same time, or use TRUNCATE ... CASCADE."
                    )));
            }
            let message = format!("truncate cascades to table \"{}\"", child.name);
            cx.notice(SqlState::SuccessfulCompletion, message);
            tables.push(child.clone());
        }
    }
    Ok(())
}

fn restart_sequences(cx: &mut DdlContext<'_>, table: &Table) -> Result<()> {
    let catalog = cx.catalog();
    let owned = catalog
        .sequences()
        .iter()
        .filter(|sequence| sequence.owned_by.is_some_and(|(owner, _)| owner == table.id));
    for sequence in owned {
        let mut sequence = Sequence::clone(sequence);
        sequence.counter = fresh_counter();
        sequence.first = sequence.start;
        cx.draft()?.put(sequence);
    }
    Ok(())
}

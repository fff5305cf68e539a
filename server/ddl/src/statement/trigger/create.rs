//! CREATE TRIGGER.

use std::sync::Arc;

use braid_catalog::{
    ColumnId, Object, PG_CATALOG, Relation, Routine, StoredExpr, Table, Trigger, TriggerConstraint,
    TriggerEvent, TriggerState, TriggerTiming, built_in_trigger_function, is_temporary,
};
use braid_plan::{ConditionReads, NoStoredForm, identify_when};
use braid_sql::ast::{self, CreateTrigger, Spanned, TriggerChoice};
use braid_sql::fold;
use braid_types::{Error, Result, SqlState};

use super::change::set_state_of_copies;
use super::find::{put_triggers, with_triggers};
use crate::context::DdlContext;
use crate::names::lookup::{parts, undefined_column};
use crate::partitions::triggers::duplicate;

fn unsupported(message: &str) -> Error {
    Error::new(SqlState::FeatureNotSupported, message)
}

fn invalid(message: &str) -> Error {
    Error::new(SqlState::InvalidObjectDefinition, message)
}

/// `CREATE [OR REPLACE] [CONSTRAINT] TRIGGER`
pub(crate) fn create(cx: &mut DdlContext<'_>, create: &CreateTrigger) -> Result<()> {
    let relation = with_triggers(cx, &create.table)?;
    check_kind(&relation, create)?;
    let from = match create.constraint.as_ref().and_then(|c| c.from.as_ref()) {
        Some(name) => Some(with_triggers(cx, name)?),
        None => None,
    };
    for relation in std::iter::once(&relation).chain(&from) {
        cx.catalog().privileges().check(cx.user(), Object::from(relation), "TRIGGER")?;
    }
    check_form(create)?;
    check_transitions(&relation, create)?;
    check_partitioned(&relation, create)?;
    let Some(table) = relation.row_table() else {
        return Err(Error::internal("a relation with triggers has no rows"));
    };
    let when = condition(cx, &table, create)?;
    let function = function_of(cx, create)?;
    let name = fold(&create.name);
    let replaced = replaced(&relation, create, &name)?;
    let columns = columns(&table, create)?;
    let transition = |is_new: bool| {
        create.transitions.iter().find(|t| t.is_new == is_new).map(|t| fold(&t.name))
    };
    let owner = relation.oid();
    let id = match &replaced {
        Some(old) => old.id,
        None => cx.draft()?.allocate_id(owner),
    };
    let constraint = match &create.constraint {
        None => None,
        Some(written) => Some(TriggerConstraint {
            id: cx.draft()?.allocate_id(owner),
            from: from.as_ref().map(Relation::oid),
            deferrable: written.deferrable,
            initially_deferred: written.initially_deferred,
        }),
    };
    let trigger = Trigger {
        id,
        name,
        function: function.id,
        timing: timing(create.timing),
        events: create.events.iter().copied().map(event).collect(),
        columns,
        for_each_row: create.for_each_row,
        when,
        old_table: transition(false),
        new_table: transition(true),
        arguments: create.arguments.clone(),
        state: TriggerState::Origin,
        constraint,
        comment: replaced.as_ref().and_then(|old| old.comment.clone()),
    };
    let mut triggers = relation.triggers().to_vec();
    triggers.retain(|other| other.id != id);
    triggers.push(trigger);
    put_triggers(cx, &relation, triggers)?;
    if replaced.is_some() {
        // The copies fire as well, even those that were disabled.
        let choice = TriggerChoice::Named(create.name.clone());
        set_state_of_copies(cx, owner, &choice, ast::TriggerState::Origin)?;
    }
    Ok(())
}

/// 0A000 for a trigger that a partitioned table cannot have.
fn check_partitioned(relation: &Relation, create: &CreateTrigger) -> Result<()> {
    let Relation::Table(table) = relation else { return Ok(()) };
    if table.partitioning.is_none() {
        return Ok(());
    }
    if create.for_each_row && !create.transitions.is_empty() {
        let message = format!("\"{}\" is a partitioned table", table.name);
        return Err(unsupported(&message).detail(
            "ROW triggers with transition tables are not supported on partitioned tables.",
        ));
    }
    Ok(())
}

fn timing(written: ast::TriggerTiming) -> TriggerTiming {
    match written {
        ast::TriggerTiming::Before => TriggerTiming::Before,
        ast::TriggerTiming::After => TriggerTiming::After,
        ast::TriggerTiming::InsteadOf => TriggerTiming::InsteadOf,
    }
}

fn event(written: ast::TriggerEvent) -> TriggerEvent {
    match written {
        ast::TriggerEvent::Insert => TriggerEvent::Insert,
        ast::TriggerEvent::Update => TriggerEvent::Update,
        ast::TriggerEvent::Delete => TriggerEvent::Delete,
        ast::TriggerEvent::Truncate => TriggerEvent::Truncate,
    }
}

fn is_for(create: &CreateTrigger, event: ast::TriggerEvent) -> bool {
    create.events.contains(&event)
}

/// 42809 for a trigger that this kind of relation cannot have.
fn check_kind(relation: &Relation, create: &CreateTrigger) -> Result<()> {
    let is_instead = create.timing == ast::TriggerTiming::InsteadOf;
    let wrong = |detail: &str| {
        let message = format!("\"{}\" is a {}", relation.name(), relation.kind());
        Err(Error::new(SqlState::WrongObjectType, message).detail(detail))
    };
    match relation {
        Relation::View(_) if !is_instead && create.for_each_row => {
            wrong("Views cannot have row-level BEFORE or AFTER triggers.")
        }
        Relation::View(_) if is_for(create, ast::TriggerEvent::Truncate) => {
            wrong("Views cannot have TRUNCATE triggers.")
        }
        Relation::Table(_) if is_instead => wrong("Tables cannot have INSTEAD OF triggers."),
        _ => Ok(()),
    }
}

/// 0A000 for combinations that mean nothing.
fn check_form(create: &CreateTrigger) -> Result<()> {
    if create.for_each_row && is_for(create, ast::TriggerEvent::Truncate) {
        return Err(unsupported("TRUNCATE FOR EACH ROW triggers are not supported"));
    }
    if create.timing != ast::TriggerTiming::InsteadOf {
        return Ok(());
    }
    if !create.for_each_row {
        return Err(unsupported("INSTEAD OF triggers must be FOR EACH ROW"));
    }
    if create.when.is_some() {
        return Err(unsupported("INSTEAD OF triggers cannot have WHEN conditions"));
    }
    if !create.columns.is_empty() {
        return Err(unsupported("INSTEAD OF triggers cannot have column lists"));
    }
    Ok(())
}

/// 0A000 and 42P17 for transition tables where there are none.
fn check_transitions(relation: &Relation, create: &CreateTrigger) -> Result<()> {
    use ast::TriggerEvent as E;
    for (place, transition) in create.transitions.iter().enumerate() {
        let word = if transition.is_new { "NEW" } else { "OLD" };
        if !transition.is_table {
            let message = "ROW variable naming in the REFERENCING clause is not supported";
            return Err(unsupported(message)
                .hint("Use OLD TABLE or NEW TABLE for naming transition tables."));
        }
        if let Relation::View(view) = relation {
            let message = format!("\"{}\" is a view", view.name);
            return Err(Error::new(SqlState::WrongObjectType, message)
                .detail("Triggers on views cannot have transition tables."));
        }
        if create.timing != ast::TriggerTiming::After {
            let message = "transition table name can only be specified for an AFTER trigger";
            return Err(invalid(message));
        }
        if is_for(create, E::Truncate) {
            let message = "TRUNCATE triggers with transition tables are not supported";
            return Err(unsupported(message));
        }
        if create.events.len() > 1 {
            let message =
                "transition tables cannot be specified for triggers with more than one event";
            return Err(unsupported(message));
        }
        if !create.columns.is_empty() {
            let message = "transition tables cannot be specified for triggers with column lists";
            return Err(unsupported(message));
        }
        let other = if transition.is_new { E::Insert } else { E::Delete };
        if !is_for(create, E::Update) && !is_for(create, other) {
            let events =
                if transition.is_new { "an INSERT or UPDATE" } else { "a DELETE or UPDATE" };
            let message = format!("{word} TABLE can only be specified for {events} trigger");
            return Err(invalid(&message));
        }
        let earlier = &create.transitions[..place];
        if earlier.iter().any(|known| known.is_new == transition.is_new) {
            return Err(invalid(&format!("{word} TABLE cannot be specified multiple times")));
        }
    }
    match create.transitions.as_slice() {
        [a, b] if fold(&a.name) == fold(&b.name) => {
            Err(invalid("OLD TABLE name and NEW TABLE name cannot be the same"))
        }
        _ => Ok(()),
    }
}

/// The stored form of WHEN.
fn condition(
    cx: &DdlContext<'_>,
    table: &Arc<Table>,
    create: &CreateTrigger,
) -> Result<Option<StoredExpr>> {
    let Some(when) = &create.when else { return Ok(None) };
    let found = cx.plan(|context| identify_when(when, table, context));
    let (stored, reads) = found.map_err(|error| match error.cause::<NoStoredForm>() {
        Some(_) => Error::unsupported("this WHEN condition of a trigger"),
        None => error,
    })?;
    check_reads(table, create, &reads).map_err(|(error, row)| {
        let start = braid_sql::offset_of(Spanned::span(when));
        error.position(braid_sql::find_token(cx.text, start, u32::MAX, row))
    })?;
    Ok(Some(stored))
}

/// 42P17 for a condition that reads a row which is not there, and the names of such rows.
fn check_reads(
    table: &Table,
    create: &CreateTrigger,
    reads: &ConditionReads,
) -> Result<(), (Error, &'static [&'static str])> {
    let reads_rows = !reads.old.is_empty() || !reads.new.is_empty();
    if reads_rows && !create.for_each_row {
        let message = "statement trigger's WHEN condition cannot reference column values";
        return Err((invalid(message), &["old", "new"]));
    }
    if !reads.old.is_empty() && is_for(create, ast::TriggerEvent::Insert) {
        let message = "INSERT trigger's WHEN condition cannot reference OLD values";
        return Err((invalid(message), &["old"]));
    }
    if !reads.new.is_empty() && is_for(create, ast::TriggerEvent::Delete) {
        let message = "DELETE trigger's WHEN condition cannot reference NEW values";
        return Err((invalid(message), &["new"]));
    }
    if create.timing != ast::TriggerTiming::Before {
        return Ok(());
    }
    let mut columns = reads.new.iter().filter_map(|place| table.columns.get(*place));
    match columns.find(|column| column.generated.is_some()) {
        Some(column) => {
            let message = "BEFORE trigger's WHEN condition cannot reference NEW generated columns";
            let detail = format!("Column \"{}\" is a generated column.", column.name);
            Err((invalid(message).detail(detail), &["new"]))
        }
        None => Ok(()),
    }
}

/// The function, which the user may call. 42883 if there is none, 42P17 if it is of another kind.
fn function_of(cx: &DdlContext<'_>, create: &CreateTrigger) -> Result<Arc<Routine>> {
    let written = parts(&create.function);
    let catalog = cx.catalog();
    let named = catalog.names().routines().named(cx.path(), &written);
    let shown = written.join(".");
    let found = named.into_iter().find(|routine| routine.parameters.is_empty());
    let built_in = match written.as_slice() {
        [name] => built_in_trigger_function(name),
        [schema, name] if schema == PG_CATALOG => built_in_trigger_function(name),
        _ => None,
    };
    if let (None, Some(built_in)) = (found, built_in) {
        return Ok(built_in.clone());
    }
    let Some(found) = found else {
        let name = written.last().map_or("", String::as_str);
        let is_built_in = braid_builtins::procedures()
            .iter()
            .any(|procedure| procedure.name == name && procedure.args.is_empty());
        if is_built_in {
            return Err(invalid(&format!("function {shown} must return type trigger")));
        }
        let message = format!("function {shown}() does not exist");
        return Err(Error::new(SqlState::UndefinedFunction, message));
    };
    catalog.privileges().check(cx.user(), Object::Routine(found), "EXECUTE")?;
    if is_temporary(found.id) {
        return Err(Error::unsupported("a trigger with a function in pg_temp"));
    }
    if !found.is_for_triggers() {
        return Err(invalid(&format!("function {shown} must return type trigger")));
    }
    Ok(found.clone())
}

/// The trigger that OR REPLACE replaces. 42710 if there is one that stays.
fn replaced(relation: &Relation, create: &CreateTrigger, name: &str) -> Result<Option<Trigger>> {
    let Some(old) = relation.triggers().iter().find(|trigger| trigger.name == name) else {
        return Ok(None);
    };
    if !create.or_replace {
        return Err(duplicate(name, relation.name()));
    }
    if old.constraint.is_some() {
        let message = format!(
            "trigger \"{name}\" for relation \"{}\" is a constraint trigger",
            relation.name()
        );
        return Err(Error::new(SqlState::DuplicateObject, message));
    }
    Ok(Some(old.clone()))
}

/// The columns of UPDATE OF.
fn columns(table: &Table, create: &CreateTrigger) -> Result<Vec<ColumnId>> {
    let mut columns = Vec::with_capacity(create.columns.len());
    for ident in &create.columns {
        let name = fold(ident);
        let found = table.visible_columns().find(|column| column.name == name);
        let Some(column) = found else { return Err(undefined_column(&table.name, &name)) };
        if columns.contains(&column.id) {
            let message = format!("column \"{name}\" specified more than once");
            return Err(Error::new(SqlState::DuplicateColumn, message));
        }
        columns.push(column.id);
    }
    Ok(columns)
}

//! UPDATE.

use braid_catalog::partitions::is_referenced;
use braid_catalog::{Catalog, TriggerEvent, is_temporary};
use braid_codec::key::is_exact;
use braid_sql::ast::{Returning, Update as AstUpdate};
use braid_types::{Error, Result};

use super::cascade::{Change, bind_cascades};
use super::shown::{bind_set, shown_scan};
use super::target::{bind_returning, filtered, refuse_current_of, target_first, target_input};
use super::triggers::updated_places;
use super::view::{ChangeTarget, change_target};
use crate::bind::Binder;
use crate::bind::bound_statement::BoundStatement;
use crate::bind::from::privileges::guarding;
use crate::bind::partitions::changes::{bind_for_each, moves_of};
use crate::bind::partitions::routes::bind_destination;
use crate::bind::query::lock::{lock_rows, slots_of};
use crate::bind::scope::columns::Scope;
use crate::bind::stored::{bind_generated, index_exprs};
use crate::context::{OutputColumn, StatementKind};
use crate::rules::walk;
use crate::tree::expr::{Expr, Slot};
use crate::tree::node::{Destination, IndexPart, LockRows, Node, Recheck, Update};

pub(crate) fn bind_update(binder: &mut Binder<'_>, update: &AstUpdate) -> Result<BoundStatement> {
    refuse_current_of(update.current_of.as_ref())?;
    let target = change_target(binder, &update.table, "update")?;
    match target.partitioned() {
        Some(root) => {
            bind_for_each(binder, &root, |binder, target| update_of(binder, update, target))
        }
        None => update_of(binder, update, &target).map(|(bound, _)| bound),
    }
}

/// The UPDATE of one table, and whether it reads the rows that it changes.
fn update_of(
    binder: &mut Binder<'_>,
    update: &AstUpdate,
    target: &ChangeTarget,
) -> Result<(BoundStatement, bool)> {
    let secured = target.secured(binder)?;
    let read_before = binder.reads_target.replace(false);
    let (table, shown) = (target.table.clone(), target.shown.clone());
    let alias = update.alias.as_ref().map(braid_sql::fold);
    let (node, mut scope) = shown_scan(binder, target, alias.as_deref())?;
    let slots = node.slots();
    let (input, from_scope) =
        guarding(binder, &shown, &slots, |this| target_input(this, node, &update.from))?;
    scope.merge(from_scope.clone())?;
    let mut input = guarding(binder, &shown, &slots, |this| {
        filtered(this, input, update.selection.as_ref(), &scope)
    })?;
    let assignments = guarding(binder, &shown, &slots, |this| {
        bind_set(this, &update.assignments, target, &scope)
    })?;
    let places: Vec<usize> = assignments.iter().map(|(place, _)| *place).collect();
    target.check_columns(binder, "UPDATE", &places)?;
    let row_slots: Vec<Slot> = table.columns.iter().map(|_| binder.slot()).collect();
    let returned = bind_returned(binder, update, target, &row_slots, from_scope)?;
    let Returned { columns, returning, destination } = returned;
    let reads = binder.reads_target.replace(read_before);
    target.check_reads(binder, reads)?;
    let mut checks = target.checks(binder, &row_slots)?;
    if let Some(secured) = &secured {
        checks.extend(secured.changed(binder, &mut input, reads, (&slots, &row_slots))?);
    }
    let mut input = lock_rows(input)?;
    let change = Change::update(&table, places.iter().copied());
    let updated = updated_places(&table, places.into_iter());
    let moves = moves_of(binder, target, &mut checks, &updated)?;
    let (events, change) = match moves {
        Some(_) => (&[TriggerEvent::Update, TriggerEvent::Delete][..], change.or(Change::delete())),
        None => (&[TriggerEvent::Update][..], change),
    };
    let triggers = target.own_triggers(binder, events, &updated, &[TriggerEvent::Update])?;
    let mut plan = Update {
        generated: bind_generated(binder, &table, &row_slots)?,
        checks,
        index_exprs: index_exprs(binder, &table, &row_slots)?,
        cascades: bind_cascades(binder, &table, change)?,
        triggers,
        instead: target.instead,
        moves,
        destination,
        table,
        input: Node::one_row(),
        assignments,
        row_slots,
        returning,
    };
    if let Node::LockRows(lock) = &mut input {
        lock_families(binder.context().catalog, &plan, lock)?;
    }
    plan.input = target_first(input, &update.from, &scope);
    let bound = BoundStatement {
        kind: StatementKind::Update,
        is_write: !is_temporary(plan.table.id),
        root: Node::Update(Box::new(plan)),
        columns,
        returning_nothing: matches!(update.returning, Returning::Nothing),
    };
    Ok((bound, reads))
}

/// RETURNING of an UPDATE.
struct Returned {
    columns: Vec<OutputColumn>,
    returning: Vec<(Slot, Expr)>,
    /// Where rows go, if RETURNING asks for it.
    destination: Option<Box<Destination>>,
}

/// RETURNING sees the new row where it goes, and FROM's columns as they were.
fn bind_returned(
    binder: &mut Binder<'_>,
    update: &AstUpdate,
    target: &ChangeTarget,
    row_slots: &[Slot],
    from_scope: Scope,
) -> Result<Returned> {
    let alias = update.alias.as_ref().map(braid_sql::fold);
    let mut after = target.row(binder, alias.as_deref(), row_slots)?;
    let oid = target.through.as_ref().map(|root| (root, binder.slot()));
    after.sources.iter_mut().for_each(|source| source.oid = oid.map(|(_, slot)| slot));
    after.merge(from_scope)?;
    let (columns, returning) = guarding(binder, &target.shown, row_slots, |this| {
        bind_returning(this, &update.returning, &after)
    })?;
    let read = slots_of(returning.iter().map(|(_, e)| e));
    let destination = match oid.filter(|(_, slot)| read.contains(slot)) {
        Some((root, slot)) => {
            Some(Box::new(bind_destination(binder, root, (&target.table, row_slots), slot)?))
        }
        None => None,
    };
    Ok(Returned { columns, returning, destination })
}

/// Lets an UPDATE lock and read only the families of the columns that it reads or writes, so
/// that writers of different families of one row do not meet. One that moves the row, touches a
/// foreign key or fires triggers takes all of it.
fn lock_families(catalog: &Catalog, update: &Update, lock: &mut LockRows) -> Result<()> {
    let table = &update.table;
    let [target] = &mut lock.targets[..] else { return Ok(()) };
    let checked = !table.foreign_keys.is_empty() || is_referenced(catalog, table);
    let is_whole = !update.triggers.is_empty() || update.moves.is_some();
    if table.families.len() < 2 || checked || is_whole {
        return Ok(());
    }
    let mut read = slots_of(
        lock.recheck
            .iter()
            .flat_map(Recheck::exprs)
            .chain(update.assignments.iter().chain(&update.generated).map(|(_, e)| e))
            .chain(update.checks.iter().map(|(_, e)| e))
            .chain(update.index_exprs.iter().map(|(_, e)| e))
            .chain(update.moves.iter().map(|moves| &moves.stays))
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

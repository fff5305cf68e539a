//! DELETE.

use std::collections::BTreeSet;

use braid_catalog::{PolicyCommand, TriggerEvent, is_temporary};
use braid_sql::ast::{Delete as AstDelete, Returning};
use braid_sql::quote_ident;
use braid_types::Result;

use super::cascade::{Change, bind_cascades};
use super::shown::shown_scan;
use super::target::{bind_returning, filtered, refuse_current_of, target_first, target_input};
use super::view::{ChangeTarget, change_target};
use crate::bind::Binder;
use crate::bind::bound_statement::BoundStatement;
use crate::bind::from::privileges::guarding;
use crate::bind::partitions::changes::bind_for_each;
use crate::bind::query::lock::lock_rows;
use crate::bind::stored::index_exprs;
use crate::context::StatementKind;
use crate::range_delete::range_delete;
use crate::tree::expr::{Expr, Slot};
use crate::tree::node::{Delete, Node};
use crate::tree::range::Refusal;

pub(crate) fn bind_delete(binder: &mut Binder<'_>, delete: &AstDelete) -> Result<BoundStatement> {
    refuse_current_of(delete.current_of.as_ref())?;
    let target = change_target(binder, &delete.table, "delete from")?;
    target.check(binder, "DELETE")?;
    match target.partitioned() {
        Some(root) => {
            bind_for_each(binder, &root, |binder, target| delete_of(binder, delete, target))
        }
        None => delete_of(binder, delete, &target).map(|(bound, _)| bound),
    }
}

/// The DELETE from one table, and whether it reads the rows that it deletes.
fn delete_of(
    binder: &mut Binder<'_>,
    delete: &AstDelete,
    target: &ChangeTarget,
) -> Result<(BoundStatement, bool)> {
    let secured = target.secured(binder)?;
    let read_before = binder.reads_target.replace(false);
    let (table, shown) = (target.table.clone(), target.shown.clone());
    let alias = delete.alias.as_ref().map(braid_sql::fold);
    let (node, mut scope) = shown_scan(binder, target, alias.as_deref())?;
    let target_slots: Vec<Slot> = node.slots();
    let (input, from_scope) =
        guarding(binder, &shown, &target_slots, |this| target_input(this, node, &delete.using))?;
    let mut returned = match target.reorders() {
        true => target.row(binder, alias.as_deref(), &target_slots)?,
        false => scope.clone(),
    };
    returned.merge(from_scope.clone())?;
    scope.merge(from_scope)?;
    let mut input = guarding(binder, &shown, &target_slots, |this| {
        filtered(this, input, delete.selection.as_ref(), &scope)
    })?;
    let (columns, returning): (_, Vec<(Slot, Expr)>) =
        guarding(binder, &shown, &target_slots, |this| {
            bind_returning(this, &delete.returning, &returned)
        })?;
    let reads = binder.reads_target.replace(read_before);
    target.check_reads(binder, reads)?;
    if let Some(secured) = &secured {
        secured.hide(binder, &mut input, (PolicyCommand::Delete, reads), &target_slots)?;
    }
    let input = target_first(lock_rows(input)?, &delete.using, &scope);
    let (events, updated) = ([TriggerEvent::Delete], BTreeSet::new());
    let triggers = target.own_triggers(binder, &events, &updated, &events)?;
    let mut range = range_delete(binder.context().catalog, &table);
    if range.is_some() {
        let below = binder.context().catalog.interleaving().below(&table);
        binder.tables.extend(below.iter().map(|(table, _)| table.id));
    }
    if let (Some(range), Some(trigger)) = (&mut range, triggers.needing_rows(TriggerEvent::Delete))
    {
        *range = Err(Refusal::of("trigger", quote_ident(&trigger.name)));
    }
    let is_write = !is_temporary(table.id);
    let root = Node::Delete(Box::new(Delete {
        index_exprs: index_exprs(binder, &table, &target_slots)?,
        cascades: bind_cascades(binder, &table, Change::delete())?,
        triggers,
        table,
        input,
        instead: target.instead,
        returning,
        returning_nothing: matches!(delete.returning, Returning::Nothing),
        range,
    }));
    let bound = BoundStatement {
        kind: StatementKind::Delete,
        root,
        columns,
        is_write,
        returning_nothing: matches!(delete.returning, Returning::Nothing),
    };
    Ok((bound, reads))
}

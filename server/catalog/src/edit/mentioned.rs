//! The numbers of other objects in a descriptor: in its fields, its types and its stored texts.

use std::collections::BTreeSet;

use braid_types::SqlType;
use braid_types::sql_type::user_types;

use crate::mentioning::mentioned_as;
use crate::{
    Column, Composite, Domain, Id, Routine, Sequence, StoredExpr, StoredQuery, Table, Trigger,
    View, enums_named,
};

/// The numbers that were found so far.
#[derive(Default)]
struct Mentioned {
    ids: BTreeSet<Id>,
}

pub(super) fn by_table(table: &Table) -> BTreeSet<Id> {
    let mut found = Mentioned::default();
    for column in &table.columns {
        found.column(column);
    }
    table.checks.iter().for_each(|check| found.expr(&check.expr));
    for index in &table.indexes {
        index.predicate.iter().for_each(|expr| found.expr(expr));
    }
    for condition in table.security.policies.iter().flat_map(|policy| policy.conditions()) {
        found.expr(&condition.expr);
        found.add(condition.uses.iter().map(|(id, _)| *id));
    }
    for object in &table.statistics {
        object.exprs.iter().for_each(|expr| found.expr(expr));
    }
    found.triggers(&table.triggers);
    if let Some(materialized) = &table.materialized {
        found.query(materialized.stored.as_ref());
        found.add(materialized.depends_on.iter().copied());
    }
    found.ids
}

pub(super) fn by_view(view: &View) -> BTreeSet<Id> {
    let mut found = Mentioned::default();
    found.query(view.stored.as_ref());
    found.add(view.depends_on.iter().copied());
    view.columns.iter().for_each(|(_, ty)| found.ty(ty));
    found.add(view.domains.iter().map(|(_, domain)| *domain));
    view.defaults.iter().for_each(|(_, expr)| found.expr(expr));
    found.triggers(&view.triggers);
    found.ids
}

pub(super) fn by_sequence(sequence: &Sequence) -> BTreeSet<Id> {
    sequence.owned_by.iter().map(|(table, _)| *table).collect()
}

pub(super) fn by_composite(composite: &Composite) -> BTreeSet<Id> {
    let mut found = Mentioned::default();
    composite.columns.iter().for_each(|column| found.column(column));
    found.ids
}

pub(super) fn by_domain(domain: &Domain) -> BTreeSet<Id> {
    let mut found = Mentioned::default();
    found.ty(&domain.base);
    found.add(domain.parent);
    domain.default.iter().for_each(|expr| found.expr(expr));
    domain.checks.iter().for_each(|check| found.expr(&check.expr));
    found.ids
}

pub(super) fn by_routine(routine: &Routine) -> BTreeSet<Id> {
    let mut found = Mentioned::default();
    for parameter in &routine.parameters {
        found.ty(&parameter.ty);
        found.add(parameter.domain);
        parameter.default.iter().for_each(|expr| found.expr(expr));
    }
    found.ty(routine.result_type());
    found.add(routine.result_domain);
    found.add(routine.uses.iter().copied());
    if let Some(parts) = &routine.aggregate {
        found.ty(&parts.state);
        found.add(parts.functions().filter_map(|part| part.routine()));
    }
    found.ids
}

impl Mentioned {
    fn add(&mut self, ids: impl IntoIterator<Item = Id>) {
        self.ids.extend(ids.into_iter().map(mentioned_as));
    }

    fn ty(&mut self, ty: &SqlType) {
        self.add(user_types(ty));
    }

    fn expr(&mut self, expr: &StoredExpr) {
        self.add(enums_named(expr.sql()));
        self.add(expr.sequences());
    }

    fn query(&mut self, stored: Option<&StoredQuery>) {
        let Some(stored) = stored else { return };
        self.add(enums_named(&stored.query));
        self.add(stored.uses.iter().map(|(id, _)| *id));
    }

    fn column(&mut self, column: &Column) {
        self.ty(&column.ty);
        self.add(column.domain);
        column.default.iter().chain(&column.generated).for_each(|expr| self.expr(expr));
    }

    fn triggers(&mut self, triggers: &[Trigger]) {
        for trigger in triggers {
            self.add([trigger.function]);
            self.add(trigger.constraint.as_ref().and_then(|constraint| constraint.from));
            trigger.when.iter().for_each(|expr| self.expr(expr));
        }
    }
}

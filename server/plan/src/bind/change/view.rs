//! The target of a change as the statement names it: a table, or a view that can be written to.
//!
//! A change of a view is one of its table: columns have the view's names, only rows that the views
//! show are touched, and the table's privileges are those of the views' owners.

use std::collections::BTreeSet;
use std::sync::Arc;

use braid_catalog::{
    CheckOption, ColumnId, Id, Index, NotWritable, Object, Relation, Table, Trigger, TriggerEvent,
    TriggerTiming, View, ViewLayer, ViewOutput, WritableView,
};
use braid_sql::ast::ObjectName;
use braid_types::{Error, Result, SqlState};

use super::target::{replace_columns, target_table};
use super::triggers::{bind_triggers, root_triggers};
use crate::bind::Binder;
use crate::bind::expr::scalar::bind_expr;
use crate::bind::from::items::{find_relation, name_parts};
use crate::bind::from::security::Secured;
use crate::bind::from::system_columns::table_source;
use crate::bind::from::table_function::refuse_transition;
use crate::bind::partitions::condition::row_checks;
use crate::bind::partitions::leaves::place_in;
use crate::bind::query::ordered::plain_column;
use crate::bind::scope::columns::{RowSource, Scope, ScopeColumn, ScopeTable, Scopes};
use crate::bind::scope::context::ExprCx;
use crate::bind::scope::places::bind_condition;
use crate::bind::stored::target_row;
use crate::tree::expr::{Expr, Slot};
use crate::tree::node::{OnConflict, RowCheck, ScannedPartition, TableTriggers};

/// The target of a change.
pub(crate) struct ChangeTarget {
    /// The table whose rows change.
    pub(crate) table: Arc<Table>,
    /// What the statement knows of it: of a view, a table of the view's names and privileges whose
    /// other columns are hidden.
    pub(crate) shown: Arc<Table>,
    /// The places of the columns that `*` stands for, in order; `None` for one that is computed.
    pub(super) columns: Vec<Option<usize>>,
    /// The names of columns of a view that show the same column of the table as one before, and its
    /// place: they are read as computed ones, and written as the first.
    pub(super) repeated: Vec<(String, usize)>,
    /// The views on the way to the table, the outermost first.
    pub(super) layers: Vec<ViewLayer>,
    /// The target is a view whose INSTEAD OF triggers change what it shows; `table` is the view as
    /// a table.
    pub(crate) instead: bool,
    /// `table` is changed as a partition of this one, which the statement names.
    pub(crate) through: Option<Arc<Table>>,
    /// A partitioned table without its partitions.
    pub(super) only: bool,
    /// What a scan of the partition knows of the keys of its rows.
    pub(super) partition: Option<Arc<ScannedPartition>>,
}

/// The target of a change; `action` is `update`, `insert into` or `delete from`. 55000 for a view
/// that cannot be written to.
pub(crate) fn change_target(
    binder: &mut Binder<'_>,
    name: &ObjectName,
    action: &str,
) -> Result<ChangeTarget> {
    refuse_transition(binder, &name_parts(name))?;
    if let Relation::View(view) = find_relation(binder, name)? {
        if has_instead(&view, action) {
            let table = Arc::new(view.as_table());
            let columns = (0..table.columns.len()).map(Some).collect();
            let (shown, layers) = (table.clone(), Vec::new());
            return Ok(ChangeTarget {
                instead: true,
                ..ChangeTarget::new(table, shown, columns, layers)
            });
        }
        return view_target(binder, &view, action);
    }
    let table = target_table(binder, name, action)?;
    let only = braid_sql::is_only(name) && table.partitioning.is_some();
    let places = (0..table.columns.len()).filter(|place| !table.columns[*place].hidden);
    let columns = places.map(Some).collect();
    Ok(ChangeTarget { only, ..ChangeTarget::new(table.clone(), table, columns, Vec::new()) })
}

/// Whether a view has a trigger that does the work of an action.
fn has_instead(view: &View, action: &str) -> bool {
    let event = match action {
        "update" => TriggerEvent::Update,
        "insert into" => TriggerEvent::Insert,
        _ => TriggerEvent::Delete,
    };
    let is_instead =
        |trigger: &Trigger| trigger.timing == TriggerTiming::InsteadOf && trigger.is_for(event);
    view.triggers.iter().any(is_instead)
}

fn view_target(binder: &mut Binder<'_>, view: &Arc<View>, action: &str) -> Result<ChangeTarget> {
    let catalog = binder.context().catalog;
    let found = WritableView::open(catalog, view, &braid_builtins::makes_other_rows);
    let found = found.and_then(|found| match action {
        "delete from" => Ok(found),
        _ => found.check_columns().map(|()| found),
    });
    let found = found.map_err(|why| not_writable(view, action, why))?;
    if let Some(lower) = found.layers.iter().skip(1).find(|it| has_instead(&it.view, action)) {
        let (name, lower) = (&view.name, &lower.view.name);
        let message = format!("changing view \"{name}\" over \"{lower}\", which has triggers,");
        return Err(Error::unsupported(message));
    }
    if action == "insert into" {
        check_defaults(view, &found)?;
    }
    binder.tables.extend(found.layers.iter().map(|layer| layer.view.id));
    let mut shown = Table::clone(&found.table);
    for column in &mut shown.columns {
        // No name that a statement can write.
        column.name = format!("\0{}", column.id);
        column.hidden = true;
    }
    for ((number, place), (name, _)) in (1..).zip(&found.columns).zip(&view.columns) {
        let Some(place) = *place else { continue };
        let column = &mut shown.columns[place];
        column.name.clone_from(name);
        column.hidden = false;
        if let Some((_, default)) = view.defaults.iter().find(|(known, _)| *known == number) {
            column.default = Some(default.clone());
        }
    }
    shown.id = view.id;
    shown.schema = view.schema;
    shown.owner = view.owner;
    shown.name.clone_from(&view.name);
    shown.grants.clone_from(&view.grants);
    let names = view.columns.iter().zip(found.columns.iter().zip(&found.written));
    let repeated = names.filter_map(|((name, _), (read, written))| match read {
        None => written.map(|place| (name.clone(), place)),
        Some(_) => None,
    });
    let repeated = repeated.collect();
    let (table, layers, columns) = (found.table, found.layers, found.columns);
    if table.partitioning.is_some() {
        let message = format!("changing view \"{}\" over a partitioned table", view.name);
        return Err(Error::unsupported(message).hint("Change the table itself."));
    }
    Ok(ChangeTarget { repeated, ..ChangeTarget::new(table, Arc::new(shown), columns, layers) })
}

/// 0A000 for a computed column of a view that is to get a value.
pub(super) fn computed_column(view: &View, name: &str, action: &str) -> Error {
    let message = format!("cannot {action} column \"{name}\" of view \"{}\"", view.name);
    Error::new(SqlState::FeatureNotSupported, message)
        .detail("View columns that are not columns of their base relation are not updatable.")
}

/// 0A000 for a view's own default of a column that is no column of its table.
fn check_defaults(view: &View, found: &WritableView) -> Result<()> {
    let columns = (1..).zip(found.columns.iter().zip(&view.columns));
    let has_default = |number: ColumnId| view.defaults.iter().any(|(known, _)| *known == number);
    for (number, (place, (name, _))) in columns {
        if place.is_none() && has_default(number) {
            return Err(computed_column(view, name, "insert into"));
        }
    }
    Ok(())
}

/// 55000 with PostgreSQL's advice.
fn not_writable(view: &View, action: &str, why: NotWritable) -> Error {
    let (doing, event) = match action {
        "update" => ("updating the view", "UPDATE"),
        "insert into" => ("inserting into the view", "INSERT"),
        _ => ("deleting from the view", "DELETE"),
    };
    let name = &view.name;
    let message = format!("cannot {action} view \"{name}\"");
    Error::new(SqlState::ObjectNotInPrerequisiteState, message)
        .detail(format!("{} are not automatically updatable.", why.0))
        .hint(format!(
            "To enable {doing}, provide an INSTEAD OF {event} trigger or an unconditional \
             ON {event} DO INSTEAD rule."
        ))
}

impl ChangeTarget {
    fn new(
        table: Arc<Table>,
        shown: Arc<Table>,
        columns: Vec<Option<usize>>,
        layers: Vec<ViewLayer>,
    ) -> Self {
        let (instead, only, through, partition) = (false, false, None, None);
        let repeated = Vec::new();
        Self { table, shown, columns, repeated, layers, instead, through, only, partition }
    }

    /// The places of the columns that an INSERT without a list of them fills.
    pub(crate) fn filled_places(&self) -> Vec<usize> {
        self.columns.iter().map_while(|place| *place).collect()
    }

    /// The number that a column of the table has among those of the target.
    pub(super) fn number_of(&self, place: usize) -> Option<ColumnId> {
        (1..).zip(&self.columns).find(|(_, known)| **known == Some(place)).map(|(number, _)| number)
    }

    /// A partition under the name of the table that the statement names. The privileges are those
    /// of that table and of its columns, under the partition's numbers.
    pub(crate) fn of_partition(
        root: &Arc<Table>,
        leaf: &Arc<Table>,
        partition: Option<Arc<ScannedPartition>>,
    ) -> Self {
        let mut shown = Table::clone(leaf);
        (shown.id, shown.schema, shown.owner) = (root.id, root.schema, root.owner);
        shown.name.clone_from(&root.name);
        shown.grants.clone_from(&root.grants);
        for column in &mut shown.columns {
            let upper = root.visible_columns().find(|upper| upper.name == column.name);
            column.hidden = upper.is_none();
            column.grants = upper.map(|upper| upper.grants.clone()).unwrap_or_default();
            if let Some(upper) = upper {
                column.default.clone_from(&upper.default);
                (column.identity, column.owned_sequence) = (upper.identity, upper.owned_sequence);
            }
        }
        // ON CONFLICT names the constraints of the root.
        let upper = |index: &Index| {
            let upper = root.all_indexes().find(|upper| Some(upper.id) == index.part_of);
            upper.map(|upper| upper.name.clone())
        };
        for index in std::iter::once(&mut shown.primary).chain(&mut shown.indexes) {
            if let Some(name) = upper(index) {
                index.name = name;
            }
        }
        let places = root.visible_columns().filter_map(|upper| place_in(leaf, &upper.name));
        let columns = places.map(Some).collect();
        let target = Self::new(leaf.clone(), Arc::new(shown), columns, Vec::new());
        Self { through: Some(root.clone()), partition, ..target }
    }

    /// The table that the statement names, if it is partitioned.
    pub(crate) fn partitioned(&self) -> Option<Arc<Table>> {
        let is_root = self.through.is_none() && self.table.partitioning.is_some() && !self.only;
        is_root.then(|| self.table.clone())
    }

    /// Whether columns have another order than those of the table.
    pub(crate) fn reorders(&self) -> bool {
        self.is_view() || self.through.is_some()
    }

    /// The policies that hold for the change of the table.
    pub(crate) fn secured(&self, binder: &Binder<'_>) -> Result<Option<Secured>> {
        if self.instead {
            return Ok(None);
        }
        if let Some(root) = &self.through {
            // The policies of a partitioned table count, not those of its partitions.
            let secured = Secured::of(binder, root, binder.view_owner)?;
            return Ok(secured.map(|secured| secured.of_partition(&self.table)));
        }
        Secured::of(binder, &self.table, self.reader(binder, self.layers.len()))
    }

    /// The role whose privileges count below the first views of the way, `depth` of them.
    pub(super) fn reader(&self, binder: &Binder<'_>, depth: usize) -> Option<Id> {
        let last = depth.checked_sub(1).and_then(|last| self.layers.get(last));
        last.map_or(binder.view_owner, |layer| layer.view.reader())
    }

    /// The target's row, whose columns are in these slots.
    pub(crate) fn row(
        &self,
        binder: &mut Binder<'_>,
        alias: Option<&str>,
        slots: &[Slot],
    ) -> Result<Scope> {
        let mut scope = target_row(binder, &self.shown, alias, slots)?;
        if !self.layers.is_empty() {
            // A view's rows have no system columns, and its columns have their own order.
            scope.sources.clear();
            self.number_columns(slots, &mut scope);
        }
        for source in scope.sources.iter_mut().filter(|_| self.through.is_some()) {
            source.relation = self.table.id;
        }
        if self.reorders() {
            let computed = self.add_computed(binder, alias, slots, &mut scope)?;
            let order = |slot: Slot| {
                let place = slots.iter().position(|known| *known == slot);
                let own = self.columns.iter().position(|known| known.is_some() && *known == place);
                let own = own.filter(|_| place.is_some());
                own.or_else(|| computed.iter().find(|(known, _)| *known == slot).map(|(_, at)| *at))
            };
            let last = self.columns.len();
            scope.columns.sort_by_key(|column| order(column.slot).unwrap_or(last));
        }
        Ok(scope)
    }

    /// Gives the columns of a row's scope the numbers that they have in the view: its row type has
    /// them in that order.
    pub(super) fn number_columns(&self, slots: &[Slot], scope: &mut Scope) {
        for column in &mut scope.columns {
            let place = slots.iter().position(|slot| *slot == column.slot);
            if let Some(number) = place.and_then(|place| self.number_of(place)) {
                column.origin = (self.shown.id, number);
            }
        }
    }

    /// Adds the computed columns of the view to a row's scope: their slots, and their places among
    /// the view's columns. Expressions that read them are settled afterwards
    /// ([`super::target::settle`]).
    pub(super) fn add_computed(
        &self,
        binder: &mut Binder<'_>,
        alias: Option<&str>,
        slots: &[Slot],
        scope: &mut Scope,
    ) -> Result<Vec<(Slot, usize)>> {
        let Some(layer) = self.layers.first() else { return Ok(Vec::new()) };
        if self.columns.iter().all(Option::is_some) {
            return Ok(Vec::new());
        }
        let view = &layer.view;
        let shown = alias.unwrap_or(&view.name);
        let schema = scope.columns.first().and_then(|column| column.schema.clone());
        let output = self.outputs(binder, 0, slots)?;
        let mut added = Vec::new();
        for (place, e) in output.into_iter().enumerate() {
            if self.columns.get(place).is_none_or(Option::is_some) {
                continue;
            }
            let (slot, name) = (binder.slot(), &view.columns[place].0);
            let number = u16::try_from(place + 1).unwrap_or(u16::MAX);
            let column = plain_column(shown, name, slot, e.ty());
            let (schema, origin) = (schema.clone(), (view.id, number));
            scope.columns.push(ScopeColumn { schema, origin, ..column });
            binder.narrowed.insert(slot, (view.id, number));
            binder.computed.push((slot, e));
            added.push((slot, place));
        }
        Ok(added)
    }

    /// The columns of a layer's item of FROM, over the table's row.
    fn items(
        &self,
        binder: &mut Binder<'_>,
        place: usize,
        slots: &[Slot],
    ) -> Result<Vec<(u16, String, Expr)>> {
        let Some(layer) = self.layers.get(place) else { return Ok(Vec::new()) };
        if let Some(lower) = self.layers.get(place + 1) {
            let names = lower.view.columns.iter().map(|(name, _)| name.clone());
            let output = self.outputs(binder, place + 1, slots)?;
            return Ok((1..).zip(names).zip(output).map(|((n, name), e)| (n, name, e)).collect());
        }
        let column = |(number, place): &(u16, usize)| {
            let column = &self.table.columns[*place];
            (*number, column.name.clone(), Expr::Column(slots[*place], column.ty.clone()))
        };
        // A whole row of the table has no columns that no query sees.
        let is_visible = |(_, place): &&(u16, usize)| !self.table.columns[*place].hidden;
        Ok(layer.columns.iter().filter(is_visible).map(column).collect())
    }

    /// The columns of a layer's view, over the table's row.
    fn outputs(&self, binder: &mut Binder<'_>, place: usize, slots: &[Slot]) -> Result<Vec<Expr>> {
        let Some(layer) = self.layers.get(place) else { return Ok(Vec::new()) };
        let items = self.items(binder, place, slots)?;
        let mut output = Vec::with_capacity(layer.output.len());
        for column in &layer.output {
            output.push(match column {
                ViewOutput::Column(number) => {
                    let found = items.iter().find(|(known, ..)| known == number);
                    let missing = || Error::broken("a view shows a column that is not there");
                    found.map(|(_, _, e)| e.clone()).ok_or_else(missing)?
                }
                ViewOutput::Computed(ast) => {
                    self.over_items(binder, (place, slots), &items, |binder, scopes| {
                        bind_expr(binder, ast, &mut ExprCx::plain(scopes, "SELECT"))
                    })?
                }
            });
        }
        Ok(output)
    }

    /// What SET assigns to: DEFAULT is a view's own default there.
    pub(crate) fn assigned(&self) -> Arc<Table> {
        let Some(layer) = self.layers.first() else { return self.shown.clone() };
        let mut assigned = Table::clone(&self.shown);
        for (place, column) in assigned.columns.iter_mut().enumerate() {
            let number = self.number_of(place);
            let own = layer.view.defaults.iter();
            let mut own = own.filter(|(of, _)| number == Some(*of));
            column.default = own.next().map(|(_, default)| default.clone());
        }
        Arc::new(assigned)
    }

    /// The places in the table of columns that are at these places of the table that the
    /// statement names.
    pub(crate) fn own_places(&self, places: &[usize]) -> Vec<usize> {
        match &self.through {
            None => places.to_vec(),
            Some(root) => {
                let names = places.iter().filter_map(|place| root.columns.get(*place));
                names.filter_map(|column| place_in(&self.table, &column.name)).collect()
            }
        }
    }

    /// The triggers that these events fire on it: those of statements only for the table that is
    /// named, for the events that the statement is.
    pub(crate) fn own_triggers(
        &self,
        binder: &mut Binder<'_>,
        events: &[TriggerEvent],
        updated: &BTreeSet<usize>,
        of_statement: &[TriggerEvent],
    ) -> Result<Arc<TableTriggers>> {
        let triggers = bind_triggers(binder, &self.table, events, updated)?;
        let Some(root) = &self.through else { return Ok(triggers) };
        let rows = triggers.list.iter().filter(|planned| planned.trigger.for_each_row);
        let list = rows.cloned().collect();
        let of_root = root_triggers(binder, root, &self.table, (of_statement, updated))?;
        Ok(Arc::new(TableTriggers { list, adjusted: triggers.adjusted.clone(), of_root }))
    }

    /// The checks of rows that were routed to a partition: its bound only if something may change
    /// them afterwards.
    pub(crate) fn routed_checks(
        &self,
        binder: &mut Binder<'_>,
        slots: &[Slot],
        triggers: &TableTriggers,
        on_conflict: &OnConflict,
    ) -> Result<Vec<(RowCheck, Expr)>> {
        let mut checks = self.checks(binder, slots)?;
        let is_final = triggers.is_empty()
            && matches!(on_conflict, OnConflict::Error | OnConflict::Nothing(_));
        if is_final {
            checks.retain(|(check, _)| *check != RowCheck::Partition);
        } else {
            let bound = checks.iter_mut().filter(|(check, _)| *check == RowCheck::Partition);
            bound.for_each(|(check, _)| *check = RowCheck::SamePartition);
        }
        Ok(checks)
    }

    /// Whether it is a view.
    pub(crate) fn is_view(&self) -> bool {
        !self.layers.is_empty()
    }

    /// The conditions of the views, over the table's row.
    pub(crate) fn conditions(&self, binder: &mut Binder<'_>, slots: &[Slot]) -> Result<Vec<Expr>> {
        let mut conditions = Vec::new();
        for (place, layer) in self.layers.iter().enumerate().rev() {
            let Some(selection) = &layer.selection else { continue };
            conditions.push(self.condition(binder, (place, layer), selection, slots)?);
        }
        Ok(conditions)
    }

    /// The table's CHECK constraints and the conditions of views WITH CHECK OPTION, over the row
    /// that is written.
    pub(crate) fn checks(
        &self,
        binder: &mut Binder<'_>,
        slots: &[Slot],
    ) -> Result<Vec<(RowCheck, Expr)>> {
        let mut checks = row_checks(binder, &self.table, slots)?;
        let own = checks.len();
        let mut cascades = false;
        for (place, layer) in self.layers.iter().enumerate() {
            let option = layer.view.check_option;
            let applies = cascades || option.is_some();
            cascades |= option == Some(CheckOption::Cascaded);
            let Some(selection) = layer.selection.as_ref().filter(|_| applies) else { continue };
            let e = self.condition(binder, (place, layer), selection, slots)?;
            // The innermost view is looked at first.
            checks.insert(own, (RowCheck::View(layer.view.name.clone()), e));
        }
        Ok(checks)
    }

    fn condition(
        &self,
        binder: &mut Binder<'_>,
        (place, layer): (usize, &ViewLayer),
        selection: &braid_sql::ast::Expr,
        slots: &[Slot],
    ) -> Result<Expr> {
        let items = self.items(binder, place, slots)?;
        debug_assert!(layer.selection.is_some(), "only conditions are bound here");
        self.over_items(binder, (place, slots), &items, |binder, scopes| {
            bind_condition(binder, selection, &mut ExprCx::plain(scopes, "WHERE"), "WHERE")
        })
    }

    /// Binds a stored expression of a layer over the columns of its item of FROM.
    fn over_items(
        &self,
        binder: &mut Binder<'_>,
        (place, slots): (usize, &[Slot]),
        items: &[(u16, String, Expr)],
        bind: impl FnOnce(&mut Binder<'_>, Scopes<'_>) -> Result<Expr>,
    ) -> Result<Expr> {
        let item = self.layers.get(place).map_or(0, |layer| layer.item);
        let label = item.to_string();
        let mut scope = Scope { tables: vec![ScopeTable::plain(&label)], ..Scope::default() };
        if place + 1 == self.layers.len() {
            let source = table_source(&self.table, &label, slots)?;
            scope.sources.push(RowSource { item, ..source });
        }
        let mut computed: Vec<(Slot, Expr)> = Vec::new();
        for (number, name, e) in items {
            let slot = match e {
                Expr::Column(slot, _) => *slot,
                _ => {
                    let slot = binder.slot();
                    computed.push((slot, e.clone()));
                    slot
                }
            };
            let column = plain_column(&label, name, slot, e.ty());
            scope.columns.push(ScopeColumn { item: (item, *number), ..column });
        }
        let cx = crate::PlanContext { text: "", ..*binder.context() };
        let mut inner = Binder::of_stored(&cx, self.reader(binder, place + 1));
        inner.follow(binder);
        let bound = bind(&mut inner, Scopes { scope: &scope, parent: None });
        binder.lead_from(inner);
        let mut bound = bound?;
        replace_columns(&mut bound, &computed);
        Ok(bound)
    }
}

/// A table, or the view that it stands for.
pub(crate) fn object<'t>(binder: &'t Binder<'_>, table: &'t Table) -> Object<'t> {
    match binder.context().catalog.views().get(table.id) {
        Some(view) => Object::View(view),
        None => Object::Table(table),
    }
}

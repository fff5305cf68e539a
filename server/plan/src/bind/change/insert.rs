//! INSERT and UPSERT.

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::sync::Arc;

use braid_catalog::{Identity, PolicyCommand, Table, TriggerEvent, is_temporary};
use braid_sql::ast::{
    ConflictAction, ConflictTarget, Expr as Ast, Insert as AstInsert, InsertSource,
    OnConflict as AstOnConflict, Overriding, Query, Returning, SetExpr, TargetColumn,
};
use braid_sql::offset_of;
use braid_types::{Error, Result, SqlState};

use super::arbiters::bind_arbiters;
use super::assignment::{at_start, if_wrong_type, refuse_default_part};
use super::cascade::{Change, bind_cascades};
use super::shown::{bind_set, name_first, past_computed, refuse_computed, too_many_values};
use super::target::{bind_returning, settle};
use super::triggers::updated_places;
use super::view::{ChangeTarget, change_target, object};
use crate::bind::Binder;
use crate::bind::bound_statement::BoundStatement;
use crate::bind::domain::check_column;
use crate::bind::expr::scalar::bind_expr;
use crate::bind::expr::subscript::{Part, assign_to_part, part_of, with_part};
use crate::bind::from::privileges::{check_some_column, guarding};
use crate::bind::from::range_table::{enter_range, expand_rows};
use crate::bind::from::security::Secured;
use crate::bind::partitions::routes::bind_routes;
use crate::bind::query::lock::slots_of;
use crate::bind::query::ordered::bind_query;
use crate::bind::query::output::set_nodes;
use crate::bind::scope::columns::{Scope, Scopes};
use crate::bind::scope::context::{Collector, ExprCx};
use crate::bind::scope::places::{ColumnPlaces, bind_condition, start_of};
use crate::bind::scope::untyped::Untyped;
use crate::bind::stored::{assign_to, bind_generated, default_of, index_exprs, refuse_generated};
use crate::context::{OutputColumn, StatementKind};
use crate::tree::expr::{Expr, Slot};
use crate::tree::node::{
    Insert, Node, OnConflict, Project, Routes, RowCheck, TableTriggers, Values,
};

/// A column that gets a value, or a part of it.
pub(super) struct Target {
    /// Its place among the table's columns.
    pub(super) place: usize,
    part: Option<Part>,
}

pub(crate) fn bind_insert(binder: &mut Binder<'_>, insert: &AstInsert) -> Result<BoundStatement> {
    let target = change_target(binder, &insert.table, "insert into")?;
    let secured = target.secured(binder)?;
    let read_before = binder.reads_target.replace(false);
    let (table, shown) = (target.table.clone(), target.shown.clone());
    binder.tables.insert(table.id);
    let alias = insert.alias.as_ref().map(braid_sql::fold);
    let unread = target.row(binder, alias.as_deref(), &vec![0; table.columns.len()])?;
    enter_range(binder, &unread);
    refuse_computed(&target, insert.columns.iter().map(|column| &column.name), "insert into")?;
    let mut named = Cow::Borrowed(&insert.columns[..]);
    if !target.repeated.is_empty() {
        name_first(&target, named.to_mut().iter_mut().map(|column| &mut column.name))?;
    }
    let targets = insert_targets(binder, &named, (&shown, &target.filled_places()))?;
    let places: Vec<usize> = targets.iter().map(|target| target.place).collect();
    let given = insert_values(binder, insert, &shown, targets);
    let (input, values) = given.map_err(|error| past_computed(&target, &insert.columns, error))?;
    check_given(binder, &target, insert, (&places, &input))?;
    let (alias, assigned) = (alias.as_deref(), &places[..]);
    let own = secured.as_ref().filter(|_| target.partitioned().is_none());
    let into = Into { insert, target: &target, secured: own, alias, assigned };
    let (columns, mut plan) = insert_into(binder, &into, input, values)?;
    if let Some(root) = target.partitioned() {
        let row_slots = plan.row_slots.clone();
        let routes = bind_routes(binder, &root, &row_slots, &mut |binder, leaf, input, values| {
            let target = ChangeTarget::of_partition(&root, &leaf, None);
            let secured = target.secured(binder)?;
            let into = Into { target: &target, secured: secured.as_ref(), ..into };
            insert_into(binder, &into, input, values).map(|(_, plan)| plan)
        })?;
        plan = routed(plan, routes);
    }
    binder.reads_target.set(read_before);
    let is_write = !is_temporary(plan.table.id);
    Ok(BoundStatement {
        kind: StatementKind::Insert,
        root: Node::Insert(Box::new(plan)),
        columns,
        is_write,
        returning_nothing: matches!(insert.returning, Returning::Nothing),
    })
}

/// What an INSERT says about one table.
#[derive(Clone, Copy)]
struct Into<'i> {
    insert: &'i AstInsert,
    target: &'i ChangeTarget,
    /// The policies that hold for it.
    secured: Option<&'i Secured>,
    alias: Option<&'i str>,
    /// The places of the columns that get values.
    assigned: &'i [usize],
}

/// The plan of an INSERT of whole rows into its target, and the columns of its result.
fn insert_into(
    binder: &mut Binder<'_>,
    into: &Into<'_>,
    input: Node,
    values: Vec<Expr>,
) -> Result<(Vec<OutputColumn>, Insert)> {
    let Into { insert, target, secured, alias, assigned } = *into;
    let (table, shown) = (target.table.clone(), target.shown.clone());
    let row_slots: Vec<Slot> = table.columns.iter().map(|_| binder.slot()).collect();
    let existing_slots: Vec<Slot> = table.columns.iter().map(|_| binder.slot()).collect();
    let on_conflict = if insert.upsert {
        target.check(binder, "UPDATE")?;
        OnConflict::Upsert(target.own_places(assigned))
    } else {
        match &insert.on_conflict {
            None => OnConflict::Error,
            Some(clause) => {
                bind_on_conflict(binder, clause, target, alias, (&existing_slots, &row_slots))?
            }
        }
    };
    let mut scope = target.row(binder, alias, &row_slots)?;
    // UPSERT need not look whether a row was there.
    let replaced = (!insert.upsert).then(|| binder.slot());
    scope.sources.iter_mut().for_each(|source| source.replaced = replaced);
    let (columns, returning) = guarding(binder, &shown, &row_slots, |this| {
        bind_returning(this, &insert.returning, &scope)
    })?;
    target.check_reads(binder, binder.reads_target.get())?;
    let read = slots_of(returning.iter().map(|(_, e)| e));
    let replaced = replaced.filter(|slot| read.contains(slot));
    let (triggers, change) = effects(binder, target, &on_conflict)?;
    let mut checks = match &target.through {
        Some(_) => target.routed_checks(binder, &row_slots, &triggers, &on_conflict)?,
        None => target.checks(binder, &row_slots)?,
    };
    if let Some(secured) = secured {
        let reads = binder.reads_target.get();
        checks.extend(policy_checks(binder, secured, (&on_conflict, reads), &row_slots)?);
    }
    let plan = Insert {
        generated: bind_generated(binder, &table, &row_slots)?,
        checks,
        index_exprs: index_exprs(binder, &table, &row_slots)?,
        input,
        values,
        row_slots,
        replaced,
        existing_slots,
        on_conflict,
        cascades: bind_cascades(binder, &table, change)?,
        triggers,
        instead: target.instead,
        routes: None,
        returning,
        table,
    };
    Ok((columns, plan))
}

/// An INSERT whose rows go to partitions: they check, index and refer.
fn routed(plan: Insert, routes: Box<Routes>) -> Insert {
    let mut checks = plan.checks;
    checks.retain(|(check, _)| *check == RowCheck::Partition);
    Insert {
        checks,
        generated: Vec::new(),
        index_exprs: Vec::new(),
        replaced: None,
        on_conflict: OnConflict::Error,
        cascades: Arc::default(),
        triggers: statement_triggers(&plan.triggers),
        routes: Some(routes),
        returning: plan.returning.into_iter().map(|(slot, e)| (slot, Expr::null(e.ty()))).collect(),
        ..plan
    }
}

/// Those that fire for each statement.
fn statement_triggers(triggers: &TableTriggers) -> Arc<TableTriggers> {
    let of_statement = triggers.list.iter().filter(|planned| !planned.trigger.for_each_row);
    let list = of_statement.cloned().collect();
    Arc::new(TableTriggers { list, ..TableTriggers::default() })
}

/// 42501 unless the user may insert into the columns that get values.
fn check_given(
    binder: &Binder<'_>,
    target: &ChangeTarget,
    insert: &AstInsert,
    (places, input): (&[usize], &Node),
) -> Result<()> {
    let named = !insert.columns.is_empty();
    let width = if named { places.len() } else { input.slots().len().min(places.len()) };
    target.check_columns(binder, "INSERT", &places[..width])
}

/// What policies say of the rows that INSERT writes and changes.
fn policy_checks(
    binder: &mut Binder<'_>,
    secured: &Secured,
    (on_conflict, reads): (&OnConflict, bool),
    slots: &[Slot],
) -> Result<Vec<(RowCheck, Expr)>> {
    let mut checks = secured.written(binder, (PolicyCommand::Insert, reads), slots)?;
    if matches!(on_conflict, OnConflict::Update { .. } | OnConflict::Upsert(_)) {
        checks.extend(secured.replaced(binder, reads, slots)?);
    }
    Ok(checks)
}

/// The triggers that INSERT may fire, and what it may do to rows that are there.
fn effects(
    binder: &mut Binder<'_>,
    target: &ChangeTarget,
    on_conflict: &OnConflict,
) -> Result<(Arc<TableTriggers>, Change)> {
    let table = &target.table;
    let assigned: Vec<usize> = match on_conflict {
        OnConflict::Error | OnConflict::Nothing(_) => {
            let (events, updated) = ([TriggerEvent::Insert], BTreeSet::new());
            let triggers = target.own_triggers(binder, &events, &updated, &events)?;
            return Ok((triggers, Change::default()));
        }
        OnConflict::Update { assignments, .. } => {
            assignments.iter().map(|(place, _)| *place).collect()
        }
        OnConflict::Upsert(places) => places.clone(),
    };
    let events = [TriggerEvent::Insert, TriggerEvent::Update];
    let updated = updated_places(table, assigned.iter().copied());
    let triggers = target.own_triggers(binder, &events, &updated, &events)?;
    Ok((triggers, Change::update(table, assigned.into_iter())))
}

/// Places of the columns that get values, with the parts that they get.
pub(super) fn insert_targets(
    binder: &mut Binder<'_>,
    named: &[TargetColumn],
    (table, all): (&Table, &[usize]),
) -> Result<Vec<Target>> {
    if named.is_empty() {
        return Ok(all.iter().map(|place| Target { place: *place, part: None }).collect());
    }
    let mut targets: Vec<Target> = Vec::with_capacity(named.len());
    for target in named {
        let ident = &target.name;
        let name = braid_sql::fold(ident);
        let Some(place) = table.column_by_name(&name) else {
            return Err(Error::new(
                SqlState::UndefinedColumn,
                format!("column \"{name}\" of relation \"{}\" does not exist", table.name),
            )
            .position(offset_of(ident.span)));
        };
        let is_whole = target.part.is_empty();
        if targets.iter().any(|t| t.place == place && (is_whole || t.part.is_none())) {
            return Err(Error::new(
                SqlState::DuplicateColumn,
                format!("column \"{name}\" specified more than once"),
            )
            .position(offset_of(ident.span)));
        }
        let part = if is_whole {
            None
        } else {
            let scope = Scope::default();
            let scopes = Scopes { scope: &scope, parent: None };
            let mut cx = ExprCx::plain(scopes, "INSERT");
            Some(part_of(binder, &table.columns[place], target, &mut cx)?)
        };
        targets.push(Target { place, part });
    }
    Ok(targets)
}

/// A value cast for a target.
pub(super) fn target_value(
    binder: &mut Binder<'_>,
    value: Expr,
    table: &Table,
    target: &Target,
) -> Result<Expr> {
    let column = &table.columns[target.place];
    match &target.part {
        None => assign_to(binder, value, column),
        Some(part) => assign_to_part(binder, value, part),
    }
}

/// The input and, over it, the value of each of the table's columns.
fn insert_values(
    binder: &mut Binder<'_>,
    insert: &AstInsert,
    table: &Arc<Table>,
    targets: Vec<Target>,
) -> Result<(Node, Vec<Expr>)> {
    match &insert.source {
        InsertSource::DefaultValues => {
            let values = row_of_defaults(binder, table)?;
            Ok((Node::one_row(), values))
        }
        InsertSource::Query(query) => match plain_values(query) {
            Some(rows) => {
                let scope = Scope::default();
                let scopes = Scopes { scope: &scope, parent: None };
                match expand_rows(binder, &rows, &scopes)? {
                    Some(rows) => {
                        let rows: Vec<&[Ast]> = rows.iter().map(Vec::as_slice).collect();
                        insert_rows(binder, insert, table, targets, &rows)
                    }
                    None => insert_rows(binder, insert, table, targets, &rows),
                }
            }
            None => insert_query(binder, insert, table, targets, query),
        },
    }
}

pub(super) fn row_of_defaults(binder: &mut Binder<'_>, table: &Table) -> Result<Vec<Expr>> {
    table.columns.iter().map(|column| default_of(binder, column)).collect()
}

/// `VALUES` with constants, parameters and DEFAULT: typed by their columns.
fn insert_rows(
    binder: &mut Binder<'_>,
    insert: &AstInsert,
    table: &Arc<Table>,
    targets: Vec<Target>,
    rows: &[&[Ast]],
) -> Result<(Node, Vec<Expr>)> {
    let scope = Scope::default();
    let scopes = Scopes { scope: &scope, parent: None };
    let width = rows.first().map_or(0, |row| row.len());
    let extra = rows.first().and_then(|row| row.get(targets.len()));
    check_width(&insert.columns, targets.len(), width, extra.map_or(0, start_of))?;
    let mut bound = Vec::with_capacity(rows.len());
    // A single row may become as many as a set-returning function gives.
    let mut collector = Collector { allow_windows: rows.len() == 1, ..Collector::default() };
    for row in rows {
        if row.len() != width {
            return Err(Error::new(
                SqlState::SyntaxError,
                "VALUES lists must all be the same length",
            )
            .position(row.first().map_or(0, start_of)));
        }
        let mut values = Vec::with_capacity(width);
        for (at, (ast, target)) in row.iter().zip(&targets).enumerate() {
            let column = &table.columns[target.place];
            values.push(if braid_sql::is_default(ast) {
                insert.columns.get(at).map_or(Ok(()), refuse_default_part)?;
                default_of(binder, column)?
            } else {
                check_overriding(insert.overriding, table, target.place)?;
                let collector = Some(&mut collector);
                let mut cx = ExprCx { scopes, clause: "VALUES", collector };
                let e = bind_expr(binder, ast, &mut cx)?;
                if insert.overriding == Some(Overriding::User) && column.identity.is_some() {
                    default_of(binder, column)?
                } else {
                    let value = target_value(binder, e, table, target);
                    value.map_err(|error| at_start(error, ast))?
                }
            });
        }
        bound.push(values);
    }
    if !collector.windows.is_empty() {
        let message = "window functions are not allowed in VALUES";
        return Err(Error::new(SqlState::WindowingError, message));
    }
    let slots: Vec<Slot> = (0..width).map(|_| binder.slot()).collect();
    let types = bound.first().map(|row| row.iter().map(Expr::ty).collect::<Vec<_>>());
    let columns = slots.iter().zip(types.unwrap_or_default());
    let given = columns.map(|(slot, ty)| Expr::Column(*slot, ty)).collect();
    let values = full_row(binder, table, targets, given)?;
    if collector.sets.is_empty() {
        return Ok((Node::Values(Values { slots, rows: bound, repeats: None }), values));
    }
    let input = set_nodes(Node::one_row(), collector.sets);
    let exprs = slots.into_iter().zip(bound.into_iter().flatten()).collect();
    Ok((Node::Project(Box::new(Project { input, exprs })), values))
}

fn insert_query(
    binder: &mut Binder<'_>,
    insert: &AstInsert,
    table: &Arc<Table>,
    targets: Vec<Target>,
    query: &Query,
) -> Result<(Node, Vec<Expr>)> {
    let types = targets.iter().map(|target| match &target.part {
        None => table.columns[target.place].ty.clone(),
        Some(part) => part.wanted().clone(),
    });
    binder.untyped = Untyped::Columns(types.collect());
    let bound = bind_query(binder, query, None);
    binder.untyped = Untyped::default();
    let bound = bound?;
    let width = bound.columns.len();
    let places = ColumnPlaces::of(&query.body);
    check_width(&insert.columns, targets.len(), width, places.at(targets.len()))?;
    let mut given = Vec::with_capacity(width);
    for (number, (e, target)) in bound.exprs().into_iter().zip(&targets).enumerate() {
        let column = &table.columns[target.place];
        check_overriding(insert.overriding, table, target.place)?;
        given.push(if insert.overriding == Some(Overriding::User) && column.identity.is_some() {
            default_of(binder, column)?
        } else {
            let value = target_value(binder, e, table, target);
            value.map_err(|error| if_wrong_type(error, places.at(number)))?
        });
    }
    let values = full_row(binder, table, targets, given)?;
    Ok((bound.node, values))
}

pub(super) fn check_overriding(
    overriding: Option<Overriding>,
    table: &Table,
    place: usize,
) -> Result<()> {
    let column = &table.columns[place];
    let given = overriding.is_some() && column.identity == Some(Identity::Always);
    if given { Ok(()) } else { refuse_generated(column, false) }
}

/// Every column's value: the input's where it is a target, else its default. The parts of a
/// column are assigned to NULL one after another.
pub(super) fn full_row(
    binder: &mut Binder<'_>,
    table: &Table,
    targets: Vec<Target>,
    given: Vec<Expr>,
) -> Result<Vec<Expr>> {
    let mut values: Vec<Option<Expr>> = table.columns.iter().map(|_| None).collect();
    let mut in_parts = Vec::new();
    for (target, value) in targets.into_iter().zip(given) {
        let ty = &table.columns[target.place].ty;
        let value = match target.part {
            None => value,
            Some(part) => {
                let base = values[target.place].take().unwrap_or_else(|| Expr::null(ty.clone()));
                in_parts.push(target.place);
                with_part(binder, base, part, value)?
            }
        };
        values[target.place] = Some(value);
    }
    let columns = values.into_iter().zip(&table.columns).enumerate();
    let filled = columns.map(|(place, (value, column))| match value {
        Some(value) if in_parts.contains(&place) => check_column(binder, value, column),
        Some(value) => Ok(value),
        None => default_of(binder, column),
    });
    filled.collect()
}

fn bind_on_conflict(
    binder: &mut Binder<'_>,
    clause: &AstOnConflict,
    target: &ChangeTarget,
    alias: Option<&str>,
    (existing_slots, row_slots): (&[Slot], &[Slot]),
) -> Result<OnConflict> {
    let table = &target.shown;
    let indexes = bind_arbiters(binder, clause, table, alias, existing_slots)?;
    if !matches!(clause.target, ConflictTarget::Any) {
        // The answer would reveal which keys exist.
        binder.reads_target.set(true);
        check_some_column(binder, object(binder, table), "SELECT")?;
    }
    let ConflictAction::Update { assignments, selection } = &clause.action else {
        return Ok(OnConflict::Nothing(indexes));
    };
    if indexes.is_empty() {
        return Err(Error::new(
            SqlState::SyntaxError,
            "ON CONFLICT DO UPDATE requires inference specification or constraint name",
        )
        .hint("For example, ON CONFLICT (column_name).")
        .position(offset_of(clause.span)));
    }
    let mut scope = target.row(binder, alias, existing_slots)?;
    let mut excluded = target.row(binder, Some("excluded"), row_slots)?;
    excluded.sources.clear();
    enter_range(binder, &excluded);
    scope.merge(excluded)?;
    let read = [existing_slots, row_slots].concat();
    let (assignments, filter) = guarding(binder, table, &read, |this| {
        let assignments = bind_set(this, assignments, target, &scope)?;
        let Some(ast) = selection else { return Ok((assignments, None)) };
        let scopes = Scopes { scope: &scope, parent: None };
        let mut e = bind_condition(this, ast, &mut ExprCx::plain(scopes, "WHERE"), "WHERE")?;
        settle(this, &mut e);
        Ok((assignments, Some(e)))
    })?;
    let places: Vec<usize> = assignments.iter().map(|(place, _)| *place).collect();
    target.check_columns(binder, "UPDATE", &places)?;
    Ok(OnConflict::Update { indexes, assignments, filter })
}

/// The rows of a plain `VALUES` list.
fn plain_values(query: &Query) -> Option<Vec<&[Ast]>> {
    let plain = query.with.is_none()
        && query.order_by.is_none()
        && query.limit_clause.is_none()
        && query.fetch.is_none();
    match &*query.body {
        SetExpr::Values(values) if plain => {
            Some(values.rows.iter().map(|row| &row.content[..]).collect())
        }
        _ => None,
    }
}

/// 42601 unless there is a value for each column; `extra` is the place of the first one too many.
pub(super) fn check_width(
    named: &[TargetColumn],
    targets: usize,
    width: usize,
    extra: u32,
) -> Result<()> {
    if width > targets {
        return Err(too_many_values(extra));
    }
    if width < targets && !named.is_empty() {
        return Err(Error::new(
            SqlState::SyntaxError,
            "INSERT has more target columns than expressions",
        )
        .position(named.get(width).map_or(0, |target| offset_of(target.name.span))));
    }
    Ok(())
}

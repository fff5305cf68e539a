//! MERGE: a join of the source with the target whose rows lead to changes of the target.
//!
//! ```text
//!   Merge ── Project (target, source) ── Join (Left, or Inner without NOT MATCHED)
//! ```
//!
//! The target's scan takes no locks: most rows may lead to nothing. The operator locks the rows
//! that it is about to change and looks at them again.

use std::sync::Arc;

use braid_catalog::{Object, PolicyCommand, Table, TriggerEvent, is_temporary};
use braid_sql::ast::{
    AssignmentTarget, Expr as Ast, Merge as AstMerge, MergeAction as AstAction, MergeWhen,
    ObjectName, Overriding, TargetColumn,
};
use braid_types::{Error, Result, SqlState};

use super::assignment::{at_start, bind_assignments};
use super::cascade::{Change, bind_cascades};
use super::insert::{
    Target, check_overriding, check_width, full_row, insert_targets, row_of_defaults, target_value,
};
use super::shown::shown_scan;
use super::target::{target_first, target_scan, target_table};
use super::triggers::{bind_triggers, has_statement_triggers, updated_places};
use super::view::ChangeTarget;
use crate::bind::Binder;
use crate::bind::bound_statement::BoundStatement;
use crate::bind::expr::scalar::bind_expr;
use crate::bind::from::items::{bind_from, find_relation, join_node, table_scan};
use crate::bind::from::privileges::{check_column, check_select, check_some_column, guarding};
use crate::bind::from::security::{Secured, secure_scan};
use crate::bind::partitions::changes::{PolicyChecks, routed_insert};
use crate::bind::partitions::condition::row_checks;
use crate::bind::partitions::leaves::{appended_slots, leaves_of};
use crate::bind::partitions::scan::mark_scans;
use crate::bind::scope::columns::{Scope, Scopes};
use crate::bind::scope::context::ExprCx;
use crate::bind::scope::places::{bind_condition, start_of};
use crate::bind::stored::{bind_generated, default_of, index_exprs};
use crate::context::StatementKind;
use crate::tree::expr::{Expr, Slot, conjunction};
use crate::tree::node::{
    Append, Filter, Join, JoinKind, Merge, MergeAction, Node, RowCheck, Values, When,
};
use crate::tree::row_change::TableTriggers;

pub(crate) fn bind_merge(binder: &mut Binder<'_>, merge: &AstMerge) -> Result<BoundStatement> {
    let table = merge_target(binder, &merge.table)?;
    for when in &merge.whens {
        check_action(binder, &table, &when.action)?;
    }
    if merge.whens.iter().all(|when| matches!(when.action, AstAction::Nothing)) {
        check_some_column(binder, Object::Table(&table), "SELECT")?;
    }
    let secured = Secured::of(binder, &table, binder.view_owner)?;
    let root = match table.partitioning {
        Some(_) => merge_partitions(binder, merge, &table)?,
        None => {
            let alias = merge.alias.as_ref().map(braid_sql::fold);
            let scanned = target_scan(binder, &table, alias.as_deref())?;
            let checks = RowCheck::Partition;
            let all: Vec<&MergeWhen> = merge.whens.iter().collect();
            let (table, shown) = (table.clone(), table.clone());
            let target = MergeTarget { table, shown, checks, secured, through: None };
            merge_of(binder, merge, &all, target, scanned)?
        }
    };
    Ok(BoundStatement {
        kind: StatementKind::Merge,
        root,
        columns: Vec::new(),
        is_write: !is_temporary(table.id),
        returning_nothing: false,
    })
}

/// 42501 unless the role may do what a clause does to the target, or to the columns that it names.
fn check_action(binder: &Binder<'_>, table: &Table, action: &AstAction) -> Result<()> {
    let object = Object::Table(table);
    let names = |columns: &[TargetColumn]| -> Vec<String> {
        columns.iter().map(|column| braid_sql::fold(&column.name)).collect()
    };
    let (privilege, named) = match action {
        AstAction::Nothing => return Ok(()),
        AstAction::Delete => return check_select(binder, object, "DELETE"),
        AstAction::Update(assignments) => {
            let targets = assignments.iter().flat_map(|assignment| match &assignment.target {
                AssignmentTarget::Column(column) => names(std::slice::from_ref(column)),
                AssignmentTarget::Columns(columns) => names(columns),
            });
            ("UPDATE", targets.collect())
        }
        AstAction::Insert { columns, values: Some(values), .. } if columns.is_empty() => {
            let all = table.visible_columns().take(values.len());
            ("INSERT", all.map(|column| column.name.clone()).collect())
        }
        AstAction::Insert { columns, .. } => ("INSERT", names(columns)),
    };
    if named.is_empty() {
        return check_some_column(binder, object, privilege);
    }
    // A name that means no column is an error of its own.
    let mut columns = table.visible_columns().filter(|column| named.contains(&column.name));
    columns.try_for_each(|column| check_column(binder, object, column.id, privilege))
}

/// The table whose rows a MERGE changes.
struct MergeTarget<'t> {
    table: Arc<Table>,
    /// What the statement knows of it.
    shown: Arc<Table>,
    /// What a row is that leaves the partition.
    checks: RowCheck,
    /// The policies that hold for it.
    secured: Option<Secured>,
    /// Of a partition: its way from the table that the statement names.
    through: Option<&'t ChangeTarget>,
}

/// The clauses of a MERGE on one table, whose scan and scope are given.
fn merge_of(
    binder: &mut Binder<'_>,
    merge: &AstMerge,
    clauses: &[&MergeWhen],
    MergeTarget { table, shown, checks: outside, secured, through }: MergeTarget<'_>,
    (mut target, mut scope): (Node, Scope),
) -> Result<Node> {
    mark_scans(&mut target, None, false);
    let slots = match shown.partitioning {
        Some(_) => appended_slots(binder, &shown, &target),
        None => target.slots(),
    };
    let from = std::slice::from_ref(&merge.source);
    let (source, source_scope) = bind_from(binder, from, None)?;
    scope.merge(source_scope.clone())?;
    let on = guarding(binder, &shown, &slots, |this| {
        condition(this, &merge.on, &scope, ("JOIN/ON", "JOIN/ON"))
    })?;
    let is_outer = clauses.iter().any(|when| !when.matched);
    let kind = if is_outer { JoinKind::Left } else { JoinKind::Inner };
    let mut input = join_node(kind, source, target, vec![on.clone()]);
    let mut again = vec![on];
    if let Some(secured) = &secured {
        // A row that has changed before it was locked must be one that is seen as well.
        let hidden = secured.hide(binder, &mut input, (PolicyCommand::Select, true), &slots)?;
        again.splice(0..0, hidden);
    }
    let input = target_first(input, from, &scope);
    let mut whens = Vec::with_capacity(clauses.len());
    for when in clauses {
        let visible = if when.matched { &scope } else { &source_scope };
        whens
            .push(guarding(binder, &shown, &slots, |this| bind_when(this, when, &shown, visible))?);
    }
    let row_slots: Vec<Slot> = table.columns.iter().map(|_| binder.slot()).collect();
    let mut checks = row_checks(binder, &table, &row_slots)?;
    let bounds = checks.iter_mut().filter(|(check, _)| *check == RowCheck::Partition);
    bounds.for_each(|(check, _)| check.clone_from(&outside));
    if let Some(secured) = &secured {
        checks.extend(secured.merged(binder, &row_slots)?);
    }
    Ok(Node::Merge(Box::new(Merge {
        generated: bind_generated(binder, &table, &row_slots)?,
        checks,
        index_exprs: index_exprs(binder, &table, &row_slots)?,
        cascades: bind_cascades(binder, &table, changes(&table, &whens))?,
        triggers: merge_triggers(binder, &table, &whens, through)?,
        table,
        input,
        on: conjunction(again),
        whens,
        row_slots,
    })))
}

/// A MERGE into a partitioned table: for each partition one of the rows that match, and an INSERT
/// for each clause of those that match nothing.
fn merge_partitions(binder: &mut Binder<'_>, merge: &AstMerge, root: &Arc<Table>) -> Result<Node> {
    binder.fires_triggers = true;
    let has_triggers = has_statement_triggers(root);
    let alias = merge.alias.as_ref().map(braid_sql::fold);
    let (matched, others): (Vec<&MergeWhen>, Vec<&MergeWhen>) =
        merge.whens.iter().partition(|when| when.matched);
    let mut inputs = Vec::new();
    let leaves = leaves_of(binder, root)?;
    if has_triggers {
        inputs.push(merge_of_no_rows(binder, merge, root)?);
    }
    for leaf in leaves.iter().filter(|_| !matched.is_empty()) {
        let target = ChangeTarget::of_partition(root, &leaf.table, Some(leaf.scanned()));
        let scanned = shown_scan(binder, &target, alias.as_deref())?;
        let (table, shown) = (leaf.table.clone(), target.assigned());
        let checks = RowCheck::SamePartition;
        let secured = target.secured(binder)?;
        let through = Some(&target);
        let target = MergeTarget { table, shown, checks, secured, through };
        inputs.push(merge_of(binder, merge, &matched, target, scanned)?);
    }
    for place in 0..others.len() {
        inputs.extend(insert_unmatched(binder, merge, root, &others[..=place])?);
    }
    if has_triggers {
        inputs.push(merge_of_no_rows(binder, merge, root)?);
    }
    Ok(Node::Append(Box::new(Append::of(inputs, Vec::new()))))
}

/// A MERGE into a partitioned table itself, which has no rows: it fires the triggers of the
/// statement, before its partitions change and after that.
fn merge_of_no_rows(binder: &mut Binder<'_>, merge: &AstMerge, root: &Arc<Table>) -> Result<Node> {
    let alias = merge.alias.as_ref().map(braid_sql::fold);
    let scanned = table_scan(binder, root, alias.as_deref().unwrap_or(&root.name))?;
    let all: Vec<&MergeWhen> = merge.whens.iter().collect();
    let (table, shown, checks) = (root.clone(), root.clone(), RowCheck::SamePartition);
    let target = MergeTarget { table, shown, checks, secured: None, through: None };
    let mut node = merge_of(binder, merge, &all, target, scanned)?;
    if let Node::Merge(merge) = &mut node {
        let slots = merge.input.slots();
        merge.input = Node::Values(Values { slots, rows: Vec::new(), repeats: None });
    }
    Ok(node)
}

/// The INSERT of the last of these clauses, for source rows that none of those before it takes.
fn insert_unmatched<'a>(
    binder: &mut Binder<'a>,
    merge: &AstMerge,
    root: &Arc<Table>,
    clauses: &[&MergeWhen],
) -> Result<Option<Node>> {
    let alias = merge.alias.as_ref().map(braid_sql::fold);
    let (target, mut scope) = table_scan(binder, root, alias.as_deref().unwrap_or(&root.name))?;
    let slots = appended_slots(binder, root, &target);
    let target = secure_scan(binder, root, target, false)?;
    let from = std::slice::from_ref(&merge.source);
    let (source, source_scope) = bind_from(binder, from, None)?;
    if source.is_volatile() {
        let what = "MERGE of a volatile source into a partitioned table";
        return Err(Error::unsupported(what));
    }
    scope.merge(source_scope.clone())?;
    let on = guarding(binder, root, &slots, |this| {
        condition(this, &merge.on, &scope, ("JOIN/ON", "JOIN/ON"))
    })?;
    let join = Join::new(JoinKind::Anti, (source, target), vec![on]);
    let mut predicates = Vec::new();
    let mut values = None;
    for (place, when) in clauses.iter().enumerate() {
        let When { condition, action, .. } = bind_when(binder, when, root, &source_scope)?;
        let is_last = place + 1 == clauses.len();
        match (condition, is_last) {
            (None, false) => return Ok(None),
            (Some(e), false) => {
                predicates.push(Expr::Not(Box::new(Expr::IsBool(Box::new(e), Some(true)))));
            }
            (condition, true) => {
                predicates.extend(condition);
                if let MergeAction::Insert(given) = action {
                    values = Some(given);
                }
            }
        }
    }
    let Some(values) = values else { return Ok(None) };
    let input = Node::Filter(Box::new(Filter {
        input: Node::Join(Box::new(join)),
        predicates,
        barrier: false,
    }));
    let row_slots: Vec<Slot> = root.columns.iter().map(|_| binder.slot()).collect();
    let policies: &PolicyChecks<'_, 'a> =
        &|secured, binder, slots| secured.written(binder, (PolicyCommand::Insert, false), slots);
    let insert =
        routed_insert(binder, root, (input, values), (row_slots, policies), TriggerEvent::Insert)?;
    Ok(Some(Node::Insert(Box::new(insert))))
}

/// The table of a MERGE; 0A000 for a relation of another kind.
fn merge_target(binder: &mut Binder<'_>, name: &ObjectName) -> Result<Arc<Table>> {
    let found = find_relation(binder, name)?;
    let kinds = match found.kind() {
        "view" => "views",
        "materialized view" => "materialized views",
        "sequence" => "sequences",
        _ => return target_table(binder, name, "merge into"),
    };
    let message = format!("cannot execute MERGE on relation \"{}\"", found.name());
    Err(Error::new(SqlState::FeatureNotSupported, message)
        .detail(format!("This operation is not supported for {kinds}.")))
}

fn condition(
    binder: &mut Binder<'_>,
    ast: &Ast,
    scope: &Scope,
    (clause, word): (&'static str, &str),
) -> Result<Expr> {
    let scopes = Scopes { scope, parent: None };
    bind_condition(binder, ast, &mut ExprCx::plain(scopes, clause), word)
}

/// The triggers that the clauses may fire.
fn merge_triggers(
    binder: &mut Binder<'_>,
    table: &Table,
    whens: &[When],
    through: Option<&ChangeTarget>,
) -> Result<Arc<TableTriggers>> {
    let (mut events, mut assigned) = (Vec::new(), Vec::new());
    for when in whens {
        let event = match &when.action {
            MergeAction::Insert(_) => TriggerEvent::Insert,
            MergeAction::Delete => TriggerEvent::Delete,
            MergeAction::Update(assignments) => {
                assigned.extend(assignments.iter().map(|(place, _)| *place));
                TriggerEvent::Update
            }
            MergeAction::Nothing => continue,
        };
        if !events.contains(&event) {
            events.push(event);
        }
    }
    let updated = updated_places(table, assigned.into_iter());
    match through {
        Some(target) => target.own_triggers(binder, &events, &updated, &events),
        None => bind_triggers(binder, table, &events, &updated),
    }
}

/// What the clauses may do to rows that are there.
fn changes(table: &Table, whens: &[When]) -> Change {
    whens.iter().fold(Change::default(), |change, when| match &when.action {
        MergeAction::Update(assignments) => {
            change.or(Change::update(table, assignments.iter().map(|(place, _)| *place)))
        }
        MergeAction::Delete => change.or(Change::delete()),
        MergeAction::Insert(_) | MergeAction::Nothing => change,
    })
}

fn bind_when(
    binder: &mut Binder<'_>,
    when: &MergeWhen,
    table: &Arc<Table>,
    scope: &Scope,
) -> Result<When> {
    let condition = match &when.condition {
        Some(ast) => Some(condition(binder, ast, scope, ("MERGE WHEN AND", "WHEN"))?),
        None => None,
    };
    let action = match &when.action {
        AstAction::Update(assignments) => {
            MergeAction::Update(bind_assignments(binder, assignments, table, scope)?)
        }
        AstAction::Delete => MergeAction::Delete,
        AstAction::Insert { values: None, .. } => {
            MergeAction::Insert(row_of_defaults(binder, table)?)
        }
        AstAction::Insert { columns, overriding, values: Some(values) } => {
            let all: Vec<usize> =
                (0..table.columns.len()).filter(|i| !table.columns[*i].hidden).collect();
            let targets = insert_targets(binder, columns, (table, &all))?;
            let extra = values.get(targets.len()).map_or(0, start_of);
            check_width(columns, targets.len(), values.len(), extra)?;
            let given = inserted(binder, (values, &targets), table, *overriding, scope)?;
            MergeAction::Insert(full_row(binder, table, targets, given)?)
        }
        AstAction::Nothing => MergeAction::Nothing,
    };
    Ok(When { matched: when.matched, condition, action })
}

/// The values of an INSERT, cast for their columns.
fn inserted(
    binder: &mut Binder<'_>,
    (values, targets): (&[Ast], &[Target]),
    table: &Arc<Table>,
    overriding: Option<Overriding>,
    scope: &Scope,
) -> Result<Vec<Expr>> {
    let scopes = Scopes { scope, parent: None };
    let mut given = Vec::with_capacity(values.len());
    for (ast, target) in values.iter().zip(targets) {
        let column = &table.columns[target.place];
        if braid_sql::is_default(ast) {
            given.push(default_of(binder, column)?);
            continue;
        }
        check_overriding(overriding, table, target.place)?;
        let e = bind_expr(binder, ast, &mut ExprCx::plain(scopes, "VALUES"))?;
        if overriding == Some(Overriding::User) && column.identity.is_some() {
            given.push(default_of(binder, column)?);
            continue;
        }
        let value = target_value(binder, e, table, target);
        given.push(value.map_err(|error| at_start(error, ast))?);
    }
    Ok(given)
}

//! Row-level security: the policies that hold for a statement, as conditions on rows.
//!
//! ```text
//!   Filter (barrier) ── Filter: the policies' conditions ── Scan
//! ```
//!
//! The barrier keeps what the user wrote away from rows that the policies hide: a condition that
//! can fail, or that calls a function, is evaluated above it (`rules/barriers.rs`).
//!
//! Rules: a policy is bound where its table is bound. The role that counts is the session's user,
//! or the owner of a view around the table. Foreign keys, CHECK TABLE and definitions read tables
//! without the binder, so no policy holds for them.

use std::sync::Arc;

use braid_catalog::{Id, Policy, PolicyCommand, PolicyExpr, StoredExpr, Table};
use braid_sql::ast::Expr as Ast;
use braid_sql::{TABLE_ROW, has_subquery};
use braid_types::{Datum, Error, Result, SqlState, SqlType};

use super::privileges::role_of;
use crate::bind::Binder;
use crate::bind::expr::operators::coerce_bool;
use crate::bind::partitions::leaves::{appended_slots, slots_by_name};
use crate::bind::stored::{bind_stored_table_expr, bind_to_store};
use crate::context::PlanContext;
use crate::rules::walk;
use crate::tree::expr::{Expr, Slot};
use crate::tree::node::{Filter, Node, PolicyUse, RowCheck};

/// What expressions of policies are called in messages.
pub(crate) const POLICY_CLAUSE: &str = "policy expressions";

/// A table whose policies hold for the one who reads or changes it.
pub(crate) struct Secured {
    table: Arc<Table>,
    /// The partition of the table whose rows are meant; none: the table's own.
    partition: Option<Arc<Table>>,
    /// The owner of the view around; none: the session's user.
    owner: Option<Id>,
    role: Id,
}

/// Which condition of a policy is meant, and what for.
#[derive(Clone, Copy)]
struct Checked {
    /// The kind of policies.
    command: PolicyCommand,
    /// USING also where there is WITH CHECK.
    by_using: bool,
    /// When rows are checked.
    when: PolicyUse,
}

impl Secured {
    /// The policies that hold for a table here; `None` if none do. 42501 if `row_security` is off.
    pub(crate) fn of(
        binder: &Binder<'_>,
        table: &Arc<Table>,
        owner: Option<Id>,
    ) -> Result<Option<Self>> {
        if !table.security.enabled || binder.is_definition {
            return Ok(None);
        }
        let role = owner.unwrap_or_else(|| role_of(binder));
        let privileges = binder.context().catalog.privileges();
        if !privileges.are_policies_for(role, table) {
            return Ok(None);
        }
        if binder.context().env.setting("row_security").as_deref() == Some("off") {
            let name = &table.name;
            let message = format!(
                "query would be affected by row-level security policy for table \"{name}\""
            );
            let error = Error::new(SqlState::InsufficientPrivilege, message);
            return Err(match privileges.acts_as(role, table.owner) {
                true => error.hint(
                    "To disable the policy for the table's owner, use ALTER TABLE NO FORCE ROW \
                     LEVEL SECURITY.",
                ),
                false => error,
            });
        }
        Ok(Some(Self { table: table.clone(), partition: None, owner, role }))
    }

    /// The same policies for the rows of a partition.
    pub(crate) fn of_partition(self, partition: &Arc<Table>) -> Self {
        Self { partition: Some(partition.clone()), ..self }
    }

    /// The conditions under which policies show a row to a kind of statement. Without a permissive
    /// policy no row is shown.
    fn conditions(
        &self,
        binder: &mut Binder<'_>,
        command: PolicyCommand,
        slots: &[Slot],
    ) -> Result<Vec<Expr>> {
        let (permissive, restrictive) = self.policies(binder, command)?;
        let using = |policy: &&Policy| policy.using.clone();
        let permissive: Vec<PolicyExpr> = permissive.iter().filter_map(using).collect();
        let restrictive: Vec<PolicyExpr> = restrictive.iter().filter_map(using).collect();
        if permissive.is_empty() {
            return Ok(vec![never()]);
        }
        let mut conditions = Vec::new();
        for expr in &restrictive {
            conditions.push(self.bind(binder, expr, slots)?);
        }
        conditions.push(self.any(binder, &permissive, slots)?);
        Ok(conditions)
    }

    /// Hides the rows of a change's target that it may not change. A statement that also reads
    /// the target changes only rows that it may see. Returns the conditions.
    pub(crate) fn hide(
        &self,
        binder: &mut Binder<'_>,
        input: &mut Node,
        (command, reads): (PolicyCommand, bool),
        slots: &[Slot],
    ) -> Result<Vec<Expr>> {
        let mut conditions = self.conditions(binder, command, slots)?;
        if reads && command != PolicyCommand::Select {
            conditions.extend(self.conditions(binder, PolicyCommand::Select, slots)?);
        }
        put_behind_barrier(input, slots, &mut Some(conditions.clone()));
        Ok(conditions)
    }

    /// What is checked of rows that are inserted or changed. A statement that also reads the
    /// target may write only rows that it may see.
    pub(crate) fn written(
        &self,
        binder: &mut Binder<'_>,
        (command, reads): (PolicyCommand, bool),
        slots: &[Slot],
    ) -> Result<Vec<(RowCheck, Expr)>> {
        let when = match command {
            PolicyCommand::Insert => PolicyUse::Insert,
            _ => PolicyUse::Update,
        };
        self.written_at(binder, (command, reads), when, slots)
    }

    /// What is checked of rows that UPDATE has moved, as they are inserted into this partition.
    pub(crate) fn moved(
        &self,
        binder: &mut Binder<'_>,
        reads: bool,
        slots: &[Slot],
    ) -> Result<Vec<(RowCheck, Expr)>> {
        self.written_at(binder, (PolicyCommand::Update, reads), PolicyUse::Insert, slots)
    }

    fn written_at(
        &self,
        binder: &mut Binder<'_>,
        (command, reads): (PolicyCommand, bool),
        when: PolicyUse,
        slots: &[Slot],
    ) -> Result<Vec<(RowCheck, Expr)>> {
        let mut checks = Vec::new();
        let own = Checked { command, by_using: false, when };
        self.add_checks(binder, own, slots, &mut checks)?;
        if reads {
            let seen = Checked { command: PolicyCommand::Select, by_using: true, when };
            self.add_checks(binder, seen, slots, &mut checks)?;
        }
        Ok(checks)
    }

    /// Hides the rows that UPDATE may not change; what is checked of the new ones.
    pub(crate) fn changed(
        &self,
        binder: &mut Binder<'_>,
        input: &mut Node,
        reads: bool,
        (slots, row_slots): (&[Slot], &[Slot]),
    ) -> Result<Vec<(RowCheck, Expr)>> {
        self.hide(binder, input, (PolicyCommand::Update, reads), slots)?;
        self.written(binder, (PolicyCommand::Update, reads), row_slots)
    }

    /// What is checked of rows that are in the way of inserted ones, and of them as they change.
    pub(crate) fn replaced(
        &self,
        binder: &mut Binder<'_>,
        reads: bool,
        slots: &[Slot],
    ) -> Result<Vec<(RowCheck, Expr)>> {
        let mut checks = Vec::new();
        let commands = [(PolicyCommand::Update, true), (PolicyCommand::Select, reads)];
        for (command, _) in commands.into_iter().filter(|(_, is_meant)| *is_meant) {
            let there = Checked { command, by_using: true, when: PolicyUse::Conflict };
            self.add_checks(binder, there, slots, &mut checks)?;
        }
        checks.extend(self.written(binder, (PolicyCommand::Update, reads), slots)?);
        Ok(checks)
    }

    /// What is checked of the rows that MERGE changes, deletes and inserts. It reads its target.
    pub(crate) fn merged(
        &self,
        binder: &mut Binder<'_>,
        slots: &[Slot],
    ) -> Result<Vec<(RowCheck, Expr)>> {
        let mut checks = self.written(binder, (PolicyCommand::Insert, false), slots)?;
        checks.extend(self.written(binder, (PolicyCommand::Update, true), slots)?);
        let there = [
            (PolicyCommand::Update, PolicyUse::MergeUpdate),
            (PolicyCommand::Delete, PolicyUse::MergeDelete),
        ];
        for (command, when) in there {
            let checked = Checked { command, by_using: true, when };
            self.add_checks(binder, checked, slots, &mut checks)?;
        }
        Ok(checks)
    }

    /// Adds what is checked of rows that are written or about to change.
    fn add_checks(
        &self,
        binder: &mut Binder<'_>,
        checked: Checked,
        slots: &[Slot],
        checks: &mut Vec<(RowCheck, Expr)>,
    ) -> Result<()> {
        let (permissive, restrictive) = self.policies(binder, checked.command)?;
        let wanted = |policy: &Policy| match checked.by_using {
            true => policy.using.clone(),
            false => policy.check.clone().or_else(|| policy.using.clone()),
        };
        let permissive: Vec<PolicyExpr> = permissive.iter().filter_map(|p| wanted(p)).collect();
        let restrictive: Vec<(String, PolicyExpr)> =
            restrictive.iter().filter_map(|p| Some((p.name.clone(), wanted(p)?))).collect();
        let table = &self.table.name;
        let check = |name| RowCheck::Policy { table: table.clone(), name, when: checked.when };
        if permissive.is_empty() {
            checks.push((check(None), never()));
            return Ok(());
        }
        checks.push((check(None), self.any(binder, &permissive, slots)?));
        for (name, expr) in restrictive {
            checks.push((check(Some(name)), self.bind(binder, &expr, slots)?));
        }
        Ok(())
    }

    /// The permissive and the restrictive policies for a kind of statement. 42P17 if one of them
    /// has a subquery, and the table is read by a policy of its own.
    fn policies(
        &self,
        binder: &Binder<'_>,
        command: PolicyCommand,
    ) -> Result<(Vec<&Policy>, Vec<&Policy>)> {
        let privileges = binder.context().catalog.privileges();
        let found = privileges.policies_for(self.role, &self.table, command);
        if binder.secured.contains(&self.table.id) && any_has_subquery(&found)? {
            let name = &self.table.name;
            let message = format!("infinite recursion detected in policy for relation \"{name}\"");
            return Err(Error::new(SqlState::InvalidObjectDefinition, message));
        }
        Ok(found.into_iter().partition(|policy| policy.permissive))
    }

    fn any(&self, binder: &mut Binder<'_>, exprs: &[PolicyExpr], slots: &[Slot]) -> Result<Expr> {
        let bound: Result<Vec<Expr>> =
            exprs.iter().map(|expr| self.bind(binder, expr, slots)).collect();
        let mut bound = bound?;
        Ok(match (bound.pop(), bound.is_empty()) {
            (Some(only), true) => only,
            (Some(last), false) => {
                bound.push(last);
                Expr::Or(bound)
            }
            (None, _) => never(),
        })
    }

    /// A condition over the table's row.
    fn bind(&self, binder: &mut Binder<'_>, expr: &PolicyExpr, slots: &[Slot]) -> Result<Expr> {
        let cx = PlanContext { text: "", variables: None, ..*binder.context() };
        let mut inner = Binder::of_stored(&cx, self.owner);
        inner.follow(binder);
        inner.secured.push(self.table.id);
        let slots = match &self.partition {
            Some(partition) => slots_by_name(&mut inner, &self.table, (partition, slots)),
            None => slots.to_vec(),
        };
        let bound =
            bind_stored_table_expr(&mut inner, &self.table, &slots, &expr.expr, POLICY_CLAUSE);
        let bound = bound.and_then(|e| coerce_bool(&mut inner, e, "POLICY"));
        binder.lead_from(inner);
        binder.tables.extend(expr.uses.iter().map(|(id, _)| *id));
        bound
    }
}

/// Binds a condition as it is written, whose columns get the numbers of the stored form.
pub(crate) fn bind_policy_to_store(
    binder: &mut Binder<'_>,
    ast: &Ast,
    table: &Table,
) -> Result<()> {
    // The first number is that of the table's row.
    binder.labels = TABLE_ROW;
    let bound = bind_to_store(binder, ast, Some(table), POLICY_CLAUSE)?;
    coerce_bool(binder, bound, "POLICY").map(drop)
}

/// Binds the stored form of a condition.
pub(crate) fn check_policy(
    binder: &mut Binder<'_>,
    table: &Table,
    expr: &StoredExpr,
) -> Result<()> {
    let slots: Vec<Slot> = table.columns.iter().map(|_| binder.slot()).collect();
    let bound = bind_stored_table_expr(binder, table, &slots, expr, POLICY_CLAUSE)?;
    coerce_bool(binder, bound, "POLICY").map(drop)
}

/// Whether a condition of these policies has a subquery.
fn any_has_subquery(policies: &[&Policy]) -> Result<bool> {
    for condition in policies.iter().flat_map(|policy| policy.conditions()) {
        if has_subquery(&braid_sql::parse_expr(condition.expr.sql())?) {
            return Ok(true);
        }
    }
    Ok(false)
}

fn never() -> Expr {
    Expr::Const(Datum::Bool(false), SqlType::Bool)
}

/// A scan of a table in FROM that shows what the policies show. A locked row must be one that may
/// be updated as well.
pub(crate) fn secure_scan(
    binder: &mut Binder<'_>,
    table: &Arc<Table>,
    node: Node,
    is_locked: bool,
) -> Result<Node> {
    let Some(secured) = Secured::of(binder, table, binder.view_owner)? else { return Ok(node) };
    let slots = match table.partitioning {
        Some(_) => appended_slots(binder, table, &node),
        None => node.slots(),
    };
    let mut conditions = secured.conditions(binder, PolicyCommand::Select, &slots)?;
    if is_locked {
        conditions.extend(secured.conditions(binder, PolicyCommand::Update, &slots)?);
    }
    Ok(behind_barrier(node, conditions))
}

/// Puts the scan that gives these slots behind a barrier.
fn put_behind_barrier(node: &mut Node, slots: &[Slot], conditions: &mut Option<Vec<Expr>>) {
    let gives = |node: &Node| match node {
        Node::Scan(scan) => scan.columns.first().map(|(slot, _)| slot) == slots.first(),
        _ => false,
    };
    if !gives(node) {
        walk::children_mut(node, &mut |child| put_behind_barrier(child, slots, conditions));
    } else if let Some(conditions) = conditions.take() {
        let scan = std::mem::replace(node, Node::one_row());
        *node = behind_barrier(scan, conditions);
    }
}

/// The rows that meet conditions which nothing may be evaluated before.
pub(crate) fn behind_barrier(input: Node, predicates: Vec<Expr>) -> Node {
    let input = match predicates.is_empty() {
        true => input,
        false => Node::Filter(Box::new(Filter { input, predicates, barrier: false })),
    };
    Node::Filter(Box::new(Filter { input, predicates: Vec::new(), barrier: true }))
}

//! INSERT into a partitioned table.

use std::collections::BTreeMap;

use braid_catalog::partitions::{is_referenced, key_list};
use braid_catalog::{Catalog, CatalogNames, Table, TriggerEvent};
use braid_exec::{BoxedOperator, Evaluator, Operator, Postponed};
use braid_plan::{Expr, Insert, Node, RouteLevel, RouteTarget, Routes};
use braid_rows::show;
use braid_types::{Datum, Error, Result, Row, SqlState};
use futures_util::future::BoxFuture;

use super::moved::{MovedInput, NoInput};
use crate::insert::InsertOperator;
use crate::policy_checks::has_policies;
use crate::queues::Queues;
use crate::table_writer::TableWriter;
use crate::triggers::RowTriggers;

/// The most characters of a value in a message.
const SHOWN_MAX: usize = 64;

/// INSERT into a partitioned table; it gives RETURNING's rows.
pub(crate) struct RoutingOperator {
    input: BoxedOperator,
    evaluator: Evaluator,
    queues: Queues,
    values: Vec<Expr>,
    values_wait: bool,
    routes: Routes,
    /// Checks the target's own bound, if it is a partition itself.
    checker: Option<TableWriter>,
    /// The INSERTs of the partitions that have got rows.
    leaves: BTreeMap<usize, InsertOperator>,
    /// Rows go one after the other, in their order: RETURNING shows it, and triggers may see it.
    keeps_order: bool,
    /// The triggers FOR EACH STATEMENT of the partitioned table.
    triggers: RowTriggers,
    begun: bool,
    ended: bool,
    /// The error of a row after those that are to be written first.
    failed: Postponed,
}

impl RoutingOperator {
    /// An INSERT over its input.
    pub(crate) fn new(
        input: BoxedOperator,
        plan: &Insert,
        evaluator: Evaluator,
        queues: &Queues,
    ) -> Result<Self> {
        let Some(routes) = plan.routes.as_deref().cloned() else {
            return Err(Error::broken("rows are to be routed without routes"));
        };
        let input = match routes.of_moved {
            true => Box::new(MovedInput { moved: queues.moved.clone(), root: plan.table.id }),
            false => input,
        };
        let checker = match plan.checks.is_empty() {
            true => None,
            false => {
                Some(TableWriter::new(&plan.table, &[], &plan.checks, &[], evaluator.clone())?)
            }
        };
        let has_triggers = |node: &Node| matches!(node, Node::Insert(n) if !n.triggers.is_empty());
        let mut routing = Self {
            input,
            queues: queues.clone(),
            values_wait: plan.values.iter().any(Expr::waits),
            values: plan.values.clone(),
            checker,
            leaves: BTreeMap::new(),
            keeps_order: !plan.returning.is_empty() || routes.leaves.iter().any(has_triggers),
            routes,
            triggers: RowTriggers::new(&evaluator, &plan.table, &plan.triggers, &queues.triggers),
            begun: false,
            ended: false,
            evaluator,
            failed: Postponed::default(),
        };
        // What is left to the statement's end has to be known before it begins.
        let catalog = routing.evaluator.run.cx.catalog.clone();
        for place in 0..routing.routes.leaves.len() {
            if routing.routes.leaves.get(place).is_some_and(|node| leaves_work(&catalog, node)) {
                routing.leaf(place)?;
            }
        }
        Ok(routing)
    }

    async fn next_rows(&mut self) -> Result<Option<Vec<Row>>> {
        if !std::mem::replace(&mut self.begun, true) {
            // With ON CONFLICT DO UPDATE there are triggers for both.
            self.triggers.begin(TriggerEvent::Insert).await?;
            self.triggers.begin(TriggerEvent::Update).await?;
        }
        loop {
            self.failed.check()?;
            let Some(batch) = self.input.next().await? else {
                if !std::mem::replace(&mut self.ended, true) {
                    self.triggers.end(TriggerEvent::Update).await?;
                    self.triggers.end(TriggerEvent::Insert).await?;
                }
                return Ok(None);
            };
            self.evaluator.run.check_interrupts().await?;
            let mut runs: Vec<(usize, Vec<Row>)> = Vec::new();
            if let Err(error) = self.route_all(batch, &mut runs).await {
                self.failed.keep(error, !runs.is_empty())?;
            }
            let mut result = Vec::new();
            for (leaf, rows) in runs {
                result.append(&mut self.leaf(leaf)?.insert_rows(rows).await?);
            }
            if !result.is_empty() {
                return Ok(Some(result));
            }
        }
    }

    /// Finds the partitions of rows, and puts those together that may go at once.
    async fn route_all(
        &mut self,
        batch: Vec<Row>,
        runs: &mut Vec<(usize, Vec<Row>)>,
    ) -> Result<()> {
        for row in batch {
            let row = self.evaluator.eval_all(&self.values, self.values_wait, &row).await?;
            let leaf = self.route(&row).await?;
            let known = match self.keeps_order {
                true => runs.last_mut().filter(|(last, _)| *last == leaf),
                false => runs.iter_mut().find(|(known, _)| *known == leaf),
            };
            match known {
                Some((_, rows)) => rows.push(row),
                None => runs.push((leaf, vec![row])),
            }
        }
        Ok(())
    }

    /// The place of the partition of a row of the target.
    async fn route(&mut self, row: &Row) -> Result<usize> {
        if let Some(checker) = &self.checker {
            checker.check(row).await?;
        }
        match find_leaf(&self.evaluator, &self.routes.levels, row).await? {
            Found::Leaf(leaf) => Ok(leaf),
            Found::Nothing(level, key) => {
                Err(self.no_partition(&level.table, &key, &level.map.types))
            }
        }
    }

    fn leaf(&mut self, place: usize) -> Result<&mut InsertOperator> {
        let missing = || Error::broken("a partition has no INSERT");
        if !self.leaves.contains_key(&place) {
            let Some(Node::Insert(plan)) = self.routes.leaves.get(place) else {
                return Err(missing());
            };
            let evaluator = self.evaluator.clone();
            let insert = InsertOperator::new(Box::new(NoInput), plan, evaluator, &self.queues)?;
            self.leaves.insert(place, insert);
        }
        self.leaves.get_mut(&place).ok_or_else(missing)
    }

    /// 23514 for a row that belongs to no partition.
    fn no_partition(&self, table: &Table, key: &[Datum], types: &[braid_types::SqlType]) -> Error {
        let cx = &self.evaluator.run.cx;
        let names = CatalogNames { catalog: &cx.catalog, path: Some(&cx.path) };
        let shown = table.partitioning.as_ref().map(|keys| key_list(names, table, keys));
        let settings = cx.env.settings();
        let values: Vec<String> = key
            .iter()
            .zip(types)
            .map(|(value, ty)| {
                let text = show(value, ty, settings);
                match text.char_indices().nth(SHOWN_MAX) {
                    Some((end, _)) => format!("{}...", &text[..end]),
                    None => text,
                }
            })
            .collect();
        let message = format!("no partition of relation \"{}\" found for row", table.name);
        let (shown, values) = (shown.unwrap_or_default(), values.join(", "));
        let error = Error::new(SqlState::CheckViolation, message)
            .detail(format!("Partition key of the failing row contains ({shown}) = ({values})."))
            .table(&cx.catalog.schema_name(table.schema), &table.name);
        let is_secured = |node: &Node| matches!(node, Node::Insert(plan) if has_policies(plan));
        if self.routes.leaves.iter().any(is_secured) { error.without_detail() } else { error }
    }
}

/// The partition of a row.
pub(crate) enum Found<'l> {
    /// Its place among those that have rows.
    Leaf(usize),
    /// There is none of this table for this key.
    Nothing(&'l RouteLevel, Vec<Datum>),
}

/// Finds the partition of a row, over which the keys of the levels are.
pub(crate) async fn find_leaf<'l>(
    evaluator: &Evaluator,
    levels: &'l [RouteLevel],
    row: &Row,
) -> Result<Found<'l>> {
    let mut next = 0;
    loop {
        let level = levels.get(next);
        let level = level.ok_or_else(|| Error::broken("a partitioned table has no routes"))?;
        let mut key = Vec::with_capacity(level.keys.len());
        for e in &level.keys {
            key.push(evaluator.eval(e, row).await?);
        }
        let found = level.map.find(&key).and_then(|place| level.targets.get(place));
        match found {
            Some(RouteTarget::Leaf(leaf)) => return Ok(Found::Leaf(*leaf)),
            Some(RouteTarget::Level(level)) => next = *level,
            None => return Ok(Found::Nothing(level, key)),
        }
    }
}

/// Whether rows of a partition lead to work at the statement's end.
fn leaves_work(catalog: &Catalog, node: &Node) -> bool {
    let Node::Insert(plan) = node else { return false };
    let table = &plan.table;
    !plan.triggers.is_empty()
        || !table.foreign_keys.is_empty()
        || is_referenced(catalog, table)
        || table.indexes.iter().any(|index| index.is_checked_late())
}

impl Operator for RoutingOperator {
    fn next(&mut self) -> BoxFuture<'_, Result<Option<Vec<Row>>>> {
        Box::pin(self.next_rows())
    }
}

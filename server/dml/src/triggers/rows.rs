//! The triggers of one table while an operator or a cascade changes its rows.

use std::sync::Arc;

use braid_catalog::{Table, TriggerEvent, TriggerTiming};
use braid_exec::{Evaluator, ExecutionState, TriggerCall, row_bytes};
use braid_plan::{Expr, Firing, PlannedTrigger, RootTriggers, TableTriggers};
use braid_types::{Datum, Result, Row};

use crate::triggers::queue::{ChangedRow, QUEUED_BYTES, QueuedTrigger, TriggerQueue};

/// The triggers of one table in a run.
pub(crate) struct RowTriggers {
    evaluator: Evaluator,
    table: Arc<Table>,
    /// Those that `session_replication_role` lets fire.
    active: TableTriggers,
    queue: Arc<TriggerQueue>,
}

/// The setting that chooses which triggers fire.
pub(crate) fn replication_role(run: &ExecutionState) -> String {
    run.cx.env.setting("session_replication_role").unwrap_or_default()
}

impl RowTriggers {
    /// The triggers that a statement may fire on a table.
    pub(crate) fn new(
        evaluator: &Evaluator,
        table: &Arc<Table>,
        planned: &TableTriggers,
        queue: &Arc<TriggerQueue>,
    ) -> Self {
        let mut active = TableTriggers::default();
        if !planned.is_empty() {
            let role = replication_role(&evaluator.run);
            let fires = |planned: &&Arc<PlannedTrigger>| planned.trigger.state.fires(&role);
            active.list = planned.list.iter().filter(fires).cloned().collect();
            active.adjusted.clone_from(&planned.adjusted);
            active.of_root = planned.of_root.as_ref().and_then(|root| {
                let list: Vec<_> = root.list.iter().filter(fires).cloned().collect();
                (!list.is_empty()).then(|| Arc::new(RootTriggers { list, ..(**root).clone() }))
            });
        }
        if !active.is_empty() {
            queue.register();
        }
        Self { evaluator: evaluator.clone(), table: table.clone(), active, queue: queue.clone() }
    }

    /// Whether none fires.
    pub(crate) fn is_empty(&self) -> bool {
        self.active.is_empty()
    }

    /// Whether a firing has triggers.
    pub(crate) fn has(&self, firing: Firing) -> bool {
        self.active.has(firing)
    }

    /// Whether rows are changed one by one, because a trigger looks at each before it is written.
    pub(crate) fn are_before_rows(&self) -> bool {
        use TriggerEvent as E;
        let events = [E::Insert, E::Update, E::Delete];
        events.into_iter().any(|event| self.has(Firing::before_row(event)))
    }

    /// Fires the triggers before a statement, once in a run.
    pub(crate) async fn begin(&self, event: TriggerEvent) -> Result<()> {
        self.begin_on(&self.table, &self.active.list, event).await?;
        match &self.active.of_root {
            Some(root) => self.begin_on(&root.table, &root.list, event).await,
            None => Ok(()),
        }
    }

    /// The same for the triggers of one table, which may be the partitioned one.
    async fn begin_on(
        &self,
        table: &Arc<Table>,
        list: &[Arc<PlannedTrigger>],
        event: TriggerEvent,
    ) -> Result<()> {
        let firing = Firing::before_statement(event);
        let is_any = list.iter().any(|planned| planned.is_of(firing));
        if !is_any || !self.queue.begin(table.id, event) {
            return Ok(());
        }
        for planned in list {
            if planned.is_of(firing) && self.holds_on(table, planned, (None, None)).await? {
                self.call(planned, table, event, (None, None)).await?;
            }
        }
        Ok(())
    }

    /// Owes the triggers after a statement.
    pub(crate) async fn end(&self, event: TriggerEvent) -> Result<()> {
        let mut queued = Vec::new();
        let firing = Firing::after_statement(event);
        let mut all: Vec<(Arc<Table>, Arc<PlannedTrigger>)> = Vec::new();
        all.extend(self.active.list.iter().map(|known| (self.table.clone(), known.clone())));
        if let Some(root) = &self.active.of_root {
            all.extend(root.list.iter().map(|known| (root.table.clone(), known.clone())));
        }
        all.retain(|(_, planned)| planned.is_of(firing));
        for (table, planned) in all {
            if self.holds_on(&table, &planned, (None, None)).await? {
                queued.push(QueuedTrigger { planned, table, event, rows: Arc::default() });
            }
        }
        if !queued.is_empty() {
            self.queue.push_statement(queued);
        }
        Ok(())
    }

    /// Fires the triggers before a row, or instead of its change. The row as they leave it; `None`
    /// if they drop it. Of DELETE it is the old row.
    pub(crate) async fn fire_row(
        &self,
        firing: Firing,
        old: Option<&Row>,
        new: Option<Row>,
    ) -> Result<Option<Row>> {
        let mut row = new;
        let mut is_changed = false;
        if let Some(row) = row.as_mut().filter(|_| firing.timing == TriggerTiming::Before) {
            // Generated columns are computed from what the triggers leave.
            let columns = self.table.columns.iter().zip(row.iter_mut());
            let generated = columns.filter(|(column, _)| column.generated.is_some());
            generated.for_each(|(_, value)| *value = Datum::Null);
        }
        for planned in self.active.of(firing) {
            if !self.holds(planned, old.map(Vec::as_slice), row.as_deref()).await? {
                continue;
            }
            let rows = (old.cloned(), row.clone());
            let given = self.call(planned, &self.table, firing.event, rows).await?;
            let Some(given) = given else { return Ok(None) };
            if row.is_some() {
                row = Some(given);
                is_changed = true;
            }
        }
        let Some(mut row) = row else { return Ok(old.cloned()) };
        if is_changed {
            for (place, e) in &self.active.adjusted {
                row[*place] = self.evaluator.eval(e, &row).await?;
            }
        }
        Ok(Some(row))
    }

    /// Owes the triggers after a row, and keeps it for transition tables.
    pub(crate) async fn after_row(
        &self,
        event: TriggerEvent,
        old: Option<&[Datum]>,
        new: Option<&[Datum]>,
    ) -> Result<()> {
        if self.is_empty() {
            return Ok(());
        }
        let mut list = self.active.list.iter().filter(|planned| planned.events.contains(&event));
        if list.any(|planned| planned.trigger.has_transitions()) {
            self.count(old, new)?;
            self.queue.keep_row(&self.table, event, old, new);
        }
        self.keep_for_root(event, old, new)?;
        let mut rows: Option<Arc<ChangedRow>> = None;
        for planned in self.active.of(Firing::after_row(event)) {
            if !self.holds(planned, old, new).await? {
                continue;
            }
            let rows = match &rows {
                Some(rows) => rows.clone(),
                None => {
                    self.count(old, new)?;
                    let changed =
                        ChangedRow { old: old.map(<[_]>::to_vec), new: new.map(<[_]>::to_vec) };
                    rows.insert(Arc::new(changed)).clone()
                }
            };
            self.take(QUEUED_BYTES)?;
            let (planned, table) = (planned.clone(), self.table.clone());
            self.queue.push(QueuedTrigger { planned, table, event, rows });
        }
        Ok(())
    }

    /// Keeps a row for transition tables of the partitioned table.
    fn keep_for_root(
        &self,
        event: TriggerEvent,
        old: Option<&[Datum]>,
        new: Option<&[Datum]>,
    ) -> Result<()> {
        let Some(root) = &self.active.of_root else { return Ok(()) };
        let event = if root.is_update { TriggerEvent::Update } else { event };
        let needs = |planned: &Arc<PlannedTrigger>| {
            planned.trigger.has_transitions() && planned.events.contains(&event)
        };
        if !root.list.iter().any(needs) {
            return Ok(());
        }
        self.count(old, new)?;
        let value = |row: &[Datum], place: &Option<usize>| {
            place.and_then(|place| row.get(place)).cloned().unwrap_or(Datum::Null)
        };
        let of_root =
            |row: &[Datum]| -> Row { root.places.iter().map(|place| value(row, place)).collect() };
        let (old, new) = (old.map(of_root), new.map(of_root));
        self.queue.keep_row(&root.table, event, old.as_deref(), new.as_deref());
        Ok(())
    }

    /// Rows that wait count for the memory of the statement.
    fn count(&self, old: Option<&[Datum]>, new: Option<&[Datum]>) -> Result<()> {
        self.take(old.map_or(0, row_bytes) + new.map_or(0, row_bytes))
    }

    /// Counts what waits for the end of the statement.
    fn take(&self, bytes: usize) -> Result<()> {
        self.queue.memory().unwrap_or(&self.evaluator.run.cx.memory).take(bytes)
    }

    /// Whether WHEN holds.
    async fn holds(
        &self,
        planned: &PlannedTrigger,
        old: Option<&[Datum]>,
        new: Option<&[Datum]>,
    ) -> Result<bool> {
        self.holds_on(&self.table, planned, (old, new)).await
    }

    /// The same for a trigger of a table, which may be the partitioned one.
    async fn holds_on(
        &self,
        table: &Table,
        planned: &PlannedTrigger,
        rows: (Option<&[Datum]>, Option<&[Datum]>),
    ) -> Result<bool> {
        let Some(when) = &planned.when else { return Ok(true) };
        holds(&self.evaluator, when, table.columns.len(), rows).await
    }

    async fn call(
        &self,
        planned: &PlannedTrigger,
        table: &Arc<Table>,
        event: TriggerEvent,
        (old, new): (Option<Row>, Option<Row>),
    ) -> Result<Option<Row>> {
        let cx = &self.evaluator.run.cx;
        cx.check_interrupts().await?;
        let call = TriggerCall {
            trigger: &planned.trigger,
            function: &planned.function,
            table,
            event,
            old,
            new,
            tables: Vec::new(),
        };
        cx.services.call_trigger(cx, call).await
    }
}

/// Whether a condition holds on the old row followed by the new one.
async fn holds(
    evaluator: &Evaluator,
    when: &Expr,
    width: usize,
    (old, new): (Option<&[Datum]>, Option<&[Datum]>),
) -> Result<bool> {
    let mut row = Row::with_capacity(2 * width);
    for part in [old, new] {
        match part {
            Some(part) => row.extend_from_slice(&part[..width]),
            None => row.resize(row.len() + width, Datum::Null),
        }
    }
    Ok(evaluator.eval(when, &row).await?.as_bool() == Some(true))
}

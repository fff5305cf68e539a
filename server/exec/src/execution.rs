//! One run of a planned statement: rows on demand, then the command tag.

use std::sync::Arc;

use braid_plan::{PlannedStatement, StatementKind};
use braid_types::{Datum, Error, Result, Row, SqlState};
use parking_lot::Mutex;

use crate::ExecContext;
use crate::explain::ExplainOperator;
use crate::operator::{BoxedOperator, ExecutionState, NewRowChanges, build};
use crate::predict::{self, StatementSpans};
use crate::spill::{RowStore, StoreCursor};

/// One run of a planned statement. Dropping it stops it.
pub struct Execution {
    plan: Arc<PlannedStatement>,
    run: Arc<ExecutionState>,
    /// Only ever reached through `get_mut`: the lock makes the run `Sync`, it is never taken.
    root: Mutex<BoxedOperator>,
    /// Rows read from the root and not yet given out.
    pending: std::vec::IntoIter<Row>,
    /// Rows that had to wait for the statement's end.
    held: Option<(RowStore, StoreCursor)>,
    rows: u64,
    done: bool,
    /// What it was said to read and write, where that is compared.
    predicted: Option<StatementSpans>,
}

impl Execution {
    /// Prepares a run; nothing is read yet. An INSERT whose VALUES repeat
    /// ([`braid_plan::Values::repeats`]) makes as many rows as there are parameters for, which
    /// may be none.
    /// `new_changes` makes what changes rows, if the plan does.
    pub fn start(
        plan: Arc<PlannedStatement>,
        params: Arc<Vec<Datum>>,
        cx: Arc<ExecContext>,
        new_changes: NewRowChanges,
    ) -> Result<Self> {
        if params.len() > plan.params.len() && !plan.repeats() {
            return Err(Error::internal("a plan was given parameters of several rows"));
        }
        let shows = plan.explain.is_some_and(|options| !options.analyze);
        if let Some(name) = plan.unpopulated.as_ref().filter(|_| !shows) {
            let message = format!("materialized view \"{name}\" has not been populated");
            return Err(Error::new(SqlState::ObjectNotInPrerequisiteState, message)
                .hint("Use the REFRESH MATERIALIZED VIEW command."));
        }
        for table in plan.tables.iter().filter(|id| !braid_catalog::is_temporary(**id)) {
            let (terms, key) = (cx.txn.commit_terms(), braid_catalog::descriptor_key(*table));
            match &cx.catalog_since {
                Some(since) => terms.require_unchanged_since(key, since),
                None => terms.require_unchanged(key),
            }
        }
        // A context that has run another plan before keeps that one: its tables are used as well.
        let _ = cx.plan.set(plan.clone());
        cx.memory.charge(&cx.cancel);
        let predicted = predict::prediction(&plan, &params, &cx);
        let run = ExecutionState::new(cx, params).changing_rows(new_changes);
        let (run, root) = match plan.explain {
            None => {
                let run = Arc::new(run);
                let root = build(&plan.root, &run, None)?;
                (run, root)
            }
            Some(options) => {
                let run = Arc::new(if options.analyze { run.watched() } else { run });
                let root = ExplainOperator::new(plan.clone(), run.clone(), options);
                (run, Box::new(root) as BoxedOperator)
            }
        };
        Ok(Self {
            plan,
            run,
            root: Mutex::new(root),
            pending: Vec::new().into_iter(),
            held: None,
            rows: 0,
            done: false,
            predicted,
        })
    }

    /// The next rows, at most `max_rows`; empty at the end.
    pub async fn next(&mut self, max_rows: usize) -> Result<Vec<Row>> {
        if self.pending.len() == 0 && !self.done {
            let root = self.root.get_mut();
            if self.run.holds_result() {
                // No row leaves before foreign keys have looked at all of them.
                let mut rows = RowStore::new(&self.run);
                while let Some(batch) = root.next().await? {
                    rows.append(batch)?;
                }
                self.run.finish().await?;
                self.held = Some((rows, StoreCursor::default()));
                self.done = true;
            } else {
                match root.next().await? {
                    Some(batch) => {
                        self.pending = batch.into_iter();
                        self.done = root.is_done();
                    }
                    None => self.done = true,
                }
            }
            if self.done
                && let Some(predicted) = &self.predicted
            {
                predict::compare(predicted, &self.run.cx)?;
            }
        }
        if self.pending.len() == 0
            && let Some((rows, cursor)) = &mut self.held
        {
            self.pending = rows.read(cursor)?.into_iter();
        }
        let rows: Vec<Row> = if max_rows >= self.pending.len() {
            std::mem::take(&mut self.pending).collect()
        } else {
            self.pending.by_ref().take(max_rows).collect()
        };
        self.rows += rows.len() as u64;
        Ok(rows)
    }

    /// Whether the statement only reads.
    pub fn is_query(&self) -> bool {
        matches!(self.plan.kind, StatementKind::Select)
    }

    /// How many rows it has changed so far.
    pub fn changed_rows(&self) -> u64 {
        self.run.changed_rows()
    }

    /// The command tag, once `next` has given no more rows.
    pub fn tag(&self) -> String {
        let counted = !self.plan.returning_nothing;
        let changed = if counted { self.run.changed_rows() } else { 0 };
        match self.plan.kind {
            StatementKind::Select => format!("SELECT {}", self.rows),
            StatementKind::Insert => format!("INSERT 0 {changed}"),
            StatementKind::Update => format!("UPDATE {changed}"),
            StatementKind::Delete => format!("DELETE {changed}"),
            StatementKind::Merge => format!("MERGE {changed}"),
        }
    }

    /// What each operator did, for EXPLAIN ANALYZE.
    pub fn run(&self) -> &Arc<ExecutionState> {
        &self.run
    }
}

//! The operator that stands in for the plan's root: its rows are the lines of the explanation.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Instant;

use braid_plan::explain::{
    Actual, Describing, ExplainOptions, Operator as Described, Summary, describe, document, text,
};
use braid_plan::{Node, PlannedStatement, StatementKind};
use braid_sql::ast::ExplainFormat;
use braid_sql::quote_ident;
use braid_types::{Datum, Json, Result, Row};
use futures_util::future::BoxFuture;

use crate::explain::spans::SpanPrinter;
use crate::operator::{ExecutionState, Operator, build};
use crate::predict::{predict_spans, span_texts};

/// Explains a plan when it is first asked for rows.
pub(crate) struct ExplainOperator {
    plan: Arc<PlannedStatement>,
    run: Arc<ExecutionState>,
    options: ExplainOptions,
    done: bool,
}

impl ExplainOperator {
    /// The explanation of a plan; with ANALYZE the run must be a watched one.
    pub(crate) fn new(
        plan: Arc<PlannedStatement>,
        run: Arc<ExecutionState>,
        options: ExplainOptions,
    ) -> Self {
        Self { plan, run, options, done: false }
    }

    async fn lines(&self) -> Result<Vec<Row>> {
        if let Some(steps) = &self.plan.steps {
            return Ok(steps.iter().map(|line| vec![Datum::text(line.clone())]).collect());
        }
        let options = &self.options;
        let planning_micros = self.plan.planning_micros;
        let mut summary = Summary { planning_micros, execution: None };
        // Bounds are printed as they were before the statement changed anything.
        let cx = &self.run.cx;
        let printer = SpanPrinter::new(&self.run);
        let spans = |scan: &braid_plan::Scan| printer.spans(scan);
        let mut described = describe(
            &self.plan.root,
            &Describing {
                catalog: &cx.catalog,
                settings: cx.env.settings(),
                verbose: options.verbose,
                implicit_locks: cx.implicit_locks,
                workers: &|parallel| cx.parallelism.workers(parallel),
                spans: &spans,
            },
        );
        self.add_predicted(&mut described);
        let mut actual: HashMap<usize, Actual> = HashMap::new();
        if options.analyze {
            summary.execution = Some(self.execute().await?);
            let stats = self.run.stats();
            for stats in stats.iter().filter(|stats| stats.loops.load(Ordering::Relaxed) > 0) {
                actual.insert(
                    stats.node,
                    Actual {
                        rows: stats.rows.load(Ordering::Relaxed),
                        loops: stats.loops.load(Ordering::Relaxed),
                        round_trips: stats.round_trips.load(Ordering::Relaxed),
                        micros: stats.micros.load(Ordering::Relaxed),
                        disk: *stats.disk.lock(),
                    },
                );
            }
        }
        let measured = |node: usize| actual.get(&node).copied();
        let measured: Option<braid_plan::explain::Measured<'_>> =
            if options.analyze { Some(&measured) } else { None };
        if options.format == ExplainFormat::Text {
            let lines = text(&described, options, measured, &summary);
            return Ok(lines.into_iter().map(|line| vec![Datum::text(line)]).collect());
        }
        let text = document(&described, options, measured, &summary);
        Ok(vec![vec![match options.format {
            ExplainFormat::Json => Datum::json(Json::Raw(text.into())),
            _ => Datum::text(text),
        }]])
    }

    /// What a statement that writes may read and write, checks included.
    fn add_predicted(&self, root: &mut Described) {
        let cx = &self.run.cx;
        if self.plan.kind == StatementKind::Select {
            return;
        }
        let Ok(predicted) = predict_spans(&self.plan, &self.run.params, cx) else { return };
        if let Node::Delete(delete) = &self.plan.root
            && let Some(ranges) = delete.ranges(cx.range_delete)
        {
            root.line(
                "Range Delete",
                match ranges {
                    Ok((_, range)) => {
                        let all = std::iter::once(&delete.table).chain(&range.below);
                        all.map(|table| quote_ident(&table.name)).collect::<Vec<_>>().join(", ")
                    }
                    Err(refusal) => refusal.describe(),
                },
            );
        }
        root.list("May Read", span_texts(&predicted.reads, &cx.catalog));
        root.list("May Write", span_texts(&predicted.writes, &cx.catalog));
        if predicted.ordered {
            root.line("Order", "after all earlier statements");
        }
    }

    /// Runs the statement to its end; gives its time and round trips.
    async fn execute(&self) -> Result<(u64, u64)> {
        let started = Instant::now();
        let before = self.run.cx.txn.round_trips().count();
        let mut root = build(&self.plan.root, &self.run, None)?;
        while root.next().await?.is_some() {
            self.run.check_interrupts().await?;
        }
        drop(root);
        self.run.finish().await?;
        let micros = u64::try_from(started.elapsed().as_micros()).unwrap_or(u64::MAX);
        Ok((micros, self.run.cx.txn.round_trips().count() - before))
    }
}

impl Operator for ExplainOperator {
    fn next(&mut self) -> BoxFuture<'_, Result<Option<Vec<Row>>>> {
        Box::pin(async move {
            if std::mem::replace(&mut self.done, true) {
                return Ok(None);
            }
            self.lines().await.map(Some)
        })
    }
}

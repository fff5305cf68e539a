//! The way from a statement to a plan that can be run.

use std::sync::Arc;
use std::time::Instant;

use braid_catalog::{Id, Routine};
use braid_sql::ast::{Explain, Expr as Ast, LockStrength, Statement};
use braid_types::{Datum, Error, Result, SqlState, SqlType};

use crate::bind::{
    Binder, BoundStatement, Refresh, bind_call, bind_function_call, bind_statement, defining,
};
use crate::context::{OutputColumn, PlanContext, StatementKind};
use crate::explain::{ExplainOptions, Steps};
use crate::tree::access::Bound;
use crate::tree::expr::{Expr, RoutineExpr};
use crate::tree::node::{Node, Project, Scan, Values};
use crate::{layout, rules, verify};

/// A statement that can be run.
pub struct PlannedStatement {
    /// What it is.
    pub kind: StatementKind,
    /// The plan.
    pub root: Node,
    /// The columns of its result; empty for DML without RETURNING.
    pub columns: Vec<OutputColumn>,
    /// The types of its parameters.
    pub params: Vec<SqlType>,
    /// The tables whose descriptors it was planned with.
    pub tables: Vec<Id>,
    /// Whether it changes data (also in WITH, or by a sequence).
    pub is_write: bool,
    /// Whether it calls a function of a user, which may read and change anything.
    pub calls_routine: bool,
    /// Whether its changes may fire triggers, whose functions may read and change anything.
    pub fires_triggers: bool,
    /// A definition has closed one of its tables to writers: a change of rows cannot run.
    pub is_closed: bool,
    /// `RETURNING NOTHING`
    pub returning_nothing: bool,
    /// Its plan is shown; `columns` are those of EXPLAIN.
    pub explain: Option<ExplainOptions>,
    /// The lines of EXPLAIN (RULES), instead of those of its plan.
    pub steps: Option<Vec<String>>,
    /// It reads many rows, so that a plan for the values of its parameters alone may pay.
    pub wants_values: bool,
    /// How long planning took.
    pub planning_micros: u64,
    /// A materialized view that it reads and that has no rows yet: it cannot run.
    pub unpopulated: Option<String>,
}

impl PlannedStatement {
    /// Whether it most likely reads one row by its key and nothing else of the store.
    pub fn looks_up_one_row(&self) -> bool {
        let mut node = &self.root;
        loop {
            if let Node::Scan(scan) = node {
                return self.explain.is_none()
                    && !self.is_write
                    && !self.calls_routine
                    && scan.is_of_one_key();
            }
            let mut children = Vec::new();
            node.for_each_child(&mut |child| children.push(child));
            match children[..] {
                [child] => node = child,
                _ => return false,
            }
        }
    }
}

impl Scan {
    /// Whether it reads one row by its primary key, without a lock.
    fn is_of_one_key(&self) -> bool {
        let primary = &self.table.primary;
        let is_one = |bound: &Bound| matches!(bound, Bound::In(values) if values.len() == 1);
        self.lock.is_none()
            && self.access.index == primary.number
            && self.access.bounds.len() == primary.keys.len()
            && self.access.bounds.iter().all(is_one)
    }
}

/// Plans a query or DML statement. The errors are those of names, types and privileges.
pub fn plan(statement: &Statement, cx: &PlanContext<'_>) -> Result<PlannedStatement> {
    // Deep expressions are walked recursively.
    braid_sql::deep_stack(|| plan_here(statement, cx))
}

fn plan_here(statement: &Statement, cx: &PlanContext<'_>) -> Result<PlannedStatement> {
    if let Statement::Explain(explain) = statement {
        return plan_explained(explain, cx);
    }
    plan_with(statement, Binder::new(cx), &mut |_, _| ())
}

/// Plans a statement for these values of its parameters alone: their frequencies count, and a bound
/// or a partial index may follow from them. The parameters are the same as those of a plan for all
/// values, and so are the errors.
pub fn plan_for(
    statement: &Statement,
    cx: &PlanContext<'_>,
    values: &[Datum],
) -> Result<PlannedStatement> {
    braid_sql::deep_stack(|| {
        let (started, mut binder) = (Instant::now(), Binder::new(cx));
        let mut bound = bind_statement(&mut binder, statement)?;
        rules::put_values(&mut bound.root, values);
        finish(bound, binder, started, &mut |_, _| ())
    })
}

/// Plans the query of a view that is being defined, which is not run: policies are added to it
/// when the view is read.
pub fn plan_definition(statement: &Statement, cx: &PlanContext<'_>) -> Result<PlannedStatement> {
    braid_sql::deep_stack(|| plan_with(statement, defining(Binder::new(cx)), &mut |_, _| ()))
}

/// Plans a part of REFRESH MATERIALIZED VIEW, with the privileges of the view's owner.
pub fn plan_refresh(
    statement: &Statement,
    cx: &PlanContext<'_>,
    refresh: Refresh,
    owner: Id,
) -> Result<PlannedStatement> {
    let binder = Binder::of_refresh(cx, refresh, owner);
    braid_sql::deep_stack(|| plan_with(statement, binder, &mut |_, _| ()))
}

/// Plans a statement; `after` is told of the plan before all rules and after each.
fn plan_with(
    statement: &Statement,
    mut binder: Binder<'_>,
    after: &mut dyn FnMut(&'static str, &Node),
) -> Result<PlannedStatement> {
    let started = Instant::now();
    let bound = bind_statement(&mut binder, statement)?;
    finish(bound, binder, started, after)
}

/// The plan of a statement whose names and types are bound.
fn finish(
    bound: BoundStatement,
    mut binder: Binder<'_>,
    started: Instant,
    after: &mut dyn FnMut(&'static str, &Node),
) -> Result<PlannedStatement> {
    let mut bound = bound;
    crate::collate::assign_plan_collations(&mut binder, &mut bound.root, &mut bound.columns)?;
    let mut root = rules::optimize(bound.root, &mut binder, after);
    let mut wants_values = false;
    rules::walk::scans_mut(&mut root, &mut |scan| wants_values |= scan.wants_values);
    layout::assign_positions(&mut root)?;
    verify::verify(&root)?;
    let (calls_routine, fires_triggers) = (binder.calls_routine, binder.fires_triggers);
    let unpopulated = binder.take_unpopulated();
    let catalog = binder.context().catalog;
    let (params, tables) = binder.finish()?;
    let mut used = tables.iter().filter_map(|table| catalog.table(*table));
    let is_closed = used.any(|table| table.closed_by.is_some());
    allow_repeats(&mut root, params.len());
    Ok(PlannedStatement {
        kind: bound.kind,
        root,
        columns: bound.columns,
        params,
        tables,
        is_write: bound.is_write,
        calls_routine,
        fires_triggers,
        is_closed,
        returning_nothing: bound.returning_nothing,
        explain: None,
        steps: None,
        wants_values,
        planning_micros: u64::try_from(started.elapsed().as_micros()).unwrap_or(u64::MAX),
        unpopulated,
    })
}

/// The one row of an INSERT's VALUES may be made again with the parameters that follow its own:
/// INSERTs of plain values have one plan for any number of rows.
///
/// COPY FROM with WHERE has a filter above that row; parameters then stand in the row alone.
fn allow_repeats(root: &mut Node, parameters: usize) {
    let Node::Insert(insert) = root else { return };
    let Some(values) = values_below(&mut insert.input) else { return };
    let is_plain = values.rows.len() == 1 && !values.rows.iter().flatten().any(Expr::waits);
    values.repeats = Some(parameters).filter(|count| *count > 0 && is_plain);
}

/// The VALUES under filters and projections without parameters of their own.
fn values_below(node: &mut Node) -> Option<&mut Values> {
    let is_param = |e: &Expr| e.any(&mut |e| matches!(e, Expr::Param(..)));
    match node {
        Node::Values(values) => Some(values),
        Node::Filter(filter) if !filter.predicates.iter().any(is_param) => {
            values_below(&mut filter.input)
        }
        Node::Project(project) if !project.exprs.iter().any(|(_, e)| is_param(e)) => {
            values_below(&mut project.input)
        }
        _ => None,
    }
}

/// The plan of what EXPLAIN is about. Of `DECLARE` and `CREATE TABLE AS` it is the query's.
fn plan_explained(explain: &Explain, cx: &PlanContext<'_>) -> Result<PlannedStatement> {
    let options = ExplainOptions::new(explain)?;
    let mut steps = options.rules.then(|| Steps::new(cx, options));
    let mut plan = |statement: &Statement| {
        plan_with(statement, Binder::new(cx), &mut |rule, root| {
            steps.iter_mut().for_each(|steps| steps.add(rule, root));
        })
    };
    let mut planned = match &explain.statement {
        Statement::DeclareCursor(declare) => plan(&Statement::Query(declare.query.clone()))?,
        Statement::CreateTable(create) => match &create.as_query {
            Some(_) if options.analyze => {
                return Err(Error::unsupported("EXPLAIN ANALYZE of CREATE TABLE AS"));
            }
            Some(query) => plan(&Statement::Query(query.clone()))?,
            None if create.as_execute.is_some() => {
                return Err(Error::unsupported("EXPLAIN of CREATE TABLE AS EXECUTE"));
            }
            None => return Err(Error::new(SqlState::SyntaxError, "syntax error at or near \"(\"")),
        },
        Statement::CreateView(create) if create.materialized => match options.analyze {
            true => return Err(Error::unsupported("EXPLAIN ANALYZE of CREATE MATERIALIZED VIEW")),
            false => plan(&Statement::Query(create.query.clone()))?,
        },
        Statement::Execute(_) => return Err(Error::unsupported("EXPLAIN EXECUTE")),
        statement => plan(statement)?,
    };
    planned.is_write &= options.analyze;
    planned.columns = options.columns();
    planned.explain = Some(options);
    planned.steps = steps.map(Steps::into_lines);
    Ok(planned)
}

impl PlannedStatement {
    /// The first locking clause of SELECT in it, subqueries included.
    pub fn row_lock(&self) -> Option<LockStrength> {
        row_lock(&self.root)
    }

    /// The row of its VALUES, if it is an INSERT that can make it again with the parameters that
    /// follow its own ([`crate::Values::repeats`]).
    pub fn repeated_row(&self) -> Option<&[Expr]> {
        let Node::Insert(insert) = &self.root else { return None };
        let Node::Values(values) = &insert.input else { return None };
        values.repeats.and_then(|_| values.rows.first()).map(Vec::as_slice)
    }

    /// Whether it is an INSERT that makes as many rows as there are parameters for.
    pub fn repeats(&self) -> bool {
        let mut node = match &self.root {
            Node::Insert(insert) => &insert.input,
            _ => return false,
        };
        loop {
            node = match node {
                Node::Values(values) => return values.repeats.is_some(),
                Node::Filter(filter) => &filter.input,
                Node::Project(project) => &project.input,
                _ => return false,
            };
        }
    }

    /// The same plan to be shown, for EXPLAIN EXECUTE.
    pub fn explained(&self, explain: &Explain) -> Result<Self> {
        let options = ExplainOptions::new(explain)?;
        if options.rules {
            return Err(Error::unsupported("EXPLAIN (RULES) of EXECUTE"));
        }
        Ok(Self {
            kind: self.kind,
            root: self.root.clone(),
            columns: options.columns(),
            params: self.params.clone(),
            tables: self.tables.clone(),
            is_write: self.is_write && options.analyze,
            calls_routine: self.calls_routine,
            fires_triggers: self.fires_triggers,
            is_closed: self.is_closed,
            returning_nothing: self.returning_nothing,
            explain: Some(options),
            steps: None,
            wants_values: false,
            planning_micros: self.planning_micros,
            unpopulated: self.unpopulated.clone(),
        })
    }
}

fn row_lock(node: &Node) -> Option<LockStrength> {
    let mut found = match node {
        Node::Scan(scan) => scan.lock.filter(|_| !scan.implicit_lock).map(|lock| lock.strength),
        Node::LockRows(lock) => {
            lock.targets.iter().find(|target| !target.implicit).map(|target| target.lock.strength)
        }
        _ => None,
    };
    node.for_each_child(&mut |child| found = found.or_else(|| row_lock(child)));
    node.for_each_expr(&mut |e| {
        e.any(&mut |e| {
            if let Expr::Subquery(subquery) = e {
                found = found.or_else(|| row_lock(&subquery.plan));
            }
            false
        });
    });
    found
}

/// The routine of a CALL, and the plan of one row of its arguments. The errors are those of names,
/// types and privileges.
pub fn plan_call(call: &Ast, cx: &PlanContext<'_>) -> Result<(Arc<Routine>, PlannedStatement)> {
    let mut binder = Binder::new(cx);
    let Expr::Routine(call) = bind_call(&mut binder, call)? else {
        return Err(Error::internal("CALL of an expression that is no call"));
    };
    plan_arguments(binder, *call)
}

/// The function of users that an expression calls, and the plan of one row of its arguments;
/// `None` for any other expression.
pub fn plan_function_call(
    call: &Ast,
    cx: &PlanContext<'_>,
) -> Result<Option<(Arc<Routine>, PlannedStatement)>> {
    let mut binder = Binder::new(cx);
    match bind_function_call(&mut binder, call)? {
        Expr::Routine(call) => plan_arguments(binder, *call).map(Some),
        _ => Ok(None),
    }
}

fn plan_arguments(
    mut binder: Binder<'_>,
    call: RoutineExpr,
) -> Result<(Arc<Routine>, PlannedStatement)> {
    let RoutineExpr { routine, args, .. } = call;
    let exprs: Vec<_> = args.into_iter().map(|arg| (binder.slot(), arg)).collect();
    let root = Node::Project(Box::new(Project { input: Node::one_row(), exprs }));
    let bound = BoundStatement {
        kind: StatementKind::Select,
        root,
        columns: Vec::new(),
        is_write: false,
        returning_nothing: false,
    };
    Ok((routine, finish(bound, binder, Instant::now(), &mut |_, _| ())?))
}

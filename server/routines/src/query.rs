//! Statements of a body: planned once for the catalog and the types of their parameters, and run.

use std::sync::Arc;

use braid_catalog::Routine;
use braid_exec::{ExecContext, Execution, RoutineCommand};
use braid_plan::{Node, PlanContext, PlannedStatement, TransitionTable, Variables};
use braid_sql::ast::{Expr as Ast, ParsedStatement, ShowTarget, Statement};
use braid_types::{Datum, Error, Result, Row, SqlState, SqlType};
use parking_lot::Mutex;

use crate::plpgsql::{EXPRESSION_PREFIX, Sql};
use crate::simple::Simple;

/// How many rows are asked for at a time.
pub(crate) const BATCH_ROWS: usize = 256;

/// A statement of a body.
pub(crate) struct BodyStatement {
    text: Arc<str>,
    statement: Statement,
    /// The highest `$n` in it.
    parameters: usize,
    /// What names mean in it if the parameters do not say: transition tables of EXECUTE.
    variables: Option<Variables>,
    /// EXPLAIN or SHOW: no query, although it gives rows.
    is_utility: bool,
    plan: Mutex<Option<Arc<KeptPlan>>>,
}

/// A plan, and what it was made for.
struct KeptPlan {
    version: u64,
    settings: u64,
    types: Vec<SqlType>,
    plan: Arc<PlannedStatement>,
    /// The only value of the plan, if it waits for nothing.
    simple: Option<Arc<Simple>>,
}

/// The types of a statement's parameters, and what names mean in it.
#[derive(Clone, Copy)]
pub(crate) struct Signature<'a> {
    pub(crate) types: &'a [SqlType],
    /// How many of the parameters have numbers that the text may write.
    pub(crate) numbered: usize,
    pub(crate) variables: Option<&'a Variables>,
}

/// The parameters of a statement with their types.
#[derive(Clone)]
pub(crate) struct Given<'a> {
    pub(crate) values: Vec<Datum>,
    pub(crate) types: Vec<SqlType>,
    /// How many of them have numbers that the text may write.
    pub(crate) numbered: usize,
    pub(crate) variables: Option<&'a Variables>,
}

impl BodyStatement {
    /// The only statement of a text.
    pub(crate) fn parse(text: &Arc<str>) -> Result<Self> {
        let mut parsed = braid_sql::parse(text)?;
        match (parsed.pop(), parsed.is_empty()) {
            (Some(parsed), true) => Ok(Self::of(text.clone(), parsed.statement, parsed.parameters)),
            (Some(_), false) => {
                let message = "cannot run several statements at once";
                Err(Error::new(SqlState::SyntaxError, message))
            }
            (None, _) => Err(Error::new(SqlState::SyntaxError, "missing statement")),
        }
    }

    /// Every statement of a text.
    pub(crate) fn parse_all(text: &Arc<str>) -> Result<Vec<Self>> {
        let parsed = braid_sql::parse(text)?;
        let one =
            |found: ParsedStatement| Self::of(text.clone(), found.statement, found.parameters);
        Ok(parsed.into_iter().map(one).collect())
    }

    /// A statement that has been parsed.
    pub(crate) fn of(text: Arc<str>, statement: Statement, parameters: usize) -> Self {
        let is_utility = matches!(statement, Statement::Explain(_) | Statement::Show(_));
        let statement = shown(&statement).unwrap_or(statement);
        let plan = Mutex::new(None);
        Self { text, statement, parameters, variables: None, is_utility, plan }
    }

    /// The same in the reach of transition tables.
    pub(crate) fn with_tables(self, tables: Vec<TransitionTable>) -> Self {
        if tables.is_empty() {
            return self;
        }
        let variables = Variables { tables, ..Variables::default() };
        Self { variables: Some(variables), ..self }
    }

    /// Another statement in its place, which may name that many parameters.
    pub(crate) fn with(&self, statement: Statement, parameters: usize) -> Self {
        Self::of(self.text.clone(), statement, parameters)
    }

    /// The statement.
    pub(crate) fn statement(&self) -> &Statement {
        &self.statement
    }

    /// Its text.
    pub(crate) fn text(&self) -> &str {
        &self.text
    }

    /// Whether it gives or changes rows, so that it has a plan.
    pub(crate) fn is_planned(&self) -> bool {
        self.statement.is_of_rows() || matches!(self.statement, Statement::Explain(_))
    }

    /// Whether it is EXPLAIN or SHOW.
    pub(crate) fn is_utility(&self) -> bool {
        self.is_utility
    }

    /// The statement as the host carries it out, which makes no plan.
    pub(crate) fn command<'a>(&'a self, given: Given<'a>) -> RoutineCommand<'a> {
        RoutineCommand {
            statement: &self.statement,
            text: &self.text,
            types: given.types,
            values: Arc::new(given.values),
            variables: given.variables.or(self.variables.as_ref()),
        }
    }

    /// Its plan for these parameters. An error has its position in the text of the statement.
    pub(crate) fn plan(
        &self,
        cx: &ExecContext,
        given: &Given<'_>,
    ) -> Result<Arc<PlannedStatement>> {
        let (types, numbered) = (given.types.as_slice(), given.numbered);
        let signature = Signature { types, numbered, variables: given.variables };
        let is_same = |kept: &KeptPlan| kept.types == types;
        self.kept(cx, signature, is_same).map(|kept| kept.plan.clone())
    }

    /// Its only value as an expression; `None` if the value has to be waited for.
    pub(crate) fn simple(
        &self,
        cx: &ExecContext,
        signature: Signature<'_>,
    ) -> Result<Option<Arc<Simple>>> {
        let types = signature.types;
        let is_same = |kept: &KeptPlan| match &kept.simple {
            Some(simple) => {
                simple.reads.iter().all(|slot| kept.types.get(*slot) == types.get(*slot))
            }
            None => kept.types == types,
        };
        self.kept(cx, signature, is_same).map(|kept| kept.simple.clone())
    }

    fn kept(
        &self,
        cx: &ExecContext,
        signature: Signature<'_>,
        is_same: impl Fn(&KeptPlan) -> bool,
    ) -> Result<Arc<KeptPlan>> {
        if self.parameters > signature.numbered {
            let message = format!("there is no parameter ${}", self.parameters);
            return Err(Error::new(SqlState::UndefinedParameter, message));
        }
        let (version, settings) = (cx.catalog.version(), cx.services.settings_changes());
        let kept = self.plan.lock().clone();
        if let Some(kept) = kept
            && (kept.version, kept.settings) == (version, settings)
            && is_same(&kept)
        {
            return Ok(kept);
        }
        let context = PlanContext {
            catalog: &cx.catalog,
            path: &cx.path,
            env: &*cx.env,
            text: &self.text,
            param_types: signature.types,
            variables: signature.variables.or(self.variables.as_ref()),
        };
        let plan = Arc::new(braid_plan::plan(&self.statement, &context)?);
        let simple = simple_value(&plan).map(Arc::new);
        let types = signature.types.to_vec();
        let kept = Arc::new(KeptPlan { version, settings, types, plan, simple });
        *self.plan.lock() = Some(kept.clone());
        Ok(kept)
    }
}

/// The query that SHOW of settings stands for.
fn shown(statement: &Statement) -> Option<Statement> {
    let Statement::Show(target) = statement else { return None };
    let query = match target {
        ShowTarget::All => {
            // Qualified: variables of the routine may have these names.
            "SELECT s.name, s.setting, s.short_desc AS description \
             FROM pg_catalog.pg_settings AS s ORDER BY s.name"
                .to_owned()
        }
        ShowTarget::Variable(name) => {
            let shown = match name.as_str() {
                "datestyle" => "DateStyle",
                "intervalstyle" => "IntervalStyle",
                "timezone" => "TimeZone",
                name => name,
            };
            format!(
                "SELECT pg_catalog.current_setting({}) AS {}",
                braid_sql::quote_literal(name),
                braid_sql::quote_ident(shown)
            )
        }
        _ => return None,
    };
    braid_sql::parse(&Arc::from(query)).ok()?.pop().map(|parsed| parsed.statement)
}

/// The value of a plan that is one expression which waits for nothing.
fn simple_value(plan: &PlannedStatement) -> Option<Simple> {
    let Node::Project(project) = &plan.root else { return None };
    let Node::Values(values) = &project.input else { return None };
    let is_one_row = values.slots.is_empty() && values.rows.len() == 1;
    match (project.exprs.as_slice(), plan.columns.as_slice()) {
        ([(_, expr)], [column]) if is_one_row && !expr.waits() => {
            Some(Simple::new(expr.clone(), value_type(&column.ty)))
        }
        _ => None,
    }
}

/// The type of a value that a column gives.
pub(crate) fn value_type(ty: &SqlType) -> SqlType {
    match ty {
        SqlType::Unknown => SqlType::Text,
        ty => ty.clone(),
    }
}

/// Begins a run. 25006 and 0A000 for changes where there may be none.
pub(crate) fn start(
    cx: &Arc<ExecContext>,
    plan: &Arc<PlannedStatement>,
    values: Vec<Datum>,
    may_change: bool,
) -> Result<Execution> {
    if plan.explain.is_some() && !may_change {
        let message = "EXPLAIN is not allowed in a non-volatile function";
        return Err(Error::new(SqlState::FeatureNotSupported, message));
    }
    let runs = plan.explain.as_ref().is_none_or(|explain| explain.analyze);
    if plan.is_write || (runs && plan.row_lock().is_some()) {
        let word = match plan.kind {
            braid_plan::StatementKind::Insert => "INSERT",
            braid_plan::StatementKind::Update => "UPDATE",
            braid_plan::StatementKind::Delete => "DELETE",
            braid_plan::StatementKind::Merge => "MERGE",
            braid_plan::StatementKind::Select if plan.is_write => "SELECT",
            braid_plan::StatementKind::Select => "SELECT FOR UPDATE",
        };
        if !may_change {
            let message = format!("{word} is not allowed in a non-volatile function");
            return Err(Error::new(SqlState::FeatureNotSupported, message));
        }
        if cx.services.is_read_only() {
            let message = format!("cannot execute {word} in a read-only transaction");
            return Err(Error::new(SqlState::ReadOnlySqlTransaction, message));
        }
    }
    if plan.returning_nothing && plan.explain.is_none() {
        return Err(Error::unsupported("RETURNING NOTHING in a routine"));
    }
    braid_dml::start(plan.clone(), Arc::new(values), cx.clone())
}

/// Runs to the end; at most `rows_max` rows are kept.
pub(crate) async fn finish(
    execution: &mut Execution,
    cx: &ExecContext,
    rows_max: usize,
) -> Result<Vec<Row>> {
    let mut kept = Vec::new();
    loop {
        cx.check_interrupts().await?;
        let rows = execution.next(BATCH_ROWS).await?;
        if rows.is_empty() {
            return Ok(kept);
        }
        let wanted = rows_max - kept.len();
        kept.extend(rows.into_iter().take(wanted));
        if execution.is_query() && kept.len() >= rows_max && rows_max > 0 {
            return Ok(kept);
        }
    }
}

/// The columns of a statement's rows as a record's fields.
pub(crate) fn fields(plan: &PlannedStatement) -> Vec<(String, SqlType)> {
    plan.columns.iter().map(|column| (column.name.clone(), value_type(&column.ty))).collect()
}

/// Calls the procedure of a CALL inside of a statement: it is a part of the transaction.
pub(crate) async fn call_procedure(
    cx: &Arc<ExecContext>,
    call: &Ast,
    given: Given<'_>,
) -> Result<()> {
    let (routine, args) = procedure_of(cx, call, given).await?;
    cx.services.call_routine(cx, &routine, args).await.map(drop)
}

/// The procedure of a CALL inside of a body, and its arguments.
pub(crate) async fn procedure_of(
    cx: &Arc<ExecContext>,
    call: &Ast,
    given: Given<'_>,
) -> Result<(Arc<Routine>, Vec<Datum>)> {
    let context = PlanContext {
        catalog: &cx.catalog,
        path: &cx.path,
        env: &*cx.env,
        text: "",
        param_types: &given.types,
        variables: given.variables,
    };
    let (routine, plan) = braid_plan::plan_call(call, &context).map_err(Error::without_position)?;
    let mut execution = braid_dml::start(Arc::new(plan), Arc::new(given.values), cx.clone())?;
    let args = execution.next(1).await?.pop().unwrap_or_default();
    Ok((routine, args))
}

/// An error with the statement of SQL that has failed: as the text of its position, else in its
/// context.
pub(crate) fn in_statement(error: Error, sql: &str) -> Error {
    if error.fields().position.is_some() {
        return error.in_query(sql);
    }
    in_context(error, format!("SQL statement \"{}\"", sql.trim()))
}

/// The same for an expression, whose text has SELECT before it, or for an assignment.
pub(crate) fn in_expression(error: Error, sql: &Sql) -> Error {
    let value = sql.text.strip_prefix(EXPRESSION_PREFIX).unwrap_or(&sql.text);
    let (what, before) = match &sql.assigned {
        Some(before) => ("PL/pgSQL assignment", &**before),
        None => ("SQL expression", ""),
    };
    let shown = format!("{before}{value}");
    if error.fields().position.is_none() {
        return in_context(error, format!("{what} \"{shown}\""));
    }
    let added = u32::try_from(before.chars().count()).unwrap_or(u32::MAX);
    error.moved(added).moved_back(EXPRESSION_PREFIX.len() as u32).in_query(&shown)
}

/// An error with one more line of context.
pub(crate) fn in_context(error: Error, line: String) -> Error {
    let context = match &error.fields().context {
        Some(inner) => format!("{inner}\n{line}"),
        None => line,
    };
    error.context(context)
}

//! Bodies in SQL: their statements run one after the other, the last one gives the result.

use std::cmp::Ordering;
use std::collections::BTreeSet;
use std::sync::Arc;

use braid_catalog::{Catalog, Id, Routine};
use braid_exec::{ExecContext, RoutineRows};
use braid_plan::{PlannedStatement, Variable, Variables};
use braid_sql::ast::Statement;
use braid_types::sql_type::row_name;
use braid_types::{Datum, Error, Result, Row, SqlState, SqlType};

use crate::body::is_any_row;
use crate::host::Host;
use crate::query::{
    BATCH_ROWS, BodyStatement, Given, call_procedure, fields, finish, in_context, start,
};
use crate::values::{ResultDomains, assign, plan_context};

/// A body in SQL, ready to run.
pub(crate) struct SqlBody {
    name: String,
    text: Arc<str>,
    statements: Vec<BodyStatement>,
    /// Where each of them begins in the body, in bytes.
    starts: Vec<usize>,
    variables: Variables,
    types: Vec<SqlType>,
    /// Which arguments of a call are its parameters: of CALL there is one for each OUT parameter.
    inputs: Vec<bool>,
    /// The type of its result or of each row of a set, `None` without one.
    returns: Option<SqlType>,
    is_set: bool,
    /// The domains of its result.
    results: ResultDomains,
}

impl SqlBody {
    /// The body of a routine.
    pub(crate) fn parse(routine: &Routine, catalog: &Arc<Catalog>) -> Result<Self> {
        let refresh = |ty: &SqlType| {
            let mut ty = ty.clone();
            catalog.enums().refresh(&mut ty);
            ty
        };
        let named = routine.inputs().enumerate();
        let list = named.filter_map(|(param, parameter)| {
            let label = Some(routine.name.clone());
            Some(Variable { label, name: parameter.name.clone()?, param })
        });
        let text: Arc<str> = Arc::from(routine.body.as_str());
        let parsed = braid_sql::parse(&text)?;
        let starts = parsed.iter().map(|parsed| parsed.text.start).collect();
        let piece = |range: std::ops::Range<usize>| Arc::from(text.get(range).unwrap_or_default());
        let statements = parsed
            .into_iter()
            .map(|parsed| {
                BodyStatement::of(piece(parsed.text), parsed.statement, parsed.parameters)
            })
            .collect();
        let returns = refresh(routine.result_type());
        Ok(Self {
            name: routine.name.clone(),
            text: text.clone(),
            statements,
            starts,
            variables: Variables { list: list.collect(), ..Variables::default() },
            types: routine.types().map(refresh).collect(),
            inputs: routine.of_call().map(|parameter| parameter.mode.is_input()).collect(),
            is_set: routine.returns_set,
            results: ResultDomains::of(routine),
            returns: (returns != SqlType::Void).then_some(returns),
        })
    }

    /// The arguments of a call that have a number.
    pub(crate) fn inputs(&self, args: Vec<Datum>) -> Vec<Datum> {
        let named = args.into_iter().zip(&self.inputs);
        named.filter(|(_, is_input)| **is_input).map(|(arg, _)| arg).collect()
    }

    /// The plan of a statement. An error has its position in the text of the body.
    fn plan(
        &self,
        number: usize,
        given: &Given<'_>,
        cx: &ExecContext,
    ) -> Result<Arc<PlannedStatement>> {
        let Some(statement) = self.statements.get(number) else {
            return Err(Error::broken("a body has no statement of this number"));
        };
        statement.plan(cx, given).or_else(|error| {
            // By itself the statement has positions in its own text.
            let alone = BodyStatement::parse(&Arc::from(statement.text()))?;
            let placed = alone.plan(cx, given).err().unwrap_or(error);
            let before = self.starts.get(number).and_then(|start| self.text.get(..*start));
            let before = before.map_or(0, |text| text.chars().count());
            Err(placed.moved(u32::try_from(before).unwrap_or(u32::MAX)))
        })
    }

    fn given(&self, args: &[Datum]) -> Given<'_> {
        Given {
            values: args.to_vec(),
            types: self.types.clone(),
            numbered: self.types.len(),
            variables: Some(&self.variables),
        }
    }
}

/// 42P13 and others for a body that cannot run: what CREATE FUNCTION looks for. Else what the body
/// names.
pub fn check_sql_body(routine: &Routine, cx: &ExecContext) -> Result<Vec<Id>> {
    let mut body = SqlBody::parse(routine, &cx.catalog)?;
    body.variables.is_only_checked = true;
    let mut uses = BTreeSet::new();
    if routine.is_polymorphic() {
        return Ok(Vec::new());
    }
    let mut last = None;
    for (number, statement) in body.statements.iter().enumerate() {
        last = None;
        if routine.standard.is_some() && (statement.is_utility() || !statement.is_planned()) {
            let mut words = statement.text().split_whitespace().take(2);
            let word = words.by_ref().collect::<Vec<_>>().join(" ").to_uppercase();
            let message = format!("{word} is not yet supported in unquoted SQL function body");
            return Err(Error::new(SqlState::FeatureNotSupported, message));
        }
        if statement.is_planned() {
            let plan = body.plan(number, &body.given(&[]), cx)?;
            uses.extend(plan.tables.iter().copied());
            last = Some(plan).filter(|_| !statement.is_utility());
        }
    }
    let uses = uses.into_iter().collect();
    let Some(returns) = &body.returns else { return Ok(uses) };
    let named = |error: Error| error.context(format!("SQL function \"{}\"", body.name));
    check_result(last.as_deref(), returns, cx).map_err(named).map(|()| uses)
}

/// 42P13 unless the last statement gives a value of the type.
fn check_result(
    last: Option<&PlannedStatement>,
    returns: &SqlType,
    cx: &ExecContext,
) -> Result<()> {
    let shown = match row_name(returns) {
        Some(_) => shown_type(cx, returns),
        None => returns.plain_name().to_owned(),
    };
    let mismatch = |detail: String| {
        let message = format!("return type mismatch in function declared to return {shown}");
        Err(Error::new(SqlState::InvalidFunctionDefinition, message).detail(detail))
    };
    let Some(plan) = last.filter(|plan| !plan.columns.is_empty()) else {
        return mismatch(
            "Function's final statement must be SELECT or INSERT/UPDATE/DELETE RETURNING."
                .to_owned(),
        );
    };
    let casts = |from: &SqlType, to: &SqlType| {
        *from == SqlType::Unknown
            || from.same_base(to)
            || braid_plan::bind_assignment_cast(&plan_context(cx), from, to, "").is_ok()
    };
    let row = match returns {
        SqlType::Record(row) if !is_whole_row(plan, returns) => row,
        SqlType::Record(_) => return Ok(()),
        _ => {
            let [column] = plan.columns.as_slice() else {
                return mismatch("Final statement must return exactly one column.".to_owned());
            };
            return match casts(&column.ty, returns) {
                true => Ok(()),
                false => mismatch(format!("Actual return type is {}.", column.ty.plain_name())),
            };
        }
    };
    if is_any_row(returns) {
        return Ok(());
    }
    for (place, ((_, wanted), column)) in row.iter().zip(&plan.columns).enumerate() {
        if !casts(&column.ty, wanted) {
            return mismatch(format!(
                "Final statement returns {} instead of {} at column {}.",
                column.ty.plain_name(),
                wanted.plain_name(),
                place + 1
            ));
        }
    }
    match plan.columns.len().cmp(&row.len()) {
        Ordering::Less => mismatch("Final statement returns too few columns.".to_owned()),
        Ordering::Greater => mismatch("Final statement returns too many columns.".to_owned()),
        Ordering::Equal => Ok(()),
    }
}

/// A type as messages show it.
fn shown_type(cx: &ExecContext, ty: &SqlType) -> String {
    cx.catalog.names().routines().type_text(Some(&cx.path), ty)
}

/// Whether the only column of a statement is the row that a function gives.
fn is_whole_row(plan: &PlannedStatement, returns: &SqlType) -> bool {
    let ([column], SqlType::Record(wanted)) = (plan.columns.as_slice(), returns) else {
        return false;
    };
    match &column.ty {
        SqlType::Record(row) if wanted.len() == 1 && wanted.name().is_none() => {
            // A column that is a row itself.
            !matches!(wanted.first(), Some((_, SqlType::Record(_)))) && row.len() == 1
        }
        SqlType::Record(_) => true,
        _ => false,
    }
}

/// Runs a body in SQL; its rows go to `rows`, if it gives a set.
pub(crate) async fn run_sql(
    body: &SqlBody,
    args: Vec<Datum>,
    host: &mut dyn Host,
    mut rows: Option<&mut RoutineRows>,
) -> Result<Datum> {
    let mut result = Datum::Null;
    for number in 0..body.statements.len() {
        let is_last = number + 1 == body.statements.len();
        let sink = rows.as_deref_mut().filter(|_| is_last && body.is_set);
        let found = run_statement(body, (number, is_last), &args, host, sink).await;
        result = found.map_err(|error| {
            let name = &body.name;
            // PostgreSQL analyses all statements of a body before it runs the first.
            let line = match error.fields().position {
                Some(_) => format!("SQL function \"{name}\" during startup"),
                None => format!("SQL function \"{name}\" statement {}", number + 1),
            };
            in_context(error.in_query(&body.text), line)
        })?;
    }
    Ok(result)
}

async fn run_statement(
    body: &SqlBody,
    (number, is_last): (usize, bool),
    args: &[Datum],
    host: &mut dyn Host,
    sink: Option<&mut RoutineRows>,
) -> Result<Datum> {
    let Some(statement) = body.statements.get(number) else {
        return Err(Error::broken("a body has no statement of this number"));
    };
    if let Statement::Call(call) = statement.statement() {
        let cx = host.next().await?;
        call_procedure(&cx, &call.call, body.given(args)).await?;
        return Ok(Datum::Null);
    }
    if !statement.is_planned() {
        let done = host.command(statement.command(body.given(args))).await;
        done.map_err(Error::without_position)?;
        return Ok(Datum::Null);
    }
    let given = body.given(args);
    let cx = host.next().await?;
    let plan = body.plan(number, &given, &cx)?;
    let returns = body.returns.as_ref().filter(|_| is_last);
    let mut execution = start(&cx, &plan, given.values, host.is_volatile())?;
    let mut value = Datum::Null;
    match (returns, sink) {
        (Some(returns), Some(sink)) => {
            let result = result_of(&plan, returns);
            loop {
                cx.check_interrupts().await?;
                let batch = execution.next(BATCH_ROWS).await?;
                if batch.is_empty() {
                    break;
                }
                for row in batch {
                    sink.push(body.results.check(&cx, result.value(&cx, row)?)?)?;
                }
            }
        }
        // Without a result a query runs to its end.
        (returns, _) => {
            let rows = finish(&mut execution, &cx, usize::from(returns.is_some())).await?;
            if let (Some(returns), Some(row)) = (returns, rows.into_iter().next()) {
                value = result_of(&plan, returns).value(&cx, row)?;
                value = body.results.check(&cx, value)?;
            }
        }
    }
    drop(execution);
    if host.is_volatile() {
        cx.txn.snapshots().release(cx.seq);
    }
    Ok(value)
}

/// How the rows of a statement become values of a function's result.
struct RowResult<'r> {
    from: Vec<(String, SqlType)>,
    to: &'r SqlType,
    /// The only column is the value itself.
    is_whole: bool,
}

fn result_of<'r>(plan: &PlannedStatement, to: &'r SqlType) -> RowResult<'r> {
    let is_whole = !matches!(to, SqlType::Record(_)) || is_whole_row(plan, to);
    RowResult { from: fields(plan), to, is_whole }
}

impl RowResult<'_> {
    fn value(&self, cx: &ExecContext, row: Row) -> Result<Datum> {
        if self.is_whole {
            let value = row.into_iter().next().unwrap_or(Datum::Null);
            let from = self.from.first().map_or(&SqlType::Text, |(_, ty)| ty);
            return assign(cx, value, from, self.to);
        }
        if is_any_row(self.to) {
            return Ok(Datum::Record(row.into()));
        }
        let from = SqlType::Record(self.from.clone().into());
        assign(cx, Datum::Record(row.into()), &from, self.to)
    }
}

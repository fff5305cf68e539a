//! Bodies in SQL: their statements run one after the other, the last one gives the result.

use std::sync::Arc;

use braid_catalog::{Catalog, Routine};
use braid_exec::ExecContext;
use braid_plan::{PlannedStatement, Variable, Variables};
use braid_sql::ast::Statement;
use braid_types::{Datum, Error, Result, SqlState, SqlType};

use crate::host::Host;
use crate::query::{BodyStatement, Given, call_procedure, finish, start};
use crate::values::{assign, plan_context};

/// A body in SQL, ready to run.
pub(crate) struct SqlBody {
    name: String,
    statements: Vec<BodyStatement>,
    variables: Variables,
    types: Vec<SqlType>,
    /// The type of its result, `None` without one.
    returns: Option<SqlType>,
}

impl SqlBody {
    /// The body of a routine.
    pub(crate) fn parse(routine: &Routine, catalog: &Arc<Catalog>) -> Result<Self> {
        let refresh = |ty: &SqlType| {
            let mut ty = ty.clone();
            catalog.enums().refresh(&mut ty);
            ty
        };
        let named = routine.parameters.iter().enumerate();
        let list = named.filter_map(|(param, parameter)| {
            let label = Some(routine.name.clone());
            Some(Variable { label, name: parameter.name.clone()?, param })
        });
        let text: Arc<str> = Arc::from(routine.body.as_str());
        let parsed = braid_sql::parse(&text).map_err(Error::without_position)?;
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
            statements,
            variables: Variables { list: list.collect(), ..Variables::default() },
            types: routine.types().map(refresh).collect(),
            returns: (returns != SqlType::Void).then_some(returns),
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

/// 42P13 and others for a body that cannot run: what CREATE FUNCTION looks for.
pub fn check_sql_body(routine: &Routine, cx: &ExecContext) -> Result<()> {
    let body = SqlBody::parse(routine, &cx.catalog)?;
    let mut last = None;
    for statement in &body.statements {
        last = None;
        if statement.is_planned() {
            last = Some(statement.plan(cx, &body.given(&[]))?);
        }
    }
    let Some(returns) = &body.returns else { return Ok(()) };
    check_result(last.as_deref(), returns, cx)
}

/// 42P13 unless the last statement gives a value of the type.
fn check_result(
    last: Option<&PlannedStatement>,
    returns: &SqlType,
    cx: &ExecContext,
) -> Result<()> {
    let shown = returns.plain_name();
    let mismatch = |detail: String| {
        let message = format!("return type mismatch in function declared to return {shown}");
        Err(Error::new(SqlState::InvalidFunctionDefinition, message).detail(detail))
    };
    match last.map(|plan| plan.columns.as_slice()) {
        Some([column]) => {
            let from = match &column.ty {
                SqlType::Unknown => return Ok(()),
                ty => ty,
            };
            let is_cast = from == returns
                || braid_plan::bind_assignment_cast(&plan_context(cx), from, returns, "").is_ok();
            if is_cast {
                return Ok(());
            }
            mismatch(format!("Actual return type is {}.", from.plain_name()))
        }
        Some([_, _, ..]) => mismatch("Final statement must return exactly one column.".to_owned()),
        _ => mismatch(
            "Function's final statement must be SELECT or INSERT/UPDATE/DELETE RETURNING."
                .to_owned(),
        ),
    }
}

/// Runs a body in SQL.
pub(crate) async fn run_sql(
    body: &SqlBody,
    args: Vec<Datum>,
    host: &mut dyn Host,
) -> Result<Datum> {
    let mut result = Datum::Null;
    for (number, statement) in body.statements.iter().enumerate() {
        let is_last = number + 1 == body.statements.len();
        let found = run_statement(body, statement, &args, is_last, host).await;
        result = found.map_err(|error| {
            let line = format!("SQL function \"{}\" statement {}", body.name, number + 1);
            let context = match &error.fields().context {
                Some(inner) => format!("{inner}\n{line}"),
                None => line,
            };
            error.without_position().context(context)
        })?;
    }
    Ok(result)
}

async fn run_statement(
    body: &SqlBody,
    statement: &BodyStatement,
    args: &[Datum],
    is_last: bool,
    host: &mut dyn Host,
) -> Result<Datum> {
    if let Statement::Call(call) = statement.statement() {
        let cx = host.next().await?;
        return call_procedure(&cx, &call.call, body.given(args)).await.map(|()| Datum::Null);
    }
    if !statement.is_planned() {
        host.command(statement.statement(), statement.text()).await?;
        return Ok(Datum::Null);
    }
    let given = body.given(args);
    let cx = host.next().await?;
    let plan = statement.plan(&cx, &given)?;
    let returns = body.returns.as_ref().filter(|_| is_last);
    let mut execution = start(&cx, &plan, given.values, host.is_volatile())?;
    // Without a result a query runs to its end.
    let rows = finish(&mut execution, &cx, usize::from(returns.is_some())).await?;
    drop(execution);
    if host.is_volatile() {
        cx.txn.snapshots().release(cx.seq);
    }
    let (Some(returns), Some(column)) = (returns, plan.columns.first()) else {
        return Ok(Datum::Null);
    };
    let value = rows.into_iter().next().and_then(|row| row.into_iter().next());
    let from = match &column.ty {
        SqlType::Unknown => &SqlType::Text,
        ty => ty,
    };
    assign(&cx, value.unwrap_or(Datum::Null), from, returns)
}

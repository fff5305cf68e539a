//! Describing a new statement: its parameters and its columns.

use std::sync::Arc;

use braid_sql::ast::{Expr, Query, ShowTarget, Statement};
use braid_types::{Result, SqlType};

use crate::client::ResultColumn;
use crate::session::Session;
use crate::statement::commands::explain::explained_execute;
use crate::statement::commands::show;
use crate::statement::context::statement_environment;
use crate::statement::cursor_rows::cursor_columns;
use crate::statement::kinds::{is_planned, returns_rows, runs_in_any_block};
use crate::statement::plans::planning::{catalog_ahead, plan_now};
use crate::statement::plans::sizes::with_sizes;
use crate::statement::prepared::{Prepared, unknown_statement};
use crate::transaction::open::ensure_open;

/// Finds out a new statement's parameters and columns.
pub(crate) async fn describe_prepared(
    session: &mut Session,
    prepared: Prepared,
) -> Result<Prepared> {
    let mut prepared = with_sizes(session, prepared).await?;
    let Some(statement) = prepared.statement().cloned() else { return Ok(prepared) };
    if !runs_in_any_block(&statement) {
        session.block.check()?;
    }
    if let Some(rewritten) = show_query(&statement) {
        prepared.parsed = session.engine.plans.parse(&rewritten)?;
        prepared.index = Some(0);
    }
    if let Some((explain, _)) = explained_execute(Some(&statement)) {
        prepared.params = prepared.hints.clone();
        prepared.columns = Some(crate::statement::commands::explain::columns(explain)?);
        return Ok(prepared);
    }
    if prepared.statement().is_some_and(is_planned) {
        let plan = plan_now(session, &prepared).await?;
        prepared.params = plan.plan.params.clone();
        prepared.columns =
            (!plan.columns.is_empty() || returns_rows(&statement)).then(|| plan.columns.clone());
        *prepared.plan.lock() = Some(plan);
        return Ok(prepared);
    }
    if let Statement::Call(call) = &statement {
        let (params, columns) = describe_call(session, &prepared, &call.call).await?;
        prepared.params = params;
        prepared.columns = columns;
        return Ok(prepared);
    }
    prepared.params = match query_inside(&statement) {
        Some(query) if prepared.parameters() > 0 => {
            parameters_of(session, &prepared, query).await?
        }
        _ => prepared.hints.clone(),
    };
    prepared.columns = match &statement {
        Statement::Show(target) => Some(show::columns(target)),
        Statement::CheckTable(_) => Some(crate::statement::commands::check_table::columns()),
        Statement::Execute(execute) => {
            let name = braid_sql::fold(&execute.name);
            let target = session.prepared.get(&name).ok_or_else(|| unknown_statement(&name))?;
            target.columns.clone()
        }
        Statement::Fetch(fetch) if !fetch.is_move => {
            let name = braid_sql::fold(&fetch.name);
            cursor_columns(session, &name)
        }
        _ => None,
    };
    let holds_others = matches!(statement, Statement::Prepare(_));
    if prepared.parameters() > prepared.params.len() && !holds_others {
        return Err(prepared.no_parameter());
    }
    Ok(prepared)
}

/// The types of the parameters of a CALL, and the columns of its row, if it has OUT parameters.
async fn describe_call(
    session: &mut Session,
    prepared: &Prepared,
    call: &Expr,
) -> Result<(Vec<SqlType>, Option<Arc<[ResultColumn]>>)> {
    let seq = ensure_open(session).txn.next_statement();
    let catalog = catalog_ahead(session, seq).await?;
    let env = statement_environment(session, &catalog);
    let cx = env.plan_context(&catalog, &prepared.parsed.text, &prepared.hints);
    let (routine, plan) = braid_plan::plan_call(call, &cx)?;
    let columns = match routine.result_type() {
        SqlType::Record(row) => {
            let column = |(name, ty): &(String, SqlType)| ResultColumn::computed(name, ty.clone());
            Some(row.iter().map(column).collect())
        }
        _ => None,
    };
    Ok((plan.params, columns))
}

/// The types of the parameters of a query that is part of a statement.
async fn parameters_of(
    session: &mut Session,
    prepared: &Prepared,
    query: &Query,
) -> Result<Vec<SqlType>> {
    let seq = ensure_open(session).txn.next_statement();
    let catalog = catalog_ahead(session, seq).await?;
    let env = statement_environment(session, &catalog);
    let cx = env.plan_context(&catalog, &prepared.parsed.text, &prepared.hints);
    let query = Statement::Query(Box::new(query.clone()));
    Ok(braid_plan::plan(&query, &cx)?.params)
}

/// The query of DECLARE CURSOR and CREATE TABLE AS, which may have parameters.
pub(crate) fn query_inside(statement: &Statement) -> Option<&Query> {
    match statement {
        Statement::DeclareCursor(declare) => Some(&declare.query),
        Statement::CreateTable(create) => create.as_query.as_deref(),
        _ => None,
    }
}

/// The query that a SHOW of objects stands for.
pub(crate) fn show_query(statement: &Statement) -> Option<String> {
    match statement {
        Statement::Show(ShowTarget::All | ShowTarget::Variable(_)) => None,
        Statement::Show(target) => show::query(target),
        _ => None,
    }
}

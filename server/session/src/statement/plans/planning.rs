//! A statement's plan: by which catalog it is made, and whether one is there already.
//!
//! Rules: a plan is made by the catalog as the statement's snapshot shows it, its transaction's own
//! changes included; ahead of the execution, and for a lookup that takes no snapshot, by the newest
//! one. Parameters keep the types that they had when the statement was prepared.

use std::sync::{Arc, OnceLock};

use braid_catalog::{Catalog, Standing};
use braid_kv::Seq;
use braid_plan::PlannedStatement;
use braid_types::{Datum, Error, Result, SqlType};

use crate::client::ResultColumn;
use crate::session::Session;
use crate::statement::context::{statement_environment, statement_memory};
use crate::statement::environment::StatementEnvironment;
use crate::statement::plans::cache::{CachedPlan, PlanVersion};
use crate::statement::plans::current_of;
use crate::statement::prepared::Prepared;
use crate::transaction::machine::Block;
use crate::transaction::open::{catalog_at, ensure_open};
use crate::transaction::state::Open;

/// A statement's plan, and what it was made with.
pub(crate) struct Bound {
    pub catalog: Arc<Catalog>,
    pub env: StatementEnvironment,
    pub plan: Arc<CachedPlan>,
    pub params: Arc<Vec<Datum>>,
}

/// The plan of a statement as of now, outside of its execution.
pub(crate) async fn plan_now(
    session: &mut Session,
    prepared: &Prepared,
) -> Result<Arc<CachedPlan>> {
    let seq = ensure_open(session).txn.next_statement();
    let catalog = catalog_ahead(session, seq).await?;
    let env = statement_environment(session, &catalog);
    plan_statement(session, prepared, &catalog, &env)
}

/// The newest catalog where that is known without a look at the store, for the first statement
/// of an implicit transaction.
fn newest_catalog(session: &Session) -> Option<Standing> {
    if !session.temporary.is_empty() {
        return None;
    }
    let is_first = |open: &Open| open.statements <= 1 && !open.draft.is_open();
    let is_first = session.block == Block::None && session.open.as_ref().is_none_or(is_first);
    is_first.then(|| session.engine.catalog.standing()).flatten()
}

/// The catalog to plan by ahead of the execution, which looks again: the transaction's snapshot
/// is not taken for that.
pub(crate) async fn catalog_ahead(session: &mut Session, seq: Seq) -> Result<Arc<Catalog>> {
    match newest_catalog(session) {
        Some(standing) => Ok(standing.catalog().clone()),
        None => catalog_at(session, seq).await,
    }
}

/// The plan of a statement: the one used before, one of another session, or a new one.
pub(crate) fn plan_statement(
    session: &mut Session,
    prepared: &Prepared,
    catalog: &Arc<Catalog>,
    env: &StatementEnvironment,
) -> Result<Arc<CachedPlan>> {
    let version = PlanVersion::of(catalog);
    let key = session.derived().key.clone();
    let used = prepared.plan.lock().clone();
    if let Some(plan) = used.filter(|plan| plan.fits(version, &key, &prepared.hints)) {
        session.engine.plans.count(true);
        return Ok(plan);
    }
    let plan = plan_typed(session, prepared, &prepared.hints, catalog, env)?;
    *prepared.plan.lock() = Some(plan.clone());
    Ok(plan)
}

/// The plan for parameters of these types: one of another session, or a new one.
fn plan_typed(
    session: &mut Session,
    prepared: &Prepared,
    hints: &[SqlType],
    catalog: &Arc<Catalog>,
    env: &StatementEnvironment,
) -> Result<Arc<CachedPlan>> {
    let version = PlanVersion::of(catalog);
    let key = session.derived().key.clone();
    let found = prepared.parsed.plan(version, &key, hints);
    session.engine.plans.count(found.is_some());
    Ok(match found {
        Some(plan) => plan,
        None => {
            let statement = prepared
                .statement()
                .ok_or_else(|| Error::internal("an empty statement has no plan"))?;
            // Constants are computed while the plan is made.
            let memory = statement_memory(session, env.active.memory_limit_bytes);
            memory.charge(&session.shared.entry.cancel);
            let cx = env.plan_context(catalog, &prepared.parsed.text, hints);
            let ahead = current_of::ahead(statement);
            let plan = Arc::new(braid_plan::plan(ahead.as_ref().unwrap_or(statement), &cx)?);
            let columns = result_columns(&plan);
            let hints = hints.to_vec();
            let plan =
                Arc::new(CachedPlan { version, key, hints, plan, columns, casts: OnceLock::new() });
            prepared.parsed.keep(&plan);
            plan
        }
    })
}

/// The plan of a statement with its parameters, and these, or the values that are part of it.
///
/// Parameters keep the types that they had when the statement was prepared, also if a table
/// has changed since.
pub(crate) fn plan_bound(
    session: &mut Session,
    prepared: &Prepared,
    params: &Arc<Vec<Datum>>,
    catalog: &Arc<Catalog>,
    env: &StatementEnvironment,
) -> Result<(Arc<CachedPlan>, Arc<Vec<Datum>>)> {
    let found = plan_statement(session, prepared, catalog, env);
    let Some(given) = &prepared.given else {
        let mut plan = found?;
        if !prepared.params.is_empty() && prepared.params != plan.plan.params {
            plan = plan_typed(session, prepared, &prepared.params, catalog, env)?;
        }
        let plan = plan_for_values(session, prepared, plan, params, catalog, env)?;
        return Ok((plan, params.clone()));
    };
    let values = given.values.as_ref().unwrap_or(params).clone();
    match found {
        Ok(plan) if given.fits(&plan) => Ok((plan, values)),
        // After a change of the table it may want others, or none.
        _ if given.can_be_whole() => {
            let whole = prepared.without_skeleton(&session.engine.plans)?;
            Ok((plan_statement(session, &whole, catalog, env)?, params.clone()))
        }
        Ok(_) => Ok((plan_typed(session, prepared, &given.types, catalog, env)?, values)),
        Err(error) => Err(error),
    }
}

/// A plan for these values of the parameters alone, where the plan for all values reads many rows.
/// It is not kept.
fn plan_for_values(
    session: &mut Session,
    prepared: &Prepared,
    plan: Arc<CachedPlan>,
    params: &[Datum],
    catalog: &Arc<Catalog>,
    env: &StatementEnvironment,
) -> Result<Arc<CachedPlan>> {
    let Some(statement) = prepared.statement().filter(|_| plan.plan.wants_values) else {
        return Ok(plan);
    };
    if params.is_empty() {
        return Ok(plan);
    }
    let memory = statement_memory(session, env.active.memory_limit_bytes);
    memory.charge(&session.shared.entry.cancel);
    let cx = env.plan_context(catalog, &prepared.parsed.text, &plan.plan.params);
    let ahead = current_of::ahead(statement);
    let statement = ahead.as_ref().unwrap_or(statement);
    let own = Arc::new(braid_plan::plan_for(statement, &cx, params)?);
    let (version, key) = (plan.version, plan.key.clone());
    let (hints, columns) = (plan.hints.clone(), plan.columns.clone());
    Ok(Arc::new(CachedPlan { version, key, hints, plan: own, columns, casts: OnceLock::new() }))
}

/// The plan of a statement at its snapshot, or at none: a lookup of one row that is a
/// transaction of its own needs none if the catalog is known without.
pub(crate) async fn bind_plan(
    session: &mut Session,
    prepared: &Prepared,
    params: &Arc<Vec<Datum>>,
    seq: Seq,
) -> Result<(Bound, Option<Standing>)> {
    if let Some(cursor) = current_of::cursor_of(prepared) {
        let bound = Box::pin(bind_at_row(session, &cursor, prepared, params, seq)).await?;
        return Ok((bound, None));
    }
    let mut found = None;
    if let Some(standing) = newest_catalog(session) {
        // An error is that of the catalog as the statement sees it.
        match bind_plan_by(session, prepared, params, standing.catalog()) {
            Ok(bound)
                if bound.plan.plan.looks_up_one_row()
                    && ensure_open(session).txn.reads().expect_single_read() =>
            {
                return Ok((bound, Some(standing)));
            }
            bound => found = bound.ok(),
        }
    }
    let catalog = catalog_at(session, seq).await?;
    match found.filter(|found| Arc::ptr_eq(&found.catalog, &catalog)) {
        Some(found) => Ok((found, None)),
        None => Ok((bind_plan_by(session, prepared, params, &catalog)?, None)),
    }
}

/// The plan of a statement with WHERE CURRENT OF.
async fn bind_at_row(
    session: &mut Session,
    cursor: &str,
    prepared: &Prepared,
    params: &Arc<Vec<Datum>>,
    seq: Seq,
) -> Result<Bound> {
    let (at_row, params) = current_of::at_row(session, cursor, prepared, params, seq).await?;
    let catalog = catalog_at(session, seq).await?;
    bind_plan_by(session, &at_row, &params, &catalog)
}

fn bind_plan_by(
    session: &mut Session,
    prepared: &Prepared,
    params: &Arc<Vec<Datum>>,
    catalog: &Arc<Catalog>,
) -> Result<Bound> {
    let env = statement_environment(session, catalog);
    let (plan, params) = plan_bound(session, prepared, params, catalog, &env)?;
    Ok(Bound { catalog: catalog.clone(), env, plan, params })
}

pub(crate) fn result_columns(plan: &PlannedStatement) -> Arc<[ResultColumn]> {
    plan.columns
        .iter()
        .map(|column| ResultColumn {
            name: column.name.clone(),
            ty: column.ty.clone(),
            table_oid: column.table_oid,
            column_number: i16::try_from(column.column_number).unwrap_or(0),
            modifier: column.modifier,
        })
        .collect()
}

//! A statement's plan: by which catalog it is made, and whether one is there already.
//!
//! Rules: a plan is made by the catalog as the statement's snapshot shows it, its transaction's own
//! changes included; ahead of the execution, and for a lookup that takes no snapshot, by the newest
//! one. Parameters keep the types that they had when the statement was prepared.

use std::sync::{Arc, OnceLock};

use braid_catalog::{Catalog, Standing};
use braid_kv::Seq;
use braid_plan::PlanContext;
use braid_types::{Datum, Error, Result, SqlType};

use crate::environment::StatementEnvironment;
use crate::plan_cache::CachedPlan;
use crate::prepared::Prepared;
use crate::run::result_columns;
use crate::session::Session;
use crate::transaction::{Block, Open};

/// A statement's plan, and what it was made with.
pub(crate) struct Bound {
    pub catalog: Arc<Catalog>,
    pub env: StatementEnvironment,
    pub plan: Arc<CachedPlan>,
    pub params: Arc<Vec<Datum>>,
}

impl Session {
    /// The plan of a statement as of now, outside of its execution.
    pub(crate) async fn plan_now(&mut self, prepared: &Prepared) -> Result<Arc<CachedPlan>> {
        let seq = self.ensure_open().txn.next_statement();
        let catalog = self.catalog_ahead(seq).await?;
        let env = self.environment(&catalog);
        self.plan(prepared, &catalog, &env)
    }

    /// The newest catalog where that is known without a look at the store, for the first statement
    /// of an implicit transaction.
    fn standing(&self) -> Option<Standing> {
        if !self.temporary.is_empty() {
            return None;
        }
        let is_first = |open: &Open| open.statements <= 1 && open.draft.is_none();
        let is_first = self.block == Block::None && self.open.as_ref().is_none_or(is_first);
        is_first.then(|| self.server.catalog.standing()).flatten()
    }

    /// The catalog to plan by ahead of the execution, which looks again: the transaction's snapshot
    /// is not taken for that.
    pub(crate) async fn catalog_ahead(&mut self, seq: Seq) -> Result<Arc<Catalog>> {
        match self.standing() {
            Some(standing) => Ok(standing.catalog().clone()),
            None => self.catalog_at(seq).await,
        }
    }

    /// The plan of a statement: the one used before, one of another session, or a new one.
    pub(crate) fn plan(
        &mut self,
        prepared: &Prepared,
        catalog: &Arc<Catalog>,
        env: &StatementEnvironment,
    ) -> Result<Arc<CachedPlan>> {
        let version = catalog.version();
        let key = self.derived().key.clone();
        let used = prepared.plan.lock().clone();
        if let Some(plan) = used.filter(|plan| plan.fits(version, &key, &prepared.hints)) {
            self.server.plans.count(true);
            return Ok(plan);
        }
        let plan = self.plan_typed(prepared, &prepared.hints, catalog, env)?;
        *prepared.plan.lock() = Some(plan.clone());
        Ok(plan)
    }

    /// The plan for parameters of these types: one of another session, or a new one.
    fn plan_typed(
        &mut self,
        prepared: &Prepared,
        hints: &[SqlType],
        catalog: &Arc<Catalog>,
        env: &StatementEnvironment,
    ) -> Result<Arc<CachedPlan>> {
        let version = catalog.version();
        let key = self.derived().key.clone();
        let found = prepared.parsed.plan(version, &key, hints);
        self.server.plans.count(found.is_some());
        Ok(match found {
            Some(plan) => plan,
            None => {
                let statement = prepared
                    .statement()
                    .ok_or_else(|| Error::internal("an empty statement has no plan"))?;
                // Constants are computed while the plan is made.
                let memory = self.statement_memory(env.active.memory_limit_bytes);
                self.shared.entry.cancel.charge(&memory);
                let path = &env.lookup.path;
                let text = &prepared.parsed.text;
                let cx = PlanContext { catalog, path, env, text, param_types: hints };
                let plan = Arc::new(braid_plan::plan(statement, &cx)?);
                let columns = result_columns(&plan);
                let hints = hints.to_vec();
                let plan = Arc::new(CachedPlan {
                    version,
                    key,
                    hints,
                    plan,
                    columns,
                    casts: OnceLock::new(),
                });
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
        &mut self,
        prepared: &Prepared,
        params: &Arc<Vec<Datum>>,
        catalog: &Arc<Catalog>,
        env: &StatementEnvironment,
    ) -> Result<(Arc<CachedPlan>, Arc<Vec<Datum>>)> {
        let found = self.plan(prepared, catalog, env);
        let Some(given) = &prepared.given else {
            let plan = found?;
            if prepared.params.is_empty() || prepared.params == plan.plan.params {
                return Ok((plan, params.clone()));
            }
            return Ok((
                self.plan_typed(prepared, &prepared.params, catalog, env)?,
                params.clone(),
            ));
        };
        let values = given.values.as_ref().unwrap_or(params).clone();
        match found {
            Ok(plan) if given.fits(&plan) => Ok((plan, values)),
            // After a change of the table it may want others, or none.
            _ if given.can_be_whole() => {
                let whole = self.without_skeleton(prepared)?;
                Ok((self.plan(&whole, catalog, env)?, params.clone()))
            }
            Ok(_) => Ok((self.plan_typed(prepared, &given.types, catalog, env)?, values)),
            Err(error) => Err(error),
        }
    }

    /// The plan of a statement at its snapshot, or at none: a lookup of one row that is a
    /// transaction of its own needs none if the catalog is known without.
    pub(crate) async fn bound(
        &mut self,
        prepared: &Prepared,
        params: &Arc<Vec<Datum>>,
        seq: Seq,
    ) -> Result<(Bound, Option<Standing>)> {
        let mut found = None;
        if let Some(standing) = self.standing() {
            // An error is that of the catalog as the statement sees it.
            match self.bound_by(prepared, params, standing.catalog()) {
                Ok(bound)
                    if bound.plan.plan.looks_up_one_row()
                        && self.ensure_open().txn.read_first_without_snapshot() =>
                {
                    return Ok((bound, Some(standing)));
                }
                bound => found = bound.ok(),
            }
        }
        let catalog = self.catalog_at(seq).await?;
        match found.filter(|found| Arc::ptr_eq(&found.catalog, &catalog)) {
            Some(found) => Ok((found, None)),
            None => Ok((self.bound_by(prepared, params, &catalog)?, None)),
        }
    }

    fn bound_by(
        &mut self,
        prepared: &Prepared,
        params: &Arc<Vec<Datum>>,
        catalog: &Arc<Catalog>,
    ) -> Result<Bound> {
        let env = self.environment(catalog);
        let (plan, params) = self.plan_bound(prepared, params, catalog, &env)?;
        Ok(Bound { catalog: catalog.clone(), env, plan, params })
    }
}

//! What a DDL statement works with.

use std::sync::Arc;

use braid_catalog::{
    Catalog, CatalogCache, Draft, Id, IndexNumber, Object, ROOT, SearchPath, Table,
};
use braid_dml::has_left_on;
use braid_exec::{ExecContext, from_kv};
use braid_kv::{Seq, Transaction};
use braid_plan::{PlanContext, PlannedStatement, Variables, plan};
use braid_sql::ast::Statement;
use braid_system_views::CatalogLookup;
use braid_types::{Datum, Error, Result, SqlState, SqlType};

use crate::environment::DraftEnvironment;

/// What a DDL statement works with.
pub struct DdlContext<'a> {
    /// The statement's execution: transaction, number, session.
    pub exec: &'a ExecContext,
    /// The text that the statement's byte ranges refer to.
    pub text: &'a str,
    /// The types of the statement's parameters.
    pub param_types: &'a [SqlType],
    /// Its parameters: only the query of CREATE TABLE AS has any.
    pub params: &'a Arc<Vec<Datum>>,
    /// What names mean in that query, if a routine's body has the statement.
    pub variables: Option<&'a Variables>,
    /// The catalogs of this process.
    pub cache: &'a Arc<CatalogCache>,
    /// The transaction's private catalog; opened by its first DDL statement.
    pub draft: &'a mut Option<Draft>,
    /// Whether the transaction is this statement's own, so that it may work in several.
    pub implicit: bool,
    /// NOTICEs for the client, in order.
    pub notices: &'a mut Vec<Error>,
    /// Interleaved tables and indexes whose keys are to be deleted one by one at the end of the
    /// statement.
    pub scattered: Vec<(Arc<Table>, IndexNumber)>,
}

impl DdlContext<'_> {
    /// The transaction.
    pub fn txn(&self) -> &Arc<Transaction> {
        &self.exec.txn
    }

    /// The statement's number.
    pub fn seq(&self) -> Seq {
        self.exec.seq
    }

    /// Where names are looked up.
    pub fn path(&self) -> &SearchPath {
        &self.exec.path
    }

    /// The same statement in a transaction of its own, with a draft and notices of its own.
    pub(crate) fn in_own<'b>(
        &'b self,
        exec: &'b ExecContext,
        draft: &'b mut Option<Draft>,
        notices: &'b mut Vec<Error>,
    ) -> DdlContext<'b> {
        DdlContext {
            exec,
            text: self.text,
            param_types: self.param_types,
            params: self.params,
            variables: self.variables,
            cache: self.cache,
            draft,
            implicit: self.implicit,
            notices,
            scattered: Vec::new(),
        }
    }

    /// Locks the catalog and opens the draft, if that has not been done.
    pub(crate) async fn open(&mut self) -> Result<()> {
        if self.draft.as_ref().is_some_and(Draft::is_locked) {
            return Ok(());
        }
        let known = self.catalog();
        let draft = self.cache.draft(&self.exec.txn, self.exec.seq).await;
        let mut draft = draft.map_err(from_kv)?.with_temporary_of(&known);
        if let Some(before) = &self.draft {
            draft = draft.with_emptied_of(before);
        }
        *self.draft = Some(draft);
        Ok(())
    }

    /// Opens a draft in which only temporary objects may be changed, if none is open.
    pub(crate) fn open_temporary(&mut self) {
        if self.draft.is_none() {
            *self.draft = Some(Draft::of_temporary(self.exec.catalog.clone()));
        }
    }

    /// The draft; it is open while a statement runs.
    pub(crate) fn draft(&mut self) -> Result<&mut Draft> {
        self.draft.as_mut().ok_or_else(|| Error::internal("the catalog is not open for changes"))
    }

    /// The catalog with the transaction's changes.
    pub fn catalog(&self) -> Arc<Catalog> {
        match &self.draft {
            Some(draft) => draft.catalog().clone(),
            None => self.exec.catalog.clone(),
        }
    }

    /// The current user's role.
    pub(crate) fn user(&self) -> Id {
        let name = self.exec.env.current_user();
        self.catalog().names().role(name).map_or(ROOT, |role| role.id)
    }

    /// 42501 unless the user owns the object.
    pub(crate) fn check_owner(&self, object: Object<'_>) -> Result<()> {
        self.catalog().privileges().check_owner(self.user(), object)
    }

    /// 55006 if deferred checks wait for a table's rows.
    pub(crate) fn refuse_if_owed(&self, table: &Table, command: &str) -> Result<()> {
        if !has_left_on(self.txn(), table.id) {
            return Ok(());
        }
        let name = &table.name;
        let message = format!("cannot {command} \"{name}\" because it has pending trigger events");
        Err(Error::new(SqlState::ObjectInUse, message))
    }

    /// Adds a NOTICE.
    pub(crate) fn notice(&mut self, state: SqlState, message: String) {
        self.notices.push(Error::new(state, message));
    }

    /// Calls `f` with what binding an expression needs.
    pub(crate) fn plan<T>(&self, f: impl FnOnce(&PlanContext<'_>) -> Result<T>) -> Result<T> {
        self.plan_typed((&[], None), f)
    }

    /// The same for a query that may have the statement's parameters.
    pub(crate) fn plan_query(&self, query: &Statement) -> Result<PlannedStatement> {
        let given = (self.param_types, self.variables);
        self.plan_typed(given, |context| plan(query, context))
    }

    /// The same for a statement of our own, whose text is not the client's.
    pub(crate) fn plan_own<T>(&self, f: impl FnOnce(&PlanContext<'_>) -> Result<T>) -> Result<T> {
        self.plan(|context| f(&PlanContext { text: "", ..*context }))
    }

    fn plan_typed<T>(
        &self,
        (param_types, variables): (&[SqlType], Option<&Variables>),
        f: impl FnOnce(&PlanContext<'_>) -> Result<T>,
    ) -> Result<T> {
        let catalog = self.catalog();
        let lookup = CatalogLookup::new(catalog.clone(), self.exec.path.clone());
        let env = DraftEnvironment::new(&*self.exec.env, lookup);
        let context = PlanContext {
            catalog: &catalog,
            path: &self.exec.path,
            env: &env,
            text: self.text,
            param_types,
            variables,
        };
        f(&context)
    }
}

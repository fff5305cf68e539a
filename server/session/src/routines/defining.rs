//! `SELECT f(…)` where the function has a command of the session, such as SET CONSTRAINTS: it runs
//! in the session, as CALL does.
//!
//! A statement that reads or changes rows cannot reach the session, so no such command can run
//! inside of it. When a function refuses one, what the statement has done is taken back. If the
//! statement is the call alone, the body then runs again in the session itself.

use std::collections::VecDeque;
use std::sync::Arc;

use braid_catalog::Draft;
use braid_kv::{SavepointId, Transaction};
use braid_routines::{CommandRefused, run_procedure};
use braid_sql::ast::{Expr, Query, SelectItem, SetExpr, Statement};
use braid_types::{Datum, Error, Result};

use super::host::SessionHost;
use crate::client::{Client, Mark};
use crate::session::Session;
use crate::settings::SettingsMark;
use crate::statement::context::exec_context;
use crate::statement::plans::planning::{Bound, bind_plan};
use crate::statement::portal::{Portal, Run, Running, Source, Wanted};
use crate::transaction::open::ensure_open;

/// Where the transaction was before a statement that is a call alone.
pub(crate) struct BeforeCall {
    txn: Arc<Transaction>,
    savepoint: SavepointId,
    draft: Option<Draft>,
    settings: SettingsMark,
}

impl BeforeCall {
    /// The position now; `None` if the statement of the portal is no such call.
    pub(crate) fn of(session: &mut Session, portal: &Portal) -> Option<Self> {
        let Some(Statement::Query(query)) = portal.prepared.statement() else { return None };
        select_item(query)?;
        let open = ensure_open(session);
        let txn = open.txn.clone();
        let savepoint = txn.savepoint();
        let draft = open.draft.get();
        let settings = session.shared.state.lock().settings.mark();
        Some(Self { txn, savepoint, draft, settings })
    }
}

/// Runs the body of the called function in the session, after `error`, and opens the portal with
/// its row; or gives `error` back.
pub(crate) async fn run_defining(
    session: &mut Session,
    portal: &mut Portal,
    (before, start): (Option<BeforeCall>, Mark),
    (wanted, client): (Wanted, &mut dyn Client),
    error: Error,
) -> Result<()> {
    let Some(before) = before else { return Err(error) };
    let is_same = Arc::ptr_eq(&before.txn, &ensure_open(session).txn);
    if error.cause::<CommandRefused>().is_none() || !is_same || !client.rewind(start) {
        return Err(error);
    }
    let prepared = portal.prepared.clone();
    let Some(Statement::Query(query)) = prepared.statement() else { return Err(error) };
    let Some(call) = only_call(query) else { return Err(error) };
    before.txn.rollback_to(before.savepoint);
    ensure_open(session).draft.set(before.draft);
    session.shared.state.lock().settings.rollback_to(&before.settings);
    session.shared.raised.lock().clear();
    let seq = before.txn.next_statement();
    let (bound, _) = bind_plan(session, &prepared, &portal.params, seq).await?;
    let Bound { catalog, env, plan, params } = bound;
    let context = env.plan_context(&catalog, &prepared.parsed.text, &prepared.params);
    let Some((routine, arguments)) = braid_plan::plan_function_call(call, &context)? else {
        return Err(error);
    };
    if routine.security_definer || routine.result_domain.is_some() {
        return Err(error);
    }
    let cx = Arc::new(exec_context(session, seq, catalog, env));
    let mut execution = braid_dml::start(Arc::new(arguments), params, cx)?;
    let args = execution.next(1).await?.pop().unwrap_or_default();
    let value = match routine.strict && args.iter().any(Datum::is_null) {
        true => Datum::Null,
        false => {
            let shared = session.shared.clone();
            let mut host = SessionHost::new(session, Some(routine.clone()), true);
            run_procedure(&shared.routines, &routine, args, &mut host).await?
        }
    };
    let columns = plan.columns.clone();
    if wanted.describe {
        client.row_description(&columns, &portal.formats);
    }
    let source = Source::Rows(VecDeque::from([vec![value]]), "SELECT 1".to_owned());
    portal.run = Run::Open(Running { columns, source, standing: None });
    Ok(())
}

/// The only item of a select list without FROM, if it is written as a call.
fn select_item(query: &Query) -> Option<(&SelectItem, &Expr)> {
    let SetExpr::Select(select) = &*query.body else { return None };
    let [item] = select.projection.as_slice() else { return None };
    let (SelectItem::UnnamedExpr(e) | SelectItem::ExprWithAlias { expr: e, .. }) = item else {
        return None;
    };
    (select.from.is_empty() && matches!(e, Expr::Function(_))).then_some((item, e))
}

/// The call, if the query is nothing else.
fn only_call(query: &Query) -> Option<&Expr> {
    let (item, call) = select_item(query)?;
    (query.to_string() == format!("SELECT {item}")).then_some(call)
}

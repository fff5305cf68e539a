//! EXPLAIN EXECUTE: the plan of a prepared statement, with the values it is given. Every other
//! EXPLAIN is a planned statement like its own.

use std::sync::Arc;

use braid_kv::Seq;
use braid_plan::current_of;
use braid_plan::explain::ExplainOptions;
use braid_sql::ast::{Execute, Explain, Statement};
use braid_types::{Error, Result, SqlState};

use crate::client::{Formats, ResultColumn};
use crate::session::Session;
use crate::statement::binding::bind_execute;
use crate::statement::context::{exec_context, statement_environment};

use crate::statement::plans::planning::{plan_bound, plan_statement, result_columns};
use crate::statement::portal::{Running, Source};
use crate::transaction::open::catalog_at;

/// Starts EXPLAIN EXECUTE.
pub(crate) async fn start_explained(
    session: &mut Session,
    explain: &Explain,
    execute: &Execute,
    seq: Seq,
) -> Result<Running> {
    let target = bind_execute(session, execute, Formats::default()).await?;
    if target.prepared.statement().and_then(current_of).is_some() {
        return Err(Error::unsupported("EXPLAIN EXECUTE of WHERE CURRENT OF"));
    }
    let catalog = catalog_at(session, seq).await?;
    let env = statement_environment(session, &catalog);
    let plan = match &target.prepared.given {
        None => plan_bound(session, &target.prepared, &target.params, &catalog, &env)?.0,
        Some(_) => {
            let whole = target.prepared.without_skeleton(&session.engine.plans)?;
            plan_statement(session, &whole, &catalog, &env)?
        }
    };
    let plan = Arc::new(plan.plan.explained(explain)?);
    if plan.is_write && session.shared.modes().read_only {
        return Err(Error::new(
            SqlState::ReadOnlySqlTransaction,
            "cannot execute EXPLAIN EXECUTE in a read-only transaction",
        ));
    }
    let columns = result_columns(&plan);
    let cx = exec_context(session, seq, catalog, env);
    let execution = braid_dml::start(plan, target.params, Arc::new(cx))?;
    let source = Source::Execution(Box::new(execution), Some("EXPLAIN"));
    Ok(Running { columns, source, standing: None })
}

/// What EXPLAIN EXECUTE is about; `None` for any other statement.
pub(crate) fn explained_execute(statement: Option<&Statement>) -> Option<(&Explain, &Execute)> {
    match statement {
        Some(Statement::Explain(explain)) => match &explain.statement {
            Statement::Execute(execute) => Some((explain, execute)),
            _ => None,
        },
        _ => None,
    }
}

/// The columns of an explanation.
pub(crate) fn columns(explain: &Explain) -> Result<Arc<[ResultColumn]>> {
    let columns = ExplainOptions::new(explain)?.columns();
    Ok(columns.into_iter().map(|one| ResultColumn::computed(&one.name, one.ty)).collect())
}

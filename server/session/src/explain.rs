//! EXPLAIN EXECUTE: the plan of a prepared statement, with the values it is given. Every other
//! EXPLAIN is a planned statement like its own.

use std::sync::Arc;

use braid_exec::Execution;
use braid_kv::Seq;
use braid_plan::explain::ExplainOptions;
use braid_sql::ast::{Execute, Explain, Statement};
use braid_types::{Error, Result, SqlState};

use crate::client::{Formats, ResultColumn};
use crate::portal::{Running, Source};
use crate::run::result_columns;
use crate::session::Session;

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

impl Session {
    /// Starts EXPLAIN EXECUTE.
    pub(crate) async fn start_explained(
        &mut self,
        explain: &Explain,
        execute: &Execute,
        seq: Seq,
    ) -> Result<Running> {
        let target = self.bind_execute(execute, Formats::default()).await?;
        let catalog = self.catalog_at(seq).await?;
        let env = self.environment(&catalog);
        let plan = match &target.prepared.given {
            None => self.plan(&target.prepared, &catalog, &env)?,
            Some(_) => {
                let whole = self.without_skeleton(&target.prepared)?;
                self.plan(&whole, &catalog, &env)?
            }
        };
        let plan = Arc::new(plan.plan.explained(explain)?);
        if plan.is_write && self.modes().read_only {
            return Err(Error::new(
                SqlState::ReadOnlySqlTransaction,
                "cannot execute EXPLAIN EXECUTE in a read-only transaction",
            ));
        }
        let columns = result_columns(&plan);
        let cx = self.exec_context(seq, catalog, env);
        let execution = Execution::start(plan, target.params, Arc::new(cx))?;
        let source = Source::Execution(Box::new(execution), Some("EXPLAIN"));
        Ok(Running { columns, source, standing: None })
    }
}

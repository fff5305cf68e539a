//! The ways in: a function in an expression, a procedure, a block.

use std::sync::Arc;

use braid_catalog::{Routine, RoutineVolatility};
use braid_exec::ExecContext;
use braid_types::{Datum, Error, Result, SqlState};
use futures_util::future::BoxFuture;

use crate::body::Code;
use crate::cache::{Compiled, RoutineCache};
use crate::deep::Deep;
use crate::host::{Host, Nested};
use crate::interpret::run_code;
use crate::sql_body::run_sql;

/// Calls a function within a statement; its arguments have the types of the parameters.
pub fn call_function<'a>(
    cache: &'a RoutineCache,
    cx: &'a Arc<ExecContext>,
    routine: &'a Arc<Routine>,
    args: Vec<Datum>,
) -> BoxFuture<'a, Result<Datum>> {
    Box::pin(Deep::new(Box::pin(async move {
        if routine.is_for_triggers() {
            let message = "trigger functions can only be called as triggers";
            let place =
                format!("compilation of PL/pgSQL function \"{}\" near line 1", routine.name);
            return Err(Error::new(SqlState::FeatureNotSupported, message).context(place));
        }
        let is_volatile = routine.volatility == RoutineVolatility::Volatile;
        let mut host = Nested::new(cx, is_volatile)?;
        run_body(cache, cx, routine, args, &mut host).await
    })))
}

/// Runs a procedure that CALL has named.
pub async fn run_procedure(
    cache: &RoutineCache,
    routine: &Arc<Routine>,
    args: Vec<Datum>,
    host: &mut dyn Host,
) -> Result<()> {
    let cx = host.current().await?;
    run_body(cache, &cx, routine, args, host).await.map(drop)
}

/// Runs the code of DO.
pub async fn run_block(text: &str, host: &mut dyn Host) -> Result<()> {
    let cx = host.current().await?;
    let code = Code::of_block(text, &cx.catalog, &cx.path)?;
    run_code(Arc::new(code), Vec::new(), host).await.map(drop)
}

async fn run_body(
    cache: &RoutineCache,
    cx: &ExecContext,
    routine: &Routine,
    args: Vec<Datum>,
    host: &mut dyn Host,
) -> Result<Datum> {
    match cache.compiled(cx, routine)? {
        Compiled::Sql(body) => run_sql(&body, args, host).await,
        Compiled::Plpgsql(code) => run_code(code, args, host).await,
    }
}

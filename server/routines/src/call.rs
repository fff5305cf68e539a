//! The ways in: a function in an expression, a procedure, a block.

use std::sync::Arc;

use braid_catalog::{Routine, RoutineVolatility};
use braid_exec::{ExecContext, RoutineRows};
use braid_types::{Datum, Error, Result, SqlState};
use futures_util::future::BoxFuture;

use crate::body::Code;
use crate::cache::{Compiled, RoutineCache};
use crate::deep::Deep;
use crate::host::{Host, Nested, check_depth};
use crate::interpret::run_code;
use crate::sql_body::run_sql;
use crate::values::check_domain;

/// Calls a function within a statement; its arguments have the types of the parameters.
pub fn call_function<'a>(
    cache: &'a RoutineCache,
    cx: &'a Arc<ExecContext>,
    routine: &'a Arc<Routine>,
    args: Vec<Datum>,
) -> BoxFuture<'a, Result<Datum>> {
    Box::pin(Deep::new(Box::pin(async move {
        let mut host = nested(cx, routine)?;
        let cx = host.current().await?;
        run_body(cache, &cx, (routine, args), &mut host, None).await
    })))
}

/// What a function has around it that a statement calls. 0A000 for the function of triggers, which
/// only these call.
fn nested(cx: &Arc<ExecContext>, routine: &Routine) -> Result<Nested> {
    if routine.is_for_triggers() {
        let message = "trigger functions can only be called as triggers";
        let place = format!("compilation of PL/pgSQL function \"{}\" near line 1", routine.name);
        return Err(Error::new(SqlState::FeatureNotSupported, message).context(place));
    }
    Nested::new(cx, routine.volatility == RoutineVolatility::Volatile)
}

/// Calls a function that gives a set of rows; one of any other gives its value as the only row.
pub fn call_set_function<'a>(
    cache: &'a RoutineCache,
    cx: &'a Arc<ExecContext>,
    routine: &'a Arc<Routine>,
    args: Vec<Datum>,
) -> BoxFuture<'a, Result<RoutineRows>> {
    Box::pin(Deep::new(Box::pin(async move {
        let mut host = nested(cx, routine)?;
        let mut rows = RoutineRows::new(cx.memory.clone());
        let cx = &host.current().await?;
        let call = (&**routine, args);
        if routine.returns_set {
            run_body(cache, cx, call, &mut host, Some(&mut rows)).await?;
        } else {
            let value = run_body(cache, cx, call, &mut host, None).await?;
            let is_output = routine.outputs().next().is_some();
            let domain = routine.result_domain.filter(|_| !is_output);
            rows.push(check_domain(cx, value, domain)?)?;
        }
        Ok(rows)
    })))
}

/// Runs a procedure that CALL has named; the row of its OUT parameters, if it has any.
pub async fn run_procedure(
    cache: &RoutineCache,
    routine: &Arc<Routine>,
    args: Vec<Datum>,
    host: &mut dyn Host,
) -> Result<Datum> {
    let cx = host.current().await?;
    run_body(cache, &cx, (routine, args), host, None).await
}

/// Runs a procedure that another one calls, at this depth. 54001 if too many run inside each other.
pub fn run_inner_procedure<'a>(
    cache: &'a RoutineCache,
    routine: &'a Arc<Routine>,
    args: Vec<Datum>,
    (host, depth): (&'a mut dyn Host, usize),
) -> BoxFuture<'a, Result<Datum>> {
    Box::pin(Deep::new(Box::pin(async move {
        check_depth(depth)?;
        run_procedure(cache, routine, args, host).await
    })))
}

/// Runs the code of DO.
pub async fn run_block(text: &str, host: &mut dyn Host) -> Result<()> {
    let cx = host.current().await?;
    let code = Code::of_block(text, &cx.catalog, &cx.path)?;
    run_code(Arc::new(code), Vec::new(), host, None).await.map(drop)
}

/// Runs a body; its rows go to `rows`, if it gives a set.
async fn run_body(
    cache: &RoutineCache,
    cx: &ExecContext,
    (routine, args): (&Routine, Vec<Datum>),
    host: &mut dyn Host,
    rows: Option<&mut RoutineRows>,
) -> Result<Datum> {
    match cache.compiled(cx, routine)? {
        Compiled::Sql(body) => run_sql(&body, body.inputs(args), host, rows).await,
        Compiled::Plpgsql(code) => run_code(code, args, host, rows).await,
    }
}

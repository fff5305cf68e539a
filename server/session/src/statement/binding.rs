//! Binding: the types and values of parameters, by Bind and by EXECUTE.

use std::sync::Arc;

use braid_sql::ast::{Execute, Spanned};
use braid_types::sql_type::user_types;
use braid_types::{Datum, Error, Result, SqlState, SqlType, text};

use crate::client::Formats;
use crate::protocol::text::utf8_without_nul;
use crate::session::Session;
use crate::statement::context::statement_environment;
use crate::statement::portal::Portal;
use crate::statement::prepared::{Prepared, unknown_statement};
use crate::transaction::open::{catalog_at, ensure_open};

/// A number or a name for `regclass` and similar types: looked up as a cast in a query does.
pub(crate) async fn reg_parameter(
    session: &mut Session,
    ty: &SqlType,
    bytes: &[u8],
) -> Result<Datum> {
    let value = utf8_without_nul(bytes)?;
    if value.bytes().all(|byte| byte.is_ascii_digit()) {
        return text::parse(ty, value, &session.active().format, 0);
    }
    let seq = ensure_open(session).txn.next_statement();
    let catalog = Box::pin(catalog_at(session, seq)).await?;
    let env = statement_environment(session, &catalog);
    let cx = env.plan_context(&catalog, "", &[]);
    let literal = format!("'{}'::{}", value.replace('\'', "''"), ty.plain_name());
    let expr = braid_plan::bind_scalar(&cx, &literal, ty)?;
    let cx = braid_plan::eval::EvalContext { env: &env, params: &[], outer: &[] };
    braid_plan::eval::eval(&expr, &[], &cx)
}

/// The portal that an EXECUTE stands for.
pub(crate) async fn bind_execute(
    session: &mut Session,
    execute: &Execute,
    formats: Formats,
) -> Result<Portal> {
    let name = braid_sql::fold(&execute.name);
    let target = session.prepared.get(&name).cloned().ok_or_else(|| unknown_statement(&name))?;
    if execute.args.len() != target.params.len() {
        return Err(Error::new(
            SqlState::SyntaxError,
            format!("wrong number of parameters for prepared statement \"{name}\""),
        )
        .detail(format!(
            "Expected {} parameters but got {}.",
            target.params.len(),
            execute.args.len()
        )));
    }
    let types = current_params(session, &target).await?;
    let mut params = Vec::with_capacity(execute.args.len());
    if !execute.args.is_empty() {
        let seq = ensure_open(session).txn.next_statement();
        let catalog = catalog_at(session, seq).await?;
        let env = statement_environment(session, &catalog);
        let cx = env.plan_context(&catalog, "", &[]);
        let eval_cx = braid_plan::eval::EvalContext { env: &env, params: &[], outer: &[] };
        for (arg, ty) in execute.args.iter().zip(&types) {
            let start = braid_sql::offset_of(arg.span()).saturating_sub(1);
            let expr = braid_plan::bind_scalar(&cx, &arg.to_string(), ty)
                .map_err(|error| error.moved(start).position(start + 1))?;
            params.push(braid_plan::eval::eval(&expr, &[], &eval_cx)?);
        }
    }
    Ok(Portal::new(target, Arc::new(params), formats))
}

/// The types of a statement's parameters, with the labels that their enums have now.
pub(crate) async fn current_params(
    session: &mut Session,
    prepared: &Prepared,
) -> Result<Vec<SqlType>> {
    let mut types = prepared.params.clone();
    if types.iter().any(|ty| !user_types(ty).is_empty()) {
        let seq = ensure_open(session).txn.next_statement();
        let catalog = Box::pin(catalog_at(session, seq)).await?;
        types.iter_mut().for_each(|ty| catalog.enums().refresh(ty));
    }
    Ok(types)
}

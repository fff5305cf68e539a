//! Preparing statements: Parse, `PREPARE`, `DEALLOCATE`.

use std::sync::Arc;

use braid_plan::TypeNames;
use braid_sql::ast::{DataType, Prepare};
use braid_system_views::PreparedInfo;
use braid_types::{Error, Result, SqlState, SqlType};

use crate::client::Severity;
use crate::observe::traceparent::split_comment;
use crate::session::Session;
use crate::statement::context::statement_environment;
use crate::statement::describe::describe_prepared;
use crate::statement::prepared::{Prepared, duplicate, hint_types, unknown_statement};
use crate::statement::skeleton::insert::prepare_shared;
use crate::transaction::open::{catalog_at, ensure_open};

/// `PREPARE`
pub(crate) async fn prepare_sql(
    session: &mut Session,
    prepare: &Prepare,
    outer: &Prepared,
) -> Result<()> {
    let name = braid_sql::fold(&prepare.name);
    if session.prepared.contains_key(&name) {
        return Err(duplicate(&name));
    }
    let text = outer.parsed.text.get(prepare.text.clone()).unwrap_or_default();
    let parsed = session.engine.plans.parse(text)?;
    let hints = declared_types(session, &prepare.types).await?;
    let mut prepared = Prepared::new(&name, parsed, Some(0), hints);
    prepared.from_sql = true;
    prepared.source = Some(outer.whole_text().clone());
    let start = outer.parsed.characters_before(prepare.text.start);
    let prepared = Box::pin(describe_prepared(session, prepared)).await;
    let prepared = prepared.map_err(|error| error.moved(start))?;
    keep_prepared(session, Arc::new(prepared));
    session.replay.blocked = true;
    Ok(())
}

/// The types of a PREPARE.
async fn declared_types(session: &mut Session, types: &[DataType]) -> Result<Vec<SqlType>> {
    if types.is_empty() {
        return Ok(Vec::new());
    }
    let seq = ensure_open(session).txn.next_statement();
    let catalog = catalog_at(session, seq).await?;
    let env = statement_environment(session, &catalog);
    let names = TypeNames { catalog: &catalog, path: &env.lookup.path };
    types.iter().map(|ty| braid_plan::sql_type_of(ty, names)).collect()
}

pub(crate) fn deallocate(
    session: &mut Session,
    name: Option<&braid_sql::ast::Ident>,
) -> Result<String> {
    session.replay.blocked = true;
    let Some(name) = name else {
        session.prepared.retain(|name, _| name.is_empty());
        session.shared.state.lock().prepared.clear();
        return Ok("DEALLOCATE ALL".to_owned());
    };
    let name = braid_sql::fold(name);
    drop_prepared(session, &name).ok_or_else(|| unknown_statement(&name))?;
    Ok("DEALLOCATE".to_owned())
}

/// Parse: prepares a statement.
pub(crate) async fn prepare_text(
    session: &mut Session,
    name: &str,
    sql: &str,
    oids: &[u32],
) -> Result<Arc<Prepared>> {
    if !name.is_empty() && session.prepared.contains_key(name) {
        return Err(duplicate(name));
    }
    let (sql, trace) = split_comment(sql);
    if let Some(prepared) = prepare_shared(session, name, sql, oids).await {
        return Ok(Arc::new(Prepared { trace, ..prepared }));
    }
    let parsed = session.engine.plans.parse(sql)?;
    if parsed.statements.len() > 1 {
        return Err(Error::new(
            SqlState::SyntaxError,
            "cannot insert multiple commands into a prepared statement",
        ));
    }
    let index = (!parsed.statements.is_empty()).then_some(0);
    for warning in parsed.warnings(0) {
        session.notices.add(Severity::Warning, warning);
    }
    let hints = types_by_oid(session, oids).await?;
    let prepared = Prepared { trace, ..Prepared::new(name, parsed, index, hints) };
    describe_prepared(session, prepared).await.map(Arc::new)
}

/// Types by oid, those of users included; 42704 for one that does not exist.
async fn types_by_oid(session: &mut Session, oids: &[u32]) -> Result<Vec<SqlType>> {
    if let Ok(known) = hint_types(oids) {
        return Ok(known);
    }
    let seq = ensure_open(session).txn.next_statement();
    let catalog = catalog_at(session, seq).await?;
    let (enums, rows, domains) = (catalog.enums(), catalog.names().row_types(), catalog.domains());
    let of_user = |oid: u32| {
        let domain = || domains.get(oid).map(|domain| domains.base(domain));
        enums.type_of(oid).or_else(|| rows.type_of(oid)).or_else(domain)
    };
    let type_of = |oid: &u32| match of_user(*oid) {
        Some(ty) => Ok(vec![ty]),
        None => hint_types(&[*oid]),
    };
    let types = oids.iter().map(type_of).collect::<Result<Vec<_>>>()?;
    Ok(types.concat())
}

/// Keeps a prepared statement by its name. The catalog views show those that have one.
pub(crate) fn keep_prepared(session: &mut Session, prepared: Arc<Prepared>) {
    let name = prepared.name.clone();
    if !name.is_empty() {
        let info = PreparedInfo {
            name: name.clone(),
            statement: prepared.source.as_deref().unwrap_or_else(|| prepared.text()).to_owned(),
            prepare_time: prepared.time,
            parameter_types: prepared.params.iter().map(SqlType::oid).collect(),
            from_sql: prepared.from_sql,
        };
        session.shared.state.lock().prepared.insert(name.clone(), info);
    }
    session.prepared.insert(name, prepared);
}

/// Takes a prepared statement away; `None` if no statement has that name.
pub(crate) fn drop_prepared(session: &mut Session, name: &str) -> Option<Arc<Prepared>> {
    session.shared.state.lock().prepared.remove(name);
    session.prepared.remove(name)
}

/// Takes all prepared statements away, that without a name as well.
pub(crate) fn discard_prepared(session: &mut Session) {
    session.shared.state.lock().prepared.clear();
    session.prepared.clear();
}

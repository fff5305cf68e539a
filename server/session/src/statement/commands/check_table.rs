//! `CHECK TABLE name`: what does not fit together in a table's data, a row for each finding.

use std::collections::VecDeque;
use std::sync::Arc;

use braid_catalog::partitions::leaves;
use braid_catalog::{Object, Relation};
use braid_dml::check_table;
use braid_sql::ast::ObjectName;
use braid_types::{Error, Result, Row, SqlState, SqlType};

use crate::client::ResultColumn;
use crate::session::Session;
use crate::statement::context::{exec_context, statement_environment};
use crate::transaction::open::{catalog_at, ensure_open};

/// Checks a table that the user owns, at one snapshot.
pub(crate) async fn check_named_table(
    session: &mut Session,
    name: &ObjectName,
) -> Result<VecDeque<Row>> {
    let open = ensure_open(session);
    open.statements += 1;
    let seq = open.txn.next_statement();
    let catalog = catalog_at(session, seq).await?;
    let env = statement_environment(session, &catalog);
    let parts: Vec<String> =
        name.0.iter().filter_map(|part| part.as_ident().map(braid_sql::fold)).collect();
    let shown = parts.join(".");
    let table = match catalog.names().resolve(&env.lookup.path, &parts)? {
        Some(Relation::Table(table)) => table,
        Some(other) => {
            let message = format!("\"{}\" is not a table", other.name());
            return Err(Error::new(SqlState::WrongObjectType, message));
        }
        None => {
            let message = format!("relation \"{shown}\" does not exist");
            return Err(Error::new(SqlState::UndefinedTable, message));
        }
    };
    let user = &session.derived().user;
    let role = catalog.names().role(user).map(|role| role.id);
    let role = role.ok_or_else(|| {
        Error::new(SqlState::UndefinedObject, format!("role \"{user}\" does not exist"))
    })?;
    catalog.privileges().check_owner(role, Object::Table(&table))?;
    let cx = exec_context(session, seq, catalog, env);
    let mut findings = VecDeque::new();
    for part in leaves(&cx.catalog, &table)? {
        findings.extend(check_table(&cx, &part).await?);
    }
    Ok(findings)
}

/// The columns of its answer.
pub(crate) fn columns() -> Arc<[ResultColumn]> {
    ["table", "kind", "key", "detail"]
        .map(|name| ResultColumn::computed(name, SqlType::Text))
        .into()
}

//! `CHECK TABLE name`: what does not fit together in a table's data, a row for each finding.

use std::collections::VecDeque;
use std::sync::Arc;

use braid_catalog::{Object, Relation};
use braid_exec::check_table;
use braid_sql::ast::ObjectName;
use braid_types::{Error, Result, Row, SqlState, SqlType};

use crate::client::ResultColumn;
use crate::session::Session;

/// The columns of its answer.
pub(crate) fn columns() -> Arc<[ResultColumn]> {
    ["table", "kind", "key", "detail"]
        .map(|name| ResultColumn::computed(name, SqlType::Text))
        .into()
}

impl Session {
    /// Checks a table that the user owns, at one snapshot.
    pub(crate) async fn check_table(&mut self, name: &ObjectName) -> Result<VecDeque<Row>> {
        let open = self.ensure_open();
        open.statements += 1;
        let seq = open.txn.next_statement();
        let catalog = self.catalog_at(seq).await?;
        let env = self.environment(&catalog);
        let parts: Vec<String> =
            name.0.iter().filter_map(|part| part.as_ident().map(braid_sql::fold)).collect();
        let shown = parts.join(".");
        let table = match catalog.resolve(&env.lookup.path, &parts)? {
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
        let user = catalog.role_by_name(&self.derived().user).map(|role| role.id);
        catalog.check_owner(user.unwrap_or_default(), Object::Table(&table))?;
        let cx = self.exec_context(seq, catalog, env);
        check_table(&cx, &table).await.map(VecDeque::from)
    }
}

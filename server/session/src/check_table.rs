//! `CHECK TABLE name`: what does not fit together in a table's data, a row for each finding. And
//! the same for every table of a server, for `braid check`.

use std::collections::VecDeque;
use std::sync::Arc;

use braid_catalog::{Catalog, Object, ROOT, Relation, Table};
use braid_exec::check_table;
use braid_sql::ast::ObjectName;
use braid_types::{Datum, Error, Result, Row, SqlState, SqlType};

use crate::SessionOptions;
use crate::client::ResultColumn;
use crate::server::Server;
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

    async fn check_any(&mut self, table: &Arc<Table>) -> Result<Vec<Row>> {
        let seq = self.ensure_open().txn.next_statement();
        let catalog = self.catalog_at(seq).await?;
        let env = self.environment(&catalog);
        let cx = self.exec_context(seq, catalog, env);
        check_table(&cx, table).await
    }
}

/// What a check of all tables has found.
#[derive(Debug, Default)]
pub struct Checked {
    /// How many tables were read.
    pub tables: usize,
    /// A line for each finding.
    pub findings: Vec<String>,
}

impl Server {
    /// Reads every table of every database and looks whether what is stored fits together. A table
    /// that cannot be read is a finding; the others are read all the same.
    pub async fn check_tables(self: &Arc<Self>) -> Result<Checked> {
        let catalog = self.catalog_now().await?;
        let user = catalog.role_name(ROOT);
        let mut checked = Checked::default();
        for database in catalog.databases() {
            let options = SessionOptions::internal(&user, &database.name);
            let mut session = self.open_session(options, self.admit()?).await?;
            for table in catalog.tables_of(database.id) {
                let name = full_name(&catalog, &database.name, table);
                checked.tables += 1;
                match session.check_any(table).await {
                    Ok(rows) => checked.findings.extend(rows.iter().map(|row| line(&name, row))),
                    Err(error) => {
                        let (state, message) = (error.state().code(), error.message());
                        checked.findings.push(format!("{name}: {state} {message}"));
                    }
                }
            }
            session.close().await;
        }
        Ok(checked)
    }
}

fn full_name(catalog: &Catalog, database: &str, table: &Table) -> String {
    format!("{database}.{}.{}", catalog.schema_name(table.schema), table.name)
}

/// A finding of [`check_table`] as a line: its first column is the table's name.
fn line(name: &str, row: &Row) -> String {
    let cells: Vec<&str> = row.iter().skip(1).filter_map(Datum::as_str).collect();
    format!("{name}: {}", cells.join(", "))
}

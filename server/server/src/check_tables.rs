//! `braid check`: reads every table and reports what does not fit together.

use std::sync::Arc;

use braid_catalog::{Catalog, ROOT, Table};
use braid_session::{SessionOptions, check_table};
use braid_types::{Datum, Result, Row};

use crate::server::Server;

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
        let catalog = self.engine.catalog_now().await?;
        let user = catalog.role_name(ROOT);
        let mut checked = Checked::default();
        for database in catalog.databases().iter() {
            let options = SessionOptions::internal(&user, &database.name);
            let mut session = self.open_session(options, self.admit()?).await?;
            for table in catalog.tables().in_database(database.id) {
                let name = full_name(&catalog, &database.name, table);
                checked.tables += 1;
                match check_table(&mut session, table).await {
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

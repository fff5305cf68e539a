//! SHOW: its columns, and the queries that SHOW of objects stands for.

use std::sync::Arc;

use braid_sql::ast::{ObjectName, ShowTarget};
use braid_sql::quote_literal;
use braid_types::SqlType;

use crate::client::ResultColumn;

/// The columns of a SHOW that is no query.
pub(crate) fn columns(target: &ShowTarget) -> Arc<[ResultColumn]> {
    let text = |name: &str| ResultColumn::computed(name, SqlType::Text);
    match target {
        ShowTarget::All => [text("name"), text("setting"), text("description")].into(),
        ShowTarget::Variable(name) => {
            let shown = crate::settings::find(name).map_or(name.as_str(), |setting| setting.name);
            [text(shown)].into()
        }
        ShowTarget::TransactionStatus => [text("TRANSACTION STATUS")].into(),
        ShowTarget::TransactionTimeline => crate::groups::timeline_columns(),
        _ => [text("show")].into(),
    }
}

/// The words of a SHOW, for messages.
pub(crate) fn command(target: &ShowTarget) -> &'static str {
    match target {
        ShowTarget::All => "SHOW ALL",
        ShowTarget::Variable(_) => "SHOW",
        ShowTarget::Tables(_) => "SHOW TABLES",
        ShowTarget::Databases => "SHOW DATABASES",
        ShowTarget::Schemas => "SHOW SCHEMAS",
        ShowTarget::Sequences => "SHOW SEQUENCES",
        ShowTarget::Users => "SHOW USERS",
        ShowTarget::Columns(_) => "SHOW COLUMNS",
        ShowTarget::Indexes(_) => "SHOW INDEXES",
        ShowTarget::Constraints(_) => "SHOW CONSTRAINTS",
        ShowTarget::CreateTable(_) => "SHOW CREATE TABLE",
        ShowTarget::TransactionTimeline => "SHOW TRANSACTION TIMELINE",
        ShowTarget::TransactionStatus => "SHOW TRANSACTION STATUS",
    }
}

fn regclass(name: &ObjectName) -> String {
    format!("{}::regclass", quote_literal(&name.to_string()))
}

/// The query that a SHOW of objects stands for.
pub(crate) fn query(target: &ShowTarget) -> Option<String> {
    Some(match target {
        ShowTarget::Tables(schema) => {
            let condition = match schema {
                Some(name) => {
                    let parts: Vec<String> = name
                        .0
                        .iter()
                        .filter_map(|part| part.as_ident().map(braid_sql::fold))
                        .collect();
                    let schema = parts.last().cloned().unwrap_or_default();
                    format!("table_schema = {}", quote_literal(&schema))
                }
                None => {
                    "table_schema NOT IN ('pg_catalog', 'information_schema', 'braid_internal')"
                        .to_owned()
                }
            };
            format!(
                "SELECT table_schema AS schema_name, table_name, \
                 CASE table_type WHEN 'BASE TABLE' THEN 'table' ELSE lower(table_type) END AS type \
                 FROM information_schema.tables WHERE {condition} ORDER BY 1, 2"
            )
        }
        ShowTarget::Databases => "SELECT datname AS database_name, \
             pg_catalog.pg_get_userbyid(datdba) AS owner FROM pg_catalog.pg_database ORDER BY 1"
            .to_owned(),
        ShowTarget::Schemas => "SELECT nspname AS schema_name, \
             pg_catalog.pg_get_userbyid(nspowner) AS owner FROM pg_catalog.pg_namespace ORDER BY 1"
            .to_owned(),
        ShowTarget::Sequences => "SELECT sequence_schema, sequence_name \
             FROM information_schema.sequences ORDER BY 1, 2"
            .to_owned(),
        ShowTarget::Users => "SELECT rolname AS username, rolsuper AS superuser, \
             rolcanlogin AS login FROM pg_catalog.pg_roles ORDER BY 1"
            .to_owned(),
        ShowTarget::Columns(table) => format!(
            "SELECT a.attname AS column_name, \
             pg_catalog.format_type(a.atttypid, a.atttypmod) AS data_type, \
             NOT a.attnotnull AS is_nullable, \
             pg_catalog.pg_get_expr(d.adbin, d.adrelid) AS column_default \
             FROM pg_catalog.pg_attribute a LEFT JOIN pg_catalog.pg_attrdef d \
             ON d.adrelid = a.attrelid AND d.adnum = a.attnum \
             WHERE a.attrelid = {} AND a.attnum > 0 AND NOT a.attisdropped ORDER BY a.attnum",
            regclass(table)
        ),
        ShowTarget::Indexes(table) => format!(
            "SELECT c.relname AS index_name, i.indisunique AS is_unique, \
             i.indisprimary AS is_primary, \
             pg_catalog.pg_get_indexdef(i.indexrelid) AS definition \
             FROM pg_catalog.pg_index i JOIN pg_catalog.pg_class c ON c.oid = i.indexrelid \
             WHERE i.indrelid = {} ORDER BY i.indisprimary DESC, c.relname",
            regclass(table)
        ),
        ShowTarget::Constraints(table) => format!(
            "SELECT conname AS constraint_name, contype AS constraint_type, \
             pg_catalog.pg_get_constraintdef(oid) AS details \
             FROM pg_catalog.pg_constraint WHERE conrelid = {} ORDER BY conname",
            regclass(table)
        ),
        ShowTarget::CreateTable(table) => format!(
            "SELECT table_name, create_statement FROM braid_internal.tables \
             WHERE table_id = {}::oid::int8",
            regclass(table)
        ),
        ShowTarget::All
        | ShowTarget::Variable(_)
        | ShowTarget::TransactionTimeline
        | ShowTarget::TransactionStatus => return None,
    })
}

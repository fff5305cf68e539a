//! What differs between the rows of a materialized view and those of its query, as statements.
//!
//! Rows are the same if their keys are equal and all their other values are the same to the last
//! digit. A row with a null in its key is never the same as another, as in PostgreSQL.

use braid_catalog::{Column, Index, IndexState, Table};
use braid_sql::quote_ident;
use braid_types::SqlType;

/// The statements that find and write the differences.
pub(crate) struct Differences {
    /// Gives a row that the new rows have twice.
    pub(crate) repeated: String,
    /// Deletes the rows that are not among the new ones.
    pub(crate) delete: String,
    /// Inserts the new rows that are not there.
    pub(crate) insert: String,
}

/// The columns of the first unique index that covers every row by columns alone.
pub(crate) fn compared_columns(table: &Table) -> Option<Vec<&Column>> {
    let fits = |index: &&Index| {
        index.unique && index.predicate.is_none() && index.state == IndexState::Public
    };
    let mut keys = table.indexes.iter().filter(fits).map(|index| {
        let columns = index.keys.iter().map(|key| table.column(key.column));
        columns.map(|column| column.filter(|column| !column.is_key_expr)).collect()
    });
    keys.find_map(|columns: Option<Vec<&Column>>| columns)
}

impl Differences {
    /// Between the view `old` and the rows of `new`; `keys` tell its rows apart.
    pub(crate) fn new(view: &Table, old: &str, new: &str, keys: &[&Column]) -> Self {
        let columns: Vec<&Column> =
            view.visible_columns().filter(|column| !column.is_key_expr).collect();
        let names: Vec<String> = columns.iter().map(|column| quote_ident(&column.name)).collect();
        let mut same: Vec<String> = Vec::with_capacity(columns.len() + keys.len());
        for key in keys {
            let name = quote_ident(&key.name);
            same.push(format!("n.{name} = o.{name}"));
        }
        for column in &columns {
            let (ours, theirs) = (exact("o", column), exact("n", column));
            same.push(format!("{theirs} IS NOT DISTINCT FROM {ours}"));
        }
        let same = same.join(" AND ");
        let exact: Vec<String> = columns.iter().map(|column| exact("n", column)).collect();
        let texts: Vec<String> = names.iter().map(|name| format!("min(n.{name}::text)")).collect();
        let set: Vec<String> = names.iter().map(|name| format!("n.{name} IS NOT NULL")).collect();
        let listed: Vec<String> = names.iter().map(|name| format!("n.{name}")).collect();
        Differences {
            repeated: format!(
                "SELECT {} FROM {new} AS n WHERE {} GROUP BY {} HAVING count(*) > 1 LIMIT 1",
                texts.join(", "),
                set.join(" AND "),
                exact.join(", ")
            ),
            delete: format!(
                "DELETE FROM {old} AS o WHERE NOT EXISTS (SELECT 1 FROM {new} AS n WHERE {same})"
            ),
            insert: format!(
                "INSERT INTO {old} ({}) SELECT {} FROM {new} AS n \
                 WHERE NOT EXISTS (SELECT 1 FROM {old} AS o WHERE {same})",
                names.join(", "),
                listed.join(", ")
            ),
        }
    }
}

/// A column such that equal values look the same: `1.0` is not `1.00`, nor is `a` equal to `A` by
/// the column's collation.
fn exact(table: &str, column: &Column) -> String {
    let name = quote_ident(&column.name);
    match &column.ty {
        SqlType::Bool
        | SqlType::Int2
        | SqlType::Int4
        | SqlType::Int8
        | SqlType::Bytes
        | SqlType::Uuid
        | SqlType::Date
        | SqlType::Time
        | SqlType::Timestamp
        | SqlType::Timestamptz => format!("{table}.{name}"),
        SqlType::Text | SqlType::Varchar(_) => format!("({table}.{name} COLLATE \"C\")"),
        _ => format!("({table}.{name}::text COLLATE \"C\")"),
    }
}

//! Expressions of a table's definition: defaults, CHECK conditions, generated columns, predicates
//! and keys of indexes.
//!
//! An expression is kept like a view's query: as text with ids in place of names, every literal and
//! every implicit cast with its type (`braid_sql`'s module `deparse` describes the form; the
//! table's row is item 1). So renames change nothing, and the text that PostgreSQL would print
//! follows from it. Descriptors of older databases have the text as it was written, and so have
//! expressions of a form that cannot be stored in this way.

use crate::Collations;
use braid_sql::{quote_ident, quote_literal};
use std::collections::HashMap;
use std::fmt;

use braid_sql::{Names, RowNames};
use serde::de::value::MapAccessDeserializer;
use serde::de::{self, MapAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize};

use crate::CatalogNames;
use crate::names::qualified;
use crate::{ColumnId, Id, Table};

/// An expression of a table's definition.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(untagged)]
pub enum StoredExpr {
    /// As it was written. A sequence may stand there as `nextval(id::regclass)`.
    Written(String),
    /// With ids in place of names.
    Identified(IdentifiedExpr),
}

/// An expression with ids in place of names.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct IdentifiedExpr {
    /// The text, in the form that `braid_sql::stored_expr_text` prints.
    pub sql: String,
    /// The columns of the table that it reads.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub columns: Vec<ColumnId>,
    /// The relations that it names, such as sequences.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub relations: Vec<Id>,
    /// Whether its value is cast on assignment, which is not part of the text.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_cast: bool,
}

/// What the text of stored expressions begins with where catalogs show it, as PostgreSQL shows
/// trees of nodes; a list of expressions in JSON and a brace follow.
const NODE_START: &str = "{EXPR ";
const NODE_END: char = '}';

/// Reads a text or a document. The derived form of `untagged` would copy each document first, and
/// a table may have thousands of them.
impl<'de> Deserialize<'de> for StoredExpr {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        struct Reader;

        impl<'de> Visitor<'de> for Reader {
            type Value = StoredExpr;

            fn expecting(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
                out.write_str("the text of an expression, or one with ids in place of names")
            }

            fn visit_str<E: de::Error>(self, text: &str) -> Result<StoredExpr, E> {
                Ok(StoredExpr::Written(text.to_owned()))
            }

            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<StoredExpr, A::Error> {
                let found = IdentifiedExpr::deserialize(MapAccessDeserializer::new(map));
                found.map(StoredExpr::Identified)
            }
        }
        from.deserialize_any(Reader)
    }
}

impl StoredExpr {
    /// The text to parse.
    pub fn sql(&self) -> &str {
        match self {
            StoredExpr::Written(text) => text,
            StoredExpr::Identified(expr) => &expr.sql,
        }
    }

    /// The sequences whose next values it takes.
    pub fn sequences(&self) -> Vec<Id> {
        let text = match self {
            StoredExpr::Identified(expr) => return expr.relations.clone(),
            StoredExpr::Written(text) => text,
        };
        let after = text.split("nextval(").skip(1);
        let numbers = after.filter_map(|rest| {
            let digits = rest.find(|c: char| !c.is_ascii_digit())?;
            rest[..digits].parse().ok().filter(|_| rest[digits..].starts_with("::regclass"))
        });
        numbers.collect()
    }

    /// Whether ids stand in place of names.
    pub fn is_identified(&self) -> bool {
        matches!(self, StoredExpr::Identified(_))
    }
}

impl CatalogNames<'_> {
    /// An expression with today's names, as `pg_get_expr` prints it. `table` is the one that it
    /// belongs to.
    pub fn expr(&self, table: &Table, expr: &StoredExpr, pretty: bool) -> String {
        let shown = match expr {
            StoredExpr::Written(_) => None,
            StoredExpr::Identified(found) => self.identified(Some(table), found, pretty),
        };
        shown.unwrap_or_else(|| self.written(expr.sql()))
    }

    /// An expression as the key of an index: in parentheses unless it is a call.
    pub fn key_expr(&self, table: &Table, expr: &StoredExpr, pretty: bool) -> String {
        let text = self.expr(table, expr, pretty);
        match braid_sql::parse_expr(expr.sql()) {
            Ok(syntax) if braid_sql::is_call(&syntax) => text,
            _ => format!("({text})"),
        }
    }

    /// An expression as a condition in parentheses, which the text may have already.
    pub fn condition(&self, table: &Table, expr: &StoredExpr, pretty: bool) -> String {
        match expr {
            StoredExpr::Written(text) => format!("({text})"),
            StoredExpr::Identified(_) => self.expr(table, expr, pretty),
        }
    }

    fn written(&self, text: &str) -> String {
        written_text(text, |id| Some(self.relation(id, &[])?.0))
    }

    fn identified(
        &self,
        table: Option<&Table>,
        found: &IdentifiedExpr,
        pretty: bool,
    ) -> Option<String> {
        let expr = braid_sql::parse_expr(&found.sql).ok()?;
        let row = table.map(|table| RowNames {
            table: self.relation(table.id, &[]).map(|(shown, _)| shown).unwrap_or_default(),
            name: table.name.clone(),
            columns: columns(table),
            types: column_types(table),
        });
        let form = (pretty, found.is_cast);
        let text = braid_sql::shown_expr_text(&expr, self, row.unwrap_or_default(), form).ok()?;
        Some(Collations::of(self.catalog).named(self.path, text))
    }

    /// What `pg_get_expr` prints for the text of a node tree.
    pub fn node(&self, table: Option<&Table>, text: &str, pretty: bool) -> Option<String> {
        let Some(list) = text.strip_prefix(NODE_START) else { return Some(text.to_owned()) };
        let list: Vec<IdentifiedExpr> = serde_json::from_str(list.strip_suffix(NODE_END)?).ok()?;
        let texts = list.iter().map(|expr| self.identified(table, expr, pretty));
        let mut out = String::new();
        for text in texts.collect::<Option<Vec<_>>>()? {
            // CASE begins on a line of its own.
            let separator = if text.starts_with('\n') { "," } else { ", " };
            out.push_str(if out.is_empty() { "" } else { separator });
            out.push_str(&text);
        }
        Some(out)
    }

    /// Expressions as catalogs show them: a text that [`CatalogNames::node`] reads.
    pub fn node_text(&self, table: &Table, exprs: &[&StoredExpr]) -> String {
        if exprs.iter().all(|expr| expr.is_identified())
            && let Ok(list) = serde_json::to_string(exprs)
        {
            return format!("{NODE_START}{list}{NODE_END}");
        }
        let texts: Vec<String> = exprs.iter().map(|expr| self.expr(table, expr, false)).collect();
        texts.join(", ")
    }

    /// A table as it has to be written.
    pub fn table(&self, table: &Table) -> String {
        let shown = self.relation(table.id, &[]).map(|(shown, _)| shown);
        shown.unwrap_or_else(|| quote_ident(&table.name))
    }

    /// A table with its schema.
    pub fn qualified_table(&self, table: &Table) -> String {
        qualified(&self.catalog.schema_name(table.schema), &table.name)
    }
}

/// An expression that is kept as it was written: a sequence, which it names by oid, by its name.
pub fn written_text(text: &str, name_of: impl Fn(Id) -> Option<String>) -> String {
    const CALL: &str = "nextval(";
    const CAST: &str = "::regclass)";
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find(CALL) {
        let (before, after) = rest.split_at(at + CALL.len());
        out.push_str(before);
        rest = after;
        let digits = rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len());
        let name = rest[..digits].parse().ok().and_then(&name_of);
        if let Some(name) = name.filter(|_| rest[digits..].starts_with(CAST)) {
            out.push_str(&quote_literal(&name));
            rest = &rest[digits..];
        }
    }
    out.push_str(rest);
    out
}

fn columns(table: &Table) -> HashMap<u16, String> {
    table.columns.iter().map(|column| (column.id, column.name.clone())).collect()
}

fn column_types(table: &Table) -> HashMap<u16, String> {
    table.columns.iter().map(|column| (column.id, column.ty.plain_name().to_owned())).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn expressions_of_older_databases_are_plain_texts() {
        let read: StoredExpr = serde_json::from_str("\"a > 1\"").unwrap();
        assert_eq!(read, StoredExpr::Written("a > 1".to_owned()));
        assert_eq!(serde_json::to_string(&read).unwrap(), "\"a > 1\"");
        let expr = IdentifiedExpr {
            sql: "(\"1\".\"2\" > 1)".to_owned(),
            columns: vec![2],
            relations: Vec::new(),
            is_cast: false,
        };
        let expr = StoredExpr::Identified(expr);
        let text = serde_json::to_string(&expr).unwrap();
        assert_eq!(serde_json::from_str::<StoredExpr>(&text).unwrap(), expr);
    }
}

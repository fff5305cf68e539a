//! Expressions in descriptors: checked here, given their stored form and bound by `plan`.

use std::borrow::Cow;
use std::sync::Arc;

use braid_builtins::{Environment, Lookup};
use braid_catalog::{
    CatalogLookup, CatalogNames, Column, ColumnId, Id, IdentifiedExpr, Index, StoredExpr, Table,
    names,
};
use braid_plan::eval::{EvalContext, eval};
use braid_plan::{Expr as Bound, bind_default, bind_table_expr, identify_expr};
use braid_sql::ast::Expr;
use braid_types::{Datum, Error, FormatSettings, Result, SqlState, SqlType};

use super::DdlContext;
use crate::index_exprs::IndexExprs;

/// The session with the transaction's own catalog: a table created before is found.
pub(super) struct DraftEnvironment<'a> {
    session: &'a dyn Environment,
    lookup: CatalogLookup,
}

impl<'a> DraftEnvironment<'a> {
    pub(super) fn new(session: &'a dyn Environment, lookup: CatalogLookup) -> Self {
        DraftEnvironment { session, lookup }
    }
}

impl Environment for DraftEnvironment<'_> {
    fn settings(&self) -> &FormatSettings {
        self.session.settings()
    }
    fn transaction_micros(&self) -> i64 {
        self.session.transaction_micros()
    }
    fn statement_micros(&self) -> i64 {
        self.session.statement_micros()
    }
    fn current_user(&self) -> &str {
        self.session.current_user()
    }
    fn session_user(&self) -> &str {
        self.session.session_user()
    }
    fn database(&self) -> &str {
        self.session.database()
    }
    fn search_path(&self, implicit: bool) -> Vec<String> {
        self.session.search_path(implicit)
    }
    fn setting(&self, name: &str) -> Option<String> {
        self.session.setting(name)
    }
    fn backend_pid(&self) -> i32 {
        self.session.backend_pid()
    }
    fn client_addr(&self) -> Option<String> {
        self.session.client_addr()
    }
    fn lookup(&self) -> &dyn Lookup {
        &self.lookup
    }
}

/// A word of an expression's text.
#[derive(Debug, PartialEq, Eq)]
enum Word<'t> {
    /// An identifier: as written, and as the catalog knows it.
    Ident(&'t str, String),
    /// Anything else.
    Other(&'t str),
}

/// Splits an expression's text into identifiers and the rest.
fn words(text: &str) -> Vec<Word<'_>> {
    let mut words = Vec::new();
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let length = match first {
            '\'' => quoted_length(rest, '\''),
            '"' => quoted_length(rest, '"'),
            c if c.is_alphabetic() || c == '_' => {
                let stop = |c: char| !(c.is_alphanumeric() || c == '_' || c == '$');
                rest.find(stop).unwrap_or(rest.len())
            }
            c if c.is_ascii_digit() => {
                let stop = |c: char| !(c.is_alphanumeric() || c == '.' || c == '_');
                rest.find(stop).unwrap_or(rest.len())
            }
            c => c.len_utf8(),
        };
        let (word, after) = rest.split_at(length);
        rest = after;
        words.push(match first {
            '"' => {
                let inner = word.trim_matches('"').replace("\"\"", "\"");
                Word::Ident(word, inner)
            }
            c if c.is_alphabetic() || c == '_' => Word::Ident(word, word.to_lowercase()),
            _ => Word::Other(word),
        });
    }
    words
}

/// The bytes of a quoted word, closing quote included; doubled quotes stay inside.
fn quoted_length(text: &str, quote: char) -> usize {
    let mut chars = text.char_indices().skip(1).peekable();
    while let Some((at, c)) = chars.next() {
        if c == quote {
            if chars.peek().is_some_and(|(_, next)| *next == quote) {
                chars.next();
            } else {
                return at + 1;
            }
        }
    }
    text.len()
}

/// The next word that is not blank says whether an identifier is a function's name.
fn is_call(words: &[Word<'_>], at: usize) -> bool {
    let blank = |word: &&Word<'_>| !matches!(word, Word::Other(text) if text.trim().is_empty());
    matches!(words[at + 1..].iter().find(blank), Some(Word::Other("(")))
}

/// The columns of a table that an expression reads.
pub(super) fn columns_used(table: &Table, expr: &StoredExpr) -> Vec<ColumnId> {
    let text = match expr {
        StoredExpr::Identified(expr) => return expr.columns.clone(),
        StoredExpr::Written(text) => text,
    };
    let words = words(text);
    let mut used = Vec::new();
    for (at, word) in words.iter().enumerate() {
        let Word::Ident(_, name) = word else { continue };
        let Some(place) = table.column_by_name(name) else { continue };
        let id = table.columns[place].id;
        if !is_call(&words, at) && !used.contains(&id) {
            used.push(id);
        }
    }
    used
}

/// Whether an expression, if there is one, reads a column.
pub(super) fn reads(table: &Table, expr: Option<&StoredExpr>, column: ColumnId) -> bool {
    expr.is_some_and(|expr| columns_used(table, expr).contains(&column))
}

/// Whether an index reads a column: as a key, in an expression, in its predicate, or beside.
pub(super) fn index_reads(table: &Table, index: &Index, column: ColumnId) -> bool {
    let key_reads = |id: ColumnId| match table.column(id) {
        Some(key) if key.is_key_expr => reads(table, key.generated.as_ref(), column),
        _ => id == column,
    };
    index.keys.iter().any(|key| key_reads(key.column))
        || index.storing.contains(&column)
        || reads(table, index.predicate.as_ref(), column)
}

/// The expression with a column's name changed.
pub(super) fn rename_column(text: &str, from: &str, to: &str) -> String {
    rename_words(text, from, to, |words, at| !is_call(words, at) && !is_qualifier(words, at))
}

/// The expression with its table's name changed, where that stands before a column.
pub(super) fn rename_table(text: &str, from: &str, to: &str) -> String {
    rename_words(text, from, to, is_qualifier)
}

fn rename_words(
    text: &str,
    from: &str,
    to: &str,
    is_meant: impl Fn(&[Word<'_>], usize) -> bool,
) -> String {
    let words = words(text);
    let renamed = words.iter().enumerate().map(|(at, word)| match word {
        Word::Ident(_, name) if name == from && is_meant(&words, at) => names::quote_ident(to),
        Word::Ident(written, _) => (*written).to_owned(),
        Word::Other(text) => (*text).to_owned(),
    });
    renamed.collect()
}

/// Whether a name stands before a dot.
fn is_qualifier(words: &[Word<'_>], at: usize) -> bool {
    let blank = |word: &&Word<'_>| !matches!(word, Word::Other(text) if text.trim().is_empty());
    words.iter().skip(at + 1).find(blank) == Some(&Word::Other("."))
}

/// The sequences that a default names.
pub(super) fn sequences_used(expr: &StoredExpr) -> Vec<Id> {
    let text = match expr {
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

/// The expression that takes the next value of a sequence.
pub(super) fn nextval_of(sequence: Id) -> StoredExpr {
    let sql = format!("nextval('{sequence}'::regclass)");
    let relations = vec![sequence];
    StoredExpr::Identified(IdentifiedExpr { sql, columns: Vec::new(), relations, is_cast: false })
}

fn written(text: &str) -> StoredExpr {
    StoredExpr::Written(text.to_owned())
}

impl DdlContext<'_> {
    /// A DEFAULT, checked against the column's type. NULL is no default; if the type has a
    /// modifier, PostgreSQL keeps it nevertheless.
    pub(super) fn default_expr(&self, expr: &Expr, column: &Column) -> Result<Option<StoredExpr>> {
        let text = expr.to_string();
        let is_plain = column.modifier.is_none() && column.ty == column.ty.bare();
        if text.eq_ignore_ascii_case("null") && is_plain {
            return Ok(None);
        }
        self.plan(|cx| bind_default(cx, &written(&text), &column.ty))?;
        let stored = self.stored(&text, None, Some(&column.ty))?;
        // An operator would have parentheses around it.
        let is_null = is_plain && stored.is_identified() && stored.sql().starts_with("NULL::");
        Ok((!is_null).then_some(stored))
    }

    /// The stored form of an expression that has been checked; the text itself if it has none.
    pub(super) fn stored(
        &self,
        text: &str,
        table: Option<&Table>,
        ty: Option<&SqlType>,
    ) -> Result<StoredExpr> {
        let ast = braid_sql::parse_expr(text)?;
        match self.plan(|cx| identify_expr(&ast, table, ty, cx)) {
            Err(error) if error.state() == SqlState::FeatureNotSupported => Ok(written(text)),
            other => other,
        }
    }

    /// An expression of one table as one of another table, or of the same with other types: its
    /// text with names is read again.
    pub(super) fn restated(&self, from: &Table, expr: &StoredExpr) -> StoredExpr {
        let catalog = self.catalog();
        let names = CatalogNames { catalog: &catalog, path: Some(self.path()) };
        StoredExpr::Written(names.expr(from, expr, false))
    }

    /// A CHECK, with the columns it reads. 42804 unless it is boolean.
    pub(super) fn check_expr(
        &self,
        table: &Arc<Table>,
        expr: &Expr,
    ) -> Result<(StoredExpr, Vec<ColumnId>)> {
        let stored = self.condition(table, &expr.to_string(), "CHECK", "check constraints")?;
        let columns = columns_used(table, &stored);
        Ok((stored, columns))
    }

    /// The stored form of a condition. 42804 unless it is boolean.
    fn condition(
        &self,
        table: &Arc<Table>,
        text: &str,
        word: &str,
        clause: &'static str,
    ) -> Result<StoredExpr> {
        self.check_boolean(table, &written(text), word, clause)?;
        self.stored(text, Some(table), Some(&SqlType::Bool))
    }

    /// The predicate of a partial index; none if it is `true`.
    pub(super) fn predicate(&self, table: &Arc<Table>, expr: &Expr) -> Result<Option<StoredExpr>> {
        let text = expr.to_string();
        let bound = self.check_boolean(table, &written(&text), "WHERE", "index predicates")?;
        if !bound.is_immutable() {
            let message = "functions in index predicate must be marked IMMUTABLE";
            return Err(Error::new(SqlState::InvalidObjectDefinition, message));
        }
        let stored = self.stored(&text, Some(table), Some(&SqlType::Bool))?;
        Ok(Some(stored).filter(|stored| stored.sql() != "true"))
    }

    /// The key of an index that is an expression, and its type.
    pub(super) fn index_key(
        &self,
        table: &Arc<Table>,
        text: &str,
    ) -> Result<(StoredExpr, SqlType)> {
        let bound = self.bind(table, &written(text), None, "index expressions")?;
        if !bound.is_immutable() {
            let message = "functions in index expression must be marked IMMUTABLE";
            return Err(Error::new(SqlState::InvalidObjectDefinition, message));
        }
        let ty = match bound.ty() {
            SqlType::Unknown => SqlType::Text,
            ty => ty,
        };
        let stored = self.stored(text, Some(table), None)?;
        if !stored.is_identified() {
            return Err(Error::unsupported(format_args!("an index on {text}")));
        }
        Ok((stored, ty))
    }

    /// Reads the conditions of a table again after the type of a column has changed: operators and
    /// casts may be others.
    pub(super) fn restate_conditions(
        &self,
        old: &Table,
        changed: &mut Table,
        column: ColumnId,
    ) -> Result<()> {
        let shape = Arc::new(changed.clone());
        for check in &mut changed.checks {
            let expr = self.restated(old, &check.expr);
            self.check_boolean(&shape, &expr, "CHECK", "check constraints")?;
            if check.expr.is_identified() && check.columns.contains(&column) {
                check.expr = self.stored(expr.sql(), Some(&shape), Some(&SqlType::Bool))?;
            }
        }
        for place in 0..changed.columns.len() {
            let key = &changed.columns[place];
            let Some(expr) = key.generated.as_ref().filter(|_| key.is_key_expr) else { continue };
            if columns_used(old, expr).contains(&column) {
                let expr = self.restated(old, expr);
                let (stored, ty) = self.index_key(&shape, expr.sql())?;
                changed.columns[place].generated = Some(stored);
                changed.columns[place].ty = ty;
            }
        }
        for index in &mut changed.indexes {
            let Some(predicate) = &index.predicate else { continue };
            if predicate.is_identified() && columns_used(old, predicate).contains(&column) {
                let expr = self.restated(old, predicate);
                let text = expr.sql();
                index.predicate =
                    Some(self.condition(&shape, text, "WHERE", "index predicates")?);
            }
        }
        Ok(())
    }

    /// 42804 unless an expression over a table's row is boolean.
    pub(super) fn check_boolean(
        &self,
        table: &Arc<Table>,
        expr: &StoredExpr,
        word: &str,
        clause: &'static str,
    ) -> Result<Bound> {
        let bound = self.bind(table, expr, None, clause)?;
        let ty = bound.ty();
        if matches!(ty, SqlType::Bool | SqlType::Unknown) {
            return Ok(bound);
        }
        let message =
            format!("argument of {word} must be type boolean, not type {}", ty.display_name());
        Err(Error::new(SqlState::DatatypeMismatch, message))
    }

    /// The expression of a generated column, checked: immutable, of the column's type, of no other
    /// generated column.
    pub(super) fn generated_expr(
        &self,
        table: &Arc<Table>,
        expr: &Expr,
        column: &str,
        ty: &SqlType,
    ) -> Result<StoredExpr> {
        let text = expr.to_string();
        for used in columns_used(table, &written(&text)) {
            let Some(found) = table.column(used) else { continue };
            if found.generated.is_some() || found.name == column {
                let message = format!(
                    "cannot use generated column \"{}\" in column generation expression",
                    found.name
                );
                return Err(Error::new(SqlState::InvalidObjectDefinition, message)
                    .detail("A generated column cannot reference another generated column."));
            }
        }
        let bound = self.bind(table, &written(&text), Some(ty), "column generation expressions")?;
        if !bound.is_immutable() {
            let message = "generation expression is not immutable";
            return Err(Error::new(SqlState::InvalidObjectDefinition, message));
        }
        self.stored(&text, Some(table), Some(ty))
    }

    /// An expression over a table's row.
    pub(super) fn bind(
        &self,
        table: &Arc<Table>,
        expr: &StoredExpr,
        ty: Option<&SqlType>,
        clause: &'static str,
    ) -> Result<Bound> {
        self.plan(|cx| bind_table_expr(cx, table, expr, ty, clause))
    }

    /// The value of an expression on a row.
    pub(super) fn value(&self, expr: &Bound, row: &[Datum]) -> Result<Datum> {
        let cx = EvalContext { env: &*self.exec.env, params: &[], outer: &[] };
        eval(expr, row, &cx)
    }

    /// A row with the keys that an index computes; `None` if the index leaves it out.
    pub(super) fn index_row<'r>(
        &self,
        exprs: &IndexExprs,
        row: &'r [Datum],
    ) -> Result<Option<Cow<'r, [Datum]>>> {
        exprs.row(row, &EvalContext { env: &*self.exec.env, params: &[], outer: &[] })
    }

    /// The value of a default, if it is the same for every row and needs no waiting.
    pub(super) fn constant_default(
        &self,
        expr: &StoredExpr,
        ty: &SqlType,
    ) -> Result<Option<Datum>> {
        let bound = self.plan(|cx| bind_default(cx, expr, ty))?;
        if bound.is_volatile() || bound.waits() {
            return Ok(None);
        }
        self.value(&bound, &[]).map(Some)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn renames_columns_and_nothing_else() {
        let text = "a > 0 AND \"a\" < a(b) AND c = 'a' AND aa = 1";
        let renamed = "\"New\" > 0 AND \"New\" < a(b) AND c = 'a' AND aa = 1";
        assert_eq!(rename_column(text, "a", "New"), renamed);
    }

    #[test]
    fn finds_sequences_in_defaults() {
        assert_eq!(sequences_used(&written("nextval(17::regclass) + 1")), [17]);
        assert!(sequences_used(&written("nextval('x')")).is_empty());
        assert_eq!(sequences_used(&nextval_of(18)), [18]);
    }
}

//! Expressions in descriptors: kept as text, checked here, bound by `plan`.

use std::sync::Arc;

use braid_builtins::{Environment, Lookup};
use braid_catalog::{CatalogLookup, ColumnId, Id, Relation, Table, names};
use braid_plan::eval::{EvalContext, eval};
use braid_plan::{Expr as Bound, bind_scalar, bind_table_expr};
use braid_sql::ast::Expr;
use braid_types::{Datum, Error, FormatSettings, Result, SqlState, SqlType};

use super::DdlContext;

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

/// The columns of a table that an expression names.
pub(super) fn columns_used(table: &Table, text: &str) -> Vec<ColumnId> {
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

/// The sequences that a default names by oid.
pub(super) fn sequences_used(text: &str) -> Vec<Id> {
    let after = text.split("nextval(").skip(1);
    let numbers = after.filter_map(|rest| {
        let digits = rest.find(|c: char| !c.is_ascii_digit())?;
        rest[..digits].parse().ok().filter(|_| rest[digits..].starts_with("::regclass"))
    });
    numbers.collect()
}

/// The text that takes the next value of a sequence, whatever it is called.
pub(super) fn nextval_text(sequence: Id) -> String {
    format!("nextval({sequence}::regclass)")
}

/// A literal name inside of `nextval('…')`, if that is all the expression is.
fn nextval_name(text: &str) -> Option<&str> {
    let lower = text.to_lowercase();
    let start = "nextval('".len();
    let inside = lower.starts_with("nextval('").then(|| &text[start..])?;
    let end = inside.find('\'')?;
    let rest = inside[end + 1..].to_lowercase();
    matches!(rest.as_str(), ")" | "::regclass)").then(|| &inside[..end])
}

impl DdlContext<'_> {
    /// The text of a DEFAULT, checked against the column's type. NULL is no default.
    pub(super) fn default_text(&self, expr: &Expr, ty: &SqlType) -> Result<Option<String>> {
        let mut text = expr.to_string();
        if text.eq_ignore_ascii_case("null") {
            return Ok(None);
        }
        if let Some(name) = nextval_name(&text)
            && let Ok(parts) = names::split_name(name)
            && let Some(Relation::Sequence(sequence)) =
                self.catalog().resolve(self.path(), &parts)?
        {
            text = nextval_text(sequence.id);
        }
        self.plan(|cx| bind_scalar(cx, &text, ty))?;
        Ok(Some(text))
    }

    /// The text of a CHECK, with the columns it names. 42804 unless it is boolean.
    pub(super) fn check_text(
        &self,
        table: &Arc<Table>,
        expr: &Expr,
    ) -> Result<(String, Vec<ColumnId>)> {
        let text = expr.to_string();
        self.check_boolean(table, &text, "CHECK", "check constraints")?;
        let columns = columns_used(table, &text);
        Ok((text, columns))
    }

    /// 42804 unless an expression over a table's row is boolean.
    pub(super) fn check_boolean(
        &self,
        table: &Arc<Table>,
        text: &str,
        word: &str,
        clause: &'static str,
    ) -> Result<Bound> {
        let bound = self.bind(table, text, None, clause)?;
        let ty = bound.ty();
        if matches!(ty, SqlType::Bool | SqlType::Unknown) {
            return Ok(bound);
        }
        let message =
            format!("argument of {word} must be type boolean, not type {}", ty.display_name());
        Err(Error::new(SqlState::DatatypeMismatch, message))
    }

    /// The text of a generated column, checked: immutable, of the column's type, of no other
    /// generated column.
    pub(super) fn generated_text(
        &self,
        table: &Arc<Table>,
        expr: &Expr,
        column: &str,
        ty: &SqlType,
    ) -> Result<String> {
        let text = expr.to_string();
        for used in columns_used(table, &text) {
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
        let bound = self.bind(table, &text, Some(ty), "column generation expressions")?;
        if !bound.is_immutable() {
            let message = "generation expression is not immutable";
            return Err(Error::new(SqlState::InvalidObjectDefinition, message));
        }
        Ok(text)
    }

    /// An expression over a table's row.
    pub(super) fn bind(
        &self,
        table: &Arc<Table>,
        text: &str,
        ty: Option<&SqlType>,
        clause: &'static str,
    ) -> Result<Bound> {
        self.plan(|cx| bind_table_expr(cx, table, text, ty, clause))
    }

    /// The value of an expression on a row.
    pub(super) fn value(&self, expr: &Bound, row: &[Datum]) -> Result<Datum> {
        let cx = EvalContext { env: &*self.exec.env, params: &[], outer: &[] };
        eval(expr, row, &cx)
    }

    /// The value of a default, if it is the same for every row and needs no waiting.
    pub(super) fn constant_default(&self, text: &str, ty: &SqlType) -> Result<Option<Datum>> {
        let bound = self.plan(|cx| bind_scalar(cx, text, ty))?;
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
        assert_eq!(sequences_used("nextval(17::regclass) + 1"), [17]);
        assert!(sequences_used("nextval('x')").is_empty());
        assert_eq!(nextval_name("NEXTVAL('s'::regclass)"), Some("s"));
    }
}

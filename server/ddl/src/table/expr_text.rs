//! The text of expressions: the columns and sequences that it names.

use braid_catalog::{ColumnId, ExtendedStatistics, Id, IdentifiedExpr, Index, StoredExpr, Table};

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
pub(crate) fn columns_used(table: &Table, expr: &StoredExpr) -> Vec<ColumnId> {
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
pub(crate) fn expr_reads(table: &Table, expr: Option<&StoredExpr>, column: ColumnId) -> bool {
    expr.is_some_and(|expr| columns_used(table, expr).contains(&column))
}

/// Whether an object of CREATE STATISTICS reads a column: by itself or in an expression.
pub(crate) fn statistics_read(
    table: &Table,
    object: &ExtendedStatistics,
    column: ColumnId,
) -> bool {
    let reads = |expr: &StoredExpr| expr_reads(table, Some(expr), column);
    object.columns.contains(&column) || object.exprs.iter().any(reads)
}

/// Whether an index reads a column: as a key, in an expression, in its predicate, or beside.
pub(crate) fn index_reads(table: &Table, index: &Index, column: ColumnId) -> bool {
    let key_reads = |id: ColumnId| match table.column(id) {
        Some(key) if key.is_key_expr => expr_reads(table, key.generated.as_ref(), column),
        _ => id == column,
    };
    index.keys.iter().any(|key| key_reads(key.column))
        || index.storing.contains(&column)
        || expr_reads(table, index.predicate.as_ref(), column)
}

/// The expression with a column's name changed.
pub(crate) fn rename_column(text: &str, from: &str, to: &str) -> String {
    rename_words(text, from, to, |words, at| !is_call(words, at) && !is_qualifier(words, at))
}

/// The expression with its table's name changed, where that stands before a column.
pub(crate) fn rename_table(text: &str, from: &str, to: &str) -> String {
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
        Word::Ident(_, name) if name == from && is_meant(&words, at) => braid_sql::quote_ident(to),
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

/// The expression that takes the next value of a sequence.
pub(crate) fn nextval_of(sequence: Id) -> StoredExpr {
    let sql = format!("nextval('{sequence}'::regclass)");
    let relations = vec![sequence];
    StoredExpr::Identified(IdentifiedExpr { sql, columns: Vec::new(), relations, is_cast: false })
}

pub(crate) fn written(text: &str) -> StoredExpr {
    StoredExpr::Written(text.to_owned())
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
        assert_eq!(written("nextval(17::regclass) + 1").sequences(), [17]);
        assert!(written("nextval('x')").sequences().is_empty());
        assert_eq!(nextval_of(18).sequences(), [18]);
    }
}

//! Reads a sqllogictest file.
//!
//! Traps of the format: comments may follow `skipif postgresql`; `halt` obeys `onlyif`; a query may
//! come without results; `hash-threshold` matters only to those who record, since a result says by
//! itself whether it is a hash.

use super::format::Sort;

/// One thing to do.
#[derive(Clone, Debug)]
pub struct Record {
    /// The line of its first word, from 1.
    pub line: usize,
    /// What to do.
    pub kind: RecordKind,
    /// The SQL to send.
    pub sql: String,
}

/// What is expected of a record.
#[derive(Clone, Debug)]
pub enum RecordKind {
    /// Success, with any result.
    StatementOk,
    /// Any error.
    StatementError,
    /// These values.
    Query {
        /// A letter a column: I, R or T.
        types: String,
        /// How the values are sorted before they are compared.
        sort: Sort,
        /// The values, one a line, or the line with their hash.
        expected: Vec<String>,
    },
}

/// The records of a file that are for a server with that label, up to a `halt`.
///
/// # Panics
/// On a line that is not of the format: the corpus is fixed, so that is a mistake here.
pub fn parse(text: &str, label: &str) -> Vec<Record> {
    let mut records = Vec::new();
    let mut lines = text.lines().enumerate().peekable();
    let mut skipped = false;
    while let Some((at, line)) = lines.next() {
        let words: Vec<&str> =
            line.split('#').next().unwrap_or_default().split_whitespace().collect();
        match words.as_slice() {
            [] | ["hash-threshold", ..] => continue,
            ["skipif", name] => {
                skipped |= *name == label;
                continue;
            }
            ["onlyif", name] => {
                skipped |= *name != label;
                continue;
            }
            ["halt"] if !skipped => break,
            ["halt"] => {}
            ["statement", outcome] => {
                let kind = match *outcome {
                    "ok" => RecordKind::StatementOk,
                    "error" => RecordKind::StatementError,
                    _ => panic!("line {}: {line}", at + 1),
                };
                let (sql, _) = body(&mut lines);
                if !skipped {
                    records.push(Record { line: at + 1, kind, sql });
                }
            }
            ["query", types, sort @ ..] => {
                let sort = match sort.first().copied() {
                    None | Some("nosort") => Sort::None,
                    Some("rowsort") => Sort::Rows,
                    Some("valuesort") => Sort::Values,
                    Some(_) => panic!("line {}: {line}", at + 1),
                };
                let (sql, expected) = body(&mut lines);
                if !skipped {
                    let kind = RecordKind::Query { types: (*types).to_owned(), sort, expected };
                    records.push(Record { line: at + 1, kind, sql });
                }
            }
            _ => panic!("line {}: {line}", at + 1),
        }
        skipped = false;
    }
    records
}

/// The SQL up to a blank line or `----`, and the lines after that up to a blank one.
fn body<'a>(lines: &mut impl Iterator<Item = (usize, &'a str)>) -> (String, Vec<String>) {
    let mut sql = String::new();
    let mut results = Vec::new();
    let mut in_results = false;
    for (_, line) in lines {
        if line.trim_end().is_empty() {
            break;
        }
        if in_results {
            results.push(line.to_owned());
        } else if line == "----" {
            in_results = true;
        } else {
            sql.push_str(line);
            sql.push('\n');
        }
    }
    (sql, results)
}

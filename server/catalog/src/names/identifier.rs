//! Names as PostgreSQL reads and prints them: quoting, splitting, and names it chooses itself.

use braid_sql::quote_ident;
use braid_types::{Error, Result, SqlState, SqlType};

/// The most bytes of a name.
pub(super) const NAME_BYTES_MAX: usize = 63;

/// `schema.name`, each part quoted where it has to be.
pub fn qualified(schema: &str, name: &str) -> String {
    format!("{}.{}", quote_ident(schema), quote_ident(name))
}

/// Whether `pg_catalog` has a type of that name. Without a schema the name always means that one,
/// so a type of users with the same name is shown with its schema.
pub(crate) fn names_built_in_type(name: &str) -> bool {
    SqlType::from_name(name).is_some_and(|ty| ty.short_name() == name)
}

/// Splits a dotted name as `regclass` reads it: folded to lower case unless quoted.
/// 42602 if it is not one.
pub fn split_name(text: &str) -> Result<Vec<String>> {
    let invalid = || Error::new(SqlState::InvalidName, "invalid name syntax");
    let mut parts = Vec::new();
    let mut rest = text.trim();
    loop {
        let (part, after) = if let Some(quoted) = rest.strip_prefix('"') {
            read_quoted(quoted).ok_or_else(invalid)?
        } else {
            let end = rest.find(['.', ' ']).unwrap_or(rest.len());
            if end == 0 || rest[..end].contains('"') {
                return Err(invalid());
            }
            (rest[..end].to_lowercase(), &rest[end..])
        };
        parts.push(part);
        match after.trim_start().strip_prefix('.') {
            Some(next) => rest = next.trim_start(),
            None if after.trim().is_empty() => return Ok(parts),
            None => return Err(invalid()),
        }
    }
}

/// Reads up to the closing quote; the part and what follows it.
fn read_quoted(text: &str) -> Option<(String, &str)> {
    let mut part = String::new();
    let mut chars = text.char_indices().peekable();
    while let Some((at, c)) = chars.next() {
        if c != '"' {
            part.push(c);
        } else if chars.peek().is_some_and(|(_, next)| *next == '"') {
            part.push('"');
            chars.next();
        } else if part.is_empty() {
            return None;
        } else {
            return Some((part, &text[at + 1..]));
        }
    }
    None
}

/// Cuts a name to the most bytes a name may have.
pub fn truncate_name(name: &str) -> &str {
    cut(name, NAME_BYTES_MAX)
}

/// The names that the columns of an index have: one that comes again gets a number.
pub fn index_labels<'a>(columns: impl Iterator<Item = &'a str>) -> Vec<String> {
    let mut labels: Vec<String> = Vec::new();
    for column in columns {
        let (mut label, mut number) = (column.to_owned(), 0);
        while labels.contains(&label) {
            number += 1;
            let digits = number.to_string();
            label = format!("{}{digits}", cut(column, NAME_BYTES_MAX - digits.len()));
        }
        labels.push(label);
    }
    labels
}

fn cut(text: &str, bytes: usize) -> &str {
    let mut end = bytes.min(text.len());
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    &text[..end]
}

/// `name1_name2_label`, shortened to fit like PostgreSQL's: the longer of the two names first.
pub fn make_object_name(name1: &str, name2: Option<&str>, label: &str) -> String {
    let overhead = label.len() + 1 + usize::from(name2.is_some());
    let available = NAME_BYTES_MAX.saturating_sub(overhead);
    let (mut first, mut second) = (name1.len(), name2.map_or(0, str::len));
    while first + second > available {
        if first > second { first -= 1 } else { second -= 1 }
    }
    match name2 {
        Some(name2) => format!("{}_{}_{label}", cut(name1, first), cut(name2, second)),
        None => format!("{}_{label}", cut(name1, first)),
    }
}

/// The first of `name1_name2_label`, `…label1`, `…label2` that is not taken.
pub fn choose_name(
    name1: &str,
    name2: Option<&str>,
    label: &str,
    taken: impl Fn(&str) -> bool,
) -> String {
    let mut name = make_object_name(name1, name2, label);
    let mut pass = 0;
    while taken(&name) {
        pass += 1;
        name = make_object_name(name1, name2, &format!("{label}{pass}"));
    }
    name
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quotes_only_where_needed() {
        assert_eq!(quote_ident("abc_1"), "abc_1");
        assert_eq!(quote_ident("Abc"), "\"Abc\"");
        assert_eq!(quote_ident("user"), "\"user\"");
        assert_eq!(quote_ident("a\"b"), "\"a\"\"b\"");
        assert_eq!(quote_ident(""), "\"\"");
    }

    #[test]
    fn splits_names() {
        assert_eq!(split_name("Public.T").expect("name"), ["public", "t"]);
        assert_eq!(split_name("\"A.b\".\"c\"\"d\"").expect("name"), ["A.b", "c\"d"]);
        assert!(split_name("a.").is_err());
        assert!(split_name("\"a").is_err());
        assert!(split_name("").is_err());
    }

    #[test]
    fn shortens_long_names_evenly() {
        let long = "x".repeat(63);
        let name = make_object_name(&long, Some("column"), "key");
        assert_eq!(name.len(), 63);
        assert!(name.ends_with("x_column_key"));
    }
}

//! Values as the corpus writes them, sorted and hashed as it says.

use md5::{Digest, Md5};

/// How values are sorted before they are compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sort {
    /// As they came.
    None,
    /// By rows, as lists of texts.
    Rows,
    /// One by one.
    Values,
}

/// A value in its column's form: `I` whole, `R` with three decimals, `T` printable.
pub(super) fn format(value: Option<&str>, kind: char) -> String {
    let Some(text) = value else { return "NULL".to_owned() };
    match kind {
        'I' => integer(text),
        'R' => match text.parse::<f64>() {
            Ok(number) => format!("{number:.3}"),
            Err(_) => text.to_owned(),
        },
        _ if text.is_empty() => "(empty)".to_owned(),
        _ => text.chars().map(|c| if (' '..='~').contains(&c) { c } else { '@' }).collect(),
    }
}

/// An integer column may come as a numeric: its whole part counts.
fn integer(text: &str) -> String {
    let whole = text.split('.').next().unwrap_or_default();
    match whole.parse::<i64>() {
        Ok(number) => number.to_string(),
        Err(_) => text.to_owned(),
    }
}

/// Sorts rows of values and lays them out one value after the other.
pub(super) fn sorted(mut rows: Vec<Vec<String>>, sort: Sort) -> Vec<String> {
    if sort == Sort::Rows {
        rows.sort();
    }
    let mut values: Vec<String> = rows.into_iter().flatten().collect();
    if sort == Sort::Values {
        values.sort();
    }
    values
}

/// Why the values are not the expected ones; `None` if they are.
pub(super) fn difference(values: &[String], expected: &[String]) -> Option<String> {
    if let [only] = expected
        && let Some((count, hash)) = only.split_once(" values hashing to ")
    {
        let mut digest = Md5::new();
        for value in values {
            digest.update(value.as_bytes());
            digest.update(b"\n");
        }
        let found: String = digest.finalize().iter().map(|byte| format!("{byte:02x}")).collect();
        if count == values.len().to_string() && hash.trim() == found {
            return None;
        }
        return Some(format!(
            "expected {only}, got {} values hashing to {found}: {}",
            values.len(),
            shown(values)
        ));
    }
    if values == expected {
        return None;
    }
    Some(format!("expected {}, got {}", shown(expected), shown(values)))
}

/// The first values, enough to see what went wrong.
fn shown(values: &[String]) -> String {
    let mut text = values.iter().take(12).map(String::as_str).collect::<Vec<_>>().join(" ");
    if values.len() > 12 {
        text.push_str(" …");
    }
    format!("[{text}]")
}

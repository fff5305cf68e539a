//! Every line of `tests/expressions/*.txt` is `expression`, a tab, and what PostgreSQL 15 answers:
//! `type|value` or `ERROR state: message`. The answers were taken from a real server.
//!
//! A line that starts with `!` names a known difference: it must differ, so that it is taken off
//! the list once it no longer does. The reasons stand in a comment above it.

#![allow(clippy::unwrap_used)]

use std::path::Path;

use crate::support::{TestEnvironment, answer};

#[test]
fn expressions_answer_as_postgresql_does() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/expressions");
    let env = TestEnvironment::default();
    let (mut wrong, mut lines) = (Vec::new(), 0);
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        for line in std::fs::read_to_string(&path).unwrap().lines() {
            let Some((expression, wanted)) = line.split_once('\t') else { continue };
            lines += 1;
            let (known, expression) = match expression.strip_prefix('!') {
                Some(rest) => (true, rest),
                None => (false, expression),
            };
            let got = answer(expression, &env);
            if (got == wanted) == known {
                let file = path.file_name().unwrap().to_string_lossy().into_owned();
                wrong.push(format!("{file}: {expression}\n  want {wanted}\n  got  {got}"));
            }
        }
    }
    assert!(lines > 500, "only {lines} lines were found");
    assert!(wrong.is_empty(), "{} of {lines} differ:\n{}", wrong.len(), wrong.join("\n"));
}

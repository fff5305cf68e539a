//! Texts of statements without their constants, and the numbers that such texts have.

use braid_sql::{Constants, NORMALIZED_BYTES_MAX, normalize};

fn all(text: &str) -> String {
    normalize(text, Constants::All).text
}

#[test]
fn constants_become_parameters() {
    for (text, wanted) in [
        ("SELECT 1", "SELECT $1"),
        ("SELECT  a+1 , 'x''y' FROM t  ", "SELECT  a+$1 , $2 FROM t"),
        ("SELECT -1, a -1, (-2.5e3)", "SELECT $1, a -$2, ($3)"),
        ("SELECT a FROM t WHERE b = $1 AND c = 5", "SELECT a FROM t WHERE b = $1 AND c = $2"),
        ("SELECT NULL, true, a IS NOT NULL", "SELECT $1, $2, a IS NOT NULL"),
        ("SELECT a IS NULL, b IS NOT TRUE", "SELECT a IS NULL, b IS NOT TRUE"),
        ("SELECT a::numeric(10, 2), 5", "SELECT a::numeric(10, 2), $1"),
        ("SELECT CAST(a AS varchar(7)) || 'z'", "SELECT CAST(a AS varchar(7)) || $1"),
        ("SELECT date '2024-01-01'", "SELECT date $1"),
        ("SELECT a FROM t ORDER BY 1, 2 LIMIT 3", "SELECT a FROM t ORDER BY 1, 2 LIMIT $1"),
        ("SELECT a FROM t ORDER BY a + 1", "SELECT a FROM t ORDER BY a + $1"),
        (
            "SELECT max(a) FROM t GROUP BY 1 HAVING 2 > 1",
            "SELECT max(a) FROM t GROUP BY 1 HAVING $1 > $2",
        ),
        ("SELECT 'ä', 'ö', \"ü\"", "SELECT $1, $2, \"ü\""),
        ("SELECT E'a\\'b', $$q$$, x'1f'", "SELECT $1, $2, $3"),
        ("INSERT INTO t VALUES (1, 'a')", "INSERT INTO t VALUES ($1, $2)"),
    ] {
        assert_eq!(all(text), wanted);
    }
}

#[test]
fn statements_that_differ_in_constants_have_one_number() {
    let id = |text: &str| normalize(text, Constants::All).id;
    assert_eq!(id("SELECT 1"), id("select   -5.5 /* a comment */"));
    assert_eq!(id("SELECT a FROM t WHERE b = $1"), id("SELECT a FROM T where B = 'x'"));
    assert_ne!(id("SELECT a FROM t"), id("SELECT b FROM t"));
    assert_ne!(id("SELECT ab"), id("SELECT a b"));
    assert_ne!(id("SELECT"), 0);
}

#[test]
fn commands_lose_their_strings_only() {
    let text = normalize("ALTER ROLE u PASSWORD 'secret' CONNECTION LIMIT 5", Constants::Strings);
    assert_eq!(text.text, "ALTER ROLE u PASSWORD $1 CONNECTION LIMIT 5");
}

#[test]
fn any_text_has_a_number() {
    for text in ["", "'", "$", "SELECT '", "(((", "ä'ö", "--", "/*", "\"\"", "1.", "$1a"] {
        assert_ne!(normalize(text, Constants::All).id, 0);
    }
    let long = "ä".repeat(NORMALIZED_BYTES_MAX);
    assert!(normalize(&long, Constants::All).text.len() <= NORMALIZED_BYTES_MAX);
}

//! Deep, long and hostile texts: an error or a result, never a crash. The tests' threads have
//! 2 MB of stack, in an unoptimized build.

use braid_sql::ast::{Expr, Statement};
use braid_sql::{deep_stack, limits, parse, parse_expr};
use proptest::prelude::*;

fn state(sql: &str) -> Option<&'static str> {
    parse(sql).err().map(|error| error.state().code())
}

#[test]
fn nesting_up_to_the_limit_and_beyond() {
    let shapes: [(&str, &str, &str); 9] = [
        ("(", "1", ")"),
        ("NOT ", "true", ""),
        ("- ", "a", ""),
        ("f(", "1", ")"),
        ("CASE WHEN ", "a", " THEN 1 END"),
        ("(SELECT ", "1", ")"),
        ("EXISTS (SELECT ", "1", ")"),
        ("ARRAY[", "1", "]"),
        ("CAST(", "1", " AS int)"),
    ];
    for (open, middle, close) in shapes {
        let sql = |n: usize| format!("SELECT {}{middle}{}", open.repeat(n), close.repeat(n));
        assert_eq!(state(&sql(200)), None, "{open}");
        assert_eq!(state(&sql(100_000)), Some("54001"), "{open}");
    }
    assert_eq!(state(&format!("SELECT {}", "(".repeat(400))), Some("42601"));
    let from =
        |n: usize| format!("SELECT * FROM {}t{}", "(SELECT * FROM ".repeat(n), ") x".repeat(n));
    assert_eq!(state(&from(200)), None);
    assert_eq!(state(&from(5_000)), Some("54001"));
    assert_eq!(state(&format!("SELECT * FROM t {}", "JOIN t ".repeat(5_000))), Some("54001"));
    assert_eq!(state(&format!("SELECT * FROM {}", "(".repeat(400))), Some("54001"));
}

#[test]
fn long_chains() {
    let chain = |term: &str, op: &str, n: usize| format!("SELECT {}", vec![term; n].join(op));
    assert_eq!(state(&chain("1", " + ", 10_000)), None);
    assert_eq!(state(&chain("1", " + ", 100_000)), Some("54001"));
    assert_eq!(state(&format!("SELECT 1{}", "::int".repeat(100_000))), Some("54001"));
    assert_eq!(state(&chain("a = 1", " AND ", 20_000)), None);
    assert_eq!(state(&format!("{} AND )", chain("a", " AND ", 90_000))), Some("42601"));
    assert_eq!(state(&chain("a", " AND ", 200_000)), Some("54001"));
    assert_eq!(state(&chain("1", " UNION ALL SELECT ", 1_000)), None);
    assert_eq!(state(&chain("1", " UNION ALL SELECT ", 10_000)), Some("54001"));
    let or = parse_expr(&vec!["a = 1"; 10_000].join(" OR ")).unwrap();
    let mut depth = 0;
    let mut at = &or;
    while let Expr::BinaryOp { left, .. } = at {
        depth += 1;
        at = left;
    }
    assert!(depth < 20, "the chain is a balanced tree, not {depth} deep");
    let copy = deep_stack(|| {
        let statements = parse(&chain("1", " + ", 9_000)).unwrap();
        statements.clone().len()
    });
    assert_eq!(copy, 1);
}

#[test]
fn balancing_keeps_the_order_of_terms() {
    let terms: Vec<String> = (0..777).map(|i| format!("a = {i}")).collect();
    let text = terms.join(" AND ");
    assert_eq!(parse_expr(&text).unwrap().to_string(), text);
}

#[test]
fn too_long_a_text() {
    let text = " ".repeat(limits::STATEMENT_BYTES_MAX + 1);
    assert_eq!(state(&text), Some("54000"));
}

#[test]
fn psqls_own_queries_parse() {
    let text = include_str!("psql_queries.sql");
    for query in text.split("\n\n").filter(|query| !query.trim().is_empty()) {
        let statements = parse(query).unwrap_or_else(|error| panic!("{error:?}: {query}"));
        assert!(matches!(statements[0].statement, Statement::Query(_)), "{query}");
    }
}

const WORDS: &[&str] = &[
    "SELECT",
    "FROM",
    "WHERE",
    "INSERT",
    "INTO",
    "VALUES",
    "UPDATE",
    "SET",
    "DELETE",
    "UPSERT",
    "RETURNING",
    "NOTHING",
    "CREATE",
    "TABLE",
    "INDEX",
    "FAMILY",
    "INTERLEAVE",
    "IN",
    "PARENT",
    "STORING",
    "ALTER",
    "DROP",
    "WITH",
    "AS",
    "(",
    ")",
    "[",
    "]",
    ",",
    ".",
    ";",
    "*",
    "+",
    "-",
    "=",
    "::",
    ":",
    "a",
    "b",
    "t",
    "\"q\"",
    "'s'",
    "E'\\n'",
    "$1",
    "1",
    "1.5",
    "NULL",
    "NOT",
    "AND",
    "OR",
    "BETWEEN",
    "LIKE",
    "IS",
    "CASE",
    "WHEN",
    "THEN",
    "ELSE",
    "END",
    "JOIN",
    "ON",
    "USING",
    "LATERAL",
    "UNION",
    "ALL",
    "ANY",
    "ARRAY",
    "ROW",
    "INTERVAL",
    "date",
    "int",
    "numeric",
    "CAST",
    "EXISTS",
    "DEFAULT",
    "PRIMARY",
    "KEY",
    "UNIQUE",
    "CHECK",
    "REFERENCES",
    "CONSTRAINT",
    "FOR",
    "NO",
    "SHARE",
    "OF",
    "ONLY",
    "CONFLICT",
    "DO",
    "GRANT",
    "TO",
    "COPY",
    "STDIN",
    "EXPLAIN",
    "ANALYZE",
    "FETCH",
    "trim",
    "leading",
    "extract",
    "substring",
    "over",
    "partition",
    "by",
    "order",
    "group",
    "é",
];

proptest! {
    #[test]
    fn any_text_is_parsed_or_refused(text in ".{0,60}") {
        let _ = parse(&text);
    }

    #[test]
    fn any_words_are_parsed_or_refused(
        words in prop::collection::vec(prop::sample::select(WORDS), 0..30)
    ) {
        let text = words.join(" ");
        match parse(&text) {
            Ok(statements) => {
                for statement in statements {
                    prop_assert!(text.get(statement.text).is_some());
                }
            }
            Err(error) => prop_assert!(error.state().code() != "XX000", "{error:?}"),
        }
    }

    #[test]
    fn a_query_shown_as_text_parses_to_the_same_tree(
        words in prop::collection::vec(prop::sample::select(WORDS), 1..12)
    ) {
        let text = format!("SELECT {}", words.join(" "));
        if let Ok(query) = braid_sql::parse_query(&text) {
            let shown = query.to_string();
            if let Ok(again) = braid_sql::parse_query(&shown) {
                prop_assert_eq!(again.to_string(), shown);
            }
        }
    }
}

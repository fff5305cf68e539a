//! Errors about the text: SQLSTATE, message and position as PostgreSQL 15 gives them.

use braid_sql::parse;

/// Text, SQLSTATE, message, position.
type Case = (&'static str, &'static str, &'static str, u32);

const CASES: &[Case] = &[
    ("SELEC 1", "42601", "syntax error at or near \"SELEC\"", 1),
    ("SELECT * FORM t", "42601", "syntax error at or near \"FORM\"", 10),
    ("SELECT * FROM t WHERE", "42601", "syntax error at end of input", 22),
    ("SELECT 'é', x x x", "42601", "syntax error at or near \"x\"", 17),
    ("SELECT 1; SELECT (1", "42601", "syntax error at end of input", 20),
    ("SELECT 1)", "42601", "syntax error at or near \")\"", 9),
    ("SELECT a FROM t WHERE AND b", "42601", "syntax error at or near \"AND\"", 23),
    ("CREATE TABLE select (a int)", "42601", "syntax error at or near \"select\"", 14),
    ("CREATE TABLE x (a int,)", "42601", "syntax error at or near \")\"", 23),
    ("INSERT INTO t (a) VALUES (1,", "42601", "syntax error at end of input", 29),
    ("UPDATE t SET", "42601", "syntax error at end of input", 13),
    ("DROP TABLE", "42601", "syntax error at end of input", 11),
    ("SELECT 'abc", "42601", "unterminated quoted string at or near \"'abc\"", 8),
    ("SELECT \"abc", "42601", "unterminated quoted identifier at or near \"\"abc\"", 8),
    ("SELECT \"\"", "42601", "zero-length delimited identifier at or near \"\"\"\"", 8),
    ("SELECT /* x", "42601", "unterminated /* comment at or near \"/* x\"", 8),
    ("SELECT $a$b", "42601", "unterminated dollar-quoted string at or near \"$a$b\"", 8),
    ("SELECT 123abc", "42601", "trailing junk after numeric literal at or near \"123abc\"", 8),
    ("SELECT $1a", "42601", "trailing junk after parameter at or near \"$1a\"", 8),
    ("SELECT E'\\xff'", "22021", "invalid byte sequence for encoding \"UTF8\": 0xff", 8),
    ("SELECT E'\\u00'", "22025", "invalid Unicode escape", 8),
    ("SELECT $0", "42P02", "there is no parameter $0", 8),
    ("SELECT $99999999999", "42P02", "there is no parameter $99999999999", 8),
    ("MERGE INTO t USING u ON true", "42601", "syntax error at end of input", 29),
    ("SELECT * FROM t AS OF SYSTEM TIME '-1s'", "0A000", "AS OF SYSTEM TIME is not supported", 23),
    ("COPY t FROM PROGRAM 'x'", "0A000", "COPY with a program is not supported", 13),
    ("EXPLAIN (FOO) SELECT 1", "42601", "unrecognized EXPLAIN option \"foo\"", 10),
    ("EXPLAIN BEGIN", "42601", "syntax error at or near \"BEGIN\"", 9),
    ("SET a b", "42601", "syntax error at or near \"b\"", 7),
];

#[test]
fn messages_and_positions() {
    for (sql, state, message, position) in CASES {
        let error = parse(sql).expect_err(sql);
        let got = (error.state().code(), error.message(), error.fields().position);
        assert_eq!(got, (*state, *message, Some(*position)), "{sql}");
    }
}

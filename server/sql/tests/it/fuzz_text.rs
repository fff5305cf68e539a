//! Fuzz target: SQL text.
//!
//! Bounded under `cargo test`. For longer, with no other tool:
//! `BOLERO_RANDOM_TEST_TIME_MS=600000
//! cargo test --release -p braid-sql --test it -- fuzz_text::`.
//! What was found stays here as a test of its own.

use braid_sql::{parse, parse_data_type, parse_expr, parse_query, quote_ident};

/// Pieces that random bytes choose from, so that most inputs get past the first word.
const PIECES: &[&str] = &[
    "SELECT",
    "FROM",
    "WHERE",
    "t",
    "a",
    "b.c",
    "*",
    ",",
    "(",
    ")",
    "[",
    "]",
    "1",
    "2.5e3",
    "'x'",
    "E'\\n'",
    "$1",
    "$$q$$",
    "\"Q\"",
    "::",
    "int",
    "text[]",
    "numeric(10,2)",
    "=",
    "<",
    ">=",
    "<>",
    "+",
    "-",
    "/",
    "||",
    "->>",
    "@>",
    "~*",
    "AND",
    "OR",
    "NOT",
    "IS NULL",
    "IN",
    "BETWEEN",
    "LIKE",
    "CASE WHEN",
    "THEN",
    "ELSE",
    "END",
    "EXISTS",
    "ANY",
    "ALL",
    "ARRAY",
    "ROW",
    "CAST",
    "AS",
    "JOIN",
    "LEFT JOIN",
    "CROSS JOIN",
    "LATERAL",
    "ON",
    "USING",
    "GROUP BY",
    "HAVING",
    "ORDER BY",
    "ASC NULLS FIRST",
    "DESC",
    "LIMIT",
    "OFFSET",
    "UNION ALL",
    "INTERSECT",
    "EXCEPT",
    "VALUES",
    "WITH",
    "RECURSIVE",
    "DISTINCT ON",
    "FILTER",
    "OVER",
    "PARTITION BY",
    "INSERT INTO",
    "UPSERT",
    "UPDATE",
    "SET",
    "DELETE FROM",
    "RETURNING",
    "NOTHING",
    "ON CONFLICT",
    "DO NOTHING",
    "DO UPDATE",
    "DEFAULT",
    "FOR UPDATE",
    "SKIP LOCKED",
    "NOWAIT",
    "CREATE TABLE",
    "IF NOT EXISTS",
    "PRIMARY KEY",
    "UNIQUE",
    "REFERENCES",
    "CHECK",
    "NOT NULL",
    "GENERATED ALWAYS AS",
    "STORED",
    "IDENTITY",
    "INTERLEAVE IN PARENT",
    "STORING",
    "FAMILY f",
    "INDEX i",
    "CREATE INDEX",
    "CREATE VIEW",
    "ALTER TABLE",
    "ADD COLUMN",
    "DROP",
    "TRUNCATE",
    "BEGIN",
    "COMMIT",
    "SAVEPOINT",
    "ROLLBACK TO",
    "PREPARE",
    "EXECUTE",
    "DECLARE",
    "CURSOR FOR",
    "FETCH",
    "COPY",
    "FROM STDIN",
    "EXPLAIN",
    "ANALYZE",
    "SHOW",
    "SET LOCAL",
    "GRANT",
    "TO",
    "COMMENT ON",
    "INTERVAL '1 day'",
    "AT TIME ZONE",
    "EXTRACT",
    "count(*)",
    ";",
    "--",
    "\n",
    "/*",
    "*/",
    "'",
    "\"",
    "$x$",
    "\\",
    ".",
    "é",
    "\u{0}",
    ":",
    "{",
    "?",
    "#",
    "U&'\\0061'",
    "x'1f'",
    "B'01'",
];

/// What must hold of any text.
fn check_text(text: &str) {
    let statements = match parse(text) {
        Ok(statements) => statements,
        Err(error) => {
            if let Some(position) = error.fields().position {
                let characters = text.chars().count() as u32;
                assert!((1..=characters + 1).contains(&position), "{position} in {text:?}");
            }
            return;
        }
    };
    let mut end = 0;
    for statement in &statements {
        assert!(statement.text.start >= end, "statements follow one another in {text:?}");
        end = statement.text.end;
        let alone = text.get(statement.text.clone()).expect("a range of the text");
        let again = parse(alone).unwrap_or_else(|error| panic!("{alone:?} alone: {error:?}"));
        assert_eq!(again.len(), 1, "{alone:?} is one statement");
        assert_eq!(again[0].parameters, statement.parameters, "{alone:?}");
    }
}

fn check_fragment(text: &str) {
    let _ = parse_expr(text);
    let _ = parse_query(text);
    let _ = parse_data_type(text);
    let quoted = quote_ident(text);
    assert!(quoted.starts_with('"') || quoted == text, "{text:?}");
}

fn soup(bytes: &[u8]) -> String {
    let mut text = String::new();
    for byte in bytes {
        text.push_str(PIECES[usize::from(*byte) % PIECES.len()]);
        // Mostly words apart, sometimes run together.
        if byte % 16 != 0 {
            text.push(' ');
        }
    }
    text
}

#[test]
fn any_bytes() {
    bolero::check!().for_each(|bytes: &[u8]| {
        let text = String::from_utf8_lossy(bytes);
        check_text(&text);
        check_fragment(&text);
    });
}

#[test]
fn pieces_of_sql() {
    bolero::check!().for_each(|bytes: &[u8]| {
        let text = soup(bytes);
        check_text(&text);
        check_fragment(&text);
    });
}

/// Real statements with a piece cut out, doubled, or replaced.
#[test]
fn damaged_statements() {
    let seeds: Vec<&str> = include_str!("psql_queries.sql")
        .split_inclusive(';')
        .chain(SEEDS.iter().copied())
        .collect();
    bolero::check!().for_each(|bytes: &[u8]| {
        let [which, from, len, ref pieces @ ..] = *bytes else { return };
        let seed = seeds[usize::from(which) % seeds.len()];
        let cut = |place: usize| seed.floor_char_boundary(place * seed.len() / 256);
        let (start, end) = (cut(usize::from(from)), cut(usize::from(from) + usize::from(len) / 8));
        let text = format!("{} {} {}", &seed[..start], soup(pieces), &seed[end.max(start)..]);
        check_text(&text);
    });
}

const SEEDS: &[&str] = &[
    "CREATE TABLE t (id int GENERATED ALWAYS AS IDENTITY, a text DEFAULT 'x' CHECK (a <> ''), \
     b int REFERENCES p (id), PRIMARY KEY (id, a DESC), INDEX i (b) STORING (a), \
     FAMILY f (id, a), FAMILY g (b)) INTERLEAVE IN PARENT p (id)",
    "INSERT INTO t (a, b) VALUES (1, DEFAULT), ($1, $2) ON CONFLICT (a) DO UPDATE SET b = \
     excluded.b WHERE t.b < 3 RETURNING *",
    "UPSERT INTO t SELECT * FROM s RETURNING NOTHING",
    "WITH RECURSIVE r (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM r WHERE n < 9) SELECT DISTINCT \
     ON (n) n, sum(n) FILTER (WHERE n > 1) OVER (PARTITION BY n ORDER BY n DESC) FROM r LEFT JOIN \
     LATERAL (SELECT 1) x ON true ORDER BY 1 NULLS FIRST LIMIT 3 OFFSET 1 FOR UPDATE SKIP LOCKED",
    "UPDATE t SET (a, b) = (1, 2), c = DEFAULT FROM s WHERE t.id = ANY ($1::int[]) AND s.x IS NOT \
     DISTINCT FROM 'y'",
    "SELECT CASE a WHEN 1 THEN 'x' ELSE b::text END, EXTRACT(epoch FROM now()), ARRAY[[1,2],[3,4]], \
     a -> 'b' ->> 'c', x BETWEEN 1 AND 2 OR NOT y LIKE 'z%' ESCAPE '!' FROM t",
];

//! Bodies that are right, and bodies of which something is missing.

use braid_routines::plpgsql::{Kind, ResultKind, parse};
use braid_types::SqlState;

const BODY: &str = r#"
<<outer>>
DECLARE
    a int := 1; -- a comment
    b CONSTANT text NOT NULL DEFAULT 'it''s' || E'\n' || $q$x$q$;
    r record; t shop.line%ROWTYPE; c t.x%TYPE; d a%TYPE; e ALIAS FOR $1;
BEGIN
    /* a /* nested */ comment */
    IF a > 1 THEN a := a + 1; ELSIF a = 0 THEN NULL;
    ELSE a := CASE WHEN b = '' THEN 1 ELSE 2 END; END IF;
    CASE a WHEN 1, 2 THEN NULL; ELSE RAISE NOTICE 'a % %%', a; END CASE;
    FOR i IN REVERSE 10..1 BY 2 LOOP CONTINUE WHEN i = 3; EXIT outer; END LOOP;
    FOR r IN SELECT * FROM x WHERE y = a LOOP PERFORM f(r.z); END LOOP;
    FOR r IN EXECUTE 'SELECT $1' USING a, e LOOP NULL; END LOOP;
    FOREACH a IN ARRAY ARRAY[1, 2] LOOP NULL; END LOOP;
    WHILE a < 3 LOOP a := a + 1; END LOOP;
    SELECT x, y INTO STRICT a, r.f FROM z WHERE w IN (SELECT v INTO_x FROM u);
    INSERT INTO z VALUES (1) RETURNING x INTO a;
    EXECUTE 'SELECT 1' INTO a USING b;
    GET DIAGNOSTICS a = ROW_COUNT;
    RAISE division_by_zero USING MESSAGE = 'm', HINT = b;
    RETURN a;
EXCEPTION
    WHEN unique_violation OR SQLSTATE '22012' THEN GET STACKED DIAGNOSTICS b = MESSAGE_TEXT;
    WHEN OTHERS THEN RAISE;
END outer;
"#;

fn parsed(text: &str) -> braid_types::Result<braid_routines::plpgsql::Body> {
    parse(
        text,
        Some("f"),
        &[Some("p".to_owned())],
        ResultKind { is_function: true, ..ResultKind::default() },
    )
}

#[test]
fn a_body_of_every_statement_is_read() {
    // A constant is no target.
    let error = parsed(BODY).expect_err("b is a constant");
    assert_eq!(error.state(), SqlState::ErrorInAssignment);
    let body = parsed(&BODY.replace("CONSTANT ", "")).expect("it is right");
    assert_eq!(body.block.declarations.len(), 6);
    assert_eq!(body.block.body.len(), 13);
    assert!(matches!(body.block.body[12].kind, Kind::Return(Some(_))));
    assert_eq!(body.block.body[0].line, 9);
}

#[test]
fn a_body_that_lacks_something_is_an_error_and_never_a_panic() {
    let body = BODY.replace("CONSTANT ", "").replace("''", "é");
    let ends = body.char_indices().map(|(at, _)| at);
    for end in ends {
        let _ = parsed(&body[..end]);
        let _ = parsed(&body[end..]);
    }
    let words: Vec<&str> = body.split_whitespace().collect();
    for left_out in 0..words.len() {
        let kept: Vec<&str> =
            words.iter().enumerate().filter(|(at, _)| *at != left_out).map(|(_, w)| *w).collect();
        let _ = parsed(&kept.join(" "));
    }
}

#[test]
fn nesting_has_a_limit() {
    let deep = |levels: usize| {
        let (open, close) = ("IF true THEN ".repeat(levels), "END IF; ".repeat(levels));
        parsed(&format!("BEGIN {open} NULL; {close} RETURN 1; END"))
    };
    assert!(deep(100).is_ok());
    let error = deep(10_000).expect_err("it is too deep");
    assert_eq!(error.state(), SqlState::StatementTooComplex);
}

#[test]
fn a_long_body_is_read_in_time_that_grows_with_it() {
    let body = format!("BEGIN\n{} RETURN 1;\nEND", "NULL;\n".repeat(100_000));
    let body = parsed(&body).expect("it is right");
    assert_eq!(body.block.body.last().map(|last| last.line), Some(100_002));
}

//! Where the dialect differs from sqlparser's: each trap parses into its own node.

use braid_sql::ast::{
    ColumnConstraintKind, ConflictAction, ConflictTarget, CteBody, Expr, InsertSource,
    InterleaveKind, LockStrength, ReferenceAction, Returning, SelectItem, SetExpr, Statement,
    TableConstraintKind, Value,
};
use braid_sql::{fold, parse, parse_expr, parse_query, row_locks};

fn one(sql: &str) -> Statement {
    let mut statements = parse(sql).unwrap_or_else(|error| panic!("{sql}: {error:?}"));
    assert_eq!(statements.len(), 1, "{sql}");
    statements.remove(0).statement
}

fn insert(sql: &str) -> braid_sql::ast::Insert {
    match one(sql) {
        Statement::Insert(insert) => *insert,
        other => panic!("{sql}: {other:?}"),
    }
}

fn table(sql: &str) -> braid_sql::ast::CreateTable {
    match one(sql) {
        Statement::CreateTable(table) => *table,
        other => panic!("{sql}: {other:?}"),
    }
}

#[test]
fn returning_nothing_is_only_the_bare_word_alone() {
    assert_eq!(insert("INSERT INTO t VALUES (1) RETURNING NOTHING").returning, Returning::Nothing);
    assert_eq!(insert("INSERT INTO t VALUES (1)").returning, Returning::None);
    let quoted = insert("INSERT INTO t VALUES (1) RETURNING \"nothing\"").returning;
    let [SelectItem::UnnamedExpr(Expr::Identifier(name))] = quoted.items() else {
        panic!("{quoted:?}");
    };
    assert_eq!(fold(name), "nothing");
    for bad in ["nothing, x", "nothing + 1", "nothing AS x", "nothing.x"] {
        assert!(parse(&format!("DELETE FROM t RETURNING {bad}")).is_err(), "{bad}");
    }
    assert!(matches!(one("UPDATE t SET a = 1 RETURNING nothing"),
        Statement::Update(update) if update.returning == Returning::Nothing));
    assert!(matches!(one("DELETE FROM t x USING u RETURNING NOTHING;"),
        Statement::Delete(delete) if delete.returning == Returning::Nothing));
}

#[test]
fn upsert_and_on_conflict() {
    let upsert = insert("UPSERT INTO s.t (a, b) VALUES (1, DEFAULT), ($1, $2)");
    assert!(upsert.upsert && upsert.columns.len() == 2);
    let InsertSource::Query(query) = &upsert.source else { panic!("no query") };
    let SetExpr::Values(values) = query.body.as_ref() else { panic!("no values") };
    assert!(braid_sql::is_default(&values.rows[0].content[1]));
    let conflict = insert(
        "INSERT INTO t AS x VALUES (1) ON CONFLICT (a, lower(b)) WHERE c > 0 \
         DO UPDATE SET (a, b) = (1, DEFAULT), c = excluded.c WHERE x.a > 1 RETURNING a",
    )
    .on_conflict;
    let conflict = conflict.expect("the clause");
    assert!(matches!(&conflict.target,
        ConflictTarget::Columns { keys, predicate: Some(_) } if keys.len() == 2));
    assert!(matches!(&conflict.action,
        ConflictAction::Update { assignments, selection: Some(_) } if assignments.len() == 2));
    assert!(parse("UPSERT INTO t VALUES (1) ON CONFLICT DO NOTHING").is_err());
    assert_eq!(insert("INSERT INTO t DEFAULT VALUES").source, InsertSource::DefaultValues);
}

#[test]
fn families_and_indexes_inside_create_table() {
    let table = table(
        "CREATE TABLE t (a INT PRIMARY KEY, b STRING, FAMILY f (a, b), FAMILY (b), \
         INDEX i (b DESC) STORING (a), UNIQUE INDEX u (b), INDEX (a), \
         PRIMARY KEY (a ASC, b DESC)) INTERLEAVE IN PARENT p (a) ON DELETE CASCADE",
    );
    assert_eq!(table.columns.len(), 2);
    assert_eq!(table.families.len(), 2);
    assert_eq!(table.indexes.len(), 3);
    assert!(table.indexes[1].unique);
    assert_eq!(table.indexes[0].keys[0].descending, Some(true));
    assert_eq!(table.indexes[0].storing.len(), 1);
    let TableConstraintKind::PrimaryKey { columns, .. } = &table.constraints[0].kind else {
        panic!("{:?}", table.constraints);
    };
    assert_eq!(columns.iter().map(|c| c.descending).collect::<Vec<_>>(), [false, true]);
    let interleave = table.interleave.expect("the clause");
    assert_eq!(interleave.kind, InterleaveKind::InParent);
    assert_eq!(interleave.on_delete, Some(ReferenceAction::Cascade));
}

#[test]
fn columns_may_be_named_like_our_words() {
    let table = table(
        "CREATE TABLE t (family varchar(10), index int, storing text, interleave date, \
         upsert int, parent numeric(10, 2)) INTERLEAVE IN parent (family)",
    );
    assert_eq!(table.columns.len(), 6);
    assert!(table.families.is_empty() && table.indexes.is_empty());
    assert_eq!(table.interleave.expect("the clause").kind, InterleaveKind::In);
}

#[test]
fn a_default_ends_before_not_null() {
    let table = table(
        "CREATE TABLE t (a int DEFAULT 1 NOT NULL, b bool DEFAULT (x IS NOT NULL) NOT NULL, \
         c int CREATE IF NOT EXISTS FAMILY f, d int FAMILY f NOT NULL)",
    );
    for column in &table.columns[..2] {
        let [first, second] = &column.constraints[..] else { panic!("{column:?}") };
        assert!(matches!(first.kind, ColumnConstraintKind::Default(_)));
        assert_eq!(second.kind, ColumnConstraintKind::NotNull);
    }
    assert!(matches!(
        &table.columns[2].constraints[0].kind,
        ColumnConstraintKind::Family { name: Some(_), create: true, if_not_exists: true }
    ));
}

#[test]
fn row_locks_of_every_strength_survive_nesting() {
    let locks = |sql: &str| row_locks(&parse_query(sql).unwrap());
    let all = locks("SELECT 1 FROM t, u, v FOR NO KEY UPDATE OF t, u NOWAIT FOR KEY SHARE OF v");
    assert_eq!(all[0].strength, LockStrength::NoKeyUpdate);
    assert_eq!(all[0].of.iter().map(fold).collect::<Vec<_>>(), ["t", "u"]);
    assert!(all[0].wait.is_some() && all[1].wait.is_none());
    assert_eq!(all[1].strength, LockStrength::KeyShare);
    assert_eq!(locks("SELECT 1 FOR UPDATE")[0].strength, LockStrength::Update);
    assert!(locks("SELECT 1 FOR KEY SHARE")[0].of.is_empty());
    assert_eq!(locks("SELECT 1 FOR SHARE OF a LIMIT 1")[0].strength, LockStrength::Share);
    let nested = parse_query("SELECT * FROM (SELECT 1 FROM t FOR KEY SHARE) x").unwrap();
    assert!(row_locks(&nested).is_empty());
    assert!(parse("SELECT 1 FROM s.t FOR UPDATE OF s.t").is_err());
}

#[test]
fn with_lists_may_change_rows() {
    let Statement::QueryWithChanges { with, query } =
        one("WITH d AS (DELETE FROM t RETURNING *), u AS (UPSERT INTO x SELECT * FROM d \
         RETURNING NOTHING), q AS (SELECT 1) SELECT * FROM d")
    else {
        panic!("no changes");
    };
    assert!(query.with.is_none());
    let kinds: Vec<_> =
        with.ctes.iter().map(|cte| matches!(cte.body, CteBody::Statement(_))).collect();
    assert_eq!(kinds, [true, true, false]);
    assert!(matches!(one("WITH a AS (SELECT 1) SELECT * FROM a"),
        Statement::Query(query) if query.with.is_some()));
    assert!(insert("WITH a AS (SELECT 1) INSERT INTO t SELECT * FROM a").with.is_some());
}

#[test]
fn table_t_and_other_short_forms() {
    for sql in [
        "TABLE t",
        "(TABLE t) ORDER BY 1",
        "INSERT INTO t TABLE u",
        "TABLE a UNION TABLE b",
        "WITH x AS (TABLE t) TABLE x",
        "SELECT * FROM ONLY t",
        "CREATE VIEW v AS TABLE t",
    ] {
        one(sql);
    }
    assert!(matches!(one("SELECT 1 FROM t FOR UPDATE LIMIT 1"),
        Statement::Query(query) if query.limit_clause.is_some()));
}

#[test]
fn signs_bind_as_in_postgresql() {
    assert_eq!(parse_expr("-2 ^ 2").unwrap().to_string(), "-2 ^ 2");
    assert_eq!(parse_expr("- - 3").unwrap().to_string(), "3");
    assert!(matches!(parse_expr("-9223372036854775808").unwrap(),
        Expr::Value(value) if value.value == Value::Number("-9223372036854775808".into(), false)));
    assert!(matches!(parse_expr("-2::text").unwrap(), Expr::UnaryOp { .. }));
    assert!(matches!(parse_expr("- a ^ b").unwrap(), Expr::BinaryOp { .. }));
}

#[test]
fn strings_and_names_by_postgresqls_rules() {
    let text = |sql: &str| match parse_expr(sql) {
        Ok(Expr::Value(value)) => match value.value {
            Value::SingleQuotedString(text) => text,
            other => panic!("{sql}: {other:?}"),
        },
        other => panic!("{sql}: {other:?}"),
    };
    assert_eq!(text("'it''s'"), "it's");
    assert_eq!(text("'a' \n -- comment\n 'b'"), "ab");
    assert_eq!(text(r"E'a\n\x41\101\u0042\'''\\'"), "a\nAAB''\\");
    assert_eq!(text(r"E'\uD83D\uDE00\xc3\xa9'"), "😀é");
    assert_eq!(text(r"U&'d\0061t\+000061'"), "data");
    assert_eq!(text(r"U&'d!0061!!' UESCAPE '!'"), "da!");
    assert_eq!(text("$$it's$$"), "it's");
    assert_eq!(text("$a$ $b$ $a$"), " $b$ ");
    assert_eq!(text(r"'\n'"), r"\n");
    let names = |sql: &str| match parse_expr(sql).unwrap() {
        Expr::Identifier(name) => fold(&name),
        other => panic!("{other:?}"),
    };
    assert_eq!(names("FooÄ$1"), "fooÄ$1");
    assert_eq!(names("\"Foo\"\"Bar\""), "Foo\"Bar");
    assert_eq!(names(&"é".repeat(40)).len(), 62);
}

#[test]
fn places_and_parameters() {
    let sql = " /* x */ SELECT 'é', $3 ;; -- end\n SELECT $1 ; ";
    let statements = parse(sql).unwrap();
    let texts: Vec<_> = statements.iter().map(|s| &sql[s.text.clone()]).collect();
    assert_eq!(texts, ["SELECT 'é', $3", "SELECT $1"]);
    assert_eq!(statements.iter().map(|s| s.parameters).collect::<Vec<_>>(), [3, 1]);
    assert!(parse(" ; -- nothing\n ; /* at all */ ").unwrap().is_empty());
    let Statement::CreateView(view) = one("CREATE VIEW v AS  SELECT 'é'  WITH CHECK OPTION")
    else {
        panic!("no view");
    };
    assert_eq!(&"CREATE VIEW v AS  SELECT 'é'  WITH CHECK OPTION"[view.query_text], "SELECT 'é'");
}

#[test]
fn names_are_quoted_where_they_must_be() {
    for (name, quoted) in [
        ("a_1", "a_1"),
        ("A", "\"A\""),
        ("select", "\"select\""),
        ("a\"b", "\"a\"\"b\""),
        ("1a", "\"1a\""),
    ] {
        assert_eq!(braid_sql::quote_ident(name), quoted);
        assert_eq!(
            parse_expr(quoted).unwrap().to_string().trim_matches('"'),
            quoted.trim_matches('"')
        );
    }
}

#[test]
fn a_parenthesis_may_open_a_query_where_an_expression_is_expected() {
    for (text, is_query) in [
        ("((select 1) union (select 1))", true),
        ("(((select 1)) except select 2 order by 1)", true),
        ("((select 1) + 1)", false),
        ("((select 1), (select 2))", false),
    ] {
        let expr = parse_expr(text).unwrap_or_else(|error| panic!("{text}: {error:?}"));
        assert_eq!(matches!(expr, Expr::Subquery(_)), is_query, "{text}: {expr:?}");
    }
    for text in [
        "1 = ANY ((select 1) union (select 2))",
        "1 <> ALL (((select 1)) union all (select 2))",
        "1 IN ((select 1) union (select 2))",
        "(((select 1) union (select 1)) + 1)",
        "exists ((select 1) union (select 2))",
        "array((select 1) union (select 2))",
    ] {
        parse_expr(text).unwrap_or_else(|error| panic!("{text}: {error:?}"));
    }
    parse_query("((select 1) union (select 2)) limit 1").expect("a query");
}

#[test]
fn postfix_null_tests() {
    for (text, shown) in [
        ("x isnull", "x IS NULL"),
        ("x + 1 isnull", "x + 1 IS NULL"),
        ("x = 1 isnull", "x = 1 IS NULL"),
        ("not x isnull", "NOT x IS NULL"),
        ("x notnull", "x NOTNULL"),
        ("x isnull and y notnull", "x IS NULL AND y NOTNULL"),
    ] {
        let expr = parse_expr(text).unwrap_or_else(|error| panic!("{text}: {error:?}"));
        assert!(
            [shown, &shown.replace("NOTNULL", "IS NOT NULL")].contains(&expr.to_string().as_str()),
            "{expr}"
        );
    }
}

#[test]
fn fetch_first_takes_an_expression() {
    for text in [
        "select 1 offset (1 - 1) rows fetch next (1 + 1) rows only",
        "select 1 fetch first (select 2) row only",
        "select 1 fetch first (1) rows only offset 0",
        "select 1 from t fetch first (1) rows only for update",
        "select 1 fetch first 3 rows only",
        "select 1 fetch first (1) rows with ties",
        "select",
        "select from t",
        "select where true",
    ] {
        parse_query(text).unwrap_or_else(|error| panic!("{text}: {error:?}"));
        parse(&format!("{text};")).unwrap_or_else(|error| panic!("{text}: {error:?}"));
    }
}

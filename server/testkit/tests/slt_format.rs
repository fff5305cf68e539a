//! The traps of the sqllogictest format.

use braid_testkit::slt::{Exceptions, Figures, RecordKind, parse};

const FILE: &str = "\
hash-threshold 8

# a comment
statement ok
CREATE TABLE t (a int)

skipif postgresql # does not know this
statement ok
REPLACE INTO t VALUES (1)

onlyif sqlite
halt

onlyif mysql # spoken elsewhere
query I rowsort label-1
SELECT 1
----
1

skipif mssql
skipif sqlite
query IT valuesort
SELECT a,
  b FROM t
----
1
x y

statement error
SELECT nothing

query I nosort
SELECT 2

onlyif postgresql
halt

statement ok
never
";

#[test]
fn records_for_a_label() {
    let records = parse(FILE, "postgresql");
    let lines: Vec<usize> = records.iter().map(|record| record.line).collect();
    assert_eq!(lines, [4, 22, 29, 32]);
    assert_eq!(records[0].sql, "CREATE TABLE t (a int)\n");
    assert_eq!(records[1].sql, "SELECT a,\n  b FROM t\n");
    let RecordKind::Query { types, expected, .. } = &records[1].kind else {
        panic!("a query: {:?}", records[1].kind)
    };
    assert_eq!(
        (types.as_str(), expected.as_slice()),
        ("IT", &["1".to_owned(), "x y".to_owned()][..])
    );
    assert!(matches!(records[2].kind, RecordKind::StatementError));
    assert!(matches!(&records[3].kind, RecordKind::Query { expected, .. } if expected.is_empty()));
}

#[test]
fn a_halt_for_another_server_is_no_halt() {
    let records = parse(FILE, "mysql");
    let last = records.last().expect("records");
    assert_eq!(last.sql, "never\n");
    let sqlite: Vec<usize> = parse(FILE, "sqlite").iter().map(|record| record.line).collect();
    assert_eq!(sqlite, [4, 8]);
}

#[test]
fn lists_read_back() {
    let figures = Figures::parse("# comment\na.test 3 1\nb.test 0 stops\n");
    assert_eq!(figures["a.test"].failed, Some(1));
    assert_eq!(figures["b.test"].failed, None);
    let mut exceptions = Exceptions::default();
    (0..40).for_each(|line| exceptions.add("a.test", line * 7));
    let again = Exceptions::parse(&exceptions.print());
    assert!(again.contains("a.test", 39 * 7) && !again.contains("a.test", 8));
    assert!(!again.contains("b.test", 7));
}

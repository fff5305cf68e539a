//! Classes of statements, as metrics and the slow-statement log name them.

use braid_ddl::is_ddl;
use braid_sql::ast::Statement;

/// What a statement does, roughly. The set is small, so that it can be a label of a metric.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StatementClass {
    /// A query, or FETCH.
    Select,
    /// INSERT or UPSERT.
    Insert,
    /// UPDATE.
    Update,
    /// DELETE.
    Delete,
    /// MERGE.
    Merge,
    /// COPY, in either direction.
    Copy,
    /// A definition, or a grant.
    Ddl,
    /// COMMIT.
    Commit,
    /// All others, such as BEGIN, SET and CALL.
    Other,
}

impl StatementClass {
    /// How many there are.
    pub const COUNT: usize = 9;

    /// All of them, in the order of their numbers.
    pub const ALL: [StatementClass; StatementClass::COUNT] = [
        StatementClass::Select,
        StatementClass::Insert,
        StatementClass::Update,
        StatementClass::Delete,
        StatementClass::Merge,
        StatementClass::Copy,
        StatementClass::Ddl,
        StatementClass::Commit,
        StatementClass::Other,
    ];

    /// The class of a statement. That of EXECUTE is `Other` until its statement is known.
    pub(crate) fn of(statement: &Statement) -> StatementClass {
        match statement {
            Statement::Query(_) | Statement::QueryWithChanges { .. } | Statement::Fetch(_) => {
                StatementClass::Select
            }
            Statement::Insert(_) => StatementClass::Insert,
            Statement::Update(_) => StatementClass::Update,
            Statement::Delete(_) => StatementClass::Delete,
            Statement::Merge(_) => StatementClass::Merge,
            Statement::Copy(_) => StatementClass::Copy,
            Statement::Commit { .. } => StatementClass::Commit,
            statement if is_ddl(statement) => StatementClass::Ddl,
            _ => StatementClass::Other,
        }
    }

    /// Its name, as the label `kind` of metrics has it.
    pub fn as_str(self) -> &'static str {
        match self {
            StatementClass::Select => "select",
            StatementClass::Insert => "insert",
            StatementClass::Update => "update",
            StatementClass::Delete => "delete",
            StatementClass::Merge => "merge",
            StatementClass::Copy => "copy",
            StatementClass::Ddl => "ddl",
            StatementClass::Commit => "commit",
            StatementClass::Other => "other",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_class_has_its_place() {
        for (place, class) in StatementClass::ALL.into_iter().enumerate() {
            assert_eq!(class as usize, place);
        }
    }

    #[test]
    fn statements_have_a_class() {
        let cases = [
            ("VALUES (1)", "select"),
            ("FETCH 1 FROM c", "select"),
            ("WITH a AS (DELETE FROM t RETURNING b) SELECT * FROM a", "select"),
            ("INSERT INTO t VALUES (1)", "insert"),
            ("UPDATE t SET a = 1", "update"),
            ("DELETE FROM t", "delete"),
            ("COPY t FROM STDIN", "copy"),
            ("CREATE TABLE t AS SELECT 1", "ddl"),
            ("GRANT SELECT ON t TO u", "ddl"),
            ("END", "commit"),
            ("BEGIN", "other"),
            ("ROLLBACK", "other"),
            ("SET a.b = 1", "other"),
        ];
        for (text, class) in cases {
            let parsed = braid_sql::parse(text).unwrap();
            assert_eq!(StatementClass::of(&parsed[0].statement).as_str(), class, "{text}");
        }
    }
}

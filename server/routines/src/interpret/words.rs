//! What error contexts call statements.

use crate::plpgsql::Kind;

/// What an error context calls a statement.
pub(super) fn words(kind: &Kind) -> &'static str {
    match kind {
        Kind::Assign(..) => "assignment",
        Kind::If(..) => "IF",
        Kind::Case(_) => "CASE",
        Kind::Loop(_) => "LOOP",
        Kind::While(..) => "WHILE",
        Kind::ForInteger(_) => "FOR with integer loop variable",
        Kind::ForRows(_, crate::plpgsql::Rows::Query(_), _) => "FOR over SELECT rows",
        Kind::ForRows(_, crate::plpgsql::Rows::Cursor(..), _) => "FOR over cursor",
        Kind::ForRows(..) => "FOR over EXECUTE statement",
        Kind::ForEach(..) => "FOREACH over array",
        Kind::Leave(true, ..) => "EXIT",
        Kind::Leave(false, ..) => "CONTINUE",
        Kind::Return(_) => "RETURN",
        Kind::ReturnNext(_) => "RETURN NEXT",
        Kind::ReturnQuery(_) => "RETURN QUERY",
        Kind::Open(..) => "OPEN",
        Kind::Fetch(..) => "FETCH",
        Kind::Move(..) => "MOVE",
        Kind::Close(_) => "CLOSE",
        Kind::Call(..) => "CALL",
        Kind::Perform(_) => "PERFORM",
        Kind::Sql(..) => "SQL statement",
        Kind::Execute(..) => "EXECUTE",
        Kind::Raise(_) => "RAISE",
        Kind::Diagnostics(..) => "GET DIAGNOSTICS",
        Kind::Assert(..) => "ASSERT",
        Kind::Block(_) => "statement block",
        Kind::Nothing => "NULL",
        Kind::EndTransaction(end) if end.commits => "COMMIT",
        Kind::EndTransaction(_) => "ROLLBACK",
    }
}

//! GET DIAGNOSTICS and GET STACKED DIAGNOSTICS.

use braid_types::{Datum, Error, Result, SqlState, SqlType};

use super::state::Run;
use crate::plpgsql::Target;

/// Gives targets what is known of the last statement, or of the caught error.
pub(super) async fn diagnostics(
    run: &mut Run<'_>,
    stacked: bool,
    items: &[(Target, String)],
    line: u32,
) -> Result<()> {
    let caught = match (stacked, run.caught.last()) {
        (true, None) => {
            let message = "GET STACKED DIAGNOSTICS cannot be used outside an exception handler";
            return Err(Error::new(SqlState::DiagnosticsWithoutHandler, message));
        }
        (_, caught) => caught.cloned(),
    };
    for (target, item) in items {
        let (value, ty) = match (item.as_str(), &caught) {
            ("row_count", _) => (Datum::Int(run.row_count), SqlType::Int8),
            (item, Some(error)) if stacked => (stacked_item(error, item), SqlType::Text),
            _ => {
                let name = &run.code.name;
                let context = format!("PL/pgSQL {name} line {line} at GET DIAGNOSTICS");
                (Datum::text(context), SqlType::Text)
            }
        };
        run.assign(target, value, &ty).await?;
    }
    Ok(())
}

fn stacked_item(error: &Error, item: &str) -> Datum {
    let fields = error.fields();
    let text = |text: &Option<String>| Datum::text(text.clone().unwrap_or_default());
    match item {
        "returned_sqlstate" => Datum::text(fields.code()),
        "message_text" => Datum::text(error.message()),
        "pg_exception_detail" => text(&fields.detail),
        "pg_exception_hint" => text(&fields.hint),
        "pg_exception_context" => text(&fields.context),
        "column_name" => text(&fields.column),
        "constraint_name" => text(&fields.constraint),
        "pg_datatype_name" => text(&fields.data_type),
        "table_name" => text(&fields.table),
        _ => text(&fields.schema),
    }
}

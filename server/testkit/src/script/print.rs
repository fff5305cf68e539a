//! Results and errors in a form that stays the same from server to server.

use tokio_postgres::SimpleQueryMessage;

/// Header, rows and row counts of everything that a query string returned.
pub(super) fn results(messages: &[SimpleQueryMessage], sorted: bool) -> String {
    let mut out = String::new();
    let mut rows: Option<Vec<String>> = None;
    for message in messages {
        match message {
            SimpleQueryMessage::RowDescription(columns) => {
                let names: Vec<&str> = columns.iter().map(|column| column.name()).collect();
                out.push_str(&names.join(" | "));
                out.push('\n');
                rows = Some(Vec::new());
            }
            SimpleQueryMessage::Row(row) => {
                let values: Vec<String> = (0..row.len()).map(|at| value(row.get(at))).collect();
                rows.get_or_insert_default().push(values.join(" | "));
            }
            SimpleQueryMessage::CommandComplete(count) => {
                out.push_str(&complete(rows.take(), *count, sorted));
            }
            _ => {}
        }
    }
    out
}

fn complete(rows: Option<Vec<String>>, count: u64, sorted: bool) -> String {
    match rows {
        None if count == 0 => "ok\n".to_owned(),
        None => format!("ok {count}\n"),
        Some(rows) if rows.is_empty() => "(no rows)\n".to_owned(),
        Some(mut rows) => {
            if sorted {
                rows.sort();
            }
            rows.join("\n") + "\n"
        }
    }
}

fn value(value: Option<&str>) -> String {
    let Some(text) = value else { return "NULL".to_owned() };
    let plain = !text.is_empty()
        && text != "NULL"
        && text.trim() == text
        && !text.contains(['\'', '|', '\\'])
        && !text.chars().any(char::is_control);
    if plain { text.to_owned() } else { format!("'{}'", text.escape_debug()) }
}

/// The SQLSTATE, with `detailed` what the error says, with `place` its context.
pub(super) fn error(error: &tokio_postgres::Error, detailed: bool, place: bool) -> String {
    let Some(error) = error.as_db_error() else {
        return "connection closed".to_owned();
    };
    let mut out = error.code().code().to_owned();
    if detailed {
        out.push_str(&format!(" {}", error.message()));
        for (label, text) in [("detail", error.detail()), ("hint", error.hint())] {
            if let Some(text) = text {
                out.push_str(&format!("\n{label}: {text}"));
            }
        }
    }
    if let (true, Some(text)) = (place, error.where_()) {
        out.push_str(&format!("\nwhere: {text}"));
    }
    out
}

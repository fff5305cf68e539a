//! COPY TO: rows to lines, or to binary.

use std::sync::Arc;

use braid_catalog::{Relation, Table};
use braid_sql::ast::{Copy, CopySource, Ident};
use braid_types::encoding::{Encoding, encode};
use braid_types::{Datum, Error, FormatSettings, Result, SqlState, SqlType, text, work};

use crate::client::{Client, Formats, ResultColumn};
use crate::protocol::copy::ends::DataTarget;
use crate::protocol::copy::target::{copy_relation, marked_columns, table_columns};
use crate::protocol::copy::{Format, binary};
use crate::session::Session;
use crate::statement::describe::describe_prepared;
use crate::statement::execute::start_statement;
use crate::statement::portal::named_columns;
use crate::statement::prepared::Prepared;
use crate::transaction::open::ensure_open;

const BATCH_ROWS: usize = 1024;

pub(super) async fn copy_out(
    session: &mut Session,
    copy: &Copy,
    outer: &Prepared,
    client: &mut dyn Client,
) -> Result<u64> {
    let (query, table) = copy_query(session, copy, outer).await?;
    let start = if table.is_none() { query_start(outer) } else { 0 };
    let format = Format::new(&copy.options, copy.direction)?;
    let parsed = session.engine.plans.parse(&query)?;
    let prepared = Prepared::new("", parsed, Some(0), Vec::new());
    let prepared = Box::pin(describe_prepared(session, prepared)).await;
    let prepared = prepared.map_err(|error| error.moved(start))?;
    if prepared.columns.is_none() {
        let message = "COPY query must have a RETURNING clause";
        return Err(Error::new(SqlState::FeatureNotSupported, message));
    }
    let open = ensure_open(session);
    open.statements += 1;
    let seq = open.txn.next_statement();
    let mut running = start_statement(session, &prepared, &Arc::default(), seq).await?;
    let active = session.active();
    let cancel = session.shared.entry.cancel.clone();
    let columns = running.columns.clone();
    let force = force_quote(copy.options.force_quote.as_deref(), &columns, table.as_deref())?;
    let encoding = format.converted(active.client_encoding);
    let mut target = DataTarget::open(copy.file.as_deref(), client).await?;
    target.begin(columns.len(), format.binary);
    // As text the numbers of catalog objects show names.
    let formats = if format.binary { Formats::all_binary() } else { Formats::TEXT };
    let named = named_columns(&columns, &formats);
    let shown = named.as_deref().unwrap_or(&columns);
    let mut line = Vec::new();
    if format.binary {
        // It leaves with the first row.
        binary::put_header(&mut line);
    } else if format.header {
        put_names(&mut line, &columns, &format);
        send_line(&mut line, encoding, &mut target)?;
    }
    let mut count = 0;
    loop {
        let mut rows = running.source.next(BATCH_ROWS, &cancel).await?;
        if rows.is_empty() {
            break;
        }
        if named.is_some() {
            running.source.name_objects(&mut rows, &columns, shown)?;
        }
        for row in &rows {
            if format.binary {
                let values = row.iter().zip(shown.iter().map(|column| &column.ty));
                binary::put_row(&mut line, values, active.client_encoding)?;
            } else {
                put_row(&mut line, row, shown, &force, &format, &active.format);
            }
            send_line(&mut line, encoding, &mut target)?;
        }
        count += rows.len() as u64;
        work::check_interrupts().await?;
        target.relieve(active.result_buffer_bytes).await?;
    }
    if format.binary {
        binary::put_trailer(&mut line);
        target.put(&line);
    }
    target.finish().await?;
    Ok(count)
}

/// Sends a line in the client's encoding, if that is not UTF8.
fn send_line(
    line: &mut Vec<u8>,
    encoding: Option<&'static Encoding>,
    target: &mut DataTarget<'_>,
) -> Result<()> {
    if let Some(encoding) = encoding {
        let text = String::from_utf8(std::mem::take(line));
        let text = text.map_err(|_| Error::internal("a line of COPY is not UTF8"))?;
        encode(encoding, &text, line)?;
    }
    target.put(line);
    line.clear();
    Ok(())
}

/// The query whose rows are copied, and the table if it is one.
async fn copy_query(
    session: &mut Session,
    copy: &Copy,
    outer: &Prepared,
) -> Result<(String, Option<Arc<Table>>)> {
    let CopySource::Table { name, columns } = &copy.source else {
        let inner = inner_text(outer.text()).map(str::to_owned).ok_or_else(|| {
            Error::new(SqlState::SyntaxError, "COPY needs a query in parentheses")
        })?;
        return Ok((inner, None));
    };
    match copy_relation(session, name).await? {
        Relation::Table(table) if table.partitioning.is_some() => {
            let message = format!("cannot copy from partitioned table \"{}\"", table.name);
            Err(Error::new(SqlState::WrongObjectType, message)
                .hint("Try the COPY (SELECT ...) TO variant."))
        }
        Relation::Table(table) if table.materialized.is_none() => {
            let columns = table_columns(&table, columns)?;
            let names: Vec<String> =
                columns.iter().map(|(name, _)| braid_sql::quote_ident(name)).collect();
            Ok((format!("SELECT {} FROM {name}", names.join(", ")), Some(table)))
        }
        Relation::Virtual(table) if table.kind() == "table" => {
            let list = match columns.as_slice() {
                [] => "*".to_owned(),
                some => some.iter().map(ToString::to_string).collect::<Vec<_>>().join(", "),
            };
            Ok((format!("SELECT {list} FROM {name}"), None))
        }
        other => {
            let message = format!("cannot copy from {} \"{}\"", other.kind(), other.name());
            let error = Error::new(SqlState::WrongObjectType, message);
            Err(match other.kind() {
                "view" | "materialized view" => error.hint("Try the COPY (SELECT ...) TO variant."),
                _ => error,
            })
        }
    }
}

/// How many characters of the whole text stand before the query in parentheses.
fn query_start(outer: &Prepared) -> u32 {
    let before = outer.text().chars().take_while(|c| *c != '(').count() + 1;
    let statement = outer.index.and_then(|index| outer.parsed.statements.get(index));
    let start = statement.map_or(0, |parsed| outer.parsed.characters_before(parsed.text.start));
    start.saturating_add(u32::try_from(before).unwrap_or(u32::MAX))
}

/// What stands between the first parenthesis and the one that closes it.
fn inner_text(text: &str) -> Option<&str> {
    let start = text.find('(')? + 1;
    let end = text[start..]
        .char_indices()
        .filter(|(_, c)| *c == ')')
        .map(|(at, _)| start + at)
        .rfind(|end| braid_sql::parse(&text[start..*end]).is_ok_and(|list| list.len() == 1))?;
    Some(&text[start..end])
}

/// Which columns stand in quotes whatever they hold; an empty list means all of them.
fn force_quote(
    names: Option<&[Ident]>,
    columns: &[ResultColumn],
    table: Option<&Table>,
) -> Result<Vec<bool>> {
    let Some(names) = names else { return Ok(vec![false; columns.len()]) };
    if names.is_empty() {
        return Ok(vec![true; columns.len()]);
    }
    let columns: Vec<(String, SqlType)> =
        columns.iter().map(|column| (column.name.clone(), column.ty.clone())).collect();
    marked_columns("FORCE_QUOTE", names, &columns, table)
}

/// The line of `HEADER`.
fn put_names(line: &mut Vec<u8>, columns: &[ResultColumn], format: &Format) {
    for (i, column) in columns.iter().enumerate() {
        separate(line, i, format);
        put_field(line, column.name.as_bytes(), false, format);
    }
    line.push(b'\n');
}

fn separate(line: &mut Vec<u8>, index: usize, format: &Format) {
    if index > 0 {
        line.push(format.delimiter);
    }
}

fn put_row(
    line: &mut Vec<u8>,
    row: &[Datum],
    columns: &[ResultColumn],
    force: &[bool],
    format: &Format,
    settings: &FormatSettings,
) {
    let mut value = Vec::new();
    for (i, (datum, column)) in row.iter().zip(columns).enumerate() {
        separate(line, i, format);
        if datum.is_null() {
            line.extend_from_slice(format.null.as_bytes());
            continue;
        }
        value.clear();
        let ty = if column.ty == SqlType::Unknown { &SqlType::Text } else { &column.ty };
        text::format(ty, datum, settings, &mut value);
        // A single column must not look like the end of the data.
        let marker = columns.len() == 1 && value == b"\\.";
        let forced = force.get(i).copied().unwrap_or(false) || marker;
        put_field(line, &value, forced, format);
    }
    line.push(b'\n');
}

fn put_field(line: &mut Vec<u8>, value: &[u8], force: bool, format: &Format) {
    if format.csv {
        let special = |byte: &u8| [format.delimiter, format.quote, b'\n', b'\r'].contains(byte);
        if !force && value != format.null.as_bytes() && !value.iter().any(special) {
            line.extend_from_slice(value);
            return;
        }
        line.push(format.quote);
        for byte in value {
            if *byte == format.quote || *byte == format.escape {
                line.push(format.escape);
            }
            line.push(*byte);
        }
        line.push(format.quote);
        return;
    }
    for byte in value {
        let escaped = match byte {
            8 => b'b',
            12 => b'f',
            b'\n' => b'n',
            b'\r' => b'r',
            b'\t' => b't',
            11 => b'v',
            b'\\' => b'\\',
            byte if *byte == format.delimiter => *byte,
            byte => {
                line.push(*byte);
                continue;
            }
        };
        line.extend_from_slice(&[b'\\', escaped]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_inner_query_may_hold_parentheses() {
        let text = "COPY (SELECT ')' || (1)) TO STDOUT WITH (FORMAT csv)";
        assert_eq!(inner_text(text), Some("SELECT ')' || (1)"));
    }
}

//! COPY FROM: lines or binary rows to rows of an INSERT.
//!
//! Rows go in batches through an INSERT of one row of typed parameters, which is made for each row
//! of the batch (`Values::repeats`), so that defaults, checks and foreign keys are those of every
//! INSERT.

use std::borrow::Cow;
use std::sync::Arc;

use braid_dml::{StatementParts, check_left, has_left_checks};
use braid_sql::ast::Copy;
use braid_types::encoding::StreamDecoder;
use braid_types::{Datum, Error, FormatSettings, Result, SqlState, text, work};
use bytes::Bytes;

use crate::client::{Client, CopyInput};
use crate::clock::now_micros;
use crate::protocol::copy::Format;
use crate::protocol::copy::binary::BinaryRows;
use crate::protocol::copy::ends::DataSource;
use crate::protocol::copy::records::{Field, Records};
use crate::protocol::copy::target::{Target, check_freeze, copy_target};
use crate::session::Session;
use crate::settings::Active;
use crate::statement::context::{exec_context, statement_environment, statement_memory};
use crate::statement::describe::describe_prepared;
use crate::statement::execute::start_part;
use crate::statement::portal::Source;
use crate::statement::prepared::Prepared;
use crate::transaction::open::{catalog_at, ensure_open};

/// Rows of one batch, at most.
const BATCH_ROWS: usize = 1000;
/// Bytes of one batch's lines, about.
const BATCH_BYTES: usize = 1 << 20;

/// The INSERT that fills the table.
struct Filling {
    target: Target,
    statement: Prepared,
    /// Its batches are parts of one statement: each trigger FOR EACH STATEMENT fires once.
    parts: StatementParts,
    /// Whether it may fire triggers.
    fires_triggers: bool,
}

/// One batch on its way.
#[derive(Default)]
struct Batch {
    params: Vec<Datum>,
    rows: usize,
    /// Bytes of its lines.
    bytes: usize,
    /// The line of its first row.
    line: u64,
}

/// The rows of the data, in any format.
enum Rows {
    Lines { records: Records, format: Format, settings: Arc<Active>, header: bool },
    Binary(BinaryRows),
}

impl Rows {
    fn new(format: Format, settings: Arc<Active>) -> Rows {
        if format.binary {
            return Rows::Binary(BinaryRows::new(settings.client_encoding));
        }
        let (records, header) = (Records::new(format.clone()), format.header);
        Rows::Lines { records, format, settings, header }
    }

    fn push(&mut self, data: &[u8]) -> Result<()> {
        match self {
            Rows::Lines { records, .. } => records.push(data),
            Rows::Binary(rows) => rows.push(data),
        }
    }

    /// Adds the line to an error, unless what comes before the rows is still to be read.
    fn in_line(&self, error: Error, target: &Target) -> Error {
        match self {
            Rows::Binary(rows) if !rows.has_header => error,
            _ => error.context(format!("COPY {}, line {}", target.table, self.line())),
        }
    }

    /// The line of the next row, for messages.
    fn line(&self) -> u64 {
        match self {
            Rows::Lines { records, .. } => records.line,
            Rows::Binary(rows) => rows.line + 1,
        }
    }

    /// Reads the next row as values of the target's columns: how many bytes it has.
    fn next(
        &mut self,
        last: bool,
        target: &Target,
        params: &mut Vec<Datum>,
    ) -> Result<Option<usize>> {
        let (records, format, settings, header) = match self {
            Rows::Binary(rows) => return rows.next(last, target, params),
            Rows::Lines { records, format, settings, header } => {
                (records, format, settings, header)
            }
        };
        loop {
            let line = records.line;
            let at = |error: Error| error.context(format!("COPY {}, line {line}", target.table));
            let Some(record) = records.next(last).map_err(at)? else { return Ok(None) };
            let fields = records.split(&record).map_err(at)?;
            if std::mem::take(header) {
                check_header(format, target, &fields).map_err(at)?;
                continue;
            }
            let row = Line { number: line, record: &record, fields };
            put_row(params, target, row, &format.null, &settings.format)?;
            return Ok(Some(record.len()));
        }
    }
}

/// One line of the data.
struct Line<'a> {
    number: u64,
    record: &'a [u8],
    fields: Vec<Field<'a>>,
}

pub(super) async fn copy_in(
    session: &mut Session,
    copy: &Copy,
    outer: &Prepared,
    client: &mut dyn Client,
) -> Result<u64> {
    let format = Format::new(&copy.options, copy.direction)?;
    let target = copy_target(session, copy, outer).await?;
    if session.shared.modes().read_only {
        return Err(Error::new(
            SqlState::ReadOnlySqlTransaction,
            "cannot execute COPY FROM in a read-only transaction",
        ));
    }
    let filling = copy_filling(session, target).await?;
    let target = &filling.target;
    let mut source = DataSource::open(copy.file.as_deref(), client).await?;
    source.begin(target.columns.len(), format.binary).await?;
    if copy.options.freeze {
        check_freeze(session, target)?;
    }
    // Foreign keys of the table to itself are checked after the last row.
    let modes = session.block_state.constraints.clone();
    session.block_state.constraints = Arc::new(modes.in_parts());
    let result = copy_all(session, &filling, format, &mut source).await;
    session.block_state.constraints = modes;
    let total = result?;
    check_copied(session, target).await?;
    Ok(total)
}

/// Copies the rows between what triggers do before and after the statement.
async fn copy_all(
    session: &mut Session,
    filling: &Filling,
    format: Format,
    source: &mut DataSource<'_>,
) -> Result<u64> {
    if !filling.fires_triggers {
        return copy_rows(session, filling, format, source).await;
    }
    copy_batch(session, filling, &mut Batch::default(), false).await?;
    let total = copy_rows(session, filling, format, source).await?;
    copy_batch(session, filling, &mut Batch::default(), true).await?;
    Ok(total)
}

async fn copy_rows(
    session: &mut Session,
    filling: &Filling,
    format: Format,
    source: &mut DataSource<'_>,
) -> Result<u64> {
    let target = &filling.target;
    let active = session.active();
    let mut decoder = format.converted(active.client_encoding).map(StreamDecoder::new);
    let mut rows = Rows::new(format, active);
    let mut batch = Batch::default();
    let mut total = 0;
    loop {
        let last = match source.receive().await? {
            CopyInput::Data(data) => {
                let data = decoded(decoder.as_mut(), data, false);
                let pushed = data.and_then(|data| rows.push(&data));
                pushed.map_err(|error| rows.in_line(error, target))?;
                false
            }
            CopyInput::Done => {
                let end = decoded(decoder.as_mut(), Bytes::new(), true);
                end.map_err(|error| rows.in_line(error, target))?;
                true
            }
            CopyInput::Fail(reason) => {
                let message = format!("COPY from stdin failed: {reason}");
                let error = Error::new(SqlState::QueryCanceled, message);
                return Err(rows.in_line(error, target));
            }
        };
        session.shared.entry.cancel.check()?;
        work::check_interrupts().await?;
        loop {
            let line = rows.line();
            let Some(bytes) = rows.next(last, target, &mut batch.params)? else { break };
            if batch.rows == 0 {
                batch.line = line;
            }
            batch.rows += 1;
            batch.bytes += bytes;
            if batch.rows == BATCH_ROWS || batch.bytes >= BATCH_BYTES {
                total += copy_batch(session, filling, &mut batch, false).await?;
            }
        }
        if last {
            break;
        }
    }
    if batch.rows > 0 {
        total += copy_batch(session, filling, &mut batch, false).await?;
    }
    Ok(total)
}

/// A piece of the data in UTF8.
fn decoded(decoder: Option<&mut StreamDecoder>, data: Bytes, is_last: bool) -> Result<Bytes> {
    let Some(decoder) = decoder else { return Ok(data) };
    let mut text = String::new();
    decoder.decode(&data, is_last, &mut text)?;
    Ok(Bytes::from(text))
}

async fn check_copied(session: &mut Session, target: &Target) -> Result<()> {
    if !has_left_checks(&ensure_open(session).txn) {
        return Ok(());
    }
    let seq = ensure_open(session).txn.next_statement();
    let catalog = catalog_at(session, seq).await?;
    let modes = session.block_state.constraints.clone();
    let own: Vec<u32> = catalog.table(target.id).map_or_else(Vec::new, |table| {
        let keys = table.foreign_keys.iter().filter(|key| key.parent == table.id);
        keys.filter(|key| !modes.is_deferred(table.id, key)).map(|key| key.id).collect()
    });
    let env = statement_environment(session, &catalog);
    let cx = exec_context(session, seq, catalog, env);
    check_left(Arc::new(cx), |key| own.contains(&key)).await
}

async fn copy_filling(session: &mut Session, target: Target) -> Result<Filling> {
    let parsed = session.engine.plans.parse(&target.insert)?;
    let prepared = Prepared::new("", parsed, Some(0), target.hints());
    let prepared = Box::pin(describe_prepared(session, prepared)).await;
    // A position would be one of the INSERT's text.
    let prepared = prepared.map_err(Error::without_position)?;
    let plan = prepared.plan.lock().clone();
    if !plan.as_ref().is_none_or(|plan| plan.plan.repeats()) && !target.columns.is_empty() {
        return Err(Error::unsupported("such a COPY FROM WHERE condition"));
    }
    let fires_triggers = plan.is_some_and(|plan| plan.plan.fires_triggers);
    let limit_bytes = session.active().memory_limit_bytes;
    let parts = StatementParts::new(statement_memory(session, limit_bytes));
    Ok(Filling { target, statement: prepared, parts, fires_triggers })
}

/// Inserts the rows of a batch. One without rows fires the triggers before the statement, if they
/// have not fired yet. The last one fires those after rows and after the statement.
async fn copy_batch(
    session: &mut Session,
    filling: &Filling,
    batch: &mut Batch,
    is_last: bool,
) -> Result<u64> {
    let target = &filling.target;
    let mut params = std::mem::take(&mut batch.params);
    if target.columns.is_empty() {
        params.push(Datum::Int(batch.rows as i64));
    }
    let params = Arc::new(params);
    let has_rows = std::mem::take(&mut batch.rows) > 0;
    batch.bytes = 0;
    let cancel = session.shared.entry.cancel.clone();
    let open = ensure_open(session);
    open.statements += 1;
    let seq = open.txn.next_statement();
    let in_batch = |error: Error| match error.fields().context {
        None if has_rows => error.context(format!("COPY {}, line {}", target.table, batch.line)),
        _ => error,
    };
    let part = (&filling.parts, is_last);
    let running = start_part(session, &filling.statement, &params, seq, part).await;
    let mut running = running.map_err(in_batch)?;
    while !running.source.next(BATCH_ROWS, &cancel).await.map_err(in_batch)?.is_empty() {}
    match &running.source {
        Source::Execution(execution, _) => Ok(execution.changed_rows()),
        Source::Rows(..) => Err(Error::internal("COPY runs an INSERT")),
    }
}

fn check_header(format: &Format, target: &Target, fields: &[Field<'_>]) -> Result<()> {
    if !format.header_match {
        return Ok(());
    }
    let names: Vec<&str> = fields.iter().map(|f| f.as_deref().unwrap_or_default()).collect();
    if names.len() != target.columns.len() {
        return Err(Error::new(
            SqlState::BadCopyFileFormat,
            format!(
                "wrong number of fields in header line: got {}, expected {}",
                names.len(),
                target.columns.len()
            ),
        ));
    }
    for (i, (name, (wanted, _))) in names.iter().zip(&target.columns).enumerate() {
        if name != wanted {
            return Err(Error::new(
                SqlState::BadCopyFileFormat,
                format!(
                    "column name mismatch in header line field {}: got \"{name}\", \
                     expected \"{wanted}\"",
                    i + 1
                ),
            ));
        }
    }
    Ok(())
}

/// Reads the fields of one line as values of their columns.
fn put_row(
    params: &mut Vec<Datum>,
    target: &Target,
    row: Line<'_>,
    null: &str,
    settings: &FormatSettings,
) -> Result<()> {
    let Line { number: line, record, fields } = row;
    if target.columns.is_empty() && record.is_empty() {
        return Ok(());
    }
    let whole = |error: Error| {
        let text = shorten(&String::from_utf8_lossy(record));
        error.context(format!("COPY {}, line {line}: \"{text}\"", target.table))
    };
    if fields.len() > target.columns.len() {
        return Err(whole(Error::new(
            SqlState::BadCopyFileFormat,
            "extra data after last expected column",
        )));
    }
    if let Some((missing, _)) = target.columns.get(fields.len()) {
        return Err(whole(Error::new(
            SqlState::BadCopyFileFormat,
            format!("missing data for column \"{missing}\""),
        )));
    }
    let now = now_micros();
    for (i, (field, (name, ty))) in fields.into_iter().zip(&target.columns).enumerate() {
        let field = match field {
            // What stands for NULL becomes text, and the other way round for text in quotes.
            None if target.force_not_null[i] => Some(Cow::Borrowed(null)),
            Some(text) if text == null && target.force_null[i] => None,
            field => field,
        };
        params.push(match field {
            None => Datum::Null,
            Some(value) => text::parse(ty, &value, settings, now).map_err(|error| {
                error.context(format!(
                    "COPY {}, line {line}, column {name}: \"{}\"",
                    target.table,
                    shorten(&value)
                ))
            })?,
        });
    }
    Ok(())
}

/// PostgreSQL shows the first hundred characters.
fn shorten(text: &str) -> String {
    match text.char_indices().nth(100) {
        Some((end, _)) => format!("{}...", &text[..end]),
        None => text.to_owned(),
    }
}

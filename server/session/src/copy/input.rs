//! COPY FROM STDIN: lines to rows of an INSERT.
//!
//! Rows go in batches through an INSERT of one row of typed parameters, which is made for each row
//! of the batch (`Values::repeats`), so that defaults, checks and foreign keys are those of every
//! INSERT.

use std::sync::Arc;

use braid_catalog::{Relation, Table};
use braid_exec::check_left;
use braid_sql::ast::{Copy, CopySource};
use braid_types::{Datum, Error, FormatSettings, Result, SqlState, SqlType, text, work};

use super::Format;
use super::records::{Field, Records};
use crate::client::{Client, CopyInput};
use crate::clock::now_micros;
use crate::prepared::Prepared;
use crate::run::connection_lost;
use crate::session::Session;

/// Rows of one batch, at most.
const BATCH_ROWS: usize = 1000;
/// Bytes of one batch's lines, about.
const BATCH_BYTES: usize = 1 << 20;

/// What is copied into.
struct Target {
    /// The table's number.
    id: u32,
    /// As it was written.
    name: String,
    /// Its bare name, for messages.
    table: String,
    columns: Vec<(String, SqlType)>,
    force_not_null: Vec<bool>,
    force_null: Vec<bool>,
}

impl Target {
    /// The INSERT of one row.
    fn insert(&self) -> String {
        let names: Vec<String> =
            self.columns.iter().map(|(name, _)| braid_sql::quote_ident(name)).collect();
        let places: Vec<String> = (1..=names.len()).map(|number| format!("${number}")).collect();
        // COPY always stores the given values of an identity column, as PostgreSQL does.
        format!(
            "INSERT INTO {} ({}) OVERRIDING SYSTEM VALUE VALUES ({})",
            self.name,
            names.join(", "),
            places.join(", ")
        )
    }

    fn hints(&self) -> Vec<SqlType> {
        self.columns.iter().map(|(_, ty)| ty.bare()).collect()
    }
}

/// One batch on its way.
struct Batch {
    params: Vec<Datum>,
    rows: usize,
    /// Bytes of its lines.
    bytes: usize,
    /// The line of its first row.
    line: u64,
}

impl Session {
    pub(super) async fn copy_in(
        &mut self,
        copy: &Copy,
        format: Format,
        client: &mut dyn Client,
    ) -> Result<u64> {
        if copy.selection.is_some() {
            return Err(Error::unsupported("COPY FROM with WHERE"));
        }
        let target = self.copy_target(copy).await?;
        if self.modes().read_only {
            return Err(Error::new(
                SqlState::ReadOnlySqlTransaction,
                "cannot execute COPY FROM in a read-only transaction",
            ));
        }
        client.copy_in_response(target.columns.len());
        client.flush().await.map_err(|error| connection_lost(&error))?;
        // What the table asks of itself is looked at behind the last row.
        let modes = self.block_state.constraints.clone();
        self.block_state.constraints = Arc::new(modes.in_parts());
        let result = self.copy_rows(&target, &format, client).await;
        self.block_state.constraints = modes;
        let total = result?;
        self.check_copied(&target).await?;
        Ok(total)
    }

    async fn copy_rows(
        &mut self,
        target: &Target,
        format: &Format,
        client: &mut dyn Client,
    ) -> Result<u64> {
        let statement = self.copy_statement(target).await?;
        let mut records = Records::new(format.clone());
        let mut batch = Batch { params: Vec::new(), rows: 0, bytes: 0, line: 1 };
        let mut header = format.header;
        let mut total = 0;
        let settings = self.active();
        loop {
            let last = match client.receive_copy().await? {
                CopyInput::Data(data) => {
                    records.push(&data)?;
                    false
                }
                CopyInput::Done => true,
                CopyInput::Fail(reason) => {
                    return Err(Error::new(
                        SqlState::QueryCanceled,
                        format!("COPY from stdin failed: {reason}"),
                    )
                    .context(format!("COPY {}, line {}", target.table, records.line)));
                }
            };
            self.shared.entry.cancel.check()?;
            work::breathe().await?;
            loop {
                let line = records.line;
                let at =
                    |error: Error| error.context(format!("COPY {}, line {line}", target.table));
                let Some(record) = records.next(last).map_err(at)? else { break };
                let fields = records.split(&record).map_err(at)?;
                if std::mem::take(&mut header) {
                    check_header(format, target, &fields).map_err(at)?;
                    continue;
                }
                if batch.rows == 0 {
                    batch.line = line;
                }
                put_row(&mut batch.params, target, fields, line, &record, &settings.format)?;
                batch.rows += 1;
                batch.bytes += record.len();
                if batch.rows == BATCH_ROWS || batch.bytes >= BATCH_BYTES {
                    total += self.copy_batch(target, &statement, &mut batch).await?;
                }
            }
            if last {
                break;
            }
        }
        if batch.rows > 0 {
            total += self.copy_batch(target, &statement, &mut batch).await?;
        }
        Ok(total)
    }

    async fn check_copied(&mut self, target: &Target) -> Result<()> {
        if self.ensure_open().txn.left().is_empty() {
            return Ok(());
        }
        let seq = self.ensure_open().txn.next_statement();
        let catalog = self.catalog_at(seq).await?;
        let modes = self.block_state.constraints.clone();
        let own: Vec<u32> = catalog.table(target.id).map_or_else(Vec::new, |table| {
            let keys = table.foreign_keys.iter().filter(|key| key.parent == table.id);
            keys.filter(|key| !modes.is_deferred(table.id, key)).map(|key| key.id).collect()
        });
        let env = self.environment(&catalog);
        let cx = self.exec_context(seq, catalog, env);
        check_left(Arc::new(cx), |key| own.contains(&key)).await
    }

    async fn copy_target(&mut self, copy: &Copy) -> Result<Target> {
        let CopySource::Table { name, columns } = &copy.source else {
            return Err(Error::new(SqlState::SyntaxError, "COPY FROM needs a table"));
        };
        let seq = self.ensure_open().txn.next_statement();
        let catalog = self.catalog_at(seq).await?;
        let parts: Vec<String> =
            name.0.iter().filter_map(|part| part.as_ident().map(braid_sql::fold)).collect();
        let path = self.derived().path.clone();
        let table = match catalog.resolve(&path, &parts)? {
            Some(Relation::Table(table)) => table,
            Some(other) => {
                return Err(Error::new(
                    SqlState::WrongObjectType,
                    format!("cannot copy to {} \"{}\"", other.kind(), other.name()),
                ));
            }
            None => return Err(braid_catalog::undefined_relation(&parts)),
        };
        let listed: Vec<String> = columns.iter().map(braid_sql::fold).collect();
        let columns = target_columns(&table, &listed)?;
        let flags = |names: &[braid_sql::ast::Ident]| -> Vec<bool> {
            let names: Vec<String> = names.iter().map(braid_sql::fold).collect();
            columns.iter().map(|(column, _)| names.contains(column)).collect()
        };
        Ok(Target {
            id: table.id,
            name: name.to_string(),
            table: table.name.clone(),
            force_not_null: flags(&copy.options.force_not_null),
            force_null: flags(&copy.options.force_null),
            columns,
        })
    }

    async fn copy_statement(&mut self, target: &Target) -> Result<Prepared> {
        let parsed = self.server.plans.parse(&target.insert())?;
        let prepared = Prepared::new("", parsed, Some(0), target.hints());
        Box::pin(self.describe_new(prepared)).await
    }

    async fn copy_batch(
        &mut self,
        target: &Target,
        statement: &Prepared,
        batch: &mut Batch,
    ) -> Result<u64> {
        let params = Arc::new(std::mem::take(&mut batch.params));
        let rows = std::mem::take(&mut batch.rows);
        batch.bytes = 0;
        let cancel = self.shared.entry.cancel.clone();
        let open = self.ensure_open();
        open.statements += 1;
        let seq = open.txn.next_statement();
        let in_batch = |error: Error| match error.fields().context {
            Some(_) => error,
            None => error.context(format!("COPY {}, line {}", target.table, batch.line)),
        };
        let mut running = self.start(statement, &params, seq).await.map_err(in_batch)?;
        while !running.source.next(BATCH_ROWS, &cancel).await.map_err(in_batch)?.is_empty() {}
        Ok(rows as u64)
    }
}

fn target_columns(table: &Table, listed: &[String]) -> Result<Vec<(String, SqlType)>> {
    if listed.is_empty() {
        let plain = table.columns.iter().filter(|c| !c.hidden && c.generated.is_none());
        return Ok(plain.map(|column| (column.name.clone(), column.ty.clone())).collect());
    }
    let mut columns: Vec<(String, SqlType)> = Vec::with_capacity(listed.len());
    for name in listed {
        let place = table.column_by_name(name).ok_or_else(|| {
            Error::new(
                SqlState::UndefinedColumn,
                format!("column \"{name}\" of relation \"{}\" does not exist", table.name),
            )
        })?;
        let column = &table.columns[place];
        if column.generated.is_some() {
            return Err(Error::new(
                SqlState::InvalidColumnReference,
                format!("column \"{name}\" is a generated column"),
            )
            .detail("Generated columns cannot be used in COPY."));
        }
        if columns.iter().any(|(other, _)| other == name) {
            return Err(Error::new(
                SqlState::DuplicateColumn,
                format!("column \"{name}\" specified more than once"),
            ));
        }
        columns.push((name.clone(), column.ty.clone()));
    }
    Ok(columns)
}

fn check_header(format: &Format, target: &Target, fields: &[Field]) -> Result<()> {
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
    fields: Vec<Field>,
    line: u64,
    record: &[u8],
    settings: &FormatSettings,
) -> Result<()> {
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
            None if target.force_not_null[i] => Some(String::new()),
            Some(text) if text.is_empty() && target.force_null[i] => None,
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

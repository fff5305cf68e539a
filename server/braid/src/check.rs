//! `braid check`: reads all that a data folder holds, while no server runs on it.
//!
//! Opening compares the files, the journals and the commits with the folder's own account. Then
//! every block is read, which checks its checksum, and every row, index entry and foreign key of
//! every table. Nothing is repaired.

use std::io::Write;
use std::sync::Arc;

use braid_kv::{Database, DatabaseOptions};
use braid_kv_embedded::{EmbeddedOptions, EmbeddedStore, holds_database, make_files_private};
use braid_server::{Server, ServerOptions};

use crate::cli::Check;
use crate::logging;

type Result<T> = std::result::Result<T, Box<dyn std::error::Error>>;

/// Checks a folder and prints what it finds; true if all is well.
pub(crate) fn check(options: &Check) -> Result<bool> {
    logging::start(&options.log)?;
    make_files_private();
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    runtime.block_on(run(options))
}

async fn run(options: &Check) -> Result<bool> {
    if !holds_database(&options.data) {
        return Err(format!("there is no database in \"{}\"", options.data.display()).into());
    }
    let store = Arc::new(EmbeddedStore::open(&options.data, EmbeddedOptions::default())?);
    let mut findings = Vec::new();
    let entries = store.read_all().unwrap_or_else(|error| {
        findings.push(format!("store: {error}"));
        0
    });
    let kv = Database::new(store, DatabaseOptions::default());
    let server = Server::open(kv, ServerOptions::default()).await?;
    let checked = server.check_tables().await;
    server.close().await?;
    let checked = checked?;
    findings.extend(checked.findings);
    let mut out = std::io::stdout().lock();
    for finding in &findings {
        writeln!(out, "{finding}")?;
    }
    let (tables, found) = (checked.tables, findings.len());
    writeln!(out, "{tables} tables and {entries} entries read, {found} findings")?;
    Ok(findings.is_empty())
}

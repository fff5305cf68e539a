//! The job that analyzes tables which have changed much, as PostgreSQL's autovacuum does.
//!
//! Every gateway counts what its own statements change ([`braid_catalog::Statistics`]). When that
//! reaches a table's threshold, the gateway runs ANALYZE. The gateways of a cluster share the
//! threshold among them, and wait for a random time before they begin: a gateway that takes over
//! the statistics of another one has nothing to do any more.
//!
//! Rules:
//! - ANALYZE reads all rows, so it rests in between, and a table waits [`PAUSE_FACTOR`] times as
//!   long as its last run took: the job takes a small part of the time of one processor;
//! - partitioned tables have no rows, and temporary ones belong to their session: the job leaves
//!   both out.

use std::collections::HashMap;
use std::hash::{BuildHasher, RandomState};
use std::sync::{Arc, Weak};
use std::time::{Duration, Instant};

use braid_catalog::{Catalog, Changes, Id, ROOT, Table, is_temporary};
use braid_session::{SessionOptions, analyze_table};
use braid_types::Result;
use braid_types::text::parse_bool;

use crate::admission::Permit;
use crate::server::Server;

/// `autovacuum_analyze_threshold`: rows that must have changed,
const THRESHOLD: f64 = 50.0;
/// `autovacuum_analyze_scale_factor`: and this part of the table's rows.
const SCALE_FACTOR: f64 = 0.1;
/// How long a table rests after a run, in times of that run.
const PAUSE_FACTOR: u32 = 10;
/// What gateways wait for at most before they begin, in times of the interval.
const DELAY_FACTOR: f64 = 3.0;

/// Works for as long as there is a server.
pub(crate) async fn analyze_changed(server: Weak<Server>) {
    let mut begins = HashMap::new();
    let mut is_first = true;
    loop {
        let Some(strong) = server.upgrade() else { return };
        let interval = strong.options.analyze_interval;
        if strong.is_ready() && !strong.is_ending() {
            match look(&strong, is_first, &mut begins).await {
                Ok(()) => is_first = false,
                Err(error) => tracing::debug!(%error, "changed tables could not be looked for"),
            }
        }
        drop(strong);
        tokio::time::sleep(interval).await;
    }
}

/// Analyzes what has changed enough. `begins` has the times before which tables are left alone.
async fn look(
    server: &Arc<Server>,
    is_first: bool,
    begins: &mut HashMap<Id, Instant>,
) -> Result<()> {
    let engine = &server.engine;
    let catalog = engine.catalog_now().await?;
    engine.catalog.forget_dropped(&catalog);
    begins.retain(|id, _| catalog.table(*id).is_some());
    if is_first {
        count_unknown(&catalog);
    }
    let gateways = engine.gateways.list();
    let gateways = gateways.iter().filter(|gateway| gateway.mode != "expired").count().max(1);
    for (id, changes) in catalog.statistics.changed() {
        let Some(table) = catalog.table(id).filter(|table| is_analyzed(table)) else { continue };
        if (changes.changed as f64) < threshold(&catalog, table) / gateways as f64 {
            // The next time begins with a new delay, but not before the rest is over.
            if begins.get(&id).is_some_and(|begin| *begin <= Instant::now()) {
                begins.remove(&id);
            }
            continue;
        }
        let begin = *begins.entry(id).or_insert_with(|| Instant::now() + delay(server, gateways));
        if begin > Instant::now() {
            continue;
        }
        let begun = Instant::now();
        if let Err(error) = run(server, &catalog, table).await {
            tracing::debug!(table = table.name, %error, "a table could not be analyzed");
        }
        let rest = begun.elapsed() * PAUSE_FACTOR;
        begins.insert(id, Instant::now() + rest + delay(server, gateways));
        if server.is_ending() {
            break;
        }
    }
    Ok(())
}

/// Makes the job analyze each table without statistics once. Its rows may be older than this
/// process, so nobody has counted them.
fn count_unknown(catalog: &Catalog) {
    for table in catalog.tables().iter().filter(|table| is_analyzed(table)) {
        if !catalog.statistics.is_known(table.id) {
            let changed = threshold(catalog, table).ceil() as i64;
            catalog.statistics.note_changes(table.id, Changes { rows: 0, changed });
        }
    }
}

/// Whether the job is for this table.
fn is_analyzed(table: &Table) -> bool {
    let is_on =
        option(table, "autovacuum_enabled").is_none_or(|value| parse_bool(value).unwrap_or(true));
    is_on && !is_temporary(table.id) && table.partitioning.is_none()
}

/// The value of a storage parameter.
fn option<'a>(table: &'a Table, name: &str) -> Option<&'a str> {
    let mut options = table.options.iter().filter_map(|option| option.split_once('='));
    options.find(|(known, _)| *known == name).map(|(_, value)| value)
}

/// How many rows must change: PostgreSQL's rule.
fn threshold(catalog: &Catalog, table: &Table) -> f64 {
    let given = |name| option(table, name).and_then(|value| value.parse::<f64>().ok());
    let base = given("autovacuum_analyze_threshold").unwrap_or(THRESHOLD);
    let part = given("autovacuum_analyze_scale_factor").unwrap_or(SCALE_FACTOR);
    (base + part * catalog.statistics.of(table.id).rows as f64).max(1.0)
}

/// A random time, so that gateways which share a table's changes do not begin at once.
fn delay(server: &Server, gateways: usize) -> Duration {
    if gateways == 1 {
        return Duration::ZERO;
    }
    let part = RandomState::new().hash_one(0) as f64 / u64::MAX as f64;
    server.options.analyze_interval.mul_f64(part * DELAY_FACTOR)
}

async fn run(server: &Arc<Server>, catalog: &Catalog, table: &Arc<Table>) -> Result<()> {
    let Some(database) = catalog.database(table.database) else { return Ok(()) };
    let options = SessionOptions::analyzer(&catalog.role_name(ROOT), &database.name);
    let mut session = server.open_session(options, Permit::of_job()).await?;
    let (terminator, analyzed) = (session.terminator(), table.clone());
    let work = async move {
        let result = analyze_table(&mut session, &analyzed).await;
        session.close().await;
        result
    };
    // It computes for long, and must not keep sessions waiting.
    let result = terminator.attend(Box::pin(work), std::future::pending()).await;
    if result.is_ok() {
        tracing::debug!(table = table.name, "analyzed, since it has changed");
    }
    result
}

//! Where a session counts: the ends of its statements and transactions, and its own end.

use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;

use braid_builtins::RelationCounter;
use braid_catalog::{Catalog, Id};
use braid_sql::ast::Statement;
use braid_types::{Datum, Error, Result, SqlState};

use crate::clock::now_micros;
use crate::retry::reason::is_deadlock;
use crate::session::Session;
use crate::shared::Shared;
use crate::statement::prepared::Prepared;
use crate::statistics::Key;

impl Shared {
    /// Counts the end of a transaction.
    pub(crate) fn count_transaction(&self, is_committed: bool) {
        self.engine.statistics.activity.count(self.database, |counts| match is_committed {
            true => counts.commits += 1,
            false => counts.rollbacks += 1,
        });
    }

    /// Counts a retry error that running again is to cure.
    pub(crate) fn count_server_retry(&self, error: &Error) {
        self.retries.fetch_add(1, Relaxed);
        self.engine.counters.server_retries.add(error);
        self.count_deadlock(error);
    }

    /// Counts an error if it is a deadlock.
    pub(crate) fn count_deadlock(&self, error: &Error) {
        if is_deadlock(error) {
            self.engine.statistics.activity.count(self.database, |counts| counts.deadlocks += 1);
        }
    }

    /// Counts the time that an open transaction has waited for its client.
    pub(crate) fn count_waiting(&self, micros: i64) {
        let micros = u64::try_from(micros).unwrap_or(0);
        self.engine.statistics.activity.count(self.database, |counts| {
            counts.idle_in_transaction_micros += micros;
        });
    }

    /// Counts the session's beginning.
    pub(crate) fn count_session(&self) {
        self.engine.statistics.activity.count(self.database, |counts| counts.sessions += 1);
    }

    /// Counts the session's end.
    pub(crate) fn count_end(&self) {
        let entry = &self.entry;
        let micros = u64::try_from(now_micros().saturating_sub(entry.started)).unwrap_or(0);
        let is_killed = entry.is_ending();
        self.engine.statistics.activity.count(self.database, |counts| {
            counts.session_micros += micros;
            counts.killed += u64::from(is_killed);
        });
    }

    /// 42501 unless the session's user is a superuser.
    fn require_superuser(&self, function: &str) -> Result<()> {
        if self.state.lock().settings.is_superuser() {
            return Ok(());
        }
        let message = format!("permission denied for function {function}");
        Err(Error::new(SqlState::InsufficientPrivilege, message))
    }

    /// `pg_stat_reset()`, or that of one relation.
    pub(crate) fn reset_counters(&self, args: &[Datum]) -> Result<Datum> {
        let activity = &self.engine.statistics.activity;
        if args.is_empty() {
            self.require_superuser("pg_stat_reset")?;
            activity.reset(self.database);
        } else {
            self.require_superuser("pg_stat_reset_single_table_counters")?;
            activity.reset_relation(self.database, oid_of(args, 0));
        }
        Ok(Datum::text(""))
    }

    /// `pg_stat_statements_reset(user, database, number)`
    pub(crate) fn reset_statements(&self, args: &[Datum]) -> Result<Datum> {
        self.require_superuser("pg_stat_statements_reset")?;
        let id = args.get(2).and_then(Datum::as_int).unwrap_or(0);
        self.engine.statistics.statements.reset(oid_of(args, 0), oid_of(args, 1), id);
        Ok(Datum::text(""))
    }

    /// `pg_stat_get_numscans(oid)` and others.
    pub(crate) fn relation_counter(
        &self,
        counter: RelationCounter,
        args: &[Datum],
        catalog: &Catalog,
    ) -> Datum {
        let relation = oid_of(args, 0);
        let counts = self.engine.statistics.activity.relations(self.database);
        let counts = counts.get(&relation).copied().unwrap_or_default();
        let value = match counter {
            RelationCounter::Scans => counts.scans,
            RelationCounter::Read => counts.read,
            RelationCounter::Fetched => counts.fetched,
            RelationCounter::Inserted => counts.inserted,
            RelationCounter::Updated => counts.updated,
            RelationCounter::Deleted => counts.deleted,
            RelationCounter::Live => catalog.statistics.live_rows(relation),
        };
        Datum::Int(i64::try_from(value).unwrap_or(i64::MAX))
    }

    /// The transactions that are open, by their numbers: `xmin:xmax:xip,…`.
    pub(crate) fn current_snapshot(&self) -> Datum {
        let next = now_micros().max(1);
        let entries = self.engine.sessions.entries();
        let started = |entry: &Arc<crate::entry::SessionEntry>| {
            let activity = entry.activity.lock();
            activity.transaction_start.filter(|start| (1..next).contains(start))
        };
        let mut open: Vec<i64> = entries.iter().filter_map(started).collect();
        open.sort_unstable();
        open.dedup();
        let xmin = open.first().copied().unwrap_or(next);
        let open: Vec<String> = open.iter().map(i64::to_string).collect();
        Datum::text(format!("{xmin}:{next}:{}", open.join(",")))
    }
}

/// Notes how many rows a statement has returned or changed, according to its tag.
pub(crate) fn note_rows(session: &mut Session, tag: &str) {
    session.rows_noted = rows_of_tag(tag);
}

/// Counts a run of a statement, or a further part of its rows. What EXECUTE runs is counted by
/// itself.
pub(crate) async fn count_statement(
    session: &mut Session,
    prepared: &Arc<Prepared>,
    is_first: bool,
    elapsed: Duration,
) {
    let (database, rows) = (session.database, std::mem::take(&mut session.rows_noted));
    let is_other = prepared.statement().is_some_and(|statement| {
        matches!(
            statement,
            Statement::Execute(_) | Statement::Prepare(_) | Statement::Deallocate(_)
        )
    });
    if is_other {
        return;
    }
    session.engine.statistics.activity.count(database, |counts| {
        counts.active_micros += u64::try_from(elapsed.as_micros()).unwrap_or(u64::MAX);
    });
    if !session.active().track_statements {
        return;
    }
    let Some(normalized) = prepared.normalized() else { return };
    let Some(user) = user_id(session).await else { return };
    let millis = elapsed.as_secs_f64() * 1e3;
    let statements = &session.engine.statistics.statements;
    let key = Key { user, database, id: normalized.id };
    if is_first {
        statements.count(key, normalized, rows, millis);
    } else {
        statements.count_more(key, rows, millis);
    }
}

/// The role that the session acts as.
async fn user_id(session: &mut Session) -> Option<Id> {
    let name = session.derived().user.clone();
    if let Some((known, id)) = &session.user_noted
        && *known == name
    {
        return Some(*id);
    }
    let catalog = Box::pin(session.engine.catalog_now()).await.ok()?;
    let id = catalog.names().role(&name)?.id;
    session.user_noted = Some((name, id));
    Some(id)
}

/// The number at the end of a command tag.
fn rows_of_tag(tag: &str) -> u64 {
    tag.rsplit(' ').next().and_then(|count| count.parse().ok()).unwrap_or(0)
}

/// An argument that is a number of an object.
fn oid_of(args: &[Datum], place: usize) -> Id {
    let number = args.get(place).and_then(Datum::as_int).unwrap_or(0);
    Id::try_from(number).unwrap_or(0)
}

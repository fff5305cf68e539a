//! The measurement of a running statement, and what a session keeps of it.

use std::sync::Arc;
use std::time::{Duration, Instant};

use braid_sql::ast::Statement;

use super::class::StatementClass;
use super::traceparent::TraceParent;
use crate::statement::plans::cache::ParsedText;
use crate::statement::prepared::Prepared;

/// A statement of a text, to find what the log shows of it.
pub(crate) enum Subject {
    /// A prepared one.
    Prepared(Arc<Prepared>),
    /// One of a list, by its place.
    Listed(Arc<ParsedText>, usize),
}

impl Subject {
    /// The text to show. A password in it is left out, as are all strings beside it.
    pub(crate) fn text(&self) -> &str {
        let (parsed, index) = match self {
            Subject::Prepared(prepared) => (&prepared.parsed, prepared.index.unwrap_or(0)),
            Subject::Listed(parsed, index) => (parsed, *index),
        };
        let Some(found) = parsed.statements.get(index) else { return "" };
        if matches!(found.statement, Statement::CreateUser(_) | Statement::AlterUser(_)) {
            return parsed.normalized().get(index).map_or("", |normalized| &normalized.text);
        }
        match self {
            Subject::Prepared(prepared) => prepared.text(),
            Subject::Listed(..) => parsed.text.get(found.text.clone()).unwrap_or_default(),
        }
    }
}

/// The beginning of a statement's span.
pub(crate) struct SpanStart {
    pub span_id: u64,
    pub parent_id: u64,
    pub start_nanos: u64,
}

/// The span of the open transaction block.
pub(crate) struct TransactionSpan {
    pub trace: TraceParent,
    pub span_id: u64,
}

/// What the log and the exporter need of a statement.
pub(crate) struct Logged {
    pub subject: Subject,
    /// From how long on it is logged; `None`: not at all.
    pub threshold: Option<Duration>,
    /// `None`: it is not exported.
    pub span: Option<SpanStart>,
    /// Retries inside the server. Until the end: those of the session before it.
    pub retries: u32,
    pub lock_micros: u64,
    pub round_trips: u64,
}

/// A statement that runs, or is paused.
pub(crate) struct Running {
    pub class: StatementClass,
    pub trace: Option<TraceParent>,
    /// `None`: it is neither logged, however long it takes, nor exported.
    pub logged: Option<Logged>,
    /// Since when it runs; `None` while it is paused.
    since: Option<Instant>,
    /// How long it had run before.
    spent: Duration,
}

impl Running {
    pub(crate) fn new(class: StatementClass, trace: Option<TraceParent>, since: Instant) -> Self {
        Running { class, trace, logged: None, since: Some(since), spent: Duration::ZERO }
    }

    pub(crate) fn is_paused(&self) -> bool {
        self.since.is_none()
    }

    /// Its time stops.
    pub(crate) fn pause(&mut self) {
        self.spent = self.elapsed();
        self.since = None;
    }

    /// Its time goes on, from this moment.
    pub(crate) fn resume(&mut self, now: Instant) {
        self.since.get_or_insert(now);
    }

    /// How long it has run.
    pub(crate) fn elapsed(&self) -> Duration {
        self.spent + self.since.map_or(Duration::ZERO, |since| since.elapsed())
    }
}

/// What a session measures now.
#[derive(Default)]
pub(crate) struct Observer {
    /// The statement that runs, or that waits for the Sync that commits it.
    pub running: Option<Running>,
    /// The trace in a comment of the simple query that runs.
    pub comment: Option<TraceParent>,
    /// The span of the block.
    pub transaction: Option<TransactionSpan>,
    /// When the transaction began, its first attempt if it has run again.
    pub began: Option<Instant>,
}

impl Observer {
    /// Whether the running statement may be logged or is exported.
    pub(crate) fn is_logged(&self) -> bool {
        self.running.as_ref().is_some_and(|running| running.logged.is_some())
    }

    /// The trace of the running statement.
    pub(crate) fn trace(&self) -> Option<TraceParent> {
        self.running.as_ref().and_then(|running| running.trace)
    }

    /// Adds waits of the running statement.
    pub(crate) fn waited(&mut self, lock_micros: u64, round_trips: u64) {
        if let Some(logged) = self.running.as_mut().and_then(|running| running.logged.as_mut()) {
            logged.lock_micros += lock_micros;
            logged.round_trips += round_trips;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn time_does_not_count_while_it_is_paused() {
        let long_ago = Instant::now() - Duration::from_secs(5);
        let mut running = Running::new(StatementClass::Insert, None, long_ago);
        assert!(running.elapsed() >= Duration::from_secs(5));
        running.pause();
        let spent = running.elapsed();
        assert!(running.is_paused() && running.elapsed() == spent);
        running.resume(Instant::now() - Duration::from_secs(1));
        assert!(!running.is_paused() && running.elapsed() >= spent + Duration::from_secs(1));
    }
}

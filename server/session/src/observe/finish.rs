//! The end of a statement: its time is counted, it is logged if it was slow, and its span leaves.

use std::time::Duration;

use braid_types::{Error, SqlState};

use super::running::{Logged, Running};
use super::spans::{Span, SpanSubject};
use crate::engine::Engine;
use crate::entry::SessionEntry;

/// Bytes of a statement's text in the log, at most.
const TEXT_BYTES_MAX: usize = 4096;
/// The target of the log lines, for the filter of `--log`.
const TARGET: &str = "slow_statement";

/// Counts a statement that has ended, logs it if it has taken too long, and exports its span.
pub(crate) fn finish(
    engine: &Engine,
    entry: &SessionEntry,
    running: &Running,
    error: Option<&Error>,
) {
    let elapsed = running.elapsed();
    engine.counters.times.statement(running.class, elapsed);
    if let (Some(error), Some(trace)) = (error, running.trace)
        && error.state() == SqlState::InternalError
    {
        tracing::error!(pid = entry.pid, traceparent = %trace, %error, "internal error in a trace");
    }
    let Some(logged) = &running.logged else { return };
    if logged.threshold.is_some_and(|threshold| elapsed >= threshold) {
        log(entry, running, logged, (elapsed, error));
    }
    if let (Some(start), Some(trace)) = (&logged.span, running.trace) {
        let nanos = u64::try_from(elapsed.as_nanos()).unwrap_or(u64::MAX);
        engine.spans.put(Span {
            trace_id: trace.trace_id,
            span_id: start.span_id,
            parent_id: start.parent_id,
            start_nanos: start.start_nanos,
            end_nanos: start.start_nanos.saturating_add(nanos),
            user: entry.user.clone(),
            database: entry.database.clone(),
            pid: entry.pid,
            sqlstate: error.map(|error| error.state().code()),
            subject: SpanSubject::Statement {
                class: running.class,
                text: shown(logged.subject.text()),
                retries: logged.retries,
            },
        });
    }
}

/// Writes the line of a slow statement.
fn log(
    entry: &SessionEntry,
    running: &Running,
    logged: &Logged,
    (elapsed, error): (Duration, Option<&Error>),
) {
    let application = entry.activity.lock().application_name.clone();
    let millis = |micros: u64| micros as f64 / 1e3;
    let micros = u64::try_from(elapsed.as_micros()).unwrap_or(u64::MAX);
    let text = shown(logged.subject.text());
    tracing::info!(
        target: TARGET,
        duration_ms = millis(micros),
        kind = running.class.as_str(),
        sqlstate = error.map(|error| error.state().code()),
        user = entry.user,
        database = entry.database,
        application_name = application,
        pid = entry.pid,
        retries = logged.retries,
        lock_wait_ms = millis(logged.lock_micros),
        round_trips = logged.round_trips,
        traceparent = running.trace.map(tracing::field::display),
        statement = text,
        "slow statement"
    );
}

/// A text, cut to [`TEXT_BYTES_MAX`].
fn shown(text: &str) -> String {
    if text.len() <= TEXT_BYTES_MAX {
        return text.to_owned();
    }
    let end = (0..=TEXT_BYTES_MAX).rev().find(|end| text.is_char_boundary(*end)).unwrap_or(0);
    format!("{}…", &text[..end])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_text_is_cut_between_characters() {
        assert_eq!(shown("SELECT 1"), "SELECT 1");
        let long = shown(&"é".repeat(TEXT_BYTES_MAX));
        assert!(long.ends_with("é…") && long.len() == TEXT_BYTES_MAX + '…'.len_utf8());
        let odd = shown(&format!("a{}", "é".repeat(TEXT_BYTES_MAX)));
        assert_eq!(odd.len(), TEXT_BYTES_MAX - 1 + '…'.len_utf8());
    }
}

//! Logs on stderr.

use tracing_subscriber::filter::Targets;
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::util::SubscriberInitExt;

/// Starts logging what `filter` lets through; an error if it cannot be read.
pub(crate) fn start(filter: &str) -> Result<(), String> {
    let targets: Targets =
        filter.parse().map_err(|error| format!("--log \"{filter}\" cannot be read: {error}"))?;
    let colours = std::io::IsTerminal::is_terminal(&std::io::stderr());
    let lines = tracing_subscriber::fmt::layer()
        .with_writer(std::io::stderr)
        .with_ansi(colours)
        .with_target(false);
    tracing_subscriber::registry()
        .with(lines)
        .with(targets)
        .try_init()
        .map_err(|error| format!("logging could not start: {error}"))
}
